"""One deliberate fault in the source, and the tests that are to notice it."""

from dataclasses import dataclass
from pathlib import Path

SOURCE = "src/hardzero"


@dataclass(frozen=True)
class Mutant:
    """A fault as one replacement in one file.

    ``file`` is relative to ``src/hardzero``; ``old`` must occur in it exactly once. ``tests`` are what pytest is
    given, and at least one of them must fail. A ``compiled`` mutant is in a C++ source, which is built again with it.
    """

    name: str
    why: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    compiled: bool = False

    def path_in(self, root: Path) -> Path:
        return root / SOURCE / self.file

    def applied_to(self, text: str) -> str:
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"mutant {self.name}: its old text occurs {found} times in {self.file}, not once")
        return text.replace(self.old, self.new)
