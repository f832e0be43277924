"""Private bounds from a table to a schema: what leaves, what it costs, and what is refused before."""

import dataclasses

import numpy as np
import pytest

from hardzero import Budget, BudgetExceededError, Ledger, load_schema, private_bounds
from hardzero.bounds.private import counted_cells
from hardzero.privacy.budget import Neighbours
from hardzero.readers import open_table
from hardzero.schema import Categorical, Schema, Target
from hardzero.schema.cells import EncodingError
from hardzero.schema.columns import Numeric, Unbounded
from hardzero.schema.file import dumps, loads

from ..guarantee.replay import taped

SCHEMA = Schema(
    (Unbounded("age", 0, 1e9, cuts=4), Categorical("ward", ("a", "b")), Unbounded("debt", unit="dollars")),
    Target("y", ("no", "yes"), "yes"),
    "zero",
)


def table(n_rows=3_000, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": np.clip(rng.normal(45, 14, n_rows), 18, 95).round().tolist(),
        "ward": rng.choice(["a", "b"], n_rows).tolist(),
        "debt": np.where(rng.random(n_rows) < 0.1, None, rng.normal(0, 5_000, n_rows)).tolist(),
    }


def test_bounds_are_near_and_stand_in_the_schema_with_their_price():
    found = private_bounds(table(), SCHEMA, epsilon=1.0, random_state=1)
    age, ward, debt = found.schema.columns
    assert 0 <= age.lower <= 25 < 60 <= age.upper <= 120
    assert -20_000 <= debt.lower <= -5_000 < 5_000 <= debt.upper <= 20_000
    assert (debt.unit, len(age.cuts), ward) == ("dollars", 4, SCHEMA.columns[1])
    (charge,) = found.schema.bounds
    assert charge.columns == ("age", "debt")
    assert (charge.epsilon, charge.delta) == (found.privacy.epsilon, found.privacy.delta)
    assert charge.epsilon == pytest.approx(1.0)
    assert (charge.delta, charge.rows, charge.neighbours) == (3_000**-1.5, 3_000, "zero-out")
    assert charge.seeded
    assert not found.privacy.is_private
    assert "NOT PRIVATE: the noise came from a seed. Without random_state this release" in repr(found)
    assert not private_bounds(table(), SCHEMA, epsilon=1.0).schema.bounds[0].seeded


@pytest.mark.parametrize("form", ["toml", "json"])
def test_the_schema_can_be_written_and_read(form):
    for schema in (SCHEMA, private_bounds(table(), SCHEMA, epsilon=1.0).schema):
        assert loads(dumps(schema, form=form), form=form) == schema


def all_that_leaves(content, **options):
    found = private_bounds(content, SCHEMA, epsilon=1.0, **options)
    return repr(found), found.to_dict(), dumps(found.schema)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_other_records_with_the_same_answers_give_the_same_output(relation):
    secret = relation is Neighbours.ADD_REMOVE
    options = {"neighbours": relation.value, "n_rows": 2_500 if secret else None}
    dull = {"age": [7.0] * 3_000, "ward": ["b"] * 3_000, "debt": [None] * 3_000}
    with taped() as tape:
        expected = all_that_leaves(table(), **options)
    assert [call.mechanism for call in tape.calls] == ["gaussian"]
    for other in (table(seed=5), dull, *([table(2_711, 3)] if secret else [])):
        with taped(tape):
            assert all_that_leaves(other, **options) == expected


def test_batches_formats_and_the_order_of_rows_change_nothing(tmp_path):
    content = table(500)
    expected = counted_cells(content, SCHEMA)
    lines = zip(*content.values(), strict=True)
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in line) for line in lines)
    (tmp_path / "t.csv").write_text(f"age,ward,debt\n{text}\n")
    reader = open_table(tmp_path / "t.csv")

    def by_sevens(rows, names):
        for batch in reader.read_batches(rows, names):
            yield from (batch.slice(start, 7) for start in range(0, batch.num_rows, 7))

    small = dataclasses.replace(reader, read_batches=by_sevens)
    backwards = {name: column[::-1] for name, column in content.items()}
    for other in (reader, small, backwards):
        found = counted_cells(other, SCHEMA)
        assert found.rows == expected.rows == 500
        for one, two in zip(found.counts, expected.counts, strict=True):
            np.testing.assert_array_equal(one, two)


