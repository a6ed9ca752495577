"""What a provider is: a reader for everybody, a writer for those who may write.

The two halves are separate objects on purpose. `check` opens only readers; there is no way from a reader to its writer,
so a read-only command cannot write, whatever it does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from holdfast.compare.profiles import Profile
from holdfast.errors import InputError
from holdfast.model.attribution import LikelyActor
from holdfast.model.health import HealthSignal, Workload
from holdfast.model.json import Json
from holdfast.model.read_result import ReadResult
from holdfast.model.resource import Declaration
from holdfast.model.write_result import WriteResult


@dataclass(frozen=True, slots=True)
class Draft:
    """A declaration as a person left it, for a provider to complete."""

    name: str
    namespace: str | None
    desired: Mapping[str, Json] = field(repr=False)  # references filled in, secrets still wrapped
    is_ours: bool  # managed, and not imported: what is not said has its usual meaning


# Returns a declaration in full, in the service's spelling; raises InputError with the field that is wrong.
Complete = Callable[[Draft], Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class Versions:
    """A kind whose rules depend on the version of the API that a declaration is about."""

    of: Callable[[Mapping[str, Json]], str]  # which version a declaration means; empty if none is known
    profiles: Callable[[str], tuple[Profile, ...]]  # the rules of a version


@dataclass(frozen=True, slots=True)
class Kind:
    """What a provider says of one kind of resource, as data."""

    name: str
    patches: bool = False  # update accepts a minimal change instead of a whole document
    lists: bool = False  # one call can serve many resources
    conditional: bool = False  # writes honour an etag as a precondition
    fills_in: bool = True  # the service may add values of its own, also some time after a write
    profiles: tuple[Profile, ...] = ()
    schema: Mapping[str, Json] | None = None  # for validating declarations, where the provider has one
    discovers: bool = False  # a list brings all there is, though it is no good for checks: too dear, or summaries only
    pool: str = ""  # kinds of one pool are ways to see the same things: an id means the same in each
    repeats_create: bool = True  # a create with the key of an earlier one makes nothing more
    finds: bool = True  # a read without an id finds what was created, by its name or by fields of the declaration
    complete: Complete | None = field(default=None, repr=False)  # says what a declaration leaves unsaid
    versions: Versions | None = field(default=None, repr=False)  # None: `profiles` hold whatever is declared

    def version_of(self, desired: Mapping[str, Json]) -> str:
        """Return which version of the API a declaration is about, as far as rules depend on that; else nothing."""
        return self.versions.of(desired) if self.versions is not None else ""

    def profiles_in(self, version: str) -> tuple[Profile, ...]:
        """Return the rules of a version of the API."""
        return self.versions.profiles(version) if self.versions is not None else self.profiles


@dataclass(frozen=True, slots=True)
class Target:
    """Which live thing: the provider's id once known, else what the declaration says to find or make it by."""

    kind: str
    name: str
    id: str | None
    desired: Mapping[str, Json] = field(repr=False)  # with secrets in clear
    namespace: str | None = None
    version: str | None = None  # of the API to read in, where it is not the declared or the usual one


@dataclass(frozen=True, slots=True)
class Hint:
    """What the last read brought, so that an unchanged answer need not be sent or parsed again."""

    etag: str | None = None
    raw_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The provider says, or the digest of the raw answer shows, that nothing moved since the hint."""

    etag: str | None = None
    raw_digest: str | None = None
    parsed: bool = False  # the answer was another one; only what it says is the same


@dataclass(frozen=True, slots=True)
class Listed:
    """One item of a list read: unparsed bytes, sliced out of the answer, with their digest."""

    id: str
    raw: bytes
    raw_digest: str


@dataclass(frozen=True, slots=True)
class Change:
    """An update: the whole wanted document, the minimal patch, and the state it was decided on."""

    desired: Mapping[str, Json] = field(repr=False)  # with secrets in clear
    observed: Json = field(repr=False)  # with secrets as fingerprints
    paths: tuple[str, ...]  # the paths that differ, and nothing else, may be written
    etag: str | None = None
    left: tuple[str, ...] = ()  # paths that differ and are to stay as they are: who writes whole documents needs them


class Reader(Protocol):
    """The half that only looks. No method raises for a failure of the world: those are Unreadable."""

    kinds: Mapping[str, Kind]

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one thing; by id where there is one, else by what identifies it in the declaration."""

    def list(self, kind: str) -> AsyncIterator[Listed]:
        """Read all of a kind, page by page; raise ReadFailed if any page fails, so that no half list is believed.

        Where only single items are broken, raise ItemFailed after the last item.
        """

    def parse(self, kind: str, raw: bytes) -> Json:
        """Turn the bytes of a listed item into the document that `read` would have returned."""

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the ids of the live things that match exactly; raise ReadFailed if that cannot be known."""


@runtime_checkable
class SupportsAttribution(Protocol):
    """What a reader may offer besides: naming who moved a thing.

    For explaining, and for telling a default that comes late from what somebody else added; never for deciding else.
    """

    async def likely_actors(self, target: Target) -> Sequence[LikelyActor]:
        """Name who may have written the thing last, ourselves included; raise nothing: who cannot tell names nobody."""


@runtime_checkable
class SupportsSignature(Protocol):
    """What an Attributing reader may offer besides: telling our own name, so that we do not accuse ourselves."""

    def signature(self, kind: str, document: Json) -> str | None:
        """Return the name a document bears; in one that was read back after our own write that is our own."""


@runtime_checkable
class SupportsPlatformChanges(Protocol):
    """What a reader may offer besides: knowing what its platform does to things by itself, whoever owns them."""

    def platform_changes(self, kind: str, desired: Mapping[str, Json], observed: Json, now: float) -> Mapping[str, str]:
        """Return the paths where the platform itself seems to have been at work, each with a sentence that says why.

        Told from the two documents and the time of the check alone, so that a decision based on it can be replayed.
        """


@runtime_checkable
class SupportsAccount(Protocol):
    """What a reader may offer besides: telling whose things it sees."""

    async def account(self) -> str:
        """Return the provider's own name for the account; raise ReadFailed if that cannot be known now."""


