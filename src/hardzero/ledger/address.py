"""Where a ledger is: a file of SQLite or a database of PostgreSQL. An address holds no password: none can leak."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..checks import InputError, MissingPackageError, require

_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_SQLITE = "sqlite:///"
BUSY_SECONDS = 60.0
"""So long a file of SQLite is waited for while others write to it."""
_KEPT_ELSEWHERE = (
    "put it into ~/.pgpass, or into the environment variable PGPASSWORD, and leave it out of the address"
)


def normal(address: Any) -> str:
    """Return an address in one form: the full path of a file, or a URL without a password.

    Privacy
    -------
    Data-independent.
    """
    text = str(address)
    if not text:
        raise InputError(
            "url must name a file, such as 'ledger.db', or a database, such as postgresql://host/database"
        )
    if text.startswith(_SQLITE):
        text = text.removeprefix(_SQLITE)
    if "://" not in text:
        return str(Path(text).expanduser().absolute())
    kind, _, rest = text.partition("://")
    if kind not in _POSTGRES:
        raise InputError("url must be a file of SQLite, such as 'ledger.db', or begin with postgresql://")
    # Before the last @ of the part that names the host, and before the query.
    user = rest.partition("/")[0].rpartition("@")[0]
    if ":" in user or re.search(r"[?&][^=&]*pass[^=&]*=", rest, flags=re.IGNORECASE):
        raise InputError(f"the ledger's address holds a password: {_KEPT_ELSEWHERE}")
    return f"postgresql://{rest}"


def is_file(address: str) -> bool:
    """Whether a normal address is that of a file."""
    return "://" not in address


def engine_for(address: str) -> Any:
    """Return SQLAlchemy's engine for a normal address; no connection is opened."""
    sqlalchemy = require("sqlalchemy", "ledger")
    if is_file(address):
        path = Path(address)
        if _may_only_be_read(path):  # by somebody who cannot make the files that SQLite wants beside it
            url = sqlalchemy.URL.create(
                "sqlite", database=f"file:{quote(address)}", query={"immutable": "1", "uri": "true"}
            )
        else:
            url = sqlalchemy.URL.create("sqlite", database=address)
        # No transaction but those asked for.
        return sqlalchemy.create_engine(url, connect_args={"timeout": BUSY_SECONDS, "isolation_level": None})
    require("psycopg", "postgres")
    try:
        url = sqlalchemy.make_url(address).set(drivername="postgresql+psycopg")
        return sqlalchemy.create_engine(url, pool_pre_ping=True, hide_parameters=True)
    except MissingPackageError:
        raise
    except Exception:  # which may quote the address
        raise InputError(
            "the ledger's address cannot be understood; it looks like postgresql://user@host/name"
        ) from None


def _may_only_be_read(path: Path) -> bool:
    return path.exists() and not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
