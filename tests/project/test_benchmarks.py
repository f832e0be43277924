"""The benchmark suite runs, and writes what its page is made of."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SECTIONS = [
    *(
        "steps",
        "bandwidth",
        "selection",
        "optimum",
        "select-refit",
        "growth",
        "memory",
        "scaling",
        "cluster",
        "ledger",
    ),
]


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_in_its_smallest_setting(section, tmp_path):
    command = [sys.executable, "run.py", "--tiny", "--only", section, "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / f"{section}.json").read_text()
    record = json.loads(text, parse_constant=refuse)
    assert record["section"] == section
    assert record["results"]
    assert record["machine"]["threads"] == 1
    assert not re.search(r'"/|\\\\', text), "a result names no path"


def test_the_page_needs_results(tmp_path):
    code = "import report, pathlib, sys; report.write_page(pathlib.Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], cwd=BENCHMARKS, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "no results yet" in done.stderr
