"""What code books say of a variable, in the many spellings they have for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .cell_text import DECIMAL, UnknownCellError, text_of
from .fields import SPACES, SchemaError, listed, string

FIELDS: Mapping[str, str] = {
    "name": "name variable variablename varname var column columnname field fieldname attribute feature",
    "type": "type kind datatype vartype variabletype columntype measure measurementlevel scale",
    "role": "role usage use",
    "lower": "lower min minimum lowerbound low lowest smallest minvalue from",
    "upper": "upper max maximum upperbound high highest largest maxvalue to",
    "range": "range validrange bounds",
    "unit": "unit units",
    "values": "values value levels level categories category codes code valuelabels options choices classes",
    "true": "true yes truevalue",
    "false": "false no falsevalue",
    "positive": "positive positiveclass",
    "cuts": "cuts cutpoints",
    "spacing": "spacing",
    "monotone": "monotone monotonicity",
    "steps": "steps",
    "other": "other",
    "description": "description label meaning definition comment comments note notes question longname "
    "remark remarks",
}
"""What can be said of a variable, and the headings under which it may stand, without case, spaces and marks."""

_TYPES = {
    "numeric": "numeric number continuous real float double decimal integer int uint whole count interval ratio "
    "scale quantitative bigint smallint long",
    "categorical": "categorical category nominal symbolic discrete factor string str text char character varchar "
    "object enum code coded qualitative",
    "ordered": "ordered ordinal",
    "boolean": "boolean bool binary logical flag dichotomous indicator",
    "ignored": "ignored ignore id identifier key skip drop unused",
    "date": "date datetime time timestamp",
    "target": "target class outcome response dependent",
}
_ROLES = {
    "target": "target label class outcome response dependent output",
    "ignored": "ignored ignore id identifier key weight meta skip unused",
    "feature": "feature predictor input independent covariate explanatory",
}
_TRUE_AND_FALSE = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("1", "0"), ("j", "n"))

_NUMBER = re.compile(DECIMAL)
_RANGE = re.compile(rf"[\[(]?\s*(?P<lower>{DECIMAL})\s*(?:-|–|\.\.|to|,|;|:|\|)\s*(?P<upper>{DECIMAL})\s*[\])]?")
_PAIR = re.compile(r"(?P<code>[^<>=!]*[^<>=!\s])\s*=\s*(?P<label>[^=].*)|(?P<whole>[+-]?[0-9]+)\s*:\s+(?P<name>.+)")


def _spelled(words: Mapping[str, str]) -> dict[str, str]:
    return {spelling: key for key, spellings in words.items() for spelling in spellings.split()}


_FIELD_OF, _TYPE_OF, _ROLE_OF = _spelled(FIELDS), _spelled(_TYPES), _spelled(_ROLES)


class NotUnderstoodError(ValueError):
    """An entry cannot be used; the message says why."""


def loosened(name: str) -> str:
    """Return a name without case, spaces and marks, by which spellings of one name can be compared."""
    return "".join(character for character in name.casefold() if character.isalnum())


def field_of(heading: str) -> str | None:
    """Return what stands under a heading, None if it is not known."""
    return _FIELD_OF.get(loosened(heading))


def type_of(word: str) -> str | None:
    """Return the type of a schema that a word stands for, or "date" or "target"; None if it is not known.

    What follows the first word, as in ``varchar(20)`` and ``int64``, does not count.
    """
    found = re.match(r"[^\W\d_]+", word.casefold().strip())
    return None if found is None else _TYPE_OF.get(found.group())


def said_of(entry: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what the entry of a variable says, by keys of a schema, and what of it was not understood.

    Cells are texts; from JSON also numbers, truth values and lists. What is empty says nothing.
    """
    said: dict[str, Any] = {}
    notes: list[str] = []
    for key, cell in entry.items():
        if key == "name" or cell is None or cell in ("", []):
            continue
        try:
            said |= _READERS.get(key, _word)(key, cell)
        except NotUnderstoodError as problem:
            notes.append(f"{key} {problem}")
    if said.get("type") == "numeric" and len(said.get("values", ())) == 1 and "lower" not in said:
        said |= _values_as_range(said)
    if listing := said.pop("listing", None):
        notes.append(listing)
    return said, notes


