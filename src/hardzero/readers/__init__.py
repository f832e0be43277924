"""Tables from files, queries and databases, in batches of rows: what leaves here is sensitive."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .formats import FileFormat
    from .libsvm import declared_features
    from .matrix import read_encoded
    from .opening import open_table
    from .table import ReaderError, TableReader

__all__ = ["FileFormat", "ReaderError", "TableReader", "declared_features", "open_table", "read_encoded"]

_HOME_OF = {
    "FileFormat": "formats",
    "ReaderError": "table",
    "TableReader": "table",
    "declared_features": "libsvm",
    "open_table": "opening",
    "read_encoded": "matrix",
}

if not TYPE_CHECKING:  # loaded when first used: the command line needs the list of formats and nothing that reads

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
        globals()[name] = value
        return value
