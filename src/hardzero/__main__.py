"""The command ``hardzero``, also as ``python -m hardzero``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from .cli import app  # noqa: PLC0415 - may be missing what it needs

        app()
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"the command line needs {error.name}, which is not installed: pip install 'hardzero[cli]'")
    except KeyboardInterrupt:  # before a command has begun, or after it
        print("interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
