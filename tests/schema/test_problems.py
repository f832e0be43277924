"""All problems of a schema at once, and the targets that it can have."""

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.readers import open_table
from hardzero.readers.check import ColumnCounts, check_table
from hardzero.readers.matrix import read_encoded
from hardzero.schema import Numeric, NumericTarget, Schema, SchemaError, Target
from hardzero.schema.cells import EncodingError
from hardzero.schema.encoder import SchemaEncoder
from hardzero.schema.fields import each, suggestions, together
from hardzero.schema.file import dumps, loads

from .schemas import MIXED


def failure(content):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(content)
    return caught.value


# --- Several at once ---------------------------------------------------------------------------------------------


def test_every_part_of_a_schema_is_looked_at():
    content = MIXED.to_dict()
    content["target"] = {"name": "ill", "classes": ["no", "no"], "positive": ""}
    content["missing"] = {"policy": "none", "values": [1, " a"]}
    content["columns"]["age"] = {"type": "numeric", "lower": "", "upper": "", "unit": 3}
    content["columns"]["owner"] = {"type": "boolean", "true": "", "false": ""}
    content["columns"]["town"] = {"type": "categorical", "colour": 1, "values": []}
    content["colums"] = {}
    error = failure(content)
    assert [(".".join(problem.path), problem.problem.partition(";")[0]) for problem in error.problems] == [
        ("colums", "is not a known key"),
        ("target.classes", "lists 'no' more than once"),
        ("target.positive", "is not filled in"),
        ("missing.policy", "must be one of 'error', 'zero', 'drop'"),
        ("missing.values", 'entry 1 must be text in quotes, such as "1"'),
        ("missing.values", "entry 2 has spaces at its ends, which are ignored in the data"),
        ("columns.age.lower", "is not filled in"),
        ("columns.age.upper", "is not filled in"),
        ("columns.age.unit", 'must be text in quotes, such as "1"'),
        ("columns.owner.true", "is not filled in"),
        ("columns.owner.false", "is not filled in"),
        ("columns.town.colour", "is not a known key"),
        ("columns.town.values", "is not filled in"),
    ]
    assert error.problems[0] is error
    assert str(error) == "\n".join(problem.message for problem in error.problems)


def test_a_nearly_known_key_is_checked_as_the_one_that_is_meant():
    content = MIXED.to_dict()
    content["columns"]["age"] = {"type": "numeric", "lover": 70, "upper": 60}
    assert [problem.problem for problem in failure(content).problems] == [
        "is not a known key; did you mean 'lower'?",
        "must be below upper, but 70 is not below 60",
    ]
    content["columns"]["age"] = {"type": "numeric", "lover": 20, "upper": 60}
    assert len(failure(content).problems) == 1


def problems_of(**columns):
    content = MIXED.to_dict()
    content["columns"] |= columns
    return [(".".join(e.path[1:]), e.problem.partition(";")[0]) for e in failure(content).problems]


def test_cut_points_steps_and_directions_are_looked_at_together():
    assert problems_of(
        age={"type": "numeric", "lower": "", "upper": 60, "cuts": [40, 30, "x"], "spacing": "l", "monotone": 1},
        balance={"type": "numeric", "lower": 0, "upper": 9, "cuts": [0, 5, 5, 3, 12], "steps": True, "other": False},
        town={"type": "categorical", "values": [], "other": "no", "cuts": 3, "colour": 1},
        grade={"type": "ordered", "values": ["a"], "steps": 1, "monotone": "upp"},
    ) == [
        ("age.lower", "is not filled in"),
        ("age.spacing", "must be one of 'even', 'log'"),
        ("age.cuts", "entry 3 must be a number, written without quotes"),
        ("age.monotone", "must be one of 'up', 'down'"),
        ("balance.steps", "is for columns of the type 'ordered'"),
        ("balance.other", "is for columns of the type 'categorical'"),
        ("balance.cuts", "lists 0, outside the bounds"),
        ("balance.cuts", "lists 12, outside the bounds"),
        ("balance.cuts", "lists 5 more than once"),
        ("balance.cuts", "lists 5 before 3"),
        ("town.cuts", "is for columns of the type 'numeric'"),
        ("town.colour", "is not a known key"),
        ("town.values", "is not filled in"),
        ("town.other", "must be true or false, written without quotes"),
        ("grade.values", "needs at least 2 entries, has 1"),
        ("grade.steps", "must be true or false, written without quotes"),
        ("grade.monotone", "must be one of 'up', 'down'"),
    ]


