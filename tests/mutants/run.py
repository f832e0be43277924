"""Apply each mutant to a copy of the source and require that a test fails.

python -m tests.mutants.run [--only NAME ...] [--jobs N]

A mutant is killed when one of its tests fails. Neither an error before a test has begun nor a name that does not
exist counts, as such a mutant does not show what it is meant to show; nor does a test that takes too long.
"""

import argparse
import importlib.util
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .catalogue import MUTANTS
from .mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "pyproject.toml", "setup.py")
LONGEST = 300  # seconds for the tests of one mutant
_FAILED = re.compile(r"^FAILED (?P<test>.+?)(?: - (?P<reason>.*))?$", re.MULTILINE)
_NO_FAULT_SHOWN = ("ImportError", "ModuleNotFoundError", "NameError", "SyntaxError", "UnboundLocalError")
_COMPILERS = ("c++", "g++", "clang++", "cl")
_WITHOUT_SHRINKING = """
from hypothesis import Phase

settings.register_profile(
    "unshrunk", settings.get_profile("hardzero"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("unshrunk")
"""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: ``state`` is "killed", "SURVIVED", "BROKEN" or "skipped"."""

    mutant: Mutant
    state: str
    detail: str
    seconds: float

    @property
    def is_good(self) -> bool:
        return self.state in ("killed", "skipped")


class CannotBeginError(Exception):
    """The tests do not pass, or do not test the copy, before anything is changed."""


def copied_to(folder: Path) -> Path:
    """Copy what the tests need; in the copy hypothesis stops at the first failure it finds, which is all we ask."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    with (folder / "tests/conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(_WITHOUT_SHRINKING)
    return folder


def run_python(
    folder: Path, *arguments: str, keep_bytecode: bool = False, longest: float | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1", "COLUMNS": "400"}
    if not keep_bytecode:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=longest,
        check=False,
    )


def run_tests(folder: Path, tests: tuple[str, ...], **options: Any) -> subprocess.CompletedProcess[str]:
    return run_python(folder, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *tests, **options)


def check_unchanged(folder: Path, tests: tuple[str, ...]) -> None:
    """Require that the copy is what is imported, and that all tests pass in it."""
    found = run_python(folder, "-c", "import hardzero; print(hardzero.__file__)").stdout.strip()
    if not Path(found).is_relative_to(folder):
        raise CannotBeginError("the tests would import another hardzero than the copy")
    done = run_tests(folder, tests, keep_bytecode=True)
    if done.returncode != 0:
        raise CannotBeginError(
            f"without any mutant the tests do not pass:\n{done.stdout[-3000:]}{done.stderr[-1000:]}"
        )


@contextmanager
def changed(folder: Path, mutant: Mutant):
    """Have the mutant in place of the file, and no bytecode of either left behind."""
    path = mutant.path_in(folder)
    text = path.read_text(encoding="utf-8")
    bytecode = Path(importlib.util.cache_from_source(str(path)))
    try:
        path.write_text(mutant.applied_to(text), encoding="utf-8")
        bytecode.unlink(missing_ok=True)
        yield
    finally:
        path.write_text(text, encoding="utf-8")
        bytecode.unlink(missing_ok=True)


@contextmanager
def rebuilt(folder: Path, mutant: Mutant):
    """Build the extension anew; gives the reason why that is not possible, or None."""
    kernels = folder / "src/hardzero/kernels"
    kept = {path: path.read_bytes() for path in kernels.glob("_fast*.so")}
    for path in kept:
        path.unlink()
    try:
        done = run_python(folder, "setup.py", "build_ext", "--inplace", "--force")
        built = list(kernels.glob("_fast*.so"))
        yield None if built else done.stdout[-500:] + done.stderr[-500:]
    finally:
        for path in kernels.glob("_fast*.so"):
            path.unlink()
        for path, content in kept.items():
            path.write_bytes(content)


def judged(folder: Path, mutant: Mutant) -> tuple[str, str]:
    """Run a mutant's tests, the mutant being in place."""
    try:
        done = run_tests(folder, mutant.tests, longest=LONGEST)
    except subprocess.TimeoutExpired:
        return "SURVIVED", f"its tests took longer than {LONGEST} seconds, which proves nothing"
    return read_outcome(done.returncode, done.stdout)


def read_outcome(code: int, output: str) -> tuple[str, str]:
    """Tell from pytest's exit code and output whether a test failed because of what it tests."""
    if code == 0:
        return "SURVIVED", "all its tests pass"
    failed = _FAILED.search(output)
    if code != 1 or failed is None:
        return "BROKEN", f"no test failed, but pytest ended with {code}: {output[-500:]}"
    reason = failed["reason"] or ""
    if reason.startswith(_NO_FAULT_SHOWN):
        return "BROKEN", f"the changed code does not run: {reason}"
    return "killed", f"{failed['test']} ({reason[:60]})"


def verdict_on(folder: Path, mutant: Mutant) -> Verdict:
    begun = time.monotonic()
    with changed(folder, mutant):
        if not mutant.compiled:
            state, detail = judged(folder, mutant)
        elif not any(map(shutil.which, _COMPILERS)):
            state, detail = "skipped", "there is no C++ compiler here"
        else:
            with rebuilt(folder, mutant) as problem:
                state, detail = ("BROKEN", problem) if problem else judged(folder, mutant)
    return Verdict(mutant, state, detail, time.monotonic() - begun)


def all_tests(mutants: tuple[Mutant, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(test for mutant in mutants for test in mutant.tests))


def judge_all(mutants: tuple[Mutant, ...], jobs: int) -> list[Verdict]:
    for mutant in mutants:
        mutant.applied_to(mutant.path_in(ROOT).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(jobs) as pool:
        folders: queue.SimpleQueue[Path] = queue.SimpleQueue()
        copies = [copied_to(Path(temporary, str(number))) for number in range(jobs)]
        tests = all_tests(mutants)
        shares = [tests[number::jobs] for number in range(jobs)]
        for _ in pool.map(check_unchanged, copies, [share or tests[:1] for share in shares]):
            pass
        for copy in copies:
            folders.put(copy)

        def in_a_copy(mutant: Mutant) -> Verdict:
            folder = folders.get()
            try:
                verdict = verdict_on(folder, mutant)
            finally:
                folders.put(folder)
            print(f"{verdict.state:8} {verdict.seconds:5.1f} s  {mutant.name}: {verdict.detail}", flush=True)
            return verdict

        return list(pool.map(in_a_copy, mutants))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these mutants and no others")
    parser.add_argument("--jobs", type=int, default=2, help="how many at the same time (2)")
    options = parser.parse_args()
    names = {mutant.name for mutant in MUTANTS}
    if unknown := set(options.only or ()) - names:
        parser.error(f"no such mutants: {', '.join(sorted(unknown))}")
    chosen = tuple(mutant for mutant in MUTANTS if options.only is None or mutant.name in options.only)
    begun = time.monotonic()
    try:
        verdicts = judge_all(chosen, options.jobs)
    except CannotBeginError as problem:
        print(problem)
        return 1
    bad = [verdict for verdict in verdicts if not verdict.is_good]
    states = [verdict.state for verdict in verdicts]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    print(f"\n{len(verdicts)} mutants: {counts}; {time.monotonic() - begun:.0f} s with {options.jobs} jobs")
    for verdict in bad:
        print(f"{verdict.state}: {verdict.mutant.name} in {verdict.mutant.file}: {verdict.mutant.why}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
