"""Failing calls: a failed read is unknown, and an API that throttles is given time."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from holdfast.compare.comparators import typed_equal
from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.providers.protocol import Reader, ReadFailed
from holdfast.testing.conformance.engine_process import EngineProcess
from holdfast.testing.conformance.expectations import NotApplicable, expect, expect_status, the_only
from holdfast.testing.conformance.provider_under_test import CallType, SupportsWrongAnswers
from holdfast.testing.conformance.scenario_catalogue import adoption
from holdfast.testing.conformance.scenario_catalogue.lifecycle import MANY
from holdfast.testing.conformance.scenario_run import ScenarioRun, expect_done, failing


async def unreadable(run: ScenarioRun) -> str:
    """Expect an unknown verdict and no write for a failed read, and ReadFailed for a failed list."""
    faults = run.faults(CallType.READ)
    process, name = run.process(), run.name()
    declaration, ident = await run.made(process, run.sample.full(name), name)
    before = await run.live(ident)
    tried = sorted(trouble for call_type, trouble in faults.supported if call_type is CallType.READ)
    for trouble in tried:
        with failing(faults, CallType.READ, trouble):
            await _expect_unknown(process, declaration, f"when it could not be read ({trouble.value})")
        expect(typed_equal(before, await run.live(ident)), f"while reads failed ({trouble.value}) it was changed")
        expect_status(the_only(await process.check([declaration])), Status.IN_SYNC, "once reads work again")
    lists = sorted(trouble for call_type, trouble in faults.supported if call_type is CallType.LIST)
    for trouble in lists:
        await _expect_no_half_list(run, trouble)
    said = f"reads: {', '.join(tried)}"
    return said + (f"; lists: {', '.join(lists)}" if lists else "")


async def not_the_thing(run: ScenarioRun) -> str:
    """Expect an unknown verdict and no write if a read succeeds with something other than the resource."""
    faults = run.subject.faults
    if not isinstance(faults, SupportsWrongAnswers) or not faults.wrong_answers:
        raise NotApplicable("the faults cannot answer with something else")
    process, name = run.process(), run.name()
    declaration, ident = await run.made(process, run.sample.full(name), name)
    before = await run.live(ident)
    for answer_wrongly in faults.wrong_answers:
        faults.answer_wrongly(answer_wrongly)
        try:
            await _expect_unknown(process, declaration, f"when a read returned {answer_wrongly}")
        finally:
            faults.clear()
        expect(
            typed_equal(before, await run.live(ident)),
            f"while reads returned {answer_wrongly} the resource was changed",
        )
        expect_status(the_only(await process.check([declaration])), Status.IN_SYNC, "once reads return it again")
    return ", ".join(faults.wrong_answers)


async def _expect_unknown(process: EngineProcess, declaration: Declaration, when: str) -> None:
    written = len(process.ledger.writes)
    expect_status(the_only(await process.check([declaration])), Status.UNKNOWN, when)
    expect_status(the_only(await process.apply([declaration])), Status.UNKNOWN, when)
    expect(len(process.ledger.writes) == written, f"{when} something was written")


async def _expect_no_half_list(run: ScenarioRun, trouble: ReadError) -> None:
    """Expect ReadFailed from a failed list, even after some items, and no verdict from it."""
    faults = run.faults(CallType.LIST, trouble)
    process = run.process()
    declarations = [
        (await run.made(process, run.sample.minimal(name), name))[0]
        for name in (run.name() for _ in range(MANY if run.kind.lists else 1))
    ]
    with failing(faults, CallType.LIST, trouble):
        async with run.halves() as (reader, _writer):
            await _expect_raised(_listed(reader, run.sample.kind), f"a list that failed ({trouble.value})")
            if "import-by-filter" not in run.sample.not_applicable:
                telling, _ = adoption.criteria(run, run.name(), run.name())
                found = reader.find(run.sample.kind, telling)
                await _expect_raised(found, f"a search that failed ({trouble.value})")
        for checked in (await process.check(declarations)).checked:
            wrong = checked.verdict.status not in (Status.IN_SYNC, Status.UNKNOWN)
            expect(not wrong, f"a failed list ({trouble.value}) led to the verdict {checked.verdict.status.value}")
    for ident in await run.new_ids():
        await run.subject.drift_injector.delete(run.sample.kind, ident)


async def _listed(reader: Reader, kind: str) -> Sequence[object]:
    return [item async for item in reader.list(kind)]


async def _expect_raised(looking: Awaitable[Sequence[object]], what: str) -> None:
    try:
        brought = await looking
    except ReadFailed:
        return
    expect(holds=False, message=f"{what} returned {len(brought)} items instead of ReadFailed")


async def throttle(run: ScenarioRun) -> str:
    """Expect a pause after throttling, and no verdict from it."""
    faults = run.faults(CallType.READ, ReadError.THROTTLED)
    process, name = run.process(), run.name()
    declaration, _ = await run.made(process, run.sample.full(name), name)
    slept = process.clock.slept
    with failing(faults, CallType.READ, ReadError.THROTTLED, times=1):
        checked = the_only(await process.check([declaration]))
    expect_status(checked, Status.IN_SYNC, "when a read was throttled once")
    expect(process.clock.slept > slept, "a read was throttled, and no call waited")
    with failing(faults, CallType.READ, ReadError.THROTTLED):
        await _expect_unknown(process, declaration, "when it could not be read (throttled)")
    expect_status(the_only(await process.check([declaration])), Status.IN_SYNC, "once the API no longer throttles")
    try:
        run.faults(CallType.WRITE, ReadError.THROTTLED)
    except NotApplicable:
        return "reads; the faults cannot throttle writes"
    await _expect_patient_write(run)
    return "reads and writes"


async def _expect_patient_write(run: ScenarioRun) -> None:
    faults = run.faults(CallType.WRITE, ReadError.THROTTLED)
    process, name = run.process(), run.name()
    desired = run.sample.full(name)
    before = await run.new_ids()
    declaration = process.declare(run.sample.kind, name, desired)
    with failing(faults, CallType.WRITE, ReadError.THROTTLED, times=1):
        expect_done(await process.apply([declaration]), Action.CREATE)
    expect(process.clock.slept > 0, "a write was throttled, and no call waited")
    await run.expect_only(desired, "after a write that was throttled once", before)
