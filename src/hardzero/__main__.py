"""The command ``hardzero``, also as ``python -m hardzero``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from .cli import app  # noqa: PLC0415 - may be missing what it needs
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"the command line needs {error.name}, which is not installed: pip install 'hardzero[cli]'")
    app()


if __name__ == "__main__":
    main()
