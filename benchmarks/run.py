"""The benchmark suite: ratios measured in one process, in turn, on one thread.

Run:    .venv/bin/python benchmarks/run.py              (about half an hour; or: make bench)
Quick:  .venv/bin/python benchmarks/run.py --quick      (small data, to see that all works; figures mean little)
Part:   .venv/bin/python benchmarks/run.py --only steps --only selection
Stale:  .venv/bin/python benchmarks/run.py --stale      (which sections other code measured; exit code 1 if any)
Page:   .venv/bin/python benchmarks/report.py           (writes docs/benchmarks.md from the results alone)
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

for variable in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM", "NUMBA"):
    os.environ[f"{variable}_NUM_THREADS"] = "1"  # read when NumPy is imported, so set before

import machine  # noqa: E402
from common import FULL, QUICK, TINY, Progress, Setting  # noqa: E402
from report import REGISTRY, RESULTS, load, write_page  # noqa: E402

from hardzero.reproduce.fingerprint import fingerprint  # noqa: E402
from hardzero.version import __version__  # noqa: E402

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small data, less than two minutes")
    parser.add_argument("--tiny", action="store_true", help="the smallest setting, for the test of the suite")
    parser.add_argument("--only", action="append", choices=REGISTRY, metavar="NAME", help=", ".join(REGISTRY))
    parser.add_argument(
        "--output", type=Path, help="folder for the results; a page is written for the usual one only"
    )
    parser.add_argument("--note", default="", help="kept with the results and shown on the page")
    parser.add_argument(
        "--stale", action="store_true", help="measure nothing; name sections that other code measured"
    )
    arguments = parser.parse_args()
    if arguments.stale:
        names = stale(RESULTS)
        sys.exit(f"measured by other code: {', '.join(names)}" if names else 0)
    setting = TINY if arguments.tiny else QUICK if arguments.quick else FULL
    folder = arguments.output or (RESULTS if setting is FULL else HERE / ".cache" / setting.name)
    folder.mkdir(parents=True, exist_ok=True)
    failed = [name for name in arguments.only or REGISTRY if not run(name, setting, folder, arguments.note)]
    if folder == RESULTS:
        write_page(RESULTS)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; their results are those of an earlier run, if there was one")


def stale(folder: Path) -> list[str]:
    """Sections whose results were measured with other code than that which is here."""
    made = {name: record.get("made", {}) for name, record in load(folder).items()}
    return [name for name in REGISTRY if made.get(name, {}).get("code") != fingerprint(REGISTRY[name].measure)]


def run(name: str, setting: Setting, folder: Path, note: str = "") -> bool:
    """Measure one section and write its file; False, with the error shown, where that failed."""
    progress = Progress(name)
    facts = machine.facts()
    start = time.perf_counter()
    try:
        results = REGISTRY[name].measure(setting, progress)
    except Exception as error:
        if setting is TINY:
            raise
        progress.say(f"failed: {type(error).__name__}: {error}")
        return False
    record = {
        "section": name,
        "setting": setting.name,
        "note": note,
        "machine": facts,
        "made": {"version": __version__, "code": fingerprint(REGISTRY[name].measure)},
        "seconds": round(time.perf_counter() - start, 1),
        "skipped": progress.skipped,
        "results": results,
    }
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / f"{name}.json").write_text(text + "\n")
    progress.say(f"done after {record['seconds']:g} s")
    return True


if __name__ == "__main__":
    main()
