"""Schemas to fill in: from the names and types of a table's columns, from code books, or from both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from .codebook import CodeBook, Variable
from .codebook_fields import shortened, true_and_false
from .entries import MOST_COLUMNS, keys_of
from .fields import SchemaError, did_you_mean, listed, string
from .file import loads, toml_table, type_family


class NamesAndTypes(Protocol):
    """What a template needs to know of a table: nothing about its rows."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""

    @property
    def types(self) -> Mapping[str, Any]:
        """Arrow type of each column."""

    @property
    def is_text(self) -> bool:
        """Whether types are guesses, because the format has none."""


@dataclass(frozen=True)
class Draft:
    """A schema as far as it is known.

    Attributes
    ----------
    text : str
        TOML text; `hardzero.schema.file.loads` refuses it, with the places of all gaps, until they are filled.
    gaps : tuple of str
        What is still to be filled in, such as ``age.lower``.
    notes : tuple of str
        What was not understood or left out, and what is wrong with what was stated.

    Privacy
    -------
    Data-independent, as long as nothing in it comes from the records.
    """

    text: str
    gaps: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Table:
    """A table of the schema: what stands in it, notes behind keys, and remarks above it."""

    path: tuple[str, ...]
    entry: Mapping[str, Any]
    notes: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    @property
    def gaps(self) -> Iterator[tuple[str, ...]]:
        return ((*self.path, key) for key, value in self.entry.items() if value in ("", []))

    def written(self) -> str:
        return "".join(f"# {_on_one_line(remark)}\n" for remark in self.remarks) + toml_table(
            self.path, self.entry, self.notes
        )


def schema_template(table: NamesAndTypes, target: str | None = None, *, guess_types: bool = False) -> str:
    """Write a schema to fill in: the columns of a table with empty bounds, categories and classes.

    Parameters
    ----------
    table : TableReader
        An opened table, of which names and types are used and nothing else.
    target : str, optional
        Name of the column to predict.
    guess_types : bool, default=False
        Whether the types of a text file, which has none, are guessed from its first rows, for the data holder. They
        are left to be filled in otherwise. The types that other files and databases give are used in any case.

    Returns
    -------
    str
        TOML text; `loads` refuses it, with the places of all gaps, until they are filled.

    Privacy
    -------
    Names and types of columns count as public; nothing else is taken from the table. Types that are guessed depend on
    the records: such a template says so, and is for the data holder only.
    """
    _refuse_table(table, target)
    types: Mapping[str, Any] = {}
    if table.is_text and not guess_types:
        about_types = _TYPES_TO_FILL_IN
    else:
        types, about_types = table.types, _TYPES_GUESSED if table.is_text else _TYPES_GIVEN
    columns = [
        _column(Variable(name, _said_by_type(types.get(name), table.is_text), ""), [])
        for name in table.names
        if name != target
    ]
    return _written(_HEAD + about_types, _target_table({"name": target or ""}), columns)


def codebook_template(
    book: CodeBook, target: str | None = None, *, positive: str | None = None, table: NamesAndTypes | None = None
) -> Draft:
    """Write the schema that code books describe; what they do not say is left to be filled in.

    Parameters
    ----------
    book : CodeBook
        From `read_codebooks`.
    target : str, optional
        Name of the column to predict, where the code books do not tell.
    positive : str, optional
        The class that weights speak for, where there are two and the code books do not tell.
    table : TableReader, optional
        An opened table, with whose columns the variables are matched. Of it names and types are used; a text file has
        no types.

    Returns
    -------
    Draft
        The schema, what is missing in it, and what was not understood.

    Raises
    ------
    SchemaError
        There is no such target.

    Privacy
    -------
    Data-independent, as long as the code books were not made from the records: names and declared types of columns
    count as public.
    """
    book = replace(book, target=target or book.target)
    if table is not None:
        _refuse_table(table, target)
        book = book.matched(table.names)
        if not table.is_text:
            types = table.types
            book = replace(book, variables=tuple(_typed(variable, types) for variable in book.variables))
    notes = list(book.notes)
    target_table = _target_table(_target_entry(book, positive, notes))
    columns = [_column(variable, notes) for variable in book.variables if variable.name != book.target]
    sources = ", ".join(_on_one_line(Path(source).name) for source in book.sources)
    text = _written(f"{_HEAD}# Written from {sources}.\n", target_table, columns)
    gaps = [gap for part in (target_table, *columns) if isinstance(part, _Table) for gap in part.gaps]
    notes += _problems(text, set(gaps))
    return Draft(text, tuple(".".join(gap[-2:]) for gap in gaps), tuple(notes))


