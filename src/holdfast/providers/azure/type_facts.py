"""Azure's published type facts: read-only fields, write-only fields, and fields with fixed words.

The facts ship as `data/azure_types.jsonl.gz`, a row for each type and API version; where they come from, and under
which licence, stands in `data/LICENSE`. Nothing is read before the first type is asked for; then the rows are unpacked,
about a third of a megabyte, and only those of the types in use are parsed.

No fact may hide a change of something that can be set. They were read from another program's model of the types, which
is not always the shape of the document, so each is believed only as far as it can do no harm:

- *read-only* hides a field that is not declared; a declared one is compared whatever is said about it.
- a part of the envelope that is the user's (`tags`, `identity`, ...) is never hidden as a whole, and `properties` only
  where no row of another version knows of a field in it that can be set. A row that calls all properties write-only,
  or is contradicted, describes another shape; then the guesses by name stay in force.
- *write-only* forgives that a field is not returned while there is only the declaration to go by; what is returned is
  compared.
- *fixed words* are compared without case, unless two of them differ by nothing else.

For a version that has no row only what every row of the type agrees on is taken over, and no read-only field that takes
fixed words: such a field is the kind that becomes settable. The guesses by name stay in force there too.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Final

import orjson

from holdfast.compare import profiles
from holdfast.compare.profile import Profile
from holdfast.model.json import Json

FILE: Final = "azure_types.jsonl.gz"
KEPT: Final = 512  # profiles of types and versions that are cached
_TYPE: Final = re.compile(rb'\{"type":"([^"]+)"')
_PROPERTIES: Final = "/properties"
# Fields that a declaration may set beside `properties`. No fact excludes one of these as a whole from comparison.
_ENVELOPE: Final = frozenset({"/tags", "/identity", "/zones", "/plan", "/extendedLocation"})
_NAMING: Final = frozenset({"/id", "/name", "/type", "/location"})  # covered by the rules of all types
_READ_ONLY: Final = "Azure publishes it as read-only"
_NOT_RETURNED: Final = "Azure does not publish that it is returned"


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one type, as pointers with `*` for any index or key."""

    read_only: frozenset[str] = frozenset()
    write_only: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()  # fields with a fixed set of words, compared without case
    is_whole: bool = False  # about this version, and in the shape of the document: no guess is needed


@lru_cache(maxsize=KEPT)
def profile(type_: str, version: str) -> Profile | None:
    """Return the rules that follow from the facts about a type in a version; None if no fact is known."""
    rows = _rows(type_.casefold())
    if not rows:
        return None
    facts = of_version(rows, version)
    rules: list[Json] = [{"path": path, "class": "runtime", "why": _READ_ONLY} for path in sorted(facts.read_only)]
    rules += [{"path": path, "adopt_missing": True, "why": _NOT_RETURNED} for path in sorted(facts.write_only)]
    rules += [{"path": path, "compare": "casefold", "why": "one of some words"} for path in sorted(facts.words)]
    name = f"azure/types/{type_}/{version or 'any'}"
    return profiles.build({"profile": name, "version": 1, "schema": facts.is_whole, "rules": rules})


def of_version(rows: Sequence[Json], version: str) -> Facts:
    """Return the facts of a version: its row, else the facts that all rows share."""
    own = next((row for row in rows if row["version"].casefold() == version.casefold()), None)
    if own is None:
        return _carried_over(rows)
    write_only = frozenset(own["write_only"])
    if _has_shape(own) or _has_nothing_to_set(rows):
        return Facts(_read_only(own), write_only, _words(own), is_whole=True)
    return Facts(_carried_over(rows).read_only, write_only, _words(own))


def _carried_over(rows: Sequence[Json]) -> Facts:
    words = _common(map(_words, rows))
    shaped = [row for row in rows if _has_shape(row)]
    if not shaped:
        return Facts(words=words)
    takes_words = frozenset().union(*(row["enums"] for row in rows))
    read_only = _common(map(_read_only, shaped)) - takes_words
    return Facts(read_only, _common(frozenset(row["write_only"]) for row in shaped), words)


def _common(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset.intersection(*sets)


def _read_only(row: Json) -> frozenset[str]:
    return frozenset(row["read_only"]) - _ENVELOPE - _NAMING


def _words(row: Json) -> frozenset[str]:
    return frozenset(path for path, values in row["enums"].items() if _is_told_apart(values))


def _has_shape(row: Json) -> bool:
    """Return True if a row describes the fields of the document, and not only `properties` as one field."""
    return _PROPERTIES not in row["read_only"] and _PROPERTIES not in row["write_only"]


def _has_nothing_to_set(rows: Sequence[Json]) -> bool:
    """Return True if every row states that no property can be set."""
    return all(_PROPERTIES in row["read_only"] for row in rows)


def _is_told_apart(values: Sequence[Json]) -> bool:
    """Return True if the words stay distinct without their case."""
    return len({str(value).casefold() for value in values}) == len(values)


@cache
def _lines() -> dict[str, list[bytes]]:
    """Return the unparsed rows, by type in lower case."""
    packed = resources.files(__package__).joinpath("data", FILE).read_bytes()
    out: dict[str, list[bytes]] = {}
    for line in gzip.decompress(packed).splitlines():
        found = _TYPE.match(line)
        assert found is not None, "a row begins with its type"
        out.setdefault(found[1].decode().casefold(), []).append(line)
    return out


def types() -> Sequence[str]:
    """Return the types with known facts, in lower case."""
    return tuple(_lines())


def _rows(type_: str) -> list[Json]:
    return [orjson.loads(line) for line in _lines().get(type_, ())]


def rows(type_: str) -> Sequence[Json]:
    """Return the shipped facts of a type, one row a version."""
    return _rows(type_.casefold())