def texts_of(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return different texts as a schema can hold them, and what had to be left out for that."""
    kept: dict[str, None] = {}
    notes = []
    for number, text in enumerate(texts, start=1):
        trimmed = text.strip(SPACES)
        try:
            string(trimmed, ())
        except SchemaError:
            notes.append(f"entry {number} of the values is empty or no text; it is left out")
            continue
        if trimmed in kept:
            notes.append(f"lists {trimmed!r} more than once; it is kept once")
        kept[trimmed] = None
    return list(kept), notes


def true_and_false(values: Sequence[str]) -> tuple[str, str] | None:
    """Return which of two values is yes and which is no, where their spelling tells."""
    by_word = {value.casefold(): value for value in values}
    for true, false in _TRUE_AND_FALSE:
        if len(values) == 2 and set(by_word) == {true, false}:
            return by_word[true], by_word[false]
    return None


def _text(cell: Any) -> str:
    try:
        text = text_of(cell)
    except UnknownCellError:
        text = None
    if text is None:
        raise NotUnderstoodError("is no text and no number")
    return text.strip(SPACES)


def _word(key: str, cell: Any) -> dict[str, Any]:
    text = _text(cell)
    try:
        return {key: string(text, ())}
    except SchemaError:
        raise NotUnderstoodError("is no usable text") from None


def _type(_: str, cell: Any) -> dict[str, Any]:
    word = _text(cell)
    kind = type_of(word)
    if kind is None:
        raise NotUnderstoodError(f"{word!r} is not known; use numeric, boolean, categorical, ordered or ignored")
    if kind == "target":
        return {"role": "target"}
    if kind == "date":
        return {"type": "ignored", "description": "a date or time, which gives no feature"}
    return {"type": kind}


def _role(_: str, cell: Any) -> dict[str, Any]:
    word = _text(cell)
    role = _ROLE_OF.get(loosened(word))
    if role is None:
        raise NotUnderstoodError(f"{word!r} is not known; use feature, target or ignored")
    return {"target": {"role": "target"}, "ignored": {"type": "ignored"}}.get(role, {})


def _number(key: str, cell: Any) -> dict[str, Any]:
    text = _text(cell)
    if not _NUMBER.fullmatch(text) or isinstance(cell, bool):
        raise NotUnderstoodError(f"{text!r} is no number, such as -1.5")
    number = float(text)
    if not math.isfinite(number):
        raise NotUnderstoodError("is no finite number")
    return {key: number}


def _range(_: str, cell: Any) -> dict[str, Any]:
    text = "|".join(map(_text, cell)) if isinstance(cell, list) else _text(cell)
    found = _RANGE.fullmatch(text)
    if found is None:
        raise NotUnderstoodError(f"{text!r} is no pair of bounds, such as 0 to 120")
    return _number("lower", found["lower"]) | _number("upper", found["upper"])


def _cuts(key: str, cell: Any) -> dict[str, Any]:
    """Return listed cut points, or how many there are to be."""
    parts = cell if isinstance(cell, list) else re.split(r"[|;]", _text(cell))
    numbers = [_number(key, part)[key] for part in parts]
    if isinstance(cell, list) or len(numbers) > 1 or not numbers[0].is_integer():
        return {key: numbers}
    return {key: int(numbers[0])}


def _flag(key: str, cell: Any) -> dict[str, Any]:
    word = _text(cell).casefold()
    for true, false in _TRUE_AND_FALSE:
        if word in (true, false):
            return {key: word == true}
    raise NotUnderstoodError(f"{word!r} is neither yes nor no")


def _values(_: str, cell: Any) -> dict[str, Any]:
    """Return listed values, the meanings of codes, and a remark if one has to be made."""
    if isinstance(cell, Mapping):
        pairs = [(str(code), _text(label)) for code, label in cell.items()]
    elif isinstance(cell, list):
        pairs = [_coded(item) for item in cell]
    else:
        return _separated(_text(cell))
    return _listed_values(pairs, "")


def _coded(item: Any) -> tuple[str, str]:
    if not isinstance(item, Mapping):
        return _text(item), ""
    by_heading = {loosened(str(key)): value for key, value in item.items()}
    code = next((by_heading[key] for key in ("code", "value", "level", "name") if key in by_heading), None)
    label = next((by_heading[key] for key in ("label", "meaning", "description") if key in by_heading), "")
    return _text(code), _text(label)


def _separated(text: str) -> dict[str, Any]:
    separator = next((mark for mark in "|;\n," if mark in text), "|")
    remark = "values are taken as separated by commas; separate them by | if a comma is part of one"
    parts = [part.strip(SPACES) for part in text.split(separator)]
    found = [_PAIR.fullmatch(part) for part in parts if part]
    if found and all(found):
        pairs = [(pair["code"] or pair["whole"], pair["label"] or pair["name"]) for pair in found if pair]
        if len({code for code, _ in pairs}) == len(pairs):
            return _listed_values(pairs, remark if separator == "," else "")
    return _listed_values([(part, "") for part in parts], remark if separator == "," else "")


def _listed_values(pairs: Sequence[tuple[str, str]], remark: str) -> dict[str, Any]:
    values, notes = texts_of(code for code, _ in pairs)
    said: dict[str, Any] = {"values": values}
    if labels := {code: label for code, label in pairs if label and code in values}:
        said["labels"] = labels
    if listing := "; ".join(filter(None, [remark, *notes])):
        said["listing"] = listing
    return said


def _values_as_range(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bounds of a number whose values are given as 0-120."""
    try:
        bounds = _range("values", said["values"][0])
    except NotUnderstoodError:
        return {}
    return {**bounds, "values": []}


def shortened(values: Any) -> str:
    """Return what was said as a message shows it."""
    return f"[{listed(values)}]" if isinstance(values, list) else repr(values)


_READERS: Mapping[str, Callable[[str, Any], dict[str, Any]]] = {
    "type": _type,
    "role": _role,
    "lower": _number,
    "upper": _number,
    "range": _range,
    "cuts": _cuts,
    "steps": _flag,
    "other": _flag,
    "values": _values,
}
