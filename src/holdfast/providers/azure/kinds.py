"""The kinds: a mapping that answers for every kind there is.

A kind is a friendly name of `types.yaml`, or `Resource`, whose declarations say their type themselves. Asked for an ARM
type, as the corpus and the API do, it answers too. Only the friendly ones are listed: there are thousands of types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from holdfast.compare import paths, profiles
from holdfast.provider import Json, Kind, Profile, Versions
from holdfast.providers import builtin_profiles
from holdfast.providers.azure import type_catalog, type_facts
from holdfast.providers.azure.type_catalog import Habits, Types

NAME = "azure"
GENERAL = "azure/general"  # the profile of all types, which goes last


class Kinds(Mapping[str, Kind]):
    """Every kind of a connection."""

    def __init__(self, known: Types | None = None) -> None:
        self._types = known or Types()
        self._made: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._kind(name)
        return found

    def _kind(self, name: str) -> Kind:
        if name == type_catalog.ANY_KIND:
            return Kind(name, conditional=True, profiles=_shipped(name), pool=NAME)
        named = type_catalog.named(name)
        type_ = named.type if named is not None else name
        if named is None and "/" not in name:
            raise KeyError(name)
        habits = self._types[type_]
        usual = usual_version(type_)

        def spoken(desired: Mapping[str, Json]) -> str:
            said = desired.get("apiVersion")
            return said if isinstance(said, str) else usual

        def rules(version: str) -> tuple[Profile, ...]:
            return rules_of(type_, version, habits)

        return Kind(
            name,
            conditional=habits.conditional,
            profiles=rules(usual),
            discovers=named is not None and type_.count("/") == 1,
            pool=NAME,
            versions=Versions(spoken, rules),
        )

    def __iter__(self) -> Iterator[str]:
        yield type_catalog.ANY_KIND
        yield from type_catalog.shipped()[0]

    def __len__(self) -> int:
        return 1 + len(type_catalog.shipped()[0])


def usual_version(type_: str) -> str:
    """Return the API version that a type is spoken to in unless a declaration says another; empty if none is known."""
    kind = type_catalog.kind_of(type_.casefold())
    named = type_catalog.named(kind) if kind is not None else None
    return named.api_version if named is not None else ""


def rules_of(type_: str, version: str, habits: Habits, *, with_facts: bool = True) -> tuple[Profile, ...]:
    """Return the rules of a type in a version: of its children, of its place, of its own facts, then those of all."""
    own = children_profile(type_, habits)
    facts = type_facts.profile(type_, version) if with_facts else None
    shipped = _shipped(type_)
    before = [profile for profile in shipped if profile.name != GENERAL]
    after = [profile for profile in shipped if profile.name == GENERAL]
    return (*((own,) if own else ()), *before, *((facts,) if facts else ()), *after)


@cache
def _shipped(type_: str) -> tuple[Profile, ...]:
    return tuple(profile for profile in builtin_profiles.shipped() if profile.applies_to(NAME, type_))


@cache
def children_profile(type_: str, habits: Habits) -> Profile | None:
    """Return the rule that what a parent shows of its children is theirs, for a type that shows any."""
    if not habits.children:
        return None
    rules = [
        {"path": paths.format_path(child.path), "class": "owned_elsewhere", "list": {"keyed": [child.key]},
         "why": "made and changed as resources of their own"}
        for child in habits.children
    ]  # fmt: skip
    return profiles.build({"profile": f"azure/children of {type_}", "version": 1, "rules": rules})
