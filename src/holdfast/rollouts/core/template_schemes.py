"""Template schemes: what of a template counts, under a name that means the same for ever.

A scheme turns content, and the version of the schema that wrote it, into two digests: of what was declared and of what
took effect once the defaults of that schema were filled in. Content is kept, digests are an index of it, so a new
scheme can look at old content. Refuses to know who owns a template and what follows from a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple

from holdfast.compare import canonical, hash_schemes
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.record import dataclass

Keys = tuple[str, ...]  # the way to a field, by names only: no path leads into a list
Defaults = Mapping[Keys, Json]


class ListOrder(StrEnum):
    """The meaning of the order of a list, where it is not a sequence."""

    SET = "set"  # neither order nor repetition
    MULTISET = "multiset"  # repetition, but no order


ListRule = ListOrder | tuple[str, ...]  # the names: what elements are told apart by, in any order


class Digests(NamedTuple):
    """The hashes of one content under a scheme: as declared, and with the defaults in force."""

    declared: str
    effective: str

    def matches(self, other: Digests) -> bool:
        """Return True if both declare the same or come to the same.

        Either is enough: a default that moved is not an edit, and writing down a default is not one either.
        """
        return self.declared == other.declared or self.effective == other.effective


@dataclass(frozen=True, slots=True)
class TemplateScheme:
    """A scheme as regimes need it; `declared` and `effective` take content and the version of its schema."""

    id: str
    declared: Callable[[Json, str], str]
    effective: Callable[[Json, str], str] | None = None  # None: there are no defaults
    arranged: Callable[[Json], Json] = lambda content: content  # lists without an order in one, to show differences

    def digests(self, content: Json, schema: str) -> Digests:
        """Digest content, or raise UnhashableError: an opaque value never hashes to a constant."""
        declared = self.declared(content, schema)
        return Digests(declared, declared if self.effective is None else self.effective(content, schema))


Schemes = Mapping[str, TemplateScheme]


def registry(*known: TemplateScheme) -> dict[str, TemplateScheme]:
    """Return schemes by id."""
    return {scheme.id: scheme for scheme in known}


def _as_it_is(content: Json, _schema: str) -> Json:
    return content


@dataclass(frozen=True, slots=True)
class FieldPolicy:
    """Which fields of a template count and how: data, versioned with the scheme that is made from it.

    Absent, null, an empty list and an empty object are one and the same, unless a field is in `keeps_empty`.
    """

    ignored: frozenset[Keys] = frozenset()  # behavioural, dynamic, in place, or removed from the schema
    keeps_empty: frozenset[Keys] = frozenset()
    defaults: Mapping[str, Defaults] = field(default_factory=dict)  # by the version of the schema they belong to
    lists: Mapping[Keys, ListRule] = field(default_factory=dict)  # all others are ordered
    convert: Callable[[Json, str], Json] = _as_it_is  # moved, renamed and retyped fields: to the newest shape

    def declared(self, content: Json, schema: str) -> Json:
        """Return the declared fields that count. A value equal to the default of its time was not declared."""
        defaults = self.defaults.get(schema, {})
        return self._reduced(self.convert(_without(content, defaults), schema), ())

    def effective(self, content: Json, schema: str) -> Json:
        """Return the effective fields that count, with the defaults of the time of writing."""
        return self._reduced(self.convert(_filled(content, self._in_force(schema)), schema), ())

    def _in_force(self, schema: str) -> Defaults:
        """Return the defaults of a schema, with those that only others have.

        A default that was added is the same on both sides; only one that got another value tells them apart.
        """
        values: dict[Keys, list[Json]] = {}
        for table in self.defaults.values():
            for keys, value in table.items():
                values.setdefault(keys, []).append(value)
        agreed = {keys: element[0] for keys, element in values.items() if all(item == element[0] for item in element)}
        return {**agreed, **self.defaults.get(schema, {})}

    def arranged(self, content: Json) -> Json:
        """Return all of the content, with every list whose order means nothing in one order."""
        for keys, rule in self.lists.items():
            found = _at(content, keys)
            if isinstance(found, list | tuple):
                content = _set(content, keys, arranged(found, rule))
        return content

    def _reduced(self, value: Json, at: Keys) -> Json:
        if isinstance(value, list | tuple) and at in self.lists:
            return arranged(value, self.lists[at])
        if not isinstance(value, Mapping):
            return value
        reduced = {
            key: self._reduced(item, (*at, key)) for key, item in value.items() if (*at, key) not in self.ignored
        }
        return {key: item for key, item in reduced.items() if self._says_something(item, (*at, key))}

    def _says_something(self, item: Json, at: Keys) -> bool:
        return at in self.keeps_empty or not (item is None or item in ([], {}))


def made(scheme_id: str, hashing: hash_schemes.Scheme, policy: FieldPolicy) -> TemplateScheme:
    """Make a template scheme of a way to hash and a policy of fields."""
    return TemplateScheme(
        scheme_id,
        lambda content, schema: hashing.digest(policy.declared(content, schema)),
        lambda content, schema: hashing.digest(policy.effective(content, schema)),
        policy.arranged,
    )


def arranged(elements: Sequence[Json], rule: ListRule) -> list[Json]:
    """Return a list in the one order that all lists have which a rule takes for the same.

    Elements that a key should tell apart and does not (one has no such field, or is no object) stay in their order:
    nothing is said to be the same that may not be.
    """
    if isinstance(rule, tuple):
        if not all(isinstance(element, Mapping) and element.keys() >= set(rule) for element in elements):
            return list(elements)
        return sorted(elements, key=lambda each: [_text(each[name]) for name in rule])
    ordered = sorted(elements, key=_text)
    if rule is ListOrder.MULTISET:
        return ordered
    return list({_text(item): item for item in ordered}.values())


def _text(value: Json) -> bytes:
    return canonical.canonical_bytes(value, lists="ordered")


def is_same_content(one: Json, other: Json) -> bool:
    """Return True if two contents are the same but for the order of keys; UnhashableError for what is not JSON."""
    return canonical.canonical_bytes(one, lists="ordered") == canonical.canonical_bytes(other, lists="ordered")


def at(content: Json, keys: Iterable[str]) -> Json:
    """Return the value of a field, or ABSENT."""
    return _at(content, keys)


def put(content: Json, keys: Keys, value: Json) -> Json:
    """Return content with a value at a field; with ABSENT, without the field."""
    if value is not ABSENT:
        return _set(content, keys, value)
    return content if _at(content, keys) is ABSENT else _removed(content, keys)


def moved(content: Json, old: Keys, new: Keys) -> Json:
    """Return content with a field under another name; where it has none, as it is."""
    value = _at(content, old)
    return content if value is ABSENT else _set(_removed(content, old), new, value)


def _without(content: Json, defaults: Defaults) -> Json:
    """Return content without the values that a substrate filled in."""
    for keys, value in defaults.items():
        found = _at(content, keys)
        if found is not ABSENT and is_same_content(found, value):
            content = _removed(content, keys)
    return content


def _filled(content: Json, defaults: Defaults) -> Json:
    for keys, value in defaults.items():
        if _at(content, keys) in (ABSENT, None):
            content = _set(content, keys, value)
    return content


def _at(content: Json, keys: Iterable[str]) -> Json:
    for key in keys:
        if not isinstance(content, Mapping) or key not in content:
            return ABSENT
        content = content[key]
    return content


def _removed(content: Json, keys: Keys) -> Json:
    first, *rest = keys
    if rest:
        return {**content, first: _removed(content[first], tuple(rest))}
    return {key: item for key, item in content.items() if key != first}


def _set(content: Json, keys: Keys, value: Json) -> Json:
    first, *rest = keys
    holder = content if isinstance(content, Mapping) else {}
    return {**holder, first: _set(holder.get(first), tuple(rest), value) if rest else value}
