"""Templates: the owner of children, as declared: what they are made from, which of it counts, and how they are rolled.

A template has children of its own (`replicas`), or those that a selector finds among what is declared, or none: then it
is a part that other templates use. A child belongs to the template that leads it and to every part of that one; each of
these owners has revisions, regimes and findings of its own.

A part may be a resource of its own, too (a node class beside a node pool). Then it gives the children nothing: they
refer to it. What it says is recorded all the same, and an edit of it is one that they are rolled for.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from holdfast.compare import canonical, hash_schemes
from holdfast.compat.karpenter import stamps
from holdfast.compat.karpenter.hash_annotations import NODEPOOL
from holdfast.compat.karpenter.stamps import Hashed
from holdfast.errors import Location
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.policy import source_location
from holdfast.policy.selectors import LabelSelector
from holdfast.rollouts.core import template_schemes
from holdfast.rollouts.core.requirements import Predicate
from holdfast.rollouts.core.revisions import LiveTemplate, TemplateRevision, Unstamped
from holdfast.rollouts.core.rollout_limits import RolloutLimits
from holdfast.rollouts.core.template_findings import FindingKind
from holdfast.rollouts.core.template_schemes import FieldPolicy, Keys, ListOrder, ListRule, Schemes, TemplateScheme

BLOCK: Final = "template"  # of a resource document: what makes it a template
RESOURCE: Final = "resource"
NONCE: Final = "nonce"
LIVE: Final = "live"  # in the content of a part that is a resource of its own: its address
VERSION: Final = 1  # of the way in which this release turns a template into a digest ...
LISTS_VERSION: Final = 2  # ... and of one with rules for lists, which releases that do not know these must not compute
KEPT: Final = 10


class Method(StrEnum):
    """How a child comes to another revision."""

    REPLACE_BEFORE_REMOVE = "replace-before-remove"
    REMOVE_FIRST = "remove-first"
    REWRITE = "rewrite"  # the same resource gets the new content; its provider may still have to recreate it


class RolloutMode(StrEnum):
    """How far a template goes."""

    ENFORCE = "enforce"
    NOTIFY = "notify"  # findings that wait for a person, but no rollout
    OBSERVE = "observe"  # findings for those who look, and nothing else


class Compatibility(StrEnum):
    """By which design children are judged."""

    REGIMES = "regimes"
    OPTION1 = "option1"  # back-propagated hashes, with their hazards; see `compat.karpenter.hash_annotations`


@dataclass(frozen=True, slots=True)
class ChildKind:
    """The kind of the children of a template. For a selector, which of the selected resources are children."""

    provider: str
    api_version: str
    connection: str
    kind: str
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)
    depends_on: str = ""  # as in the annotation
    type: str | None = None  # what the provider itself calls such a thing

    def covers(self, declaration: Declaration) -> bool:
        """Return True if a declared resource is of this kind, on this connection, and in the namespace, if any."""
        address = declaration.address
        is_of_kind = (address.connection, address.kind) == (self.connection, self.kind)
        return is_of_kind and self.namespace in (None, address.namespace)


@dataclass(frozen=True, slots=True)
class FieldClasses:
    """Which fields of the content do not make a child another one, and how the others are read."""

    in_place: frozenset[Keys] = frozenset()  # every child gets them at once, by an ordinary update
    behavioural: frozenset[Keys] = frozenset()  # only new children get them
    removed: frozenset[Keys] = frozenset()  # left the schema
    keeps_empty: frozenset[Keys] = frozenset()
    defaults: Mapping[str, Mapping[Keys, Json]] = field(default_factory=dict)  # by schema
    moved: Mapping[str, Mapping[Keys, Keys]] = field(default_factory=dict)  # by schema: from -> to
    lists: Mapping[Keys, ListRule] = field(default_factory=dict)  # those whose order means nothing
    rewritten: frozenset[Keys] = frozenset()  # rolled like others, but the child is rewritten and not replaced


@dataclass(frozen=True, slots=True)
class HealthGate:
    """A health gate of a whole rollout: a predicate on another resource."""

    name: str
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Stamping:
    """Where on the live child the hash and its version stand, in the form of the seed."""

    at: Keys
    key: str = NODEPOOL
    hashed: Hashed | None = None  # where this template has what another controller hashed


@dataclass(frozen=True, slots=True)
class ChildChecks:
    """Predicates on the live state of children."""

    requirements: tuple[Predicate, ...] = ()  # a child that breaks one is replaced
    ready_when: tuple[Predicate, ...] = ()
    idle_when: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class StampPolicy:
    """Where children bear stamps, and what follows from a stamp or from its absence."""

    stamping: Stamping | None = None
    compatibility: Compatibility = Compatibility.REGIMES
    unstamped: Unstamped = Unstamped.HOLD


@dataclass(frozen=True, slots=True)
class RolloutPolicy:
    """True if and how the children of a template are rolled out."""

    mode: RolloutMode = RolloutMode.ENFORCE
    promoted: frozenset[FindingKind] = frozenset()
    method: Method = Method.REPLACE_BEFORE_REMOVE
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    gates: tuple[HealthGate, ...] = ()
    holds: Mapping[str, float] = field(default_factory=dict)  # slot -> seconds since the rollout began
    zones: tuple[str, ...] = ()  # of children that `replicas` makes: slots take turns
    spread_by: str = ""  # a label of selected children
    kept: int = KEPT  # revisions for undo


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """Where a template is written."""

    location: Location = field(default_factory=Location)
    places: Mapping[str, int] = field(default_factory=dict, repr=False)  # path of a field -> its line


@dataclass(frozen=True, slots=True)
class Template:
    """One template as declared."""

    name: str
    content: Mapping[str, Json]
    child: ChildKind | None = None  # None: a part that others use
    replicas: int | None = None
    selector: LabelSelector | None = None
    uses: tuple[str, ...] = ()
    schema: str = ""
    nonce: str = ""
    uid: str = ""
    fields: FieldClasses = field(default_factory=FieldClasses)
    checks: ChildChecks = field(default_factory=ChildChecks)
    stamps: StampPolicy = field(default_factory=StampPolicy)
    rollout: RolloutPolicy = field(default_factory=RolloutPolicy)
    address: Address | None = None  # of a part that is a resource of its own
    source: TemplateSource = field(default_factory=TemplateSource, compare=False)

    @property
    def location(self) -> Location:
        """The file and line of its document."""
        return self.source.location

    @property
    def owner_id(self) -> str:
        """The key of its revisions and children: of this template, not of a later one with the same name."""
        return self.uid or self.name

    @property
    def is_part(self) -> bool:
        """True if it has no children but through others."""
        return self.replicas is None and self.selector is None

    def selects(self, declaration: Declaration) -> bool:
        """Return True if its selector finds a declared resource."""
        if self.selector is None or not self.selector.matches(declaration.labels):
            return False
        return self.child is None or self.child.covers(declaration)

    def live(self) -> LiveTemplate:
        """Return the content as it is recorded; a nonce makes another revision of the same content."""
        wrapped: dict[str, Json] = {RESOURCE: dict(self.content)}
        if self.nonce:
            wrapped[NONCE] = self.nonce
        if self.address is not None:
            wrapped[LIVE] = str(self.address)
        return LiveTemplate(self.owner_id, wrapped, self.schema)

    def readable(self, known: Schemes) -> Schemes:
        """Return schemes with those that another controller may have stamped children by."""
        if self.stamps.stamping is None or self.stamps.stamping.hashed is None:
            return known
        hashed = dataclasses.replace(self.stamps.stamping.hashed, of=_under(self.stamps.stamping.hashed.of))
        foreign = stamps.digests(self.stamps.stamping.key, hashed)
        return {**{version: _foreign_scheme(version, digest) for version, digest in foreign.items()}, **known}

    def as_of(self, revision: TemplateRevision) -> Template:
        """Return the template as if it said what a revision has."""
        content = revision.content
        address = Address.parse(content[LIVE]) if LIVE in content else None
        return dataclasses.replace(
            self,
            content=content[RESOURCE],
            nonce=content.get(NONCE, ""),
            schema=revision.schema,
            address=address,
        )

    @property
    def is_written_as_resource(self) -> bool:
        """True if it is a document of its children's kind, or of its own, with a block `template`."""
        return f"/{BLOCK}" in self.source.places

    def setting(self, *path: str | int) -> Location:
        """Return where a setting of it, or the nearest thing above that, is written."""
        return self.place((BLOCK if self.is_written_as_resource else "spec", *path))

    def place(self, path: Path) -> Location:
        """Return where a part of its document, or the nearest thing above it, is written."""
        return source_location.nearest(self.location, self.source.places, path)


