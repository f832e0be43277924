"""Tables and figures of experiments/results/reproduce, put into docs/reproduction.md between its markers.

Run: .venv/bin/hardzero reproduce all --output experiments/results/reproduce
     .venv/bin/python experiments/reproduction_report.py

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from hardzero.reproduce.commands import TARGETS
from hardzero.reproduce.curves import CHARTS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "experiments" / "results" / "reproduce"
PAGE = ROOT / "docs" / "reproduction.md"
FIGURES = ROOT / "docs" / "figures"

HEAD = """# The paper, reproduced

Published values of *Sparse Private LASSO Logistic Regression* beside what this library measures with the same methods
on the same data, and hardzero at the same ε and δ. Everything below comes from one command, which goes on where it
was interrupted:

```
hardzero reproduce all --trials 50 --output experiments/results/reproduce
python experiments/reproduction_report.py
```

`--quick` runs a little of everything in minutes. Data sets are looked for in the folder that `HARDZERO_DATA` names.
"""
TITLES = {"table1": "Table 1: how many weights are nonzero", "table2": "Table 2: accuracy at the same sparsity"}


def block(name: str) -> str:
    """What was measured for one target, or that nothing was yet."""
    source = SOURCE / f"{name}.md"
    if not source.exists():
        return "Not run yet."
    if name not in CHARTS:
        return source.read_text().strip()
    for ending in ("png", "svg"):
        shutil.copyfile(SOURCE / f"{name}.{ending}", FIGURES / f"{name}.{ending}")
    return f"![{CHARTS[name].title}: {CHARTS[name].label}](figures/{name}.png)\n\n{source.read_text().strip()}"


def skeleton() -> str:
    """A page without results."""
    parts = [HEAD]
    for name in TARGETS:
        title = TITLES.get(name) or CHARTS[name].title
        parts.append(f"## {title}\n`hardzero reproduce {name}`\n\n<!-- {name} -->\n<!-- /{name} -->\n")
    return "\n".join(parts)


def filled(page: str) -> str:
    """The page with the newest results between its markers."""
    for name in TARGETS:
        pattern = f"<!-- {name} -->\n.*?<!-- /{name} -->"
        page, found = re.subn(
            pattern, lambda _, name=name: f"<!-- {name} -->\n{block(name)}\n<!-- /{name} -->", page, flags=re.DOTALL
        )
        if found != 1:
            raise SystemExit(f"{PAGE.name} needs the markers of {name} exactly once")
    return page


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text() if PAGE.exists() else skeleton()))


if __name__ == "__main__":
    main()
