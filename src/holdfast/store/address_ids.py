"""Addresses, and other subjects of events, as the integers the tables use.

Few are remembered, because idle resources must cost the process nothing: those that were met last, which the next steps
of a write will ask for again. A batch is looked up in a few queries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

from holdfast.model.address import Address
from holdfast.store.sqlite.statements import SQL, in_lists, sized

REMEMBERED: Final = 4096  # names at most
_NO_ADDRESS: Final = 0  # the family of names that are not addresses


class Names:
    """Finds and adds names through one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._families: dict[tuple[str, str], int] = {}
        self._numbers: dict[str, int] = {}  # right for ever, for a name is never deleted

    def find(self, text: str) -> int | None:
        """Return the id of a name if it was ever kept."""
        return self.find_all([text]).get(text)

    def find_all(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the ids of those names that were ever kept."""
        found: dict[str, int] = {}
        wanted: dict[tuple[str, str], dict[str, str]] = {}
        for text in texts:
            number = self._numbers.get(text)
            if number is not None:
                found[text] = number
            else:
                connection, kind, local = split(text)
                wanted.setdefault((connection, kind), {})[local] = text
        return found | self._looked_up(wanted) if wanted else found

    def _looked_up(self, wanted: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, int]:
        found: dict[str, int] = {}
        for (connection, kind), locals_ in wanted.items():
            family = self._family(connection, kind)
            for chunk in in_lists(list(locals_)) if family is not None else ():
                rows = self._connection.execute(sized("find_names", chunk), (family, *chunk))
                found.update([(locals_[local], number) for number, local in rows])
        self._remember(found)
        return found

    def _remember(self, numbers: Mapping[str, int]) -> None:
        if len(self._numbers) + len(numbers) > REMEMBERED:
            self._numbers.clear()
        if len(numbers) <= REMEMBERED:
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
                    new[text] = self._insert("add_name", self._made_family(connection, kind), local)
            self._remember(new)
            numbers |= new
        return numbers

    def forget(self) -> None:
        """Drop what is remembered: after a rollback some of it was never true."""
        self._families.clear()
        self._numbers.clear()

    def _made_family(self, connection: str, kind: str) -> int:
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


def text_of(address: Address) -> str:
    """Do what str(address) does, in half the time, and refuse an address that its text would not give back."""
    connection, kind, namespace, name = address.connection, address.kind, address.namespace, address.name
    local = name if namespace is None else f"{namespace}/{name}"
    text = f"{connection}/{kind}/{local}"
    if text.count("/") != 2 + (namespace is not None) or not (connection and kind and name):
        raise ValueError(f"{address!r} cannot be kept: its parts must not be empty and must not hold a slash")
    return text


def split(text: str) -> tuple[str, str, str]:
    """Return connection, kind and the rest of an address; connection and kind are empty for any other text."""
    parts = text.split("/", 2)
    if len(parts) == 3 and parts[0] and parts[1]:
        return parts[0], parts[1], parts[2]
    return "", "", text


def joined(connection: str, kind: str, local: str) -> str:
    """Undo `split`."""
    return f"{connection}/{kind}/{local}" if connection else local


def address_of(connection: str, kind: str, local: str) -> Address:
    """Return the address that was split."""
    namespace, slash, name = local.partition("/")
    return Address(connection, kind, name, namespace) if slash else Address(connection, kind, local)
