"""JSON pointers with `*` in them, and what is done at the places they lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json


@dataclass(frozen=True, slots=True)
class Spot:
    """One place in a document: the dict or list it is in, and its key there. Nothing need be there yet."""

    holder: Json
    key: str | int

    def value(self) -> Json:
        """Return the value at the place, or ABSENT."""
        if isinstance(self.holder, dict):
            return self.holder.get(self.key, ABSENT)
        return self.holder[self.key] if isinstance(self.key, int) and self.key < len(self.holder) else ABSENT

    def put(self, value: Json) -> None:
        """Put something there; ABSENT takes it out."""
        if value is ABSENT:
            if self.value() is not ABSENT:
                del self.holder[self.key]
        elif isinstance(self.holder, list) and self.key == len(self.holder):
            self.holder.append(value)
        else:
            self.holder[self.key] = value


@lru_cache(maxsize=4_096)
def steps(pointer: str) -> tuple[str, ...]:
    """Take a pointer apart."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def spots(document: Json, pointer: str, *, make: bool = False) -> Iterator[Spot]:
    """Yield the places a pointer leads to; with `make`, the objects on the way to a new one are made."""
    yield from _spots(document, steps(pointer), make=make)


def _spots(holder: Json, path: tuple[str, ...], *, make: bool) -> Iterator[Spot]:
    first, rest = path[0], path[1:]
    for key in _keys(holder, first):
        spot = Spot(holder, key)
        if not rest:
            yield spot
            continue
        value = spot.value()
        if make and first != "*" and (value is ABSENT or value is None) and "*" not in rest:
            value = {}
            spot.put(value)
        if isinstance(value, dict | list):
            yield from _spots(value, rest, make=make)


def _keys(holder: Json, step: str) -> list[str | int]:
    if isinstance(holder, dict):
        return list(holder) if step == "*" else [step]
    if isinstance(holder, list):
        if step == "*":
            return list(range(len(holder)))
        if step == "-":
            return [len(holder)]
        return [int(step)] if step.isdigit() else _named(holder, step)
    return []


def _named(holder: list[Json], step: str) -> list[str | int]:
    """Find an element by `field=value`, which is how people mean a rule or a subnet."""
    field, equals, wanted = step.partition("=")
    if not equals:
        return []
    return [at for at, item in enumerate(holder) if isinstance(item, dict) and str(item.get(field)) == wanted]


def get(document: Json, pointer: str) -> Json:
    """Return the value at the first place of a pointer, or ABSENT."""
    if not pointer:
        return document
    return next((spot.value() for spot in spots(document, pointer)), ABSENT)


def put(document: Json, pointer: str, value: Json) -> bool:
    """Set the value at a pointer and create missing parents. Return True if there was such a place."""
    found = False
    for spot in reversed(list(spots(document, pointer, make=value is not ABSENT))):
        spot.put(value)
        found = True
    return found


def holds(document: Json, when: Mapping[str, Json], beside: Json = None) -> bool:
    """Return True if a condition is met; pointers without a slash in front are looked up in `beside`."""
    for pointer, wanted in when.items():
        found = get(document, pointer) if pointer.startswith("/") else get(beside, f"/{pointer}")
        allowed = wanted if isinstance(wanted, list | tuple) else (wanted,)
        if not any(_same(found, item) for item in allowed):
            return False
    return True


def _same(found: Json, wanted: Json) -> bool:
    if wanted is None or wanted == "*":
        return (found is ABSENT or found is None) is (wanted is None)
    if isinstance(found, str) and isinstance(wanted, str):
        return found.casefold() == wanted.casefold()
    return bool(found == wanted)
