"""What the documents show must run."""

import doctest
import re
from pathlib import Path

import pytest

from hardzero.estimators import lasso, sparse_private

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("module", [lasso, sparse_private], ids=lambda module: module.__name__)
def test_docstring_examples(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_guides_blocks_run_one_after_the_other(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "guide.md").read_text(), flags=re.DOTALL)
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        exec(compile(block, "docs/guide.md", "exec"), names)
    assert "1.62" in capsys.readouterr().out  # what the published noise guarantees under replace-one


def test_every_linked_page_exists():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
