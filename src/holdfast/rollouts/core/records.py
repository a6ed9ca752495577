"""Records of rollouts: what is saved of one, the steps it asks for, and what it makes of a slot.

Data and the few questions that every part of a rollout asks; the decisions are in `rollout_progress` and
`rollout_work`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final, NamedTuple

from holdfast.model.record import dataclass
from holdfast.rollouts.core.slots import Child, ChildState, Slot, SlotSet


class RolloutPhase(StrEnum):
    """Where a rollout is."""

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
    """What went wrong in one slot."""

    times: int
    last_at: float


@dataclass(frozen=True, slots=True)
class RolloutTarget:
    """A revision to come to, and the ordinals that equal it under the scheme: their children need not be replaced."""

    revision: int
    accepts: frozenset[int]


class RolloutProgress(NamedTuple):
    """The highest number of ready replacements, and when it was reached."""

    ready: int = 0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Rollout:
    """What has to be saved of a rollout; each save is a compare-and-swap on `version`."""

    id: str
    target: RolloutTarget
    previous: RolloutTarget | None  # where an automatic rollback goes; None: nowhere
    started_at: float
    phase: RolloutPhase = RolloutPhase.PENDING
    wave: int = 0
    failures: Mapping[str, SlotFailures] = field(default_factory=dict)  # by slot
    forgiven: int = 0  # failures from before it was resumed
    progress: RolloutProgress = field(default_factory=RolloutProgress)
    well_since: float | None = None  # since when the wave is complete and well
    is_closed: bool = False  # a window was closed when it was last looked at
    is_going_back: bool = False
    resumes_to: RolloutPhase | None = None
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


@dataclass(frozen=True, slots=True)
class SaveRollout:
    """Store the rollout if the stored version is `expected`; if not, read again and drop the other steps."""

    expected: int
    rollout: Rollout


@dataclass(frozen=True, slots=True)
class CreateChild:
    """Make a child of a revision in a slot. The key names the child: the same key twice is the same child."""

    key: str
    slot: str
    revision: int
    made_by: str
    attempt: int
    reason: str  # to be kept with the child: a budget counts the slot by it until it is done
    child: str = ""  # that is there and gets the content of the revision; else a new one is made


@dataclass(frozen=True, slots=True)
class RemoveChild:
    """Remove a child; one that is gone is removed."""

    key: str
    slot: str
    child: str
    why: str


Step = SaveRollout | CreateChild | RemoveChild


def made(rollout: Rollout, fleet: SlotSet) -> tuple[Child, ...]:
    """Return the children that a rollout, in its present direction, has put there."""
    return fleet.made.get(rollout.maker, ())


def taken(rollout: Rollout, fleet: SlotSet) -> int:
    """Return how many slots a rollout has taken up, finished or not: what waves count."""
    mine = {child.slot for child in made(rollout, fleet)}
    return len(mine | {slot.name for slot in fleet.busy if _is_emptied(slot)})


def _is_emptied(slot: Slot) -> bool:
    return all(child.state in {ChildState.GONE, ChildState.REMOVING} for child in slot.children)


def at_work(rollout: Rollout, fleet: SlotSet) -> list[Slot]:
    """Return the slots in which something is being done: they count against budgets until it is done."""
    return [slot for slot in fleet.busy if not is_done(rollout, slot)]


def is_done(rollout: Rollout, slot: Slot) -> bool:
    """Return True if a slot is as the target wants it, or is not to be touched."""
    if len(slot.living) != 1:
        return False
    child = slot.living[0]
    if child.is_exempt and child.is_settled and child.made_by not in {rollout.id, rollout.maker}:
        return True
    return child.revision in rollout.target.accepts and child.state in _SERVING