@runtime_checkable
class SupportsQuota(Protocol):
    """What a reader may offer besides: knowing what is left of a quota, so that nobody has to be refused."""

    def wait(self, budget: str, now: float, *, urgent: bool) -> float:
        """Return how long a read, write or delete should wait for its share; 0 takes it.

        What is not urgent, a check that nobody asked for, leaves a reserve to what is.
        """


@runtime_checkable
class SupportsHealth(Protocol):
    """What a reader may offer besides: telling whether a thing is well, which is more than being as declared."""

    async def health_signals(self, target: Target, since: float) -> Sequence[HealthSignal] | Workload:
        """Return signs of life, or the pods of a workload; nothing for kinds without such a notion. Raise nothing.

        What went wrong before `since` is not to be counted.
        """


def attribution(reader: Reader) -> SupportsAttribution | None:
    """Return the reader as one that can name likely actors, if it can."""
    return reader if isinstance(reader, SupportsAttribution) else None


class Writer(Protocol):
    """The half that changes things. Every method is safe to repeat with the same `key`."""

    async def create(self, target: Target, key: str) -> WriteResult:
        """Make the thing; with a `key` seen before, return what that attempt made instead of making another."""

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        """Change the thing, minimally where the kind can."""

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        """Remove the thing; already gone is Done. With an etag, where the kind is conditional, only what that is of."""

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        """Ask how an operation under way is doing."""


class ReadFailed(Exception):  # noqa: N818 - an outcome, not a mistake
    """A list or search could not be completed; carries the Unreadable that says why."""

    def __init__(self, reading: ReadResult) -> None:
        self.reading = reading
        super().__init__(str(reading))


class ItemFailed(ReadFailed):
    """A list came to its end, and some items in it could not be told from one another; the others are as good as ever.

    Raised after the last item. Who needs the whole list has none; who looks for certain items has those that came.
    """


class Provider(Protocol):
    """A way to one kind of API; chosen by the group of a manifest's apiVersion."""

    name: str
    kinds: Mapping[str, Kind]

    def reader(self, connection: Connection) -> AbstractAsyncContextManager[Reader]:
        """Open the reading half."""

    def writer(self, connection: Connection) -> AbstractAsyncContextManager[Writer]:
        """Open the writing half."""


@runtime_checkable
class SupportsValidation(Protocol):
    """What a provider may offer besides: telling what is wrong with a declaration before anything is asked or done."""

    def validate(self, declaration: Declaration) -> Sequence[InputError]:
        """Return what is wrong, each with the field below spec.resource as its location."""


@runtime_checkable
class SupportsIdentity(Protocol):
    """What a provider may offer besides: telling from the declaration alone which live thing is meant."""

    def identity(self, connection: Connection, declaration: Declaration) -> str | None:
        """Return a name that two declarations share only if they mean one thing; None where that is not known yet."""


@runtime_checkable
class SupportsDefaultConnection(Protocol):
    """What a provider may offer besides: a connection for those who have declared none."""

    def default_connection(self, environ: Mapping[str, str]) -> Connection:
        """Return the connection that an environment describes, as the provider's own tools read it.

        Raise InputError that says which variable is missing.
        """


@dataclass(frozen=True, slots=True)
class Connection:
    """A named way to one account or endpoint, from holdfast.yaml; `secrets` never leave the provider."""

    name: str
    provider: str
    settings: Mapping[str, Json] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_dir: str = "."