def test_cells_that_are_missing_or_no_numbers_are_not_counted_or_refused():
    content = {"age": ["40", "forty", "", None], "debt": [1.0, 2.0, float("nan"), float("inf")]}
    assert [count.sum() for count in counted_cells(content, SCHEMA).counts] == [1, 3]
    strict = dataclasses.replace(SCHEMA, missing="error")
    with pytest.raises(EncodingError, match="column 'age' has cells that are missing") as caught:
        counted_cells(content, strict)
    assert "forty" not in str(caught.value)


def test_nothing_is_released_or_charged_where_noise_would_hide_everything(tmp_path):
    pytest.importorskip("sqlalchemy")
    ledger = Ledger(tmp_path / "ledger.db", "people", cap=Budget(5.0, 1e-3))
    ledger.create()
    with taped() as tape, pytest.raises(ValueError, match=r"use epsilon = 0\.\d+ or more, fewer columns"):
        private_bounds(table(400), SCHEMA, epsilon=0.1, ledger=ledger)
    assert not tape.calls
    assert len(ledger.entries()) == 1


def test_the_suggested_epsilon_is_enough():
    with pytest.raises(ValueError, match="or more") as caught:
        private_bounds(table(400), SCHEMA, epsilon=0.1)
    suggested = float(str(caught.value).partition("use epsilon = ")[2].split()[0])
    private_bounds(table(400), SCHEMA, epsilon=suggested)


def test_a_release_is_charged_to_a_ledger_and_refused_beyond_its_cap(tmp_path):
    pytest.importorskip("sqlalchemy")
    ledger = Ledger(tmp_path / "ledger.db", "people", cap=Budget(1.0, 1e-5))
    found = private_bounds(table(), SCHEMA, epsilon=0.7, ledger=ledger)
    assert [entry.values["kind"] for entry in ledger.entries()] == ["created", "reserved", "committed"]
    receipt = found.privacy.ledger
    assert found.schema.bounds[0].receipt == (receipt.dataset, receipt.number, receipt.hash)
    assert loads(dumps(found.schema)) == found.schema
    with pytest.raises(BudgetExceededError):
        private_bounds(table(), SCHEMA, epsilon=0.9, ledger=ledger)


def test_a_column_that_cannot_be_told_stays_private_and_is_paid_for():
    content = table() | {"debt": [None] * 3_000}
    found = private_bounds(content, SCHEMA, epsilon=1.0)
    assert found.untold == ("debt",)
    assert "debt: could not be told; give a public range, or more epsilon" in repr(found)
    assert isinstance(found.schema.columns[0], Numeric)
    assert found.schema.columns[2] == SCHEMA.columns[2]
    assert found.schema.bounds[0].columns == ("age", "debt")
    assert found.to_dict()["bounds"]["debt"] is None
    again = private_bounds(table(), found.schema, epsilon=2.0)
    assert [charge.columns for charge in again.schema.bounds] == [("age", "debt"), ("debt",)]
    with taped() as tape, pytest.raises(ValueError, match="two relations do not add up"):
        private_bounds(table(), found.schema, epsilon=2.0, neighbours="replace-one")
    assert not tape.calls
    assert loads(dumps(again.schema)) == again.schema


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": 1, "tail": 0}, "tail"),
        ({"epsilon": 1, "tail": 0.4}, "tail must be at most 0.25"),
        ({"epsilon": 1, "n_rows": 9}, "goes with neighbours='add-remove'"),
        ({"epsilon": 1, "neighbours": "add-remove"}, "needs n_rows"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        private_bounds(table(), SCHEMA, **options)


def test_a_schema_without_private_ranges_and_an_empty_table_are_refused(tmp_path):
    with pytest.raises(ValueError, match='range = "private"'):
        private_bounds(table(), SCHEMA.at_limits(), epsilon=1.0)
    with pytest.raises(ValueError, match="no rows"):
        private_bounds({name: [] for name in table()}, SCHEMA, epsilon=1.0)
    (tmp_path / "s.toml").write_text(dumps(SCHEMA))
    assert load_schema(tmp_path / "s.toml") == SCHEMA
