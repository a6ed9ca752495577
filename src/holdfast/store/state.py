"""The stored state of a resource, in four parts by who writes them, and the updates that touch only a few columns.

Times are seconds since the epoch, given by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final, NamedTuple, NewType

from holdfast.model.address import Address
from holdfast.model.condition import Condition
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Origin
from holdfast.model.verdict import Status

CLOCK_SLACK_SECONDS: Final = 60.0  # a check that is later than now by more was recorded before the clock was set back
UNCHECKED: Final = "unchecked"  # stands for the status of resources that were never checked
Digest = NewType("Digest", str)  # "sha256:<hex>" of a document's ordered canonical bytes


@dataclass(frozen=True, slots=True)
class DeclaredState:
    """The declaration of a resource as last resolved."""

    provider: str
    generation: int = 1  # grows when the declaration changes
    document: Digest | None = None  # the declaration, secrets as fingerprints
    labels: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)  # effective settings
    depends_on: tuple[str, ...] = ()  # addresses that the declaration refers to
    source: str | None = None  # file:line


@dataclass(frozen=True, slots=True)
class AppliedState:
    """The last write to a resource and its settled result."""

    document: Digest | None = None  # the declaration that was written, the newest revision
    revision: int = 0
    baseline: Digest | None = None  # the first settled observation after the write
    known_differences: Digest | None = None  # for people; checks compare with the baseline
    rules: Digest | None = None  # the rule set the baseline was captured under
    identity: str | None = None  # of the object the baseline was taken from; a successor under the same id differs
    api_version: str | None = None  # of the API the baseline was taken in
    settle_until: float | None = None  # late defaults may join the baseline until then
    origin: Origin = Origin.CREATED


@dataclass(frozen=True, slots=True)
class ObservedState:
    """The last reading of a resource and the verdict on it."""

    document: Digest | None = None  # of the last successful reading
    provider_id: str | None = None
    etag: str | None = None
    raw_digest: str | None = None
    state_hash: str | None = None  # stamped hash of the compared fields, the short cut where there is no etag
    status: Status | None = None  # None: never checked
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    suppressed: tuple[tuple[str, str, str], ...] = ()  # reason, path and note of each suppressed difference
    missing_checks: int = 1  # consecutive checks that found the resource missing; 1 for any other status


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """The times of the last checks and of the next one."""

    checked_at: float | None = None  # last attempt
    good_at: float | None = None  # last successful check
    resync_seconds: float = 0.0  # 0: no periodic check
    due_at: float | None = None  # jitter included; None: not scheduled
    failures: int = 0  # consecutive retryable failures
    terminal: str | None = None  # why nothing more is tried until the user edits
    requested: str | None = None  # token of the last requested check
    handled: str | None = None  # token of the last requested check that was done


@dataclass(frozen=True, slots=True)
class ResourceState:
    """The state of one resource, without its documents, findings and history."""

    address: Address
    declared: DeclaredState
    applied: AppliedState = field(default_factory=AppliedState)
    observed: ObservedState = field(default_factory=ObservedState)
    schedule: ScheduleState = field(default_factory=ScheduleState)


def is_idle(state: ResourceState) -> bool:
    """Return True if a resource is in sync as it was last declared and written, and no check of it was requested.

    Only then can an unchanged reading repeat the last verdict. `find_unchanged` of a store asks the same in its own
    language. A test compares the two.
    """
    declared, applied, schedule = state.declared.document, state.applied, state.schedule
    return (
        state.observed.status is Status.IN_SYNC
        and applied.baseline is not None
        and declared is not None
        and applied.document == declared
        and schedule.requested == schedule.handled
        and schedule.terminal is None
    )


@dataclass(frozen=True, slots=True)
class UnchangedCheck:
    """A check that found nothing new: only its times and tags are written."""

    address: Address
    checked_at: float
    due_at: float | None
    etag: str | None = None  # None: keep the stored one
    raw_digest: str | None = None  # None: keep the stored one


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A requested check, due at a time; `token` becomes `handled` when the check is done."""

    address: Address
    token: str
    due_at: float


@dataclass(frozen=True, slots=True)
class Relink:
    """A new provider id for a resource; only that column is written."""

    address: Address
    provider_id: str | None


@dataclass(frozen=True, slots=True)
class WithdrawnVerdict:
    """A withdrawn verdict of a resource that is not checked any more. Only its columns are written."""

    address: Address
    revision: int  # the last applied one when the verdict was withdrawn; a later write has made another verdict
    reason: str
    conditions: tuple[Condition, ...]
    checked_at: float | None = None  # None: keep the stored time
    is_scheduled: bool = True  # False: no check is due any more


class UnchangedResource(NamedTuple):
    """An idle resource that a list read shows unchanged."""

    address: Address
    resync_seconds: float


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """The number of resources by status, and of those that are overdue."""

    by_status: Mapping[str, int]
    total: int
    overdue: int
