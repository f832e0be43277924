"""Schemas for tests: one that uses everything, and a strategy that draws any."""

from hypothesis import strategies as st

from hardzero.schema.columns import Boolean, Categorical, Ignored, Numeric, Ordered, Schema, Target
from hardzero.schema.fields import SPACES

MIXED = Schema(
    (
        Numeric("age", 20, 60, "years"),
        Numeric("balance", -100, 1000),
        Boolean("owner", "yes", "no"),
        Categorical("town", ("Berne", "Chur")),
        Ordered("grade", ("low", "middle", "high")),
        Ignored("id"),
    ),
    Target("ill", ("no", "yes"), "yes"),
    "zero",
)
ROWS = {
    "age": [20, 40, 100, None],
    "balance": [-50.0, 0.0, 2000.0, float("nan")],
    "owner": ["yes", "no", "maybe", ""],
    "town": ["Berne", " Chur ", "Thun", "?"],
    "grade": ["low", "middle", "high", "none"],
    "id": [1, 2, 3, 4],
    "ill": ["no", "yes", "no", "yes"],
}

texts = st.text("ab1.-_#=[]{}\"'\\ ,:\n\t\r\x00\x7f\x85\u2028éß𝄞", min_size=1, max_size=6).filter(
    lambda text: text == text.strip(SPACES)
)
_bounds = st.lists(
    st.floats(-1e12, 1e12).filter(lambda x: x == 0 or abs(x) > 1e-12), min_size=2, max_size=2, unique=True
)


def _several(at_least):
    return st.lists(texts, min_size=at_least, max_size=4, unique=True).map(tuple)


def _column(name):
    return st.one_of(
        st.builds(lambda pair, unit: Numeric(name, min(pair), max(pair), unit), _bounds, st.none() | texts),
        _several(2).map(lambda pair: Boolean(name, *pair[:2])),
        _several(1).map(lambda values: Categorical(name, values)),
        _several(2).map(lambda values: Ordered(name, values)),
        st.just(Ignored(name)),
    )


@st.composite
def schemas(draw):
    """Schemas that are valid, with any characters in their names."""
    names = draw(st.lists(texts.filter(lambda text: "=" not in text), min_size=2, max_size=5, unique=True))
    columns = tuple(draw(_column(name)) for name in names[1:])
    if not any(column.features for column in columns):
        columns = (Numeric(names[1], 0.0, 1.0), *columns[1:])
    classes = draw(_several(2))
    target = Target(names[0], classes, draw(st.sampled_from(classes)))
    missing = draw(st.sampled_from(["error", "zero", "drop"]))
    return Schema(columns, target, missing, draw(st.lists(texts | st.just(""), max_size=3, unique=True).map(tuple)))
