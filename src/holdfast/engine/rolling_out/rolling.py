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

from holdfast.engine.applying import Applier, Report
from holdfast.engine.fleet import Fleet
from holdfast.engine.outcomes import Result
from holdfast.engine.rolling_out import (
    rollout_children,
    rollout_observing,
    rollout_results,
    rollout_secrets,
    rollout_waiting,
)
from holdfast.engine.rolling_out.rollout_shelves import ASK_AGAIN_SECONDS, Batch, Shelves
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.plan import ordering
from holdfast.plan.rolling_out import brood_owners, brood_rollouts, brood_views, broods, rollouts
from holdfast.plan.rolling_out.broods import Brood, ChildFile
from holdfast.plan.rolling_out.fleets import Child, State
from holdfast.plan.rolling_out.rollout_records import OVER, Create, Remove, Rollout, Save, Step
from holdfast.plan.rolling_out.templates import Method, Template
from holdfast.store.base import DossierMoved, Event

AT_ONCE: Final = 1000  # children that are applied in one go


@dataclass(slots=True)
class Rolled:
    """What a run of rollouts came to."""

    broods: list[Brood] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)


@dataclass(slots=True)
class Roller:
    """Brings the children of templates to where their rollouts go."""

    shelves: Shelves
    templates: Sequence[Template]
    around: Mapping[Address, Declaration]  # what is declared otherwise
    base: Fleet  # strategies, settings, profiles
    applier: Callable[[Fleet], Applier]
    known: Sequence[Address] = ()  # what references may mean besides
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    progress: Callable[[Report], None] | None = None
    _views: dict[str, tuple[object, dict[Address, tuple[ChildFile, Child]]]] = field(default_factory=dict)

    def now(self) -> float:
        """Return the present."""
        return self.shelves.clock.now()

    async def run(self, names: Collection[str] | None = None) -> Rolled:
        """Settle everything, and go as far as rollouts, all or those of some templates, can go without waiting."""
        out = Rolled()
        for brood in await self.settle():
            if names is None or brood.template.name in names:
                out.broods.append(await self.roll(rollout_children.at_hand(brood, self.around), out.reports))
        return out

    async def settle(self) -> list[Brood]:
        """Write down what is declared, unless there is a secret in it."""
        moved = [each for each in self.templates if await self._is_new(each)]
        if moved:
            for brood in await self.shelves.look(self.templates, self.around):
                await self._refuse_secrets(rollout_children.at_hand(brood, self.around))
        return await self.shelves.settle(self.templates, self.around)

    async def _is_new(self, template: Template) -> bool:
        return brood_owners.step(template, await self.shelves.owner(template)) is not None

    async def _refuse_secrets(self, brood: Brood) -> None:
        """Look at a child as it would be made now; the others have nothing else in them."""
        for child in list(brood.children.values())[:1]:
            newest = replace(child, births=broods.born(brood, brood.current))
            declared = rollout_children.declaration(brood, newest, self.around)
            ready, _ = await self.applier(self._fleet([declared])).preparer.prepare([declared.address])
            for item in ready:
                rollout_secrets.refuse_clear(brood, newest, item)

    async def roll(self, brood: Brood, reports: list[Report]) -> Brood:
        """Make passes over one brood until there is only waiting, or nothing left."""
        while not self.stop.is_set():
            try:
                brood, is_moved = await self._pass(brood, reports)
            except DossierMoved:
                settled = await self.shelves.settle(self.templates, self.around)
                (brood,) = [each for each in settled if each.template.name == brood.template.name]
                brood = rollout_children.at_hand(brood, self.around)
                continue
            if not is_moved:
                break
        try:
            brood = await self.shelves.judged(brood)
        except DossierMoved:  # whoever was faster has judged, too
            return brood
        return await self._rest(brood)

    async def _pass(self, brood: Brood, reports: list[Report]) -> tuple[Brood, bool]:
        before = brood
        brood = await self._steps(brood)
        brood = await self._carried_out(brood, reports)
        return brood, brood is not before

    async def _steps(self, brood: Brood) -> Brood:
        """Ask the core for steps, and write them down as intents together with the rollout."""
        file = brood.rollout
        if file is None or file.rollout.phase in OVER or await self._is_paused(brood):
            return brood
        seen = await rollout_observing.condition(self.shelves.store, brood)
        limits = brood_views.limits(brood, await rollout_observing.gates(self.shelves.store, brood))
        now = self.now()
        steps = rollouts.next_steps(file.rollout, self._seen(brood, seen), limits, now)
        if not steps:
            return brood
        return await self.shelves.commit(brood, self._intents(brood, steps, now))

    def _seen(self, brood: Brood, seen: rollout_observing.Condition) -> list[Child]:
        """Return the children as the rollout sees them; of those that have not changed since the last pass, as then."""
        view = brood_views.View(brood, self._zones(brood))
        if self._views.get(brood.template.name, (None,))[0] != view.key:
            self._views[brood.template.name] = (view.key, {})
        known, out = self._views[brood.template.name][1], []
        for address, child in brood.children.items():
            if not brood_views.is_wanted(brood, child.slot):
                continue
            kept = known.get(address)
            if kept is None or kept[0] is not child or address in seen.unwell or address in seen.idle:
                shown = view.of(child, is_missing=address in seen.unwell, is_idle=address in seen.idle)
                kept = (child, shown)
                if address not in seen.unwell and address not in seen.idle:
                    known[address] = kept
            out.append(kept[1])
        return out

    def _zones(self, brood: Brood) -> Callable[[ChildFile], str] | None:
        label = brood.template.spread_by
        if not label:
            return None
        return lambda child: self.around[child.address].labels.get(label, "") if child.address in self.around else ""

    async def _is_paused(self, brood: Brood) -> bool:
        """Tell whether somebody paused everything, or what the children are; then nothing is begun here either."""
        kind, now = brood.template.child, self.now()
        scopes = {""} if kind is None else {"", kind.connection, f"{kind.connection}/{kind.kind}"}
        pauses = await self.shelves.store.pauses()
        return any(each.scope in scopes and (each.until is None or now < each.until) for each in pauses)

    def _intents(self, brood: Brood, steps: Iterable[Step], now: float) -> Batch:
        batch, file, name = Batch(), brood.rollout, brood.template.name
        assert file is not None
        at = brood_rollouts.places(brood)
        for step in steps:
            match step:
                case Save(rollout=rollout):
                    due = None if brood_rollouts.retired(rollout) else now
                    batch.rollouts.append(replace(file, rollout=rollout, due_at=due))
                    batch.events += self._saved(name, file.rollout, rollout)
                case Create():
                    child = brood_rollouts.created(brood, step, at, now)
                    batch.children.append(child)
                    data: dict[str, Json] = {"template": name, "generation": child.generation, "by": step.made_by}
                    batch.events.append(self.shelves.event("child.creating", str(child.address), **data))
                case Remove():
                    batch.children.append(brood_rollouts.removed(brood, step))
                    event = self.shelves.event("child.removing", step.child, template=name, why=step.why)
                    batch.events.append(event)
        return batch

    def _saved(self, name: str, before: Rollout, after: Rollout) -> list[Event]:
        """Tell in the audit trail when a rollout turns, not each time it counts."""
        told = (after.phase, after.wave, after.target.revision)
        if told == (before.phase, before.wave, before.target.revision):
            return []
        data: dict[str, Json] = {"rollout": after.id, "wave": after.wave, "target": after.target.revision}
        return [self.shelves.event(f"rollout.{after.phase.value}", name, **data, why=after.why)]

    # -- making the world follow

    async def _carried_out(self, brood: Brood, reports: list[Report]) -> Brood:
        creating = [each for each in brood.children.values() if each.state is State.CREATING]
        removing = [each for each in brood.children.values() if each.state is State.REMOVING]
        for start in range(0, len(creating), AT_ONCE):
            brood = await self._create(brood, creating[start : start + AT_ONCE], reports)
        for start in range(0, len(removing), AT_ONCE):
            brood = await self._remove(brood, removing[start : start + AT_ONCE], reports)
        return brood

    async def _apply(self, brood: Brood, children: Sequence[ChildFile], reports: list[Report]) -> Report:
        wanted = [rollout_children.declaration(brood, each, self.around) for each in children]
        report = await self.applier(self._fleet(wanted)).apply()
        self._tell(report, reports)
        return report

    async def _create(self, brood: Brood, children: Sequence[ChildFile], reports: list[Report]) -> Brood:
        return await self.learnt(brood, children, await self._apply(brood, children, reports))

    async def learnt(self, brood: Brood, children: Sequence[ChildFile], report: Report) -> Brood:
        """Note which children became ready and which failed; of the others nothing is known yet."""
        failed, fine = rollout_results.unwell(report), rollout_results.well(report)
        documents = {}
        if brood.template.ready_when:
            documents = await rollout_observing.observed(self.shelves.store, sorted(fine, key=str))
        batch, now = Batch(), self.now()
        for child in children:
            if child.address in failed and child.made_by:
                after = replace(child, state=State.FAILED, note=failed[child.address])
                event = self.shelves.event("child.failed", str(child.address), why=after.note)
            elif child.address in fine and rollout_results.serves(brood, documents.get(child.address)):
                after = replace(child, state=State.READY, ready_since=now, note="", findings=())
                event = self.shelves.event("child.ready", str(child.address), generation=child.generation)
            else:
                continue
            batch.children.append(after)
            batch.events.append(event)
        return await self.shelves.commit(brood, batch) if batch else brood

    async def _remove(self, brood: Brood, children: Sequence[ChildFile], reports: list[Report]) -> Brood:
        rewrites = brood.template.method is Method.REWRITE
        restored = [each for each in children if rewrites and brood_views.is_wanted(brood, each.slot)]
        brood = await self._restore(brood, restored, reports) if restored else brood
        going = [each for each in children if each not in restored]
        if not going:
            return brood
        fleet = self._fleet([rollout_children.declaration(brood, each, self.around) for each in going])
        report = await self.applier(fleet).delete([each.address for each in going])
        self._tell(report, reports)
        done = {each.checked.address for each in report.acted if each.result is Result.DONE}
        return await self._gone(brood, [each for each in going if each.address in done])

    async def _restore(self, brood: Brood, children: Sequence[ChildFile], reports: list[Report]) -> Brood:
        """Give back to rewritten children what they were before the rewriting failed."""
        fine = rollout_results.well(await self._apply(brood, children, reports))
        return await self._gone(brood, [each for each in children if each.address in fine])

    async def _gone(self, brood: Brood, children: Sequence[ChildFile]) -> Brood:
        batch, now, at = Batch(), self.now(), brood_rollouts.places(brood)
        for child in children:
            left = brood_rollouts.gone(brood, child, at, now)
            if left is None:
                batch.gone.append(child.address)
            else:
                batch.children.append(left)
            batch.events.append(self.shelves.event("child.removed", str(child.address), why=child.note))
        return await self.shelves.commit(brood, batch) if batch else brood

    def _fleet(self, wanted: Sequence[Declaration]) -> Fleet:
        graph, errors = ordering.build(wanted, [*self.known, *self.around])
        if errors:
            raise errors[0]
        return replace(self.base, declarations={each.address: each for each in wanted}, graph=graph)

    def _tell(self, report: Report, reports: list[Report]) -> None:
        reports.append(report)
        if self.progress is not None:
            self.progress(report)

    async def _asked_again(self, brood: Brood) -> Brood:
        """Note when predicates are to be asked again: the world may break them at any time."""
        now = self.now()
        due = [
            replace(each, due_at=now + ASK_AGAIN_SECONDS, version=each.version + 1)
            for each in (brood.lead,)
            if any(owner.template.requirements for owner in brood.owners) and (each.due_at or 0.0) <= now
        ]
        try:
            return await self.shelves.commit(brood, Batch(owners=due)) if due else brood
        except DossierMoved:
            return brood

    async def _rest(self, brood: Brood) -> Brood:
        """Note when there is something to do again."""
        brood = await self._asked_again(brood)
        file = brood.rollout
        if file is None or file.rollout.phase in OVER:
            return brood
        due = rollout_waiting.wake_at(brood, self.now())
        if due == file.due_at:
            return brood
        rested = replace(file, due_at=due, rollout=replace(file.rollout, version=file.rollout.version + 1))
        try:
            return await self.shelves.commit(brood, Batch(rollouts=[rested]))
        except DossierMoved:  # somebody else took it further and will say when
            return brood
