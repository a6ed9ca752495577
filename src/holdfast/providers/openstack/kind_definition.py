"""The definition of a kind as data: its fields, its paths, what identifies a resource, its sub-resources.

    Field           one field of a declaration, and its name in the API
    Sub             a part of a resource that has calls of its own: tags, rules, interfaces
    Companion       a further list that a document is made of, joined by a field
    Manner          the behaviour of a kind that differs from most
    KindDefinition  a kind

The rules of comparison are profiles (`profiles/*.yaml`); a test holds the two against each other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypedDict, Unpack

from holdfast.model.absent import ABSENT
from holdfast.provider import Done, InProgress, Json, ReadFailure, Target, WriteFailure, WriteResult
from holdfast.providers import url_paths
from holdfast.providers.openstack import naming
from holdfast.providers.openstack.calls import Calls, ServiceDialect

NAME: Final = "${name}"  # as a default: the name of the resource in its manifest
PROJECT_FIELD: Final = "projectId"

Convert = Callable[[Json], Json]


class Role(StrEnum):
    """When a field can be written."""

    MUTABLE = "mutable"
    FIXED = "fixed"  # at birth; a change needs a replacement
    BIRTH_ONLY = "birth_only"  # at birth, and never told again
    WRITE_ONLY = "write_only"  # at any time, and never told
    READ_ONLY = "read_only"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a declaration."""

    name: str
    api: str
    role: Role
    default: Json = ABSENT  # what its absence means; ABSENT: whatever the service makes of it
    cleared: Json = ABSENT  # value that is sent when it is no longer declared; ABSENT: the default, or nothing
    is_opaque: bool = False  # its keys are the user's, and keep their spelling
    decode: Convert | None = None  # from the API's value, instead of renaming its keys
    encode: Convert | None = None
    is_late: bool = False  # refused at birth, and set right after it
    is_self_moving: bool = False  # changing it moves the revision before the service has looked at our precondition

    @property
    def released(self) -> Json:
        """The value to send when the field is no longer declared; ABSENT: none can be sent."""
        return self.cleared if self.cleared is not ABSENT else self.default


class FieldOptions(TypedDict, total=False):
    """The optional parts of a Field, by their names there."""

    default: Json
    cleared: Json
    is_opaque: bool
    decode: Convert | None
    encode: Convert | None
    is_late: bool
    is_self_moving: bool


def _field(role: Role, api: str, name: str | None, options: FieldOptions) -> Field:
    return Field(name or naming.camel(api), api, role, **options)


def mutable(api: str, name: str | None = None, **options: Unpack[FieldOptions]) -> Field:
    """Return a field that can be changed in place."""
    return _field(Role.MUTABLE, api, name, options)


def fixed(api: str, name: str | None = None, **options: Unpack[FieldOptions]) -> Field:
    """Return a field that is set at creation."""
    return _field(Role.FIXED, api, name, options)


def birth_only(api: str, name: str | None = None, **options: Unpack[FieldOptions]) -> Field:
    """Return a field that is set at creation and never shown."""
    return _field(Role.BIRTH_ONLY, api, name, options)


def write_only(api: str, name: str | None = None, **options: Unpack[FieldOptions]) -> Field:
    """Return a field that can be written and never read."""
    return _field(Role.WRITE_ONLY, api, name, options)


def read_only(api: str, name: str | None = None, **options: Unpack[FieldOptions]) -> Field:
    """Return a field that other resources may refer to and that cannot be written."""
    return _field(Role.READ_ONLY, api, name, options)


@dataclass(frozen=True, slots=True)
class Item:
    """A resource as its service returns it, with the further documents that were read."""

    body: Mapping[str, Json]
    more: Mapping[str, Sequence[Mapping[str, Json]]] = dataclasses.field(default_factory=dict)  # by companion

    @property
    def id(self) -> str:
        """The provider's id."""
        return str(self.body["id"])


class Sub(Protocol):
    """A part of a resource that has calls of its own."""

    @property
    def name(self) -> str:
        """The field of a declaration."""

    @property
    def default(self) -> Json:
        """The meaning of its absence; ABSENT: the service decides."""

    def view(self, item: Item) -> Json:
        """Return it as a declaration would have it."""

    def normal(self, value: Json) -> Json:
        """Return a declared value in the spelling that `view` has."""

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Write the parts that precede a change of the resource. Return True if anything was written."""

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Write the remaining parts. Return True if anything was written."""


@dataclass(frozen=True, slots=True)
class Companion:
    """A list whose elements belong to things of a kind, such as the ports of routers."""

    name: str
    service: str
    path: str
    many: str
    by: str  # the field of an element that names the thing; also the filter for the elements of one thing
    params: tuple[tuple[str, str], ...] = ()  # what restricts the list to elements of this kind
    is_scoped: bool = False  # and to our own project


@dataclass(frozen=True, slots=True)
class Referrer:
    """A list of what cannot be without a thing of another kind."""

    path: str
    many: str
    by: str  # the filter
    value: str = "{id}"  # and what it is asked for


