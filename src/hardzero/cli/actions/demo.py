"""The bundled sample as files, for the demo and the walk-through."""

from __future__ import annotations

import csv
import lzma
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from ...atomic import Claim, claimed

FILES = {"adult.csv": "adult-sample.csv.xz", "adult-new.csv": "adult-sample-test.csv.xz", "adult.toml": "adult.toml"}
"""Names in the folder, and of the bundled files: rows to learn from, new rows, and what is publicly known."""


def copy_sample(
    folder: Path, *, overwrite: bool = False, heard: Callable[[Claim], object] = lambda claim: None
) -> None:
    """Write the sample of UCI Adult and its schema into a folder, which is made if need be.

    ``heard`` is told of each file before it is written.

    Privacy
    -------
    Sensitive: raw records (of a public data set).
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"cannot make the folder {folder}: {str(error.strerror).lower()}; choose a place that you may write to"
        ) from None
    for name, bundled in FILES.items():
        content = resources.files("hardzero.datasets").joinpath("samples", bundled).read_bytes()
        text = (lzma.decompress(content) if bundled.endswith(".xz") else content).decode()
        with claimed(folder / name, overwrite=overwrite) as claim:
            heard(claim)
            claim.write(text)


def accuracy(predictions: Path) -> float:
    """Share of rows whose prediction is the income that was copied beside it.

    Privacy
    -------
    Sensitive for the people in this table.
    """
    with predictions.open(newline="", encoding="utf-8") as file:
        hits = [row["income"] == row["prediction"] for row in csv.DictReader(file)]
    return hits.count(True) / len(hits)
