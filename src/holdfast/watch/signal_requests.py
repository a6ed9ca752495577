"""From signals to requested checks. Pure: the decision which resources are checked now, and when a watch restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.store.state import CheckRequest, ResourceState
from holdfast.watch.signal_gathering import SignalBatch

CHECK_INTERVAL_SECONDS: Final = 5.0  # between two checks of one resource that changes all the time
FIRST_DELAY_SECONDS: Final = 1.0  # before a watch that failed is started again
DENIED_DELAY_SECONDS: Final = 60.0  # the same without permission
LONGEST_RESTART_SECONDS: Final = 300.0


def check_requests(
    batch: SignalBatch, states: Sequence[ResourceState], token: str, now: float
) -> tuple[CheckRequest, ...]:
    """Return the checks that a batch of signals moves forward.

    A resource without periodic checks is not checked by itself. A version that the last check saw brings nothing new.
    """
    return tuple(
        CheckRequest(state.address, token, _due_at(state, now))
        for state in states
        if state.schedule.resync_seconds > 0 and not _was_seen(state, batch.versions.get(_id_of(state)))
    )


def _id_of(state: ResourceState) -> str:
    return state.observed.provider_id or ""


def _was_seen(state: ResourceState, version: str | None) -> bool:
    return version is not None and version == state.observed.raw_digest


def _due_at(state: ResourceState, now: float) -> float:
    """Return when to check: now, or an interval after the last check, but not later than planned."""
    checked_at, planned = state.schedule.checked_at, state.schedule.due_at
    due_at = now if checked_at is None else max(now, min(checked_at, now) + CHECK_INTERVAL_SECONDS)
    return due_at if planned is None else min(due_at, planned)


def restart_delay(failures: int, failure: ReadFailure | None, random01: float) -> float:
    """Return the seconds until a watch is started again: doubled with each failure, moved by chance.

    Without failures the service ended a long request as usual. A delay that the service asked for is kept.
    """
    if failures == 0:
        return FIRST_DELAY_SECONDS * random01
    is_denied = failure is not None and failure.trouble is ReadError.UNAUTHORISED
    first = DENIED_DELAY_SECONDS if is_denied else FIRST_DELAY_SECONDS
    delay = min(first * 2.0 ** min(failures - 1, 20), LONGEST_RESTART_SECONDS) * (0.5 + random01 / 2)
    asked = failure.retry_after_seconds if failure is not None else None
    return max(delay, asked or 0.0)
