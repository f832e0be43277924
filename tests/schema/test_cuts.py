"""Steps at public cut points: where they lie, what cells become of them, and what a schema may ask for."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardzero.readers import open_table, read_encoded
from hardzero.readers.check import check_table
from hardzero.schema import cells
from hardzero.schema.cells import EncodingError
from hardzero.schema.columns import (
    DEFAULT_CUTS,
    DEFAULT_STEPS,
    Boolean,
    Categorical,
    Feature,
    Ignored,
    Numeric,
    Ordered,
    Schema,
    Target,
)
from hardzero.schema.cuts import MOST_CUTS, spread_cuts
from hardzero.schema.encoder import SchemaEncoder
from hardzero.schema.fields import SchemaError
from hardzero.schema.file import dumps, loads

from .schemas import MIXED, ROWS, STEPS, numbers

TARGET = Target("y", ("a", "b"), "b")


def only(column, missing="zero"):
    return SchemaEncoder(Schema((column,), TARGET, missing))


def encoded(column, values, missing="zero"):
    return only(column, missing).transform({column.name: values}).toarray().tolist()


# --- Where cut points lie ----------------------------------------------------------------------------------------


bounds = st.tuples(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12)).filter(lambda pair: abs(pair[0] - pair[1]) > 1e-6)


@given(bounds.map(sorted), st.integers(1, MOST_CUTS), st.sampled_from(["even", "log"]))
def test_spread_cuts_lie_inside_the_bounds_in_order(pair, count, spacing):
    lower, upper = pair
    cuts = spread_cuts(lower, upper, count, spacing)
    assert 1 <= len(cuts) <= count
    assert lower < cuts[0]
    assert cuts[-1] <= upper
    assert all(left < right for left, right in pairwise(cuts))


@given(
    st.integers(-(10**9), 10**9), st.integers(3, 10**9), st.integers(1, MOST_CUTS), st.sampled_from(["even", "log"])
)
def test_between_whole_bounds_cuts_are_whole_and_rounded_up(lower, width, count, spacing):
    cuts = spread_cuts(lower, lower + width, count, spacing)
    assert all(cut == int(cut) for cut in cuts)
    assert len(cuts) <= width
    if spacing == "even":
        parts = count + 1
        assert cuts == tuple(sorted({float(lower + -(-width * k // parts)) for k in range(1, parts)}))


def test_a_variable_of_few_whole_values_has_one_cut_for_each():
    assert spread_cuts(1, 5, DEFAULT_CUTS) == spread_cuts(1, 5, 4) == (2, 3, 4, 5)


@given(st.floats(-1e6, 1e6), st.floats(0.01, 1e6), st.integers(1, 200))
def test_even_cuts_are_readable_and_close_to_where_they_belong(lower, width, count):
    upper = lower + width
    cuts = spread_cuts(lower + 0.125, upper + 0.125, count)
    gap = width / (count + 1)
    exact = [lower + 0.125 + gap * k for k in range(1, count + 1)]
    np.testing.assert_allclose(cuts, exact, rtol=0, atol=gap / 19)
    digits = max(len(repr(cut).rstrip("0").partition(".")[2]) for cut in cuts)
    assert digits <= max(2 - math.floor(math.log10(gap)), 1)


def test_shares_are_no_whole_numbers():
    assert spread_cuts(0, 1, 9) == tuple(k / 10 for k in range(1, 10))
    assert spread_cuts(-1, 1, 3) == (-0.5, 0, 0.5)


def test_log_cuts_are_close_together_near_the_lower_bound():
    assert spread_cuts(0, 2**16 - 1, 15, "log") == tuple(2.0**k - 1 for k in range(1, 16))
    assert spread_cuts(1000, 1000 + 9999, 3, "log") == (1009, 1099, 1999)
    few = spread_cuts(0.5, 1e6 + 0.5, 11, "log")
    assert len(few) == 11
    assert few[0] < 10


def test_bounds_too_close_for_the_cuts_asked_for():
    lower = 1e15 + 0.125
    assert spread_cuts(lower, np.nextafter(lower, 2e15), 5) == (np.nextafter(lower, 2e15),)


# --- What cells become -------------------------------------------------------------------------------------------


def test_features_are_named_after_their_cuts():
    column = Numeric("x", 0, 1e20, "years", (1e-7, np.float64(0.1), 30, 45.5, 123456789, 1e20))
    names = ["x>=1e-07", "x>=0.1", "x>=30", "x>=45.5", "x>=123456789", "x>=1e+20"]
    assert [feature.name for feature in column.features] == names
    assert column.features[2] == Feature("x>=30", "x", cut=30.0)  # without a unit: the step has none
    assert all(feature.is_step for feature in column.features)
    assert not Numeric("x", 0, 1).features[0].is_step


def test_steps_of_ranks_know_value_and_rank():
    assert Ordered("g", ("low", "middle", "high"), steps=True).features == (
        Feature("g>=middle", "g", "middle", cut=1.0),
        Feature("g>=high", "g", "high", cut=2.0),
    )


@settings(max_examples=100)
@given(numbers().filter(lambda column: column.cuts), st.data())
def test_each_step_is_one_from_its_cut_on(column, data):
    near = [float(np.nextafter(cut, side)) for cut in column.cuts for side in (-np.inf, np.inf)]
    known = [*column.cuts, *near, column.lower, column.upper, math.inf, -math.inf]
    values = data.draw(st.lists(st.sampled_from(known) | st.floats(allow_nan=False), min_size=1, max_size=8))
    expected = [[float(value >= cut) for cut in column.cuts] for value in values]
    encoder = only(column)
    X = encoder.transform({"x": values})
    assert X.toarray().tolist() == expected
    assert X.has_canonical_format
    assert encoder.transform({"x": [repr(value) for value in values]}).toarray().tolist() == expected
    for row, value in zip(expected, values, strict=True):
        assert encoder.transform({"x": [value]}).toarray().tolist() == [row]


def test_a_missing_number_reaches_no_step():
    column = Numeric("x", -5, 5, cuts=(-3, 0, 3))
    assert encoded(column, ["-3", None, "nan", "?", "five", "0"]) == [[1, 0, 0], *[[0, 0, 0]] * 4, [1, 1, 0]]
    assert encoded(column, ["-inf", "inf", "7", "-7"]) == [[0, 0, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]]
    with pytest.raises(EncodingError, match="column 'x' has cells that are missing"):
        encoded(column, ["1", None], missing="error")


def test_cells_of_single_precision_are_the_doubles_they_are():
    column = Numeric("x", 0, 1, cuts=(0.3, 0.7))
    assert encoded(column, np.array([0.3, 0.7], np.float32)) == [[1, 0], [1, 0]]  # 0.7 is a little less there
    assert encoded(column, [0.3, 0.7]) == [[1, 0], [1, 1]]


def test_ranks_reach_the_steps_up_to_their_own():
    column = Ordered("x", ("a", "b", "c"), steps=True)
    assert encoded(column, ["a", "b", "c", "z", None]) == [[0, 0], [1, 0], [1, 1], [0, 0], [0, 0]]
    with pytest.raises(EncodingError, match="column 'x'"):
        encoded(column, ["z"], missing="error")


def test_without_other_an_unlisted_value_is_missing():
    column = Categorical("x", ("u", "other", "v"), other=False)
    assert [feature.category for feature in column.features] == ["u", "other", "v"]
    assert encoded(column, ["u", "other", "v", "w", None]) == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0] * 3, [0] * 3]
    with pytest.raises(EncodingError, match="column 'x' has cells that are missing"):
        encoded(column, ["w"], missing="error")
    table = {"x": ["u", "w", "v"], "y": ["a", "b", "b"]}
    assert only(column, "drop").encode(table).kept.tolist() == [True, False, True]
    assert only(Categorical("x", ("u", "v")), "drop").encode(table).kept.all()


def test_what_is_counted_for_the_holder(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,c,y\n0,u,a\n7,w,b\n,v,a\nfive,,a\n")
    columns = (Numeric("x", 1, 5, cuts=(2,)), Categorical("c", ("u", "v"), other=False))
    counts = check_table(Schema(columns, TARGET), open_table(path), holder=True).counts
    found = {count.column: (count.missing, count.outside, count.unknown) for count in counts}
    assert found == {"x": (1, 2, 1), "c": (1, 0, 1), "y": (0, 0, 0)}


EXPECTED = [
    # age from 30, from 45, from 60; balance; Berne, Chur; from middle, from high
    [0, 0, 0, -0.05, 1, 0, 0, 0],
    [1, 0, 0, 0.0, 0, 1, 1, 0],
    [1, 1, 1, 1.0, 0, 0, 1, 1],
    [0, 0, 0, 0.0, 0, 0, 0, 0],
]


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS, strict=False),
        pa.table(ROWS),
        pa.table({name: [None if c is None else str(c) for c in column] for name, column in ROWS.items()}),
    ],
    ids=["dict", "pandas", "polars", "arrow", "text"],
)
def test_every_kind_of_table_gives_the_same_steps(table):
    result = SchemaEncoder(STEPS).encode(table)
    np.testing.assert_array_equal(result.X.toarray(), EXPECTED)
    assert result.X.has_canonical_format
    assert result.y.tolist() == ROWS["ill"]


def test_every_reader_gives_the_same_bits(tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 300
    rows = pa.table(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, rng.integers(10, 70, n_rows) / 2 * 2),
            "balance": rng.normal(100, 400, n_rows),
            "town": rng.choice(["Berne", "Chur", "Thun"], n_rows),
            "grade": rng.choice(["low", "middle", "high", "none"], n_rows),
            "ill": rng.choice(["no", "yes"], n_rows),
        }
    )
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=70)
    rows.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    encoder = SchemaEncoder(STEPS)
    whole = np.rint(encoder.encode(rows).X.toarray() * 2**16) / 2**16
    for source, query in (
        *((tmp_path / name, None) for name in ("t.csv", "t.parquet", "t.arrow")),
        (None, f"SELECT * FROM '{tmp_path / 't.parquet'}'"),
    ):
        for batch in (64, 65536):
            X, _ = read_encoded(open_table(source, query), encoder, rows=batch)
            np.testing.assert_array_equal(X.toarray() if hasattr(X, "toarray") else X, whole)


def test_the_matrix_has_the_bounds_it_promises():
    lower, upper = SchemaEncoder(STEPS).bounds
    np.testing.assert_array_equal(lower, [0, 0, 0, -0.1, 0, 0, 0, 0])
    np.testing.assert_array_equal(upper, np.ones(8))


def test_columns_that_are_left_out_need_not_be_there():
    encoder = SchemaEncoder(replace(STEPS, missing="error"))
    table = {"grade": ["high", "low"], "balance": [-100, 1000]}
    X = encoder.encode(table, target=False, columns=["grade", "balance"]).X
    assert X.toarray().tolist() == [[0, 0, 0, -0.1, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0, 0, 0]]
    for columns in ([], ["grade", "nowhere"], ["ill"]):
        with pytest.raises(
            ValueError, match="columns must name one column at least, and only columns that the schema"
        ):
            encoder.encode(table, target=False, columns=columns)


def test_an_empty_table_has_no_steps():
    assert SchemaEncoder(STEPS).transform({name: [] for name in ROWS}).shape == (0, 8)


def test_runs_are_of_a_length_that_a_row_has_by_itself():
    column = Numeric("x", 0, 10, cuts=(1, 5, 9))
    run = cells.encode_column(column, pa.array([0.0, 5.0, None, 10.0]), ())
    assert run.position.tolist() == [0, 0, 0, 0]
    assert run.length.tolist() == [0, 2, 0, 3]


# --- The schema --------------------------------------------------------------------------------------------------


def test_variables_are_the_columns_of_the_features():
    assert STEPS.variables == ("age", "age", "age", "balance", "town", "town", "grade", "grade")


def test_with_steps_keeps_what_has_cuts():
    schema = Schema((*STEPS.columns, *MIXED.columns[2:3], Ordered("rank", ("a", "b")), Ignored("id")), STEPS.target)
    stepped = schema.with_steps(3)
    assert stepped.columns == (
        STEPS.columns[0],
        Numeric("balance", -100, 1000, cuts=(175, 450, 725)),
        *STEPS.columns[2:],
        Boolean("owner", "yes", "no"),
        Ordered("rank", ("a", "b"), steps=True),
        Ignored("id"),
    )
    assert stepped.with_steps() == stepped
    assert len(Schema((Numeric("x", 0, 0.5),), TARGET).with_steps().features) == DEFAULT_CUTS == 255
    many = Schema(tuple(Numeric(f"x{j}", 0, 0.5) for j in range(10)), TARGET)
    assert len(many.with_steps().features) == DEFAULT_STEPS == 1_500
    assert len(Schema(many.columns * 200, TARGET).with_steps().columns[0].cuts) == 1
    logarithmic = Schema((Numeric("x", 0, 9999),), TARGET).with_steps(3, spacing="log")
    assert logarithmic.columns[0].cuts == (9, 99, 999)
    assert Schema.from_dict(stepped.to_dict()) == stepped


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"count": 0}, ValueError, "count must be at least 1, got 0"),
        ({"count": 1001}, ValueError, "count must be at most 1000, got 1001"),
        ({"count": 1.5}, TypeError, "count must be a whole number"),
        ({"spacing": "logarithmic"}, ValueError, "spacing must be one of 'even', 'log'"),
    ],
)
def test_with_steps_names_what_is_wrong(arguments, error, words):
    with pytest.raises(error, match=words):
        STEPS.with_steps(**arguments)


FILE = """\
[target]
name = "y"
classes = ["a", "b"]
positive = "b"

