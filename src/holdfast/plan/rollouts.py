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
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from holdfast.plan import rollout_limits, windows
from holdfast.plan.fleets import Child, Fleet, Slot, State, fleet_of
from holdfast.plan.motives import Motive
from holdfast.plan.rollout_limits import Health, Limits, OnHalt, Order


class Phase(StrEnum):
    """Where a rollout is."""

    PENDING = "pending"
    CANARY = "canary"
    PROGRESSING = "progressing"
    PAUSED = "paused"
    HALTED = "halted"
    COMPLETE = "complete"
    ROLLED_BACK = "rolled-back"
    SUPERSEDED = "superseded"


OVER: Final = frozenset({Phase.COMPLETE, Phase.ROLLED_BACK, Phase.SUPERSEDED})
BEGINNING: Final = frozenset({Phase.CANARY, Phase.PROGRESSING})


class Failures(NamedTuple):
    """What went wrong in one slot."""

    times: int
    last_at: float


@dataclass(frozen=True, slots=True)
class Target:
    """A revision to come to, and the ordinals that equal it under the scheme: their children need not be replaced."""

    revision: int
    accepts: frozenset[int]


@dataclass(frozen=True, slots=True)
class Rollout:
    """What has to be saved of a rollout; each save is a compare-and-swap on `version`."""

    id: str
    target: Target
    previous: Target | None  # where an automatic rollback goes; None: nowhere
    started_at: float
    phase: Phase = Phase.PENDING
    wave: int = 0
    failures: Mapping[str, Failures] = field(default_factory=dict)  # by slot
    forgiven: int = 0  # failures from before it was resumed
    ready: int = 0  # replacements that have been ready, the most seen
    progressed_at: float = 0.0
    well_since: float | None = None  # since when the wave is complete and well
    is_closed: bool = False  # a window was closed when it was last looked at
    is_going_back: bool = False
    resumes_to: Phase | None = None
    why: str = ""
    version: int = 1

    @property
    def maker(self) -> str:
        """What its replacements carry; those of a rollback are told from those that are rolled back."""
        return f"{self.id}/back" if self.is_going_back else self.id

    @property
    def failed(self) -> int:
        """How many replacements have failed since it was started or resumed."""
        return sum(each.times for each in self.failures.values()) - self.forgiven


# --- steps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Save:
    """Store the rollout if the stored version is `expected`; if not, read again and drop the other steps."""

    expected: int
    rollout: Rollout