# --- schemes ----------------------------------------------------------------------------------------------------------


def policy_document(fields: FieldClasses) -> dict[str, Json]:
    """Return which fields count, as data: kept beside the regimes, so that old schemes stay computable.

    What is rewritten is not in it: those fields count like all others, and how a child gets them is no part of what is
    compared.
    """
    lists = [
        [list(keys), rule.value if isinstance(rule, ListOrder) else list(rule)]
        for keys, rule in sorted(fields.lists.items())
    ]
    return {
        **({"lists": lists} if lists else {}),
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
    return f"template-{digest[:12]}/{LISTS_VERSION if 'lists' in policy else VERSION}"


def scheme_of(policy: Json, named: str | None = None) -> TemplateScheme | None:
    """Return the scheme of a policy, or None if its id is of a release that is not this one."""
    ident = scheme_id(policy)
    if named is not None and named != ident:
        return None
    moved = {schema: [(_under(old), _under(new)) for old, new in table] for schema, table in policy["moved"].items()}

    def convert(content: Json, schema: str) -> Json:
        for old, new in moved.get(schema, ()):
            content = template_schemes.moved(content, old, new)
        return content

    return template_schemes.made(
        ident,
        hash_schemes.ORDERED,
        FieldPolicy(
            frozenset(map(_under, policy["ignored"])),
            frozenset(map(_under, policy["keepsEmpty"])),
            {schema: {_under(keys): value for keys, value in table} for schema, table in policy["defaults"].items()},
            {_under(keys): ListOrder(rule) if isinstance(rule, str) else tuple(rule) for keys, rule in _lists(policy)},
            convert,
        ),
    )


def _foreign_scheme(version: str, digest: Callable[[Json], str]) -> TemplateScheme:
    return TemplateScheme(version, lambda content, _schema: digest(content))


def hard_scheme(fields: FieldClasses) -> TemplateScheme:
    """Return the scheme that does not see what is rewritten: where it sees a difference, children are replaced."""
    ignored = fields.in_place | fields.rewritten
    scheme = scheme_of(policy_document(dataclasses.replace(fields, in_place=ignored)))
    assert scheme is not None
    return scheme


def _lists(policy: Json) -> Iterable[tuple[Json, Json]]:
    """Return the rules for lists; policies of before there were any have none."""
    return ((keys, rule) for keys, rule in policy.get("lists", ()))


def _under(keys: Json) -> Keys:
    return (RESOURCE, *keys)
