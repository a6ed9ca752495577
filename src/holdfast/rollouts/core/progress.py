"""Progress of a rollout: counting what happened, then stopping, opening the next wave, or ending."""

from __future__ import annotations

import dataclasses

from holdfast.policy import windows
from holdfast.policy.write_reasons import WriteReason
from holdfast.rollouts.core import records, rollout_limits
from holdfast.rollouts.core.records import BEGINNING, Rollout, RolloutPhase, RolloutTarget, SlotFailures
from holdfast.rollouts.core.rollout_limits import Health, OnHalt, RolloutLimits
from holdfast.rollouts.core.slots import ChildState, SlotSet


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
    if ready > rollout.ready:
        rollout = dataclasses.replace(rollout, ready=ready, progressed_at=now)
    return rollout if failures == rollout.failures else dataclasses.replace(rollout, failures=failures)


def _opened(rollout: Rollout, limits: RolloutLimits, now: float) -> Rollout:
    """Note whether the windows are closed; the deadline starts anew when they open."""
    is_closed = windows.closed_by(limits.windows, now, WriteReason.DRIFT) is not None
    if is_closed == rollout.is_closed:
        return rollout
    progressed_at = rollout.progressed_at if is_closed else now
    return dataclasses.replace(rollout, is_closed=is_closed, progressed_at=progressed_at)


def _fault(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float) -> str:
    """Return why to stop, or nothing."""
    failing = sorted(name for name, health in limits.gates.items() if health is Health.FAIL)
    if failing:
        return f"health gate {failing[0]} fails"
    if limits.halt_after is not None:
        sick = sum(child.state is ChildState.UNHEALTHY for child in records.made(rollout, fleet))
        allowed = rollout_limits.resolve(limits.halt_after, len(fleet.slots))
        if rollout.failed + sick >= max(1, allowed):
            return f"{rollout.failed} replacements failed and {sick} are unhealthy; {allowed} stop a rollout"
    return _lateness(rollout, fleet, limits, now)


def _lateness(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float) -> str:
    """Only work that is under way can be late; waiting for a window, a hold or a budget is not being late."""
    if limits.progress_deadline is None or rollout.is_closed or now - rollout.progressed_at < limits.progress_deadline:
        return ""
    is_working = records.at_work(rollout, fleet)
    return f"no progress for {now - rollout.progressed_at:.0f} s" if is_working else ""


def _stopped(rollout: Rollout, limits: RolloutLimits, now: float, why: str) -> Rollout:
    if limits.on_halt is OnHalt.ROLL_BACK and rollout.previous is not None and not rollout.is_going_back:
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
        ready=0,
        progressed_at=now,
        well_since=None,
        why=why,
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
    if now - since < limits.soak or any(health is not Health.PASS for health in limits.gates.values()):
        return dataclasses.replace(rollout, well_since=since)
    if not has_more:
        return dataclasses.replace(rollout, phase=_ending(rollout), well_since=None)
    return dataclasses.replace(rollout, phase=RolloutPhase.PROGRESSING, wave=rollout.wave + 1, well_since=None)


def _ending(rollout: Rollout) -> RolloutPhase:
    return RolloutPhase.ROLLED_BACK if rollout.is_going_back else RolloutPhase.COMPLETE


def _is_well(rollout: Rollout, fleet: SlotSet) -> bool:
    return all(child.state is ChildState.READY for child in records.made(rollout, fleet))
