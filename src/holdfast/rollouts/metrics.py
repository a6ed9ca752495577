"""Counting the children of templates: what they do, what they were made from, what their owners find. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

from holdfast.metrics import definitions
from holdfast.metrics.families import Samples
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.rollouts import child_status, serialization
from holdfast.rollouts.core import group_views, records, rollout_limits, rollout_steps, template_groups
from holdfast.rollouts.core.records import OVER, Rollout, RolloutPhase
from holdfast.rollouts.core.rollout_limits import EVERY_REASON, Health, RolloutLimits
from holdfast.rollouts.core.slots import Child, ChildState, SlotSet, fleet_of
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, OwnerRevision, RolloutRecord, TemplateGroup
from holdfast.rollouts.core.templates import Template
from holdfast.store.governance import Pause
from holdfast.store.protocol import Store
from holdfast.store.records import VersionedRecord


def count_owners(readings: Samples, owners: Mapping[str, OwnerRecord]) -> None:
    """Count what there is of every owner, with or without children."""
    for owned in owners.values():
        name = owned.template.name
        readings.put(definitions.REVISIONS, name, value=owned.record.current)
        readings.add(definitions.ACTIVATIONS, name, by=0)
        if owned.generations:
            readings.add(definitions.HALTS, name, by=0)
            readings.add(definitions.UP_TO_DATE, name, by=0)
            readings.add(definitions.RESTAMPED, name, by=0)
            for state in ChildState:
                readings.add(definitions.CHILDREN, name, state.value, by=0)


@dataclass(slots=True)
class ChildCounter:
    """Counts the children of one template group, one by one; those that were made alike are judged once."""

    readings: Samples
    group: TemplateGroup  # its children are not asked for
    owners: Mapping[str, OwnerRecord]  # by uid, all there are
    _fits: dict[tuple[tuple[str, OwnerRevision], ...], bool] = field(default_factory=dict)

    def count(self, child: ChildRecord) -> None:
        """Count one child."""
        template = self.group.template.name
        self.readings.add(definitions.CHILDREN, template, child.state.value)
        if child.state is not ChildState.EMPTY:
            fine = child.state is ChildState.READY and self._is_current(child)
            self.readings.add(definitions.UP_TO_DATE, template, by=fine)
            self.readings.add(definitions.RESTAMPED, template, by=self._is_restamped(child))
            for uid, birth in child.births.items():
                revision = "unknown" if birth.revision is None else str(birth.revision)
                self.readings.add(definitions.MADE_FROM, template, self._name(uid), revision)
        for finding in child.findings:
            labels = (template, self._name(finding.owner), finding.kind.value, finding.reason)
            self.readings.add(definitions.TEMPLATE_FINDINGS, *labels)

    def _name(self, uid: str) -> str:
        owned = self.owners.get(uid)
        return uid if owned is None else owned.template.name

    def _is_current(self, child: ChildRecord) -> bool:
        key = tuple(child.births.items())
        if key not in self._fits:
            self._fits[key] = template_groups.fits(self.group, child, self.group.current) is True
        return self._fits[key]

    def _is_restamped(self, child: ChildRecord) -> bool:
        births = ((self.owners.get(uid), birth) for uid, birth in child.births.items())
        return any(owned is not None and is_restamped(owned, birth) for owned, birth in births)


def is_restamped(owned: OwnerRecord, birth: OwnerRevision) -> bool:
    """Return True if a stamp is not the one that a child was born with.

    It was made by the scheme of the regime that the child was born in, from the revision that it was made from. Where
    these are not kept any more, nothing can be told.
    """
    if birth.stamp is None or birth.revision is None or birth.regime is None:
        return False
    revision = owned.record.revision(birth.revision)
    digests = None if revision is None else revision.digests.get(birth.stamp.scheme)
    if digests is not None and digests.declared != birth.stamp.digest:
        return True
    first = min((regime.index for regime in owned.record.regimes if regime.scheme == birth.stamp.scheme), default=None)
    return first is not None and first > birth.regime


@dataclass(frozen=True, slots=True)
class RolloutContext:
    """The inputs of a rollout's metrics in addition to its template group."""

    now: float
    unwell: Collection[Address] = ()
    is_paused: bool = False  # by a pause of everything, or of what the children are
    has_unready_parts: bool = False
    is_declared: bool = False  # the template is that of the manifests; if not, its limits are not known
    gates: Mapping[str, Health] = field(default_factory=dict)


