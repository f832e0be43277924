"""The command ``hardzero``, also as ``python -m hardzero``."""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

from . import interrupts


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        interrupts.listen()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # whose encoding may lack letters
                stream.reconfigure(errors="replace")
        from .cli import app  # noqa: PLC0415 - may be missing what it needs

        app()
    except BaseException as error:
        if (signum := interrupts.received()) is not None:
            _end(128 + signum)
        if not isinstance(error, ModuleNotFoundError) or error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"the command line needs {error.name}, which is not installed: pip install 'hardzero[cli]'")


def _end(code: int) -> NoReturn:
    """End after an interrupt, whatever a library made of it: an import that failed, for example.

    At once, because threads of libraries may still be at work, and would abort the process if Python waited for them.
    """
    # It may have come before the command began, or between its last step and its end, when nobody has said so yet.
    options = sys.modules.get("hardzero.cli.options")
    left = getattr(options, "unsaid", lambda: "nothing was written")()
    if left is not None:
        print(f"interrupted; {left}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
