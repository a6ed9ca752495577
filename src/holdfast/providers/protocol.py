"""The contract between the engine and a provider: a reader, a writer, and the records that pass between them.

The two halves are separate objects because `check` opens only readers: a reader has no way to its writer, so a command
that only reads cannot write. Authors import all of this from `holdfast.provider`. A subclass of `Reader` or `Writer`
inherits the defaults; other objects with the same methods do as well.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field, replace
from typing import Protocol, runtime_checkable

from holdfast.compare import canonical, go_json, paths
from holdfast.compare.comparators import typed_equal
from holdfast.compare.profile import Profile
from holdfast.errors import InputError
from holdfast.model.attribution import LikelyActor
from holdfast.model.health import HealthSignal, Workload
from holdfast.model.json import Json
from holdfast.model.read_result import Found, ReadError, ReadFailure, ReadResult
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.model.write_result import WriteError, WriteFailure, WriteResult


@dataclass(frozen=True, slots=True)
class Draft:
    """A declaration as written in the manifest, for a provider to complete."""

    name: str
    namespace: str | None
    desired: Mapping[str, Json] = field(repr=False)  # references filled in, secrets still wrapped
    is_ours: bool  # managed and not imported: fields that are not declared have their usual meaning


# Returns the complete declaration in the spelling of the service; raises InputError with the field that is wrong.
Complete = Callable[[Draft], Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class Versions:
    """A kind whose rules depend on the API version of a declaration."""

    of: Callable[[Mapping[str, Json]], str]  # from a declaration to its version; empty if none is known
    profiles: Callable[[str], tuple[Profile, ...]]  # the rules of a version


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of resource: its name, its rules, and the operations that the API supports."""

    name: str
    patches: bool = False  # an update sends only the changed fields, not a whole document
    lists: bool = False  # one list call can serve the checks of many resources
    conditional: bool = False  # writes honour an etag as a precondition
    fills_in: bool = True  # the service may add default values, also some time after a write
    profiles: tuple[Profile, ...] = ()
    schema: Mapping[str, Json] | None = None  # for validating declarations, where the provider has one
    discovers: bool = False  # a list is complete, but too expensive or too short to serve checks
    pool: str = ""  # kinds of one pool show the same resources: an id means the same in each
    repeats_create: bool = True  # a create that repeats an earlier key creates nothing more
    hash_scheme: str = ""  # scheme of the hashes before and after a remediation; empty: what the rules leave of it
    finds: bool = True  # a read without an id finds the resource by its name or by declared fields
    watches: bool = False  # the reader supports watching, and changes of this kind can be watched
    complete: Complete | None = field(default=None, repr=False)  # adds the fields that a declaration leaves out
    versions: Versions | None = field(default=None, repr=False)  # None: `profiles` hold for every declaration

    def version_of(self, desired: Mapping[str, Json]) -> str:
        """Return the API version of a declaration, or an empty string if the rules do not depend on it."""
        return self.versions.of(desired) if self.versions is not None else ""

    def profiles_in(self, version: str) -> tuple[Profile, ...]:
        """Return the profiles of an API version."""
        return self.versions.profiles(version) if self.versions is not None else self.profiles


@dataclass(frozen=True, slots=True)
class Target:
    """The live resource of a call: its id once known, and the declaration to find or create it by."""

    kind: str
    name: str
    id: str | None
    desired: Mapping[str, Json] = field(repr=False)  # with secrets in clear
    namespace: str | None = None
    version: str | None = None  # API version to read in, where it is not the declared or the usual one


