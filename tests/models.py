"""Models to write, export and report, and the table behind one of them."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hardzero import SparsePrivateLogisticRegression
from hardzero.model import FittedModel
from hardzero.model.inference import Inference, VariableInference
from hardzero.model.source import bounds_of_schema
from hardzero.model.statement import PrivacyStatement
from hardzero.privacy.accounting import spent
from hardzero.privacy.budget import Neighbours
from hardzero.privacy.events import GaussianRelease, NotPrivate, PerturbedMinimum, PureRelease, Repeated, Selection
from hardzero.schema.columns import Boolean, Categorical, Feature, Ignored, Numeric, Ordered, Schema, Target
from hardzero.schema.encoder import SchemaEncoder

SCHEMA = Schema(
    (
        Numeric("age", 18, 100, "years"),
        Ignored("id"),
        Numeric("gain", 0, 99_999, "$"),
        Boolean("smoker", "yes", "no"),
        Categorical("admission", ("elective", "emergency")),
        Ordered("activity", ("none", "some", "regular")),
    ),
    Target("outcome", ("good", "bad"), "good"),  # "good" sorts last: the estimator's second class
    missing="zero",
)


STEPS = Schema(
    (
        Numeric("age", 18, 100, "years", (30, 50.5, 70)),
        Ignored("id"),
        Numeric("gain", 0, 99_999, "$"),
        Boolean("smoker", "yes", "no"),
        Categorical("admission", ("elective", "emergency"), other=False),
        Ordered("activity", ("none", "some", "regular"), steps=True),
    ),
    SCHEMA.target,
    missing="zero",
)


def table(n_rows, seed=0):
    """Values within and beyond the bounds, listed and not listed, and missing."""
    rng = np.random.default_rng(seed)
    rows = {
        "age": rng.uniform(10, 110, n_rows),
        "gain": rng.exponential(20_000, n_rows),
        "smoker": rng.choice(["yes", "no", "?"], n_rows),
        "admission": rng.choice(["elective", "emergency", "transfer", "NA"], n_rows),
        "activity": rng.choice(["none", "some", "regular", "daily"], n_rows),
    }
    score = (rows["age"] - 60) / 20 + 2 * (rows["smoker"] == "yes") - 1.5 * (rows["activity"] == "regular")
    rows["outcome"] = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-score)), "bad", "good")
    rows["age"][rng.random(n_rows) < 0.01] = np.nan
    return rows


def fitted_on_table(schema=SCHEMA, n_rows=5000):
    encoder = SchemaEncoder(schema)
    encoded = encoder.encode(table(n_rows))
    estimator = SparsePrivateLogisticRegression(5.0, bounds=encoder.bounds, classes=schema.target.classes)
    return estimator.fit(encoded.X, encoded.y)


def made_up(
    names=("age", "sex=f"),
    coef=((0.5, -2.0),),
    classes=("no", "yes"),
    *,
    seeded=False,
    epsilon=1.0,
    delta=1e-6,
    events=None,
    n_rows=None,
    inference=None,
):
    """A model that nobody fitted."""
    return FittedModel(
        method="SparsePrivateLogisticRegression",
        parameters={"epsilon": 1.0, "delta": None},
        classes=tuple(classes),
        features=tuple(Feature(name, name, None, 1.0, 2.0, "years") for name in names),
        bounds=((-1.0, 3.0),) * len(names),
        coef_scaled=tuple(tuple(row) for row in coef),
        intercept_scaled=(0.25,) * len(coef),
        privacy=PrivacyStatement(
            epsilon,
            delta,
            Neighbours.ZERO_OUT,
            events or (Selection(0.1),),
            ("the bounds",),
            seeded=seeded,
            n_rows=n_rows,
        ),
        inference_scaled=inference,
    )


def sure(standard_errors, q_values, covers="the weights given the kept features; selection is not accounted for"):
    """How sure weights of scaled features are; None stands for a weight that was dropped."""
    return Inference(np.array(standard_errors, dtype=float), np.array(q_values, dtype=float), covers)


def told_by_column(schema, coef, q_values, importances=None, error=0.25):
    """How sure the columns of a table are: by their q-values, all errors alike, neighbours correlated by a half."""
    columns = {name: [j for j, f in enumerate(schema.features) if f.column == name and coef[j]] for name in q_values}
    variables = tuple(
        VariableInference(
            name,
            q_values[name],
            1.0 / (place + 1) if importances is None else importances[name],
            tuple(kept),
            np.linspace(0.6, 0.2, len(kept)) / (1 if schema.features[kept[0]].is_step else len(kept)),
            error**2 * 0.5 ** np.abs(np.subtract.outer(range(len(kept)), range(len(kept)))),
        )
        for place, (name, kept) in enumerate(columns.items())
    )
    errors = [error if weight else None for weight in coef]
    q_of = {j: q_values[name] for name, kept in columns.items() for j in kept}
    told = sure([errors], [[q_of.get(j, 1.0) for j in range(len(coef))]])
    return replace(told, variables=variables)


def made_up_with_schema(coef=None, schema=SCHEMA, inference=None):
    """The same for a table."""
    return FittedModel(
        method="SparsePrivateLogisticRegression",
        parameters={"epsilon": 1.0},
        classes=("bad", "good"),
        features=schema.features,
        bounds=bounds_of_schema(schema),
        coef_scaled=(tuple(coef or (1.5, 0.0, -1.0, 0.0, 0.5, 0.0, -0.75)),),
        intercept_scaled=(0.25,),
        privacy=PrivacyStatement(1.0, 1e-6, Neighbours.REPLACE_ONE, (Selection(0.1),), ("the bounds",)),
        schema=schema,
        inference_scaled=inference,
    )


FINITE = st.floats(-1e6, 1e6)
TEXT = st.text(max_size=8)
_AMOUNT = st.floats(1e-3, 1e3)
EVENTS = st.recursive(
    st.one_of(
        st.builds(Selection, _AMOUNT, TEXT),
        st.builds(PureRelease, TEXT, _AMOUNT),
        st.builds(GaussianRelease, TEXT, _AMOUNT),
        st.builds(PerturbedMinimum, TEXT, _AMOUNT, _AMOUNT),
    ),
    lambda event: st.builds(Repeated, event, st.integers(1, 9)),
    max_leaves=3,
)


@st.composite
def inferences(draw, coef):
    """Anything that can be known about these weights."""
    errors = [[draw(_AMOUNT) if weight else None for weight in row] for row in coef]
    return sure(errors, [[draw(st.floats(0, 1)) for _ in row] for row in coef], draw(TEXT))


@st.composite
def models(draw, names=TEXT):
    """Any model without a schema: a regression, two classes or more."""
    kind = draw(st.sampled_from([TEXT, st.integers(-9, 9), FINITE, st.booleans()]))
    classes = draw(st.one_of(st.just([]), st.lists(kind, min_size=2, max_size=4, unique=True)))
    n_features, n_rows = draw(st.integers(1, 4)), len(classes) if len(classes) > 2 else 1
    feature = st.builds(
        Feature, names, names, st.none() | names, FINITE, st.floats(1e-3, 1e6), st.none() | names, st.none() | FINITE
    )
    rows = st.lists(st.just(0.0) | FINITE, min_size=n_features, max_size=n_features).map(tuple)
    pairs = st.tuples(FINITE, FINITE).map(sorted).map(tuple)
    coef = tuple(draw(st.lists(rows, min_size=n_rows, max_size=n_rows)))
    private = draw(st.booleans())
    delta = draw(st.floats(1e-12, 0.5))
    events = tuple(draw(st.lists(EVENTS, min_size=1, max_size=3))) if private else (NotPrivate(draw(TEXT)),)
    return FittedModel(
        method="Anything",
        parameters=draw(st.dictionaries(st.sampled_from("abc"), st.none() | FINITE | TEXT | st.lists(FINITE))),
        classes=tuple(classes),
        features=tuple(draw(st.lists(feature, min_size=n_features, max_size=n_features))),
        bounds=tuple(draw(st.lists(pairs, min_size=n_features, max_size=n_features))),
        coef_scaled=coef,
        intercept_scaled=tuple(draw(st.lists(FINITE, min_size=n_rows, max_size=n_rows))),
        privacy=PrivacyStatement(
            spent(events, delta).epsilon * draw(st.floats(1, 2)),
            delta,
            draw(st.sampled_from(Neighbours)),
            events,
            tuple(draw(st.lists(TEXT, max_size=2))),
            seeded=draw(st.booleans()),
            notes=tuple(draw(st.lists(TEXT, max_size=1))),
            n_rows=draw(st.none() | st.integers(1, 10**9)),
        ),
        hardzero_version=draw(TEXT),
        inference_scaled=draw(st.none() | inferences(coef)),
    )
