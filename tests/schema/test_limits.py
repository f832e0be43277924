"""Many columns and texts that are too much: linear work, stated limits; and templates that look at no record."""

import json
import sys
import time
import tomllib
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from hardzero.cli import app
from hardzero.readers import ReaderError, TableReader, open_table
from hardzero.readers.check import check_table
from hardzero.schema import file as schema_file
from hardzero.schema import places as schema_places
from hardzero.schema.columns import MOST_COLUMNS, Ignored, Numeric, Schema, Target
from hardzero.schema.fields import SchemaError, listed
from hardzero.schema.file import dumps, load_schema, loads
from hardzero.schema.template import schema_template

BOTH_FORMS = pytest.mark.parametrize("form", ["toml", "json"])
TARGET = Target("y", ("no", "yes"), "yes")


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


class Names(tuple):
    """Names that count how often they are searched from one end to the other."""

    __slots__ = ()
    searches = 0

    def __contains__(self, name):
        Names.searches += 1
        return super().__contains__(name)


@dataclass
class CountedTable:
    """A table that counts how often its types are asked for."""

    names: tuple
    is_text: bool = False
    asked: list = field(default_factory=list)

    @property
    def types(self):
        self.asked.append(1)
        return dict.fromkeys(self.names, pa.float64())


# --- Work that grows with the columns, not with their square -----------------------------------------------------


@pytest.mark.parametrize("is_text", [False, True])
def test_a_template_asks_for_the_types_once(is_text):
    table = CountedTable(tuple(f"c{k}" for k in range(500)), is_text)
    assert schema_template(table, "c3", guess_types=True).count("numeric") >= 499
    assert len(table.asked) == 1


def test_a_check_does_not_search_the_names_for_each_column(monkeypatch):
    names = Names(["y", *(f"c{k}" for k in range(500))])
    monkeypatch.setattr(Names, "searches", 0)
    types = {**dict.fromkeys(names, pa.float64()), "y": pa.string()}
    reader = TableReader("t", names, False, None, lambda: types, None)
    schema = Schema(tuple(Numeric(name, 0, 1) for name in names[1:]), TARGET)
    assert check_table(schema, reader).passed
    assert Names.searches <= 1


