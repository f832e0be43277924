"""Empirical lower bounds on ε: runs on neighbouring inputs that try to refute what is claimed."""

from .case import Case, Claim, ExactCase
from .catalogue import own_cases
from .estimator_cases import released_numbers
from .judge import CONFIDENCE, Outcome
from .picture import audit_picture
from .runs import ExactOutcome, audit

__all__ = [
    "CONFIDENCE",
    "Case",
    "Claim",
    "ExactCase",
    "ExactOutcome",
    "Outcome",
    "audit",
    "audit_picture",
    "own_cases",
    "released_numbers",
]
