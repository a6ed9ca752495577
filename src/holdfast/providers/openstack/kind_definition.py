"""What a kind is, as data: its fields, how it is addressed, what identifies it, what belongs to it.

    Field      one field of a declaration, and what the API calls it
    Sub        what belongs to a thing but has calls of its own: tags, rules, interfaces
    Companion  a further list that a thing's document is made of, joined by a field
    Manner     what a kind does otherwise than most
    Thing      a kind

The rules of comparison are profiles (`profiles/*.yaml`); a test holds the two against each other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.read_result import ReadFailure
from holdfast.model.write_result import Done, InProgress, WriteFailure, WriteResult
from holdfast.providers import url_paths
from holdfast.providers.openstack import naming
from holdfast.providers.openstack.calls import Calls, Place
from holdfast.providers.protocol import Target

NAME: Final = "${name}"  # as a default: what the resource is called in its manifest

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
    cleared: Json = ABSENT  # what is sent when a declaration lets go of it; ABSENT: the default, or nothing
    is_opaque: bool = False  # its keys are the user's, and keep their spelling
    decode: Convert | None = None  # from the API's value, instead of renaming its keys
    encode: Convert | None = None
    is_late: bool = False  # refused at birth, and set right after it
    is_self_moving: bool = False  # changing it moves the revision before the service has looked at our precondition

    @property
    def released(self) -> Json:
        """What is sent when a declaration no longer speaks of it; ABSENT: nothing can be."""
        return self.cleared if self.cleared is not ABSENT else self.default


def _made(  # noqa: PLR0913 - one place for the spelling of names
    role: Role,
    api: str,
    name: str | None,
    default: Json,
    cleared: Json,
    *,
    is_opaque: bool,
    decode: Convert | None,
    encode: Convert | None,
    is_late: bool = False,
    is_self_moving: bool = False,
) -> Field:
    flags = (is_late, is_self_moving)
    return Field(name or naming.camel(api), api, role, default, cleared, is_opaque, decode, encode, *flags)


def mutable(  # noqa: PLR0913
    api: str,
    name: str | None = None,
    *,
    default: Json = ABSENT,
    cleared: Json = ABSENT,
    is_opaque: bool = False,
    decode: Convert | None = None,
    encode: Convert | None = None,
    is_late: bool = False,
    is_self_moving: bool = False,
) -> Field:
    """Declare a field that can be changed in place."""
    return _made(
        Role.MUTABLE,
        api,
        name,
        default,
        cleared,
        is_opaque=is_opaque,
        decode=decode,
        encode=encode,
        is_late=is_late,
        is_self_moving=is_self_moving,
    )


def fixed(
    api: str,
    name: str | None = None,
    *,
    default: Json = ABSENT,
    is_opaque: bool = False,
    decode: Convert | None = None,
    encode: Convert | None = None,
) -> Field:
    """Declare a field that is set at birth."""
    return _made(Role.FIXED, api, name, default, ABSENT, is_opaque=is_opaque, decode=decode, encode=encode)


def birth_only(api: str, name: str | None = None, *, is_opaque: bool = False, encode: Convert | None = None) -> Field:
    """Declare a field that is given at birth, and never told again."""
    return _made(Role.BIRTH_ONLY, api, name, ABSENT, ABSENT, is_opaque=is_opaque, decode=None, encode=encode)


def write_only(api: str, name: str | None = None) -> Field:
    """Declare a field that can be written, and never read."""
    return _made(Role.WRITE_ONLY, api, name, ABSENT, ABSENT, is_opaque=False, decode=None, encode=None)


def read_only(api: str, name: str | None = None, *, decode: Convert | None = None) -> Field:
    """Declare a field that others may refer to, and nobody can write."""
    return _made(Role.READ_ONLY, api, name, ABSENT, ABSENT, is_opaque=False, decode=decode, encode=None)


@dataclass(frozen=True, slots=True)
class Item:
    """A thing as its service has it, with what was asked for besides."""

    body: Mapping[str, Json]
    more: Mapping[str, Sequence[Mapping[str, Json]]] = dataclasses.field(default_factory=dict)  # by companion

    @property
    def id(self) -> str:
        """The provider's id."""
        return str(self.body["id"])


