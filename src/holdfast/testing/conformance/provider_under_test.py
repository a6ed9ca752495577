"""What the author of a provider brings: samples of each kind, somebody to damage them, something to make calls fail."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import ReadError
from holdfast.providers.protocol import Connection, Provider

Naming = Callable[[str], Mapping[str, Json]]  # from the name of a resource to what is declared of it


@dataclass(frozen=True, slots=True)
class Sample:
    """One kind, with declarations of it; two names must give two things, and differ in a top-level field."""

    kind: str
    minimal: Naming  # the least that can be declared, so that the service fills in the rest
    full: Naming  # every field that can be declared
    others: Mapping[str, Json] = field(
        default_factory=dict
    )  # path -> what the vandal puts there, where not any will do
    spared: Mapping[str, str] = field(default_factory=dict)  # path -> why nobody can change it behind our back
    secret: str | None = None  # path of a field of `full` that may hold a secret; None: the kind takes none
    cannot: Mapping[str, str] = field(default_factory=dict)  # scenario -> why it cannot be asked of this kind
    variant: str = ""  # where one kind has several samples: what is special about this one

    @property
    def label(self) -> str:
        """How the card names it."""
        return f"{self.kind} ({self.variant})" if self.variant else self.kind


class DriftInjector(Protocol):
    """Somebody who sees and changes the world without the provider. Documents have the shape of declarations."""

    async def ids(self, kind: str) -> Collection[str]:
        """Return the provider's ids of all things of a kind."""

    async def get(self, kind: str, id: str) -> Json:  # noqa: A002 - the world's word for it
        """Return a thing as it really is, hidden fields included; None if there is none."""

    async def put(self, kind: str, id: str, path: Path, value: Json) -> None:  # noqa: A002
        """Change one field."""

    async def delete(self, kind: str, id: str) -> None:  # noqa: A002
        """Remove a thing."""


class Doing(StrEnum):
    """What can be made to fail."""

    READ = "read"  # of one thing
    LIST = "list"  # of a kind; also what a search goes through
    WRITE = "write"


class Faults(Protocol):
    """Makes the world fail in ways the provider must tell apart; below the provider, where it really happens."""

    @property
    def provokes(self) -> Collection[tuple[Doing, ReadError]]:
        """What it can do; the more, the more is proved."""

    def fail(self, doing: Doing, trouble: ReadError, times: int | None = None) -> None:
        """Let the next calls fail in this way; for ever, if it is not said how many."""

    def mend(self) -> None:
        """Let everything work again."""


@runtime_checkable
class Mistaking(Protocol):
    """What Faults may offer besides: reads that succeed, and bring something else than the thing."""

    @property
    def mistakes(self) -> Collection[str]:
        """What may be brought instead: an empty object, an error, a list, another thing."""

    def mistake(self, name: str) -> None:
        """Let every read of one thing, and no list, be answered so until `mend`."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A provider under examination. What the scenarios make is removed after each; what was there before is not."""

    provider: Provider
    connection: Connection
    samples: tuple[Sample, ...]
    drift_injector: DriftInjector
    faults: Faults | None = None
    real_time: bool = False  # wait as long as the provider asks; else the clock is moved, and nobody waits
    longest_seconds: float = 120.0  # a scenario that takes longer than this has failed


Opening = Callable[[], AbstractAsyncContextManager[Subject]]  # for subjects that need a server, a folder, an account
