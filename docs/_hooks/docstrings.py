"""Docstrings in the style of numpydoc become Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

_HEADING = re.compile(r"^(?P<title>\S.*)\n-{3,}$", re.MULTILINE)
_MARKUP = re.compile(r"``(?P<code>.+?)``|(?::\w+:)?`(?P<name>[^`]+)`|(?P<page>docs/[\w/.-]+\.md)", re.DOTALL)
_SPECIAL = re.compile(r"([\\`*_\[\]<>$|])")
_UNDER_NOTES = "Notes\n-----\n**Privacy.** "  # where scikit-learn would warn of a section that it does not know
_LISTS_OF_NAMES = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")

Linker = Callable[[str], str | None]
"""Gives the address of a public name or of a page such as ``docs/schema.md``, or None where there is none."""


def plain(text: str) -> str:
    """Return text as Markdown that shows it letter by letter."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)


def code(text: str) -> str:
    """Return text as a code span, whatever it contains."""
    return f"<code>{plain(text)}</code>"


def inline(text: str, link: Linker) -> str:
    """Return a docstring's running text as Markdown."""
    pieces, end = [], 0
    for found in _MARKUP.finditer(text):
        pieces += [plain(text[end : found.start()]), _marked_up(found, link)]
        end = found.end()
    return "".join([*pieces, plain(text[end:])])


def _marked_up(found: re.Match[str], link: Linker) -> str:
    if found["page"]:
        shown, target = plain(found["page"].rsplit("/", 1)[1].removesuffix(".md")), link(found["page"])
    else:
        name = found["code"] or found["name"].lstrip("~")
        shown, target = code(name), link(name)
    return f"[{shown}]({target})" if target else shown


def markdown(docstring: str, link: Linker, level: int) -> str:
    """Return a docstring as Markdown, its sections under headings of the given level."""
    text = inspect.cleandoc(docstring).replace(_UNDER_NOTES, "Privacy\n-------\n")
    parts = _HEADING.split(text)  # what stands before the first heading, then title and content in turn
    made = [_prose(parts[0], link)]
    for title, content in zip(parts[1::2], parts[2::2], strict=True):
        made += [f"{'#' * level} {plain(title)}", _section(title, content.strip("\n"), link)]
    return "\n\n".join(part for part in made if part)


def _section(title: str, content: str, link: Linker) -> str:
    if title == "Examples":
        return _examples(content, link)
    if title in _LISTS_OF_NAMES:
        return _definitions(content, link)
    text = _prose(content, link)
    return _admonition(title.lower(), text) if title == "Privacy" else text


def _admonition(kind: str, text: str) -> str:
    return f'!!! {kind} ""\n\n' + "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _prose(text: str, link: Linker) -> str:
    return inline(text.strip(), link)


def _examples(content: str, link: Linker) -> str:
    blocks = re.split(r"\n[ \t]*\n", content)
    return "\n\n".join(
        f"```pycon\n{block}\n```" if block.startswith(">>>") else _prose(block, link) for block in blocks
    )


def _definitions(content: str, link: Linker) -> str:
    made = []
    for entry in re.split(r"\n(?=\S)", content):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        term = ", ".join(code(name) for name in names.split(", "))
        if kind:
            term += f" : {inline(kind, link)}"
        made += [term, *_indented_definition(inline(inspect.cleandoc(body), link)), ""]
    return "\n".join(made)


def _indented_definition(text: str) -> list[str]:
    first, *rest = text.splitlines() or ["&#8203;"]  # a term needs a definition, if only an empty one
    return [f":   {first}", *(f"    {line}".rstrip() for line in rest)]