class Manner:
    """The behaviour of a kind; the defaults suit kinds that take a body and answer at once."""

    poll_seconds: float = 1.0
    reads_first: bool = False  # an update needs to know what is there
    is_slow: bool = False  # takes its time to be born, and cannot be touched before

    def identity(self, thing: KindDefinition, target: Target) -> dict[str, Json] | None:
        """Return the criteria that identify an existing resource as the declared one; None if there are none."""
        out = {name: target.desired[name] for name in thing.found_by if target.desired.get(name) is not None}
        return out if thing.found_by[0] in out else None

    def body(self, found: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return a thing as most services have one: flat, with its id."""
        return found

    def trouble(self, item: Item) -> ReadFailure | None:
        """Return the ReadFailure of a resource that is still changing or broken."""
        del item
        return None

    def filters(self, thing: KindDefinition, criteria: Mapping[str, Json]) -> list[tuple[str, str]]:
        """Return the parameters that narrow a list down; whatever comes is checked again."""
        known = dict(thing.listing.filters)
        if thing.is_scoped and thing.listing.project_param:
            known.setdefault(PROJECT_FIELD, thing.listing.project_param)
        return [(known[key], value) for key, value in criteria.items() if key in known and isinstance(value, str)]

    async def birth(self, calls: Calls, target: Target, body: dict[str, Json]) -> dict[str, Json] | WriteFailure:
        """Complete the body that makes a thing."""
        del calls, target
        return body

    def beside(self, target: Target) -> dict[str, Json]:
        """Return the fields beside a resource in the request of a create."""
        del target
        return {}

    async def put(
        self, calls: Calls, thing: KindDefinition, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Change some fields of a thing."""
        return await calls.send(thing.place, thing.method, thing.at(item.id), {thing.one: dict(body)}, item.id, headers)

    async def born(self, calls: Calls, item: Item, target: Target) -> WriteFailure | InProgress | None:
        """Do what follows on birth; say if it takes its time."""
        del calls, item, target
        return None

    def begun(self, item: Item, wanted: Mapping[str, Json]) -> InProgress | None:
        """Return InProgress if an update takes time; fields have the API's names, subs those of declarations."""
        del item, wanted
        return None

    def ending(self, ident: str) -> InProgress | None:
        """Return InProgress if a deletion takes time."""
        del ident
        return None

    async def stepped(self, calls: Calls, item: Item, token: Mapping[str, Json]) -> WriteFailure | InProgress | None:
        """Do the next step of something that takes several; None if there is none to do now."""
        del calls, item, token
        return None

    def polled(self, item: Item, token: Mapping[str, Json]) -> WriteResult:
        """Return the state of an operation in progress."""
        del token
        return Done(item.id)

    async def emptied(self, calls: Calls, target: Target) -> WriteFailure | bool:
        """Remove the parts that block a delete of the resource. Return True if anything was written."""
        del calls, target
        return False


@dataclass(frozen=True, slots=True)
class ListCall:
    """How all resources of a kind are listed."""

    path: str | None = None  # None: the path of the kind
    params: tuple[tuple[str, str], ...] = ()
    all_projects: tuple[tuple[str, str], ...] = ()  # parameters that widen a list to all projects
    project_param: str | None = "project_id"  # restricts a list to a project; None: it has our own project only
    filters: tuple[tuple[str, str], ...] = (("name", "name"),)  # fields whose exact values a list can be filtered by


@dataclass(frozen=True, slots=True)
class Revision:
    """The revision_number of a kind, which updates and deletions may be conditional on."""

    covers_all: bool = False  # it grows with every compared field, as measured on the real service
    uncovered: tuple[str, ...] = ()  # fields of the API that are exceptions from that


@dataclass(frozen=True, slots=True)
class KindDefinition:
    """A kind."""

    kind: str
    place: ServiceDialect
    path: str
    one: str  # the key under which the API has one resource
    many: str  # and several
    fields: tuple[Field, ...]
    subs: tuple[Sub, ...] = ()
    companions: tuple[Companion, ...] = ()
    found_by: tuple[str, ...] = ("name",)  # the fields that identify an existing resource as the declared one
    is_scoped: bool = True  # belongs to a project
    method: str = "PUT"  # of an update
    revision: Revision | None = None
    referrers: tuple[Referrer, ...] = ()  # while one of these names a resource, it exists
    listing: ListCall = ListCall()
    manner: Manner = dataclasses.field(default_factory=Manner)

    def field(self, name: str) -> Field | None:
        """Return a field by its name in declarations."""
        return next((field for field in self.fields if field.name == name), None)

    def sub(self, name: str) -> Sub | None:
        """Return a sub-resource by its name in declarations."""
        return next((sub for sub in self.subs if sub.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """All names that can be declared."""
        declarable = (field.name for field in self.fields if field.role is not Role.READ_ONLY)
        return (*declarable, *(sub.name for sub in self.subs))

    @property
    def trusts_revision(self) -> bool:
        """True if an equal revision means an equal resource."""
        return self.revision is not None and self.revision.covers_all

    def at(self, ident: str) -> str:
        """Return the path of one resource."""
        return f"{self.path}/{url_paths.segment(ident)}"
