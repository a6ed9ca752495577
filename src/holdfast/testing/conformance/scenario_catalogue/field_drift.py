"""Drift of every single field: the check names it exactly, the correction reverts it and nothing else."""

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
from holdfast.testing.conformance.engine_process import LATER_SECONDS, EngineProcess
from holdfast.testing.conformance.expectations import ExpectationFailed, expect, expect_status, named_paths, the_only
from holdfast.testing.conformance.provider_under_test import Declare
from holdfast.testing.conformance.scenario_run import ScenarioRun, expect_done, path_text


class Fate(StrEnum):
    """The outcome for a changed field."""

    REVERTED = "reverted"
    REPORTED = "reported"  # added by the service; no declared field covers it
    NOT_COMPARED = "not compared"  # by a rule of the kind


# Only the service sets these, or no read shows them, so a check cannot find drift in them.
_OUT_OF_REACH = frozenset({FieldClass.READ_ONLY, FieldClass.IDENTITY, FieldClass.WRITE_ONLY})


@dataclass(slots=True)
class _Victim:
    """A resource that drifts, and a second one that must not change."""

    process: EngineProcess
    declaration: Declaration
    ident: str
    before: Json
    bystander: str
    bystander_before: Json

    @property
    def desired(self) -> Mapping[str, Json]:
        return self.declaration.desired


async def mutate_every_field(run: ScenarioRun) -> str:
    """Change each field of the full sample, then each field that the service added to the minimal one."""
    fates: Counter[Fate] = Counter()
    wrong: list[str] = []
    fixed: dict[str, str] = {}
    targets = [(run.sample.full, place, value) async for place, value in _declared(run, fixed)]
    targets += [(run.sample.minimal, place, value) async for place, value in _defaulted(run, fixed)]
    for declare, pointer, value in targets:
        try:
            fates[await _mutate(run, declare, pointer, value)] += 1
        except ExpectationFailed as error:
            wrong.append(f"{paths.format_path(pointer)}: {error}")
    expect(not wrong, f"{len(wrong)} of {len(targets)} fields: " + "; ".join(wrong))
    expect(fates[Fate.REVERTED], "no field was reverted; the samples declare no field that can be changed")
    said = [f"{fates[fate]} {fate.value}" for fate in Fate if fates[fate]]
    said += [f"{path} fixed: {why}" for path, why in fixed.items()]
    return f"{sum(fates.values())} fields: " + ", ".join(said)


async def _declared(run: ScenarioRun, fixed: dict[str, str]) -> AsyncIterator[tuple[Pointer, Json]]:
    name = run.name()
    desired = dict(run.sample.full(name))
    for pointer, value in _reachable(run, desired, desired, fixed):
        yield pointer, value


async def _defaulted(run: ScenarioRun, fixed: dict[str, str]) -> AsyncIterator[tuple[Pointer, Json]]:
    """Yield the fields that the service adds to the minimal sample."""
    name = run.name()
    desired = dict(run.sample.minimal(name))
    _, ident = await run.made(run.process(), desired, name)
    live = await run.live(ident)
    silent = [(place, value) for place, value in leaf_values.leaves(live) if paths.resolve(desired, place) is ABSENT]
    silent = [(place, value) for place, value in silent if not _is_in_declared_list(place, desired)]
    document: dict[Pointer, Json] = dict(silent)
    for pointer, value in _reachable(run, desired, live, fixed):
        if pointer in document:
            yield pointer, value
    await run.subject.drift_injector.delete(run.sample.kind, ident)


def _is_in_declared_list(pointer: Pointer, desired: Json) -> bool:
    where = leaf_values.place(pointer)
    return where != pointer and paths.resolve(desired, where) is not ABSENT


def _reachable(
    run: ScenarioRun, desired: Json, document: Json, fixed: dict[str, str]
) -> Iterator[tuple[Pointer, Json]]:
    """Yield the leaves that can drift, each with the value to inject."""
    tree = run.rules(desired, document)
    for pointer, value in leaf_values.leaves(document):
        text = paths.format_path(pointer)
        excuse = _excuse(run, text)
        if excuse is not None:
            fixed[text] = excuse
        elif not isinstance(document, dict) or known_differences.node_at(tree, pointer).cls not in _OUT_OF_REACH:
            given = {path_text(path): other for path, other in run.sample.drift_values.items()}
            yield pointer, given.get(text, leaf_values.other(value))


