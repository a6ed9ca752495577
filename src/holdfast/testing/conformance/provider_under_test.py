"""The input of the conformance kit: a provider, samples of its kinds, a drift injector, and faults."""

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
from holdfast.testing.conformance.default_drift import ProviderDriftInjector

Declare = Callable[[str], Mapping[str, Json]]  # from the name of a resource to its declaration


@dataclass(frozen=True, slots=True)
class Sample:
    """Declarations of one kind; two names must give two resources, which differ in a top-level field."""

    kind: str
    minimal: Declare  # the required fields only, so that the service adds its defaults
    full: Declare  # every field that can be declared
    drift_values: Mapping[str, Json] = field(default_factory=dict)  # path -> value to inject, if not any will do
    fixed: Mapping[str, str] = field(default_factory=dict)  # path -> reason why it cannot change outside Holdfast
    sensitive_path: str | None = None  # path of a field of `full` that may hold a secret; None: the kind has none
    not_applicable: Mapping[str, str] = field(default_factory=dict)  # scenario -> reason why it cannot run
    variant: str = ""  # tells several samples of one kind apart

    @property
    def label(self) -> str:
        """The name on the card."""
        return f"{self.kind} ({self.variant})" if self.variant else self.kind


class DriftInjector(Protocol):
    """Reads and changes live resources without the provider. Documents have the shape of declarations."""

    async def ids(self, kind: str) -> Collection[str]:
        """Return the provider's ids of all resources of a kind."""

    async def get(self, kind: str, ident: str) -> Json:
        """Return a resource with its hidden fields; None if there is none."""

    async def put(self, kind: str, ident: str, path: Path, value: Json) -> None:
        """Change one field."""

    async def delete(self, kind: str, ident: str) -> None:
        """Delete a resource."""


class CallType(StrEnum):
    """The calls that faults can hit."""

    READ = "read"  # of one resource
    LIST = "list"  # of a kind; a search goes through it, too
    WRITE = "write"


class Faults(Protocol):
    """Makes calls fail below the provider, where failures really happen."""

    @property
    def supported(self) -> Collection[tuple[CallType, ReadError]]:
        """The failures that can be made; each one is a proof more."""

    def fail(self, call_type: CallType, trouble: ReadError, times: int | None = None) -> None:
        """Let the next calls fail in this way; without `times`, until `clear`."""

    def clear(self) -> None:
        """Let all calls succeed again."""


@runtime_checkable
class SupportsWrongAnswers(Protocol):
    """Optional for Faults: reads that succeed and return something other than the resource."""

    @property
    def wrong_answers(self) -> Collection[str]:
        """The answers that can be given: an empty object, an error, a list, another resource."""

    def answer_wrongly(self, name: str) -> None:
        """Answer every read of one resource, and no list, in this way until `clear`."""


@dataclass(frozen=True, slots=True)
class ProviderUnderTest:
    """A provider and its samples. Scenarios delete what they create, and nothing else."""

    provider: Provider
    connection: Connection
    samples: tuple[Sample, ...]
    drift_injector: DriftInjector = None  # type: ignore[assignment]  # by default through the provider itself
    faults: Faults | None = None
    real_time: bool = False  # wait as long as the provider asks; False: the clock jumps
    longest_seconds: float = 120.0  # a scenario that takes longer has failed

    def __post_init__(self) -> None:
        if self.drift_injector is None:
            object.__setattr__(self, "drift_injector", ProviderDriftInjector(self.provider, self.connection))


# Opens a provider under test that needs a server, a folder or an account.
OpenProvider = Callable[[], AbstractAsyncContextManager[ProviderUnderTest]]
