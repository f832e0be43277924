"""What a cell becomes depends on that cell alone, and whole columns are converted as single cells are."""

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hardzero.schema.cell_text import UnknownCellError, number_of, text_of
from hardzero.schema.cells import EncodingError, columns_of, encode_column, text_array
from hardzero.schema.columns import Boolean, Categorical, Numeric
from hardzero.schema.fields import SPACES

NUMERIC = Numeric("x", -1e300, 1e300)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("1.50", "1.50"),  # text is compared as it is
        (1, "1"),
        (1.0, "1"),
        (Decimal("1.00"), "1"),
        (np.float32(1), "1"),
        (np.int8(1), "1"),
        (-0.0, "0"),
        (Decimal("-0.00"), "0"),
        (Decimal("1.50"), "1.5"),
        (Decimal("1E+3"), "1000"),
        (Decimal("100"), "100"),
        (Decimal("12345678901234567890123456789012345.60"), "12345678901234567890123456789012345.6"),
        (Decimal("1E+1000"), "1e1000"),
        (Decimal("-10E-1001"), "-1e-1000"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (np.float32(0.1), "0.10000000149011612"),
        (np.float16(0.1), "0.0999755859375"),
        (2**53 + 1, "9007199254740993"),
        (2.0**60, str(2**60)),
        (2**64 - 1, "18446744073709551615"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (Decimal("-Infinity"), "-inf"),
        (math.nan, None),
        (Decimal("NaN"), None),
        (Decimal("sNaN"), None),
        (None, None),
        (pd.NA, None),
        (pd.NaT, None),
        (True, "true"),
        (np.bool_(False), "false"),
        (date(2024, 1, 31), "2024-01-31"),
        (datetime(2024, 1, 31, 12), "2024-01-31 12:00:00"),
        (datetime(2024, 1, 31, 12, 0, 0, 120_000), "2024-01-31 12:00:00.12"),
        (datetime(2024, 1, 31, 12, tzinfo=UTC), "2024-01-31 12:00:00Z"),
        (datetime(2024, 1, 31, 1, tzinfo=timezone(timedelta(hours=2))), "2024-01-30 23:00:00Z"),
        (pd.Timestamp("2024-01-31 12:00:00.000000001"), "2024-01-31 12:00:00.000000001"),
        (time(1, 2, 3), "01:02:03"),
        (b"caf\xc3\xa9", "café"),
        (bytearray(b"\xff1"), "\ufffd1"),
        (memoryview(b"1"), "1"),
        ("a\ud800", "a\ufffd\ufffd\ufffd"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_the_text_of_a_cell(cell, text):
    assert text_of(cell) == text


@pytest.mark.parametrize(
    "cell", [[1], {}, object(), 1j, timedelta(1), np.timedelta64(1, "s"), 10**5000], ids=range(7)
)
def test_cells_without_a_text_are_refused_without_showing_them(cell):
    with pytest.raises(UnknownCellError):
        text_of(cell)
    with pytest.raises(EncodingError, match="column 'x' has cells of a type that is not known; convert it to text"):
        columns_of({"x": ["a", cell]}, ["x"])


ODD = [
    "0x10",
    "1_000",
    "1d",
    "1f",
    "１",
    "٣",
    "nan(1)",
    "--1",
    ".",
    "e5",
    "1e",
    "",
    "-",
    "1 2",
    "1,5",
    "ınf",
    "ſ",
    "İnf",
]
NUMBERS = ["1", "+1", "-1", "5.", ".5", "1e5", "1E+5", "-5.e-3", "1e400", "-1e400", "1e-400", "007", "-0"]
WORDS = ["inf", "+Inf", "-INFINITY", "nan", "NaN", "-nan", "true", "false", "True", "t"]
texts = st.sampled_from([*ODD, *NUMBERS, *WORDS]) | st.text(
    "+-.0123456789eExXinfINFaAyYtT_dDfF １٣\x00\n", max_size=8
)


def single(column, cell, missing_values):
    """The rule, spelled out for one cell: what the loops over columns must agree with."""
    text = text_of(cell)
    text = None if text is None else text.strip(SPACES)
    if isinstance(column, Numeric):
        number = math.nan if text is None or text in missing_values else number_of(text)
        return None if number is None or math.isnan(number) else max(min(number, column.upper), column.lower)
    return text


def whole(column, cells, missing_values=("", "NA", "NaN", "?")):
    return encode_column(column, columns_of({"x": cells}, ["x"])["x"], missing_values)


def assert_numbers_agree(cells, given=None):
    found = whole(NUMERIC, cells if given is None else given)
    expected = [single(NUMERIC, cell, ("", "NA", "NaN", "?")) for cell in cells]
    assert found.missing.tolist() == [number is None for number in expected]
    assert found.value.tolist() == [0.0 if number is None else number / 1e300 for number in expected]


@given(st.lists(st.none() | texts, max_size=6))
@example(["1e400", "1"])
@example(["nan(1)"])
def test_texts_become_numbers_by_one_grammar(cells):
    assert_numbers_agree(cells)
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        assert_numbers_agree(cells, pa.array(cells, kind))
    assert_numbers_agree(cells, pa.array(cells, pa.string()).dictionary_encode())
    assert_numbers_agree(cells, pa.chunked_array([pa.array(cells, pa.string()), pa.array([], pa.string())]))


@pytest.mark.parametrize("odd", ODD)
def test_texts_that_are_no_numbers_make_no_difference_to_others(odd):
    alone = whole(NUMERIC, ["nan(1)", "1e5", "7"])
    beside = whole(NUMERIC, ["nan(1)", "1e5", "7", odd])
    assert alone.value.tolist() == beside.value.tolist()[:3]
    assert alone.unknown.tolist() == beside.unknown.tolist()[:3] == [True, False, False]
    assert beside.value[3] == 0


def decimals(precision, scale):
    largest = 10**precision - 1
    return st.integers(-largest, largest).map(lambda whole: Decimal(whole).scaleb(-scale))


naive = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
TYPED = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float16": (pa.float16(), st.floats(width=16).map(np.float16)),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), st.floats() | st.integers(-(2**60), 2**60).map(float)),
    "decimal128(28, 12)": (pa.decimal128(28, 12), decimals(28, 12)),
    "decimal128(28, -3)": (pa.decimal128(28, -3), decimals(25, -3)),
    "decimal256": (pa.decimal256(27, 27), decimals(27, 27)),
    "bool": (pa.bool_(), st.booleans()),
    "date32": (pa.date32(), st.dates()),
    "date64": (pa.date64(), st.dates()),
    "time32": (pa.time32("s"), st.times().map(lambda t: t.replace(microsecond=0))),
    "time64": (pa.time64("us"), st.times()),
    "timestamp": (pa.timestamp("us"), naive),
    "timestamp in a zone": (pa.timestamp("us", "Europe/Zurich"), naive.map(lambda t: t.replace(tzinfo=UTC))),
    "null": (pa.null(), st.none()),
}


@pytest.mark.parametrize(("kind", "cells"), TYPED.values(), ids=TYPED)
@settings(max_examples=60)
@given(data=st.data())
def test_columns_of_a_declared_type_are_converted_as_single_cells_are(kind, cells, data):
    drawn = data.draw(st.lists(st.none() | cells, min_size=1, max_size=5))
    typed = pa.array(drawn, kind)
    column = Categorical("x", tuple({text_of(cell) for cell in drawn} - {None}) or ("a",))
    for array in (typed, typed.dictionary_encode(), pa.chunked_array([typed.slice(0, 1), typed.slice(1)])):
        found = whole(column, array, ())
        listed = [feature.category for feature in column.features]
        expected = [single(column, cell, ()) for cell in drawn]
        assert [
            None if gone else listed[at] for gone, at in zip(found.missing, found.position, strict=True)
        ] == expected
        if not any(word in str(kind) for word in ("date", "time")):
            assert_numbers_agree(drawn, array)
    one_by_one = whole(column, drawn, ())
    assert one_by_one.position.tolist() == found.position.tolist()


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    decimals(20, 6),
    st.dates(),
    naive,
    st.binary(max_size=4),
    texts,
)


@settings(max_examples=60)
@given(st.lists(anything, min_size=1, max_size=6), st.permutations(range(6)))
def test_columns_without_a_declared_type_have_no_common_type(cells, order):
    order = [place for place in order if place < len(cells)]
    column = Categorical("x", ("1", "1.5", "true", "2024-01-31"))
    holders = {
        "list": cells,
        "numpy": np.array([*cells, None], dtype=object)[:-1],
        "pandas": pd.Series(cells, dtype=object),
        "polars": pl.Series("x", cells, dtype=pl.Object),
    }
    for kind in (column, NUMERIC, Boolean("x", "1", "0")):
        alone = [whole(kind, [cell]) for cell in cells]
        for name, held in holders.items():
            found = encode_column(kind, columns_of({"x": held}, ["x"])["x"], ("", "NA", "NaN", "?"))
            for field in ("position", "value", "missing", "unknown"):
                expected = [getattr(one, field)[0] for one in alone]
                assert getattr(found, field).tolist() == expected, (name, field)
        shuffled = whole(kind, [cells[place] for place in order])
        assert shuffled.value.tolist() == [alone[place].value[0] for place in order]


def test_whole_numbers_are_one_category_whatever_holds_them():
    column = Categorical("x", ("1", "2"))
    for cells in (
        [1, 2],
        [1.0, 2.0],
        ["1", " 2 "],
        [Decimal("1.00"), Decimal(2)],
        [1.0, "2"],
        pa.array([1, 2], pa.uint8()),
        pa.array(["1.00", "2.00"]).cast(pa.decimal128(5, 2)),
        pd.Series([1, 2, None])[:2],  # pandas made numbers with a point of it
        pd.Series([1, 2], dtype="category"),
        pd.Categorical([1, "2"]),
        pd.Series([1, 2], dtype="Int64"),
        pl.Series([1, 2]),
    ):
        assert encode_column(column, columns_of({"x": cells}, ["x"])["x"], ()).position.tolist() == [0, 1]


def test_categories_of_pandas_keep_their_gaps():
    found = whole(Categorical("x", ("a",)), pd.Series(["a", None, "b"], dtype="category"))
    assert (found.position.tolist(), found.missing.tolist()) == ([0, 1, 1], [False, True, False])


def test_truth_values_are_understood_in_every_format():
    for cells in ([True, False], ["true", "false"], pa.array([True, False]), ["yes", "no"]):
        assert whole(Boolean("x", "yes", "no"), cells).value.tolist() == [1, 0]
    assert whole(Boolean("x", "1", "0"), [True, 0.0]).value.tolist() == [1, 0]
    assert whole(Boolean("x", "false", "true"), ["true", "false"]).value.tolist() == [0, 1]
    assert whole(Numeric("x", 0, 1), [True, "true", "false", "True"]).value.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("kind", [pa.binary(), pa.duration("s"), pa.list_(pa.int64()), pa.month_day_nano_interval()])
def test_declared_types_without_text_are_refused(kind):
    for column in (NUMERIC, Categorical("x", ("a",))):
        with pytest.raises(EncodingError, match=r"column 'x' has the type .* which gives no"):
            whole(column, pa.array([None], kind))


def test_text_arrays_are_text_even_if_empty():
    assert text_array("x", []).type == text_array("x", [None]).type == text_array("x", [1]).type == pa.large_string()
