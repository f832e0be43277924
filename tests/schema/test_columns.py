"""What a schema says, and what it refuses to say."""

import pytest
from hypothesis import given, settings

from hardzero.schema.columns import Categorical, Numeric, Schema
from hardzero.schema.fields import SchemaError

from .schemas import MIXED, schemas


def changed(path, value):
    """The dictionary of the mixed schema with one entry replaced, or removed if the value is None."""
    content = MIXED.to_dict()
    entry = content
    for key in path[:-1]:
        entry = entry[key]
    if value is None:
        del entry[path[-1]]
    else:
        entry[path[-1]] = value
    return content


@settings(max_examples=50)
@given(schemas())
def test_a_dictionary_holds_all_of_a_schema(schema):
    assert Schema.from_dict(schema.to_dict()) == schema


def test_features_are_those_of_the_columns_in_order():
    assert [feature.name for feature in MIXED.features] == [
        "age",
        "balance",
        "owner",
        "town=Berne",
        "town=Chur",
        "town=other",
        "grade",
    ]


def test_a_listed_other_is_the_column_of_all_others():
    assert [feature.category for feature in Categorical("service", ("other", "http")).features] == ["http", "other"]


@pytest.mark.parametrize(("lower", "upper"), [(20, 60), (-100, 1000), (-7, -3), (0, 5), (-5, 0)])
def test_bounds_are_mapped_into_the_unit_interval(lower, upper):
    (feature,) = Numeric("x", lower, upper).features
    ends = [(bound - feature.offset) / feature.scale for bound in (lower, upper)]
    assert max(map(abs, ends)) == 1
    assert (feature.offset == 0) == (lower <= 0 <= upper)


AGE = ("columns", "age")


@pytest.mark.parametrize(
    ("path", "value", "place", "words"),
    [
        ((*AGE, "lowest"), 1, (*AGE, "lowest"), "is not a known key; did you mean 'lower'?"),
        (("tarjet",), {}, ("tarjet",), "did you mean 'target'?"),
        (("year",), {}, ("year",), "known here: 'target', 'missing', 'person', 'bounds', 'columns'"),
        ((*AGE, "lower"), None, AGE, "lower is missing; write the smallest value"),
        ((*AGE, "upper"), None, AGE, "upper is missing; write the largest value"),
        ((*AGE, "lower"), "", (*AGE, "lower"), "is not filled in; write the smallest value"),
        ((*AGE, "lower"), "20", (*AGE, "lower"), "must be a number, written without quotes"),
        ((*AGE, "lower"), True, (*AGE, "lower"), "must be a number"),
        ((*AGE, "lower"), 60, (*AGE, "lower"), "must be below upper, but 60 is not below 60"),
        ((*AGE, "upper"), float("inf"), (*AGE, "upper"), "must be a finite number"),
        ((*AGE, "upper"), float("nan"), (*AGE, "upper"), "must be a finite number"),
        ((*AGE, "upper"), 10**400, (*AGE, "upper"), "use another unit"),
        ((*AGE, "unit"), 3, (*AGE, "unit"), "must be text in quotes"),
        ((*AGE, "type"), "number", (*AGE, "type"), "did you mean 'numeric'?"),
        ((*AGE, "type"), ["numeric"], (*AGE, "type"), "must be one of"),
        ((*AGE, "type"), None, AGE, "type is missing"),
        (AGE, 3, AGE, "must be a table with a type"),
        (("columns",), [], ("columns",), "one entry for each column"),
        (("columns",), {}, ("columns",), "no column that gives a feature"),
        (("columns",), {"id": {"type": "ignored"}}, ("columns",), "no column that gives a feature"),
        (("columns",), None, (), "columns is missing"),
        (("columns", ""), {"type": "ignored"}, ("columns",), "is not filled in"),
        (("columns", "ill"), {"type": "ignored"}, ("columns", "ill"), "is the target and cannot be a feature"),
        (
            ("columns", "town=Chur"),
            {"type": "boolean"},
            ("columns", "town=Chur"),
            "gives a feature 'town=Chur', as column 'town' does",
        ),
        (("columns", "town", "values"), [], ("columns", "town", "values"), "is not filled in; list what can occur"),
        (("columns", "town", "values"), ["a", "a"], ("columns", "town", "values"), "lists 'a' more than once"),
        (("columns", "town", "values"), ["a "], ("columns", "town", "values"), "spaces at its ends"),
        (("columns", "town", "values"), ["\ud800"], ("columns", "town", "values"), "surrogate"),
        (("columns", "town", "values"), [1], ("columns", "town", "values"), 'text in quotes, such as "1"'),
        (("columns", "town", "values"), "a", ("columns", "town", "values"), "must be a list of texts"),
        (("columns", "town", "values"), None, ("columns", "town"), "values is missing"),
        (("columns", "grade", "values"), ["a"], ("columns", "grade", "values"), "needs at least 2 entries, has 1"),
        (("columns", "owner", "true"), "no", ("columns", "owner", "false"), "is spelled as true is"),
        (("columns", "owner", "true"), "", ("columns", "owner", "true"), "is not filled in"),
        (("target",), None, (), "target is missing"),
        (("target",), "ill", ("target",), "must be a table with the keys"),
        (("target", "name"), "", ("target", "name"), "is not filled in"),
        (("target", "classes"), ["no"], ("target", "classes"), "needs at least 2 entries"),
        (("target", "classes"), None, ("target",), "classes is missing"),
        (("target", "positive"), "perhaps", ("target", "positive"), "use one of 'no', 'yes'"),
        (("missing", "policy"), "ignore", ("missing", "policy"), "must be one of 'error', 'zero', 'drop'"),
        (("missing", "policy"), ["zero"], ("missing", "policy"), "must be one of 'error', 'zero', 'drop'"),
        (("missing", "values"), "?", ("missing", "values"), "must be a list of texts"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_its_mending(path, value, place, words):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(changed(path, value))
    assert caught.value.path == place
    assert words in str(caught.value)


@pytest.mark.parametrize("content", [None, 3, "target", [], {}])
def test_anything_else_is_no_schema(content):
    with pytest.raises(SchemaError):
        Schema.from_dict(content)


def test_bounds_too_close_for_double_precision_are_refused():
    content = changed(("columns", "age"), {"type": "numeric", "lower": 0, "upper": 1e-300})
    with pytest.raises(SchemaError, match="another unit"):
        Schema.from_dict(content)


def test_defaults_of_what_may_be_left_out():
    content = MIXED.to_dict() | {"columns": {"owner": {"type": "boolean"}}}
    del content["missing"]
    schema = Schema.from_dict(content)
    assert (schema.missing, schema.missing_values) == ("error", ("", "NA", "NaN", "?"))
    assert (schema.columns[0].true, schema.columns[0].false) == ("true", "false")
