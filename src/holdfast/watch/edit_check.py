"""A cheap check for edits: the times, sizes and inodes of the files and folders that were visited last.

A file that appears, disappears or is renamed changes its folder, so a look at known paths notices it. Patterns and
missing paths cannot be checked so, and are never called unedited.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SUFFIXES: Final = (".yaml", ".yml", ".json")

SETTLED_SECONDS: Final = 1.0

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class EditCheck:
    """The state of files and folders at one time."""

    stamps: dict[str, Stamp | None] | None  # None: they cannot be checked by their paths alone

    @classmethod
    def of(cls, manifests: Sequence[str], others: Iterable[Path], now: float) -> EditCheck:
        """Record manifests, which may be folders, and other files with their folders; those may be missing.

        A path that changed just now is not trusted: a further change may get the same time.
        """
        if not all(map(os.path.exists, manifests)):
            return cls(None)
        stamps = {path: _stamp(path) for path in [*_visited(manifests), *_with_folders(others)]}
        newest = max((stamp[0] for stamp in stamps.values() if stamp is not None), default=0)
        return cls(stamps if newest < (now - SETTLED_SECONDS) * 1e9 else None)

    def is_unedited(self) -> bool:
        """Return True if nothing changed since."""
        return self.stamps is not None and all(_stamp(path) == stamp for path, stamp in self.stamps.items())


def _visited(manifests: Iterable[str]) -> Iterator[str]:
    for given in manifests:
        yield given
        for parent, folders, files in os.walk(given):
            folders[:] = [name for name in folders if name[0] != "."]
            yield from (os.path.join(parent, name) for name in folders)  # noqa: PTH118 - hot with many files
            yield from (
                os.path.join(parent, name)  # noqa: PTH118 - hot with many files
                for name in files
                if name.lower().endswith(_SUFFIXES)
            )


def _with_folders(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        yield from (str(file), str(file.parent))


def _stamp(path: str) -> Stamp | None:
    try:
        stat = os.stat(path)  # noqa: PTH116 - hot with many files
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
