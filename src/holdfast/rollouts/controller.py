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
from holdfast.reconcile.action_result import Result
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import check_resources
from holdfast.reconcile.report import Report
from holdfast.reconcile.resolve import Fleet
from holdfast.rollouts import (
    adopt_scan,
    child_declarations,
    child_status,
    concurrency,
    preconditions,
    results,
    secret_check,
    serialization,
    wakeup,
)
from holdfast.rollouts.concurrency import Turns
from holdfast.rollouts.core import group_rollouts, group_views, owner_records, rollout_steps, scheduler, template_groups
from holdfast.rollouts.core.records import OVER, Create, Remove, Rollout, Save, Step
from holdfast.rollouts.core.rollout_limits import Amount
from holdfast.rollouts.core.slots import Child, Grouping, State
from holdfast.rollouts.core.template_groups import Brood, ChildFile
from holdfast.rollouts.core.templates import Method, Template
from holdfast.rollouts.preconditions import Guard
from holdfast.rollouts.repository import ASK_AGAIN_SECONDS, Batch, Shelves
from holdfast.store.protocol import DossierMoved, Event

AT_ONCE: Final = 1000  # children that are applied in one go ...
IN_HAND: Final = 16  # ... and of them those that are being sent: so many more at most after a stop


@dataclass(slots=True)
class Rolled:
    """What a run of rollouts came to."""

    broods: list[Brood] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)


