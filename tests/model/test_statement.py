"""The privacy statement says in plain words what holds, for whom, and on which assumptions."""

import math

import pytest

from hardzero.model.statement import PrivacyStatement
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.events import GaussianRelease, NotPrivate, PureRelease, Repeated, Selection

EVENTS = (
    PureRelease("clipped count of nonzeros", 0.05),
    Repeated(GaussianRelease("sum of residuals", 12.5), 10),
    Repeated(Selection(0.03125), 1000),
)
PUBLIC = ("the number of rows (500)", "the bounds of the features")


def statement(relation=Neighbours.ZERO_OUT, **changes):
    return PrivacyStatement(
        **(
            {
                "epsilon": 1.25,
                "delta": 2e-5,
                "neighbours": relation,
                "events": EVENTS,
                "assumed_public": PUBLIC,
            }
            | changes
        )
    )


def test_it_names_epsilon_delta_events_and_assumptions():
    text = repr(statement())
    assert text.startswith("(1.25, 2e-05)-differential privacy, zero-out neighbours:")
    assert "3.49" in text  # e^ε, the factor that a reader can understand
    assert "probability 2e-05" in text
    assert "  - clipped count of nonzeros (0.05-DP)" in text
    assert "  - 10 × sum of residuals with Gaussian noise of 12.5 sensitivities" in text
    assert "  - 1000 × choice of one vertex by the exponential mechanism (bounded range 0.03125)" in text
    assert text.index("Released:") < text.index("1000 ×") < text.index("Assumed public:") < text.index("500")
    assert all(f"  - {assumption}" in text for assumption in PUBLIC)
    assert "NOT PRIVATE" not in text


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (Neighbours.ZERO_OUT, "one person's record counts or is empty, the number of rows being known"),
        (Neighbours.ADD_REMOVE, "one person's record is in the data or is not"),
        (Neighbours.REPLACE_ONE, "one person's record is exchanged for any other"),
    ],
)
def test_the_relation_is_spelled_out(relation, words):
    text = repr(statement(relation))
    assert words in text
    assert f"{relation.value} neighbours" in text


def test_printing_and_str_say_the_same():
    assert str(statement()) == repr(statement())


def test_a_seeded_fit_is_not_private_and_says_so_first():
    seeded = statement(seeded=True)
    assert repr(seeded).startswith("NOT PRIVATE: the noise came from a seed. Without random_state")
    assert "(1.25, 2e-05)-differential privacy" in repr(seeded)
    assert not seeded.is_private


def test_no_guarantee_says_so_first():
    nothing = statement(epsilon=math.inf, delta=0.0, events=(NotPrivate("weights fitted without noise"),))
    assert repr(nothing).startswith("NOT PRIVATE: this model was fitted without differential privacy.")
    assert "  - NOT PRIVATE: weights fitted without noise" in repr(nothing)
    assert "differential privacy," not in repr(nothing)
    assert not nothing.is_private


def test_a_finite_epsilon_from_the_system_is_private():
    assert statement().is_private


def test_notes_follow_the_guarantee():
    text = repr(statement(notes=("Read this.",)))
    assert text.index("differential privacy") < text.index("Read this.") < text.index("Released:")


def test_an_absurd_epsilon_does_not_overflow():
    assert "e^2000 times" in repr(statement(epsilon=2000.0))
