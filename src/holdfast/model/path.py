"""Paths within a document.

A path is a tuple of steps: a mapping key, a list index, or a selector that names a list element by its contents, so
that the path survives reordering. `compare.paths` writes, parses and matches paths.
"""

from __future__ import annotations

from holdfast.model.record import dataclass


@dataclass(frozen=True, slots=True)
class Selector:
    """The list element whose fields have these values; the values are their text in canonical JSON or plain strings."""

    fields: tuple[tuple[str, str], ...]


Step = str | int | Selector
Path = tuple[Step, ...]
Pointer = tuple[str | int, ...]
