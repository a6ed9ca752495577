"""Somebody who changes things behind the API's back, in the ways people and other programs do."""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import StrEnum

from holdfast.model.json import Json
from holdfast.testing.rest_data import Collection


class Damage(StrEnum):
    """What can be done to a thing."""

    VALUE = "value"  # a scalar becomes another of its kind
    FIELD = "field"  # a field goes
    ELEMENT = "element"  # a list gets an element more
    DELETION = "deletion"  # the thing goes


class RandomDriftInjector:
    """Strikes at random, from a source of randomness that is given: the same seed does the same damage."""

    def __init__(self, chance: random.Random, name: str = "drift_injector") -> None:
        self._chance = chance
        self.name = name  # what it leaves behind, where the service asks who writes

    def strike(self, collection: Collection, kinds: tuple[Damage, ...] = tuple(Damage)) -> tuple[str, Damage] | None:
        """Damage one thing; return which and how, or None if nothing there can be damaged in these ways."""
        options = [(ident, kind) for ident in collection.ids() for kind in kinds if _fields(collection[ident], kind)]
        if not options:
            return None
        ident, kind = self._chance.choice(options)
        if kind is Damage.DELETION:
            collection.drop(ident)
        else:
            name = self._chance.choice(_fields(collection[ident], kind))
            collection.edit(ident, self._change(name, kind), self.name)
        return ident, kind

    def _change(self, name: str, kind: Damage) -> Callable[[dict[str, Json]], object]:
        def change(document: dict[str, Json]) -> None:
            if kind is Damage.FIELD:
                del document[name]
            elif kind is Damage.ELEMENT:
                document[name].append(document[name][-1] if document[name] else "drift_injector")
            else:
                document[name] = _other(document[name])

        return change


def _fields(document: dict[str, Json], kind: Damage) -> list[str]:
    """List the fields that can be damaged so; a name is left alone, or the thing could not be recognised."""
    fields = [name for name in document if name not in ("id", "name")]
    if kind is Damage.VALUE:
        return [name for name in fields if isinstance(document[name], str | int | float)]
    if kind is Damage.ELEMENT:
        return [name for name in fields if isinstance(document[name], list)]
    return fields if kind is Damage.FIELD else ["-"]


def _other(value: Json) -> Json:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else f"{value}-vandalised"
