"""What every reader gives: names, types, and batches of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .. import checks


class ReaderError(ValueError):
    """A table cannot be read. The message names files, lines and columns, never a cell.

    Privacy
    -------
    That it is raised, and the line it names, can depend on the records: for the data holder only.
    """


@dataclass(frozen=True)
class TableReader:
    """An opened table, read in batches, so that it need not fit into memory.

    Attributes
    ----------
    source : str
        What messages call the table.
    names : tuple of str
        Names of the columns.
    is_text : bool
        Whether the format declares no types: cells come as text then, and `types` is a guess, or text throughout.
    n_rows : int or None
        Number of rows, where the file says it.

    Privacy
    -------
    Sensitive, but for names and types, which count as public.
    """

    source: str
    names: tuple[str, ...]
    is_text: bool
    n_rows: int | None
    read_types: Callable[[], Mapping[str, Any]] = field(repr=False)
    read_batches: Callable[[int, Sequence[str]], Iterator[Any]] = field(repr=False)

    def __post_init__(self) -> None:
        if twice := [name for name, count in Counter(self.names).items() if count > 1]:
            raise ReaderError(f"{self.source} has more than one column {twice[0]!r}; rename one")
        if not self.names:
            raise ReaderError(f"{self.source} has no columns")

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """Arrow type of each column, by declaration; a database's cells come as text all the same."""
        return self.read_types()

    def batches(self, rows: int = 65536, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows from the beginning, as pyarrow record batches.

        Parameters
        ----------
        rows : int, default=65536
            The most rows that a batch may have.
        columns : sequence of str, optional
            Columns to read; all of them if not given.

        Privacy
        -------
        Sensitive.
        """
        rows = checks.whole("rows", rows, 1)
        wanted = self.names if columns is None else tuple(columns)
        known = set(self.names)
        if absent := [name for name in wanted if name not in known]:
            raise ReaderError(f"{self.source} has no column {absent[0]!r}")
        for batch in self.read_batches(rows, wanted):
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
