"""Adoption of existing resources: by id, or by a filter that must match exactly one."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.compare.comparators import typed_equal
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.resource import Import, Origin
from holdfast.testing.conformance.engine_process import EngineProcess
from holdfast.testing.conformance.expectations import NotApplicable, expect, the_only
from holdfast.testing.conformance.scenario_run import ScenarioRun, expect_done


async def by_id(run: ScenarioRun) -> str:
    """Expect adoption by id without a write, and no creation for an id that does not exist."""
    name = run.name()
    desired = run.sample.full(name)
    _, ident = await run.made(run.process(), desired, name)
    await _adopted(run, Import(id=ident), desired, ident)
    await run.subject.drift_injector.delete(run.sample.kind, ident)
    process = run.process()
    missing = process.declare(run.sample.kind, run.name(), desired, Import(id=ident))
    checked = the_only(await process.apply([missing]))
    action = checked.decision.action
    expect(action is Action.BLOCK, f"an import of a resource that does not exist was answered with {action.value}")
    _expect_untouched(process)
    return "adopted without a write; a deleted resource is not created"


async def _adopted(run: ScenarioRun, wanted: Import, desired: Mapping[str, Json], ident: str) -> None:
    process = run.process()
    before = await run.live(ident)
    declaration = process.declare(run.sample.kind, run.name(), desired, wanted)
    expect_done(await process.apply([declaration]), Action.ADOPT)
    _expect_untouched(process)
    expect(typed_equal(before, await run.live(ident)), "the adoption changed the resource")
    state = await process.state(declaration)
    expect(state.observed.provider_id == ident, f"{ident!r} was to be adopted, but {state.observed.provider_id!r} was")
    expect(state.applied.origin is Origin.IMPORTED, "it counts as created by Holdfast, although it was imported")
    await run.expect_clean(process, declaration, "after it was imported")


async def by_filter(run: ScenarioRun) -> str:
    """Expect adoption of a single match, waiting without a match, and an error for two."""
    one, two = run.name(), run.name()
    telling, shared = criteria(run, one, two)
    nothing = run.process()
    declared = nothing.declare(run.sample.kind, run.name(), run.sample.full(one), Import(filter=telling))
    report = await nothing.apply([declared])
    expect(len(report.waiting) == 1, "an import whose filter matches nothing did not wait")
    expect(not report.waiting[0].is_error, f"a filter that matches nothing is reported as an error: {_why(report)}")
    _expect_untouched(nothing)
    process = run.process()
    _, ident = await run.made(process, run.sample.full(one), one)
    await run.made(process, run.sample.full(two), two)
    await _adopted(run, Import(filter=telling), run.sample.full(one), ident)
    several = run.process()
    declared = several.declare(run.sample.kind, run.name(), run.sample.full(one), Import(filter=shared))
    report = await several.apply([declared])
    said = bool(report.waiting) and report.waiting[0].is_error
    expect(said, f"a filter that matches two resources is not an error: {_why(report)}")
    _expect_untouched(several)
    return f"none by {_named(telling)}, then one; two by {_named(shared)}"


def criteria(run: ScenarioRun, one: str, two: str) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return a top-level field that differs between two samples, and one that they share."""
    first, second = run.sample.full(one), run.sample.full(two)
    plain = [key for key, value in first.items() if isinstance(value, str | int | float)]
    telling = [key for key in plain if first[key] != second.get(key)]
    shared = [key for key in plain if first[key] == second.get(key)]
    if not telling or not shared:
        raise NotApplicable("the full sample needs a top-level field that differs by name, and one that does not")
    return {telling[0]: first[telling[0]]}, {shared[0]: first[shared[0]]}


def _named(fields: Mapping[str, Json]) -> str:
    return ", ".join(fields)


def _why(report: object) -> str:
    return "; ".join(item.reason for item in getattr(report, "waiting", ())) or "it was not held"


def _expect_untouched(process: EngineProcess) -> None:
    verbs = [call.verb for call in process.ledger.writes]
    expect(not verbs, f"an import wrote something: {', '.join(verbs)}")
