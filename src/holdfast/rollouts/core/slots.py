"""Fleets: the children of one owner as a rollout sees them, grouped by slot.

A slot is one resource that the owner wants to exist: usually one child, two during a replacement, none for a moment
where the old child has to be deleted first. A slot is available while any child in it is ready. So replacing a child
by a ready one costs nothing, and an unready child costs the same whatever its cause.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.model.record import dataclass


class ChildState(StrEnum):
    """How a child is."""

    CREATING = "creating"
    READY = "ready"
    UNHEALTHY = "unhealthy"  # it was ready once
    FAILED = "failed"  # it never became ready and will not
    REMOVING = "removing"
    EMPTY = "empty"  # not a child: an empty slot that is to be filled


_DIGITS: Final = re.compile(r"([0-9]+)")
_SETTLED: Final = (ChildState.READY, ChildState.UNHEALTHY)


@dataclass(frozen=True, slots=True)
class Child:
    """One child, or an empty slot. The caller has already recorded the intents that were begun in it."""

    slot: str
    name: str
    revision: int  # ordinal it was born from
    state: ChildState = ChildState.READY
    ready_since: float = 0.0
    made_by: str = ""  # the rollout that created it
    attempt: int = 0  # which try of that rollout for this slot
    reason: str = "spec"  # the class of finding that a budget is for
    first_seen: float = 0.0  # of the finding that wants it replaced
    is_idle: bool = False
    topology: str = ""  # zone, rack, host: what replacements are spread over
    held_until: float | None = None  # infinity: until the hold is lifted
    is_exempt: bool = False  # nothing that asks for action was found: newly visible, unknown, or adopted as it is
    is_rewritten: bool = False  # it needs other content only: it gets that, and is not replaced

    @property
    def is_settled(self) -> bool:
        """True if nothing is being done to it; one that failed is waited for only by the rollout that made it."""
        return self.state in _SETTLED or (self.state is ChildState.FAILED and not self.made_by)


class Slot(NamedTuple):
    """The content of one slot. Computed once, because a rollout asks the same of ten thousand slots in every pass."""

    name: str
    children: tuple[Child, ...]  # also empty places
    living: tuple[Child, ...]  # those that exist, so that they are paid for
    is_available: bool  # something in it serves
    is_quiet: bool  # it holds one child and nothing is being done to it

    @property
    def surge(self) -> int:
        """How many children it has beyond the one it should have."""
        return max(0, len(self.living) - 1)


@dataclass(frozen=True, slots=True)
class SlotSet:
    """All slots of an owner, by name."""

    slots: tuple[Slot, ...]
    busy: tuple[Slot, ...]  # those that are not quiet
    made: Mapping[str, tuple[Child, ...]]  # living children by the rollout that made them
    unavailable: int  # slots without a ready child, whatever the cause
    surge: int  # children beyond one a slot


def slot_of(name: str, children: Sequence[Child]) -> Slot:
    """Return a slot with its children in the order in which they were tried."""
    if len(children) == 1 and children[0].state is not ChildState.EMPTY:  # nearly all are like this, nearly always
        (only,) = alone = (children[0],)
        return Slot(name, alone, alone, only.state is ChildState.READY, only.is_settled)
    ordered = tuple(sorted(children, key=lambda child: (child.attempt, child.name)))
    living = tuple(child for child in ordered if child.state is not ChildState.EMPTY)
    is_available = any(child.state is ChildState.READY for child in living)
    return Slot(name, ordered, living, is_available, len(living) == 1 and living[0].is_settled)


@lru_cache(maxsize=200_000)
def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """Order names as people count: web-2 before web-10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name))


class Grouping:
    """Groups children by slot, pass after pass; a slot whose only child is the very one of before is as before."""

    def __init__(self) -> None:
        self._slots: dict[str, Slot] = {}  # in their order

    def fleet_of(self, children: Iterable[Child]) -> SlotSet:
        """Group children by slot."""
        groups: dict[str, Child | list[Child]] = {}
        made: dict[str, list[Child]] = defaultdict(list)
        for child in children:
            found = groups.setdefault(child.slot, child)
            if found is not child:
                groups[child.slot] = [*found, child] if isinstance(found, list) else [found, child]
            if child.made_by and child.state is not ChildState.EMPTY:
                made[child.made_by].append(child)
        self._slots = self._regrouped(groups)
        slots = tuple(self._slots.values())
        busy = tuple([slot for slot in slots if not slot.is_quiet])
        return SlotSet(
            slots,
            busy,
            made={maker: tuple(group) for maker, group in made.items()},
            unavailable=len([slot for slot in slots if not slot.is_available]),
            surge=sum([slot.surge for slot in busy]),  # a quiet slot holds one child
        )

    def _regrouped(self, groups: Mapping[str, Child | list[Child]]) -> dict[str, Slot]:
        before = self._slots
        names = before if groups.keys() == before.keys() else sorted(groups, key=_natural)
        out: dict[str, Slot] = {}
        for name in names:
            group, kept = groups[name], before.get(name)
            if isinstance(group, list):
                out[name] = slot_of(name, group)
            elif kept is not None and kept.children[0] is group and len(kept.children) == 1:
                out[name] = kept
            else:
                out[name] = slot_of(name, (group,))
        return out


def fleet_of(children: Iterable[Child]) -> SlotSet:
    """Group children by slot, once."""
    return Grouping().fleet_of(children)
