"""LaTeX between dollar signs becomes MathML while pages are made: nothing is left for the browser to load."""

from __future__ import annotations

import re

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from math_core import LatexError, LatexToMathML
from mkdocs.exceptions import PluginError

# Code spans come first, so that a dollar sign inside of one is left alone. A formula neither begins nor ends with a
# blank and is not followed by a digit: "between $5 and $10" is no formula.
_FORMULA = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?<!\\)\$\$(?P<display>[^$]+)\$\$"
    r"|(?<![\\$])\$(?P<inline>[^\s$](?:[^$]*[^\s$\\])?)\$(?![\d$])",
    re.DOTALL,
)
_PARAGRAPH_END = re.compile(r"(\n[ \t]*\n)")


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
        latex = found["display"] or found["inline"]
        try:
            made = self._converter.convert_with_local_state(latex, displaystyle=found["display"] is not None)
        except LatexError as error:
            raise PluginError(f"a formula cannot be typeset: {latex}: {error}") from None
        return self.md.htmlStash.store(made)


class Formulas(Extension):
    """Markdown in which formulas are written as in LaTeX."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        """Take formulas after fenced code (priority 25) has been put aside."""
        md.preprocessors.register(_Formulas(md), "formulas", 24)
