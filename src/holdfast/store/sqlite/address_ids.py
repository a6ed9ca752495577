"""The integer ids of addresses and of other subjects of events.

Only the last used ids are cached, because idle resources must cost the process no memory. A batch is looked up in a few
queries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

from holdfast.store.address_text import split
from holdfast.store.sqlite.statements import SQL, in_lists, sized

CACHED: Final = 4096  # ids at most
_NO_ADDRESS: Final = 0  # the family of names that are not addresses


class AddressIds:
    """Finds and adds names through one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._families: dict[tuple[str, str], int] = {}
        self._numbers: dict[str, int] = {}  # never stale, because no name is ever deleted

    def find(self, text: str) -> int | None:
        """Return the id of a name, or None if it was never stored."""
        return self.find_all([text]).get(text)

    def find_all(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the ids of the names that were ever stored."""
        ids: dict[str, int] = {}
        wanted: dict[tuple[str, str], dict[str, str]] = {}
        for text in texts:
            number = self._numbers.get(text)
            if number is not None:
                ids[text] = number
            else:
                connection, kind, local = split(text)
                wanted.setdefault((connection, kind), {})[local] = text
        return ids | self._look_up(wanted) if wanted else ids

    def _look_up(self, wanted: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, int]:
        ids: dict[str, int] = {}
        for (connection, kind), locals_ in wanted.items():
            family = self._family(connection, kind)
            for chunk in in_lists(list(locals_)) if family is not None else ():
                rows = self._connection.execute(sized("find_names", chunk), (family, *chunk))
                ids.update([(locals_[local], number) for number, local in rows])
        self._cache(ids)
        return ids

    def _cache(self, numbers: Mapping[str, int]) -> None:
        if len(self._numbers) + len(numbers) > CACHED:
            self._numbers.clear()
        if len(numbers) <= CACHED:
            self._numbers.update(numbers)

    def add(self, text: str) -> int:
        """Return the id of a name, adding it if it is new; only inside a transaction."""
        return self.add_all([text])[text]

    def add_all(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the ids of names, adding those that are new; only inside a transaction."""
        wanted = dict.fromkeys(texts)
        numbers = self.find_all(wanted)
        if len(numbers) < len(wanted):
            new: dict[str, int] = {}
            for text in wanted:
                if text not in numbers:
                    connection, kind, local = split(text)
                    new[text] = self._insert("add_name", self._add_family(connection, kind), local)
            self._cache(new)
            numbers |= new
        return numbers

    def forget(self) -> None:
        """Drop the cache, because after a rollback some of it was never stored."""
        self._families.clear()
        self._numbers.clear()

    def _add_family(self, connection: str, kind: str) -> int:
        family = self._family(connection, kind)
        if family is None:
            family = self._families[connection, kind] = self._insert("add_family", connection, kind)
        return family

    def _family(self, connection: str, kind: str) -> int | None:
        if not connection:
            return _NO_ADDRESS
        known = self._families.get((connection, kind))
        if known is None:
            row = self._connection.execute(SQL["find_family"], (connection, kind)).fetchone()
            if row is None:
                return None
            known = self._families[connection, kind] = row[0]
        return known

    def _insert(self, statement: str, *values: str | int) -> int:
        number = self._connection.execute(SQL[statement], values).lastrowid
        assert number is not None
        return number
