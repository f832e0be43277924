"""Packages that not everyone needs: loaded when first used, with a message that says how to get them."""

from __future__ import annotations

import importlib
from typing import Any


class MissingPackageError(ImportError):
    """A package that the called function needs is not installed; the message says how to install it."""


def require(module: str, extra: str = "io") -> Any:
    """Import a module, or say which extra of hardzero brings it.

    Parameters
    ----------
    module : str
        Name of the module, dots allowed.
    extra : str, default="io"
        Name of the extra.

    Privacy
    -------
    Data-independent.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(
            f"this needs the package {package}, which cannot be imported: pip install 'hardzero[{extra}]'",
            name=package,
        ) from error
