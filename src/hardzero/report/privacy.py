"""The privacy statement in plain words, under the headings of NIST SP 800-226."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..model import FittedModel
from ..model.statement import PrivacyStatement
from ..privacy.budget import Neighbours
from . import wording

_UNIT = {
    Neighbours.ZERO_OUT: (
        "One record, which counts or is empty (zero-out neighbours); the number of rows is published. The guarantee "
        "compares the model with the one that would have been released had any one record been empty."
    ),
    Neighbours.REPLACE_ONE: (
        "One record, which is exchanged for any other (replace-one neighbours); the number of rows is published. The "
        "guarantee compares the model with the one that would have been released had any one record been different."
    ),
    Neighbours.ADD_REMOVE: (
        "One record, which is in the data or is not (add-remove neighbours); a stated number of rows takes the place "
        "of the true one, which is protected as well. The guarantee compares the model with the one that would have "
        "been released had any one record been absent."
    ),
}
_UNIT_OF_PERSONS = {
    Neighbours.ZERO_OUT: (
        "All records of one person, however many, which count or are empty (zero-out neighbours); the number of "
        "persons is published, that of their records is not. The guarantee compares the model with the one that "
        "would have been released had all records of any one person been empty."
    ),
    Neighbours.REPLACE_ONE: (
        "All records of one person, however many, which are exchanged for any others (replace-one neighbours); the "
        "number of persons is published, that of their records is not. The guarantee compares the model with the one "
        "that would have been released had all records of any one person been different."
    ),
    Neighbours.ADD_REMOVE: (
        "All records of one person, however many, which are in the data or are not (add-remove neighbours); a stated "
        "number of persons takes the place of the true one, which is protected as well. The guarantee compares the "
        "model with the one that would have been released had any one person been absent."
    ),
}
_SEVERAL = {
    "row": "A person with several records is protected less: k records multiply ε by k, raising δ by more than that.",
    "person": "Whose records they are was told by an identifier: a person with two identifiers is protected as two.",
}
_QUESTION = {
    Neighbours.ZERO_OUT: "whether a certain person's record counts",
    Neighbours.ADD_REMOVE: "whether a certain person's record is in the data",
    Neighbours.REPLACE_ONE: "which of two possible records a certain person has",
}
_QUESTION_OF_PERSONS = {
    Neighbours.ZERO_OUT: "whether a certain person's records count",
    Neighbours.ADD_REMOVE: "whether a certain person is in the data",
    Neighbours.REPLACE_ONE: "which of two possible sets of records a certain person has",
}


@dataclass(frozen=True)
class Release:
    """One line of the table of releases; ``share`` is None where nothing is protected."""

    what: str
    rho: str
    shift: str
    share: float | None


def stamp(statement: PrivacyStatement) -> str | None:
    """Return why the model is not private, if it is not.

    Privacy
    -------
    Post-processing.
    """
    if math.isinf(statement.epsilon):
        return "It was fitted without differential privacy. Treat it like the data that it was fitted on."
    if statement.seeded:
        return (
            "The noise came from a seed: whoever knows or guesses it can subtract the noise. "
            "Treat this model like the data that it was fitted on."
        )
    return None


def guarantee(statement: PrivacyStatement) -> str:
    """Return the guarantee's name, such as (1, 1e-6)-differential privacy."""
    if math.isinf(statement.epsilon):
        return "no differential privacy"
    epsilon, delta = wording.number(statement.epsilon), wording.number(statement.delta, 3)
    return f"({epsilon},\N{NO-BREAK SPACE}{delta})-differential privacy"


def unit(statement: PrivacyStatement) -> str:
    """Return what two neighbouring data sets are, and what that means for a person with several records."""
    words = _UNIT if statement.unit == "row" else _UNIT_OF_PERSONS
    return f"{words[statement.neighbours]} {_SEVERAL[statement.unit]}"


def meaning(statement: PrivacyStatement) -> list[str]:
    """Return what ε and δ mean, a paragraph each."""
    epsilon, delta = statement.epsilon, statement.delta
    if math.isinf(epsilon):
        return ["There is no ε: nothing limits what the weights reveal about a record."]
    belief = 1 / (1 + math.exp(-epsilon))
    one, question = "record", _QUESTION
    if statement.unit == "person":
        one, question = "person", _QUESTION_OF_PERSONS
    paragraphs = [
        f"ε = {wording.number(epsilon)}. Anything that can be concluded from this model is at most "
        f"{wording.factor(epsilon)} (= e^ε) times likelier, or less likely, because of any one {one}. "
        f"Someone who finds it even odds "
        f"{question[statement.neighbours]} can be at most {wording.percent(belief)} sure after seeing the model.",
    ]
    if delta > 0:
        paragraphs.append(
            f"δ = {wording.number(delta, 3)}. With a probability of at most {wording.one_in(delta)} the bound above "
            f"may not hold. It should be well below one over the number of {one}s."
        )
    else:
        paragraphs.append("δ = 0. The bound above holds without exception.")
    return paragraphs


def assumed_public(model: FittedModel) -> tuple[str, ...]:
    """Return what the guarantee takes for known to everyone: the schema too, whether or not the statement lists it.

    Privacy
    -------
    Post-processing.
    """
    stated = model.privacy.assumed_public
    if model.schema is None or any(line.startswith("the schema") for line in stated):
        return stated
    return *stated, "the schema: columns, categories, units, and what becomes of missing values"


def releases(statement: PrivacyStatement) -> list[Release]:
    """Return what each event cost and its share of the whole, by zero-concentrated differential privacy."""
    costs = [event.cost for event in statement.events]
    total = sum(cost.rho for cost in costs)
    protected = math.isfinite(total) and total > 0
    return [
        Release(
            event.describe(),
            wording.number(cost.rho, 3) if math.isfinite(cost.rho) else "unlimited",
            wording.number(cost.shift, 3),
            cost.rho / total if protected else None,
        )
        for event, cost in zip(statement.events, costs, strict=True)
    ]