@pytest.mark.parametrize(
    ("cuts", "problem"), [([30, 20], "lists 30 before 20"), (1001, "must be from 1 to 1,000"), (1000, None)]
)
def test_cut_points_are_looked_at_where_the_bounds_are_wrong(cuts, problem):
    entry = {"type": "numeric", "lower": 90, "upper": 17, "cuts": cuts}
    found = [("age.lower", "must be below upper, but 90 is not below 17")]
    assert problems_of(age=entry) == found + [("age.cuts", problem)] * (problem is not None)


def test_a_key_of_another_type_is_not_taken_for_one_that_is_spelled_much_like_it():
    entry = {"type": "categorical", "values": ["a"], "lower": 0}  # not "other", though three letters are the same
    assert problems_of(town=entry) == [("town.lower", "is for columns of the type 'numeric'")]


def test_survey_weights_are_one_problem_of_several():
    content = {**MIXED.to_dict(), "weight": {"name": "w"}, "weights": {}}
    content["columns"]["age"]["lower"] = 90
    assert [(problem.path[0], problem.problem[:14]) for problem in failure(content).problems] == [
        ("weight", "survey weights"),
        ("weights", "survey weights"),
        ("columns", "must be below "),
    ]


def test_nothing_is_looked_at_behind_the_column_with_too_many_features(monkeypatch):
    monkeypatch.setattr("hardzero.schema.entries.MOST_FEATURES", 12)
    stepped = {"type": "numeric", "lower": 0, "upper": 1, "cuts": 5}
    columns = {
        "wrong": {"type": "?"},
        "a": stepped,
        "b": stepped,
        "c": stepped,
        "d": stepped,
        "unseen": {"type": "?"},
    }
    error = failure({**MIXED.to_dict(), "columns": columns})
    assert [(problem.path[1], problem.problem[:15]) for problem in error.problems] == [
        ("wrong", "must be one of "),
        ("c", "brings more tha"),
    ]


def test_all_features_that_are_there_twice():
    content = MIXED.to_dict()
    content["columns"] |= {"town=Berne": {"type": "boolean"}, "town=Chur": {"type": "boolean"}}
    assert [problem.path[1] for problem in failure(content).problems] == ["town=Berne", "town=Chur"]


@pytest.mark.parametrize("form", ["toml", "json"])
def test_problems_come_in_the_order_of_the_file_each_with_its_place(form):
    text = dumps(MIXED, form=form)
    for old, new in (("20", "90"), ("-100", '"x"'), ('"low"', '"middle"')):
        assert text.count(f" {old}") + text.count(f"[{old}") == 1
        text = text.replace(f" {old}", f" {new}").replace(f"[{old}", f"[{new}")
    with pytest.raises(SchemaError) as caught:
        loads(text, form=form, source="s")
    places = [(problem.line, problem.column) for problem in caught.value.problems]
    assert places == sorted(places)
    assert len(set(places)) == 3
    lines = text.split("\n")
    for problem in caught.value.problems:
        assert lines[problem.line - 1][problem.column - 1 :].lstrip('"').startswith(problem.path[-1])


def test_many_problems_are_counted_and_the_first_are_shown():
    error = failure({"columns": {f"c{k}": 1 for k in range(30)}, "target": {}, "missing": {}})
    assert len(error.problems) == 33
    assert len(str(error).split("\n")) == 21
    assert str(error).endswith("and 13 more problems")


def test_twenty_thousand_columns_with_two_gaps_each_are_read_in_seconds():
    text = '[target]\nname = "y"\nclasses = ["a", "b"]\npositive = "b"\n' + "".join(
        f'[columns.c{k}]\ntype = "numeric"\nlower = ""\nupper = ""\n' for k in range(20_000)
    )
    start = time.process_time()
    with pytest.raises(SchemaError) as caught:
        loads(text)
    assert time.process_time() - start < 30
    assert len(caught.value.problems) == 40_000
    assert caught.value.problems[-1].line == 4 + 80_000


def test_one_problem_is_itself():
    alone = SchemaError("wrong", ("a",))
    assert together([alone]) is alone
    assert alone.problems == (alone,)
    with pytest.raises(SchemaError, match="first"):
        each(int, [1], [SchemaError("first")])


def test_suggestions_do_not_compare_everything_with_everything():
    words = [f"column{k}" for k in range(1000)]
    assert len(suggestions([f"colum{k}" for k in range(1000)], words)) == 20
    assert suggestions(["colum1"], [*words, *map(str, range(2000))]) == {}