[columns.age]
type = "numeric"
lower = 17
upper = 90
{}

[columns.school]
type = "ordered"
values = ["low", "high"]
steps = true
monotone = "up"

[columns.sex]
type = "categorical"
values = ["f", "m"]
other = false
"""


@pytest.mark.parametrize(
    ("line", "cuts"),
    [
        ("cuts = [20, 30.5, 90]", (20, 30.5, 90)),
        ("cuts = 3", (36, 54, 72)),
        ('cuts = 3\nspacing = "even"', (36, 54, 72)),
        ('cuts = 3\nspacing = "log"', (19, 25, 42)),
        ("cuts = 1000", tuple(range(18, 91))),
        ('monotone = "down"', ()),
        ("cuts = 3\nquantiles = 2", (36, 54, 72)),
    ],
)
def test_files_list_cuts_or_ask_for_a_number_of_them(line, cuts):
    schema = loads(FILE.format(line))
    age, school, sex = schema.columns
    assert age.cuts == cuts
    assert age.monotone == ("down" if "monotone" in line else None)
    assert age.quantiles == (2 if "quantiles" in line else 0)
    assert school == Ordered("school", ("low", "high"), steps=True, monotone="up")
    assert sex == Categorical("sex", ("f", "m"), other=False)
    for form in ("toml", "json"):
        assert loads(dumps(schema, form=form), form=form) == schema


AGE = "columns.age"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "cuts = [17, 30]",
            f"{AGE}.cuts: lists 17, outside the bounds; a cut point lies above lower, 17",
        ),
        (
            "cuts = [30, 90.5]",
            "lists 90.5, outside the bounds; a cut point lies above lower, 17, and at",
        ),
        ("cuts = [30, 20]", f"{AGE}.cuts: lists 30 before 20; put them in ascending order"),
        ("cuts = [20, 20.0]", f"{AGE}.cuts: lists 20 more than once; remove the repetition"),
        ("cuts = []", f"{AGE}.cuts: is empty; list the cut points, or leave it out"),
        ("cuts = 0", f"{AGE}.cuts: must be from 1 to 1,000; without cut points leave it out"),
        ("cuts = 1001", f"{AGE}.cuts: must be from 1 to 1,000"),
        (f"cuts = {[18 + k / 100 for k in range(1001)]}", "lists 1,001 cut points; a column can have 1,000"),
        ('cuts = "16"', f"{AGE}.cuts: must be a list of numbers, such as [20, 30, 45], or how many, such as 16"),
        ("cuts = 16.0", f"{AGE}.cuts: must be a list of numbers"),
        ("cuts = true", f"{AGE}.cuts: must be a list of numbers"),
        ('cuts = true\nspacing = "log"', f"{AGE}.cuts: must be a list of numbers"),
        ('cuts = ["30"]', f"{AGE}.cuts: entry 1 must be a number, written without quotes"),
        ("cuts = [30, nan]", f"{AGE}.cuts: entry 2 must be a finite number"),
        ('spacing = "log"', f"{AGE}.spacing: goes with a number of cut points; write cuts = 16, or remove it"),
        ('cuts = [20]\nspacing = "log"', f"{AGE}.spacing: goes with a number of cut points"),
        ('cuts = 5\nspacing = "logs"', f"{AGE}.spacing: must be one of 'even', 'log'; did you mean 'log'?"),
        ("quantiles = 8", f"{AGE}.quantiles: chooses among cut points; add cuts = 127, or remove it"),
        ("cuts = 9\nquantiles = 0", f"{AGE}.quantiles: must be a whole number from 1 to 1,000"),
        ("cuts = 9\nquantiles = true", f"{AGE}.quantiles: must be a whole number from 1 to 1,000"),
        ('monotone = "upp"', f"{AGE}.monotone: must be one of 'up', 'down'; did you mean 'up'?"),
        ("monotone = true", f"{AGE}.monotone: must be one of 'up', 'down'"),
        ("steps = true", f"{AGE}.steps: is for columns of the type 'ordered'; remove it, or change the type"),
        ("other = false", f"{AGE}.other: is for columns of the type 'categorical'; remove it, or change the type"),
        (
            '[columns.z]\ntype = "boolean"\nmonotone = "up"',
            "columns.z.monotone: is for columns of the type 'numeric', 'ordered'",
        ),
        (
            '[columns.z]\ntype = "ordered"\nvalues = ["a", "b"]\ncuts = 3',
            "columns.z.cuts: is for columns of the type 'numeric'",
        ),
        (
            '[columns.z]\ntype = "ordered"\nvalues = ["a", "b"]\nsteps = 1',
            "columns.z.steps: must be true or false, written without quotes",
        ),
        (
            '[columns.z]\ntype = "categorical"\nvalues = ["a", "b"]\nother = "no"',
            "columns.z.other: must be true or false, written without quotes",
        ),
        (
            'cuts = [30]\n[columns."age>=30"]\ntype = "boolean"',
            "columns.age>=30: gives a feature 'age>=30', as column 'age' does; rename one",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_its_mending(line, words):
    with pytest.raises(SchemaError) as caught:
        loads(FILE.format(line), source="s.toml")
    assert words in str(caught.value)
    assert caught.value.line >= 6


def test_cuts_are_checked_in_python_too():
    with pytest.raises(SchemaError, match=r"columns\.x\.cuts: lists 5 before 1; put them in ascending order"):
        Numeric("x", 0, 10, cuts=(5, 1))


def test_a_short_file_cannot_ask_for_any_number_of_features(monkeypatch):
    monkeypatch.setattr("hardzero.schema.entries.MOST_FEATURES", 12)
    columns = "".join(f"[columns.c{k}]\ntype = 'numeric'\nlower = 0\nupper = 1\ncuts = 5\n" for k in range(3))
    head = FILE.partition("[columns")[0]
    with pytest.raises(SchemaError, match=r"columns\.c2: brings more than 12 features .* use fewer cut points"):
        loads(head + columns)
    assert len(loads(head + columns.replace("= 5", "= 4")).features) == 12


@pytest.mark.parametrize("key", ["weight", "weights"])
def test_survey_weights_are_refused_with_the_reason(key):
    with pytest.raises(SchemaError) as caught:
        loads(FILE.format("") + f'\n[{key}]\nname = "fnlwgt"\n')
    message = str(caught.value)
    assert f"{key}: survey weights are not supported" in message
    assert "bounds would have to be public" in message
    assert "the noise proved to cover the heaviest row" in message
    assert "leave it out, and the model describes the people in the sample, not the population" in message
