"""Counting rollouts: where they are, what they have done, what they take, and what they wait for. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.metrics import definitions
from holdfast.metrics.families import Samples
from holdfast.model.address import Address
from holdfast.rollouts.core import group_views, records, rollout_limits, rollout_steps
from holdfast.rollouts.core.records import OVER, Rollout, RolloutPhase
from holdfast.rollouts.core.rollout_limits import EVERY_REASON, Health, RolloutLimits
from holdfast.rollouts.core.slots import Child, SlotSet, fleet_of
from holdfast.rollouts.core.template_groups import TemplateGroup


@dataclass(frozen=True, slots=True)
class Around:
    """What a rollout depends on besides its template group."""

    now: float
    unwell: Collection[Address] = ()
    is_paused: bool = False  # by a pause of everything, or of what the children are
    has_unready_parts: bool = False
    is_declared: bool = False  # the template is that of the manifests; if not, its limits are not known
    gates: Mapping[str, Health] = field(default_factory=dict)


def count(readings: Samples, group: TemplateGroup, around: Around) -> None:
    """Count the newest rollout of a template group, which has its children if the rollout is not over."""
    if group.rollout is None:
        return
    name, rollout = group.template.name, group.rollout.rollout
    for phase in RolloutPhase:
        readings.put(definitions.PHASE, name, phase.value, value=phase is rollout.phase)
    readings.put(definitions.WAVE, name, value=rollout.wave)
    readings.put(definitions.FAILURES, name, value=rollout.failed)
    readings.put(definitions.PROGRESSED, name, value=rollout.progressed_at)
    if rollout.phase in OVER:
        return
    children = group_views.children(group, missing=around.unwell)
    limits = group_views.limits(group, around.gates)
    fleet = fleet_of(children)
    _count_slots(readings, name, rollout, fleet)
    _count_budgets(readings, name, rollout, fleet, limits if around.is_declared else None)
    for cause in _causes(rollout, children, limits, around):
        readings.put(definitions.ROLLOUT_BLOCKED, name, cause, value=1)


def _count_slots(readings: Samples, name: str, rollout: Rollout, fleet: SlotSet) -> None:
    done = {slot.name for slot in fleet.slots if records.is_done(rollout, slot)}
    working = len(records.at_work(rollout, fleet))
    readings.put(definitions.SLOTS, name, "done", value=len(done))
    readings.put(definitions.SLOTS, name, "working", value=working)
    readings.put(definitions.SLOTS, name, "left", value=len(fleet.slots) - len(done) - working)
    readings.put(definitions.BACKING_OFF, name, value=len(rollout.failures.keys() - done))


def _count_budgets(
    readings: Samples, name: str, rollout: Rollout, fleet: SlotSet, limits: RolloutLimits | None
) -> None:
    """Count what is taken, by the names that limits have in manifests; and what may be, if they are at hand."""
    size = len(fleet.slots)
    by_reason = Counter(slot.children[0].reason for slot in records.at_work(rollout, fleet))
    used = {"maxSurge": fleet.surge, "maxUnavailable": fleet.unavailable, **by_reason}
    if limits is not None:
        reasons = {*by_reason, *limits.budgets} - {EVERY_REASON}
        allowed = {
            "maxSurge": rollout_limits.resolve(limits.max_surge, size),
            "maxUnavailable": rollout_limits.resolve(limits.max_unavailable, size),
            **{each: rollout_limits.budget(limits, each, size) for each in reasons},
        }
        for budget, value in allowed.items():
            readings.put(definitions.BUDGET_ALLOWED, name, budget, value=value)
            used.setdefault(budget, 0)
    for budget, value in used.items():
        readings.put(definitions.BUDGET_USED, name, budget, value=value)


def _causes(rollout: Rollout, children: Iterable[Child], limits: RolloutLimits, around: Around) -> set[str]:
    """Return what a rollout waits for, each in one word."""
    told = {"pause": around.is_paused, "part": around.has_unready_parts, "window": rollout.is_closed}
    out = {cause for cause, is_so in told.items() if is_so}
    if rollout.phase in {RolloutPhase.PAUSED, RolloutPhase.HALTED}:
        return {*out, rollout.phase.value}
    if around.is_declared:
        texts = rollout_steps.blocked_by(rollout, children, limits, around.now)
        out |= {text.split(maxsplit=1)[0].rstrip(":") for text in texts}
    return out