@dataclass(frozen=True, slots=True)
class Create:
    """Make a child of a revision in a slot. The key names the child: the same key twice is the same child."""

    key: str
    slot: str
    revision: int
    made_by: str
    attempt: int
    reason: str  # to be kept with the child: a budget counts the slot by it until it is done


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a child; one that is gone is removed."""

    key: str
    slot: str
    child: str
    why: str


Step = Save | Create | Remove


def next_steps(rollout: Rollout, children: Iterable[Child], limits: Limits, now: float) -> list[Step]:
    """Return what is to be done now, in this order; empty when there is only waiting, or nothing left.

    Carry out any number of them, crash wherever you like, and call again.
    """
    if rollout.phase in OVER:
        return []
    fleet = fleet_of(children)
    after = _advanced(rollout, fleet, limits, now)
    steps: list[Step] = [] if after == rollout else [Save(rollout.version, _next_version(rollout, after))]
    if after.phase in OVER:
        return steps
    steps += _finishing(after, fleet, limits, now)
    if after.phase in BEGINNING and not after.is_closed:
        steps += _beginning(after, fleet, limits, now)
    return steps


def _next_version(before: Rollout, after: Rollout) -> Rollout:
    return dataclasses.replace(after, version=before.version + 1)


# --- what a person, or a new revision, does to a rollout --------------------------------------------------------------


def start(rollout_id: str, target: Target, previous: Target | None, now: float) -> Rollout:
    """Return a rollout that has not begun."""
    return Rollout(rollout_id, target, previous, started_at=now, progressed_at=now)


def pause(rollout: Rollout, why: str) -> Rollout:
    """Begin nothing more until somebody resumes; a rollout that is over stays over."""
    if rollout.phase in OVER or rollout.phase is Phase.PAUSED:
        return rollout
    resumes_to = rollout.resumes_to if rollout.phase is Phase.HALTED else rollout.phase
    return _moved(rollout, phase=Phase.PAUSED, resumes_to=resumes_to, why=why)


def resume(rollout: Rollout, now: float) -> Rollout:
    """Go on after a pause or a halt. Failures so far are forgiven, and the deadline starts anew."""
    if rollout.phase not in {Phase.PAUSED, Phase.HALTED}:
        return rollout
    return _moved(
        rollout,
        phase=rollout.resumes_to or Phase.PROGRESSING,
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
    return _moved(_going_back(rollout, rollout.previous, now, why))


def supersede(rollout: Rollout, rollout_id: str, target: Target, now: float) -> tuple[Rollout, Rollout]:
    """Return the old rollout, ended, and the one for a new target; what is under way is redirected, not queued.

    The way back leads to what was good before the old one, unless that had been completed.
    """
    good = rollout.target if rollout.phase is Phase.COMPLETE else rollout.previous
    if rollout.phase in OVER:
        return rollout, start(rollout_id, target, good, now)
    ended = _moved(rollout, phase=Phase.SUPERSEDED, why=f"superseded by {rollout_id}")
    return ended, start(rollout_id, target, good, now)


def _moved(rollout: Rollout, **changes: object) -> Rollout:
    return dataclasses.replace(rollout, version=rollout.version + 1, **changes)  # type: ignore[arg-type]


# --- advancing --------------------------------------------------------------------------------------------------------


def _advanced(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> Rollout:
    """Return the rollout as the children and the clock have made it: count, then stop or go on."""
    counted = _opened(_counted(rollout, fleet, now), limits, now)
    if counted.phase in BEGINNING and (why := _fault(counted, fleet, limits, now)):
        return _stopped(counted, limits, now, why)
    if counted.phase is Phase.PENDING:
        return _begun(counted, limits)
    return _waved(counted, fleet, limits, now) if counted.phase in BEGINNING else counted


def _counted(rollout: Rollout, fleet: Fleet, now: float) -> Rollout:
    """Count failures and progress, each once: an attempt that is not newer than what was counted is known."""
    failures = dict(rollout.failures)
    ready = 0
    for slot in fleet.slots:
        made = slot.made_by(rollout.maker)
        if made is None:
            continue
        ready += made.state is State.READY
        known = failures.get(slot.name, Failures(0, 0.0)).times
        if made.state is State.FAILED and made.attempt >= known:
            failures[slot.name] = Failures(made.attempt + 1, now)
    if ready > rollout.ready:
        rollout = dataclasses.replace(rollout, ready=ready, progressed_at=now)
    return rollout if failures == rollout.failures else dataclasses.replace(rollout, failures=failures)


def _opened(rollout: Rollout, limits: Limits, now: float) -> Rollout:
    """Note whether the windows are closed; the deadline starts anew when they open."""
    is_closed = windows.closed_by(limits.windows, now, Motive.DRIFT) is not None
    if is_closed == rollout.is_closed:
        return rollout
    progressed_at = rollout.progressed_at if is_closed else now
    return dataclasses.replace(rollout, is_closed=is_closed, progressed_at=progressed_at)


def _fault(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> str:
    """Return why to stop, or nothing."""
    failing = sorted(name for name, health in limits.gates.items() if health is Health.FAIL)
    if failing:
        return f"health gate {failing[0]} fails"
    if limits.halt_after is not None:
        made = (slot.made_by(rollout.maker) for slot in fleet.slots)
        sick = sum(child is not None and child.state is State.UNHEALTHY for child in made)
        allowed = rollout_limits.resolve(limits.halt_after, len(fleet.slots))
        if rollout.failed + sick >= max(1, allowed):
            return f"{rollout.failed} replacements failed and {sick} are unhealthy; {allowed} stop a rollout"
    return _lateness(rollout, fleet, limits, now)


def _lateness(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> str:
    """Only work that is under way can be late; waiting for a window, a hold or a budget is not being late."""
    if limits.progress_deadline is None or rollout.is_closed or now - rollout.progressed_at < limits.progress_deadline:
        return ""
    is_working = any(_is_at_work(rollout, slot) for slot in fleet.slots)
    return f"no progress for {now - rollout.progressed_at:.0f} s" if is_working else ""


def _stopped(rollout: Rollout, limits: Limits, now: float, why: str) -> Rollout:
    if limits.on_halt is OnHalt.ROLL_BACK and rollout.previous is not None and not rollout.is_going_back:
        return _going_back(rollout, rollout.previous, now, why)
    return dataclasses.replace(rollout, phase=Phase.HALTED, resumes_to=rollout.phase, why=why)


def _going_back(rollout: Rollout, to: Target, now: float, why: str) -> Rollout:
    """Turn round. Without canary and waves: what it goes to was good, and every minute on the other is not."""
    return dataclasses.replace(
        rollout,
        target=to,
        is_going_back=True,
        phase=Phase.PROGRESSING,
        resumes_to=None,
        failures={},
        forgiven=0,
        ready=0,
        progressed_at=now,
        well_since=None,
        why=why,
    )


def _begun(rollout: Rollout, limits: Limits) -> Rollout:
    if rollout.is_closed:
        return rollout
    if rollout_limits.quota(limits, 0, 0):
        return dataclasses.replace(rollout, phase=Phase.CANARY)
    return dataclasses.replace(rollout, phase=Phase.PROGRESSING, wave=1)


def _waved(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> Rollout:
    """Open the next wave, or end, once the present one is complete, well, and has been so for long enough."""
    pending = [slot for slot in fleet.slots if not _is_done(rollout, slot)]
    taken = _taken(rollout, fleet)
    is_busy = any(_is_at_work(rollout, slot) for slot in pending)
    is_full = not rollout.is_going_back and taken >= rollout_limits.quota(limits, rollout.wave, len(fleet.slots))
    if is_busy or not (is_full or not pending) or not _is_well(rollout, fleet):
        return dataclasses.replace(rollout, well_since=None)
    since = now if rollout.well_since is None else rollout.well_since
    if now - since < limits.soak or any(health is not Health.PASS for health in limits.gates.values()):
        return dataclasses.replace(rollout, well_since=since)
    if not pending:
        return dataclasses.replace(rollout, phase=_ending(rollout), well_since=None)
    return dataclasses.replace(rollout, phase=Phase.PROGRESSING, wave=rollout.wave + 1, well_since=None)


def _ending(rollout: Rollout) -> Phase:
    return Phase.ROLLED_BACK if rollout.is_going_back else Phase.COMPLETE


def _taken(rollout: Rollout, fleet: Fleet) -> int:
    """Return how many slots this rollout has taken up, finished or not: what waves count."""
    return sum(slot.made_by(rollout.maker) is not None or _is_emptied(slot) for slot in fleet.slots)


def _is_emptied(slot: Slot) -> bool:
    return all(child.state in {State.GONE, State.REMOVING} for child in slot.children)


def _is_well(rollout: Rollout, fleet: Fleet) -> bool:
    made = (slot.made_by(rollout.maker) for slot in fleet.slots)
    return all(child is None or child.state is State.READY for child in made)


def _is_done(rollout: Rollout, slot: Slot) -> bool:
    """Tell whether a slot is as the target wants it, or is not to be touched."""
    if len(slot.living) != 1:
        return False
    child = slot.living[0]
    if child.is_exempt and child.made_by not in {rollout.id, rollout.maker}:
        return True
    return child.revision in rollout.target.accepts and child.state in {State.READY, State.UNHEALTHY}


def _is_at_work(rollout: Rollout, slot: Slot) -> bool:
    """Tell whether something is being done in a slot: it counts against budgets until it is done."""
    return not _is_done(rollout, slot) and not slot.is_quiet


# --- finishing what was begun -----------------------------------------------------------------------------------------


def _finishing(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> Iterator[Step]:
    for slot in fleet.slots:
        if not slot.is_quiet:
            yield from _finish(rollout, slot, limits, now)


def _finish(rollout: Rollout, slot: Slot, limits: Limits, now: float) -> Iterator[Step]:
    if not slot.living:
        if now >= _retry_at(rollout, slot, limits):
            yield _create(rollout, slot)
        return
    failed = [child for child in slot.living if child.state is State.FAILED]
    if failed:
        yield from (_remove(child, "it failed") for child in failed)
        return
    if len(slot.living) > 1:
        yield from _swap(rollout, slot, limits, now)


def _swap(rollout: Rollout, slot: Slot, limits: Limits, now: float) -> Iterator[Remove]:
    """Remove what is too much in a slot, never the last child that is ready."""
    staying = [child for child in slot.living if child.state is not State.REMOVING]
    wanted = [child for child in staying if child.revision in rollout.target.accepts]
    ripe = [child for child in wanted if child.state is State.READY and now - child.ready_since >= limits.min_ready]
    if ripe:
        yield from (_remove(child, "it is replaced") for child in staying if child is not ripe[0])
    elif not wanted and len(staying) > 1:
        ready = [child for child in staying if child.state is State.READY]
        keep = (ready or staying)[0]
        yield from (_remove(child, "its target was given up") for child in staying if child is not keep)


def _create(rollout: Rollout, slot: Slot) -> Create:
    attempt = rollout.failures.get(slot.name, Failures(0, 0.0)).times
    key = f"{slot.name}.{rollout.maker}.{attempt}"
    return Create(key, slot.name, rollout.target.revision, rollout.maker, attempt, _reason(slot))


def _remove(child: Child, why: str) -> Remove:
    return Remove(f"{child.name}.remove", child.slot, child.name, why)


def _retry_at(rollout: Rollout, slot: Slot, limits: Limits) -> float:
    failures = rollout.failures.get(slot.name)
    if failures is None:
        return -math.inf
    return failures.last_at + min(limits.retry_max, limits.retry_base * 2.0 ** min(failures.times - 1, 30))


# --- beginning --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Room:
    """What may still be begun in this pass."""

    slots: int  # by the wave
    surge: int
    unavailable: int
    by_reason: dict[str, int]
    sick: int  # slots that serve nobody though nobody is at work in them: they use up every budget

    def take(self, slot: Slot, order: Order) -> bool:
        """Take what a slot needs, or nothing and say no. A slot that serves nobody cannot become less available."""
        reason = _reason(slot)
        surge = order is Order.REPLACE_BEFORE_REMOVE
        absence = not surge and slot.is_available
        free = self.by_reason[reason] - (self.sick if slot.is_available else 0)
        if min(self.slots, free) < 1 or (surge and self.surge < 1) or (absence and self.unavailable < 1):
            return False
        self.slots -= 1
        self.by_reason[reason] -= 1
        self.surge -= surge
        self.unavailable -= absence
        self.sick -= not slot.is_available
        return True


def _beginning(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> Iterator[Step]:
    room = _room(rollout, fleet, limits)
    for slot in _in_order(_candidates(rollout, fleet, limits, now), fleet, limits):
        if room.slots < 1:
            return
        if not room.take(slot, limits.order):
            continue
        if limits.order is Order.REPLACE_BEFORE_REMOVE:
            yield _create(rollout, slot)
        else:
            yield _remove(slot.living[0], "its place is needed")


def _room(rollout: Rollout, fleet: Fleet, limits: Limits) -> _Room:
    """Return what the limits leave."""
    size = len(fleet.slots)
    at_work = [slot for slot in fleet.slots if _is_at_work(rollout, slot)]
    sick = sum(slot.is_quiet and not slot.is_available for slot in fleet.slots)
    used = Counter(_reason(slot) for slot in at_work)
    reasons = {child.reason for slot in fleet.slots for child in slot.children}
    quota = size if rollout.is_going_back else rollout_limits.quota(limits, rollout.wave, size)
    return _Room(
        slots=quota if rollout.is_going_back else quota - _taken(rollout, fleet),
        surge=rollout_limits.resolve(limits.max_surge, size) - fleet.surge,
        unavailable=rollout_limits.resolve(limits.max_unavailable, size) - fleet.unavailable,
        by_reason={each: rollout_limits.budget(limits, each, size) - used[each] for each in reasons},
        sick=sick,
    )


def _reason(slot: Slot) -> str:
    return slot.children[0].reason


def _candidates(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> Iterator[Slot]:
    last = len(fleet.slots) - limits.partition
    for place, slot in enumerate(fleet.slots):
        if not slot.is_quiet or _is_done(rollout, slot) or (place >= last and not rollout.is_going_back):
            continue
        if _is_held(rollout, slot, limits, now) or now < _retry_at(rollout, slot, limits):
            continue
        yield slot


def _is_held(rollout: Rollout, slot: Slot, limits: Limits, now: float) -> bool:
    if limits.hold_deadline is not None and now - rollout.started_at >= limits.hold_deadline:
        return False
    return any(child.held_until is not None and now < child.held_until for child in slot.living)


def _in_order(candidates: Iterable[Slot], fleet: Fleet, limits: Limits) -> Sequence[Slot]:
    """Order candidates: the chosen canaries, what serves nobody, what is idle; spread, and the oldest finding first.

    Spread means that the first of every zone comes before the second of any, counting those at work already.
    """
    found = sorted(candidates, key=lambda slot: (*_class(slot, limits), slot.living[0].first_seen, slot.name))
    ranks = Counter(slot.living[0].topology for slot in fleet.slots if slot.living and not slot.is_quiet)
    keyed = []
    for slot in found:
        zone = slot.living[0].topology
        keyed.append(((*_class(slot, limits), ranks[zone], slot.living[0].first_seen, slot.name), slot))
        ranks[zone] += 1
    return [slot for _, slot in sorted(keyed, key=lambda each: each[0])]


def _class(slot: Slot, limits: Limits) -> tuple[bool, bool, bool]:
    return (slot.name not in limits.canary_slots, slot.is_available, not slot.living[0].is_idle)


# --- explaining -------------------------------------------------------------------------------------------------------


def blocked_by(rollout: Rollout, children: Iterable[Child], limits: Limits, now: float) -> tuple[str, ...]:
    """Say what a rollout waits for, most general first; empty if it is over or has something to do."""
    if rollout.phase in OVER:
        return ()
    if rollout.phase in {Phase.PAUSED, Phase.HALTED}:
        return (f"{rollout.phase}: {rollout.why}",)
    held = windows.closed_by(limits.windows, now, Motive.DRIFT)
    return tuple(_waits(rollout, fleet_of(children), limits, now, held))


def _waits(rollout: Rollout, fleet: Fleet, limits: Limits, now: float, window: windows.Held | None) -> Iterator[str]:
    size = len(fleet.slots)
    if window is not None:
        yield f"window: {window}"
    yield from (f"gate {name}: {health}" for name, health in limits.gates.items() if health is not Health.PASS)
    surge = limits.order is Order.REPLACE_BEFORE_REMOVE
    limit, name = (limits.max_surge, "max_surge") if surge else (limits.max_unavailable, "max_unavailable")
    if rollout_limits.resolve(limit, size) == 0:
        yield f"{name} {limit} of {size} is none"
    left = [slot for slot in fleet.slots if slot.is_quiet and not _is_done(rollout, slot)]
    holds = sum(_is_held(rollout, slot, limits, now) for slot in left)
    if holds:
        yield f"hold: {holds} children"
    if limits.partition and not rollout.is_going_back:
        yield f"partition: {min(limits.partition, size)} stay"
