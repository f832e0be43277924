"""Python that fits such a model again."""

from __future__ import annotations

from typing import Any

from ..model import FittedModel

_FILE = "model.json"


def snippet(model: FittedModel) -> str:
    """Return Python source that repeats the fit on the reader's own table.

    Privacy
    -------
    Post-processing.
    """
    arguments = [f"    {name}={_source(value)},\n" for name, value in model.parameters.items()]
    settings = [value["class"] for value in model.parameters.values() if _is_setting(value)]
    names = ", ".join(sorted({model.method, *settings}))
    head = f"from hardzero import {names}\n"
    if model.schema is not None:
        head += "from hardzero.schema.encoder import SchemaEncoder\nfrom hardzero import FittedModel\n"
        prepare = (
            f'schema = FittedModel.load("{_FILE}").schema\n'
            "encoder = SchemaEncoder(schema)\n"
            "encoded = encoder.encode(table)  # your table: Arrow, pandas, polars, or a dictionary of columns\n"
        )
        arguments += ["    bounds=encoder.bounds,\n"]
        arguments += ["    classes=schema.target.classes,\n"] if model.is_classifier else []
        arguments += ["    variables=encoder.variables,\n"] if _is_grouped(model) else []
        groups = "" if model.schema.person is None else ", groups=encoded.persons"
        fit = f"model.fit(encoded.X, encoded.y{groups})\n"
    else:
        head += "from hardzero import FittedModel\n"
        prepare = f'saved = FittedModel.load("{_FILE}")\nlower, upper = zip(*saved.bounds)\n'
        arguments += ["    bounds=(lower, upper),\n"]
        arguments += ["    classes=saved.classes,\n"] if model.is_classifier else []
        labels = "[feature.column for feature in saved.features]"
        arguments += [f"    variables={labels},\n"] if _is_grouped(model) else []
        groups = "" if model.privacy.unit == "row" else ", groups=persons"
        fit = f"model.fit(X, y{groups})  # your table: NumPy, SciPy CSR/CSC, pandas or polars\n"
    return f"{head}\n{prepare}model = {model.method}(\n{''.join(arguments)})\n{fit}"


def _is_grouped(model: FittedModel) -> bool:
    """Whether whole variables were selected; where no weight is known well, as far as columns tell."""
    if "max_variables" not in model.parameters:
        return False
    if model.inference_scaled is not None and len(model.kept):
        return bool(model.inference_scaled.variables)
    return any(feature.column != feature.name for feature in model.features)


def _is_setting(value: Any) -> bool:
    """Whether a parameter was an object with named settings, such as a solver."""
    return (
        isinstance(value, dict) and str(value.get("class", "")).isidentifier() and all(map(str.isidentifier, value))
    )


def _source(value: Any) -> str:
    if not _is_setting(value):
        return repr(value)
    arguments = ", ".join(f"{name}={_source(part)}" for name, part in value.items() if name != "class")
    return f"{value['class']}({arguments})"
