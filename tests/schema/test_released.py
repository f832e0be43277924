"""Columns whose range is private, and what a schema remembers of bounds that were released."""

import copy
import dataclasses

import pytest

from hardzero.schema import Numeric, Schema, SchemaError
from hardzero.schema.columns import Unbounded
from hardzero.schema.file import loads

CHARGE = {
    "columns": ["age"],
    "epsilon": 0.1,
    "delta": 1e-6,
    "neighbours": "zero-out",
    "noise": 37.0,
    "rows": 1000,
    "seeded": False,
}
KNOWN = {
    "target": {"name": "y", "classes": ["no", "yes"], "positive": "yes"},
    "columns": {"age": {"type": "numeric", "lower": 0, "upper": 100}, "sex": {"type": "boolean"}},
}


def private(**entry):
    content = copy.deepcopy(KNOWN)
    content["columns"]["age"] = {"type": "numeric", "range": "private", **entry}
    return content


def charged(**changed):
    return {**copy.deepcopy(KNOWN), "bounds": {"1": {**CHARGE, **changed}}}


def test_a_range_that_is_private_has_wide_limits_unless_some_are_known():
    assert Schema.from_dict(private()).unbounded == (Unbounded("age", -1e9, 1e9),)
    entry = {"lower": 0, "unit": "years", "cuts": 8, "spacing": "log", "quantiles": 3, "monotone": "up"}
    schema = Schema.from_dict(private(**entry))
    assert schema.unbounded == (Unbounded("age", 0, 1e9, "years", 8, "log", "up", 3),)
    assert Schema.from_dict(schema.to_dict()) == schema


def test_nothing_is_encoded_before_bounds_are_released():
    schema = Schema.from_dict(private())
    for use in (
        lambda: schema.features,
        lambda: schema.variables,
        lambda: schema.used,
        schema.with_steps,
    ):
        with pytest.raises(
            SchemaError, match=r"columns\.age\.range: is private.*`hardzero bounds`.*--bounds-epsilon"
        ):
            use()
    assert schema.at_limits().features


def test_bounds_make_a_number_of_it_with_cut_points_between_them():
    schema = Schema.from_dict(private(cuts=3, unit="years")).with_ranges({"age": (20, 60)})
    assert schema.columns[0] == Numeric("age", 20, 60, "years", (30, 40, 50))


@pytest.mark.parametrize(
    ("entry", "place", "message"),
    [
        ({"range": [0, 1]}, "range", 'must be "private"'),
        ({"range": "private", "cuts": [20, 30]}, "cuts", "need no released bounds"),
        ({"range": "private", "lower": 5, "upper": 5}, "lower", "must be below upper"),
        ({"range": "private", "spacing": "log"}, "spacing", "goes with a number of cut points"),
        ({"range": "private", "cuts": 0}, "cuts", "must be from 1"),
    ],
)
def test_what_is_wrong_with_a_private_range_is_named(entry, place, message):
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.from_dict(private(**entry))
    assert caught.value.path == ("columns", "age", place)


@pytest.mark.parametrize("kind", ["boolean", "ignored"])
def test_only_numbers_have_a_range(kind):
    with pytest.raises(SchemaError, match="is for columns of the type 'numeric'"):
        Schema.from_dict(private(type=kind))


def test_bounds_of_single_rows_are_no_part_of_a_schema_of_persons():
    # Whoever has twenty rows moved the release by twenty of them: its cost says nothing of persons.
    with pytest.raises(SchemaError, match=r"bounds: were released from single rows.*guarantee for persons") as caught:
        Schema.from_dict({**charged(), "person": {"column": "id"}})
    assert caught.value.path == ("bounds",)
    with pytest.raises(SchemaError, match="guarantee for persons"):
        dataclasses.replace(Schema.from_dict(charged()), person="id")


def test_a_charge_is_read_as_it_was_written():
    receipt = {"dataset": "people", "entry": 3, "hash": "ab"}
    for content in (charged(), charged(**receipt)):
        schema = Schema.from_dict(content)
        assert Schema.from_dict(schema.to_dict()) == schema
        assert schema.to_dict()["bounds"] == content["bounds"]
    assert schema.bounds[0].receipt == ("people", 3, "ab")


@pytest.mark.parametrize(
    ("changed", "place", "message"),
    [
        ({"columns": ["sex"]}, ("1", "columns"), "no numeric column"),
        ({"columns": []}, ("1", "columns"), "not filled in"),
        ({"epsilon": 0}, ("1", "epsilon"), "above 0"),
        ({"delta": 1.0}, ("1", "delta"), "below 1"),
        ({"noise": -1}, ("1", "noise"), "above 0"),
        ({"neighbours": "cousins"}, ("1", "neighbours"), "must be one of"),
        ({"rows": 0.5}, ("1", "rows"), "whole number"),
        ({"seeded": "no"}, ("1", "seeded"), "true or false"),
        ({"dataset": "people"}, ("1",), "entry is missing"),
        ({"price": 3}, ("1", "price"), "not a known key"),
    ],
)
def test_what_is_wrong_with_a_charge_is_named(changed, place, message):
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.from_dict(charged(**changed))
    assert caught.value.path == ("bounds", *place)


def test_a_charge_must_be_complete_and_a_table():
    for key in CHARGE:
        content = charged()
        del content["bounds"]["1"][key]
        with pytest.raises(SchemaError, match=f"{key} is missing"):
            Schema.from_dict(content)
    with pytest.raises(SchemaError, match="must be a table"):
        Schema.from_dict({**KNOWN, "bounds": [CHARGE]})


def test_problems_are_found_in_the_file():
    target = '[target]\nname = "y"\nclasses = ["a", "b"]\npositive = "b"\n'
    text = f'{target}[columns.age]\ntype = "numeric"\nrange = "secret"\n'
    with pytest.raises(SchemaError) as caught:
        loads(text)
    assert (caught.value.line, caught.value.column) == (7, 1)
