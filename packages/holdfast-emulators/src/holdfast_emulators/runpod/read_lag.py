"""Reads that lag behind writes: for a few looks a thing is still shown as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


@dataclass(slots=True)
class _Stale(Generic[Thing]):
    before: Thing | None  # None: it was not there
    reads: int


@dataclass(slots=True)
class Lagging(Generic[Thing]):
    """The outdated objects that reads show after a write."""

    _stale: dict[str, _Stale[Thing]] = field(default_factory=dict)

    def remember(self, ident: str, before: Thing | None, reads: int) -> None:
        """Keep what was there before a write, for so many reads."""
        if reads > 0:
            self._stale[ident] = _Stale(copy.deepcopy(before), reads)

    def seen(self, ident: str, now: Thing | None) -> Thing | None:
        """Return the object as a read shows it."""
        stale = self._stale.get(ident)
        if stale is None:
            return now
        stale.reads -= 1
        if stale.reads <= 0:
            del self._stale[ident]
        return stale.before

    def all_seen(self, now: dict[str, Thing]) -> Iterator[Thing]:
        """Yield the objects that a list shows, including deleted ones."""
        for ident in [*now, *(ident for ident in self._stale if ident not in now)]:
            thing = self.seen(ident, now.get(ident))
            if thing is not None:
                yield thing
