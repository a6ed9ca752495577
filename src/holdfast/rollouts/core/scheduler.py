"""Work of a rollout: finishing what was begun in a slot, and beginning in as many others as the limits allow."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from holdfast.model.record import dataclass
from holdfast.rollouts.core import records, rollout_limits
from holdfast.rollouts.core.records import CreateChild, RemoveChild, Rollout, SlotFailures, Step
from holdfast.rollouts.core.rollout_limits import Order, RolloutLimits
from holdfast.rollouts.core.slots import Child, ChildState, Slot, SlotSet

RETRY_JITTER: Final = 0.1  # of the wait, at most


@dataclass(slots=True)
class SlotAllowance:
    """How many more slots may be taken up as far as other templates leave room; a place that is empty has none."""

    left: float = math.inf

    def take(self) -> bool:
        """Take one, or say that there is none."""
        if self.left < 1:
            return False
        self.left -= 1
        return True


def turns(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits) -> SlotAllowance:
    """Return the turns that are left."""
    return SlotAllowance() if limits.turns is None else SlotAllowance(limits.turns - len(working(rollout, fleet)))


def working(rollout: Rollout, fleet: SlotSet) -> set[str]:
    """Return the slots that have a turn: those at work, but for empty places, which may stay so for long."""
    return {slot.name for slot in records.at_work(rollout, fleet) if slot.living}


def finishing(
    rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float, left: SlotAllowance
) -> Iterator[Step]:
    """Yield the steps that finish begun slots. They need no budget, because it was taken at the beginning.

    Only the turn among all templates is released while a slot is empty, and is needed once more to fill it.
    """
    for slot in fleet.busy:
        yield from _finish(rollout, slot, limits, now, left)


def _finish(rollout: Rollout, slot: Slot, limits: RolloutLimits, now: float, left: SlotAllowance) -> Iterator[Step]:
    if not slot.living:
        if now >= retry_at(rollout, slot.name, limits) and left.take():
            yield _create(rollout, slot)
        return
    failed = [child for child in slot.living if child.state is ChildState.FAILED]
    if failed:
        yield from (_remove(child, "it failed") for child in failed)
        return
    if len(slot.living) > 1:
        yield from _swap(rollout, slot, limits, now)


def _swap(rollout: Rollout, slot: Slot, limits: RolloutLimits, now: float) -> Iterator[RemoveChild]:
    """Remove what is too much in a slot, never the last child that is ready."""
    staying = [child for child in slot.living if child.state is not ChildState.REMOVING]
    wanted = [child for child in staying if child.revision in rollout.target.accepts]
    ripe = [
        child for child in wanted if child.state is ChildState.READY and now - child.ready_since >= limits.min_ready
    ]
    if ripe:
        yield from (_remove(child, "it is replaced") for child in staying if child is not ripe[0])
    elif not wanted and len(staying) > 1:
        ready = [child for child in staying if child.state is ChildState.READY]
        keep = (ready or staying)[0]
        yield from (_remove(child, "its target was given up") for child in staying if child is not keep)


def _create(rollout: Rollout, slot: Slot, child: str = "") -> CreateChild:
    attempt = rollout.failures.get(slot.name, SlotFailures(0, 0.0)).times
    key = f"{slot.name}.{rollout.maker}.{attempt}"
    return CreateChild(key, slot.name, rollout.target.revision, rollout.maker, attempt, _reason(slot), child)


def _remove(child: Child, why: str) -> RemoveChild:
    return RemoveChild(f"{child.name}.remove", child.slot, child.name, why)


def retry_at(rollout: Rollout, slot: str, limits: RolloutLimits) -> float:
    """Return when a slot may be tried again: later after each failure, and many that failed together not together.

    What sets them apart is their names and not chance, so that every look at the same records says the same.
    """
    failures = rollout.failures.get(slot)
    if failures is None:
        return -math.inf
    wait = min(limits.retry_max, limits.retry_base * 2.0 ** min(failures.times - 1, 30))
    apart = zlib.crc32(f"{slot}.{failures.times}".encode()) / 2**32
    return failures.last_at + wait * (1 + RETRY_JITTER * apart)


@dataclass(slots=True)
class _PassBudget:
    """The budget that is left for this pass."""

    slots: int  # by the wave
    surge: int
    unavailable: int
    by_reason: dict[str, int]
    sick: int  # unavailable slots without a step in progress: they use up every budget
    is_surging: bool  # every slot needs another child for a while
    zones: _Zones | None
    turns: SlotAllowance

    def is_left(self) -> bool:
        """Return True if asking for another slot makes sense."""
        if self.slots < 1 or self.turns.left < 1:
            return False
        return (not self.is_surging or self.surge > 0) and max(self.by_reason.values()) > 0

    def take(self, slot: Slot, order: Order) -> bool:
        """Take the budget of a slot, or return False. An unavailable slot cannot become less available."""
        reason = _reason(slot)
        surge = order is Order.REPLACE_BEFORE_REMOVE
        absence = not surge and slot.is_available
        free = self.by_reason[reason] - (self.sick if slot.is_available else 0)
        if min(self.slots, free) < 1 or (surge and self.surge < 1) or (absence and self.unavailable < 1):
            return False
        if (self.zones is not None and not self.zones.has_room(slot)) or not self.turns.take():
            return False
        if self.zones is not None:
            self.zones.take(slot)
        self.slots -= 1
        self.by_reason[reason] -= 1
        self.surge -= surge
        self.unavailable -= absence
        self.sick -= not slot.is_available
        return True


@dataclass(slots=True)
class _Zones:
    """The budget that is left in each zone. Slots without a zone share one."""

    free: dict[str, int]
    sick: Counter[str]  # unavailable slots without a step in progress

    def has_room(self, slot: Slot) -> bool:
        zone = _zone(slot)
        return self.free[zone] - (self.sick[zone] if slot.is_available else 0) > 0

    def take(self, slot: Slot) -> None:
        zone = _zone(slot)
        self.free[zone] -= 1
        self.sick[zone] -= not slot.is_available


def _zone(slot: Slot) -> str:
    return slot.children[0].topology


def _zones(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits) -> _Zones | None:
    if limits.per_zone is None:
        return None
    used = Counter(_zone(slot) for slot in records.at_work(rollout, fleet))
    sizes = Counter(_zone(slot) for slot in fleet.slots)
    free = {zone: rollout_limits.resolve_part(limits.per_zone, size) - used[zone] for zone, size in sizes.items()}
    return _Zones(free, Counter(_zone(slot) for slot in fleet.slots if slot.is_quiet and not slot.is_available))


def beginning(
    rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float, left: SlotAllowance
) -> Iterator[Step]:
    """Yield the beginnings that fit into the limits, in the order of who is to go first."""
    room = _room(rollout, fleet, limits, left)
    if not room.is_left():
        return
    for slot in _in_order(_candidates(rollout, fleet, limits, now), fleet, limits):
        if not room.is_left():
            return
        is_rewritten = slot.living[0].is_rewritten
        order = Order.REMOVE_FIRST if is_rewritten else limits.order  # for a moment it is not there
        if not room.take(slot, order):
            continue
        if is_rewritten:
            yield _create(rollout, slot, slot.living[0].name)
        elif order is Order.REPLACE_BEFORE_REMOVE:
            yield _create(rollout, slot)
        else:
            yield _remove(slot.living[0], "its place is needed")


def _room(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, left: SlotAllowance) -> _PassBudget:
    """Return the number that the limits leave."""
    size = len(fleet.slots)
    sick = sum(slot.is_quiet and not slot.is_available for slot in fleet.slots)
    used = Counter(_reason(slot) for slot in records.at_work(rollout, fleet))
    reasons = {child.reason for slot in fleet.slots for child in slot.children}
    quota = size if rollout.is_going_back else rollout_limits.quota(limits, rollout.wave, size)
    return _PassBudget(
        slots=quota if rollout.is_going_back else quota - records.taken(rollout, fleet),
        surge=rollout_limits.resolve(limits.max_surge, size) - fleet.surge,
        unavailable=rollout_limits.resolve(limits.max_unavailable, size) - fleet.unavailable,
        by_reason={reason: rollout_limits.budget(limits, reason, size) - used[reason] for reason in reasons},
        sick=sick,
        is_surging=limits.order is Order.REPLACE_BEFORE_REMOVE and not _rewrites(fleet),
        zones=_zones(rollout, fleet, limits),
        turns=left,
    )


def _rewrites(fleet: SlotSet) -> bool:
    return any(child.is_rewritten for slot in fleet.slots for child in slot.living)


def _reason(slot: Slot) -> str:
    return slot.children[0].reason


def _candidates(rollout: Rollout, fleet: SlotSet, limits: RolloutLimits, now: float) -> Iterator[Slot]:
    last = len(fleet.slots) if rollout.is_going_back else len(fleet.slots) - limits.waves.partition
    for slot in fleet.slots[: max(0, last)]:
        if not slot.is_quiet or records.is_done(rollout, slot):
            continue
        if is_held(rollout, slot, limits, now) or now < retry_at(rollout, slot.name, limits):
            continue
        yield slot


def is_held(rollout: Rollout, slot: Slot, limits: RolloutLimits, now: float) -> bool:
    """Return True if a slot is held by request, and the hold has not exceeded its limit."""
    if limits.hold_deadline is not None and now - rollout.started_at >= limits.hold_deadline:
        return False
    return any(child.held_until is not None and now < child.held_until for child in slot.living)


def _in_order(candidates: Iterable[Slot], fleet: SlotSet, limits: RolloutLimits) -> Sequence[Slot]:
    """Order candidates: chosen canaries, then unavailable slots, then idle ones. Spread, oldest finding first.

    Spread means that the first slot of every zone comes before the second of any, counting slots in progress. The order
    of the slots decides the rest.
    """
    found = sorted(candidates, key=lambda slot: (*_class(slot, limits), slot.living[0].first_seen))
    if len({slot.living[0].topology for slot in found}) < 2:  # nothing to spread over: each comes after the one before
        return found
    ranks = Counter(slot.living[0].topology for slot in fleet.busy if slot.living)
    keyed = []
    for slot in found:
        zone = slot.living[0].topology
        keyed.append(((*_class(slot, limits), ranks[zone], slot.living[0].first_seen), slot))
        ranks[zone] += 1
    return [slot for _, slot in sorted(keyed, key=lambda each: each[0])]


def _class(slot: Slot, limits: RolloutLimits) -> tuple[bool, bool, bool]:
    return (slot.name not in limits.waves.canary_slots, slot.is_available, not slot.living[0].is_idle)
