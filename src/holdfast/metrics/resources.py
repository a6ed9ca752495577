"""Counting resources: verdicts, their staleness, open operations, and held decisions. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from holdfast.metrics import definitions
from holdfast.metrics.families import Samples
from holdfast.model.address import Address
from holdfast.model.condition import ConditionType
from holdfast.model.verdict import Status
from holdfast.store.records import FindingRecord
from holdfast.store.state import CLOCK_SLACK_SECONDS, UNCHECKED, ResourceState

TERMINAL: Final = "terminal"
_MISSED: Final = 2  # resync periods after which a verdict is old; one is missed by jitter alone
_NAMES: Final = (*(Statu.value for Statu in Status), UNCHECKED)


def is_stale(state: ResourceState, now: float) -> bool:
    """Return True if the verdict of a resource is too old to be relied on.

    A resource without periodic checks does not become stale by age, because no period is declared for it.
    """
    if (
        state.schedule.good_at is None
        or state.observed.status in (None, Status.UNKNOWN)
        or _is_ahead(state.schedule.good_at, now)
    ):
        return True
    return state.schedule.resync_seconds > 0 and now - state.schedule.good_at > _MISSED * state.schedule.resync_seconds


def is_overdue(state: ResourceState, now: float) -> bool:
    """Return True if a check is overdue. A resource with a check time in the future must be checked again."""
    if state.schedule.due_at is None:
        return False
    return state.schedule.due_at <= now or (
        state.schedule.checked_at is not None and _is_ahead(state.schedule.checked_at, now)
    )


def _is_ahead(at: float, now: float) -> bool:
    """Return True if a time lies ahead of now: the clock was set back since, and the age is not known."""
    return at > now + CLOCK_SLACK_SECONDS


def is_held(state: ResourceState) -> bool:
    """Return True if something is to be written and is held back; the decision says why."""
    if state.schedule.terminal is not None:
        return False
    return any(
        condition.type is ConditionType.PROGRESSING and condition.reason == "Hold"
        for condition in state.observed.conditions
    )


def count(readings: Samples, state: ResourceState, now: float) -> None:
    """Count one resource."""
    where = (state.address.connection, state.address.kind)
    status = UNCHECKED if state.observed.status is None else state.observed.status.value
    readings.add(definitions.RESOURCES, *where, status)
    readings.add(definitions.STALE, *where, by=is_stale(state, now))
    readings.add(definitions.OVERDUE, *where, by=is_overdue(state, now))
    readings.add(definitions.FAILING, *where, by=state.schedule.failures > 0)
    readings.add(definitions.BLOCKED, *where, TERMINAL, by=state.schedule.terminal is not None)
    readings.earliest(definitions.OLDEST_GOOD_CHECK, *where, at=state.schedule.good_at or 0.0)
    for because, _, _ in state.observed.suppressed:
        readings.add(definitions.SUPPRESSED, *where, because)


def count_none(readings: Samples, families: Iterable[tuple[str, str]]) -> None:
    """Add zeros for every status, before anything is counted, because an absent series cannot raise an alarm."""
    for where in families:
        for name in _NAMES:
            readings.add(definitions.RESOURCES, *where, name, by=0)


def count_findings(readings: Samples, address: Address, found: Iterable[FindingRecord]) -> None:
    """Count the open findings of one resource."""
    where = (address.connection, address.kind)
    for record in found:
        readings.add(definitions.FINDINGS, *where, record.finding.cls.value, record.finding.changed_by.value)
        readings.earliest(definitions.OLDEST_FINDING, *where, at=record.first_seen)
