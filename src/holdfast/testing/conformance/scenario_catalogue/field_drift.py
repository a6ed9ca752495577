"""Every field, one after the other, changed behind our back: named exactly, revert, and nothing else touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from holdfast.compare import diff, known_differences, paths
from holdfast.compare.comparators import typed_equal
from holdfast.compare.rule_tree import Node
from holdfast.compare.rules import FieldClass
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.testing.conformance import leaf_values
from holdfast.testing.conformance.engine_process import LATER_SECONDS, Process
from holdfast.testing.conformance.expectations import Disappointed, expect, expect_status, named_paths, the_only
from holdfast.testing.conformance.provider_under_test import Naming
from holdfast.testing.conformance.scenario_run import Trial, expect_done, path_text


class Fate(StrEnum):
    """What becomes of a changed field."""

    PUT_BACK = "revert"
    REPORTED = "reported"  # filled in by the service, and nothing that is declared could put it back
    NOT_COMPARED = "not compared"  # as the rules of the kind have it


# Only the service sets these, or nobody can see them; a vandal who does is no drift that a check could find.
_OUT_OF_REACH = frozenset({FieldClass.READ_ONLY, FieldClass.IDENTITY, FieldClass.WRITE_ONLY})


@dataclass(slots=True)
class _Victim:
    """A thing about to be damaged, and one beside it that nothing may happen to."""

    process: Process
    declaration: Declaration
    ident: str
    before: Json
    bystander: str
    bystander_before: Json

    @property
    def desired(self) -> Mapping[str, Json]:
        return self.declaration.desired


async def mutate_every_field(trial: Trial) -> str:
    """Change each declared field of the full sample, then each field that the service filled in on the minimal one."""
    fates: Counter[Fate] = Counter()
    wrong: list[str] = []
    spared: dict[str, str] = {}
    targets = [(trial.sample.full, place, value) async for place, value in _declared(trial, spared)]
    targets += [(trial.sample.minimal, place, value) async for place, value in _defaulted(trial, spared)]
    for naming, pointer, value in targets:
        try:
            fates[await _mutate(trial, naming, pointer, value)] += 1
        except Disappointed as error:
            wrong.append(f"{paths.format_path(pointer)}: {error}")
    expect(not wrong, f"{len(wrong)} of {len(targets)} fields: " + "; ".join(wrong))
    expect(fates[Fate.PUT_BACK], "not one field was reverted; the samples declare nothing that can be changed")
    said = [f"{fates[fate]} {fate.value}" for fate in Fate if fates[fate]]
    said += [f"{path} spared: {why}" for path, why in spared.items()]
    return f"{sum(fates.values())} fields: " + ", ".join(said)


async def _declared(trial: Trial, spared: dict[str, str]) -> AsyncIterator[tuple[Pointer, Json]]:
    name = trial.name()
    desired = dict(trial.sample.full(name))
    for pointer, value in _reachable(trial, desired, desired, spared):
        yield pointer, value


async def _defaulted(trial: Trial, spared: dict[str, str]) -> AsyncIterator[tuple[Pointer, Json]]:
    """Go through what the service fills in where the minimal sample is silent."""
    name = trial.name()
    desired = dict(trial.sample.minimal(name))
    _, ident = await trial.made(trial.process(), desired, name)
    live = await trial.live(ident)
    silent = [(place, value) for place, value in leaf_values.leaves(live) if paths.resolve(desired, place) is ABSENT]
    silent = [(place, value) for place, value in silent if not _is_in_declared_list(place, desired)]
    document: dict[Pointer, Json] = dict(silent)
    for pointer, value in _reachable(trial, desired, live, spared):
        if pointer in document:
            yield pointer, value
    await trial.subject.drift_injector.delete(trial.sample.kind, ident)


def _is_in_declared_list(pointer: Pointer, desired: Json) -> bool:
    where = leaf_values.place(pointer)
    return where != pointer and paths.resolve(desired, where) is not ABSENT


def _reachable(trial: Trial, desired: Json, document: Json, spared: dict[str, str]) -> Iterator[tuple[Pointer, Json]]:
    """Go through the leaves that a vandal can get at, each with what he puts there."""
    tree = trial.rules(desired, document)
    for pointer, value in leaf_values.leaves(document):
        text = paths.format_path(pointer)
        excuse = _excuse(trial, text)
        if excuse is not None:
            spared[text] = excuse
        elif not isinstance(document, dict) or known_differences.node_at(tree, pointer).cls not in _OUT_OF_REACH:
            given = {path_text(path): other for path, other in trial.sample.others.items()}
            yield pointer, given.get(text, leaf_values.other(value))


def _excuse(trial: Trial, text: str) -> str | None:
    return next((why for path, why in trial.sample.spared.items() if path_text(path) == text), None)


async def _mutate(trial: Trial, naming: Naming, pointer: Pointer, value: Json) -> Fate:
    """Damage one field of a thing made for that, and see that it is found and mended; clear up afterwards."""
    victim = await _prepared(trial, naming)
    drift_injector, kind = trial.subject.drift_injector, trial.sample.kind
    try:
        await drift_injector.put(kind, victim.ident, pointer, value)
        fate = await _judged(trial, victim, pointer, value)
        beside = await drift_injector.get(kind, victim.bystander)
        expect(typed_equal(beside, victim.bystander_before), "a thing beside it, which nobody touched, was changed")
        return fate
    finally:
        for ident in await trial.new_ids():
            await drift_injector.delete(kind, ident)


async def _prepared(trial: Trial, naming: Naming) -> _Victim:
    process = trial.process()
    beside, name = trial.name(), trial.name()
    _, bystander = await trial.made(process, naming(beside), beside)
    declaration, ident = await trial.made(process, naming(name), name)
    process.clock.advance(LATER_SECONDS)  # past the time in which a service may still fill in what nobody declared
    return _Victim(process, declaration, ident, await trial.live(ident), bystander, await trial.live(bystander))


async def _judged(trial: Trial, victim: _Victim, pointer: Pointer, value: Json) -> Fate:
    tree = trial.rules(dict(victim.desired), victim.before)
    node = known_differences.node_at(tree, pointer)
    # What is put into a map that was declared empty was not declared: others may have entries there.
    is_declared = paths.resolve(victim.desired, pointer) not in (ABSENT, {})
    written = len(victim.process.ledger.writes)
    checked = the_only(await victim.process.check([victim.declaration]))
    if node.hidden or (node.hidden_unless_declared and not is_declared):
        expect_status(checked, Status.IN_SYNC, "though its rule says that it is not compared,")
        return Fate.NOT_COMPARED
    expect_status(checked, Status.DRIFTED, "after it was changed")
    found = checked.verdict.findings
    expect(leaf_values.is_exactly(found, pointer, value), f"the check names {named_paths(found)} instead")
    expect(len(victim.process.ledger.writes) == written, "the check wrote something")
    if checked.decision.action is Action.REPORT and not is_declared:
        return await _left_alone(trial, victim, pointer)
    return await _put_back(trial, victim, pointer, node, checked)


async def _left_alone(trial: Trial, victim: _Victim, pointer: Pointer) -> Fate:
    """See that what is only reported is not written, by what was asked and by what is there."""
    live = await trial.live(victim.ident)
    report = await victim.process.apply([victim.declaration])
    expect(not report.acted, "it was to be reported only, and something was written")
    same = typed_equal(live, await trial.live(victim.ident))
    expect(same, f"nothing was to be written because of {paths.format_path(pointer)}, and the thing changed")
    return Fate.REPORTED


async def _put_back(trial: Trial, victim: _Victim, pointer: Pointer, node: Node, checked: CheckResult) -> Fate:
    """See that the correction restores the field and leaves everything else as it was."""
    action = Action.REPLACE if node.create_only else Action.UPDATE
    expect(checked.decision.action is action, f"{action.value} was expected: {checked.decision.reasons[0].message}")
    process = victim.process
    written = len(process.ledger.writes)
    report: RunReport = await process.apply([victim.declaration])
    expect_done(report, action)
    calls = process.ledger.writes[written:]
    verbs = [call.verb for call in calls]
    usual = ["update"] if action is Action.UPDATE else ["delete", "create"]
    expect(verbs == usual, f"{', '.join(usual)} was expected to do, and the writer was asked to {', '.join(verbs)}")
    where = paths.format_path(leaf_values.place(pointer))
    strayed = [path for call in calls for path in call.paths if not path.startswith(where)]
    expect(not strayed, f"the writer was asked to change {', '.join(strayed)} too")
    ident = (await process.state(victim.declaration)).observed.provider_id or victim.ident
    after = await trial.live(ident)
    differing = diff.differences(victim.before, after, trial.rules(dict(victim.desired), victim.before))
    moved = named_paths(differing)  # type: ignore[arg-type]  # a Difference has a path, too
    expect(not differing, f"after the correction the thing is not what it was before, at {moved}")
    await trial.expect_clean(process, victim.declaration, "after the correction")
    return Fate.PUT_BACK
