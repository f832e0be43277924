"""Code books: what they say becomes a schema, what they do not say stays open, what is not understood is reported."""

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hardzero.datasets import files
from hardzero.schema import (
    Boolean,
    Categorical,
    Ignored,
    Numeric,
    NumericTarget,
    Ordered,
    SchemaError,
    Target,
    load_schema,
)
from hardzero.schema.codebook import CodeBook, same_names
from hardzero.schema.codebook_fields import field_of, said_of, type_of
from hardzero.schema.codebook_files import read_codebook, read_codebooks
from hardzero.schema.codebook_names import parse_names
from hardzero.schema.codebook_tables import parse_json, parse_table
from hardzero.schema.fields import SPACES
from hardzero.schema.file import loads
from hardzero.schema.template import codebook_template

from .test_file import FakeTable
from .test_limits import CountedTable

FIXTURES = Path(__file__).parent / "codebooks"
PARSERS = {"names": parse_names, "csv": parse_table, "json": parse_json}


def drafted(text, form="names", target="y", **options):
    return codebook_template(PARSERS[form](text, f"book.{form}"), target, **options)


# --- Two real code books -----------------------------------------------------------------------------------------


def names_file(name):
    path = FIXTURES / f"{name}.names"
    if not path.exists():
        path = files.locate(f"{name}.names.gz")
    if path is None:
        pytest.skip(f"{name}.names.gz (UCI repository) is not in the folder that HARDZERO_DATA names")
    return path


@pytest.mark.parametrize(("name", "columns"), [("kdd99", 41), ("adult", 14)])
def test_code_books_give_the_bundled_schema(name, columns):
    """Up to what they do not say: how missing values are spelled, and what becomes of them."""
    draft = codebook_template(read_codebooks([names_file(name), FIXTURES / f"{name}-bounds.csv"]))
    with resources.as_file(resources.files("hardzero.datasets") / "samples" / f"{name}.toml") as path:
        expected = load_schema(path)
    schema = loads(draft.text)
    assert draft.gaps == ()
    assert len(schema.columns) == columns
    assert schema.columns == expected.columns
    assert set(schema.target.classes) == set(expected.target.classes)
    assert replace(schema.target, classes=()) == replace(expected.target, classes=())


def test_an_excerpt_leaves_the_gaps_that_it_has():
    draft = codebook_template(read_codebook(FIXTURES / "adult-excerpt.names"), "income", positive=">50K")
    assert draft.notes == ()
    assert draft.gaps == (
        "age.lower",
        "age.upper",
        "fnlwgt.lower",
        "fnlwgt.upper",
        "hours-per-week.lower",
        "hours-per-week.upper",
    )
    with pytest.raises(SchemaError) as caught:
        loads(draft.text)
    assert [".".join(problem.path[1:]) for problem in caught.value.problems] == list(draft.gaps)


# --- A made-up census table in UCI's form ------------------------------------------------------------------------

CENSUS = """\
| Pages of comments: with colons, commas, and
| age: continuous.
|
   | indented, too.

- 50000, 50000+.

age: continuous.
class of worker:  Not in universe,  Federal government, Self-employed-not incorporated, ?.
detailed industry recode: 0, 40, 44, 2,
    43, 47 | more codes
    , 50.
fill inc questionnaire for veteran's admin (1994): Not in universe, Yes, No.
Outlying-U S (Guam USVI etc): Trinadad&Tobago, Holand-Netherlands, Mexican (Mexicano).
instance weight: ignore.
stock dividends: CONTINUOUS.
grade: [ordered] low, middle, high.
code: discrete 20.
year: 94, 95
"""


