"""Schemas as files: what is written is read, what is wrong is pointed at, whatever the bytes."""

import contextlib
import json
import re
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hardzero.schema.columns import Schema
from hardzero.schema.fields import SchemaError
from hardzero.schema.file import dumps, load_schema, loads
from hardzero.schema.template import schema_template

from .schemas import MIXED, schemas

BOTH_FORMS = pytest.mark.parametrize("form", ["toml", "json"])
VALID = dumps(MIXED)


def failure(content, **options):
    with pytest.raises(SchemaError) as caught:
        loads(content, **options)
    return caught.value


@BOTH_FORMS
@settings(max_examples=50)
@given(schema=schemas())
def test_what_is_written_is_read(schema, form):
    assert loads(dumps(schema, form=form), form=form) == schema


@BOTH_FORMS
@given(content=st.binary(max_size=80) | st.text(max_size=80))
@example(content=b"\xff\xfe")
@example(content="[" * 100_000)
@example(content="[[target]]\nx = 1")
@example(content='{"\\ud800": 1}')
@example(content="x = " + "1" * 5000)
@example(content="1" * 5000)
@example(content='{"target": {"name": "\\ud800"}, "target": 1}')
@example(content="[target]\nname = 1979-13-45")
@example(content="x = {a = 1, a = 2}")
@example(content="target = {}")
def test_any_text_gives_a_schema_or_a_schema_error(content, form):
    with contextlib.suppress(SchemaError):
        assert isinstance(loads(content, form=form), Schema)


@given(
    position=st.integers(0, len(VALID) - 1),
    length=st.integers(0, 8),
    inserted=st.text("\"[]{}=.,#\n'ax1 ", max_size=6),
)
def test_a_valid_schema_with_a_fault_gives_a_schema_or_a_schema_error(position, length, inserted):
    try:
        loads(VALID[:position] + inserted + VALID[position + length :])
    except SchemaError as error:
        assert error.line is None or 1 <= error.line <= VALID.count("\n") + len(inserted) + 1  # noqa: PT017


TOML = """\
# A comment with [columns.age] and lower = 3
target = {name = "ill", classes = ["no", "yes"], positive = "yes"}

[columns.'first name']
type = "ignored"
[columns."age"]
type = "numeric"
upper = 60
  lower = 7  # above
[columns]
town = {type = "categorical", values = [
    "Berne",  # lower = 1
    "Chur", ]}
grade.type = "ordered"
grade.values = ["low", "high"]
"""


@pytest.mark.parametrize(
    ("form", "old", "new", "line", "column", "words"),
    [
        ("toml", "lower = 7", "lower = 70", 9, 3, "columns.age.lower: must be below upper"),
        ("toml", "lower = 7", "lower = 7e999", 9, 3, "finite"),
        ("toml", "lower = 7", "lover = 7", 9, 3, "did you mean 'lower'?"),
        ("toml", "  lower = 7", "", 6, 10, "lower is missing"),
        ("toml", "lower = 7", "lower =", 9, 12, "write a value after the equals sign"),
        ("toml", "lower = 7", "upper = 70", 9, 13, "TOML"),
        ("toml", 'positive = "yes"', 'positive = "perhaps"', 2, 50, "not among the classes"),
        ("toml", '[columns."age"]', "[columns.'first name']", 6, 22, "TOML"),
        ("toml", '"ignored"', '"ignore"', 5, 1, "did you mean 'ignored'?"),
        ("toml", '"Chur"', '"Berne"', 11, 31, "more than once"),
        ("toml", '"low", "high"', '"low"', 15, 7, "at least 2"),
        ("toml", 'name = "ill"', 'name = "age"', 6, 10, "is the target"),
        ("json", '"lower": 20', '"lower": 90', 22, 7, "must be below upper"),
        ("json", '"lower": 20', '"lower": NaN', 22, 7, "finite"),
        ("json", '"lower": 20', '"upper": 20', 23, 7, "stands there twice"),
        ("json", '"lower": 20', '"lower" 20', 22, 15, "JSON"),
        ("json", '"age": {', '"ill": {', 20, 5, "is the target"),
    ],
)
def test_errors_point_at_line_and_column(form, old, new, line, column, words):
    text = {"toml": TOML, "json": dumps(MIXED, form="json")}[form]
    assert text.count(old) == 1
    error = failure(text.replace(old, new), form=form, source=f"my.{form}")
    assert words in str(error)
    assert str(error).startswith(f"my.{form}:{line}:{column}: ")
    assert (error.line, error.column) == (line, column)


