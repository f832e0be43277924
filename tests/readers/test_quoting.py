"""Quotation marks in CSV: a stray one is refused, whichever way blocks are cut, and no row is lost in silence."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hardzero.readers import ReaderError, open_table, quoting

SECRET = "5ecret"
ROWS = [f"{k},{k * k},text {k}" for k in range(1000)]


def saved(folder, lines, header="a,b,c"):
    (folder / "t.csv").write_bytes("\n".join([header, *lines, ""]).encode())
    return open_table(folder / "t.csv")


def n_rows(reader):
    return sum(batch.num_rows for batch in reader.batches())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('1,"2,3', '1,2",3'),
        ('1,2,"3', '1,2,3"'),
        ('"1,2,3', '1",2,3'),
        ('1,2",3', '1,2",3'),
        ('1,2"2,3', '1,2"2,3'),
        ('1,"2,3', '1,"2,3'),
        ('1,2,3"', '1,"2,3'),
        ('1,"x, y","3', '1,2,3"'),
    ],
)
@pytest.mark.parametrize("distance", [1, 2, 800])
def test_two_stray_marks_do_not_swallow_the_rows_between_them(first, second, distance, tmp_path):
    rows = [*ROWS[:100], first, *ROWS[100 : 100 + distance - 1], second, *ROWS[-10:]]
    with pytest.raises(ReaderError, match=r"quotation mark|quoted cell") as caught:
        n_rows(saved(tmp_path, rows))
    assert "line 102:" in str(caught.value)


def test_blank_lines_and_foreign_rows_do_not_hide_a_swallowed_row(tmp_path):
    for inner in (["", ""], ["", "7,8,9", "too,few"]):
        with pytest.raises(ReaderError, match="line 2: has a quoted cell that holds what looks like whole rows"):
            n_rows(saved(tmp_path, ['1,"2,3', *inner, '1,2",3']))


@pytest.mark.parametrize(
    "text",
    [
        "1 Long Road\nBerne, 3000\nSwitzerland",
        "Dear all,\r\nyes, no, perhaps\r\n\r\nbye",
        'he said "no"\nand "left"',
        "\n",
        "",
        '"',
        "a,b",
        "a\rb",
    ],
)
@pytest.mark.parametrize("column", [0, 1, 2])
def test_honest_quoted_cells_are_read(text, column, tmp_path):
    row = ["1", "2", "3"]
    row[column] = '"' + text.replace('"', '""') + '"'
    reader = saved(tmp_path, [*ROWS, ",".join(row), *ROWS])
    cells = [value for batch in reader.batches() for value in batch.column(column).to_pylist()]
    assert len(cells) == 2001
    assert cells[1000] == text


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f'1,{SECRET}"x",3', "in the middle of a cell"),
        (f'1, "{SECRET}",3', "in the middle of a cell"),
        (f'1,"{SECRET}" ,3', "in the middle of a cell"),
        (f'1,"{SECRET}"x,3', "in the middle of a cell"),
        (f'1,"{SECRET}"""x,3', "in the middle of a cell"),
        (f'1,2,"{SECRET}', "left open"),
        (f'1,2,"{SECRET}""', "left open"),
        (f'1,2,{SECRET}"', "in the middle of a cell"),
    ],
)
def test_a_stray_mark_is_refused_with_its_line(row, words, tmp_path):
    with pytest.raises(ReaderError, match=f"line 1002: has a .*{words}") as caught:
        n_rows(saved(tmp_path, [*ROWS, row]))
    assert SECRET not in str(caught.value)


def test_a_header_with_a_stray_mark_takes_no_row(tmp_path):
    for header, words in [
        ('"a,b\n1,2"', "a line break in the name"),
        ('"a,b', "is not CSV"),
        ('"a"x,b', "is not CSV"),
    ]:
        with pytest.raises(ReaderError, match=f"line 1: .*{words}"):
            saved(tmp_path, ["1,2"], header)


def test_an_order_mark_may_stand_before_the_first_quotation_mark(tmp_path):
    reader = saved(tmp_path, ['"x",2'], '\ufeff"a",b')
    assert reader.names == ("a", "b")
    assert n_rows(reader) == 1


def test_rows_end_by_any_line_end(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a,b\r"1\r",2\r3,"4"\r')
    assert n_rows(open_table(tmp_path / "t.csv")) == 2


# --- Against a reader of single characters ------------------------------------------------------------------------


def expected(text, n_columns):
    """Return what is wrong, by RFC 4180 read letter by letter; None if nothing is."""
    cell, column, within, opening, seen = "", 0, False, True, []
    position = 0
    while position < len(text):
        letter, following = text[position], text[position + 1 : position + 2]
        if within and letter == '"' and following == '"':
            cell += '""'
            position += 1
        elif within and letter == '"':
            if following not in ("", ",", "\n", "\r"):
                return "middle"
            within = False
            seen.append((column, cell))
        elif within:
            cell += letter
        elif letter == '"':
            if not opening:
                return "middle"
            within, cell = True, ""
        else:
            column = column + 1 if letter == "," else 0 if letter in "\n\r" else column
        opening = letter in ",\n\r"
        position += 1
    if within:
        return "left open"
    for column, cell in seen:
        lines = cell.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        counts = [line.count(",") for line in lines]
        inner = [count for count, line in zip(counts[1:-1], lines[1:-1], strict=True) if line]
        ends_fit = len(lines) > 1 and counts[0] == n_columns - 1 - column and counts[-1] == column
        if ends_fit and (not inner or n_columns - 1 in inner):
            return "whole rows"
    return None


def found(blocks, n_columns):
    check = quoting.QuotingCheck(Path("t.csv"), ",", n_columns)
    try:
        for block in blocks:
            check.add(block)
        check.add(b"")
    except ReaderError as error:
        return next(word for word in ("middle", "left open", "whole rows") if word in str(error))
    return None


@settings(max_examples=600)
@given(
    text=st.text('"",,\n\nab\r', max_size=40)
    | st.lists(st.sampled_from(['"', ",", "\n", 'a"', '""', ",\n", "x"])).map("".join),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    n_columns=st.integers(1, 4),
)
@example(text='1,"2,3\n4,5",6', cuts=[10], n_columns=3)
@example(text='1,"a\nb""c",6', cuts=[8], n_columns=3)
def test_blocks_make_no_difference_and_the_rule_is_the_rule(text, cuts, n_columns):
    content = text.encode()
    places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    blocks = [content[start:end] for start, end in itertools.pairwise(places) if start < end]
    wanted = expected(text, n_columns)
    assert found([content] if content else [], n_columns) in (wanted, wanted and "middle")
    assert (found(blocks, n_columns) is None) == (wanted is None)


def test_files_without_quotation_marks_are_only_searched(monkeypatch):
    monkeypatch.setattr(np, "frombuffer", None)  # any closer look would fail
    check = quoting.QuotingCheck(Path("t.csv"), ",", 3)
    rng = random.Random(0)
    content = "\n".join(ROWS).encode()
    while content:
        size = rng.randrange(1, 50)
        check.add(content[:size])
        content = content[size:]
    check.add(b"")
    with pytest.raises(TypeError):  # so that the above says something
        check.add(b'"a",b,c\n')


def test_a_row_is_kept_no_longer_than_it_may_be(tmp_path):
    check = quoting.QuotingCheck(Path("t.csv"), ",", 2)
    check.add(b'a,b\n1,"')
    check.add(b"x,y\n" * 2**19)
    with pytest.raises(ReaderError, match="line 2: has a row of more than 4,194,304 bytes"):
        check.add(b"x,y\n" * 2**19)
