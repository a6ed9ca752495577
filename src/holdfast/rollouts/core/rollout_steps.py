"""Rollouts: bringing the children of an owner to a revision, a few at a time, and stopping when it goes wrong.

    Pending -> Canary -> Progressing -> Complete
                  |           |
                  +-----------+--> Paused | Halted  (and back, when somebody resumes)
                  +-----------+--> rolling back: Progressing towards the previous revision -> RolledBack
    any that is not over -> Superseded, when the owner gets another target

`next_steps` is a function of what was saved and of what the children are; it remembers nothing. A replacement carries
the rollout that made it and its attempt, so what was done can be seen, what was not is asked for again under the same
key, and a step that is made twice is made once. Whoever acts writes the intent (a child that is `creating` or
`removing`) before the next call. Pauses, halts and closed windows begin nothing; what was begun is finished, because
half a replacement helps nobody.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from holdfast.policy import windows
from holdfast.policy.write_reasons import WriteReason
from holdfast.rollouts.core import progress, records, rollout_limits, scheduler
from holdfast.rollouts.core.records import BEGINNING, OVER, Rollout, RolloutPhase, RolloutTarget, SaveRollout, Step
from holdfast.rollouts.core.rollout_limits import Health, Order, RolloutLimits
from holdfast.rollouts.core.slots import Child, Grouping, SlotSet, fleet_of


def next_steps(
    rollout: Rollout, children: Iterable[Child], limits: RolloutLimits, now: float, grouping: Grouping | None = None
) -> list[Step]:
    """Return what is to be done now, in this order; empty when there is only waiting, or nothing left.

    Carry out any number of them, crash wherever you like, and call again. Whoever calls often for one owner may bring
    the grouping of the last time; that changes nothing but the cost.
    """
    if rollout.phase in OVER:
        return []
    fleet = (grouping or Grouping()).fleet_of(children)
    after = progress.advanced(rollout, fleet, limits, now)
    steps: list[Step] = [] if after == rollout else [SaveRollout(rollout.version, _next_version(rollout, after))]
    if after.phase in OVER:
        return steps
    left = scheduler.turns(after, fleet, limits)
    steps += scheduler.finishing(after, fleet, limits, now, left)
    if after.phase in BEGINNING and not after.is_closed:
        steps += scheduler.beginning(after, fleet, limits, now, left)
    return steps


def _next_version(before: Rollout, after: Rollout) -> Rollout:
    return dataclasses.replace(after, version=before.version + 1)


# --- what a person, or a new revision, does to a rollout --------------------------------------------------------------


def start(rollout_id: str, target: RolloutTarget, previous: RolloutTarget | None, now: float) -> Rollout:
    """Return a rollout that has not begun."""
    return Rollout(rollout_id, target, previous, started_at=now, progressed_at=now)


def pause(rollout: Rollout, why: str) -> Rollout:
    """Begin nothing more until somebody resumes; a rollout that is over stays over."""
    if rollout.phase in OVER or rollout.phase is RolloutPhase.PAUSED:
        return rollout
    resumes_to = rollout.resumes_to if rollout.phase is RolloutPhase.HALTED else rollout.phase
    return _moved(rollout, phase=RolloutPhase.PAUSED, resumes_to=resumes_to, why=why)


def resume(rollout: Rollout, now: float) -> Rollout:
    """Go on after a pause or a halt. Failures so far are forgiven, and the deadline starts anew."""
    if rollout.phase not in {RolloutPhase.PAUSED, RolloutPhase.HALTED}:
        return rollout
    return _moved(
        rollout,
        phase=rollout.resumes_to or RolloutPhase.PROGRESSING,
        resumes_to=None,
        forgiven=rollout.forgiven + rollout.failed,
        progressed_at=now,
        well_since=None,
        why="",
    )


def undo(rollout: Rollout, now: float, why: str) -> Rollout:
    """Go back to the previous revision; unchanged if there is none, or if it is over or going back already."""
    if rollout.phase in OVER or rollout.previous is None or rollout.is_going_back:
        return rollout
    return _moved(progress.going_back(rollout, rollout.previous, now, why))


def supersede(rollout: Rollout, rollout_id: str, target: RolloutTarget, now: float) -> tuple[Rollout, Rollout]:
    """Return the old rollout, ended, and the one for a new target; what is under way is redirected, not queued.

    The way back leads to what was good before the old one, unless that had been completed.
    """
    good = rollout.target if rollout.phase is RolloutPhase.COMPLETE else rollout.previous
    if rollout.phase in OVER:
        return rollout, start(rollout_id, target, good, now)
    ended = _moved(rollout, phase=RolloutPhase.SUPERSEDED, why=f"superseded by {rollout_id}")
    return ended, start(rollout_id, target, good, now)


def _moved(rollout: Rollout, **changes: object) -> Rollout:
    return dataclasses.replace(rollout, version=rollout.version + 1, **changes)  # type: ignore[arg-type]


# --- explaining -------------------------------------------------------------------------------------------------------


def blocked_by(rollout: Rollout, children: Iterable[Child], limits: RolloutLimits, now: float) -> tuple[str, ...]:
    """Say what a rollout waits for, most general first; empty if it is over or has something to do."""
    if rollout.phase in OVER:
        return ()
    if rollout.phase in {RolloutPhase.PAUSED, RolloutPhase.HALTED}:
        return (f"{rollout.phase}: {rollout.why}",)
    held = windows.closed_by(limits.windows, now, WriteReason.DRIFT)
    return tuple(_waits(rollout, fleet_of(children), limits, now, held))


def _waits(
    rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float, window: windows.WindowHold | None
) -> Iterator[str]:
    size = len(fleet.slots)
    if window is not None:
        yield f"window: {window}"
    yield from (f"gate {name}: {health}" for name, health in limits.gates.items() if health is not Health.PASS)
    left = [slot for slot in fleet.slots if slot.is_quiet and not records.is_done(rollout, slot)]
    rewritten = sum(slot.living[0].is_rewritten for slot in left)
    surge = limits.order is Order.REPLACE_BEFORE_REMOVE
    needed = {"max_surge": limits.max_surge} if surge and (rewritten < len(left) or not left) else {}
    needed |= {"max_unavailable": limits.max_unavailable} if not surge or rewritten else {}
    for name, limit in needed.items():
        if rollout_limits.resolve(limit, size) == 0:
            yield f"{name} {limit} of {size} is none"
    holds = sum(scheduler.is_held(rollout, slot, limits, now) for slot in left)
    if holds:
        yield f"hold: {holds} children"
    if limits.partition and not rollout.is_going_back:
        yield f"partition: {min(limits.partition, size)} stay"
