"""State that reader and writer of a connection share: the last reads and the latest writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from holdfast.providers.azure import ids
from holdfast.providers.azure.quota import Quota

_REMEMBERED: Final = 100_000
_LOOKS: Final = 4  # reads that may still show the state before a write; later reads are trusted


@dataclass(slots=True)
class Shared:
    """The memory of one connection in one process. It affects only waiting times, never results."""

    quota: Quota = field(default_factory=Quota)
    _seen: dict[str, str] = field(default_factory=dict)  # canonical id -> digest of the last answer
    _stale: dict[str, tuple[str, int]] = field(default_factory=dict)  # what a read may still show, and how often
    _unreadable: set[str] = field(default_factory=set)  # types that answered 405 to a GET, in lower case

    def saw(self, ident: str, digest: str) -> None:
        """Record the digest of a read."""
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[ids.canonical(ident)] = digest

    def wrote(self, ident: str) -> None:
        """Record a write, which makes the last read of the resource outdated."""
        key = ids.canonical(ident)
        if key in self._seen:
            self._stale[key] = (self._seen[key], _LOOKS)

    def is_stale(self, ident: str, digest: str) -> bool:
        """Return True if an answer shows the state before our write, because reads may lag behind for a while."""
        key = ids.canonical(ident)
        found = self._stale.get(key)
        if found is None:
            return False
        if found[0] != digest or found[1] <= 0:
            del self._stale[key]
            return False
        self._stale[key] = (digest, found[1] - 1)
        return True

    def cannot_get(self, type_: str) -> None:
        """Record that a type cannot be read."""
        self._unreadable.add(type_.casefold())

    def can_get(self, type_: str) -> bool:
        """Return True if a type can be read, as far as is known."""
        return type_.casefold() not in self._unreadable
