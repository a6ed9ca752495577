"""The description of an API by a connection, as data. `description_parser` reads it from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.compare import paths
from holdfast.compare.comparators import typed_equal
from holdfast.compare.profile import Profile
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.write_result import WriteError
from holdfast.providers.http.response_identity import Identity
from holdfast.providers.http.url_templates import UrlTemplate


@dataclass(frozen=True, slots=True)
class Match:
    """A field with one of some values."""

    pointer: Path
    values: tuple[Json, ...]

    def holds(self, document: Json) -> bool:
        """Return True if a document has one of the values there."""
        found = paths.resolve(document, self.pointer)
        return any(typed_equal(found, value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Call:
    """One request of an API."""

    method: str
    path: UrlTemplate
    label: str  # how messages name it

    @staticmethod
    def of(method: str, path: UrlTemplate) -> Call:
        """Return a call with its label, which is without values and without the query."""
        return Call(method, path, f"{method} {path.text.partition('?')[0]}")


class IdFrom(StrEnum):
    """Where the id of a new thing comes from, unless from a field of the answer."""

    NAME = "name"
    LOCATION = "location"


@dataclass(frozen=True, slots=True)
class Create:
    """How a thing is made."""

    call: Call
    id: IdFrom | Path


class Body(StrEnum):
    """The body of an update."""

    WHOLE = "whole"  # the observed document with the change made
    DESIRED = "desired"  # the declaration as it is
    CHANGED = "changed"  # the top-level fields that change, whole
    MERGE = "merge"  # RFC 7396
    JSON_PATCH = "json-patch"  # RFC 6902

    @property
    def is_patch(self) -> bool:
        """Return True if omitted fields keep their values."""
        return self not in (Body.WHOLE, Body.DESIRED)


@dataclass(frozen=True, slots=True)
class Update:
    """How a thing is changed."""

    call: Call
    body: Body
    content_type: str


@dataclass(frozen=True, slots=True)
class ByLink:
    """The next page is where a field of the answer, or its Link header, says."""

    pointer: Path | None  # None: the header


@dataclass(frozen=True, slots=True)
class ByCursor:
    """The next page has a token from this one in its query."""

    pointer: Path
    param: str


@dataclass(frozen=True, slots=True)
class ByPage:
    """Pages have numbers; the list ends with an empty page, or with a short one where the size is known."""

    param: str
    start: int
    size: int | None
    size_param: str | None


Paging = ByLink | ByCursor | ByPage | None


@dataclass(frozen=True, slots=True)
class ListDescription:
    """How all things of a kind are listed."""

    call: Call
    items: Path
    id: Path
    paging: Paging
    is_partial: bool = False  # items are summaries: good for finding, not for comparing


@dataclass(frozen=True, slots=True)
class Find:
    """The search for a resource without a known id: by these fields, with a query for the list."""

    by: tuple[Path, ...]
    query: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class Etag:
    """Where the version of a thing stands: in a header, in a field, or nowhere."""

    header: str | None = None
    pointer: Path | None = None
    is_conditional: bool = False  # a write says which version it changes


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where a document says who wrote it last, and when."""

    who: Path
    at: Path | None = None


GONE = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class StatusRules:
    """The meaning of status codes and states, where the API differs from the common meaning."""

    gone: frozenset[int] = GONE
    refusals: Mapping[int, WriteError] = field(default_factory=dict)
    unsettled: Match | None = None
    deleted: Match | None = None
    html_404_is_gone: bool = False

    @property
    def has_states(self) -> bool:
        """Return True if a document may say of itself that it does not count."""
        return self.unsettled is not None or self.deleted is not None


@dataclass(frozen=True, slots=True)
class Operation:
    """How a long-running operation is followed."""

    header: str | None
    pointer: Path | None
    done: Match | None
    failed: Match | None
    id: Path | None
    poll_seconds: float
    accepted: frozenset[int]


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """The meaning of an answer in addition to its document."""

    status: StatusRules = field(default_factory=StatusRules)
    error: Path | None = None
    attribution: Attribution | None = None
    identity: Identity | None = None  # where a document says its own id


@dataclass(frozen=True, slots=True)
class Described:
    """One kind of thing in an API."""

    name: str
    read: Call
    item: Path
    rules: RuleTree
    envelope: Path = ()
    create: Create | None = None
    update: Update | None = None
    delete: Call | None = None
    list: ListDescription | None = None
    find: Find | None = None
    etag: Etag = field(default_factory=Etag)
    answers: AnswerRules = field(default_factory=AnswerRules)
    operation: Operation | None = None
    idempotency_header: str | None = None
    profile: Profile | None = None

    def ident(self, given: str | None, name: str) -> str | None:
        """Return the id of a thing: the known one, or its name where the two are the same."""
        if given is not None:
            return given
        by_name = self.create.id is IdFrom.NAME if self.create is not None else self.find is None
        return name if by_name else None


@dataclass(frozen=True, slots=True)
class Api:
    """A whole connection; `headers` hold the credentials and are never shown."""

    connection: str
    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    kinds: Mapping[str, Described]
    timeout_seconds: float = 30.0
    max_body_bytes: int = 64 * 2**20
    max_connections: int = 32
    ca_file: str | None = None
    verifies_tls: bool = True
    secrets: tuple[str, ...] = field(default=(), repr=False)  # what must not be quoted from an answer
