"""Rollouts: bring the children of an owner to a revision, a few at a time, and stop on failures.

    Pending -> Canary -> Progressing -> Complete
                 |           |
                 +-----------+--> Paused | Halted  (and back, on resume)
                 +-----------+--> rolling back: Progressing towards the previous revision -> RolledBack
    any that is not over -> Superseded, when the owner gets another target

`next_steps` is a function of the saved rollout and of the children, and has no memory. A replacement carries the
rollout that created it and its attempt. So finished steps are visible, unfinished ones are requested again under the
same key, and a step that is taken twice has one effect. The caller writes the intent (a child that is `creating` or
`removing`) before the next call. Pauses, halts and closed windows begin nothing, but a begun replacement is finished.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from holdfast.policy import windows
from holdfast.policy.write_reasons import WriteReason
from holdfast.rollouts.core import records, rollout_limits, scheduler
from holdfast.rollouts.core.records import (
    BEGINNING,
    OVER,
    Rollout,
    RolloutPhase,
    RolloutProgress,
    RolloutTarget,
    SaveRollout,
    SlotFailures,
    Step,
)
from holdfast.rollouts.core.rollout_limits import Health, OnHalt, Order, RolloutLimits
from holdfast.rollouts.core.slots import Child, ChildState, Grouping, SlotSet, fleet_of


def next_steps(
    rollout: Rollout, children: Iterable[Child], limits: RolloutLimits, now: float, grouping: Grouping | None = None
) -> list[Step]:
    """Return the next steps in their order. Empty when the rollout waits or is finished.

    Carry out any number of them, crash at any point, and call it again. A caller with many calls for one owner may pass
    the grouping of the last call, which changes only the cost.
    """
    if rollout.phase in OVER:
        return []
    fleet = (grouping or Grouping()).fleet_of(children)
    after = advanced(rollout, fleet, limits, now)
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
    return Rollout(rollout_id, target, previous, started_at=now, progress=RolloutProgress(at=now))


def pause(rollout: Rollout, why: str) -> Rollout:
    """Begin nothing more until a resume. A rollout that is over stays over."""
    if rollout.phase in OVER or rollout.phase is RolloutPhase.PAUSED:
        return rollout
    resumes_to = rollout.resumes_to if rollout.phase is RolloutPhase.HALTED else rollout.phase
    return _moved(rollout, phase=RolloutPhase.PAUSED, resumes_to=resumes_to, why=why)


def resume(rollout: Rollout, now: float) -> Rollout:
    """Go on after a pause or a halt. Failures so far are forgiven, and the deadline starts again."""
    if rollout.phase not in {RolloutPhase.PAUSED, RolloutPhase.HALTED}:
        return rollout
    return _moved(
        rollout,
        phase=rollout.resumes_to or RolloutPhase.PROGRESSING,
        resumes_to=None,
        forgiven=rollout.forgiven + rollout.failed,
        progress=rollout.progress._replace(at=now),
        well_since=None,
        why="",
    )


def undo(rollout: Rollout, now: float, why: str) -> Rollout:
    """Go back to the previous revision; unchanged if there is none, or if it is over or going back already."""
    if rollout.phase in OVER or rollout.previous is None or rollout.is_going_back:
        return rollout
    return _moved(going_back(rollout, rollout.previous, now, why))


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
    """Return the reasons why a rollout waits, most general first. Empty if it is over or has a next step."""
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
    if limits.waves.partition and not rollout.is_going_back:
        yield f"partition: {min(limits.waves.partition, size)} stay"


def advanced(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float) -> Rollout:
    """Return the rollout as the children and the clock have made it: count, then stop or go on."""
    counted = _opened(_counted(rollout, fleet, now), limits, now)
    if counted.phase in BEGINNING and (why := _fault(counted, fleet, limits, now)):
        return _stopped(counted, limits, now, why)
    if counted.phase is RolloutPhase.PENDING:
        return _begun(counted, limits)
    return _waved(counted, fleet, limits, now) if counted.phase in BEGINNING else counted


def _counted(rollout: Rollout, fleet: SlotSet, now: float) -> Rollout:
    """Count failures and progress, each once: an attempt that is not newer than what was counted is known."""
    failures = dict(rollout.failures)
    ready = 0
    for child in records.made(rollout, fleet):
        if child.state is ChildState.READY:
            ready += 1
        elif child.state is ChildState.FAILED:
            known = failures.get(child.slot)
            if known is None or child.attempt >= known.times:
                failures[child.slot] = SlotFailures(child.attempt + 1, now)
    if ready > rollout.progress.ready:
        rollout = dataclasses.replace(rollout, progress=RolloutProgress(ready, now))
    return rollout if failures == rollout.failures else dataclasses.replace(rollout, failures=failures)


def _opened(rollout: Rollout, limits: RolloutLimits, now: float) -> Rollout:
    """Note whether the windows are closed; the deadline starts again when they open."""
    is_closed = windows.closed_by(limits.windows, now, WriteReason.DRIFT) is not None
    if is_closed == rollout.is_closed:
        return rollout
    progress = rollout.progress if is_closed else rollout.progress._replace(at=now)
    return dataclasses.replace(rollout, is_closed=is_closed, progress=progress)


def _fault(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float) -> str:
    """Return the reason to stop, or an empty string."""
    failing = sorted(name for name, health in limits.gates.items() if health is Health.FAIL)
    if failing:
        return f"health gate {failing[0]} fails"
    if limits.halt.after is not None:
        sick = sum(child.state is ChildState.UNHEALTHY for child in records.made(rollout, fleet))
        allowed = rollout_limits.resolve(limits.halt.after, len(fleet.slots))
        if rollout.failed + sick >= max(1, allowed):
            return f"{rollout.failed} replacements failed and {sick} are unhealthy; {allowed} stop a rollout"
    return _lateness(rollout, fleet, limits, now)


def _lateness(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float) -> str:
    """Only work that is under way can be late; waiting for a window, a hold or a budget is not being late."""
    if (
        limits.halt.progress_deadline is None
        or rollout.is_closed
        or now - rollout.progress.at < limits.halt.progress_deadline
    ):
        return ""
    is_working = records.at_work(rollout, fleet)
    return f"no progress for {now - rollout.progress.at:.0f} s" if is_working else ""


def _stopped(rollout: Rollout, limits: RolloutLimits, now: float, why: str) -> Rollout:
    if limits.halt.action is OnHalt.ROLL_BACK and rollout.previous is not None and not rollout.is_going_back:
        return going_back(rollout, rollout.previous, now, why)
    return dataclasses.replace(rollout, phase=RolloutPhase.HALTED, resumes_to=rollout.phase, why=why)


def going_back(rollout: Rollout, to: RolloutTarget, now: float, why: str) -> Rollout:
    """Turn round. Without canary and waves: what it goes to was good, and every minute on the other is not."""
    return dataclasses.replace(
        rollout,
        target=to,
        is_going_back=True,
        phase=RolloutPhase.PROGRESSING,
        resumes_to=None,
        failures={},
        forgiven=0,
        well_since=None,
        why=why,
        progress=RolloutProgress(at=now),
    )


def _begun(rollout: Rollout, limits: RolloutLimits) -> Rollout:
    if rollout.is_closed:
        return rollout
    if rollout_limits.quota(limits, 0, 0):
        return dataclasses.replace(rollout, phase=RolloutPhase.CANARY)
    return dataclasses.replace(rollout, phase=RolloutPhase.PROGRESSING, wave=1)


def _waved(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float) -> Rollout:
    """Open the next wave, or end, once the present one is complete, well, and has been so for long enough."""
    if records.at_work(rollout, fleet) or not _is_well(rollout, fleet):
        return dataclasses.replace(rollout, well_since=None)
    has_more = any(not records.is_done(rollout, slot) for slot in fleet.slots)
    taken = records.taken(rollout, fleet)
    is_full = not rollout.is_going_back and taken >= rollout_limits.quota(limits, rollout.wave, len(fleet.slots))
    if has_more and not is_full:
        return dataclasses.replace(rollout, well_since=None)
    since = now if rollout.well_since is None else rollout.well_since
    if now - since < limits.waves.soak or any(health is not Health.PASS for health in limits.gates.values()):
        return dataclasses.replace(rollout, well_since=since)
    if not has_more:
        return dataclasses.replace(rollout, phase=_ending(rollout), well_since=None)
    return dataclasses.replace(rollout, phase=RolloutPhase.PROGRESSING, wave=rollout.wave + 1, well_since=None)


def _ending(rollout: Rollout) -> RolloutPhase:
    return RolloutPhase.ROLLED_BACK if rollout.is_going_back else RolloutPhase.COMPLETE


def _is_well(rollout: Rollout, fleet: SlotSet) -> bool:
    return all(child.state is ChildState.READY for child in records.made(rollout, fleet))
