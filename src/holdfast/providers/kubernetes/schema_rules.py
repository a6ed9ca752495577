"""The rules of a kind: those of the server itself, of its schema, and of all kinds.

Servers drop zero values (`hostNetwork: false`) of the built-in kinds, except where a field can tell zero from absence
(`runAsUser: 0`). OpenAPI does not tell the two apart, so that comes from the shipped facts. Custom resources are kept
as they are written.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from holdfast.compare import profiles
from holdfast.compare.profiles import Profile
from holdfast.model.json import Json
from holdfast.providers import builtin_profiles
from holdfast.providers.kubernetes import schema_walk, type_facts
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.kubernetes.schema_document import Schema

NAME: Final = "kubernetes"
GENERAL: Final = "kubernetes/general"  # the profile of all kinds, which goes last


def rules_for(kind: GroupVersionKind, openapi: Schema | None) -> tuple[Profile, ...]:
    """Return the rules of a kind, the first one winning; without a document the shipped facts stand in for it."""
    return _stacked(kind, of_server(kind, openapi) if openapi is not None else of_facts(kind))


def rules_without_facts(kind: GroupVersionKind) -> tuple[Profile, ...]:
    """Return the rules of a kind of which no schema is known."""
    return _stacked(kind, None)


def of_server(kind: GroupVersionKind, openapi: Schema) -> Profile | None:
    """Return the rules that a server's document gives to a kind; None if it does not know the kind."""
    is_builtin = type_facts.known_kind(kind) is not None
    document = type_facts.with_kept_zeros(openapi) if is_builtin else openapi
    rules = schema_walk.rules_of(kind, document, keeps_all=not is_builtin)
    return None if rules is None else _profile(kind, rules, is_builtin=is_builtin)


@cache
def of_facts(kind: GroupVersionKind) -> Profile | None:
    """Return the rules that the shipped facts give to a kind; None if they do not know the kind."""
    known = type_facts.known_kind(kind)
    rules = None if known is None else schema_walk.rules_of(known, type_facts.openapi(), keeps_all=False)
    return None if rules is None else _profile(kind, rules, is_builtin=True)


def _profile(kind: GroupVersionKind, rules: list[Json], *, is_builtin: bool) -> Profile:
    rest = {
        "path": "/**",
        "list": {"kind": "ordered", "whole": True},
        "presence": "empty_list",
        **({"adopt_presence": "zero"} if is_builtin else {}),
        "why": "an order that no key replaces counts; an empty mapping of named fields says something",
    }
    return profiles.build({"profile": f"{NAME}/types/{kind}", "version": 1, "schema": True, "rules": [*rules, rest]})


def _stacked(kind: GroupVersionKind, schema: Profile | None) -> tuple[Profile, ...]:
    shipped = [profile for profile in builtin_profiles.shipped() if profile.applies_to(NAME, str(kind))]
    before = [profile for profile in shipped if profile.name != GENERAL]
    after = [profile for profile in shipped if profile.name == GENERAL]
    return (*before, *((schema,) if schema else ()), *after)
