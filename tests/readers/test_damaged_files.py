"""Damaged files give rows or an error of the reader, never one of the library underneath; no row is lost unseen."""

import io
import random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hardzero.readers import ReaderError, open_table
from hardzero.readers import columnar as columnar_reader

WORDS = ["alpha", "béta", "gamma, x", "", "delta" * 6]
TABLE = pa.table(
    {
        "whole": [k * k - 7 for k in range(40)],
        "real": [k / 7 for k in range(40)],
        "text": [WORDS[k % 5] for k in range(40)],
        "dictionary": pa.array([WORDS[k % 5] for k in range(40)]).dictionary_encode(),
        "flag": [k % 3 == 0 for k in range(40)],
        "gaps": [None if k % 3 else k for k in range(40)],
        "list": [[1, k] if k % 4 else None for k in range(40)],
    }
)


def parquet(**options):
    file = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, file, row_group_size=15, **options)
    return file.getvalue()


def arrow(new, compression):
    file = io.BytesIO()
    with new(file, TABLE.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(TABLE, max_chunksize=15)
    return file.getvalue()


PLAIN = {"use_dictionary": False, "compression": "none", "store_schema": False}
DELTAS = {"whole": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "real": "BYTE_STREAM_SPLIT"}
FILES = {
    **{f"{codec}.parquet": parquet(compression=codec) for codec in ("none", "snappy", "gzip", "zstd", "lz4")},
    "plain.parquet": parquet(**PLAIN),
    "deltas.parquet": parquet(use_dictionary=False, column_encoding=DELTAS),
    "pages.parquet": parquet(data_page_version="2.0"),
    "sums.parquet": parquet(write_page_checksum=True),
    **{f"file-{codec}.arrow": arrow(pa.ipc.new_file, codec) for codec in (None, "lz4", "zstd")},
    **{f"stream-{codec}.arrow": arrow(pa.ipc.new_stream, codec) for codec in (None, "lz4", "zstd")},
}
NUMBERS = [b"\xff" * 8, b"\0" * 8, (2**62).to_bytes(8, "little"), (2**31 - 1).to_bytes(4, "little")]


def damaged(content, rng):
    """Flip, overwrite, cut, splice: mostly near the ends, where files describe themselves."""
    result = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        size = len(result)
        distance = min(size - 1, int(rng.expovariate(1 / 600)))
        place = rng.choice([rng.randrange(size), distance, size - 1 - distance])
        length = rng.randrange(1, 64)
        other = rng.choice(list(FILES.values()))
        start = rng.randrange(len(other))
        match rng.randrange(6):
            case 0 | 1:
                result[place] ^= 1 << rng.randrange(8)
            case 2:
                result[place] = rng.choice([0, 1, 127, 128, 255])
            case 3:
                del result[max(place, 1) : rng.choice([place + length, size])]
            case 4:
                result[place : place + rng.choice([0, length])] = other[start : start + length]
            case 5:
                result[place : place + 8] = rng.choice(NUMBERS)
    return bytes(result)


def used(path):
    """Read a table whole, and use what came, as an encoder would."""
    reader = open_table(path)
    assert [str(arrow_type) for arrow_type in reader.types.values()]
    rows = 0
    for batch in reader.batches(rows=20):
        assert tuple(batch.schema.names) == reader.names
        for name in {"text", "dictionary", "list"} & set(reader.names):
            batch.column(name).to_pylist()
        rows += batch.num_rows
    assert reader.n_rows in (None, rows)
    return rows


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_give_rows_or_a_reader_error(name, tmp_path):
    rng = random.Random(name)
    path = tmp_path / f"t.{name.rpartition('.')[2]}"
    outcomes = {"rows": 0, "error": 0}
    for _ in range(100):
        path.write_bytes(damaged(FILES[name], rng))
        try:
            used(path)
            outcomes["rows"] += 1
        except ReaderError as error:
            assert str(path) in str(error)  # noqa: PT017 - rows are as good as an error
            outcomes["error"] += 1
    assert outcomes["rows"] >= 3  # the damage is not so large that only the first check is tested
    assert outcomes["error"] >= 30


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("plain.parquet", b"alpha", b"al\xffha"),  # a cell
        ("none.parquet", b"alpha", b"al\xffha"),  # an entry of a dictionary
        ("plain.parquet", b"text", b"te\xfft"),  # the name of a column
        ("stream-None.arrow", b"text", b"te\xfft"),
        ("stream-None.arrow", b"alpha", b"al\xffha"),
        ("sums.parquet", b"delta", b"felta"),  # the page's sum tells
    ],
)
def test_text_that_is_damaged_is_not_handed_on(name, old, new, tmp_path):
    path = tmp_path / f"t.{name.rpartition('.')[2]}"
    content = FILES[name] if name != "sums.parquet" else parquet(**PLAIN, write_page_checksum=True)
    assert old in content
    path.write_bytes(content.replace(old, new))
    with pytest.raises(ReaderError, match="may be damaged or incomplete") as caught:
        used(path)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_file_that_has_other_rows_than_it_says(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    path.write_bytes(FILES["plain.parquet"])
    reader = open_table(path)
    whole = pyarrow.parquet.ParquetFile.iter_batches
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", lambda *a, **k: list(whole(*a, **k))[1:])
    with pytest.raises(ReaderError, match="may be damaged or incomplete"):
        list(reader.batches())


def test_a_stream_that_was_cut_between_batches_is_not_taken_for_whole(tmp_path):
    path = tmp_path / "t.arrow"
    content = FILES["stream-None.arrow"]
    end = b"\xff\xff\xff\xff\0\0\0\0"
    assert content.endswith(end)
    cuts = [place for place in range(8, len(content), 8) if content[place : place + 4] == end[:4]]
    for cut in cuts:
        path.write_bytes(content[:cut])
        with pytest.raises(ReaderError, match="may be damaged or incomplete"):
            used(path)
    path.write_bytes(content + b"more")
    assert used(path) == 40


def test_streams_of_the_first_versions_are_read(tmp_path):
    old = pa.ipc.IpcWriteOptions(use_legacy_format=True)
    with (
        pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file,
        pa.ipc.new_stream(file, TABLE.schema, options=old) as out,
    ):
        out.write_table(TABLE)
    assert used(tmp_path / "t.arrow") == 40


@pytest.mark.parametrize("counts", [[15, 15, 11], [15, -1, 26], [2**40]])
def test_row_counts_that_disagree_are_not_believed(counts):
    class Metadata:
        num_rows, num_row_groups = 40, len(counts)

        @staticmethod
        def row_group(index):
            return type("Group", (), {"num_rows": counts[index]})

    with pytest.raises(columnar_reader._DamagedError):
        columnar_reader._sizes(Metadata, None)


@pytest.mark.parametrize("error", [MemoryError, pa.ArrowMemoryError])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_a_lack_of_memory_is_no_damage(suffix, error, tmp_path, monkeypatch):
    def exhausted(*_, **__):
        raise error("malloc of 123456789 failed")

    path = tmp_path / f"t.{suffix}"
    path.write_bytes(
        {"parquet": FILES["plain.parquet"], "arrow": FILES["file-None.arrow"]}.get(suffix, b"a,b\n1,2\n")
    )
    reader = open_table(path)
    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", exhausted)
    monkeypatch.setattr(pyarrow.ipc, "open_file", exhausted)
    monkeypatch.setattr(pyarrow.csv, "open_csv", exhausted)
    with pytest.raises(ReaderError, match="not enough memory to read") as caught:
        list(reader.batches())
    assert "123456789" not in str(caught.value)
