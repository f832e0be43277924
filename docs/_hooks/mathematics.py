"""LaTeX between dollar signs becomes MathML while pages are made: nothing is left for the browser to load."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from math_core import LatexError, LatexToMathML
from mkdocs.exceptions import PluginError

# Code spans come first, so that a dollar sign inside of one is left alone. A formula neither begins nor ends with a
# blank and is not followed by a digit: "between $5 and $10" is no formula. Punctuation beside it stays on its line.
_FORMULA = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?<!\\)\$\$(?P<display>[^$]+)\$\$"
    r"|(?P<before>\(?)(?<![\\$])\$(?P<inline>[^\s$](?:[^$]*[^\s$\\])?)\$(?![\d$])(?P<after>[.,;:!?)]*)",
    re.DOTALL,
)
_NAMED_SIGN = re.compile(r"&(?!lt;|gt;|amp;|quot;|#)\w+;")  # HTML knows more of these than XML
_PARAGRAPH_END = re.compile(r"(\n[ \t]*\n)")
_SIZED_BASE = re.compile(r"\\[bB]igg?[lr]?\s*(\\[a-zA-Z]+|\\?\W)\s*[_^]")
_LONG = 20  # letters and signs; a shorter formula stays in one piece
_RELATIONS = frozenset("=<>≤≥≠≈≔∈⊂∼∝→←↦")
_OPENING, _CLOSING = frozenset("([{⟨⌊⌈"), frozenset(")]}⟩⌋⌉")


class _Formulas(Preprocessor):
    """Puts finished MathML aside before tables are cut at their bars, and before Markdown sees an underscore."""

    def __init__(self, md: Markdown) -> None:
        super().__init__(md)
        self._converter = LatexToMathML(fancy_error=False)

    def run(self, lines: list[str]) -> list[str]:
        parts = _PARAGRAPH_END.split("\n".join(lines))  # no formula goes on in another paragraph
        return "".join(_FORMULA.sub(self._replaced, part) for part in parts).split("\n")

    def _replaced(self, found: re.Match[str]) -> str:
        if found["code"] is not None:
            return found[0]
        if found["display"] is not None:
            made = self._converted(found["display"], displaystyle=True)
            return self.md.htmlStash.store(f'<div class="formula" tabindex="0">{made}</div>')
        pieces = _breakable(self._converted(found["inline"], displaystyle=False))
        pieces[0] = found["before"] + pieces[0]
        pieces[-1] += found["after"]
        return self.md.htmlStash.store("".join(f'<span class="formula">{piece}</span>' for piece in pieces))

    def _converted(self, latex: str, *, displaystyle: bool) -> str:
        if _SIZED_BASE.search(latex):  # browsers do not enlarge a bracket that carries an index
            raise PluginError(f"a bracket made large by \\big cannot carry an index; use \\left and \\right: {latex}")
        try:
            return self._converter.convert_with_local_state(latex, displaystyle=displaystyle)
        except LatexError as error:
            raise PluginError(f"a formula cannot be typeset: {latex}: {error}") from None


def _breakable(mathml: str) -> list[str]:
    """Cut a long formula behind its relations, outside of brackets: browsers break lines only between formulas."""
    root = ElementTree.fromstring(_NAMED_SIGN.sub(lambda found: html.unescape(found[0]), mathml))
    if len("".join(root.itertext())) < _LONG:
        return [mathml]
    pieces: list[list[ElementTree.Element]] = [[]]
    depth = 0
    for element in root:
        pieces[-1].append(element)
        first = "".join(element.itertext())[:1]
        if element.tag in ("mo", "msub", "msup", "msubsup"):  # a bracket may carry an index
            depth += (first in _OPENING) - (first in _CLOSING)
        if element.tag == "mo" and first in _RELATIONS and depth == 0 and element is not root[-1]:
            element.set("form", "infix")  # at the end of a formula it would lose its spaces
            pieces.append([])
    return [f"<math>{''.join(ElementTree.tostring(e, 'unicode') for e in piece)}</math>" for piece in pieces]


class Formulas(Extension):
    """Markdown in which formulas are written as in LaTeX."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        """Take formulas after fenced code (priority 25) has been put aside."""
        md.preprocessors.register(_Formulas(md), "formulas", 24)
