"""Examples run alone and say what they promise; the gallery shows their text, code, output and pictures."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("mkdocs")
pytest.importorskip("dask.array")
pytest.importorskip("sqlalchemy")

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("plot_*.py"))
HOOKS = ROOT / "docs" / "_hooks"
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
PROMISED = {
    "adult": "report.html",
    "dask": "the same bits: True",
    "evaluation": "area under the ROC curve",
    "intervals": "11 of them reliable",  # the text speaks of the fit of this seed
    "ledger": "nothing is wrong",
    "membership": "not private    right 100 % of the time",
    "persons": "all rows of one person count or are empty",
    "planning": "called reliable with probability 0.9",
    "published": "asked for ε = 1, replace-one: guaranteed ε = 1.5",
}


def hook(name, monkeypatch):
    monkeypatch.syspath_prepend(str(HOOKS))
    for known in ("cells", "gallery", "pictures"):
        monkeypatch.delitem(sys.modules, known, raising=False)
    return importlib.import_module(name)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs_alone(script, tmp_path):
    command = [sys.executable, str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert PROMISED.get(script.stem.removeprefix("plot_"), "") in done.stdout
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_is_written_as_cells(script, monkeypatch):
    cells, source = hook("cells", monkeypatch), script.read_text()
    title, introduction = cells.heading(source)
    assert 10 < len(title) < 60
    assert introduction
    found = cells.cells_of(source)
    assert found[0].text, "the first cell says what is done"
    assert "](../" in found[-1].text, "the last cell says where to read on"
    code = [ast.dump(line) for cell in found for line in ast.parse(cell.code).body]
    assert code == [ast.dump(line) for line in ast.parse(source).body[1:]], "cells hold all code behind the docstring"
    if "random_state" in source:
        assert "not private**" in source, "a seeded fit is not private, and the page says so"


SCRIPT = '''"""A title

An introduction.
"""

# %%
# Some *text*.

import matplotlib.pyplot as plt

print("one")

# %%
# ## A picture

figure, axes = plt.subplots()
axes.plot([1, 2], {colour})
axes.set_title("Two points")
plt.show()
{last}
'''


def run_cells(tmp_path, colour="[1, 2]", last=""):
    script = tmp_path / "plot_small.py"
    script.write_text(SCRIPT.format(colour=colour, last=last))
    made = tmp_path / "made"
    made.mkdir()
    command = [sys.executable, str(HOOKS / "cells.py"), str(script), str(made)]
    return made, subprocess.run(command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False)


def test_cells_keep_what_they_print_and_draw(tmp_path):
    made, done = run_cells(tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = json.loads((made / "cells.json").read_text())
    assert (first["text"], first["printed"], first["pictures"]) == ("Some *text*.", "one", [])
    assert (second["text"], second["printed"]) == ("## A picture", "")
    assert second["pictures"] == [["plot_small-1-1.svg", "Two points"]]


def test_pictures_follow_the_colours_of_the_page(tmp_path):
    made, _ = run_cells(tmp_path)
    (picture,) = made.glob("*.svg")
    style, drawn = re.fullmatch(r".*?<style>(.*?)</style>(.*)", picture.read_text(), flags=re.DOTALL).groups()
    assert "prefers-color-scheme: dark" in style
    assert "var(--blue)" in drawn
    assert not re.search(r"[ \"]#[0-9a-f]{6}\b", drawn)


def test_a_colour_without_a_dark_twin_stops_the_build(tmp_path):
    _, done = run_cells(tmp_path, '[1, 2], color="crimson"')
    assert done.returncode != 0
    assert "#dc143c" in done.stderr


def test_a_traceback_names_the_line_of_the_script(tmp_path):
    _, done = run_cells(tmp_path, last="missing_name")
    line = SCRIPT.splitlines().index("{last}") + 1
    assert f'plot_small.py", line {line}, in' in done.stderr


def test_an_example_is_run_again_only_if_something_changed(tmp_path, monkeypatch):
    gallery = hook("gallery", monkeypatch)
    monkeypatch.setattr(gallery, "_CACHE", tmp_path / "cache")
    script = tmp_path / "plot_small.py"
    script.write_text(SCRIPT.format(colour="[1, 2]", last=""))
    first = gallery._example(script)
    (kept,) = (tmp_path / "cache").iterdir()
    (kept / "cells.json").write_text((kept / "cells.json").read_text().replace("one", "from the cache"))
    assert gallery._example(script).cells[0].printed == "from the cache"
    script.write_text(script.read_text().replace('"one"', '"two"'))
    assert gallery._example(script).cells[0].printed == "two"
    (other,) = (tmp_path / "cache").iterdir()
    assert other != kept
    assert (first.title, first.introduction, first.page) == ("A title", "An introduction.", "small.md")


def test_an_example_that_fails_stops_the_build_and_leaves_nothing(tmp_path, monkeypatch):
    from mkdocs.exceptions import PluginError

    gallery = hook("gallery", monkeypatch)
    monkeypatch.setattr(gallery, "_CACHE", tmp_path / "cache")
    script = tmp_path / "plot_small.py"
    script.write_text(SCRIPT.format(colour="[1, 2]", last="missing_name"))
    with pytest.raises(PluginError, match=r"plot_small.py does not run(.|\n)*missing_name"):
        gallery._example(script)
    assert list((tmp_path / "cache").iterdir()) == []
