"""A list of one kind, reduced to the needs of checks: the unchanged items, and the bytes of the others.

An unchanged item costs a flag beside its id and digest, so that a list of a large fleet needs little memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.providers.protocol import Listed, Unchanged
from holdfast.store import blobs


class Listing:
    """The expected items of a list; `take` receives each item as it is read."""

    def __init__(self, expected: Mapping[str, bytes | None]) -> None:
        """Expect ids, each with the packed digest that an unchanged item has; None: keep the bytes in any case."""
        self._expected = expected
        self._places = {provider_id: place for place, provider_id in enumerate(expected)}
        self._is_unchanged = bytearray(len(expected))
        self._changed: dict[str, Listed | None] = {}  # None: listed twice, with different bytes

    def take(self, item: Listed) -> None:
        """Note an item. An item that comes twice with different bytes counts as not listed."""
        place = self._places.get(item.id)
        if place is None:
            return
        is_same = self._expected[item.id] == blobs.pack_digest(item.raw_digest)
        if item.id in self._changed:
            before = self._changed[item.id]
            if before is not None and before.raw_digest != item.raw_digest:
                self._changed[item.id] = None
        elif is_same:
            self._is_unchanged[place] = True
        else:
            self._changed[item.id] = None if self._is_unchanged[place] else item
            self._is_unchanged[place] = False

    def get(self, provider_id: str) -> Listed | Unchanged | None:
        """Return an item, or that it is unchanged; None if the list does not say."""
        place = self._places.get(provider_id)
        if place is None:
            return None
        if self._is_unchanged[place]:
            digest = self._expected[provider_id]
            return Unchanged(None, blobs.unpack_digest(digest) if digest is not None else None)
        return self._changed.get(provider_id)

    def has_unchanged(self, provider_id: str) -> bool:
        """Return True if the item has the expected digest, so that its bytes were not kept."""
        place = self._places.get(provider_id)
        return place is not None and bool(self._is_unchanged[place])
