"""Fleets: the children of one owner as a rollout sees them, grouped by the slot they fill.

A slot is one of the things the owner wants to exist: usually one child, two while a replacement is on its way, none for
a moment where the old one has to go first. A slot is available while any child in it is ready, so swapping a child for
a ready one costs nothing, and an unready child costs the same whoever broke it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a child is."""

    CREATING = "creating"
    READY = "ready"
    UNHEALTHY = "unhealthy"  # it was ready once
    FAILED = "failed"  # it never became ready and will not
    REMOVING = "removing"
    GONE = "gone"  # not a child but the place of one: the slot is to be filled


@dataclass(frozen=True, slots=True)
class Child:
    """One child, or the empty place of one; whoever calls has intents that were begun in here already."""

    slot: str
    name: str
    revision: int  # ordinal it was born from
    state: State = State.READY
    ready_since: float = 0.0
    made_by: str = ""  # the rollout that created it
    attempt: int = 0  # which try of that rollout for this slot
    reason: str = "spec"  # the class of finding that a budget is for
    first_seen: float = 0.0  # of the finding that wants it replaced
    is_idle: bool = False
    topology: str = ""  # zone, rack, host: what replacements are spread over
    held_until: float | None = None  # infinity: until somebody lifts the hold
    is_exempt: bool = False  # nothing that asks for action was found: latent, unknown, or adopted as it is

    @property
    def is_settled(self) -> bool:
        """Whether nothing is being done to it; one that failed is waited for only by the rollout that made it."""
        return self.state in {State.READY, State.UNHEALTHY} or (self.state is State.FAILED and not self.made_by)


@dataclass(frozen=True, slots=True)
class Slot:
    """What fills one place, oldest revision first."""

    name: str
    children: tuple[Child, ...]

    @property
    def is_available(self) -> bool:
        """Whether something in it serves."""
        return any(child.state is State.READY for child in self.children)

    @property
    def living(self) -> tuple[Child, ...]:
        """The children that exist, so that they are paid for."""
        return tuple(child for child in self.children if child.state is not State.GONE)

    @property
    def surge(self) -> int:
        """How many children it has beyond the one it should have."""
        return max(0, len(self.living) - 1)

    @property
    def is_quiet(self) -> bool:
        """Whether it holds one child and nothing is being done to it."""
        return len(self.living) == 1 and self.living[0].is_settled

    def made_by(self, rollout: str) -> Child | None:
        """Return the child that a rollout has put here."""
        return next((child for child in self.living if child.made_by == rollout), None)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All slots of an owner, by name."""

    slots: tuple[Slot, ...]

    @property
    def unavailable(self) -> int:
        """How many slots serve nobody now, whatever the cause."""
        return sum(not slot.is_available for slot in self.slots)

    @property
    def surge(self) -> int:
        """How many children there are beyond one a slot."""
        return sum(slot.surge for slot in self.slots)


def fleet_of(children: Iterable[Child]) -> Fleet:
    """Group children by slot."""
    groups: dict[str, list[Child]] = defaultdict(list)
    for child in children:
        groups[child.slot].append(child)
    ordered = ((name, sorted(group, key=lambda child: (child.attempt, child.name))) for name, group in groups.items())
    return Fleet(tuple(Slot(name, tuple(group)) for name, group in sorted(ordered)))