def count(readings: Samples, group: TemplateGroup, around: RolloutContext) -> None:
    """Count the newest rollout of a template group, which has its children if the rollout is not over."""
    if group.rollout is None:
        return
    name, rollout = group.template.name, group.rollout.rollout
    for phase in RolloutPhase:
        readings.put(definitions.PHASE, name, phase.value, value=phase is rollout.phase)
    readings.put(definitions.WAVE, name, value=rollout.wave)
    readings.put(definitions.FAILURES, name, value=rollout.failed)
    readings.put(definitions.PROGRESSED, name, value=rollout.progress.at)
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
            **{reason: rollout_limits.budget(limits, reason, size) for reason in reasons},
        }
        for budget, value in allowed.items():
            readings.put(definitions.BUDGET_ALLOWED, name, budget, value=value)
            used.setdefault(budget, 0)
    for budget, value in used.items():
        readings.put(definitions.BUDGET_USED, name, budget, value=value)


def _causes(rollout: Rollout, children: Iterable[Child], limits: RolloutLimits, around: RolloutContext) -> set[str]:
    """Return the reasons why a rollout waits, each in one word."""
    told = {"pause": around.is_paused, "part": around.has_unready_parts, "window": rollout.is_closed}
    out = {cause for cause, is_so in told.items() if is_so}
    if rollout.phase in {RolloutPhase.PAUSED, RolloutPhase.HALTED}:
        return {*out, rollout.phase.value}
    if around.is_declared:
        texts = rollout_steps.blocked_by(rollout, children, limits, around.now)
        out |= {text.split(maxsplit=1)[0].rstrip(":") for text in texts}
    return out


@dataclass(slots=True)
class RolloutSamples:
    """Adds the samples of templates and rollouts, one page of children at a time.

    All children of a template are in memory only while its rollout is under way.
    """

    store: Store
    now: float
    readings: Samples
    declared: Mapping[str, Template]  # by uid: the templates of the manifests

    async def collect(self, pauses: Sequence[Pause]) -> None:
        """Add the samples of every template, its children and its newest rollout."""
        collection = self.store.records(serialization.TEMPLATES)
        owners = {record.data["uid"]: self._owned(record) async for record in collection}
        count_owners(self.readings, owners)
        for owned in owners.values():
            if owned.generations:
                await self._group(owned, owners, pauses)

    def _owned(self, record: VersionedRecord) -> OwnerRecord:
        """Return an owner with the template that is declared, or else with as much of it as is recorded."""
        declared = self.declared.get(record.data["uid"])
        if declared is not None:
            return serialization.owner_of(declared, record)
        owned = serialization.owner_of(Template(record.key, {}), record)
        return replace(owned, template=owned.template.as_of(owned.record.latest))

    async def _group(self, lead: OwnerRecord, owners: Mapping[str, OwnerRecord], pauses: Sequence[Pause]) -> None:
        name, uids = lead.template.name, lead.generations[-1].births.keys()
        parts = [owned for uid, owned in owners.items() if uid in uids and uid != lead.uid]
        former = {uid: owned for uid, owned in owners.items() if uid not in uids}
        newest = await self._newest(name)
        group = TemplateGroup(lead.template, (*parts, lead), rollout=newest, former=former)
        is_rolling = newest is not None and newest.rollout.phase not in OVER
        counting = ChildCounter(self.readings, group, owners)
        children, scopes = [], {""}
        async for record in self.store.records(serialization.CHILDREN, owner=name):
            child = serialization.child_of(record)
            counting.count(child)
            scopes |= {child.address.connection, f"{child.address.connection}/{child.address.kind}"}
            if is_rolling:
                children.append(child)
        group = group.with_children(children)
        around = (
            await self._around(group, is_paused=any(pause.scope in scopes for pause in pauses)) if is_rolling else None
        )
        count(self.readings, group, around or RolloutContext(self.now))

    async def _newest(self, name: str) -> RolloutRecord | None:
        newest = None
        async for record in self.store.records(serialization.ROLLOUTS, owner=name):
            newest = record
        return None if newest is None else serialization.rollout_of(newest)

    async def _around(self, group: TemplateGroup, *, is_paused: bool) -> RolloutContext:
        return RolloutContext(
            self.now,
            (await child_status.condition(self.store, group)).unwell,
            is_paused=is_paused,
            has_unready_parts=bool(await child_status.unready_parts(self.store, group)),
            is_declared=group.lead.uid in self.declared,
            gates=await child_status.gates(self.store, group),
        )
