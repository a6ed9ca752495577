"""The comparator protocol and the default equality of JSON values.

A comparator decides whether two leaf values mean the same. It knows nothing of paths, profiles or documents. A value
that a comparator cannot parse equals only itself, and no comparator raises. An unknown spelling is therefore shown as a
difference.
"""

from __future__ import annotations

import functools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Protocol, TypeAlias, TypeVar

from holdfast.model.json import Json
from holdfast.model.record import dataclass

Key: TypeAlias = str | int | float | tuple[object, ...] | None
"""A hashable representative. Python's == on two keys is typed equality: booleans, NaN and containers carry a tag."""

Read = TypeVar("Read")

allowed_code: set[str] = set()  # entry points that profiles may name; see `custom`


def allow_code(names: Iterable[str]) -> None:
    """Let profiles name these entry points from now on, and no others."""
    allowed_code.clear()
    allowed_code.update(names)


CACHE_ENTRIES = 4096
CACHED_CHARACTERS = 256
"""Longer texts are read afresh, so that the caches stay small and hold no whole documents."""

PRINTABLE_BITS = 4096
"""Larger integers are written in hexadecimal: decimal text takes quadratic time, and beyond 4300 digits is refused."""

_DELIMITERS = frozenset('=()"')


class Comparator(Protocol):
    """Decides whether two leaf values mean the same. Reflexive and symmetric; frozen; never raises on a JSON value."""

    @property
    def name(self) -> str:
        """Return the registered name with the options in force, such as `token_set(sep=,)`."""

    def equal(self, desired: Json, observed: Json) -> bool:
        """Return True if the two values mean the same."""

    def key(self, value: Json) -> Key:
        """Return the canonical representative: values with equal keys are equal."""


@dataclass(frozen=True, slots=True)
class ByKey(ABC):
    """A comparator that is an equivalence by construction: equal means equal keys."""

    name: str

    @abstractmethod
    def key(self, value: Json) -> Key:
        """Return the canonical representative of `value`."""

    def equal(self, desired: Json, observed: Json) -> bool:
        """Return True if the two values have the same key."""
        if type(desired) is str and type(observed) is str and desired == observed:
            return True
        return self.key(desired) == self.key(observed)


@dataclass(frozen=True, slots=True)
class Exact(ByKey):
    """Typed equality: 1 is 1.0, but neither True nor "1"."""

    def key(self, value: Json) -> Key:
        """Return the typed identity of `value`."""
        return identity(value)

    def equal(self, desired: Json, observed: Json) -> bool:
        """Return typed equality without building keys."""
        return typed_equal(desired, observed)


@dataclass(frozen=True, slots=True)
class Rewritten(ByKey):
    """Compares strings after a rewriting that every string has; other values by typed identity."""

    rewrite: Callable[[str], str] = field(compare=False)

    def key(self, value: Json) -> Key:
        """Return the rewritten string, or the typed identity."""
        return self.rewrite(value) if isinstance(value, str) else identity(value)


@dataclass(frozen=True, slots=True)
class Parsed(ByKey):
    """Compares what `parse` reads out of a value, under `tag`; where that is None, the value by typed identity."""

    tag: str
    parse: Callable[[Json], Key] = field(compare=False)

    def key(self, value: Json) -> Key:
        """Return the tagged reading, or the typed identity."""
        parsed = self.parse(value)
        return identity(value) if parsed is None else (self.tag, parsed)


@dataclass(frozen=True, slots=True)
class Overlapping:
    """Equal keys, or keys of which one is a short form of the other.

    Not transitive ("1.33" matches "1.33.5" and "1.33.6"), so the key cannot say all: equal keys mean equal values, but
    equal values may have different keys. Hashes and keyed lists built on it see a difference rather than miss one.
    """

    name: str
    strict: ByKey
    overlaps: Callable[[Key, Key], bool] = field(compare=False)

    def key(self, value: Json) -> Key:
        """Return the key of the strict form."""
        return self.strict.key(value)

    def equal(self, desired: Json, observed: Json) -> bool:
        """Return True if the keys are the same or one is a short form of the other."""
        left, right = self.key(desired), self.key(observed)
        return left == right or self.overlaps(left, right) or self.overlaps(right, left)


def exact() -> Comparator:
    """Compare by typed equality."""
    return Exact("exact")


def typed_equal(left: Json, right: Json) -> bool:
    """Return True if two JSON values are the same. Key order does not matter, list order does. Any depth is safe."""
    if type(left) is str:
        return bool(left == right)
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict):
            if not isinstance(other, dict) or len(one) != len(other):
                return False
            for name, value in one.items():
                if name not in other:
                    return False
                pending.append((value, other[name]))
        elif isinstance(one, (list, tuple)):
            if not isinstance(other, (list, tuple)) or len(one) != len(other):
                return False
            pending.extend(zip(one, other, strict=True))
        elif not _scalars_equal(one, other):
            return False
    return True


def _scalars_equal(one: Json, other: Json) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    # The second half makes NaN equal to itself, which keeps every comparator reflexive.
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124


def identity(value: Json) -> Key:
    """Return a hashable key; two values have the same one exactly when they are typed-equal."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return _float_identity(value)
    # Flat text rather than nested tuples: hashing deeply nested tuples would exhaust the C stack.
    return ("json", canonical_text(value))


def _float_identity(value: float) -> Key:
    if not math.isfinite(value):
        return ("float", repr(value))
    return int(value) if value.is_integer() else value


def canonical_text(value: Json) -> str:
    """Return the one text of a JSON value under typed equality: keys sorted, no spaces, 1.0 as 1; any depth is safe."""
    out: list[str] = []
    pending: list[tuple[bool, Json]] = [(False, value)]
    while pending:
        is_text, item = pending.pop()
        if is_text:
            out.append(item)
        elif isinstance(item, dict):
            members = sorted(((_scalar_text(name), member) for name, member in item.items()), key=_first)
            out.append("{")
            pending.append((True, "}"))
            for index in range(len(members) - 1, -1, -1):
                text, member = members[index]
                pending.append((False, member))
                pending.append((True, f",{text}:" if index else f"{text}:"))
        elif isinstance(item, (list, tuple)):
            out.append("[")
            pending.append((True, "]"))
            for index in range(len(item) - 1, -1, -1):
                pending.append((False, item[index]))
                if index:
                    pending.append((True, ","))
        else:
            out.append(_scalar_text(item))
    return "".join(out)


def _first(member: tuple[str, Json]) -> str:
    return member[0]


def _scalar_text(value: Json) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float):
        if not math.isfinite(value) or not value.is_integer():
            return repr(value)
        value = int(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() <= PRINTABLE_BITS else hex(value)
    raise TypeError(f"a comparator was given a {type(value).__name__}, which is no JSON value")


def remembered(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """Cache a pure reading of short strings, within a fixed number of entries."""
    cached = functools.lru_cache(maxsize=CACHE_ENTRIES)(read)

    @functools.wraps(read)
    def call(text: str) -> Read:
        return cached(text) if len(text) <= CACHED_CHARACTERS else read(text)

    return call


def label(name: str, **options: Json) -> str:
    """Return `name(option=value,...)` for the options that are set; null and false ones are left out."""
    given = ((option, value) for option, value in options.items() if value is not None and value is not False)
    shown = [f"{option}={_shown(value)}" for option, value in given]
    return f"{name}({','.join(shown)})" if shown else name


def _shown(value: Json) -> str:
    # Quoted where it could be taken for the next option, so that different options never give the same name.
    return value if isinstance(value, str) and not _DELIMITERS.intersection(value) else canonical_text(value)