def shortest(function, *arguments):
    """Of three times, without a tracer: it would hold texts, so that Python copies them to lengthen them."""
    times, tracer = [], sys.gettrace()
    sys.settrace(None)
    try:
        for _ in range(3):
            start = time.process_time()  # not the clock: other programs take their share of that
            with pytest.raises(SchemaError):
                function(*arguments)
            times.append(time.process_time() - start)
    finally:
        sys.settrace(tracer)
    return min(times)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("toml", lambda n: "x = " + '"\\"' * n),
        ("toml", lambda n: 'x = """\\' + '"""\\' * n),
        ("toml", lambda n: "x = '''" + "''\n" * n),
        ("json", lambda n: '{"x": ' + '"\\"' * n),
        ("json", lambda n: "{" + ", ".join(f'"{k}": 0' for k in range(n // 4)) + f', "{n // 4 - 1}": 1}}'),
        ("toml", lambda n: "".join(f"[columns.c{k}]\ntype = 1\n" for k in range(n // 16))),
    ],
    ids=["escapes", "three marks", "apostrophes", "json escapes", "repeated key", "columns"],
)
def test_work_grows_with_the_length_of_a_text_and_not_with_its_square(form, text):
    def parsed(content):
        loads(content, form=form)

    assert shortest(parsed, text(160_000)) < 80 * shortest(parsed, text(10_000)) + 0.05  # 16 times, or 256


# --- Limits ------------------------------------------------------------------------------------------------------


def failure(content, form="toml"):
    with pytest.raises(SchemaError) as caught:
        loads(content, form=form, source="s")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("# long\n" + ".".join("a" * 29_000) + " = 1", "s:2:32: "),
        ("[" + " . ".join(["'a'"] * 17) + "]", "s:1:"),
        ("x = " + "[" * 17, "s:1:21: "),
        ("x = " + "{a = " * 17, "s:1:"),
    ],
)
def test_keys_and_nesting_are_refused_before_they_are_parsed(text, place, monkeypatch):
    monkeypatch.setattr(tomllib, "loads", None)
    monkeypatch.setattr(json, "loads", None)
    message = failure(text)
    assert message.startswith(place)
    assert "nested more than 16 levels deep, or a key of more parts" in message
    assert "nested more than 16 levels deep" in failure("[" * 17, "json")


def test_dots_and_brackets_in_texts_are_no_nesting():
    dots = ".".join("a" * 40) + "[" * 40
    schema = Schema((Numeric("x", 0.5, 1.5), Ignored(dots)), Target("y", (dots, "b"), "b"))
    for form in ("toml", "json"):
        assert loads(dumps(schema, form=form), form=form) == schema
    assert loads(f"# {dots}\n" + dumps(schema)) == schema


@BOTH_FORMS
def test_the_most_columns(form, monkeypatch):
    monkeypatch.setattr("hardzero.schema.entries.MOST_COLUMNS", 3)
    columns = tuple(Numeric(f"c{k}", 0, 1) for k in range(4))
    assert loads(dumps(Schema(columns[:3], TARGET), form=form), form=form).columns == columns[:3]
    assert "columns: has 4 columns; a schema can have 3" in failure(dumps(Schema(columns, TARGET), form=form), form)


def test_a_template_has_no_more_columns_than_a_schema(monkeypatch):
    assert MOST_COLUMNS == 100_000
    monkeypatch.setattr("hardzero.schema.template.MOST_COLUMNS", 3)
    schema_template(CountedTable(tuple("abcd")), "a")
    with pytest.raises(SchemaError, match="the table has 5 columns; a schema can have 3"):
        schema_template(CountedTable(tuple("abcde")), "a")


def test_files_that_are_too_large_are_not_read_whole(tmp_path, monkeypatch):
    path = tmp_path / "s.toml"
    text = dumps(Schema((Numeric("x", 0, 1),), TARGET))
    monkeypatch.setattr(schema_file, "LARGEST_FILE", len(text))
    path.write_text(text)
    load_schema(path)
    path.write_text(text + " ")
    with pytest.raises(SchemaError, match=r"s\.toml: is larger than"):
        load_schema(path)


def test_long_lists_are_cut_in_messages():
    assert listed("abc") == "'a', 'b', 'c'"
    assert listed(map(str, range(1020))).endswith("'19' and 1,000 more")


@BOTH_FORMS
def test_the_closest_place_is_found_in_what_is_left_open(form):
    assert schema_places.find_too_deep('"' + "[" * 40, form) is None


# --- Templates and checks do not look at records -----------------------------------------------------------------

CSV_ROWS = [b"1,yes,b\n", b"x,0,c\n2.5,,\n", b"", b"true\n", b"\xff\xfe\n", b'"1,2\n']


@pytest.mark.parametrize("rows", CSV_ROWS)
def test_the_template_of_a_text_file_depends_on_its_header_alone(rows, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"age,owner,y\n" + rows)
    result = call("schema", "init", tmp_path / "t.csv", "--target", "y")
    assert result.exit_code == 0
    (tmp_path / "other.csv").write_bytes(b"age,owner,y\n40,no,a\n")
    assert result.output == call("schema", "init", tmp_path / "other.csv", "--target", "y").output
    assert '[columns.age]\ntype = ""  # numeric, boolean, categorical, ordered or ignored\n' in result.output
    assert "HOLDER" not in result.output


def test_the_holder_may_have_types_guessed(tmp_path):
    (tmp_path / "t.csv").write_text("age,town,y\n40,Berne,a\n")
    result = call("schema", "init", tmp_path / "t.csv", "--target", "y", "--holder")
    assert "FOR THE DATA HOLDER ONLY: the types were guessed from the first rows" in result.output
    assert '[columns.age]\ntype = "numeric"\nlower = ""' in result.output
    assert '[columns.town]\ntype = "categorical"\nvalues = []' in result.output


def test_a_template_of_a_text_file_is_a_schema_once_filled_in():
    template = schema_template(CountedTable(("age", "y"), is_text=True), "y")
    filled = template.replace("classes = []", 'classes = ["a", "b"]').replace('positive = ""', 'positive = "b"')
    assert "columns.age.type: is not filled in; write one of 'numeric'" in failure(filled)
    filled = filled.replace('type = ""', 'type = "numeric"\nlower = 0\nupper = 1')
    assert loads(filled).columns == (Numeric("age", 0, 1),)


@pytest.mark.parametrize(("name", "text"), [("t.csv", "x1,label\n1,a\n"), ("t.libsvm", "a 1:1\n")])
def test_text_files_are_described_and_checked_without_their_rows(name, text, tmp_path, monkeypatch):
    def poisoned(*_, **__):
        raise AssertionError("a record was looked at")

    (tmp_path / name).write_text(text)
    table = open_table(tmp_path / name, n_features=1)
    schema = Schema((Numeric("x1", 0, 1),), Target("label", ("a", "b"), "b"))
    monkeypatch.setattr(TableReader, "types", property(poisoned))
    monkeypatch.setattr(TableReader, "batches", poisoned)
    assert schema_template(table, "label").count("[columns.") == 1
    assert check_table(schema, table).passed
    with pytest.raises(AssertionError):
        check_table(schema, table, holder=True)


# --- Names -------------------------------------------------------------------------------------------------------

RED = "\x1b[31mred\x9b\u202e"


def test_names_carry_no_control_characters_to_the_terminal(tmp_path):
    (tmp_path / "t.csv").write_text(f"{RED},x,y\n1,1,a\n")
    schema = Schema((Numeric(RED, 0, 1), Numeric("x", 0, 1)), Target("y", ("a", "b"), "b"))
    (tmp_path / "used.toml").write_text(dumps(schema))
    (tmp_path / "unused.toml").write_text(dumps(Schema(schema.columns[1:], schema.target)))
    (tmp_path / "wrong.toml").write_text(dumps(schema).replace("lower = 0", "lower = 2", 1))
    (tmp_path / "twice.csv").write_text(f"{RED},{RED}\n")
    (tmp_path / "absent.csv").write_text("x,y\n")
    results = [
        call("schema", "init", tmp_path / "t.csv"),
        call("schema", "init", tmp_path / "t.csv", "--target", RED + "?"),
        call("schema", "init", tmp_path / "twice.csv"),
        call("schema", "check", tmp_path / "used.toml", tmp_path / "t.csv", "--holder"),
        call("schema", "check", tmp_path / "unused.toml", tmp_path / "t.csv"),
        call("schema", "check", tmp_path / "used.toml", tmp_path / "absent.csv"),
        call("schema", "check", tmp_path / "wrong.toml"),
    ]
    for result in results:
        assert "[31mred" in result.output
        assert all(character.isprintable() or character == "\n" for character in result.output)


@pytest.mark.parametrize("name", ["", " ", " x", "x\t"])
def test_names_that_a_schema_cannot_hold_are_left_out_of_a_template(name):
    template = schema_template(CountedTable((name, "a", "y")), "y")
    assert list(tomllib.loads(template)["columns"]) == ["a"]
    assert "# A schema cannot name the column " in template


@pytest.mark.parametrize(("header", "words"), [("a,a", "more than one column 'a'"), ("a,", "empty name")])
def test_headers_without_a_name_for_each_column(header, words, tmp_path):
    (tmp_path / "t.csv").write_text(f"{header}\n1,2\n")
    with pytest.raises(ReaderError, match=words):
        open_table(tmp_path / "t.csv")
    with pytest.raises(ReaderError, match="one of them is empty"):
        open_table(tmp_path / "t.csv", names=["a", ""])
