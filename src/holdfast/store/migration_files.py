"""The numbered files of a schema; each store applies its own in order."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from holdfast.model.record import dataclass

_FILE: Final = "[0-9][0-9][0-9][0-9]_*.sql"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema; files that were released are never edited."""

    number: int
    name: str
    script: str


def read(folder: Path) -> tuple[Migration, ...]:
    """Return the migrations of a folder in order; raise ValueError for a gap or a double number."""
    found = sorted(folder.glob(_FILE), key=lambda file: file.name)
    steps = tuple(Migration(int(file.name[:4]), file.name, file.read_text(encoding="utf-8")) for file in found)
    if [step.number for step in steps] != list(range(1, len(steps) + 1)):
        raise ValueError(f"migrations must be numbered 0001, 0002, ... without a gap: {[step.name for step in steps]}")
    return steps
