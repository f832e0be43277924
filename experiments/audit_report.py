"""Tables of experiments/results/audit.json and audit-power.jsonl, put into docs/audit.md between its markers.

Run: hardzero audit --json --picture docs/figures/audit.svg --force > experiments/results/audit.json
     .venv/bin/python -m tests.audit.power 10 3000
     .venv/bin/python experiments/audit_report.py            (--print: to the terminal instead)

What stands outside the markers is written by hand and kept.
"""

from __future__ import annotations

import json
from pathlib import Path

from result_page import Content, Row, Tables, command

from hardzero.audit import ExactOutcome, Outcome
from hardzero.cli.actions.audit import HEAD, cells

PAGE = Path(__file__).parent.parent / "docs" / "audit.md"


def outcome_of(row: Row) -> Outcome | ExactOutcome:
    fields = {name: value for name, value in row.items() if name != "passed"}
    return ExactOutcome(**fields) if "difference" in row else Outcome(**fields)


def audited(results: Path) -> Content | None:
    """All cases of the audit whose result is kept."""
    path = results / "audit.json"
    if not path.exists():
        return None
    return [*HEAD[:-1], "result"], [list(cells(outcome_of(row))) for row in json.loads(path.read_text())["cases"]]


def power(results: Path) -> Content | None:
    """How often each broken twin was caught."""
    path = results / "audit-power.jsonl"
    if not path.exists():
        return None
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    body = [
        [
            row["twin"],
            row["case"],
            f"{row['runs']:,}",
            *(f"{row[name]} of {row['times']}" for name in ("caught", "refuted")),
        ]
        for row in rows
    ]
    return ["broken twin", "case", "runs", "caught", "the library refuted"], body


TABLES: Tables = {"audited": audited, "power": power}

if __name__ == "__main__":
    command(__doc__ or "", {PAGE: TABLES})
