"""UCI's lists of attributes: ``.names`` files in the form of C4.5 and its successors.

Everything from a bar to the end of a line is a comment. The first entry lists the classes, or names the attribute to
predict; each other entry is a name, a colon, and a type or the values, with a period at its end. A backslash before a
mark makes it part of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .codebook import CodeBook, Variable
from .codebook_fields import texts_of, type_of
from .fields import SPACES, SchemaError, string

_MARKS = "\\,:|.?"
_GUARDED = {mark: chr(0xFDD0 + number) for number, mark in enumerate(_MARKS)}  # code points that are no characters
_PLAIN = str.maketrans({guarded: mark for mark, guarded in _GUARDED.items()})
_ESCAPED = re.compile(r"\\([\\,:|.?])")
_COMMENT = re.compile(r"\|.*")
_PERIOD = re.compile(r"\.\s*$")
_TYPE_AND_REMARK = re.compile(r"(?P<type>[^\W\d_]+)(?:\s+[0-9]+|\s*[(\[.;-].*)?", re.DOTALL)
_ORDERED = re.compile(r"\[ordered\]", re.IGNORECASE)
_OTHER_TYPES = {"label": "ignored"}
_LONGEST_SHOWN = 60


def parse_names(text: str, source: str) -> CodeBook:
    """Return what a list of attributes says.

    Privacy
    -------
    Data-independent.
    """
    variables: dict[str, Variable] = {}
    classes: list[str] = []
    notes: list[str] = []
    for count, (line, entry) in enumerate(_entries(text)):
        place = f"{source}:{line}"
        name, colon, body = entry.partition(":")
        if colon:
            name = _plain(name)
            said, problems = _described(name, body)
            if name in variables:
                problems = [f"is described again, after {variables[name].place}; the first description is kept"]
            elif said is not None:
                variables[name] = Variable(name, said, place)
            notes += [f"{place}: {name}: {problem}" for problem in problems]
        elif count == 0:
            classes, problems = texts_of(_items(entry))
            notes += [f"{place}: the classes: {problem}" for problem in problems]
        else:
            notes.append(f"{place}: is not understood: {_start_of(entry)!r} is no `name: values.`, no comment")
    target = classes.pop() if len(classes) == 1 else None
    if target is not None and target not in variables:
        notes.append(f"{source}: {target!r} is neither a list of classes nor an attribute")
        target = None
    return CodeBook(tuple(variables.values()), tuple(classes), target, tuple(notes), (source,))


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line on which each entry begins, and the entry on one line; comments are left out."""
    begun, parts = 0, list[str]()
    for number, raw in enumerate(text.split("\n"), start=1):
        guarded = _ESCAPED.sub(lambda escaped: _GUARDED[escaped[1]], raw)
        line = _COMMENT.sub("", guarded).strip(SPACES)
        if not line:
            continue
        if parts and not _goes_on(parts, line):
            yield begun, " ".join(parts)
            parts.clear()
        begun = begun if parts else number
        parts.append(line)
    if parts:
        yield begun, " ".join(parts)


def _goes_on(parts: Sequence[str], line: str) -> bool:
    """Whether a line belongs to the entry before it: at a comma always, else unless that one is complete."""
    if parts[-1].endswith(",") or line.startswith(","):
        return True
    is_type = len(parts) == 1 and _type(parts[0].partition(":")[2].strip(SPACES)) is not None
    return not is_type and not parts[-1].endswith(".") and ":" not in line


def _described(name: str, body: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return what an attribute's text says, None if it says nothing, and what was not understood."""
    try:
        string(name, ())
    except SchemaError:
        return None, ["is not understood: there is no usable name before the colon"]
    ended = _PERIOD.search(body)
    content = body[: ended.start()] if ended else body
    content = content.strip(SPACES)
    if (typed := _type(content)) is not None:
        return typed
    if not content or content.startswith("="):
        return {}, ["is not understood: neither a type nor values stand behind the colon"]
    kind = "categorical"
    if _ORDERED.match(content):
        kind, content = "ordered", _ORDERED.sub("", content, count=1)
    values, notes = texts_of(_items(content.removeprefix("{").removesuffix("}")))
    if not ended:
        if len(values) < 2:
            return None, [f"is not understood: {_start_of(content)!r} is no type and no list of values"]
        notes.append("has no period at its end; taken as it stands")
    return {"type": kind, "values": values}, notes


def _type(content: str) -> tuple[dict[str, Any], list[str]] | None:
    """Return the type that a text without a list is, with what stands behind it in brackets as a description."""
    found = _TYPE_AND_REMARK.fullmatch(content)
    if found is None or "," in content:
        return None
    word = found["type"]
    kind = _OTHER_TYPES.get(word.casefold()) or type_of(word)
    if kind is None or kind == "target":
        return None
    said: dict[str, Any] = {"type": kind}
    if kind == "date":
        said = {"type": "ignored", "description": "a date or time, which gives no feature"}
    elif remark := content[found.end("type") :].strip(SPACES + "()[].;-"):
        said["description"] = _plain(remark)
    return said, []


def _items(text: str) -> list[str]:
    listed = _PERIOD.sub("", text).split(",")
    if len(listed) > 1 and not listed[-1].strip(SPACES):
        listed.pop()
    return [_plain(item) for item in listed]


def _plain(text: str) -> str:
    return text.translate(_PLAIN).strip(SPACES)


def _start_of(text: str) -> str:
    plain = _plain(text)
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}…"