def _refuse_table(table: NamesAndTypes, target: str | None) -> None:
    if target is not None and target not in table.names:
        hint = did_you_mean(target, table.names[:MOST_COLUMNS])
        raise SchemaError(f"there is no column {target!r}{hint}; the table has: {listed(table.names)}")
    if len(table.names) - 1 > MOST_COLUMNS:  # one of them is the target
        raise SchemaError(f"the table has {len(table.names):,} columns; a schema can have {MOST_COLUMNS:,}")


def _problems(text: str, gaps: set[tuple[str, ...]]) -> list[str]:
    """Return what is wrong with a schema, beyond its gaps."""
    try:
        loads(text)
    except SchemaError as error:
        return [
            f"{'.'.join(problem.path)}: {problem.problem}" for problem in error.problems if problem.path not in gaps
        ]
    return []


def _typed(variable: Variable, types: Mapping[str, Any]) -> Variable:
    """Return a variable with the type that its column has, where the code book says nothing that tells one."""
    if _kind(variable.said) or variable.name not in types:
        return variable
    return replace(variable, said={**_said_by_type(types[variable.name], False), **variable.said})


def _said_by_type(arrow_type: Any, is_text: bool) -> dict[str, Any]:
    """Return what a column's declared type says of it."""
    if arrow_type is None:
        return {}
    kind = _KIND_OF_TYPE.get(type_family(arrow_type), "ignored")
    if kind == "boolean" and not is_text:
        return {"type": kind, "true": "true", "false": "false"}
    whole = kind == "numeric" and not is_text and "int" in str(arrow_type)
    return {"type": kind, **({"type note": _A_CODE} if whole else {})}


def _kind(said: Mapping[str, Any]) -> str:
    """Return the type of a column, as far as what is said tells; values of a number without bounds are codes."""
    kind = said.get("type", "")
    bounded = "lower" in said or "upper" in said or "cuts" in said
    if kind == "numeric" and said.get("values") and not bounded:
        return "categorical"
    if kind == "categorical" and bounded and not said.get("values"):
        return "numeric"
    if kind == "boolean" and said.get("values") and "true" not in said and true_and_false(said["values"]) is None:
        return "categorical"
    if kind:
        return str(kind)
    if said.get("values"):
        return "categorical"
    return "numeric" if bounded else "boolean" if "true" in said or "false" in said else ""


def _column(variable: Variable, notes: list[str]) -> _Table | str:
    """Return the table of a column, or a remark where a schema cannot name it."""
    try:
        string(variable.name, ())
    except SchemaError:
        name = repr(variable.name)
        return f"# A schema cannot name the column {name}, which is left out here; rename it in the table.\n"
    said, kind = dict(variable.said), _kind(variable.said)
    if kind == "boolean" and "true" not in said and (pair := true_and_false(said.get("values", ()))):
        said["true"], said["false"] = pair
    if kind != said.get("type", kind):
        notes.append(f"{variable.place}: {variable.name}: is taken as {kind}, by its values or bounds")
    keys = keys_of(kind) if kind else ()
    entry = {"type": kind} | {key: said.get(key, _EMPTY[key]) for key in _NEEDED.get(kind, ())}
    entry |= {key: said[key] for key in keys if key in said and key not in entry}
    unused = [key for key in said if key not in (*entry, *_NOT_IN_COLUMNS) and said[key] not in ("", [])]
    if kind not in ("", "ignored"):
        used_up = ("values",) if kind == "boolean" and entry["true"] else ()
        notes += [
            f"{variable.place}: {variable.name}: {key} is not for {kind} columns; it is left out"
            for key in unused
            if key not in used_up
        ]
    behind = {"type": said.get("type note", "") if kind else _TYPE_NOTE}
    behind |= {key: _NOTES[key] for key, value in entry.items() if key in _NOTES and value in ("", [])}
    return _Table(("columns", variable.name), entry, {k: v for k, v in behind.items() if v}, _remarks(said))


def _remarks(said: Mapping[str, Any]) -> list[str]:
    labels = ", ".join(f"{code} = {label}" for code, label in said.get("labels", {}).items())
    return [remark for remark in (said.get("description", ""), labels) if remark]


