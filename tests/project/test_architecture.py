"""The order of the layers, read from the source: what an auditor may rely on without reading everything."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hardzero
from tools.import_graph import PAGE, graph, imports_of, in_order, layer_of, picture, with_picture

ROOT = Path(hardzero.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
EVERY_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))

# Who may import whom, from below: a folder may import those below it that are listed, and itself. Modules in the root
# import one another only where listed.
MAY_IMPORT = {
    "version": (),
    "checks": (),
    "interrupts": (),
    "atomic": ("interrupts",),
    "privacy": (),
    "kernels": (),
    "backends": ("kernels", "checks"),
    "ledger": ("privacy", "checks"),
    "data": ("kernels", "checks"),
    "optim": ("privacy", "kernels", "data", "checks"),
    "methods": ("privacy", "kernels", "data", "optim", "checks"),
    "schema": ("kernels", "data", "checks"),
    "readers": ("data", "schema", "checks"),
    "model": ("privacy", "ledger", "data", "schema", "checks", "atomic", "version", "methods"),
    "report": ("privacy", "ledger", "model", "checks", "atomic"),
    "estimators": (
        *("privacy", "ledger", "kernels", "backends", "data", "optim", "methods", "model", "report", "schema"),
        *("checks",),
    ),
    "evaluation": (
        *("privacy", "ledger", "kernels", "backends", "data", "optim", "methods", "estimators", "model", "schema"),
        *("report", "checks"),
    ),
    "bounds": (
        *("privacy", "ledger", "data", "methods", "evaluation", "model", "schema", "readers"),
        *("checks",),
    ),
    "datasets": ("schema", "checks"),
    "reproduce": ("privacy", "data", "optim", "methods", "estimators", "datasets", "checks", "atomic", "version"),
    "audit": ("privacy", "estimators", "evaluation", "model"),
    "cli": (
        *(
            "privacy",
            "ledger",
            "backends",
            "data",
            "optim",
            "methods",
            "estimators",
            "evaluation",
            "bounds",
            "schema",
            "readers",
            "model",
        ),
        *("report", "datasets", "reproduce", "audit"),
        *("checks", "atomic", "interrupts", "version"),
    ),
    "__main__": ("interrupts", "cli"),
    "__init__": (
        "bounds",
        "estimators",
        "evaluation",
        "ledger",
        "methods",
        "model",
        "optim",
        "privacy",
        "schema",
        "version",
    ),
}
NEVER_LOADED = [
    "matplotlib",
    "seaborn",
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "sqlalchemy",
    "dask",
    "jinja2",
    "onnx",
]


def test_the_root_is_small_and_every_folder_has_its_place():
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    modules = {path.stem for path in ROOT.glob("*.py")}
    assert len(folders) <= 18
    assert len(modules) <= 6
    assert folders | modules == set(MAY_IMPORT)


@pytest.mark.parametrize(("layer", "below"), graph().items(), ids=list(graph()))
def test_a_layer_imports_what_it_may(layer, below):
    assert below <= set(MAY_IMPORT[layer])


def test_nobody_is_above_and_below():
    """The table itself has no cycle: layers can be put in an order."""
    assert set(in_order({name: set(below) for name, below in MAY_IMPORT.items()})) == set(MAY_IMPORT)


def test_the_picture_of_imports_is_that_of_the_source():
    page = PAGE.read_text()
    assert page == with_picture(page, picture(graph())), "run `make graph`"


def made_up_package(folder, **files):
    for place, text in files.items():
        path = folder / f"{place.replace('__in__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def test_every_form_of_import_is_seen(tmp_path):
    package = made_up_package(
        tmp_path / "ours",
        low="import json",
        middle__in__one="from .. import low\nfrom . import two\nfrom json import loads",
        middle__in__two="def late():\n    import ours.other.deep",
        other__in__deep="from ..low import name",
        top="from .middle.one import a\nfrom ours import missing",
        __init__="",
    )
    assert graph(package) == {
        "__init__": set(),
        "low": set(),
        "middle": {"low", "other"},
        "other": {"low"},
        "top": {"middle", "__init__"},
    }


def test_a_circle_of_imports_cannot_be_drawn():
    with pytest.raises(ValueError, match=r"circle among \['a', 'b'\]"):
        picture({"a": {"b"}, "b": {"a"}, "c": set()})


@pytest.mark.parametrize("path", sorted((ROOT / "privacy").glob("*.py")), ids=lambda path: path.name)
def test_the_privacy_core_stands_alone(path):
    for name in imports_of(path):
        if name.split(".")[0] not in sys.stdlib_module_names:
            assert re.match(r"(numpy|scipy\.special|hardzero\.privacy)\b", name), name


def test_the_privacy_core_can_be_read_in_one_sitting():
    assert sum(len(path.read_text().splitlines()) for path in (ROOT / "privacy").rglob("*.py")) <= 1075


@EVERY_FILE
def test_scikit_learn_is_seen_only_by_estimators_data_sets_and_experiments(path):
    special = (
        ROOT / "schema" / "encoder.py",
        ROOT / "evaluation" / "search.py",
    )  # of scikit-learn's kinds themselves
    if layer_of(path) not in ("estimators", "datasets", "reproduce") and path not in special:
        assert not [name for name in imports_of(path) if name.startswith("sklearn")]


@EVERY_FILE
def test_sensitive_values_are_opened_only_by_mechanisms(path):
    if path != ROOT / "privacy" / "mechanisms.py":
        assert "_secret" not in path.read_text()


def test_only_the_exact_selector_and_intercept_open_a_value_unprotected():
    callers = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and "mechanisms.exact(" in ast.unparse(node):
                callers.add(node.name)
    assert callers == {
        "ExactSelector",
        "ExactIntercept",
        "__call__",
        "moved",
    }  # the classes and their one method each
    users = {path.name for path in FILES if re.search(r"\bExact(Selector|Intercept)\(\)", path.read_text())}
    assert users == {"optimum.py"}


def makers_of_sensitive_values():
    """Dotted names of the functions outside the core that wrap what they have computed from records."""
    for path in FILES:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if layer_of(path) in ("privacy", "audit"):  # an audit hands in made-up numbers, and nothing rests on it
            continue
        for node in ast.parse(path.read_text()).body:
            is_class = isinstance(node, ast.ClassDef)
            for part in node.body if is_class else [node]:
                if isinstance(part, ast.FunctionDef) and re.search(r"\bSensitive\(", ast.unparse(part)):
                    yield ".".join([module, *([node.name] if is_class else []), part.name])


def test_the_page_on_the_trusted_base_lists_all_that_mechanisms_receive():
    page = (ROOT.parents[1] / "docs" / "trusted-base.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall(r"`([\w.]+)`", row)) == sorted(
        makers_of_sensitive_values()
    )


@EVERY_FILE
def test_numpys_global_generator_is_never_used(path):
    text = path.read_text()
    used = set(re.findall(r"\b(?:np|numpy)\.random\.(\w+)", text))
    assert used <= {"default_rng", "Generator", "PCG64"}
    assert "numpy.random" not in {name.rpartition(".")[0] for name in imports_of(path)}
    assert "random" not in imports_of(path)
    assert not re.search(r"default_rng\(\)", text)  # a generator that nobody seeded is no source of noise either


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_importing_hardzero_loads_no_frames_plots_or_databases():
    """Beyond what scikit-learn loads by itself, which is pandas where it is installed."""
    show = "print(*{name.partition('.')[0] for name in sys.modules})"
    before = run_python(f"import sys, sklearn.linear_model; {show}")
    after = run_python(f"import sys, hardzero; [getattr(hardzero, name) for name in hardzero.__all__]; {show}")
    assert "sklearn" in after
    assert not (set(after) - set(before)) & set(NEVER_LOADED)


def test_hardzero_works_where_none_of_these_is_installed():
    code = f"""
import sys
sys.modules.update(dict.fromkeys({NEVER_LOADED!r}))  # importing any of them now fails
import hardzero
model = hardzero.PrivateLassoLogisticRegression(bounds=(0, 1), classes=[0, 1], n_iter=2).fit([[0, 1], [1, 0]], [0, 1])
print(model.coef_.shape)
"""
    assert run_python(code) == ["(1,", "2)"]


def test_public_names_are_loaded_when_first_used():
    assert all(getattr(hardzero, name).__name__ == name for name in hardzero.__all__)
    assert set(hardzero.__all__) <= set(dir(hardzero))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = hardzero.Nonsense
    with pytest.warns(DeprecationWarning, match="SparsifierRegression now"):
        assert hardzero.SparsePrivateRegression is hardzero.SparsifierRegression
    show = "print('sklearn' in sys.modules)"
    assert run_python(f"import sys, hardzero; {show}; hardzero.ExactSolver; {show}") == ["False", "False"]
    assert run_python(f"import sys, hardzero; hardzero.LassoLogisticRegression; {show}") == ["True"]
