"""Work of a rollout: finishing what was begun in a slot, and beginning in as many others as the limits allow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from holdfast.plan.rolling_out import rollout_limits, rollout_records
from holdfast.plan.rolling_out.fleets import Child, Fleet, Slot, State
from holdfast.plan.rolling_out.rollout_limits import Limits, Order
from holdfast.plan.rolling_out.rollout_records import Create, Failures, Remove, Rollout, Step


def finishing(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> Iterator[Step]:
    """Yield what finishes the slots that something was begun in; needs no room, because that was taken then."""
    for slot in fleet.busy:
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


@dataclass(slots=True)
class _Room:
    """What may still be begun in this pass."""

    slots: int  # by the wave
    surge: int
    unavailable: int
    by_reason: dict[str, int]
    sick: int  # slots that serve nobody though nobody is at work in them: they use up every budget

    def is_left(self, order: Order) -> bool:
        """Tell whether asking for another slot makes sense."""
        return self.slots > 0 and (order is Order.REMOVE_FIRST or self.surge > 0) and max(self.by_reason.values()) > 0

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


def beginning(rollout: Rollout, fleet: Fleet, limits: Limits, now: float) -> Iterator[Step]:
    """Yield the beginnings that fit into the limits, in the order of who is to go first."""
    room = _room(rollout, fleet, limits)
    if not room.is_left(limits.order):
        return
    for slot in _in_order(_candidates(rollout, fleet, limits, now), fleet, limits):
        if not room.is_left(limits.order):
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
    sick = sum(slot.is_quiet and not slot.is_available for slot in fleet.slots)
    used = Counter(_reason(slot) for slot in rollout_records.at_work(rollout, fleet))
    reasons = {child.reason for slot in fleet.slots for child in slot.children}
    quota = size if rollout.is_going_back else rollout_limits.quota(limits, rollout.wave, size)
    return _Room(
        slots=quota if rollout.is_going_back else quota - rollout_records.taken(rollout, fleet),
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
        if not slot.is_quiet or rollout_records.is_done(rollout, slot) or (place >= last and not rollout.is_going_back):
            continue
        if is_held(rollout, slot, limits, now) or now < _retry_at(rollout, slot, limits):
            continue
        yield slot


def is_held(rollout: Rollout, slot: Slot, limits: Limits, now: float) -> bool:
    """Tell whether somebody asked that a slot be left alone, and has not asked for too long."""
    if limits.hold_deadline is not None and now - rollout.started_at >= limits.hold_deadline:
        return False
    return any(child.held_until is not None and now < child.held_until for child in slot.living)


def _in_order(candidates: Iterable[Slot], fleet: Fleet, limits: Limits) -> Sequence[Slot]:
    """Order candidates: the chosen canaries, what serves nobody, what is idle; spread, and the oldest finding first.

    Spread means that the first of every zone comes before the second of any, counting those at work already. Where
    nothing else decides it is the order of the slots.
    """
    found = sorted(candidates, key=lambda slot: (*_class(slot, limits), slot.living[0].first_seen))
    ranks = Counter(slot.living[0].topology for slot in fleet.busy if slot.living)
    keyed = []
    for slot in found:
        zone = slot.living[0].topology
        keyed.append(((*_class(slot, limits), ranks[zone], slot.living[0].first_seen), slot))
        ranks[zone] += 1
    return [slot for _, slot in sorted(keyed, key=lambda each: each[0])]


def _class(slot: Slot, limits: Limits) -> tuple[bool, bool, bool]:
    return (slot.name not in limits.canary_slots, slot.is_available, not slot.living[0].is_idle)