def _target_entry(book: CodeBook, positive: str | None, notes: list[str]) -> dict[str, Any]:
    """Return what the schema says of the target: bounds of a number, or classes."""
    said = next((dict(v.said) for v in book.variables if v.name == book.target), {})
    if not said and book.target is not None and not book.classes:
        known = [variable.name for variable in book.variables if variable.said]
        notes.append(f"the target {book.target!r} is in no code book{did_you_mean(book.target, known)}")
    name = {"name": book.target or ""}
    if _kind(said) == "numeric":
        unit = {"unit": said["unit"]} if "unit" in said else {}
        return {**name, "lower": said.get("lower", ""), "upper": said.get("upper", ""), **unit}
    if "true" in said and "false" in said and "values" not in said:
        said = {"positive": said["true"], **said, "values": [said["false"], said["true"]]}
    classes = list(said.get("values") or book.classes)
    if book.classes and set(classes) != set(book.classes):
        notes.append(
            f"the classes are those said of {book.target!r}; the list {shortened(list(book.classes))} is not used"
        )
    spoken_for = positive or said.get("positive", "")
    if not spoken_for and len(classes) > 2:
        return {**name, "classes": classes}
    return {**name, "classes": classes, "positive": spoken_for}


def _target_table(entry: Mapping[str, Any]) -> _Table:
    entry = entry if len(entry) > 1 else {**entry, "classes": [], "positive": ""}
    behind = {key: _TARGET_NOTES[key] for key, value in entry.items() if key in _TARGET_NOTES and value in ("", [])}
    return _Table(("target",), entry, behind)


def _written(head: str, target: _Table, columns: Sequence[_Table | str]) -> str:
    parts = [column if isinstance(column, str) else column.written() for column in columns]
    return "\n".join([head, target.written(), _MISSING, *parts])


def _on_one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


_KIND_OF_TYPE = {"number": "numeric", "boolean": "boolean", "text": "categorical"}
_NEEDED = {
    "numeric": ("lower", "upper"),
    "boolean": ("true", "false"),
    "categorical": ("values",),
    "ordered": ("values",),
}
_EMPTY: Mapping[str, Any] = {"lower": "", "upper": "", "true": "", "false": "", "values": []}
_NOT_IN_COLUMNS = ("role", "labels", "description", "positive", "type note")

_HEAD = """\
# What is publicly known about the table. Fill in every "" and []: the guarantee rests on it.
# Write what you know about the variables, from a code book or from their meaning: ages 0 to 120, a share 0 to 1.
# Do not read bounds, categories or classes from the data: one record can change them, and would show.
# Where nobody knows a range, write range = "private" in place of lower and upper: `hardzero bounds` releases one.
# Values outside the bounds are clipped to them; values not listed fall into "other", or are missing if other = false.
# A number acts along a straight line; with cuts = [25, 35, 50], or cuts = 16 spread over its bounds, in steps.
"""
_TYPES_TO_FILL_IN = """\
# A text file has no types. Write one for each column, and below it what belongs to it:
# numeric: lower and upper; boolean: true and false; categorical and ordered: values; ignored: nothing.
"""
_TYPES_GIVEN = """\
# The types are those of the table and may be changed: numeric, boolean, categorical, ordered or ignored.
"""
_TYPES_GUESSED = """\
# FOR THE DATA HOLDER ONLY: the types were guessed from the first rows and depend on them. Set each of them by what is
# known about the variable before this is passed on: numeric, boolean, categorical, ordered or ignored.
"""
_MISSING = """\
# For missing values: "error" stops, "zero" sets features to 0 (and categories to "other"), "drop" leaves the row out.
[missing]
policy = "error"
values = ["", "NA", "NaN", "?"]
"""
_NOTES = {
    "lower": "the smallest value that is possible, not the smallest in the data",
    "upper": "the largest value that is possible, not the largest in the data",
    "values": "every value of the code book, whether or not it occurs in the data",
    "true": "how the file spells yes",
    "false": "how the file spells no",
}
_TARGET_NOTES = {
    "classes": "every label that can occur; for a number write lower and upper instead",
    "positive": "the class that weights speak for; with more than two classes remove this line",
    **{key: _NOTES[key] for key in ("lower", "upper")},
}
_TYPE_NOTE = "numeric, boolean, categorical, ordered or ignored"
_A_CODE = 'a code? then type = "categorical"'