class Sub(Protocol):
    """What belongs to a thing, but has calls of its own."""

    @property
    def name(self) -> str:
        """The field of a declaration."""

    @property
    def default(self) -> Json:
        """What its absence means; ABSENT: whatever the service makes of it."""

    def view(self, item: Item) -> Json:
        """Return it as a declaration would have it."""

    def normal(self, value: Json) -> Json:
        """Return a declared value in the spelling that `view` has."""

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do what must precede a change of the thing itself; say whether anything was written."""

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do the rest; say whether anything was written."""


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
    """What a kind does otherwise than most; most take a body, answer at once, and are there."""

    poll_seconds: float = 1.0
    reads_first: bool = False  # an update needs to know what is there
    is_slow: bool = False  # takes its time to be born, and cannot be touched before

    def identity(self, thing: Thing, target: Target) -> dict[str, Json] | None:
        """Return what tells whether something that exists is the one declared; None if that cannot be told."""
        out = {name: target.desired[name] for name in thing.found_by if target.desired.get(name) is not None}
        return out if thing.found_by[0] in out else None

    def body(self, found: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return a thing as most services have one: flat, with its id."""
        return found

    def trouble(self, item: Item) -> ReadFailure | None:
        """Say why a thing cannot be judged: it is still changing, or broken."""
        del item
        return None

    def filters(self, thing: Thing, criteria: Mapping[str, Json]) -> list[tuple[str, str]]:
        """Return the parameters that narrow a list down; whatever comes is checked again."""
        known = dict(thing.filters)
        if thing.is_scoped and thing.project_param:
            known.setdefault(thing.project_field, thing.project_param)
        return [(known[key], value) for key, value in criteria.items() if key in known and isinstance(value, str)]

    async def birth(self, calls: Calls, target: Target, body: dict[str, Json]) -> dict[str, Json] | WriteFailure:
        """Complete the body that makes a thing."""
        del calls, target
        return body

    def beside(self, target: Target) -> dict[str, Json]:
        """Return what stands beside a thing in the request that makes it."""
        del target
        return {}

    async def put(
        self, calls: Calls, thing: Thing, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Change some fields of a thing."""
        return await calls.send(thing.place, thing.method, thing.at(item.id), {thing.one: dict(body)}, item.id, headers)

    async def born(self, calls: Calls, item: Item, target: Target) -> WriteFailure | InProgress | None:
        """Do what follows on birth; say if it takes its time."""
        del calls, item, target
        return None

    def begun(self, item: Item, wanted: Mapping[str, Json]) -> InProgress | None:
        """Say if a change takes its time: of fields by the API's names, of subs by those of declarations."""
        del item, wanted
        return None

    def ending(self, ident: str) -> InProgress | None:
        """Say if a deletion takes its time."""
        del ident
        return None

    async def stepped(self, calls: Calls, item: Item, token: Mapping[str, Json]) -> WriteFailure | InProgress | None:
        """Do the next step of something that takes several; None if there is none to do now."""
        del calls, item, token
        return None

    def polled(self, item: Item, token: Mapping[str, Json]) -> WriteResult:
        """Say how something that takes its time is doing."""
        del token
        return Done(item.id)

    async def emptied(self, calls: Calls, target: Target) -> WriteFailure | bool:
        """Remove what keeps a thing from being deleted, and is its own; say whether anything was written."""
        del calls, target
        return False


@dataclass(frozen=True, slots=True)
class Thing:
    """A kind."""

    kind: str
    service: str
    path: str
    one: str  # the key under which the API has one of them
    many: str  # and several
    fields: tuple[Field, ...]
    subs: tuple[Sub, ...] = ()
    companions: tuple[Companion, ...] = ()
    found_by: tuple[str, ...] = ("name",)  # the fields that tell whether something that exists is the one declared
    is_scoped: bool = True  # belongs to a project
    project_field: str = "projectId"
    method: str = "PUT"  # of an update
    is_revised: bool = False  # has a revision_number, which updates and deletions may be conditional on
    revision_covers_all: bool = False  # and that grows with whatever is compared: measured, not believed
    unrevised: tuple[str, ...] = ()  # but for these fields of the API, which are looked at besides
    referrers: tuple[Referrer, ...] = ()  # while one of these names a thing, it is there
    list_path: str | None = None
    list_params: tuple[tuple[str, str], ...] = ()
    everybody: tuple[tuple[str, str], ...] = ()  # parameters that widen a list to all projects
    project_param: str | None = "project_id"  # what restricts a list to a project; None: it is our own anyway
    filters: tuple[tuple[str, str], ...] = (("name", "name"),)  # fields whose exact values a list can be asked for
    microversion: str | None = None
    manner: Manner = dataclasses.field(default_factory=Manner)

    def field(self, name: str) -> Field | None:
        """Return a field by its name in declarations."""
        return next((each for each in self.fields if each.name == name), None)

    def sub(self, name: str) -> Sub | None:
        """Return a sub-resource by its name in declarations."""
        return next((each for each in self.subs if each.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that can be declared."""
        given = (each.name for each in self.fields if each.role is not Role.READ_ONLY)
        return (*given, *(sub.name for sub in self.subs))

    def at(self, ident: str) -> str:
        """Return where one of them is."""
        return f"{self.path}/{url_paths.segment(ident)}"

    @property
    def place(self) -> Place:
        """Where it is asked for."""
        return Place(self.service, self.microversion)

    @property
    def listing(self) -> str:
        """Where all of them are."""
        return self.list_path or self.path
