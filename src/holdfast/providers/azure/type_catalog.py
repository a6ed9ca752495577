"""The catalog of ARM types: friendly kinds, and behaviour of single types. Data, from `types.yaml`.

A type without an entry is a plain one. It can be read, PUT and deleted, and belongs to a resource group. It is settled
when its provisioningState is Succeeded, Failed or Canceled, or when it has none. A connection may add habits of its
own, which take precedence over the shipped ones.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final

from holdfast.compare import paths, yaml_reader
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.path import Path

ANY_KIND: Final = "Resource"
TERMINAL: Final = frozenset({"succeeded", "failed", "canceled", "cancelled"})
_VERBS: Final = ("GET", "HEAD", "PUT", "DELETE")
_WORDS: Final = ("types", "scope", "terminal", "conditional", "clears", "children", "verbs")


class Scope(StrEnum):
    """The container of a resource whose declaration names no owner."""

    GROUP = "group"
    SUBSCRIPTION = "subscription"
    TENANT = "tenant"


class Clears(StrEnum):
    """The way in which a PUT empties a list or map that is no longer declared."""

    OMIT = "omit"  # leaving it out empties it
    NULL = "null"
    EMPTY = "empty"  # only [] or {} empties it; an omitted field stays as it is


@dataclass(frozen=True, slots=True)
class Children:
    """A list in which a parent shows children that other resources own."""

    path: Path
    key: str


@dataclass(frozen=True, slots=True)
class Habits:
    """The behaviour of one type."""

    scope: Scope = Scope.GROUP
    terminal: frozenset[str] = TERMINAL  # in lower case
    conditional: bool = False
    clears: Clears = Clears.OMIT
    children: tuple[Children, ...] = ()
    verbs: frozenset[str] = frozenset(_VERBS)


@dataclass(frozen=True, slots=True)
class Named:
    """A friendly kind: its type, and the API version unless a declaration gives another."""

    type: str
    api_version: str


@dataclass(frozen=True, slots=True)
class Habit:
    """One entry of the table, as read: the habits of the types that match a glob."""

    glob: str
    says: Mapping[str, Json] = field(default_factory=dict)

    def covers(self, type_: str) -> bool:
        """Return True if this entry applies to a type."""
        return fnmatch.fnmatchcase(type_.casefold(), self.glob.casefold())


@cache
def shipped() -> tuple[Mapping[str, Named], tuple[Habit, ...]]:
    """Return the shipped kinds and habits. They are read once."""
    text = resources.files(__package__).joinpath("types.yaml").read_bytes()
    (document,) = yaml_reader.documents(text, "azure/types.yaml")
    kinds = {name: Named(body["type"], body["apiVersion"]) for name, body in document.value["kinds"].items()}
    return kinds, read_habits(document.value["habits"])


def read_habits(value: Json) -> tuple[Habit, ...]:
    """Return the habits of table entries; raise InputError at the first invalid entry."""
    if not isinstance(value, list):
        raise InputError("a list of habits is needed, such as [{types: Contoso.Test/*, terminal: [Ready]}]")
    return tuple(_habit(item) for item in value)


def _habit(body: Json) -> Habit:
    if not isinstance(body, dict) or not isinstance(body.get("types"), str):
        raise InputError("a habit needs the types it is about: {types: Contoso.Test/*, ...}")
    for word in body:
        if word not in _WORDS:
            raise InputError(f"unknown word {word!r}; known here: {', '.join(_WORDS)}")
    try:
        says = {word: _READ[word](value) for word, value in body.items() if word != "types"}
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"the habits of {body['types']}: {error}") from None
    return Habit(body["types"], says)


def _truth(value: Json) -> bool:
    if not isinstance(value, bool):
        raise TypeError("conditional is true or false")
    return value


def _children(value: Json) -> tuple[Children, ...]:
    return tuple(Children(paths.parse_path(item["path"]), str(item["key"])) for item in value)


def _verbs(value: Json) -> frozenset[str]:
    found = frozenset(str(item).upper() for item in value)
    if not found or found - set(_VERBS):
        raise ValueError(f"verbs are some of {', '.join(_VERBS)}")
    return found


_READ: Final = {
    "scope": Scope,
    "terminal": lambda value: TERMINAL | {str(name).casefold() for name in value},
    "conditional": _truth,
    "clears": Clears,
    "children": _children,
    "verbs": _verbs,
}


def habits_of(type_: str, table: Iterable[Habit]) -> Habits:
    """Return the behaviour of a type. The first entry that sets a habit decides it."""
    said: dict[str, Json] = {}
    for habit in table:
        if habit.covers(type_):
            for word, value in habit.says.items():
                said.setdefault(word, value)
    return Habits(**said)


@dataclass(slots=True)
class Types:
    """The habits in force for a connection. Each type is resolved once."""

    own: Sequence[Habit] = ()
    _known: dict[str, Habits] = field(default_factory=dict)

    def __getitem__(self, type_: str) -> Habits:
        key = type_.casefold()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = habits_of(type_, (*self.own, *shipped()[1]))
        return found


def named(kind: str) -> Named | None:
    """Return the type and version of a friendly kind."""
    return shipped()[0].get(kind)


@cache
def kind_of(type_: str) -> str | None:
    """Return the friendly kind of a type in lower case, if it has one."""
    return next((kind for kind, named in shipped()[0].items() if named.type.casefold() == type_), None)
