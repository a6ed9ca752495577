"""View of a template group for its rollout: children with their target state, limits with the gate results."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping

from holdfast.model.address import Address
from holdfast.rollouts.core import group_findings, rendering, template_groups
from holdfast.rollouts.core.rollout_limits import Health, Order, RolloutLimits
from holdfast.rollouts.core.slots import Child, ChildState
from holdfast.rollouts.core.template_findings import FindingKind, TemplateFinding
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRevision, RevisionSet, TemplateGroup
from holdfast.rollouts.core.templates import Compatibility, Method

_UNLIKE = -1  # a revision that no target accepts


def is_wanted(group: TemplateGroup, slot: str) -> bool:
    """Return True if `replicas` asks for a slot. Without `replicas` every child has a slot."""
    template = group.template
    if template.replicas is None:
        return True
    index = rendering.index_of(template, slot)
    return index is not None and index < template.replicas


Zones = Callable[[ChildRecord], str]


def children(
    group: TemplateGroup,
    *,
    missing: Collection[Address] = (),
    idle: Collection[Address] = (),
    zones: Zones | None = None,
) -> list[Child]:
    """Return the children as the current rollout sees them. `missing` are known to be deleted or unhealthy."""
    if group.rollout is None:
        return []
    view = View(group, zones)
    wanted = (child for child in group.children.values() if is_wanted(group, child.slot))
    return [view.of(record, is_missing=record.address in missing, is_idle=record.address in idle) for record in wanted]


class View:
    """View of the children for one rollout. Its result for a child is valid while child, target and direction stay."""

    def __init__(self, group: TemplateGroup, zones: Zones | None = None) -> None:
        assert group.rollout is not None
        self._group = group
        self._rollout = group.rollout.rollout
        target = group.generation(self._rollout.target.revision)
        self._is_forward = (
            target is not None
            and template_groups.is_same(group, target, group.current)
            and not self._rollout.is_going_back
        )
        self._fitting = _Fitting(group, target)
        self._zones = zones
        self._has_zones = bool(group.template.rollout.zones)

    @property
    def key(self) -> tuple[object, ...]:
        """Inputs of the view. Two views with the same key give the same result for a child."""
        group = self._group
        records = tuple(owner.record for owner in group.owners)
        return (group.template, records, self._rollout.maker, self._rollout.target, self._rollout.started_at)

    def of(self, child: ChildRecord, *, is_missing: bool = False, is_idle: bool = False) -> Child:
        """Return one child."""
        group, rollout = self._group, self._rollout
        asked = group_findings.asking(group, child) if self._is_forward and child.findings else ()
        is_mine = child.made_by == rollout.maker
        is_broken = not is_mine and any(finding.kind is FindingKind.DYNAMIC for finding in asked)
        fits = self._fits(child, asked)
        is_unknown = fits is None or any(finding.kind is FindingKind.UNKNOWN for finding in child.findings)
        return Child(
            child.slot,
            str(child.address),
            _revision(child, rollout.target.revision, fits=fits, is_broken=is_broken),
            ChildState.UNHEALTHY if child.state is ChildState.READY and is_missing else child.state,
            child.ready_since,
            child.made_by,
            child.attempt,
            reason=asked[0].kind.value if asked and not is_mine else child.reason,
            first_seen=min(finding.first_seen for finding in child.findings) if child.findings else child.since,
            is_idle=is_idle,
            topology=self._topology(child),
            held_until=self._held_until(child),
            is_exempt=is_unknown or (self._is_forward and not asked),
            is_rewritten=fits is False and not is_broken and self._fitting.is_near(child),
        )

    def _fits(self, child: ChildRecord, asked: Collection[TemplateFinding]) -> bool | None:
        """Return True if a child matches the target. Under Option 1 only its findings can decide this."""
        if self._is_forward and self._group.template.stamps.compatibility is Compatibility.OPTION1:
            return not asked
        return self._fitting.of(child)

    def _topology(self, child: ChildRecord) -> str:
        if self._zones is not None:
            return self._zones(child)
        return rendering.zone_of(self._group.template, child.slot) if self._has_zones else ""

    def _held_until(self, child: ChildRecord) -> float | None:
        hold = self._group.template.rollout.holds.get(child.slot)
        return None if hold is None else math.inf if math.isinf(hold) else self._rollout.started_at + hold


def _revision(child: ChildRecord, target: int, *, fits: bool | None, is_broken: bool) -> int:
    """Return the revision to report to the rollout: the target's for a child that fits it by any rule."""
    if is_broken:
        return _UNLIKE
    if fits:
        return target
    return _UNLIKE if child.generation == target and fits is False else child.generation


class _Fitting:
    """Cache of the comparison of children with a target, computed once per distinct origin."""

    def __init__(self, group: TemplateGroup, target: RevisionSet | None) -> None:
        self._group = group
        self._target = target
        self._known: dict[tuple[tuple[str, OwnerRevision], ...], bool | None] = {}
        self._near: dict[tuple[tuple[str, OwnerRevision], ...], bool] = {}
        self._rewrites = group.template.rollout.method is not Method.REWRITE and any(
            owner.template.fields.rewritten for owner in group.owners
        )

    def of(self, child: ChildRecord) -> bool | None:
        if self._target is None:
            return None
        key = tuple(child.births.items())
        if key not in self._known:
            self._known[key] = template_groups.fits(self._group, child, self._target)
        return self._known[key]

    def is_near(self, child: ChildRecord) -> bool:
        """Return True if a child only has to be rewritten."""
        if self._target is None or not self._rewrites:
            return False
        key = tuple(child.births.items())
        if key not in self._near:
            self._near[key] = template_groups.needs_content_only(self._group, child, self._target)
        return self._near[key]


def limits(group: TemplateGroup, gates: Mapping[str, Health] | None = None) -> RolloutLimits:
    """Return the limits of a template group's rollout. A child counts as unavailable while it is rewritten."""
    is_surging = group.template.rollout.method is Method.REPLACE_BEFORE_REMOVE
    order = Order.REPLACE_BEFORE_REMOVE if is_surging else Order.REMOVE_FIRST
    return dataclasses.replace(group.template.rollout.limits, order=order, gates=gates or {})
