"""Rollout previews: the steps of a rollout if every write succeeds, computed by a simulated run of the core."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from holdfast.model.record import dataclass
from holdfast.rollouts.core import rollout_steps
from holdfast.rollouts.core.records import OVER, CreateChild, RemoveChild, Rollout, RolloutPhase, SaveRollout, Step
from holdfast.rollouts.core.rollout_limits import Health, RolloutLimits
from holdfast.rollouts.core.slots import Child, ChildState

_MOST_PASSES = 100_000


@dataclass(frozen=True, slots=True)
class Preview:
    """Number of slots in each wave, the canary first, and number of slots that stay unchanged."""

    waves: tuple[int, ...]
    total: int  # slots
    left: int  # slots that stay unchanged: partition, holds, limits that resolve to zero
    seconds: float  # waiting time only: soak and minimum readiness
    rewritten: int = 0  # rolled slots that get new content in place and are not replaced

    @property
    def rolled(self) -> int:
        """Number of slots that are rolled."""
        return sum(self.waves)


def preview(rollout: Rollout, children: Iterable[Child], limits: RolloutLimits, now: float) -> Preview:
    """Return the expected steps from here. Windows count as open and gates as passing."""
    limits = dataclasses.replace(limits, windows=(), gates=dict.fromkeys(limits.gates, Health.PASS))
    children = list(children)
    now = max(
        [now, rollout.well_since or now, *(item.ready_since for item in children)]
    )  # no recorded time lies in the future
    paper = _Paper(
        rollout
        if rollout.phase not in {RolloutPhase.PAUSED, RolloutPhase.HALTED}
        else rollout_steps.resume(rollout, now),
        now,
    )
    paper.take(children)
    wait = max(1.0, limits.waves.soak, limits.min_ready)
    for _ in range(_MOST_PASSES):
        steps = rollout_steps.next_steps(paper.rollout, list(paper.children.values()), limits, paper.now)
        if paper.rollout.phase in OVER:
            break
        if not steps:
            if paper.idle >= 1:
                break
            paper.idle += 1
            paper.now += wait
            continue
        paper.idle = 0
        for step in steps:
            paper.carry_out(step)
    slots = {child.slot for child in paper.children.values()}
    waves = tuple(len(paper.waves[wave]) for wave in sorted(paper.waves))
    return Preview(waves, len(slots), len(slots) - sum(waves), max(0.0, paper.now - now), len(paper.rewritten))


class _Paper:
    """Simulated rollout: every step succeeds at once."""

    def __init__(self, rollout: Rollout, now: float) -> None:
        self.rollout = rollout
        self.now = now
        self.idle = 0
        self.children: dict[str, Child] = {}
        self.waves: dict[int, set[str]] = {}
        self.rewritten: set[str] = set()
        self._slots: dict[str, dict[str, Child]] = {}

    def take(self, children: Iterable[Child]) -> None:
        """Start with these children."""
        for child in children:
            self._put(child)

    def _put(self, child: Child) -> None:
        self.children[child.name] = child
        self._slots.setdefault(child.slot, {})[child.name] = child

    def _drop(self, child: Child) -> None:
        del self.children[child.name]
        del self._slots[child.slot][child.name]

    def carry_out(self, step: Step) -> None:
        match step:
            case SaveRollout(rollout=rollout):
                self.rollout = rollout
            case CreateChild():
                self._create(step)
            case RemoveChild():
                child = self.children[step.child]
                self._drop(child)
                if not self._slots[child.slot]:
                    self._put(dataclasses.replace(child, state=ChildState.EMPTY))

    def _create(self, step: CreateChild) -> None:
        old = next(iter(self._slots.get(step.slot, {}).values()), None)
        if old is not None and (old.state is ChildState.EMPTY or old.name == step.child):
            self._drop(old)
        zone = old.topology if old is not None else ""
        made = (ChildState.READY, self.now, step.made_by, step.attempt, step.reason)
        self._put(Child(step.slot, step.key, step.revision, *made, topology=zone))
        self.waves.setdefault(self.rollout.wave, set()).add(step.slot)
        if step.child:
            self.rewritten.add(step.slot)
