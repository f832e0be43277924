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
STEPS = Schema(
    (
        Numeric("age", 20, 60, "years", (30, 45, 60), "up"),
        Numeric("balance", -100, 1000),
        Categorical("town", ("Berne", "Chur"), other=False),
        Ordered("grade", ("low", "middle", "high"), steps=True, monotone="down"),
    ),
    MIXED.target,
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


_directions = st.sampled_from([None, "up", "down"])


@st.composite
def numbers(draw, name="x"):
    """Numeric columns, with and without cut points."""
    lower, upper = sorted(draw(_bounds))
    inside = st.floats(lower, upper, exclude_min=True).map(lambda cut: cut + 0.0)
    cuts = draw(st.lists(inside, max_size=5, unique=True).map(sorted))
    return Numeric(name, lower, upper, draw(st.none() | texts), tuple(cuts), draw(_directions))


def _column(name):
    return st.one_of(
        numbers(name),
        _several(2).map(lambda pair: Boolean(name, *pair[:2])),
        st.builds(Categorical, st.just(name), _several(1), st.booleans()),
        st.builds(Ordered, st.just(name), _several(2), st.booleans(), _directions),
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
