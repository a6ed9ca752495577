"""Taking over what others made: by its id, or by a filter that must match exactly one."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.compare.comparators import typed_equal
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.resource import Import, Origin
from holdfast.testing.conformance.engine_process import Process
from holdfast.testing.conformance.expectations import NotApplicable, expect, the_only
from holdfast.testing.conformance.scenario_run import Trial, expect_done


async def by_id(trial: Trial) -> str:
    """Expect that a live thing is adopted by its id without a write, and that an id without a thing makes none."""
    name = trial.name()
    desired = trial.sample.full(name)
    _, ident = await trial.made(trial.process(), desired, name)
    await _adopted(trial, Import(id=ident), desired, ident)
    await trial.subject.drift_injector.delete(trial.sample.kind, ident)
    process = trial.process()
    missing = process.declare(trial.sample.kind, trial.name(), desired, Import(id=ident))
    checked = the_only(await process.apply([missing]))
    action = checked.decision.action
    expect(action is Action.BLOCK, f"an import of what is not there was answered with {action.value}")
    _expect_untouched(process)
    return "adopted without a write; one that is gone is not made"


async def _adopted(trial: Trial, wanted: Import, desired: Mapping[str, Json], ident: str) -> None:
    process = trial.process()
    before = await trial.live(ident)
    declaration = process.declare(trial.sample.kind, trial.name(), desired, wanted)
    expect_done(await process.apply([declaration]), Action.ADOPT)
    _expect_untouched(process)
    expect(typed_equal(before, await trial.live(ident)), "taking it over changed it")
    state = await process.state(declaration)
    expect(
        state.observed.provider_id == ident,
        f"{ident!r} was to be taken over, and it was {state.observed.provider_id!r}",
    )
    expect(state.applied.origin is Origin.IMPORTED, "it counts as made by us, though it was imported")
    await trial.expect_clean(process, declaration, "after it was imported")


async def by_filter(trial: Trial) -> str:
    """Expect that a filter which matches one thing adopts it, that none is waited for, and that two are an error."""
    one, two = trial.name(), trial.name()
    telling, shared = criteria(trial, one, two)
    nothing = trial.process()
    declared = nothing.declare(trial.sample.kind, trial.name(), trial.sample.full(one), Import(filter=telling))
    report = await nothing.apply([declared])
    expect(len(report.waiting) == 1, "an import whose filter matches nothing did not wait")
    expect(not report.waiting[0].is_error, f"a filter that matches nothing is called an error: {_why(report)}")
    _expect_untouched(nothing)
    process = trial.process()
    _, ident = await trial.made(process, trial.sample.full(one), one)
    await trial.made(process, trial.sample.full(two), two)
    await _adopted(trial, Import(filter=telling), trial.sample.full(one), ident)
    several = trial.process()
    declared = several.declare(trial.sample.kind, trial.name(), trial.sample.full(one), Import(filter=shared))
    report = await several.apply([declared])
    said = bool(report.waiting) and report.waiting[0].is_error
    expect(said, f"a filter that matches two things is no error: {_why(report)}")
    _expect_untouched(several)
    return f"none by {_named(telling)}, then one; two by {_named(shared)}"


def criteria(trial: Trial, one: str, two: str) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return a top-level field that tells two samples apart, and one that they share."""
    first, second = trial.sample.full(one), trial.sample.full(two)
    plain = [key for key, value in first.items() if isinstance(value, str | int | float)]
    telling = [key for key in plain if first[key] != second.get(key)]
    shared = [key for key in plain if first[key] == second.get(key)]
    if not telling or not shared:
        raise NotApplicable("the full sample needs a top-level field that differs by name, and one that does not")
    return {telling[0]: first[telling[0]]}, {shared[0]: first[shared[0]]}


def _named(fields: Mapping[str, Json]) -> str:
    return ", ".join(fields)


def _why(report: object) -> str:
    return "; ".join(one.reason for one in getattr(report, "waiting", ())) or "it was not even held back"


def _expect_untouched(process: Process) -> None:
    verbs = [call.verb for call in process.ledger.writes]
    expect(not verbs, f"an import wrote something: {', '.join(verbs)}")
