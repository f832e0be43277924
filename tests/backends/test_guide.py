"""The page about clusters and the example: they run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

from hardzero.model import FittedModel

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster.py"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "cluster.md"


def test_the_python_of_the_page_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {"__name__": "__main__"})
    assert "zero-out neighbours" in capsys.readouterr().out


def test_the_example_gives_a_model_and_a_report(tmp_path):
    folder = tmp_path / "people"
    subprocess.run([sys.executable, str(EXAMPLE), str(folder)], check=True, capture_output=True, timeout=180)
    assert FittedModel.load(folder / "model.json").privacy.is_private
    assert "<html" in (folder / "report.html").read_text()
