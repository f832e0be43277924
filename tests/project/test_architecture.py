"""The order of the layers, read from the source: what an auditor may rely on without reading everything."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hardzero

ROOT = Path(hardzero.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
EVERY_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))

# A module imports only from layers with a smaller number (and from its own package).
LAYERS = {
    "privacy": 0,
    "checks": 0,
    "optional": 0,
    "schema_fields": 0,
    "schema_places": 0,
    "progress": 0,
    "schema": 1,
    "cell_text": 0,
    "schema_file": 2,
    "cells": 2,
    "encoder": 3,
    "readers": 4,
    "table_check": 5,
    "kernels": 0,
    "data": 1,
    "datasets": 1,
    "statement": 1,
    "losses": 2,
    "stacked": 2,
    "geometry": 2,
    "engine": 3,
    "solvers": 4,
    "newton": 4,
    "optimum": 5,
    "plan": 5,
    "standard": 5,
    "descent": 6,
    "sparsify": 6,
    "select_refit": 7,
    "interrupts": 0,
    "plain_text": 0,
    "atomic": 1,
    "model_file": 4,
    "onnx_export": 5,
    "report": 5,
    "estimators": 8,
    "baselines": 9,
    "reproduce": 10,
    "commands": 11,
    "cli": 12,
    "__main__": 13,
    "__init__": 10,
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


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(path):
    """Absolute names of all modules that a file imports, inside functions too."""
    package = ["hardzero", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def own_layers(path):
    return {name.split(".")[1] for name in imports_of(path) if name.startswith("hardzero.")}


def test_every_module_has_its_layer():
    assert {layer_of(path) for path in FILES} <= set(LAYERS)


@EVERY_FILE
def test_imports_point_downwards(path):
    own = layer_of(path)
    for used in own_layers(path) - {own}:
        assert LAYERS[used] < LAYERS[own], f"{own} imports {used}"


@pytest.mark.parametrize("path", sorted((ROOT / "privacy").glob("*.py")), ids=lambda path: path.name)
def test_the_privacy_core_stands_alone(path):
    for name in imports_of(path):
        if name.split(".")[0] not in sys.stdlib_module_names:
            assert re.match(r"(numpy|scipy\.special|hardzero\.privacy)\b", name), name


def test_the_privacy_core_can_be_read_in_one_sitting():
    assert sum(len(path.read_text().splitlines()) for path in (ROOT / "privacy").rglob("*.py")) <= 1000


@EVERY_FILE
def test_scikit_learn_is_seen_only_by_estimators_data_sets_and_experiments(path):
    if layer_of(path) not in ("estimators", "datasets", "encoder", "reproduce"):
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
        if layer_of(path) == "privacy":
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
    show = "print('sklearn' in sys.modules)"
    assert run_python(f"import sys, hardzero; {show}; hardzero.ExactSolver; {show}") == ["False", "False"]
    assert run_python(f"import sys, hardzero; hardzero.LassoLogisticRegression; {show}") == ["True"]
