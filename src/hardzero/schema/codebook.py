"""Code books: what is publicly known about the variables of a table, as somebody else wrote it down.

A code book comes as a CSV or JSON file with a line or an entry for each variable, or as one of UCI's lists of
attributes (``.names``). What cannot be understood is not guessed: it is reported with its file and line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .codebook_fields import loosened, shortened
from .fields import suggestions


@dataclass(frozen=True)
class Variable:
    """What a code book says of a variable, by keys of a schema, and where; what it does not say is not there."""

    name: str
    said: Mapping[str, Any]
    place: str


@dataclass(frozen=True)
class CodeBook:
    """What is known about the variables of a table.

    Attributes
    ----------
    variables : tuple of Variable
        In the order of the code book.
    classes : tuple of str
        Labels of a target that is not among the variables, as in UCI's lists.
    target : str or None
        The variable to predict, where the code book tells.
    notes : tuple of str
        What was not understood or changed, each with file and line.
    sources : tuple of str
        The files.

    Privacy
    -------
    Data-independent, as long as the code book was not made from the records.
    """

    variables: tuple[Variable, ...] = ()
    classes: tuple[str, ...] = ()
    target: str | None = None
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in order, and of the target at the end if it is not among them."""
        listed = tuple(variable.name for variable in self.variables)
        return listed if self.target is None or self.target in listed else (*listed, self.target)

    def completed_by(self, later: CodeBook) -> CodeBook:
        """Return what both say together; where they differ the later one holds, with a note.

        Privacy
        -------
        Data-independent.
        """
        described = {variable.name: variable for variable in self.variables}
        same = same_names((variable.name for variable in later.variables), described)
        hints = suggestions((v.name for v in later.variables if v.name not in same), list(described))
        notes = [*self.notes, *later.notes]
        for variable in later.variables:
            name = same.get(variable.name, variable.name)
            if name not in described and "role" not in variable.said:
                hint = hints.get(variable.name, "")
                notes.append(f"{variable.place}: {name!r} is in no code book before{hint}; it is added as a variable")
            known = described.get(name, Variable(name, {}, variable.place))
            described[name] = _completed(known, variable, notes)
        return CodeBook(
            tuple(described.values()),
            later.classes or self.classes,
            later.target or self.target,
            tuple(notes),
            (*self.sources, *later.sources),
        )

    def matched(self, names: Sequence[str]) -> CodeBook:
        """Return the code book in the words and the order of a table's columns, with notes on what does not match.

        Variables that the table does not have are left out, columns that the code book does not describe are there
        without anything said of them.

        Privacy
        -------
        Data-independent: names of columns count as public.
        """
        same = same_names((variable.name for variable in self.variables), names)
        absent = [v for v in self.variables if v.name not in same]
        hints = suggestions((variable.name for variable in absent), names)
        described = {same[v.name]: replace(v, name=same[v.name]) for v in self.variables if v.name in same}
        target = None if self.target is None else same.get(self.target, self.target)
        notes = [
            *self.notes,
            *(
                f"{v.place}: {v.name!r} is taken for the column {same[v.name]!r}"
                for v in self.variables
                if same.get(v.name, v.name) != v.name
            ),
            *(
                f"{v.place}: {v.name!r} is no column of the table{hints.get(v.name, '')}; it is left out"
                for v in absent
            ),
        ]
        variables = []
        for name in names:
            if name not in described and name != target:
                notes.append(f"the column {name!r} of the table is in no code book; fill it in")
            if name in described or name != target:
                variables.append(described.get(name, Variable(name, {}, "the table")))
        return replace(self, variables=tuple(variables), target=target, notes=tuple(notes))


def same_names(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return for names the known name that is the same, or differs in case, spaces and marks and is the only one."""
    listed = list(known)
    counts = Counter(map(loosened, listed))
    by_letters = {loosened(name): name for name in listed if counts[loosened(name)] == 1}
    asked, exact = list(names), set(listed)
    found = {name: name for name in asked if name in exact}
    taken = set(found)
    for name in asked:
        alike = by_letters.get(loosened(name))
        if name not in found and alike is not None and alike not in taken:
            found[name] = alike
            taken.add(alike)
    return found


def _completed(first: Variable, later: Variable, notes: list[str]) -> Variable:
    for key, value in later.said.items():
        before = first.said.get(key, value)
        if before != value and key not in ("description", "labels"):
            notes.append(
                f"{later.place}: {first.name}: {key} is {shortened(value)} here and {shortened(before)} in "
                f"{first.place}; the later one holds"
            )
    return Variable(first.name, {**first.said, **later.said}, first.place)
