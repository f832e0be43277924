"""All cases of the library itself; the command line adds those that read files."""

from __future__ import annotations

from .case import Case
from .estimator_cases import estimator_cases, evaluation_cases
from .mechanism_cases import mechanism_cases
from .person_cases import person_cases, search_cases


def own_cases() -> list[Case]:
    """Return a case for every mechanism, every private estimator, persons, the evaluation and searches.

    Privacy
    -------
    Data-independent.
    """
    return [*mechanism_cases(), *estimator_cases(), *person_cases(), *evaluation_cases(), *search_cases()]