def test_names_with_anything_in_them():
    draft = drafted(CENSUS, target="income", positive="50000+")
    assert draft.gaps == ("age.lower", "age.upper", "stock dividends.lower", "stock dividends.upper", "code.values")
    assert draft.notes == ("book.names:19: year: has no period at its end; taken as it stands",)
    text = draft.text.replace('lower = ""', "lower = 0").replace('upper = ""', "upper = 1")
    schema = loads(text.replace("values = []", 'values = ["1"]'))
    assert schema.target == Target("income", ("- 50000", "50000+"), "50000+")
    assert schema.columns == (
        Numeric("age", 0, 1),
        Categorical(
            "class of worker", ("Not in universe", "Federal government", "Self-employed-not incorporated", "?")
        ),
        Categorical("detailed industry recode", ("0", "40", "44", "2", "43", "47", "50")),
        Categorical("fill inc questionnaire for veteran's admin (1994)", ("Not in universe", "Yes", "No")),
        Categorical("Outlying-U S (Guam USVI etc)", ("Trinadad&Tobago", "Holand-Netherlands", "Mexican (Mexicano)")),
        Ignored("instance weight"),
        Numeric("stock dividends", 0, 1),
        Ordered("grade", ("low", "middle", "high")),
        Categorical("code", ("1",)),
        Categorical("year", ("94", "95")),
    )


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a, b.\nx: 1, 2.\nnot an attribute.", "book.names:3: is not understood: 'not an attribute.' is no `name"),
        ("x: 1, 2, 1.", "book.names:1: x: lists '1' more than once; it is kept once"),
        ("x: 1, , 2.", "book.names:1: x: entry 2 of the values is empty"),
        ("x: 1, 2.\nx: 3, 4.", "book.names:2: x: is described again, after book.names:1; the first description"),
        ("x: 1, 2.\n: 3, 4.", "book.names:2: : is not understood: there is no usable name"),
        ("x: 1, 2.\n1. Title: A Database", "book.names:2: 1. Title: is not understood: 'A Database' is no type"),
        ("x: 1, 2.\nz := a + b.", "book.names:2: z: is not understood: neither a type nor values"),
        ("nothing.\nx: 1, 2.", "book.names: 'nothing' is neither a list of classes nor an attribute"),
    ],
)
def test_what_is_not_understood_in_a_list_of_attributes_is_reported_with_its_line(text, note):
    notes = parse_names(text, "book.names").notes
    assert len(notes) == 1
    assert notes[0].startswith(note)


def test_a_list_of_attributes_can_name_its_target():
    draft = drafted("outcome. | the target\nx: continuous (in years).\noutcome: a, b, c.", target=None)
    assert loads(draft.text.replace('lower = ""', "lower = 0").replace('upper = ""', "upper = 1")).target == Target(
        "outcome", ("a", "b", "c")
    )
    assert "# in years\n[columns.x]" in draft.text


# Line breaks end a line; code points that are no characters stand for escaped marks.
NOT_IN_NAMES = "\n\r" + "".join(map(chr, range(0xFDD0, 0xFDD6)))
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=NOT_IN_NAMES), min_size=1, max_size=8)
words = words.map(lambda word: word.strip(SPACES)).filter(bool)
books = st.dictionaries(words, st.lists(words, min_size=2, max_size=4, unique=True), min_size=1, max_size=4)


def escaped(text):
    return "".join(f"\\{character}" if character in "\\,:|." else character for character in text)


@given(books)
@example({"a": ["ordered", "b\\"], "\\": ["[ordered] x", "y"]})
def test_lists_of_attributes_are_read_as_they_were_written(book):
    lines = [f"{escaped(name)}: {', '.join(map(escaped, values))}.\n" for name, values in book.items()]
    read = parse_names("no, yes.\n" + "".join(lines), "s")
    for variable, (name, values) in zip(read.variables, book.items(), strict=True):
        plain = [values[0].removeprefix("{"), *values[1:-1], values[-1].removesuffix("}")]
        if not values[0].startswith(("=", "[", "{")) and not values[-1].endswith("}"):
            assert (variable.name, variable.said["values"]) == (name, plain)


@given(books)
def test_tables_and_objects_are_read_as_they_were_written(book):
    without_bars = {
        name: values for name, values in book.items() if not any(set("|;,=:\x00") & set(v) for v in values)
    }
    written = io.StringIO()
    rows = csv.writer(written, quoting=csv.QUOTE_ALL)
    rows.writerow(["variable", "levels"])
    rows.writerows([name, "|".join(values)] for name, values in without_bars.items() if "\x00" not in name)
    if without_bars:
        read = parse_table(written.getvalue(), "s")
        expected = {name: values for name, values in without_bars.items() if "\x00" not in name and name[0] != "#"}
        assert {v.name: v.said["values"] for v in read.variables} == expected
    listed = [{"name": name, "values": values} for name, values in book.items()]
    for content in (listed, {"variables": listed}, {name: {"values": values} for name, values in book.items()}):
        if isinstance(content, list) or not set(content) & {"columns", "fields", "attributes", "features", "target"}:
            read = parse_json(json.dumps(content), "s")
            assert {v.name: v.said["values"] for v in read.variables} == book


@pytest.mark.parametrize("form", PARSERS)
@given(text=st.text(max_size=200) | st.text("ab:,.|;=\\[]{}\"'\n\t 01", max_size=200))
@example(text='{"name": {"values": [{"code": null}]}}')
@example(text='{"x": {"values": {"\\ud800": 1}, "lower": 1e999, "cuts": [true], "name": "\\ud800"}}')
@example(text='[{"name": "x", "type": "' + "1" * 5000 + '"}, 3, {"name": 4}, {"lower": ' + "9" * 400 + "}]")
@example(text='{"variables": {"x": {"range": [1, 2], "values": "a"}}, "target": {"name": "y", "classes": ["a"]}}')
@example(text="[" * 100)
@example(text='name,values,range\n"x,1|2,3\n')
@example(text="name,lower,upper,type,role\nx,inf,1e999,what,who\n,,,,\n#c\n,1\n")
def test_any_text_gives_a_draft_or_a_schema_error(form, text):
    with contextlib.suppress(SchemaError):
        draft = drafted(text, form, target=None)
        assert draft.gaps
        assert "[target]" in draft.text
        with pytest.raises(SchemaError):
            loads(draft.text)


# --- Tables and objects ------------------------------------------------------------------------------------------

TABLE = """\
# A comment
Variable Name\tData Type\tMin.\tMaximum\tUnits\tValue labels\tNotes\tcolour
age\tinteger\t0\t120\tyears\t\tat last birthday\t
sex\tint\t\t\t\t1=Male|2=Female\t\t
sugar\tvarchar(5)\t\t\t\t-1 = low ; 0 = normal; 1=high\t\t
grade\tordinal\t\t\t\tlow|middle|high\t\t
owner\tbinary\t\t\t\tno|yes\t\t
party\tbinary\t\t\t\tred|blue\t\t
income\tnominal\t\t\t\t<=50K|>=50K\t\t
share\tnumeric\t\t\t\t0 - 1\t\t
born\tdate\t\t\t\t\t\t
y\ttarget\t\t\t\tgood, bad\t\t
"""


def test_a_table_in_other_words():
    draft = drafted(TABLE, "csv", target=None, positive="bad")
    assert loads(draft.text).columns == (
        Numeric("age", 0, 120, "years"),
        Categorical("sex", ("1", "2")),
        Categorical("sugar", ("-1", "0", "1")),
        Ordered("grade", ("low", "middle", "high")),
        Boolean("owner", "yes", "no"),
        Categorical("party", ("red", "blue")),
        Categorical("income", ("<=50K", ">=50K")),
        Numeric("share", 0, 1),
        Ignored("born"),
    )
    assert loads(draft.text).target == Target("y", ("good", "bad"), "bad")
    assert "# at last birthday\n[columns.age]" in draft.text
    assert "# 1 = Male, 2 = Female\n[columns.sex]" in draft.text
    assert draft.notes == (
        "book.csv:2: the heading 'colour' is not understood; its column is left out",
        "book.csv:12: y: values are taken as separated by commas; separate them by | if a comma is part of one",
        "book.csv:4: sex: is taken as categorical, by its values or bounds",
        "book.csv:8: party: is taken as categorical, by its values or bounds",
    )


def test_a_line_for_each_value():
    read = parse_table("name,code,label\nsex,1,Sex\n,2,\ntown,a,\ntown,b,\n", "s")
    assert [(v.name, v.said["values"], v.place) for v in read.variables] == [
        ("sex", ["1", "2"], "s:2"),
        ("town", ["a", "b"], "s:4"),
    ]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("name,type\nx,nonsense\n", "s:2: x: type 'nonsense' is not known; use numeric, boolean"),
        ("name,role\nx,nonsense\n", "s:2: x: role 'nonsense' is not known; use feature, target or ignored"),
        ('name,lower\nx,"1,5"\n', "s:2: x: lower '1,5' is no number, such as -1.5"),
        ("name,lower\nx,1e999\n", "s:2: x: lower is no finite number"),
        ("name,range\nx,wide\n", "s:2: x: range 'wide' is no pair of bounds, such as 0 to 120"),
        ("name,other\nx,perhaps\n", "s:2: x: other 'perhaps' is neither yes nor no"),
        ("name,min,lower\nx,1,2\n", "s:1: the heading 'lower' stands for lower, as another does"),
        ("name,lowr\nx,1\n", "s:1: the heading 'lowr' is not understood; did you mean 'lower'?"),
        ("name,lower\nx,1,2\n", "s:2: has more cells than there are headings"),
        ("name,lower\n,1\n", "s:2: is not understood: there is no usable name of a variable"),
        ("name,lower\nx,1\nx,2\n", "s:3: x: lower is said to be something else above; the first holds"),
        ("name,role\nx,target\ny,target\n", "s:3: 'y' is a second target; 'x' is kept"),
    ],
)
def test_what_is_not_understood_in_a_table_is_reported_with_its_line(text, note):
    notes = parse_table(text, "s").notes
    assert len(notes) == 1
    assert notes[0].startswith(note)


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "x", "type": "numeric", "min": 0, "max": 1.5, "cuts": [0.5, 1]}, {"name": "y", "role": "target"}]',
        '{"variables": {"x": {"kind": "float64", "range": [0, 1.5], "cuts": "0.5|1"}}, "target": "y"}',
        '{"x": {"type": "real", "range": "0 to 1.5", "cuts": "0.5;1"}, "y": {"type": "target"}}',
        '{"columns": [{"field": "x", "lower": "0", "upper": "1.5", "cuts": [0.5, 1]}], "target": {"name": "y"}}',
    ],
)
def test_objects_in_several_forms(text):
    book = parse_json(text, "s")
    assert book.notes == ()
    assert book.target == "y"
    said = {"lower": 0.0, "upper": 1.5, "cuts": [0.5, 1.0]}
    assert {key: value for key, value in book.variables[0].said.items() if key != "type"} == said


def test_objects_know_their_lines():
    text = '{\n "variables": [\n  {"name": "x", "colour": 1},\n  7],\n "more": 1}'
    assert parse_json(text, "s").notes == (
        "s:3: x: 'colour' is not understood; it is left out",
        "s:4: an entry is not understood: it is no object with name, type and so on",
        "s:5: more is not understood: it is no object with name, type and so on",
    )
    codes = parse_json('[{"name": "x", "values": {"1": "Male", "2": "Female"}}]', "s").variables[0].said
    assert codes == {"values": ["1", "2"], "labels": {"1": "Male", "2": "Female"}}
    listed = parse_json('[{"name": "x", "values": [{"code": 1, "label": "Male"}, {"value": 2}]}]', "s")
    assert listed.variables[0].said == {"values": ["1", "2"], "labels": {"1": "Male"}}


@pytest.mark.parametrize(("cell", "cuts"), [("16", 16), ("1|2.5", [1.0, 2.5]), ("0.5", [0.5]), ([3], [3.0])])
def test_cut_points_are_listed_or_counted(cell, cuts):
    assert said_of({"cuts": cell}) == ({"cuts": cuts}, [])


CURVES = {
    "csv": """\
name,type,range,values,cut points,spacing,monotone,steps,other,role
age,numeric,17 to 90,,25|35|50,,,,,
gain,numeric,0 to 9999,,3,log,up,,,
grade,ordinal,,low|middle|high,,,down,yes,,
sex,nominal,,f|m,,,,,no,
y,,,a|b,,,,,,target
""",
    "json": """\
{"age": {"type": "numeric", "range": "17 to 90", "cuts": [25, 35, 50]},
 "gain": {"lower": 0, "upper": 9999, "cuts": 3, "spacing": "log", "monotone": "up"},
 "grade": {"type": "ordered", "values": ["low", "middle", "high"], "steps": true, "monotonicity": "down"},
 "sex": {"values": ["f", "m"], "other": false},
 "y": {"role": "target", "values": ["a", "b"]}}
""",
}


@pytest.mark.parametrize("form", CURVES)
def test_cut_points_steps_directions_and_complete_lists_are_written(form):
    draft = drafted(CURVES[form], form, target=None, positive="b")
    assert (draft.gaps, draft.notes) == ((), ())
    assert loads(draft.text).columns == (
        Numeric("age", 17, 90, cuts=(25, 35, 50)),
        Numeric("gain", 0, 9999, cuts=(9, 99, 999), monotone="up"),
        Ordered("grade", ("low", "middle", "high"), steps=True, monotone="down"),
        Categorical("sex", ("f", "m"), other=False),
    )
    for line in ("cuts = [25, 35, 50]", "cuts = 3", 'spacing = "log"', "steps = true", "other = false"):
        assert f"\n{line}\n" in draft.text


def test_curves_that_a_schema_cannot_have_are_noted():
    text = """\
name,type,range,values,cuts,monotone,steps,other,role
age,numeric,17 to 90,,95|20,rising,,,
sex,nominal,,f|m,3,up,yes,,
grade,ordinal,,low|high,,,maybe,,
y,,,a|b,,,,,target
"""
    notes = drafted(text, "csv", target=None, positive="b").notes
    assert [note.partition(";")[0] for note in notes] == [
        "book.csv:4: grade: steps 'maybe' is neither yes nor no",
        "book.csv:3: sex: cuts is not for categorical columns",
        "book.csv:3: sex: monotone is not for categorical columns",
        "book.csv:3: sex: steps is not for categorical columns",
        "columns.age.cuts: lists 95, outside the bounds",
        "columns.age.cuts: lists 95 before 20",
        "columns.age.monotone: must be one of 'up', 'down'",
    ]


def test_a_draft_tells_of_cut_points():
    head = drafted(CURVES["json"], "json", target=None).text.partition("[target]")[0]
    assert "cuts = [25, 35, 50], or cuts = 16 spread over its bounds" in head
    assert "missing if other = false" in head


def test_words_for_fields_and_types():
    assert [field_of(word) for word in ("Variable", "MAX", "Value Labels", "lower_bound", "zzz")] == [
        "name",
        "upper",
        "values",
        "lower",
        None,
    ]
    assert [type_of(word) for word in ("int64", "VARCHAR(20)", "Ordinal", "double precision", "12", "zzz")] == [
        "numeric",
        "categorical",
        "ordered",
        "numeric",
        None,
        None,
    ]


# --- Files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_files(ending, compress, tmp_path):
    path = tmp_path / f"book.names.{ending}"
    path.write_bytes(compress(b"a, b.\r\nx: 1, 2.\r\n"))
    assert read_codebook(path).classes == ("a", "b")
    path.write_bytes(compress(b"a, b.\nx: 1, 2.\n" * 100)[:-9])
    with pytest.raises(SchemaError, match="cannot be read"):
        read_codebook(path)


@pytest.mark.parametrize(
    "text", ["a, b.\nx: 1, 2.\n", "name;values\nx;1|2\n", ' [{"name": "x", "values": ["1", "2"]}]']
)
def test_the_form_is_told_by_the_text_where_the_name_does_not(text, tmp_path):
    (tmp_path / "book.txt").write_text("\ufeff" + text, encoding="utf-8")
    assert read_codebook(tmp_path / "book.txt").variables[0].said["values"] == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.names", b"| nothing\n", "describes no variable (it is empty)"),
        ("a.names", b"\xff", "is not UTF-8"),
        ("a.csv", b"x,y\n1,2\n", "the first line must name the columns, `name` among them"),
        ("a.csv", b'name\n"x\n', "a.csv:2: is not CSV; is a quotation mark left open?"),
        ("a.json", b"{", "a.json:1:2: is not valid JSON"),
        ("a.json", b"3", "must be a list or an object"),
        ("none.json", None, "there is no such file; name a file that describes the variables"),
    ],
)
def test_files_that_are_no_code_books(name, content, words, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SchemaError) as caught:
        read_codebooks([tmp_path / name])
    assert words in str(caught.value)


def test_there_must_be_a_code_book():
    with pytest.raises(SchemaError, match="no code book to read"):
        read_codebooks([])


# --- Several books, and a table ----------------------------------------------------------------------------------


def test_a_later_book_completes_an_earlier_one():
    first = parse_names("no, yes.\nage: continuous.\nclass of worker: a, b.\nid: 1, 2.\n", "a.names")
    later = parse_table(
        "name,type,lower,upper\nage,,0,120\nClass_of_Worker,ordered,,\nages,,0,1\nid,ignored,,\n", "b"
    )
    both = first.completed_by(later)
    assert [(v.name, v.said) for v in both.variables] == [
        ("age", {"type": "numeric", "lower": 0.0, "upper": 120.0}),
        ("class of worker", {"type": "ordered", "values": ["a", "b"]}),
        ("id", {"type": "ignored", "values": ["1", "2"]}),
        ("ages", {"lower": 0.0, "upper": 1.0}),
    ]
    assert both.classes == ("no", "yes")
    assert both.notes == (
        "b:3: class of worker: type is 'ordered' here and 'categorical' in a.names:3; the later one holds",
        "b:4: 'ages' is in no code book before; did you mean 'age'?; it is added as a variable",
        "b:5: id: type is 'ignored' here and 'categorical' in a.names:4; the later one holds",
    )


def test_classes_said_of_the_target_replace_a_list_of_classes():
    book = parse_names("a, b, c.\nx: 1, 2.\n", "a").completed_by(
        parse_table("name,type,values\ny,target,no|yes\n", "b")
    )
    draft = codebook_template(book, positive="yes")
    assert loads(draft.text).target == Target("y", ("no", "yes"), "yes")
    assert draft.notes == ("the classes are those said of 'y'; the list ['a', 'b', 'c'] is not used",)


def test_variables_are_matched_with_the_columns_of_a_table():
    table = FakeTable({"Age": pa.int64(), "first name": pa.string(), "owner": pa.bool_(), "y": pa.string()})
    draft = drafted("no, yes.\nowners: a, b.\nage: continuous.\nmissing: 1, 2.\n", table=table, positive="yes")
    assert draft.notes == (
        "book.names:3: 'age' is taken for the column 'Age'",
        "book.names:2: 'owners' is no column of the table; did you mean 'owner'?; it is left out",
        "book.names:4: 'missing' is no column of the table; it is left out",
        "the column 'first name' of the table is in no code book; fill it in",
        "the column 'owner' of the table is in no code book; fill it in",
    )
    assert draft.gaps == ("Age.lower", "Age.upper", "first name.values")
    filled = draft.text.replace('lower = ""', "lower = 0").replace('upper = ""', "upper = 1")
    schema = loads(filled.replace("values = []", 'values = ["a"]'))
    assert schema.columns == (Numeric("Age", 0, 1), Categorical("first name", ("a",)), Boolean("owner"))


def test_a_code_book_is_not_completed_from_the_rows_of_a_text_file():
    table = CountedTable(("x", "age", "y"), is_text=True)
    draft = drafted("no, yes.\nx: 1, 2.\n", table=table, positive="yes")
    assert draft.gaps == ("age.type",)
    assert table.asked == []


def test_names_match_by_their_letters_if_only_one_does():
    assert same_names(["a b", "X", "x", "z"], ["A_B", "x", "Z.", "z-"]) == {"a b": "A_B", "x": "x"}
    assert same_names(["a-b", "a_b"], ["ab"]) == {"a-b": "ab"}


def test_a_target_that_nobody_knows():
    draft = drafted("name,values\nx,1|2\nill,a|b\n", "csv", "il")
    assert draft.gaps == ("target.classes", "target.positive")
    assert draft.notes == ("the target 'il' is in no code book; did you mean 'ill'?",)
    assert drafted("name,values\nx,1|2\n", "csv", None).gaps == ("target.name", "target.classes", "target.positive")
    with pytest.raises(SchemaError, match=r"no column 'tow'; did you mean 'town'\?"):
        drafted("name,values\ntown,1|2\n", "csv", "tow", table=FakeTable())


def test_a_target_that_is_a_number_has_bounds():
    text = "name,type,min,max,unit,values\nx,,,,,1|2\ny,numeric,0,9,points,\n"
    assert loads(drafted(text, "csv").text).target == NumericTarget("y", 0, 9, "points")
    assert drafted("name,type,values\nx,,1|2\ny,numeric,\n", "csv").gaps == ("target.lower", "target.upper")


def test_more_than_two_classes_need_no_positive_one():
    draft = drafted("a, b, c.\nx: 1, 2.\n")
    assert draft.gaps == ()
    assert loads(draft.text).target == Target("y", ("a", "b", "c"), None)
    assert loads(drafted("a, b, c.\nx: 1, 2.\n", positive="b").text).target.positive == "b"


def test_what_a_type_cannot_use_and_what_is_wrong_is_said():
    draft = drafted("name,unit,values,lower,upper,type\nx,m,1|2,,,\nz,,,5,1,\ny,,a|b,,,\n", "csv", positive="c")
    assert draft.notes == (
        "book.csv:2: x: unit is not for categorical columns; it is left out",
        "target.positive: is not among the classes; use one of 'a', 'b'",
        "columns.z.lower: must be below upper, but 5 is not below 1",
    )


def test_remarks_and_sources_stay_on_their_lines():
    book = replace(parse_table('name,values,label\nx,1|2,"a\nb\x1b"\n', "s"), sources=("/some/fol\nder/a\nb.csv",))
    text = codebook_template(book, "y").text
    assert "# a b \n[columns.x]" in text
    assert "# Written from a b.csv.\n" in text


def test_an_empty_code_book_says_nothing():
    assert CodeBook(target="y").names == ("y",)
    assert CodeBook().names == ()
