"""Templates: the owner of children, as declared: what they are made from, which of it counts, and how they are rolled.

A template has children of its own (`replicas`), or those that a selector finds among what is declared, or none: then it
is a part that other templates use. A child belongs to the template that leads it and to every part of that one; each of
these owners has revisions, regimes and findings of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from holdfast.compare import canonical, schemes
from holdfast.errors import Location
from holdfast.model.json import Json
from holdfast.plan.rolling_out import template_schemes
from holdfast.plan.rolling_out.adoption import Unstamped
from holdfast.plan.rolling_out.option1 import NODEPOOL
from holdfast.plan.rolling_out.predicates import Predicate
from holdfast.plan.rolling_out.revisions import Live
from holdfast.plan.rolling_out.rollout_limits import Limits
from holdfast.plan.rolling_out.template_findings import FindingKind
from holdfast.plan.rolling_out.template_schemes import FieldPolicy, Keys, TemplateScheme
from holdfast.plan.selection import LabelSelector

RESOURCE: Final = "resource"
NONCE: Final = "nonce"
VERSION: Final = 1  # of the way in which this release turns a template into a digest
KEPT: Final = 10


class Method(StrEnum):
    """How a child comes to another revision."""

    REPLACE_BEFORE_REMOVE = "replace-before-remove"
    REMOVE_FIRST = "remove-first"
    REWRITE = "rewrite"  # the same thing gets the new content; its provider may still have to make it anew


class Mode(StrEnum):
    """How far a template goes."""

    ENFORCE = "enforce"
    NOTIFY = "notify"  # findings, but no rollout


class Compatibility(StrEnum):
    """By which design children are judged."""

    REGIMES = "regimes"
    OPTION1 = "option1"  # back-propagated hashes, with their hazards; see `option1`


@dataclass(frozen=True, slots=True)
class ChildKind:
    """What the children of a template are."""

    provider: str
    api_version: str
    connection: str
    kind: str
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FieldClasses:
    """Which fields of the content do not make a child another one, and how the others are read."""

    in_place: frozenset[Keys] = frozenset()  # every child gets them at once, by an ordinary update
    behavioural: frozenset[Keys] = frozenset()  # only new children get them
    removed: frozenset[Keys] = frozenset()  # left the schema
    keeps_empty: frozenset[Keys] = frozenset()
    defaults: Mapping[str, Mapping[Keys, Json]] = field(default_factory=dict)  # by schema
    moved: Mapping[str, Mapping[Keys, Keys]] = field(default_factory=dict)  # by schema: from -> to


@dataclass(frozen=True, slots=True)
class Gate:
    """A health gate of a whole rollout: a predicate on another resource."""

    name: str
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Stamping:
    """Where on the live child the hash and its version stand, in the form of the seed."""

    at: Keys
    key: str = NODEPOOL


@dataclass(frozen=True, slots=True)
class Template:
    """One template as declared."""

    name: str
    content: Mapping[str, Json]
    child: ChildKind | None = None  # None: a part that others use
    replicas: int | None = None
    selector: LabelSelector | None = None
    uses: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    schema: str = ""
    nonce: str = ""
    uid: str = ""
    fields: FieldClasses = field(default_factory=FieldClasses)
    requirements: tuple[Predicate, ...] = ()
    ready_when: tuple[Predicate, ...] = ()
    idle_when: tuple[Predicate, ...] = ()
    stamping: Stamping | None = None
    compatibility: Compatibility = Compatibility.REGIMES
    unstamped: Unstamped = Unstamped.HOLD
    mode: Mode = Mode.ENFORCE
    promoted: frozenset[FindingKind] = frozenset()
    method: Method = Method.REPLACE_BEFORE_REMOVE
    limits: Limits = field(default_factory=Limits)
    gates: tuple[Gate, ...] = ()
    holds: Mapping[str, float] = field(default_factory=dict)  # slot -> seconds since the rollout began
    spread_by: str = ""  # a label of selected children
    kept: int = KEPT  # revisions for undo
    location: Location = field(default_factory=Location, compare=False)

    @property
    def owner_id(self) -> str:
        """What its revisions and children are kept under: of this template, not of the next one with the same name."""
        return self.uid or self.name

    @property
    def is_part(self) -> bool:
        """Whether it has no children but through others."""
        return self.replicas is None and self.selector is None

    def live(self) -> Live:
        """Return the content as it is recorded; a nonce makes another revision of the same content."""
        wrapped: dict[str, Json] = {RESOURCE: dict(self.content)}
        if self.nonce:
            wrapped[NONCE] = self.nonce
        return Live(self.owner_id, wrapped, self.schema)


# --- schemes ----------------------------------------------------------------------------------------------------------


def policy_document(fields: FieldClasses) -> dict[str, Json]:
    """Return which fields count, as data: kept beside the regimes, so that old schemes stay computable."""
    return {
        "ignored": [list(keys) for keys in sorted(fields.in_place | fields.behavioural | fields.removed)],
        "inPlace": [list(keys) for keys in sorted(fields.in_place)],
        "keepsEmpty": [list(keys) for keys in sorted(fields.keeps_empty)],
        "defaults": {
            schema: [[list(keys), value] for keys, value in sorted(table.items())]
            for schema, table in sorted(fields.defaults.items())
        },
        "moved": {
            schema: [[list(old), list(new)] for old, new in sorted(table.items())]
            for schema, table in sorted(fields.moved.items())
        },
    }


def scheme_id(policy: Json) -> str:
    """Return the id of the scheme of a policy in this release: another policy is another scheme, and so a regime."""
    digest = hashlib.sha256(canonical.canonical_bytes(policy, lists="ordered")).hexdigest()
    return f"template-{digest[:12]}/{VERSION}"


def scheme_of(policy: Json, named: str | None = None) -> TemplateScheme | None:
    """Return the scheme of a policy, or None if its id is of a release that is not this one."""
    ident = named or scheme_id(policy)
    if not ident.endswith(f"/{VERSION}"):
        return None
    moved = {schema: [(_under(old), _under(new)) for old, new in table] for schema, table in policy["moved"].items()}

    def convert(content: Json, schema: str) -> Json:
        for old, new in moved.get(schema, ()):
            content = template_schemes.moved(content, old, new)
        return content

    return template_schemes.made(
        ident,
        schemes.ORDERED,
        FieldPolicy(
            frozenset(map(_under, policy["ignored"])),
            frozenset(map(_under, policy["keepsEmpty"])),
            {schema: {_under(keys): value for keys, value in table} for schema, table in policy["defaults"].items()},
            convert,
        ),
    )


def _under(keys: Json) -> Keys:
    return (RESOURCE, *keys)