@dataclass(frozen=True, slots=True)
class Hint:
    """Etag and digest of the last read, so that an unchanged answer need not be sent or parsed again."""

    etag: str | None = None
    raw_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The live state is the one of the hint: the provider says so, or the digest of the raw answer does."""

    etag: str | None = None
    raw_digest: str | None = None
    parsed: bool = False  # the bytes differ, and the parsed document is the same


@dataclass(frozen=True, slots=True)
class Listed:
    """One item of a list: its unparsed bytes, sliced out of the answer, with their digest."""

    id: str
    raw: bytes
    raw_digest: str

    @classmethod
    def from_document(cls, id: str, document: Json) -> Listed:  # noqa: A002 - the field's name
        """Return the item of a parsed document; its digest is that of `document_digest`."""
        raw = canonical.canonical_bytes(document, lists="ordered")
        return cls(id, raw, canonical.digest_bytes(raw))


def document_digest(document: Json) -> str:
    """Return the digest of a document, for services that have no etag or digest of their own."""
    return canonical.digest_bytes(canonical.canonical_bytes(document, lists="ordered"))


def found_or_unchanged(found: Found, hint: Hint | None) -> Found | Unchanged:
    """Return `found` with the digest of its document, or `Unchanged` if the hint has that digest."""
    digest = found.raw_digest or document_digest(found.document)
    if hint is not None and hint.raw_digest == digest:
        return Unchanged(found.etag, digest)
    return replace(found, raw_digest=digest)


@dataclass(frozen=True, slots=True)
class Change:
    """An update: the complete desired document, the paths to write, and the state that it was decided on."""

    desired: Mapping[str, Json] = field(repr=False)  # with secrets in clear
    observed: Json = field(repr=False)  # with secrets as fingerprints
    paths: tuple[str, ...]  # the only paths that may be written
    etag: str | None = None
    left: tuple[str, ...] = ()  # paths that differ and must stay as they are, for providers that write whole documents
    exact: tuple[str, ...] = ()  # the paths of the findings, where `paths` has the whole lists around them


class Reader(Protocol):
    """The half that only reads. A failed call is a ReadFailure, not an exception."""

    kinds: Mapping[str, Kind]

    @abstractmethod
    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one resource, by its id if known, else by the fields that identify it in the declaration."""

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        """Yield all resources of a kind, page by page. Raise ReadFailed if any page fails.

        Raise ItemFailed after the last item if only single items are broken. The default raises ReadFailed.
        """
        raise ReadFailed(ReadFailure(ReadError.OTHER, f"{kind} cannot be listed"))
        yield  # makes this an async generator

    def parse(self, kind: str, raw: bytes) -> Json:  # noqa: ARG002 - for overrides
        """Return the document of a listed item, as `read` would return it. The default parses JSON."""
        return go_json.loads(raw)

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the ids of the resources that match exactly; raise ReadFailed if that cannot be known.

        Keys are field names or JSON pointers. The default lists all resources of the kind.
        """
        wanted = {paths.parse_path(key if key.startswith("/") else f"/{key}"): value for key, value in criteria.items()}
        matching = []
        async for item in self.list(kind):
            document = self.parse(kind, item.raw)
            if all(typed_equal(paths.resolve(document, path), value) for path, value in wanted.items()):
                matching.append(item.id)
        return matching


@runtime_checkable
class SupportsAttribution(Protocol):
    """Optional for a reader: name the likely authors of a change.

    Used to explain findings, and to tell a late default from a field that another writer added.
    """

    async def likely_actors(self, target: Target) -> Sequence[LikelyActor]:
        """Return the likely last writers, ourselves included; never raise, and return nothing if that is unknown."""


@runtime_checkable
class SupportsSignature(Protocol):
    """Optional for a reader with attribution: recognise our own writes."""

    def signature(self, kind: str, document: Json) -> str | None:
        """Return the name of the writer that a document carries; after our own write that is our own name."""


@runtime_checkable
class SupportsPlatformChanges(Protocol):
    """Optional for a reader: know the changes that the platform itself makes to resources."""

    def platform_changes(self, kind: str, desired: Mapping[str, Json], observed: Json, now: float) -> Mapping[str, str]:
        """Return the paths that the platform itself seems to have changed, each with the reason as a sentence.

        Depend on the two documents and the time of the check alone, so that a decision can be replayed.
        """


@runtime_checkable
class SupportsAccount(Protocol):
    """Optional for a reader: name the account of its resources."""

    async def account(self) -> str:
        """Return the provider's own name for the account; raise ReadFailed if that is unknown now."""


@runtime_checkable
class SupportsQuota(Protocol):
    """Optional for a reader: know the remaining quota, so that calls wait before the service rejects them."""

    def wait(self, budget: str, now: float, *, urgent: bool) -> float:
        """Return the seconds that a read, write or delete should wait for its share; 0 takes the share.

        Calls that are not urgent, such as scheduled checks, leave a reserve for those that are.
        """


