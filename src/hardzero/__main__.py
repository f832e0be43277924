"""The command ``hardzero``, also as ``python -m hardzero``."""

from __future__ import annotations

import sys

from . import interrupts


def main() -> None:
    """Run the command line, or say what it needs."""
    interrupts.listen()
    try:
        from .cli import app  # noqa: PLC0415 - may be missing what it needs

        app()
    except KeyboardInterrupt as stop:  # before a command has begun
        _end(interrupts.exit_code(stop))
    except BaseException as error:
        if (signum := interrupts.received()) is not None and not _is_said(error):
            # A library may turn an interrupt into an error of its own, an import that failed for example.
            _end(128 + signum)
        if not isinstance(error, ModuleNotFoundError) or error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"the command line needs {error.name}, which is not installed: pip install 'hardzero[cli]'")


def _is_said(error: BaseException) -> bool:
    """Whether a command has said itself what the interrupt left."""
    return isinstance(error, SystemExit) and error.code == 128 + (interrupts.received() or 0)


def _end(code: int) -> None:
    print("interrupted; nothing was written", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