def _excuse(run: ScenarioRun, text: str) -> str | None:
    return next((why for path, why in run.sample.fixed.items() if path_text(path) == text), None)


async def _mutate(run: ScenarioRun, declare: Declare, pointer: Pointer, value: Json) -> Fate:
    """Change one field of a new resource, expect detection and correction, and delete it."""
    victim = await _prepared(run, declare)
    drift_injector, kind = run.subject.drift_injector, run.sample.kind
    try:
        await drift_injector.put(kind, victim.ident, pointer, value)
        fate = await _judged(run, victim, pointer, value)
        beside = await drift_injector.get(kind, victim.bystander)
        expect(typed_equal(beside, victim.bystander_before), "another resource was changed")
        return fate
    finally:
        for ident in await run.new_ids():
            await drift_injector.delete(kind, ident)


async def _prepared(run: ScenarioRun, declare: Declare) -> _Victim:
    process = run.process()
    beside, name = run.name(), run.name()
    _, bystander = await run.made(process, declare(beside), beside)
    declaration, ident = await run.made(process, declare(name), name)
    process.clock.advance(LATER_SECONDS)  # past the time in which a service may still add defaults
    return _Victim(process, declaration, ident, await run.live(ident), bystander, await run.live(bystander))


async def _judged(run: ScenarioRun, victim: _Victim, pointer: Pointer, value: Json) -> Fate:
    tree = run.rules(dict(victim.desired), victim.before)
    node = known_differences.node_at(tree, pointer)
    # An entry of a mapping that was declared empty is not declared: other writers may own it.
    is_declared = paths.resolve(victim.desired, pointer) not in (ABSENT, {})
    written = len(victim.process.ledger.writes)
    checked = the_only(await victim.process.check([victim.declaration]))
    if node.hidden or (node.hidden_unless_declared and not is_declared):
        expect_status(checked, Status.IN_SYNC, "although a rule excludes it,")
        return Fate.NOT_COMPARED
    expect_status(checked, Status.DRIFTED, "after it was changed")
    found = checked.verdict.findings
    expect(leaf_values.is_exactly(found, pointer, value), f"the check names {named_paths(found)} instead")
    expect(len(victim.process.ledger.writes) == written, "the check wrote something")
    if checked.decision.action is Action.REPORT and not is_declared:
        return await _left_alone(run, victim, pointer)
    return await _put_back(run, victim, pointer, node, checked)


async def _left_alone(run: ScenarioRun, victim: _Victim, pointer: Pointer) -> Fate:
    """Expect no write for drift that is reported only."""
    live = await run.live(victim.ident)
    report = await victim.process.apply([victim.declaration])
    expect(not report.acted, "it was to be reported only, but something was written")
    same = typed_equal(live, await run.live(victim.ident))
    expect(same, f"{paths.format_path(pointer)} was to be reported only, but the resource changed")
    return Fate.REPORTED


async def _put_back(run: ScenarioRun, victim: _Victim, pointer: Pointer, node: Node, checked: CheckResult) -> Fate:
    """Expect a correction that reverts the field and changes nothing else."""
    action = Action.REPLACE if node.create_only else Action.UPDATE
    expect(checked.decision.action is action, f"{action.value} was expected: {checked.decision.reasons[0].message}")
    process = victim.process
    written = len(process.ledger.writes)
    report: RunReport = await process.apply([victim.declaration])
    expect_done(report, action)
    calls = process.ledger.writes[written:]
    verbs = [call.verb for call in calls]
    usual = ["update"] if action is Action.UPDATE else ["delete", "create"]
    expect(verbs == usual, f"{', '.join(usual)} was expected, but the writer was asked to {', '.join(verbs)}")
    where = paths.format_path(leaf_values.place(pointer))
    strayed = [path for call in calls for path in call.paths if not path.startswith(where)]
    expect(not strayed, f"the writer was asked to change {', '.join(strayed)} too")
    ident = (await process.state(victim.declaration)).observed.provider_id or victim.ident
    after = await run.live(ident)
    differing = diff.differences(victim.before, after, run.rules(dict(victim.desired), victim.before))
    moved = named_paths(differing)  # type: ignore[arg-type]  # a Difference has a path as well
    expect(not differing, f"after the correction the resource differs from before, at {moved}")
    await run.expect_clean(process, victim.declaration, "after the correction")
    return Fate.REVERTED
