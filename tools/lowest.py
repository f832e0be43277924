"""Print the lowest versions that pyproject.toml declares, as exact requirements for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^]]+)\])?(?:>=(?P<lowest>[\w.]+))?")


def lowest(extras: list[str], project: Path = PROJECT) -> list[str]:
    """Return the lowest versions of all dependencies, and of the named extras and those that they include."""
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    waiting, seen = list(extras), set()
    found = [_exact(requirement) for requirement in declared["dependencies"]]
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in declared["optional-dependencies"][extra]:
            parts = _parts(requirement)
            if parts["name"] == declared["name"]:
                waiting += [name.strip() for name in (parts["extras"] or "").split(",")]
            else:
                found.append(_exact(requirement))
    return sorted(set(found))


def _parts(requirement: str) -> dict[str, str | None]:
    match = _REQUIREMENT.match(requirement)
    if match is None:
        raise ValueError(f"pyproject.toml has a requirement that is not understood: {requirement}")
    return match.groupdict()


def _exact(requirement: str) -> str:
    parts = _parts(requirement)
    if parts["lowest"] is None:
        raise ValueError(f"pyproject.toml states no lowest version of {parts['name']}")
    extras = f"[{parts['extras']}]" if parts["extras"] else ""
    return f"{parts['name']}{extras}=={parts['lowest']}"


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
