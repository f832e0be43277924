"""The lowest versions come from pyproject.toml alone."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("lowest", Path(__file__).parents[2] / "tools" / "lowest.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

PROJECT = """
[project]
name = "ours"
dependencies = ["numpy>=1.26", "scipy>=1.12,<2"]
[project.optional-dependencies]
io = ["psycopg[binary]>=3.1.4"]
test = ["ours[io, report]", "pytest>=8"]
report = ["jinja2>=3.1", "ours[io]"]
loose = ["rich"]
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    return tmp_path / "pyproject.toml"


def test_every_lower_bound_becomes_an_exact_version(project):
    assert tool.lowest([], project) == ["numpy==1.26", "scipy==1.12"]
    assert tool.lowest(["test"], project) == [
        "jinja2==3.1", "numpy==1.26", "psycopg[binary]==3.1.4", "pytest==8", "scipy==1.12",
    ]  # fmt: skip


def test_a_requirement_without_a_lower_bound_is_named(project):
    with pytest.raises(ValueError, match="no lowest version of rich"):
        tool.lowest(["loose"], project)


def test_everything_that_tests_need_has_a_lower_bound():
    assert {line.partition("==")[0] for line in tool.lowest(["test"])} >= {"numpy", "typer", "pyarrow", "onnx"}
