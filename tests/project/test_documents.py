"""What the documents show must run."""

import doctest
import re
from pathlib import Path

import pytest

from hardzero.estimators import private_lasso as lasso
from hardzero.estimators import select_refit as sparse_private

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", [lasso, sparse_private], ids=lambda module: module.__name__)
def test_docstring_examples(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("page", "blocks", "printed"),
    [
        ("guide.md", 3, "1.62"),  # what the published noise guarantees under replace-one
        ("baselines.md", 1, "zero-out neighbours"),
    ],
)
def test_a_pages_blocks_run_one_after_the_other(page, blocks, printed, capsys):
    found = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), flags=re.DOTALL)
    assert len(found) >= blocks
    names = {}
    for block in found:
        exec(compile(block, page, "exec"), names)
    assert printed in capsys.readouterr().out


def test_every_linked_page_exists():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
