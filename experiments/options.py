"""Options that experiments share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable


def add_studies(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Let studies be named; without any, all are run.

    A default that is a list and choices do not go together in all versions of Python.
    """
    known = list(names)

    def study(name: str) -> str:
        if name not in known:
            raise argparse.ArgumentTypeError(f"there is no study {name!r}, only {', '.join(known)}")
        return name

    parser.add_argument("studies", nargs="*", metavar="study", type=study, default=known, help=f"{', '.join(known)}")