# --- Targets -----------------------------------------------------------------------------------------------------

COLUMNS = (Numeric("x", 0, 10),)
NUMBER = Schema(COLUMNS, NumericTarget("y", -5, 10, "points"), "zero")


def of_target(entry):
    return {"target": entry, "columns": {"x": {"type": "numeric", "lower": 0, "upper": 10}}}


@pytest.mark.parametrize(
    ("entry", "target"),
    [
        ({"name": "y", "classes": ["a", "b", "c"]}, Target("y", ("a", "b", "c"))),
        ({"name": "y", "classes": ["a", "b", "c"], "positive": ""}, Target("y", ("a", "b", "c"))),
        ({"name": "y", "classes": ["a", "b", "c"], "positive": "b"}, Target("y", ("a", "b", "c"), "b")),
        ({"name": "y", "lower": 0, "upper": 1}, NumericTarget("y", 0, 1)),
        ({"name": "y", "lower": 0, "upper": 1, "unit": "m"}, NumericTarget("y", 0, 1, "m")),
    ],
)
def test_targets(entry, target):
    schema = Schema.from_dict(of_target(entry))
    assert schema.target == target
    for form in ("toml", "json"):
        assert loads(dumps(schema, form=form), form=form) == schema


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"name": "y", "classes": ["a", "b"]}, "positive is missing; name the class that weights speak for"),
        ({"name": "y", "classes": ["no", "yes"], "positive": "yess"}, "did you mean 'yes'?"),
        ({"name": "y"}, "classes is missing; list every label"),
        ({"name": "y"}, "or write lower and upper of a number"),
        ({"name": "y", "lower": 0}, "upper is missing; write the largest value"),
        ({"name": "y", "lower": 1, "upper": 0}, "must be below upper"),
        ({"name": "y", "classes": ["a", "b", "c"], "lower": 0, "upper": 1}, "has classes and bounds; keep classes"),
        ({"name": "y", "lowr": 0, "upper": 1}, "did you mean 'lower'?"),
    ],
)
def test_targets_that_are_not_complete(entry, words):
    assert words in str(failure(of_target(entry)))


def test_a_number_has_no_classes():
    assert NUMBER.target.classes == ()
    assert NUMBER.target.positive is None


cells = st.one_of(st.floats(-20, 20), st.integers(-20, 20).map(str), st.just(" 3.5 "), st.booleans())


@given(st.lists(cells, min_size=1, max_size=8))
def test_numbers_to_predict_are_clipped_each_by_itself(column):
    encoder = SchemaEncoder(NUMBER)
    together_ = encoder.encode({"x": [1] * len(column), "y": column})
    alone = [encoder.encode({"x": [1], "y": [cell]}).y[0] for cell in column]
    assert together_.y.tolist() == alone
    assert together_.places is None
    assert all(-5 <= number <= 10 for number in alone)
    assert encoder.encode_target({"y": column}).tolist() == alone


def test_a_missing_number_is_an_error_or_dropped():
    table = {"x": [1, 2, 3], "y": ["1", "NA", "many"]}
    with pytest.raises(
        EncodingError, match="column 'y' has cells that are missing or cannot be understood"
    ) as caught:
        SchemaEncoder(NUMBER).encode(table)
    assert "many" not in str(caught.value)
    with pytest.raises(EncodingError, match="column 'y'"):
        SchemaEncoder(NUMBER).encode_target(table)
    dropped = SchemaEncoder(Schema(COLUMNS, NUMBER.target, "drop")).encode(table)
    assert (dropped.y.tolist(), dropped.kept.tolist()) == ([1.0], [True, False, False])


def test_a_table_of_numbers_is_read_and_checked(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2.5\n2,99\n3,-99\n")
    X, y = read_encoded(open_table(tmp_path / "t.csv"), SchemaEncoder(NUMBER))
    assert y.dtype == np.float64
    assert y.tolist() == [2.5, 10, -5]
    assert X.shape == (3, 1)
    found = check_table(NUMBER, open_table(tmp_path / "t.csv"), holder=True)
    assert found.counts[-1] == ColumnCounts("y", missing=0, outside=2, unknown=0, outside_rows=(2, 3))
    pa.parquet.write_table(pa.table({"x": [1], "y": pa.array([0], pa.date32())}), tmp_path / "t.parquet")
    (problem,) = check_table(NUMBER, open_table(tmp_path / "t.parquet")).problems
    assert "column 'y' has the type date32[day], which gives no numbers" in problem