def test_files_are_read_by_their_name(tmp_path):
    (tmp_path / "a.toml").write_text("\ufeff" + VALID, encoding="utf-8")
    (tmp_path / "a.JSON").write_text(json.dumps(MIXED.to_dict()))
    assert load_schema(tmp_path / "a.toml") == load_schema(str(tmp_path / "a.JSON")) == MIXED


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'[target]\nname = "Gr\xfc\xdfe"\n')
    with pytest.raises(SchemaError, match=r"latin\.toml:2:11: is not UTF-8"):
        load_schema(tmp_path / "latin.toml")
    with pytest.raises(SchemaError, match="no such file; `hardzero schema init` writes one"):
        load_schema(tmp_path / "none.toml")
    with pytest.raises(SchemaError, match="is a folder"):
        load_schema(tmp_path)
    with pytest.raises(SchemaError, match="cannot be read"):
        load_schema("a\0b")


@dataclass(frozen=True)
class FakeTable:
    """Names and types, and nothing else that a template could use."""

    types: dict = field(
        default_factory=lambda: {
            "age": pa.int64(),
            "first name": pa.string(),
            "owner": pa.bool_(),
            "born": pa.date32(),
            "town": pa.dictionary(pa.int8(), pa.large_string()),
            "price": pa.decimal128(10, 2),
            "nothing": pa.null(),
        }
    )
    is_text: bool = False

    @property
    def names(self):
        return tuple(self.types)


def filled(template):
    return (
        template.replace('lower = ""', "lower = 0")
        .replace('upper = ""', "upper = 1")
        .replace("classes = []", 'classes = ["no", "yes"]')
        .replace("values = []", 'values = ["a"]')
        .replace('positive = ""', 'positive = "yes"')
    )


def test_a_template_is_a_schema_once_its_gaps_are_filled():
    template = schema_template(FakeTable(), "town")
    assert "is not filled in" in str(failure(template))
    schema = loads(filled(template))
    kinds = {column.name: type(column).__name__ for column in schema.columns}
    assert kinds == {
        "age": "Numeric",
        "first name": "Categorical",
        "owner": "Boolean",
        "born": "Ignored",
        "price": "Numeric",
        "nothing": "Categorical",
    }
    assert schema.target.name == "town"
    assert "is not filled in" in str(failure(filled(schema_template(FakeTable(is_text=True), "town"))))


def test_a_template_without_a_target_asks_for_it():
    assert failure(schema_template(FakeTable())).path == ("target", "name")
    with pytest.raises(SchemaError, match="no column 'nowhere'"):
        schema_template(FakeTable(), "nowhere")


@pytest.mark.parametrize(("name", "count"), [("adult", 112), ("kdd99", 124)])
def test_bundled_schemas(name, count):
    with resources.as_file(resources.files("hardzero.datasets") / "samples" / f"{name}.toml") as path:
        assert len(load_schema(path).features) == count


def test_the_documented_example_is_a_schema():
    page = (Path(__file__).parents[2] / "docs" / "schema.md").read_text()
    block, *_ = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    schema = loads(block)
    assert {type(column).__name__.lower() for column in schema.columns} == {
        "numeric",
        "categorical",
        "boolean",
        "ordered",
        "ignored",
        "unbounded",
    }