@runtime_checkable
class SupportsHealth(Protocol):
    """Optional for a reader: report the health of a resource, beyond the match with its declaration."""

    async def health_signals(self, target: Target, since: float) -> Sequence[HealthSignal] | Workload:
        """Return health signals, or the pods of a workload; nothing for kinds without health. Never raise.

        Failures before `since` do not count.
        """


@dataclass(frozen=True, slots=True)
class ChangeSignal:
    """A resource may have changed. A signal moves its check forward and is never a verdict."""

    id: str
    version: str | None = None  # the `raw_digest` of the changed state; None: deleted, or not known


@dataclass(frozen=True, slots=True)
class PositionReached:
    """All changes before this position were signalled. A later watch can continue from it."""

    position: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The watch has failed, and ends. A failure with `retry_after_seconds` is not tried again earlier."""

    failure: ReadFailure
    is_position_lost: bool = False  # changes since the position cannot be signalled: the kind is listed


WatchEvent = ChangeSignal | PositionReached | Interrupted


@runtime_checkable
class SupportsWatch(Protocol):
    """Optional for a reader: signal changes, so that they are checked before the next periodic check.

    Signals may be lost, doubled, late or in another order. They change when drift is found, never what is found,
    because the engine reads the resource before it concludes anything, and periodic checks continue.
    """

    def watch(self, kind: str, position: str | None) -> AsyncIterator[WatchEvent]:
        """Yield the changes of a kind after a position; `kind` has `watches=True`.

        Without a position begin now: the first event is the PositionReached of this moment. The engine lists the kind
        after it, so that no change falls between list and watch. The iterator ends after Interrupted. It may end
        without one, when the service ends long requests; the watch then continues from the last position.
        """


def attribution(reader: Reader) -> SupportsAttribution | None:
    """Return the reader if it supports attribution."""
    return reader if isinstance(reader, SupportsAttribution) else None


class Writer(Protocol):
    """The half that writes. Every method is safe to repeat with the same `key`."""

    @abstractmethod
    async def create(self, target: Target, key: str) -> WriteResult:
        """Create the resource; with a `key` seen before, return the result of that attempt."""

    @abstractmethod
    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        """Write the paths of the change and nothing else."""

    @abstractmethod
    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        """Delete the resource; Done if there is none. With an etag, delete only the state that has it."""

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:  # noqa: ARG002 - for overrides
        """Return the state of an operation in progress. The default is for services without operations."""
        return WriteFailure(WriteError.TERMINAL, f"{target.kind} has no operations in progress")


class ReadFailed(Exception):  # noqa: N818 - an outcome, not a mistake
    """A list or search could not be completed; carries the ReadFailure."""

    def __init__(self, reading: ReadResult) -> None:
        self.reading = reading
        super().__init__(str(reading))


class ItemFailed(ReadFailed):
    """A list is complete, but some of its items could not be told apart. Raised after the last item.

    A caller that needs the whole list has none; a caller that looks for certain items can use those that it got.
    """


class Provider(Protocol):
    """Access to one kind of API, chosen by the group of a manifest's apiVersion."""

    name: str
    kinds: Mapping[str, Kind]

    def reader(self, connection: Connection) -> AbstractAsyncContextManager[Reader]:
        """Open the reading half."""

    def writer(self, connection: Connection) -> AbstractAsyncContextManager[Writer]:
        """Open the writing half."""


@runtime_checkable
class SupportsValidation(Protocol):
    """Optional for a provider: validate a declaration before any call."""

    def validate(self, declaration: Declaration) -> Sequence[InputError]:
        """Return the mistakes, each with the field below spec.resource as its location."""


@runtime_checkable
class SupportsIdentity(Protocol):
    """Optional for a provider: name the live resource of a declaration without a call."""

    def identity(self, connection: Connection, declaration: Declaration) -> str | None:
        """Return a name that two declarations share only if they mean one resource; None if that is unknown yet."""


@runtime_checkable
class SupportsDefaultConnection(Protocol):
    """Optional for a provider: a default connection from the environment."""

    def default_connection(self, environ: Mapping[str, str]) -> Connection:
        """Return the connection that the environment describes, as the provider's own tools read it.

        Raise InputError that names the missing variable.
        """


@dataclass(frozen=True, slots=True)
class Connection:
    """A named account or endpoint from holdfast.yaml; `secrets` never leave the provider."""

    name: str
    provider: str
    settings: Mapping[str, Json] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_dir: str = "."
