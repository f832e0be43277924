"""Names and notes from files as text that a terminal shows and does not obey."""

from __future__ import annotations

import unicodedata

_OBEYED = frozenset(("Cc", "Cs", "Zl", "Zp"))
# Not all of category Cf: joiners belong to how some scripts and symbols are written.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def shown(text: object, keep: str = "") -> str:
    """Return text in which control characters are written as escapes, such as ``\\x1b``.

    Characters that move the cursor, change colours, end a line or turn the direction of writing would otherwise let
    a name in a file write anything anywhere on a terminal.

    Parameters
    ----------
    text : object
        What to show; anything but text is shown as ``str`` gives it.
    keep : str, default=""
        Control characters that the caller put there on purpose, such as the ends of lines.

    Privacy
    -------
    Post-processing.
    """
    return "".join(c if c in keep or not is_control(c) else _escape(c) for c in str(text))


def is_control(character: str) -> bool:
    """Whether a terminal or a browser would obey a character, not show it.

    Privacy
    -------
    Data-independent.
    """
    return unicodedata.category(character) in _OBEYED or character in _TURNING


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
