"""Every picture of the documents is made by a command of this repository, and its page says which."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
PICTURES = sorted(
    path for path in DOCS.rglob("*") if path.suffix in (".svg", ".png", ".jpg", ".gif") and "_theme" not in path.parts
)
MADE_BY = {
    r"audit": "src/hardzero/audit/picture.py",
    r"report": "tools/report_picture.py",
    r"ablation": "experiments/select_refit_report.py",
    r"benchmark-growth": "benchmarks/sections/growth.py",
    r"figure[1-5]": "src/hardzero/reproduce/figures.py",
    r"membership": "experiments/membership_report.py",
}
COMMANDS = {
    "src/hardzero/audit/picture.py": "hardzero audit",
    "experiments/select_refit_report.py": "make experiments",
    "benchmarks/sections/growth.py": "make bench",
    "src/hardzero/reproduce/figures.py": "hardzero reproduce",
}
"""How a page tells to run what is no script by itself, or one of several."""


def maker(picture):
    (script,) = (script for name, script in MADE_BY.items() if re.fullmatch(name, picture.stem))
    return script


def shown(page):
    return {(page.parent / target).resolve() for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())}


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_made_by_code_that_draws(picture):
    text = (ROOT / maker(picture)).read_text()
    assert any(way in text for way in ("savefig", "<svg", "--screenshot"))


@pytest.mark.parametrize("page", [page for page in PAGES if shown(page)], ids=lambda path: path.name)
def test_a_page_names_the_command_that_makes_its_pictures(page):
    for picture in shown(page):
        assert picture in PICTURES
        script = maker(picture)
        assert COMMANDS.get(script, script) in page.read_text(), (
            f"{page.name} does not say how {picture.name} is made"
        )


def test_every_picture_is_shown():
    every = {picture.resolve().with_suffix("") for page in PAGES for picture in shown(page)}
    assert {picture.with_suffix("") for picture in PICTURES} <= every
