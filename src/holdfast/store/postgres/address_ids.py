"""The integer ids of addresses and of other subjects of events.

Names are added in transactions of their own, so an id stays valid if the transaction that needed it fails. Only the
last used ids are cached, because idle resources must cost the process no memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import asyncpg

from holdfast.store.address_text import split
from holdfast.store.postgres.statements import SQL
from holdfast.store.postgres.texts import escape_all

CACHED: Final = 4096  # ids at most
_NO_ADDRESS: Final = 0  # the family of names that are not addresses


class AddressIds:
    """Finds and adds names through the connection it is given."""

    def __init__(self) -> None:
        self._families: dict[tuple[str, str], int] = {}
        self._numbers: dict[str, int] = {}  # never stale, because no name is ever deleted
        self.forget()

    def forget(self) -> None:
        """Drop the cache."""
        self._families = {("", ""): _NO_ADDRESS}
        self._numbers = {}

    async def find_all(self, connection: asyncpg.Connection, texts: Iterable[str]) -> dict[str, int]:
        """Return the ids of the names that were ever stored."""
        wanted = dict.fromkeys(texts)
        ids = {text: self._numbers[text] for text in wanted if text in self._numbers}
        places: dict[str, tuple[int, str]] = {}
        for text in wanted:
            if text not in ids:
                connection_name, kind, local = split(text)
                family = await self._family(connection, connection_name, kind)
                if family is not None:
                    places[text] = family, local
        return ids | await self._look_up(connection, places) if places else ids

    async def add_all(self, connection: asyncpg.Connection, texts: Iterable[str]) -> dict[str, int]:
        """Return the ids of names, adding those that are new; only outside of a transaction."""
        wanted = dict.fromkeys(texts)
        ids = await self.find_all(connection, wanted)
        new = [text for text in wanted if text not in ids]
        if new:
            places = {text: await self._add_family(connection, text) for text in new}
            await connection.execute(SQL["add_names"], *_columns(places))
            ids |= await self._look_up(connection, places)
        return ids

    async def _look_up(self, connection: asyncpg.Connection, places: Mapping[str, tuple[int, str]]) -> dict[str, int]:
        texts = list(places)
        rows = await connection.fetch(SQL["find_names"], *_columns(places))
        ids = {texts[place]: number for place, number in rows}
        if len(self._numbers) + len(ids) > CACHED:
            self._numbers.clear()
        if len(ids) <= CACHED:
            self._numbers.update(ids)
        return ids

    async def _family(self, connection: asyncpg.Connection, connection_name: str, kind: str) -> int | None:
        known = self._families.get((connection_name, kind))
        if known is None:
            known = await connection.fetchval(SQL["find_family"], connection_name, kind)
            if known is not None:
                self._families[connection_name, kind] = known
        return known

    async def _add_family(self, connection: asyncpg.Connection, text: str) -> tuple[int, str]:
        connection_name, kind, local = split(text)
        family = await self._family(connection, connection_name, kind)
        if family is None:
            await connection.execute(SQL["add_family"], connection_name, kind)
            family = await self._family(connection, connection_name, kind)
        assert family is not None
        return family, local


def _columns(places: Mapping[str, tuple[int, str]]) -> tuple[list[int], list[str]]:
    return [family for family, _ in places.values()], escape_all(local for _, local in places.values())
