"""When a template group gets a rollout, its steps, and which children are created or deleted."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from holdfast.compare.hash_schemes import StampedHash
from holdfast.compat.karpenter.hash_annotations import Stamp
from holdfast.model.address import Address
from holdfast.rollouts.core import (
    group_findings,
    group_views,
    hash_epochs,
    rendering,
    revisions,
    rollout_steps,
    scheduler,
    template_groups,
)
from holdfast.rollouts.core.records import OVER, CreateChild, RemoveChild, Rollout, RolloutPhase, RolloutTarget
from holdfast.rollouts.core.revisions import Adopted
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRevision, RolloutRecord, TemplateGroup
from holdfast.rollouts.core.templates import Method

# --- creation and removal -------------------------------------------------------------------------------------------


def unborn(group: TemplateGroup) -> list[ChildRecord]:
    """Return the first children of slots that were never seen ready. Only the store knows if they exist."""
    return [child for child in group.children.values() if child.state is ChildState.CREATING and not child.made_by]


def reborn(group: TemplateGroup, never_written: Collection[Address]) -> Iterator[ChildRecord]:
    """Yield the children that were never written and whose revision is no longer the one to create from."""
    generation = template_groups.birth_generation(group)
    for child in unborn(group):
        if child.address in never_written and child.generation != generation.number:
            births = template_groups.born(group, generation)
            yield dataclasses.replace(child, births=births, generation=generation.number)


def missing(group: TemplateGroup, now: float) -> Iterator[ChildRecord]:
    """Yield the children to create in empty slots of `replicas`."""
    filled = {child.slot for child in group.children.values()}
    generation = template_groups.birth_generation(group)
    births = template_groups.born(group, generation)
    for index in range(group.template.replicas or 0):
        slot = rendering.slot_name(group.template, index)
        if slot not in filled:
            address = rendering.child_address(group.template, slot)
            yield ChildRecord(address, slot, births, generation.number, since=now)


def surplus(group: TemplateGroup) -> Iterator[ChildRecord]:
    """Yield the children in slots that `replicas` no longer asks for, in state REMOVING."""
    for child in group.children.values():
        if child.state is not ChildState.REMOVING and not group_views.is_wanted(group, child.slot):
            yield dataclasses.replace(child, state=ChildState.REMOVING, note="fewer replicas are wanted")


def found(
    group: TemplateGroup, absent: Iterable[Address], there: Mapping[Address, Mapping[str, Stamp]], now: float
) -> Iterator[ChildRecord]:
    """Yield records for selected children that have none. Children that already exist are adopted by their stamps."""
    generation = template_groups.birth_generation(group)
    births = template_groups.born(group, generation)
    for address in absent:
        yield ChildRecord(address, address.name, births, generation.number, since=now)
    for address, stamps in there.items():
        legacy = {owner.uid: _stamped(stamps.get(owner.uid)) for owner in group.owners}
        child = ChildRecord(address, address.name, legacy, state=ChildState.READY, since=now, ready_since=now)
        yield adopted(group, child)


def _stamped(stamp: Stamp | None) -> OwnerRevision:
    return OwnerRevision(stamp=None if stamp is None else StampedHash(stamp.version, stamp.digest))


def adopted(group: TemplateGroup, child: ChildRecord) -> ChildRecord:
    """Return a child with the origin that its stamps prove. An origin without a stamp stays unknown."""
    births = dict(child.births)
    for owner in group.owners:
        known = owner.template.readable(owner.known)
        outcome = revisions.adopt(owner.record, child.record_of(owner.uid), known, owner.template.stamps.unstamped)
        if isinstance(outcome, Adopted):
            births[owner.uid] = OwnerRevision(outcome.child.birth, outcome.child.born_regime, outcome.child.stamp)
    return child if births == child.births else dataclasses.replace(child, births=births)


# --- beginning --------------------------------------------------------------------------------------------------------


def begun(group: TemplateGroup, now: float) -> tuple[RolloutRecord | None, RolloutRecord | None]:
    """Return the current rollout, ended, and a new one, if the declarations or the findings require it.

    A rollout that was undone or rolled back is not tried again until the template is edited or the rollout is resumed.
    """
    file = group.rollout
    if group.is_rolling and file is not None:
        aim = group.generation(file.aim)
        if aim is None or template_groups.is_same(group, aim, group.current):
            return None, None
        number = file.number + 1
        target = template_groups.accepts(group, group.current.number)
        ended, new = rollout_steps.supersede(file.rollout, _id(number), target, now)
        if new.previous is not None and _moved_on(group, new.previous.revision):
            new = dataclasses.replace(new, previous=None)
        return dataclasses.replace(file, rollout=ended, due_at=None), RolloutRecord(number, target.revision, new)
    if not any(group_findings.asking(group, child) for child in group.children.values()):
        return None, None
    if file is not None and file.rollout.phase is RolloutPhase.ROLLED_BACK:
        aim = group.generation(file.aim)
        if aim is not None and template_groups.is_same(group, aim, group.current):
            return None, None
    return None, fresh(group, template_groups.accepts(group, group.current.number), _good(group), now)


def fresh(
    group: TemplateGroup, target: RolloutTarget, previous: RolloutTarget | None, now: float, who: str = ""
) -> RolloutRecord:
    """Return a rollout that has not begun."""
    number = 1 if group.rollout is None else group.rollout.number + 1
    return RolloutRecord(number, target.revision, rollout_steps.start(_id(number), target, previous, now), who)


def _id(number: int) -> str:
    return f"r{number}"


def _good(group: TemplateGroup) -> RolloutTarget | None:
    """Return the rollback target: the target of the last rollout, else the newest older revision of the children."""
    file = group.rollout
    if file is not None and file.rollout.phase in OVER:
        wanted: int | None = file.rollout.target.revision
    else:
        older = [child.generation for child in group.children.values() if 0 < child.generation < group.current.number]
        wanted = max(older, default=None)
    if wanted is None or wanted == group.current.number or group.generation(wanted) is None:
        return None
    return None if _moved_on(group, wanted) else template_groups.accepts(group, wanted)


def _moved_on(group: TemplateGroup, number: int) -> str:
    """Return the part that blocks creating children of a revision set: a resource that has changed since.

    The content of children is stored, so a rollback is exact. Such a part is not recreated per child, because there is
    only one, and its declaration defines it.
    """
    wanted = group.generation(number)
    if wanted is None:
        return ""
    for owner in group.owners:
        ordinal = wanted.births.get(owner.uid)
        pair = (ordinal, owner.record.current)
        if owner.template.address is not None and not hash_epochs.is_same(owner.record, pair, owner.known):
            return owner.template.name
    return ""


def undone(group: TemplateGroup, now: float, who: str, to: int | None = None) -> tuple[RolloutRecord | None, str]:
    """Return the rollout that undoes the last one, or the reason why there is none.

    A running rollout reverses. A complete rollout gets a new rollout that is a rollback from the start.
    """
    file = group.rollout
    if file is None:
        return None, "nothing was rolled out yet"
    why = f"undone by {who}"
    rollout = file.rollout
    goal = rollout.previous if to is None else template_groups.accepts(group, to)
    part = _moved_on(group, group.current.number - 1 if goal is None else goal.revision)
    if part:
        return None, f"part {part} is a resource of its own that changed since; revert its declaration instead"
    if goal is None or group.generation(goal.revision) is None:
        return None, "there is no revision to go back to"
    if rollout.phase not in OVER:
        if rollout.is_going_back:
            return None, "it is going back already"
        turned = rollout_steps.undo(dataclasses.replace(rollout, previous=goal), now, why)
        return dataclasses.replace(file, rollout=turned, who=who, due_at=now), ""
    if goal.revision == rollout.target.revision:
        return None, f"the children are at revision {goal.revision} already"
    back = fresh(group, template_groups.accepts(group, group.current.number), goal, now, who)
    turned = dataclasses.replace(rollout_steps.undo(back.rollout, now, why), version=1)
    return dataclasses.replace(back, rollout=turned, due_at=now), ""


def resumed(group: TemplateGroup, now: float, who: str) -> tuple[RolloutRecord | None, str]:
    """Return the rollout that continues after a stop or retries after a rollback, or the reason why there is none."""
    file = group.rollout
    if file is None:
        return None, "nothing was rolled out yet"
    if file.rollout.phase in {RolloutPhase.PAUSED, RolloutPhase.HALTED}:
        return dataclasses.replace(file, rollout=rollout_steps.resume(file.rollout, now), who=who, due_at=now), ""
    if file.rollout.phase is RolloutPhase.ROLLED_BACK:
        again = fresh(group, template_groups.accepts(group, group.current.number), _good(group), now, who)
        return dataclasses.replace(again, due_at=now), ""
    return None, f"it is {file.rollout.phase}; there is nothing to resume"


# --- steps ------------------------------------------------------------------------------------------------------------


Places = Mapping[str, Sequence[ChildRecord]]


def places(group: TemplateGroup, slots: Collection[str]) -> Places:
    """Return the children in the given slots, computed once for all steps of a pass."""
    out: dict[str, list[ChildRecord]] = {}
    for child in group.children.values():
        if child.slot in slots:
            out.setdefault(child.slot, []).append(child)
    return out


def created(group: TemplateGroup, step: CreateChild, at: Places, now: float) -> ChildRecord:
    """Return the record of a requested child. A rewritten child keeps its name and its previous origin."""
    generation = group.generation(step.revision)
    assert generation is not None, f"generation {step.revision} of {group.template.name} is lost"
    births = template_groups.born(group, generation)
    before = next((record for record in at.get(step.slot, ()) if record.state is ChildState.EMPTY), None)
    if step.child:
        address = Address.parse(step.child)
        before = group.children[address]
    elif group.template.rollout.method is Method.REPLACE_BEFORE_REMOVE:
        address = rendering.child_address(group.template, _child_name(step))
    else:
        address = _only(group, step.slot, at)
    kept = group.children.get(address)
    was = before if step.child or _rewrites(group) else None
    return ChildRecord(
        address,
        step.slot,
        births,
        generation.number,
        made_by=step.made_by,
        attempt=step.attempt,
        reason=step.reason,
        before=None if was is None else (was.generation, was.births),
        findings=() if was is None else was.findings,  # findings keep their age in case the rewrite fails
        since=now,
        version=0 if kept is None else kept.version,
        is_rewriting=bool(step.child),
    )


def _rewrites(group: TemplateGroup, child: ChildRecord | None = None) -> bool:
    return group.template.rollout.method is Method.REWRITE or (child is not None and child.is_rewriting)


def _child_name(step: CreateChild) -> str:
    """Return a name unique to this attempt of this rollout, so that a repeated step names the same child."""
    rollout, _, back = step.made_by.partition("/")
    return f"{step.slot}-{rollout}{back[:1]}{f'x{step.attempt}' if step.attempt else ''}"


def _only(group: TemplateGroup, slot: str, at: Places) -> Address:
    """Return the address of the present or former child of a slot that can hold one child only."""
    known = next((record.address for record in at.get(slot, ())), None)
    return known or rendering.child_address(group.template, slot)


def removed(group: TemplateGroup, step: RemoveChild) -> ChildRecord:
    """Return the record of a child that a rollout wants to remove.

    A child that is rewritten is not removed. Its slot counts as empty until it has the new content. If the rewrite
    failed, the child gets its previous content.
    """
    child = group.children[Address.parse(step.child)]
    if not _rewrites(group, child):
        return dataclasses.replace(child, state=ChildState.REMOVING, note=child.note or step.why)
    if child.state is ChildState.FAILED and child.before is not None:
        generation, births = child.before
        return dataclasses.replace(child, state=ChildState.REMOVING, generation=generation, births=births, before=None)
    return dataclasses.replace(child, state=ChildState.EMPTY)


def is_beginning(group: TemplateGroup, child: ChildRecord, at: Places, maker: str) -> bool:
    """Return True if an intent is the first of a rollout for a slot, so that dropping it leaves no partial work."""
    method = group.template.rollout.method
    if child.state is ChildState.CREATING:
        keeps = method is Method.REPLACE_BEFORE_REMOVE or _rewrites(group, child)
        return child.made_by == maker and keeps
    others = [record for record in at.get(child.slot, ()) if record.address != child.address]
    is_old = child.made_by != maker and not child.is_rewriting
    return child.state is ChildState.REMOVING and method is Method.REMOVE_FIRST and is_old and not others


def withdrawn(child: ChildRecord, now: float) -> ChildRecord | None:
    """Return the previous child if an intent was stopped before any write, or None if there was no child."""
    if child.state is ChildState.REMOVING:
        return dataclasses.replace(child, state=ChildState.READY, note="")
    if child.before is None:
        return None
    generation, births = child.before
    return dataclasses.replace(
        child,
        state=ChildState.READY,
        ready_since=now,
        generation=generation,
        births=births,
        before=None,
        made_by="",
        attempt=0,
        is_rewriting=False,
    )


def gone(group: TemplateGroup, child: ChildRecord, at: Places, now: float) -> ChildRecord | None:
    """Return the record of the empty slot that a removed child leaves, or None if no record remains."""
    if _rewrites(group, child):
        return dataclasses.replace(
            child, state=ChildState.READY, ready_since=now, made_by="", attempt=0, is_rewriting=False
        )
    others = [record for record in at.get(child.slot, ()) if record.address != child.address]
    if others or not group_views.is_wanted(group, child.slot):
        return None
    return dataclasses.replace(child, state=ChildState.EMPTY)


def retired(rollout: Rollout) -> bool:
    """Return True if a rollout needs no further pass until a person acts."""
    return rollout.phase in OVER or rollout.phase in {RolloutPhase.PAUSED, RolloutPhase.HALTED}


# --- waking -----------------------------------------------------------------------------------------------------------


LOOK_AGAIN_SECONDS: Final = 30.0  # for changes without a known time: a gate, a window, a write by another process
SOON_SECONDS: Final = 5.0  # for a child that is being created


def wake_at(group: TemplateGroup, now: float) -> float | None:
    """Return the time of the next pass, or None if only a person can resume the rollout."""
    file = group.rollout
    if file is None or (retired(file.rollout) and not _is_busy(group)):
        return None
    return max(now, min(_moments(group, now)))


def _is_busy(group: TemplateGroup) -> bool:
    return any(child.state in {ChildState.CREATING, ChildState.REMOVING} for child in group.children.values())


def _moments(group: TemplateGroup, now: float) -> Iterator[float]:
    yield now + LOOK_AGAIN_SECONDS
    file, limits = group.rollout, group_views.limits(group)
    assert file is not None
    rollout = file.rollout
    if _is_busy(group):
        yield now + SOON_SECONDS
    if rollout.well_since is not None:
        yield _later(rollout.well_since + limits.waves.soak, now)
    for slot in rollout.failures:
        yield _later(scheduler.retry_at(rollout, slot, limits), now)
    if limits.min_ready:
        for child in group.children.values():
            if child.state is ChildState.READY and child.made_by == rollout.maker:
                yield _later(child.ready_since + limits.min_ready, now)
    if limits.halt.progress_deadline is not None:
        yield _later(rollout.progress.at + limits.halt.progress_deadline, now)


def _later(moment: float, now: float) -> float:
    """Return a future moment. A past moment is replaced by the default interval."""
    return moment if moment > now else now + LOOK_AGAIN_SECONDS
