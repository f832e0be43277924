"""The page about clusters: its Python runs as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "cluster.md"


def test_the_python_of_the_page_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {"__name__": "__main__"})
    assert "zero-out neighbours" in capsys.readouterr().out
