"""Mechanisms that remember what they were handed and what they answered, and mechanisms that answer it again.

A fit is recorded, then run again on other records with the recorded answers played back. Whatever is not the same
then came from the records by another way than through a mechanism.
"""

import inspect
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from hardzero.estimators._repeats import _Family
from hardzero.model import FittedModel
from hardzero.model.inference import Inference
from hardzero.optim import progress
from hardzero.privacy import mechanisms
from hardzero.privacy.mechanisms import NOBODY, Sensitive, SignedScores
from hardzero.report.page import render_report

MECHANISMS = ("select", "select_signed", "noisy_min_signed", "count", "gaussian", "perturbed_minimum")


@dataclass
class Call:
    """One use of a mechanism; ``secrets`` are the numbers it was handed, in the order of public numbers."""

    mechanism: str
    public: dict[str, Any]
    secrets: Any
    answer: Any = None


@dataclass
class Tape:
    """The calls of one fit; with a ``script``, another fit's answers are given in place of real ones."""

    script: "Tape | None" = None
    calls: list[Call] = field(default_factory=list)
    at_call: Any = None
    _inside: bool = False

    def wrapped(self, name):
        original = getattr(mechanisms, name)
        signature = inspect.signature(original)

        def mechanism(*args, **kwargs):
            if self._inside:  # a mechanism that is built from another
                return original(*args, **kwargs)
            call = _call(name, signature.bind(*args, **kwargs).arguments)
            if self.at_call is not None:
                self.at_call(call)
            self.calls.append(call)
            call.answer = self._real(original, args, kwargs) if self.script is None else self._repeated(call)
            return call.answer

        return mechanism

    def _real(self, original, args, kwargs):
        self._inside = True
        try:
            return original(*args, **kwargs)
        finally:
            self._inside = False

    def _repeated(self, call):
        number = len(self.calls) - 1
        assert number < len(self.script.calls), f"one call more than was recorded: {call.mechanism}"
        recorded = self.script.calls[number]
        assert (call.mechanism, call.public) == (recorded.mechanism, recorded.public), f"call {number} differs"
        answer = recorded.answer
        return answer.copy() if isinstance(answer, np.ndarray) else answer


def _call(name, arguments):
    public, secrets = {}, None
    for key, value in arguments.items():
        if isinstance(value, SignedScores):
            there = value.slopes._secret != NOBODY
            names, slopes = value.names._secret[there], value.slopes._secret[there]
            secrets = slopes[np.argsort(names)]
            public["names"] = np.sort(names).tolist()
        elif key != "tops" and isinstance(value, Sensitive):
            secrets = np.array(value._secret)
        elif key not in ("tops", "source", "minimise"):
            public[key] = value
    return Call(name, public, secrets)


@contextmanager
def taped(script=None, at_call=None):
    """Record the mechanisms' calls; with a script, repeat its answers and insist on the same calls."""
    tape = Tape(script, at_call=at_call)
    with pytest.MonkeyPatch.context() as patch:
        for name in MECHANISMS:
            patch.setattr(mechanisms, name, tape.wrapped(name))
        yield tape
    assert script is None or len(tape.calls) == len(script.calls), "fewer calls than were recorded"


def all_that_leaves(fit):
    """Run ``fit()``, which returns a fitted estimator, and collect everything that anyone can see of it."""
    steps = []
    with warnings.catch_warnings(record=True) as caught, progress.listening(lambda *step: steps.append(step)):
        warnings.simplefilter("always")
        model = fit()
    file = FittedModel.from_estimator(model)
    return {
        "attributes": {name: _bits(value) for name, value in vars(model).items()},
        "statement": repr(model.privacy_),
        "summary": model.summary(),
        "model file": file.to_json(),
        "report": render_report(file),
        "notebook": model._repr_html_(),
        "warnings": [(w.category.__name__, str(w.message)) for w in caught],
        "progress": steps,
    }


def _bits(value):
    """Equal only to the last bit: -0.0 is not 0.0, and 1 is not 1.0."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, Inference):
        return tuple(_bits(part) for part in vars(value).values())
    if isinstance(value, _Family):  # named by chance
        return (value.fits, value.epsilon, value.delta, value.warned)
    return repr(value)
