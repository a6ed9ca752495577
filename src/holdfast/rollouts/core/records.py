"""Records of rollouts: the saved state of one, its steps, and its reading of a slot.

The module holds data and the few queries that every part of a rollout uses. The decisions are in `rollout_steps` and
`scheduler`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final, NamedTuple

from holdfast.model.record import dataclass
from holdfast.rollouts.core.slots import Child, ChildState, Slot, SlotSet


class RolloutPhase(StrEnum):
    """Phase of a rollout."""

    PENDING = "pending"
    CANARY = "canary"
    PROGRESSING = "progressing"
    PAUSED = "paused"
    HALTED = "halted"
    COMPLETE = "complete"
    ROLLED_BACK = "rolled-back"
    SUPERSEDED = "superseded"


OVER: Final = frozenset({RolloutPhase.COMPLETE, RolloutPhase.ROLLED_BACK, RolloutPhase.SUPERSEDED})
_SERVING: Final = (ChildState.READY, ChildState.UNHEALTHY)
BEGINNING: Final = frozenset({RolloutPhase.CANARY, RolloutPhase.PROGRESSING})


class SlotFailures(NamedTuple):
    """Failures in one slot."""

    times: int
    last_at: float


@dataclass(frozen=True, slots=True)
class RolloutTarget:
    """Target revision, and the ordinals that equal it under the scheme. Their children need no replacement."""

    revision: int
    accepts: frozenset[int]


class RolloutProgress(NamedTuple):
    """Highest number of ready replacements, and the time it was reached."""

    ready: int = 0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Rollout:
    """Saved state of a rollout. Each save is a compare-and-swap on `version`."""

    id: str
    target: RolloutTarget
    previous: RolloutTarget | None  # target of an automatic rollback; None: no rollback
    started_at: float
    phase: RolloutPhase = RolloutPhase.PENDING
    wave: int = 0
    failures: Mapping[str, SlotFailures] = field(default_factory=dict)  # by slot
    forgiven: int = 0  # failures before the last resume
    progress: RolloutProgress = field(default_factory=RolloutProgress)
    well_since: float | None = None  # since when the wave is complete and healthy
    is_closed: bool = False  # a window was closed at the last pass
    is_going_back: bool = False
    resumes_to: RolloutPhase | None = None
    why: str = ""
    version: int = 1

    @property
    def maker(self) -> str:
        """Mark that its replacements carry. It separates children of a rollback from those that are rolled back."""
        return f"{self.id}/back" if self.is_going_back else self.id

    @property
    def failed(self) -> int:
        """Number of replacements that failed since the rollout was started or resumed."""
        return sum(failure.times for failure in self.failures.values()) - self.forgiven


@dataclass(frozen=True, slots=True)
class SaveRollout:
    """Step that stores the rollout if its version is `expected`. Otherwise read again and drop the other steps."""

    expected: int
    rollout: Rollout


@dataclass(frozen=True, slots=True)
class CreateChild:
    """Step that creates a child of a revision in a slot. The key names the child: a repeated key is the same child."""

    key: str
    slot: str
    revision: int
    made_by: str
    attempt: int
    reason: str  # kept with the child: a budget counts the slot under it until the slot is done
    child: str = ""  # existing child that gets the content of the revision; empty: a new child is created


@dataclass(frozen=True, slots=True)
class RemoveChild:
    """Step that removes a child. A child that is already deleted counts as removed."""

    key: str
    slot: str
    child: str
    why: str


Step = SaveRollout | CreateChild | RemoveChild


def made(rollout: Rollout, fleet: SlotSet) -> tuple[Child, ...]:
    """Return the children that a rollout created in its present direction."""
    return fleet.made.get(rollout.maker, ())


def taken(rollout: Rollout, fleet: SlotSet) -> int:
    """Return how many slots a rollout has started or finished, which is the number that waves count."""
    mine = {child.slot for child in made(rollout, fleet)}
    return len(mine | {slot.name for slot in fleet.busy if _is_emptied(slot)})


def _is_emptied(slot: Slot) -> bool:
    return all(child.state in {ChildState.EMPTY, ChildState.REMOVING} for child in slot.children)


def at_work(rollout: Rollout, fleet: SlotSet) -> list[Slot]:
    """Return the active slots. They count against budgets until they are done."""
    return [slot for slot in fleet.busy if not is_done(rollout, slot)]


def is_done(rollout: Rollout, slot: Slot) -> bool:
    """Return True if a slot matches the target or must not be touched."""
    if len(slot.living) != 1:
        return False
    child = slot.living[0]
    if child.is_exempt and child.is_settled and child.made_by not in {rollout.id, rollout.maker}:
        return True
    return child.revision in rollout.target.accepts and child.state in _SERVING
