"""What is shipped: an sdist that builds, a wheel that is whole, and a plain answer where there is no compiler.

Nothing here needs a package index. The environments are new and hold the built package alone; what it depends on is
lent to them by the environment that runs the tests.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hardzero
from hardzero.cli import app

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OTHER_VERSION = "98.7.6"
"""Written into one line of the copy that is built; must come out everywhere."""

NOT_SOURCE = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "*.so", "*.pyd", "build", "dist", "demo", "site"
)
COMPILED_FROM = (".pyx", ".hpp")
NO_COMPILER = {"CC": "no-such-compiler", "CXX": "no-such-compiler"}
STRAYS = ("src/hardzero/people.csv", "src/hardzero/kernels/_fast.cpython-30-stale.so", "tests/people.csv")
"""What someone may have left in the source tree: a private table above all."""


def run(*command, cwd, check=True, **environment):
    """Run a command that knows nothing of this source tree or of wishes about kernels."""
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HARDZERO", "PIP_"))
    }
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=inherited | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or result.returncode == 0, result.stdout + result.stderr
    return result


def build_sdist(folder):
    """Build an sdist from a copy of the source tree with another version and with strays; return its path."""
    source = shutil.copytree(ROOT, folder / "source", ignore=NOT_SOURCE)
    front = source / "src" / "hardzero" / "version.py"
    changed, lines = re.subn(r'(?m)^__version__ = ".*"$', f'__version__ = "{OTHER_VERSION}"', front.read_text())
    assert lines == 1
    front.write_text(changed)
    for stray in STRAYS:
        (source / stray).write_text("name,income\n")
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    built = run(sys.executable, "-c", code, folder, cwd=source)
    assert not re.findall(r".*(?:Deprecat|Warning:).*", built.stderr)
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    for tool in ("pip", "setuptools", "Cython"):
        if find_spec(tool) is None:
            pytest.skip(f"{tool}, which builds the package, is not installed: pip install 'hardzero[dev]'")
    return build_sdist(tmp_path_factory.mktemp("sdist"))


def build_wheel(sdist, folder, check=True, **environment):
    """Build a wheel as ``pip install`` of the sdist would, with the tools at hand; return how it went."""
    pip = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
    return run(*pip, "wheel", "-v", *offline, "--wheel-dir", folder, sdist, cwd=folder, check=check, **environment)


def install(wheel, folder):
    """Install a wheel into a new environment; return the folder of its commands."""
    venv.create(folder, symlinks=os.name != "nt")
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--python", commands / "python"]
    run(*pip, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    own = Path(
        run(
            commands / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
        ).stdout.strip()
    )
    lent = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (own / "lent.pth").write_text("\n".join(lent) + "\n")  # searched after what is installed here
    return commands


def shipped_data():
    """Names of the files of the package that are neither Python nor compiled: all of them belong into the wheel."""
    package = ROOT / "src" / "hardzero"
    unshipped = (".py", ".pyc", ".so", ".pyd", *COMPILED_FROM)
    return {
        str(path.relative_to(ROOT / "src").as_posix())
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in unshipped
    }


def shipped_modules():
    return {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "hardzero").rglob("*.py")}


def test_the_sdist_holds_what_a_build_and_a_reader_need(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.suffix in (".py", *COMPILED_FROM)
    }
    tests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    needed = {"pyproject.toml", "setup.py", "MANIFEST.in", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff"}
    assert not (needed | sources | tests | pages | {f"src/{name}" for name in shipped_data()}) - names
    assert not names & set(STRAYS)
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc", ".cpp"))]


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("c++") or os.name == "nt"), reason="there is no C++ compiler")
def test_the_wheel_is_whole_and_the_demo_runs_far_from_the_source(sdist, tmp_path):
    build_wheel(sdist, tmp_path, HARDZERO_REQUIRE_EXTENSION="1")
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name for name in names if name.startswith("hardzero/")}
    (extension,) = {name for name in package if name.endswith((".so", ".pyd"))}
    assert re.fullmatch(r"hardzero/(\w+/)*kernels/_fast\.[\w.-]+", extension)
    assert package == shipped_modules() | shipped_data() | {extension}
    assert {name.partition("/")[0] for name in names} == {"hardzero", f"hardzero-{OTHER_VERSION}.dist-info"}

    commands = install(wheel, tmp_path / "environment")
    away = tmp_path / "away"
    away.mkdir()
    found = "import hardzero, hardzero.kernels as k; print(hardzero.__file__, k.compiled() is not None, sep='\\n')"
    where, fast = run(commands / "python", "-c", found, cwd=away).stdout.splitlines()
    assert Path(where).is_relative_to(tmp_path / "environment")
    assert fast == "True"
    said = run(commands / "hardzero", "demo", "--output", "demo", cwd=away)
    assert "accuracy on new people" in said.stdout
    assert "compiled loops are missing" not in said.stderr
    assert (away / "demo" / "report.html").stat().st_size > 10_000

    stated = "from importlib.metadata import version; print(version('hardzero'))"
    assert run(commands / "hardzero", "version", cwd=away).stdout.strip() == OTHER_VERSION
    assert run(commands / "python", "-c", stated, cwd=away).stdout.strip() == OTHER_VERSION
    assert json.loads((away / "demo" / "model.json").read_text())["hardzero"] == OTHER_VERSION


FIT = """
import hardzero
model = hardzero.PrivateLassoLogisticRegression(bounds=(0, 1), classes=[0, 1], n_iter=2).fit([[0, 1], [1, 0]], [0, 1])
print(hardzero.__file__, model.coef_.shape, sep="\\n")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the compiler of Windows cannot be hidden by a variable")
def test_without_a_compiler_the_sdist_installs_and_plain_numpy_runs(sdist, tmp_path):
    build_wheel(sdist, tmp_path, **NO_COMPILER)
    (wheel,) = tmp_path.glob("*.whl")
    commands = install(wheel, tmp_path / "environment")
    fitted = run(commands / "python", "-c", FIT, cwd=tmp_path)
    where, shape = fitted.stdout.splitlines()
    assert Path(where).is_relative_to(tmp_path / "environment")
    assert shape == "(1, 2)"
    assert "SlowKernelsWarning" in fitted.stderr
    assert "install a C++ compiler and reinstall hardzero" in fitted.stderr


@pytest.mark.skipif(os.name == "nt", reason="the compiler of Windows cannot be hidden by a variable")
def test_a_build_for_release_fails_rather_than_lose_the_extension(sdist, tmp_path):
    failed = build_wheel(sdist, tmp_path, check=False, HARDZERO_REQUIRE_EXTENSION="1", **NO_COMPILER)
    assert failed.returncode != 0
    assert "no-such-compiler" in failed.stdout + failed.stderr
    assert not list(tmp_path.glob("*.whl"))


def test_the_version_is_known_in_a_source_tree_that_nobody_installed(monkeypatch):
    def unknown(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", unknown)
    assert CliRunner().invoke(app, ["version"]).output.strip() == hardzero.__version__


def test_the_version_is_written_once():
    assert "version" not in PYPROJECT["project"]
    assert "version" in PYPROJECT["project"]["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert not re.search(r"(?m)^version:", citation)