@dataclass(slots=True)
class _Known:
    """What the last pass over a brood made of its children; only what has changed is worked out anew."""

    key: object = None  # by what they were seen
    children: dict[int, tuple[ChildFile, Child | None]] = field(default_factory=dict)  # by identity, as long as kept
    grouping: Grouping = field(default_factory=Grouping)


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
    at_once: Amount | None = None  # slots at work over all templates; None: as many as each of them allows
    _views: dict[str, _Known] = field(default_factory=dict)  # by template
    _sizes: dict[str, int] = field(default_factory=dict)  # slots, by template
    _moves: dict[str, int] = field(default_factory=dict)  # of turns, when what is known of a template was read

    def now(self) -> float:
        """Return the present."""
        return self.shelves.clock.now()

    async def run(self, names: Collection[str] | None = None) -> Rolled:
        """Settle everything, and go as far as rollouts, all or those of some templates, can go without waiting."""
        out = Rolled()
        await self._note_turns(each.name for each in self.templates)
        settled = await self.settle()
        self._sizes = {each.template.name: concurrency.slots(each) for each in settled}
        chosen = [each for each in settled if names is None or each.template.name in names]
        rolled = {each.template.name: child_declarations.at_hand(each, self.around) for each in chosen}
        for _ in range(1 if self.at_once is None else len(chosen) + 1):
            before = await self._turns_version()
            for brood in list(rolled.values()) if self.at_once is None else concurrency.in_turn(rolled.values()):
                rolled[brood.template.name] = await self.roll(brood, out.reports)
            if await self._turns_version() == before:  # nobody gave a turn away that another may have waited for
                break
        out.broods += rolled.values()
        return out

    async def _note_turns(self, names: Iterable[str]) -> None:
        """Note how far turns have come before broods are read: who has moved since then has seen more than we."""
        if self.at_once is not None:
            turns = await concurrency.read(self.shelves.store)
            self._moves |= {name: turns.of(name).moves for name in names}

    async def _turns_version(self) -> int:
        return 0 if self.at_once is None else (await concurrency.read(self.shelves.store)).version

    async def _turns(self, brood: Brood) -> Turns | None:
        """Return who has which turns; raise DossierMoved if another process rolls the same template."""
        if self.at_once is None:
            return None
        name, turns = brood.template.name, await concurrency.read(self.shelves.store)
        if turns.of(name).moves != self._moves.get(name, 0):
            raise DossierMoved(serialization.TEMPLATES, name)
        return turns

    async def settle(self) -> list[Brood]:
        """Look at what nobody has a record of, and write down what is declared, unless there is a secret in it."""
        await adopt_scan.survey(self.shelves, self.templates, self.around, self._look)
        moved = [each for each in self.templates if await self._is_new(each)]
        if moved:
            for part in moved:
                await self._refuse_secrets_of_part(part)
            for brood in await self.shelves.look(self.templates, self.around):
                await self._refuse_secrets(child_declarations.at_hand(brood, self.around))
        return await self.shelves.settle(self.templates, self.around)

    async def _look(self, wanted: Sequence[Declaration]) -> None:
        applier = self.applier(self._fleet(wanted))
        await check_resources(applier.preparer, applier.checker)

    async def _is_new(self, template: Template) -> bool:
        return owner_records.step(template, await self.shelves.owner(template)) is not None

    async def _refuse_secrets(self, brood: Brood) -> None:
        """Look at a child as it would be made now; the others have nothing else in them."""
        for child in [*brood.children.values(), *child_declarations.imagined(brood)][:1]:
            newest = replace(child, births=template_groups.born(brood, brood.current))
            declared = child_declarations.declaration(brood, newest, self.around)
            ready, _ = await self.applier(self._fleet([declared])).preparer.prepare([declared.address])
            for item in ready:
                secret_check.refuse_clear(brood, newest, item)

    async def _refuse_secrets_of_part(self, part: Template) -> None:
        declared = None if part.address is None else self.around.get(part.address)
        if declared is not None:
            ready, _ = await self.applier(self._fleet([declared])).preparer.prepare([declared.address])
            for item in ready:
                secret_check.refuse_clear_part(part, item)

    async def roll(self, brood: Brood, reports: list[Report]) -> Brood:
        """Make passes over one brood until there is only waiting, or nothing left."""
        while not self.stop.is_set():
            try:
                brood, is_moved = await self._pass(brood, reports)
            except DossierMoved as error:
                if error.shelf == concurrency.SHELF:  # nothing of this brood has changed: only its turns are others
                    continue
                await self._note_turns([brood.template.name])
                settled = await self.shelves.settle(self.templates, self.around)
                (brood,) = [each for each in settled if each.template.name == brood.template.name]
                brood = child_declarations.at_hand(brood, self.around)
                continue
            if not is_moved:
                break
        try:
            brood = await self._given_back(brood)
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
        file, store = brood.rollout, self.shelves.store
        if file is None or file.rollout.phase in OVER or await self._is_paused(brood):
            return brood
        if await preconditions.has_moved(store, brood):  # a person may have paused it
            raise DossierMoved(serialization.ROLLOUTS, brood.template.name)
        if await child_status.unready_parts(store, brood):
            return brood
        seen = self._seen(brood, await child_status.condition(store, brood))
        limits = group_views.limits(brood, await child_status.gates(store, brood))
        turns, now = await self._turns(brood), self.now()
        if turns is not None and self.at_once is not None:
            limits = replace(limits, turns=turns.left_for(brood.template.name, self.at_once, self._sizes))
        steps = rollout_steps.next_steps(file.rollout, seen, limits, now, self._grouped(brood))
        batch = self._intents(brood, steps, now)
        if turns is not None:
            begun = {each.slot for each in steps if not isinstance(each, Save)}
            self._take_turns(batch, brood, turns, self._working(brood, seen, begun), is_begun=bool(begun))
        return await self._kept(brood, batch)

    def _working(self, brood: Brood, seen: Sequence[Child], begun: Collection[str] = ()) -> int:
        """Return how many slots are at work."""
        file = brood.rollout
        if file is None or file.rollout.phase in OVER:
            return 0
        return len(scheduler.working(file.rollout, self._grouped(brood).fleet_of(seen)) | set(begun))

    def _take_turns(self, batch: Batch, brood: Brood, turns: Turns, working: int, *, is_begun: bool = False) -> None:
        name = brood.template.name
        after = turns.with_working(name, working, self._sizes.get(name, 0), is_begun=is_begun)
        batch.besides += [] if after is None else [after]

    async def _kept(self, brood: Brood, batch: Batch) -> Brood:
        """Make changes true, if there are any, and note the turns that are taken with them."""
        if not batch:
            return brood
        brood = await self.shelves.commit(brood, batch)
        if batch.besides:
            name = brood.template.name
            self._moves[name] = self._moves.get(name, 0) + 1
        return brood

    async def _given_back(self, brood: Brood) -> Brood:
        """Give back the turns of slots that nothing is being done in any more."""
        while (turns := await self._turns(brood)) is not None:
            seen = [] if brood.rollout is None else group_views.children(brood)
            batch = Batch()
            self._take_turns(batch, brood, turns, self._working(brood, seen))
            try:
                return await self._kept(brood, batch)
            except DossierMoved:
                continue
        return brood

    def _seen(self, brood: Brood, seen: child_status.Condition) -> list[Child]:
        """Return the children as the rollout sees them; of those that have not changed since the last pass, as then."""
        view = group_views.View(brood, self._zones(brood))
        known = self._views.setdefault(brood.template.name, _Known())
        before = known.children if known.key == view.key else {}
        odd, shown = {*seen.unwell, *seen.idle}, []
        after: dict[int, tuple[ChildFile, Child | None]] = {}
        for child in brood.children.values():
            kept = before.get(id(child))
            if kept is None or (odd and child.address in odd):
                is_wanted = group_views.is_wanted(brood, child.slot)
                is_missing, is_idle = child.address in seen.unwell, child.address in seen.idle
                kept = (child, view.of(child, is_missing=is_missing, is_idle=is_idle) if is_wanted else None)
            if not odd or child.address not in odd:
                after[id(child)] = kept
            if kept[1] is not None:
                shown.append(kept[1])
        known.key, known.children = view.key, after
        return shown

    def _grouped(self, brood: Brood) -> Grouping:
        return self._views.setdefault(brood.template.name, _Known()).grouping

    def _zones(self, brood: Brood) -> Callable[[ChildFile], str] | None:
        label = brood.template.spread_by
        if not label:
            return None
        return lambda child: self.around[child.address].labels.get(label, "") if child.address in self.around else ""

    async def _is_paused(self, brood: Brood) -> bool:
        """Tell whether somebody paused everything, or what the children are; then nothing is begun here either."""
        return preconditions.paused_by(brood, await self.shelves.store.pauses(), self.now()) is not None

    def _intents(self, brood: Brood, steps: Sequence[Step], now: float) -> Batch:
        batch, file, name = Batch(), brood.rollout, brood.template.name
        assert file is not None
        at = group_rollouts.places(brood, {each.slot for each in steps if not isinstance(each, Save)})
        for step in steps:
            match step:
                case Save(rollout=rollout):
                    due = None if group_rollouts.retired(rollout) else now
                    batch.rollouts.append(replace(file, rollout=rollout, due_at=due))
                    batch.events += self._saved(name, file.rollout, rollout)
                case Create():
                    child = group_rollouts.created(brood, step, at, now)
                    batch.children.append(child)
                    data: dict[str, Json] = {"template": name, "generation": child.generation, "by": step.made_by}
                    batch.events.append(self.shelves.event("child.creating", str(child.address), **data))
                case Remove():
                    batch.children.append(group_rollouts.removed(brood, step))
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
        for start in range(0, len(removing), AT_ONCE):  # first: what allows these was seen just now
            brood = await self._remove(brood, removing[start : start + AT_ONCE], reports)
        for start in range(0, len(creating), AT_ONCE):
            brood = await self._create(brood, creating[start : start + AT_ONCE], reports)
        return brood

    def _guard(self, brood: Brood, children: Sequence[ChildFile]) -> Guard:
        beginning = preconditions.beginning(brood, children)
        return Guard(self.shelves.store, self.shelves.clock, brood, beginning)

    def _guarded(self, fleet: Fleet, guard: Guard) -> Applier:
        applier = self.applier(fleet)
        writer = replace(applier.writer, guard=guard.still, slots=asyncio.Semaphore(IN_HAND))
        return replace(applier, writer=writer)

    async def _apply(self, brood: Brood, children: Sequence[ChildFile], guard: Guard, reports: list[Report]) -> Report:
        wanted = [child_declarations.declaration(brood, each, self.around) for each in children]
        report = await self._guarded(self._fleet(wanted), guard).apply()
        await guard.note_held(report)
        self._tell(report, reports)
        return report

    async def _create(self, brood: Brood, children: Sequence[ChildFile], reports: list[Report]) -> Brood:
        guard = self._guard(brood, children)
        brood = await self.learnt(brood, children, await self._apply(brood, children, guard, reports))
        return await self._withdrawn(brood, children, guard)

    async def _withdrawn(self, brood: Brood, children: Sequence[ChildFile], guard: Guard) -> Brood:
        """Take back what was stopped before anything was written."""
        batch, now = Batch(), self.now()
        for child in (each for each in children if each.address in guard.held):
            left = group_rollouts.withdrawn(child, now)
            batch.children += [] if left is None else [left]
            batch.gone += [child.address] if left is None else []
            batch.events.append(self.shelves.event("child.withdrawn", str(child.address)))
        return await self.shelves.commit(brood, batch) if batch else brood

    async def learnt(self, brood: Brood, children: Sequence[ChildFile], report: Report) -> Brood:
        """Note which children became ready and which failed; of the others nothing is known yet."""
        failed, fine = results.unwell(report), results.well(report)
        documents = {}
        if brood.template.ready_when:
            documents = await child_status.observed(self.shelves.store, sorted(fine, key=str))
        batch, now = Batch(), self.now()
        for child in children:
            if child.address in failed and child.made_by:
                after = replace(child, state=State.FAILED, note=failed[child.address])
                event = self.shelves.event("child.failed", str(child.address), why=after.note)
            elif child.address in fine and results.serves(brood, documents.get(child.address)):
                after = replace(child, state=State.READY, ready_since=now, note="", findings=(), is_rewriting=False)
                event = self.shelves.event("child.ready", str(child.address), generation=child.generation)
            else:
                continue
            batch.children.append(after)
            batch.events.append(event)
        return await self.shelves.commit(brood, batch) if batch else brood

    async def _remove(self, brood: Brood, children: Sequence[ChildFile], reports: list[Report]) -> Brood:
        rewrites = brood.template.method is Method.REWRITE
        kept = [each for each in children if rewrites or each.is_rewriting]
        restored = [each for each in kept if group_views.is_wanted(brood, each.slot)]
        brood = await self._restore(brood, restored, reports) if restored else brood
        going = [each for each in children if each not in restored]
        if not going:
            return brood
        fleet = self._fleet([child_declarations.declaration(brood, each, self.around) for each in going])
        guard = self._guard(brood, going)
        report = await self._guarded(fleet, guard).delete([each.address for each in going])
        self._tell(report, reports)
        await guard.note_held(report)
        done = {each.checked.address for each in report.acted if each.result is Result.DONE}
        brood = await self._gone(brood, [each for each in going if each.address in done])
        return await self._withdrawn(brood, going, guard)

    async def _restore(self, brood: Brood, children: Sequence[ChildFile], reports: list[Report]) -> Brood:
        """Give back to rewritten children what they were before the rewriting failed."""
        fine = results.well(await self._apply(brood, children, self._guard(brood, ()), reports))
        return await self._gone(brood, [each for each in children if each.address in fine])

    async def _gone(self, brood: Brood, children: Sequence[ChildFile]) -> Brood:
        batch, now, at = Batch(), self.now(), group_rollouts.places(brood, {each.slot for each in children})
        for child in children:
            left = group_rollouts.gone(brood, child, at, now)
            if left is None:
                batch.gone.append(child.address)
            else:
                batch.children.append(left)
            batch.events.append(self.shelves.event("child.removed", str(child.address), why=child.note))
        return await self.shelves.commit(brood, batch) if batch else brood

    def _fleet(self, wanted: Sequence[Declaration]) -> Fleet:
        return adopt_scan.fleet_of(self.base, wanted, [*self.known, *self.around])

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
        due = wakeup.wake_at(brood, self.now())
        if due == file.due_at:
            return brood
        rested = replace(file, due_at=due, rollout=replace(file.rollout, version=file.rollout.version + 1))
        try:
            return await self.shelves.commit(brood, Batch(rollouts=[rested]))
        except DossierMoved:  # somebody else took it further and will say when
            return brood
