"""Rolling out: carrying out the steps of rollouts through the engine that carries out everything else.

A pass asks the pure core what is to be done, writes the intents and the rollout in one transaction, and then makes the
world follow: children that are being created are applied, those being removed are deleted. Killed anywhere, the next
pass finds the intents and goes on; a child that was made already is found in sync and taken as made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.model.address import Address
from holdfast.model.json import Json
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
from holdfast.rollouts.repository import ASK_AGAIN_SECONDS, Batch, RolloutRepository
from holdfast.store.records import AuditEvent, VersionConflict

AT_ONCE: Final = 1000  # children that are applied in one go ...
IN_HAND: Final = 16  # ... and of them those that are being sent: so many more at most after a stop


@dataclass(slots=True)
class RolloutResult:
    """What a run of rollouts came to."""

    groups: list[TemplateGroup] = field(default_factory=list)
    reports: list[RunReport] = field(default_factory=list)


@dataclass(slots=True)
class _ViewCache:
    """What the last pass over a template group made of its children; only what has changed is computed again."""

    key: object = None  # by what they were seen
    children: dict[int, tuple[ChildRecord, Child | None]] = field(default_factory=dict)  # by identity, as long as kept
    grouping: Grouping = field(default_factory=Grouping)


@dataclass(slots=True)
class RolloutController:
    """Brings the children of templates to where their rollouts go."""

    repository: RolloutRepository
    templates: Sequence[Template]
    around: Mapping[Address, Declaration]  # what is declared otherwise
    base: ResourceSet  # strategies, settings, profiles
    applier: Callable[[ResourceSet], Applier]
    known: Sequence[Address] = ()  # what references may mean besides
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    progress: Callable[[RunReport], None] | None = None
    at_once: Amount | None = None  # slots at work over all templates; None: as many as each of them allows
    _views: dict[str, _ViewCache] = field(default_factory=dict)  # by template
    _sizes: dict[str, int] = field(default_factory=dict)  # slots, by template
    _moves: dict[str, int] = field(default_factory=dict)  # of turns, when what is known of a template was read

    def now(self) -> float:
        """Return the present."""
        return self.repository.clock.now()

    async def run(self, names: Collection[str] | None = None) -> RolloutResult:
        """Settle everything, and go as far as rollouts, all or those of some templates, can go without waiting."""
        out = RolloutResult()
        await self._note_turns(each.name for each in self.templates)
        settled = await self.settle()
        self._sizes = {each.template.name: concurrency.slots(each) for each in settled}
        chosen = [each for each in settled if names is None or each.template.name in names]
        rolled = {each.template.name: rendering.at_hand(each, self.around) for each in chosen}
        for _ in range(1 if self.at_once is None else len(chosen) + 1):
            before = await self._turns_version()
            for group in list(rolled.values()) if self.at_once is None else concurrency.in_turn(rolled.values()):
                rolled[group.template.name] = await self.roll(group, out.reports)
            if await self._turns_version() == before:  # nobody gave a turn away that another may have waited for
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
        """Return who has which turns; raise VersionConflict if another process rolls the same template."""
        if self.at_once is None:
            return None
        name, turns = group.template.name, await concurrency.read(self.repository.store)
        if turns.of(name).moves != self._moves.get(name, 0):
            raise VersionConflict(serialization.TEMPLATES, name)
        return turns

    async def settle(self) -> list[TemplateGroup]:
        """Look at what nobody has a record of, and write down what is declared, unless there is a secret in it."""
        await adopt_scan.survey(self.repository, self.templates, self.around, self._look)
        moved = [each for each in self.templates if await self._is_new(each)]
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
        """Look at a child as it would be made now; the others have nothing else in them."""
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
        """Make passes over one template group until there is only waiting, or nothing left."""
        while not self.stop.is_set():
            try:
                group, is_moved = await self._pass(group, reports)
            except VersionConflict as error:
                if (
                    error.collection == concurrency.COLLECTION
                ):  # nothing of this template group has changed: only its turns are others
                    continue
                await self._note_turns([group.template.name])
                settled = await self.repository.settle(self.templates, self.around)
                (group,) = [each for each in settled if each.template.name == group.template.name]
                group = rendering.at_hand(group, self.around)
                continue
            if not is_moved:
                break
        try:
            group = await self._given_back(group)
            group = await self.repository.judged(group)
        except VersionConflict:  # whoever was faster has judged, too
            return group
        return await self._rest(group)

    async def _pass(self, group: TemplateGroup, reports: list[RunReport]) -> tuple[TemplateGroup, bool]:
        before = group
        group = await self._steps(group)
        group = await self._carried_out(group, reports)
        return group, group is not before

    async def _steps(self, group: TemplateGroup) -> TemplateGroup:
        """Ask the core for steps, and write them down as intents together with the rollout."""
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
            begun = {each.slot for each in steps if not isinstance(each, SaveRollout)}
            self._take_turns(batch, group, turns, self._working(group, seen, begun), is_begun=bool(begun))
        return await self._kept(group, batch)

    def _working(self, group: TemplateGroup, seen: Sequence[Child], begun: Collection[str] = ()) -> int:
        """Return how many slots are at work."""
        file = group.rollout
        if file is None or file.rollout.phase in OVER:
            return 0
        return len(scheduler.working(file.rollout, self._grouped(group).fleet_of(seen)) | set(begun))

    def _take_turns(
        self, batch: Batch, group: TemplateGroup, turns: ConcurrencyBudget, working: int, *, is_begun: bool = False
    ) -> None:
        name = group.template.name
        after = turns.with_working(name, working, self._sizes.get(name, 0), is_begun=is_begun)
        batch.besides += [] if after is None else [after]

    async def _kept(self, group: TemplateGroup, batch: Batch) -> TemplateGroup:
        """Make changes true, if there are any, and note the turns that are taken with them."""
        if not batch:
            return group
        group = await self.repository.commit(group, batch)
        if batch.besides:
            name = group.template.name
            self._moves[name] = self._moves.get(name, 0) + 1
        return group

    async def _given_back(self, group: TemplateGroup) -> TemplateGroup:
        """Give back the turns of slots that nothing is being done in any more."""
        while (turns := await self._turns(group)) is not None:
            seen = [] if group.rollout is None else group_views.children(group)
            batch = Batch()
            self._take_turns(batch, group, turns, self._working(group, seen))
            try:
                return await self._kept(group, batch)
            except VersionConflict:
                continue
        return group

    def _seen(self, group: TemplateGroup, seen: child_status.ChildCondition) -> list[Child]:
        """Return the children as the rollout sees them; of those that have not changed since the last pass, as then."""
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
        """Return True if somebody paused everything, or what the children are; then nothing is begun here either."""
        return preconditions.paused_by(group, await self.repository.store.pauses(), self.now()) is not None

    def _intents(self, group: TemplateGroup, steps: Sequence[Step], now: float) -> Batch:
        batch, file, name = Batch(), group.rollout, group.template.name
        assert file is not None
        at = group_rollouts.places(group, {each.slot for each in steps if not isinstance(each, SaveRollout)})
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
        """Tell in the audit trail when a rollout turns, not each time it counts."""
        told = (after.phase, after.wave, after.target.revision)
        if told == (before.phase, before.wave, before.target.revision):
            return []
        data: dict[str, Json] = {"rollout": after.id, "wave": after.wave, "target": after.target.revision}
        return [self.repository.event(f"rollout.{after.phase.value}", name, **data, why=after.why)]

    # -- making the world follow

    async def _carried_out(self, group: TemplateGroup, reports: list[RunReport]) -> TemplateGroup:
        creating = [each for each in group.children.values() if each.state is ChildState.CREATING]
        removing = [each for each in group.children.values() if each.state is ChildState.REMOVING]
        for start in range(0, len(removing), AT_ONCE):  # first: what allows these was seen just now
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
        wanted = [rendering.declaration(group, each, self.around) for each in children]
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
        """Take back what was stopped before anything was written."""
        batch, now = Batch(), self.now()
        for child in (each for each in children if each.address in guard.held):
            left = group_rollouts.withdrawn(child, now)
            batch.children += [] if left is None else [left]
            batch.gone += [child.address] if left is None else []
            batch.events.append(self.repository.event("child.withdrawn", str(child.address)))
        return await self.repository.commit(group, batch) if batch else group

    async def learnt(self, group: TemplateGroup, children: Sequence[ChildRecord], report: RunReport) -> TemplateGroup:
        """Note which children became ready and which failed; of the others nothing is known yet."""
        failed, fine = child_status.unwell(report), child_status.well(report)
        documents = {}
        if group.template.checks.ready_when:
            documents = await child_status.observed(self.repository.store, sorted(fine, key=str))
        batch, now = Batch(), self.now()
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
        kept = [each for each in children if rewrites or each.is_rewriting]
        restored = [each for each in kept if group_views.is_wanted(group, each.slot)]
        group = await self._restore(group, restored, reports) if restored else group
        going = [each for each in children if each not in restored]
        if not going:
            return group
        fleet = self._fleet([rendering.declaration(group, each, self.around) for each in going])
        guard = self._guard(group, going)
        report = await self._guarded(fleet, guard).delete([each.address for each in going])
        self._tell(report, reports)
        await guard.note_held(report)
        done = {each.checked.address for each in report.acted if each.result is ActionOutcome.DONE}
        group = await self._gone(group, [each for each in going if each.address in done])
        return await self._withdrawn(group, going, guard)

    async def _restore(
        self, group: TemplateGroup, children: Sequence[ChildRecord], reports: list[RunReport]
    ) -> TemplateGroup:
        """Give back to rewritten children what they were before the rewriting failed."""
        fine = child_status.well(await self._apply(group, children, self._guard(group, ()), reports))
        return await self._gone(group, [each for each in children if each.address in fine])

    async def _gone(self, group: TemplateGroup, children: Sequence[ChildRecord]) -> TemplateGroup:
        batch, now, at = Batch(), self.now(), group_rollouts.places(group, {each.slot for each in children})
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
        """Note when predicates are to be asked again: the world may break them at any time."""
        now = self.now()
        due = [
            replace(each, due_at=now + ASK_AGAIN_SECONDS, version=each.version + 1)
            for each in (group.lead,)
            if any(owner.template.checks.requirements for owner in group.owners) and (each.due_at or 0.0) <= now
        ]
        try:
            return await self.repository.commit(group, Batch(owners=due)) if due else group
        except VersionConflict:
            return group

    async def _rest(self, group: TemplateGroup) -> TemplateGroup:
        """Note when there is something to do again."""
        group = await self._asked_again(group)
        file = group.rollout
        if file is None or file.rollout.phase in OVER:
            return group
        due = group_rollouts.wake_at(group, self.now())
        if due == file.due_at:
            return group
        rested = replace(file, due_at=due, rollout=replace(file.rollout, version=file.rollout.version + 1))
        try:
            return await self.repository.commit(group, Batch(rollouts=[rested]))
        except VersionConflict:  # somebody else took it further and will say when
            return group
