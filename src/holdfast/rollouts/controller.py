"""Rollout controller: carries out the steps of rollouts through the same engine as every other write.

A pass asks the pure core for steps and writes the intents and the rollout in one transaction. It then carries them
out: children in state CREATING are applied, children in state REMOVING are deleted. If the process is killed at any
point, the next pass finds the intents and continues. A child that was already created is found in sync and counts as
created.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceSet
from holdfast.rollouts import adopt_scan, child_status, concurrency, preconditions, serialization
from holdfast.rollouts.concurrency import ConcurrencyBudget
from holdfast.rollouts.core import group_rollouts, group_views, rendering, rollout_steps, scheduler, template_groups
from holdfast.rollouts.core.records import OVER, CreateChild, RemoveChild, Rollout, SaveRollout, Step
from holdfast.rollouts.core.rollout_limits import Amount
from holdfast.rollouts.core.slots import Child, ChildState, Grouping
from holdfast.rollouts.core.template_groups import ChildRecord, TemplateGroup
from holdfast.rollouts.core.templates import Method, Template
from holdfast.rollouts.preconditions import Guard
from holdfast.rollouts.repository import ASK_AGAIN_SECONDS, GroupChanges, RolloutRepository
from holdfast.store.records import AuditEvent, VersionConflict

AT_ONCE: Final = 1000  # children that are applied in one batch
IN_HAND: Final = 16  # writes in flight per batch: at most this many still finish after a stop


@dataclass(slots=True)
class RolloutResult:
    """Result of a rollout run."""

    groups: list[TemplateGroup] = field(default_factory=list)
    reports: list[RunReport] = field(default_factory=list)


@dataclass(slots=True)
class _ViewCache:
    """Views of the children from the last pass over a template group. Only changed children are computed again."""

    key: object = None  # key of the view that produced them
    children: dict[int, tuple[ChildRecord, Child | None]] = field(
        default_factory=dict
    )  # by identity, while the record is kept
    grouping: Grouping = field(default_factory=Grouping)


@dataclass(slots=True)
class RolloutController:
    """Controller that moves the children of templates to the target of their rollouts."""

    repository: RolloutRepository
    templates: Sequence[Template]
    around: Mapping[Address, Declaration]  # other declarations
    base: ResourceSet  # strategies, settings, profiles
    applier: Callable[[ResourceSet], Applier]
    known: Sequence[Address] = ()  # further addresses that references may name
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    progress: Callable[[RunReport], None] | None = None
    at_once: Amount | None = None  # active slots over all templates; None: no limit beyond that of each template
    _views: dict[str, _ViewCache] = field(default_factory=dict)  # by template
    _sizes: dict[str, int] = field(default_factory=dict)  # slots, by template
    _moves: dict[str, int] = field(default_factory=dict)  # budget moves at the time a template was last read

    def now(self) -> float:
        """Return the current time."""
        return self.repository.clock.now()

    async def run(self, names: Collection[str] | None = None) -> RolloutResult:
        """Settle all templates, then advance the rollouts of all or the named templates until they have to wait."""
        out = RolloutResult()
        await self._note_turns(template.name for template in self.templates)
        settled = await self.settle()
        self._sizes = {item.template.name: concurrency.slots(item) for item in settled}
        chosen = [item for item in settled if names is None or item.template.name in names]
        rolled = {item.template.name: rendering.at_hand(item, self.around) for item in chosen}
        for _ in range(1 if self.at_once is None else len(chosen) + 1):
            before = await self._turns_version()
            for group in list(rolled.values()) if self.at_once is None else concurrency.in_turn(rolled.values()):
                rolled[group.template.name] = await self.roll(group, out.reports)
            if await self._turns_version() == before:  # no process released a slot that another template may wait for
                break
        out.groups += rolled.values()
        return out

    async def _note_turns(self, names: Iterable[str]) -> None:
        """Remember the concurrency version before reading, to detect writers that got ahead of us."""
        if self.at_once is not None:
            turns = await concurrency.read(self.repository.store)
            self._moves |= {name: turns.of(name).moves for name in names}

    async def _turns_version(self) -> int:
        return 0 if self.at_once is None else (await concurrency.read(self.repository.store)).version

    async def _turns(self, group: TemplateGroup) -> ConcurrencyBudget | None:
        """Return the concurrency budget. Raise VersionConflict if another process rolls the same template."""
        if self.at_once is None:
            return None
        name, turns = group.template.name, await concurrency.read(self.repository.store)
        if turns.of(name).moves != self._moves.get(name, 0):
            raise VersionConflict(serialization.TEMPLATES, name)
        return turns

    async def settle(self) -> list[TemplateGroup]:
        """Check resources without a record, then record the declarations unless they contain a secret."""
        await adopt_scan.survey(self.repository, self.templates, self.around, self._look)
        moved = [template for template in self.templates if await self._is_new(template)]
        if moved:
            for part in moved:
                await self._refuse_secrets_of_part(part)
            for group in await self.repository.look(self.templates, self.around):
                await self._refuse_secrets(rendering.at_hand(group, self.around))
        return await self.repository.settle(self.templates, self.around)

    async def _look(self, wanted: Sequence[Declaration]) -> None:
        applier = self.applier(self._fleet(wanted))
        await check_resources(applier.preparer, applier.checker)

    async def _is_new(self, template: Template) -> bool:
        return template_groups.step(template, await self.repository.owner(template)) is not None

    async def _refuse_secrets(self, group: TemplateGroup) -> None:
        """Refuse a group whose children would contain a secret. One child is checked because all are alike."""
        for child in [*group.children.values(), *rendering.imagined(group)][:1]:
            newest = replace(child, births=template_groups.born(group, group.current))
            declared = rendering.declaration(group, newest, self.around)
            ready, _ = await self.applier(self._fleet([declared])).preparer.prepare([declared.address])
            for item in ready:
                preconditions.refuse_clear(group, newest, item)

    async def _refuse_secrets_of_part(self, part: Template) -> None:
        declared = None if part.address is None else self.around.get(part.address)
        if declared is not None:
            ready, _ = await self.applier(self._fleet([declared])).preparer.prepare([declared.address])
            for item in ready:
                preconditions.refuse_clear_part(part, item)

    async def roll(self, group: TemplateGroup, reports: list[RunReport]) -> TemplateGroup:
        """Run passes over one template group until it waits or is finished."""
        while not self.stop.is_set():
            try:
                group, is_moved = await self._pass(group, reports)
            except VersionConflict as error:
                if (
                    error.collection == concurrency.COLLECTION
                ):  # the template group is unchanged, only the concurrency budget changed
                    continue
                await self._note_turns([group.template.name])
                settled = await self.repository.settle(self.templates, self.around)
                (group,) = [item for item in settled if item.template.name == group.template.name]
                group = rendering.at_hand(group, self.around)
                continue
            if not is_moved:
                break
        try:
            group = await self._given_back(group)
            group = await self.repository.judged(group)
        except VersionConflict:  # the faster process has judged the group as well
            return group
        return await self._rest(group)

    async def _pass(self, group: TemplateGroup, reports: list[RunReport]) -> tuple[TemplateGroup, bool]:
        before = group
        group = await self._steps(group)
        group = await self._carried_out(group, reports)
        return group, group is not before

    async def _steps(self, group: TemplateGroup) -> TemplateGroup:
        """Ask the core for steps, and record them as intents together with the rollout."""
        file, store = group.rollout, self.repository.store
        if file is None or file.rollout.phase in OVER or await self._is_paused(group):
            return group
        if await preconditions.has_moved(store, group):  # a person may have paused it
            raise VersionConflict(serialization.ROLLOUTS, group.template.name)
        if await child_status.unready_parts(store, group):
            return group
        seen = self._seen(group, await child_status.condition(store, group))
        limits = group_views.limits(group, await child_status.gates(store, group))
        turns, now = await self._turns(group), self.now()
        if turns is not None and self.at_once is not None:
            limits = replace(limits, turns=turns.left_for(group.template.name, self.at_once, self._sizes))
        steps = rollout_steps.next_steps(file.rollout, seen, limits, now, self._grouped(group))
        batch = self._intents(group, steps, now)
        if turns is not None:
            begun = {step.slot for step in steps if not isinstance(step, SaveRollout)}
            self._take_turns(batch, group, turns, self._working(group, seen, begun), is_begun=bool(begun))
        return await self._kept(group, batch)

    def _working(self, group: TemplateGroup, seen: Sequence[Child], begun: Collection[str] = ()) -> int:
        """Return how many slots are active."""
        file = group.rollout
        if file is None or file.rollout.phase in OVER:
            return 0
        return len(scheduler.working(file.rollout, self._grouped(group).fleet_of(seen)) | set(begun))

    def _take_turns(
        self,
        batch: GroupChanges,
        group: TemplateGroup,
        turns: ConcurrencyBudget,
        working: int,
        *,
        is_begun: bool = False,
    ) -> None:
        name = group.template.name
        after = turns.with_working(name, working, self._sizes.get(name, 0), is_begun=is_begun)
        batch.besides += [] if after is None else [after]

    async def _kept(self, group: TemplateGroup, batch: GroupChanges) -> TemplateGroup:
        """Commit changes, if there are any, and count the budget write they contain."""
        if not batch:
            return group
        group = await self.repository.commit(group, batch)
        if batch.besides:
            name = group.template.name
            self._moves[name] = self._moves.get(name, 0) + 1
        return group

    async def _given_back(self, group: TemplateGroup) -> TemplateGroup:
        """Release the concurrency slots in which no work remains."""
        while (turns := await self._turns(group)) is not None:
            seen = [] if group.rollout is None else group_views.children(group)
            batch = GroupChanges()
            self._take_turns(batch, group, turns, self._working(group, seen))
            try:
                return await self._kept(group, batch)
            except VersionConflict:
                continue
        return group

    def _seen(self, group: TemplateGroup, seen: child_status.ChildCondition) -> list[Child]:
        """Return the children as the rollout sees them. Unchanged children reuse the view of the last pass."""
        view = group_views.View(group, self._zones(group))
        known = self._views.setdefault(group.template.name, _ViewCache())
        before = known.children if known.key == view.key else {}
        odd, shown = {*seen.unwell, *seen.idle}, []
        after: dict[int, tuple[ChildRecord, Child | None]] = {}
        for child in group.children.values():
            kept = before.get(id(child))
            if kept is None or (odd and child.address in odd):
                is_wanted = group_views.is_wanted(group, child.slot)
                is_missing, is_idle = child.address in seen.unwell, child.address in seen.idle
                kept = (child, view.of(child, is_missing=is_missing, is_idle=is_idle) if is_wanted else None)
            if not odd or child.address not in odd:
                after[id(child)] = kept
            if kept[1] is not None:
                shown.append(kept[1])
        known.key, known.children = view.key, after
        return shown

    def _grouped(self, group: TemplateGroup) -> Grouping:
        return self._views.setdefault(group.template.name, _ViewCache()).grouping

    def _zones(self, group: TemplateGroup) -> Callable[[ChildRecord], str] | None:
        label = group.template.rollout.spread_by
        if not label:
            return None
        return lambda child: self.around[child.address].labels.get(label, "") if child.address in self.around else ""

    async def _is_paused(self, group: TemplateGroup) -> bool:
        """Return True if a pause covers all resources or the children of this group. Then no step begins here."""
        return preconditions.paused_by(group, await self.repository.store.pauses(), self.now()) is not None

    def _intents(self, group: TemplateGroup, steps: Sequence[Step], now: float) -> GroupChanges:
        batch, file, name = GroupChanges(), group.rollout, group.template.name
        assert file is not None
        at = group_rollouts.places(group, {item.slot for item in steps if not isinstance(item, SaveRollout)})
        for step in steps:
            match step:
                case SaveRollout(rollout=rollout):
                    due = None if group_rollouts.retired(rollout) else now
                    batch.rollouts.append(replace(file, rollout=rollout, due_at=due))
                    batch.events += self._saved(name, file.rollout, rollout)
                case CreateChild():
                    child = group_rollouts.created(group, step, at, now)
                    batch.children.append(child)
                    data: dict[str, Json] = {"template": name, "revision": child.generation, "by": step.made_by}
                    batch.events.append(self.repository.event("child.creating", str(child.address), **data))
                case RemoveChild():
                    batch.children.append(group_rollouts.removed(group, step))
                    event = self.repository.event("child.removing", step.child, template=name, why=step.why)
                    batch.events.append(event)
        return batch

    def _saved(self, name: str, before: Rollout, after: Rollout) -> list[AuditEvent]:
        """Return the audit events for a change of phase, wave or target. Changed counters alone are not recorded."""
        told = (after.phase, after.wave, after.target.revision)
        if told == (before.phase, before.wave, before.target.revision):
            return []
        data: dict[str, Json] = {"rollout": after.id, "wave": after.wave, "target": after.target.revision}
        return [self.repository.event(f"rollout.{after.phase.value}", name, **data, why=after.why)]

    # -- carrying out the intents

    async def _carried_out(self, group: TemplateGroup, reports: list[RunReport]) -> TemplateGroup:
        creating = [child for child in group.children.values() if child.state is ChildState.CREATING]
        removing = [child for child in group.children.values() if child.state is ChildState.REMOVING]
        for start in range(
            0, len(removing), AT_ONCE
        ):  # removals first, because the state that allows them was read just now
            group = await self._remove(group, removing[start : start + AT_ONCE], reports)
        for start in range(0, len(creating), AT_ONCE):
            group = await self._create(group, creating[start : start + AT_ONCE], reports)
        return group

    def _guard(self, group: TemplateGroup, children: Sequence[ChildRecord]) -> Guard:
        beginning = preconditions.beginning(group, children)
        return Guard(self.repository.store, self.repository.clock, group, beginning)

    def _guarded(self, fleet: ResourceSet, guard: Guard) -> Applier:
        applier = self.applier(fleet)
        writer = replace(applier.writer, guard=guard.still, slots=asyncio.Semaphore(IN_HAND))
        return replace(applier, writer=writer)

    async def _apply(
        self, group: TemplateGroup, children: Sequence[ChildRecord], guard: Guard, reports: list[RunReport]
    ) -> RunReport:
        wanted = [rendering.declaration(group, child, self.around) for child in children]
        report = await self._guarded(self._fleet(wanted), guard).apply()
        await guard.note_held(report)
        self._tell(report, reports)
        return report

    async def _create(
        self, group: TemplateGroup, children: Sequence[ChildRecord], reports: list[RunReport]
    ) -> TemplateGroup:
        guard = self._guard(group, children)
        group = await self.learnt(group, children, await self._apply(group, children, guard, reports))
        return await self._withdrawn(group, children, guard)

    async def _withdrawn(self, group: TemplateGroup, children: Sequence[ChildRecord], guard: Guard) -> TemplateGroup:
        """Withdraw intents that were stopped before any write."""
        batch, now = GroupChanges(), self.now()
        for child in (record for record in children if record.address in guard.held):
            left = group_rollouts.withdrawn(child, now)
            batch.children += [] if left is None else [left]
            batch.gone += [child.address] if left is None else []
            batch.events.append(self.repository.event("child.withdrawn", str(child.address)))
        return await self.repository.commit(group, batch) if batch else group

    async def learnt(self, group: TemplateGroup, children: Sequence[ChildRecord], report: RunReport) -> TemplateGroup:
        """Record which children became ready and which failed. The state of the others is not known yet."""
        failed, fine = child_status.unwell(report), child_status.well(report)
        documents = {}
        if group.template.checks.ready_when:
            documents = await child_status.observed(self.repository.store, sorted(fine, key=str))
        batch, now = GroupChanges(), self.now()
        for child in children:
            if child.address in failed and child.made_by:
                after = replace(child, state=ChildState.FAILED, note=failed[child.address])
                event = self.repository.event("child.failed", str(child.address), why=after.note)
            elif child.address in fine and child_status.serves(group, documents.get(child.address)):
                after = replace(
                    child, state=ChildState.READY, ready_since=now, note="", findings=(), is_rewriting=False
                )
                event = self.repository.event("child.ready", str(child.address), revision=child.generation)
            else:
                continue
            batch.children.append(after)
            batch.events.append(event)
        return await self.repository.commit(group, batch) if batch else group

    async def _remove(
        self, group: TemplateGroup, children: Sequence[ChildRecord], reports: list[RunReport]
    ) -> TemplateGroup:
        rewrites = group.template.rollout.method is Method.REWRITE
        kept = [child for child in children if rewrites or child.is_rewriting]
        restored = [record for record in kept if group_views.is_wanted(group, record.slot)]
        group = await self._restore(group, restored, reports) if restored else group
        going = [child for child in children if child not in restored]
        if not going:
            return group
        fleet = self._fleet([rendering.declaration(group, record, self.around) for record in going])
        guard = self._guard(group, going)
        report = await self._guarded(fleet, guard).delete([record.address for record in going])
        self._tell(report, reports)
        await guard.note_held(report)
        done = {result.checked.address for result in report.acted if result.result is ActionOutcome.DONE}
        group = await self._gone(group, [record for record in going if record.address in done])
        return await self._withdrawn(group, going, guard)

    async def _restore(
        self, group: TemplateGroup, children: Sequence[ChildRecord], reports: list[RunReport]
    ) -> TemplateGroup:
        """Restore children to their previous content after a failed rewrite."""
        fine = child_status.well(await self._apply(group, children, self._guard(group, ()), reports))
        return await self._gone(group, [child for child in children if child.address in fine])

    async def _gone(self, group: TemplateGroup, children: Sequence[ChildRecord]) -> TemplateGroup:
        batch, now, at = GroupChanges(), self.now(), group_rollouts.places(group, {record.slot for record in children})
        for child in children:
            left = group_rollouts.gone(group, child, at, now)
            if left is None:
                batch.gone.append(child.address)
            else:
                batch.children.append(left)
            batch.events.append(self.repository.event("child.removed", str(child.address), why=child.note))
        return await self.repository.commit(group, batch) if batch else group

    def _fleet(self, wanted: Sequence[Declaration]) -> ResourceSet:
        return adopt_scan.fleet_of(self.base, wanted, [*self.known, *self.around])

    def _tell(self, report: RunReport, reports: list[RunReport]) -> None:
        reports.append(report)
        if self.progress is not None:
            self.progress(report)

    async def _asked_again(self, group: TemplateGroup) -> TemplateGroup:
        """Record when predicates are due again, because live state may break them at any time."""
        now = self.now()
        due = [
            replace(record, due_at=now + ASK_AGAIN_SECONDS, version=record.version + 1)
            for record in (group.lead,)
            if any(owner.template.checks.requirements for owner in group.owners) and (record.due_at or 0.0) <= now
        ]
        try:
            return await self.repository.commit(group, GroupChanges(owners=due)) if due else group
        except VersionConflict:
            return group

    async def _rest(self, group: TemplateGroup) -> TemplateGroup:
        """Record when the group is due again."""
        group = await self._asked_again(group)
        file = group.rollout
        if file is None or file.rollout.phase in OVER:
            return group
        due = group_rollouts.wake_at(group, self.now())
        if due == file.due_at:
            return group
        rested = replace(file, due_at=due, rollout=replace(file.rollout, version=file.rollout.version + 1))
        try:
            return await self.repository.commit(group, GroupChanges(rollouts=[rested]))
        except VersionConflict:  # another process advanced the rollout and sets the time
            return group
