"""When calls fail: what cannot be read is unknown, and an API that says slow down is given time."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from holdfast.compare.comparators import typed_equal
from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.providers.protocol import Reader, ReadFailed
from holdfast.testing.conformance.engine_process import Process
from holdfast.testing.conformance.expectations import NotApplicable, expect, expect_status, the_only
from holdfast.testing.conformance.provider_under_test import Doing, Mistaking
from holdfast.testing.conformance.scenario_catalogue import adoption
from holdfast.testing.conformance.scenario_catalogue.lifecycle import MANY
from holdfast.testing.conformance.scenario_run import Trial, expect_done, failing


async def unreadable(trial: Trial) -> str:
    """Expect that a failed read is unknown, never missing, drifted or a reason to write, and a failed list no list."""
    faults = trial.faults(Doing.READ)
    process, name = trial.process(), trial.name()
    declaration, ident = await trial.made(process, trial.sample.full(name), name)
    before = await trial.live(ident)
    tried = sorted(trouble for doing, trouble in faults.provokes if doing is Doing.READ)
    for trouble in tried:
        with failing(faults, Doing.READ, trouble):
            await _expect_unknown(process, declaration, f"when it could not be read ({trouble.value})")
        expect(typed_equal(before, await trial.live(ident)), f"while reads failed ({trouble.value}) it was changed")
        expect_status(the_only(await process.check([declaration])), Status.IN_SYNC, "once reads work again")
    lists = sorted(trouble for doing, trouble in faults.provokes if doing is Doing.LIST)
    for trouble in lists:
        await _expect_no_half_list(trial, trouble)
    said = f"reads: {', '.join(tried)}"
    return said + (f"; lists: {', '.join(lists)}" if lists else "")


async def not_the_thing(trial: Trial) -> str:
    """Expect that a read which succeeds, and brings something else than the thing, is unknown, and not written over."""
    faults = trial.subject.faults
    if not isinstance(faults, Mistaking) or not faults.mistakes:
        raise NotApplicable("the subject brings nothing that answers with something else")
    process, name = trial.process(), trial.name()
    declaration, ident = await trial.made(process, trial.sample.full(name), name)
    before = await trial.live(ident)
    for mistake in faults.mistakes:
        faults.mistake(mistake)
        try:
            await _expect_unknown(process, declaration, f"when a read brought {mistake}")
        finally:
            faults.mend()
        expect(typed_equal(before, await trial.live(ident)), f"while reads brought {mistake} it was changed")
        expect_status(the_only(await process.check([declaration])), Status.IN_SYNC, "once reads bring it again")
    return ", ".join(faults.mistakes)


async def _expect_unknown(process: Process, declaration: Declaration, when: str) -> None:
    written = len(process.ledger.writes)
    expect_status(the_only(await process.check([declaration])), Status.UNKNOWN, when)
    expect_status(the_only(await process.apply([declaration])), Status.UNKNOWN, when)
    expect(len(process.ledger.writes) == written, f"{when} something was written")


async def _expect_no_half_list(trial: Trial, trouble: ReadError) -> None:
    """See that a list which fails raises, however much of it had come, and that checks do not conclude from it."""
    faults = trial.faults(Doing.LIST, trouble)
    process = trial.process()
    declarations = [
        (await trial.made(process, trial.sample.minimal(name), name))[0]
        for name in (trial.name() for _ in range(MANY if trial.kind.lists else 1))
    ]
    with failing(faults, Doing.LIST, trouble):
        async with trial.halves() as (reader, _writer):
            await _expect_raised(_listed(reader, trial.sample.kind), f"a list that failed ({trouble.value})")
            if "import-by-filter" not in trial.sample.cannot:
                telling, _ = adoption.criteria(trial, trial.name(), trial.name())
                found = reader.find(trial.sample.kind, telling)
                await _expect_raised(found, f"a search that failed ({trouble.value})")
        for checked in (await process.check(declarations)).checked:
            wrong = checked.verdict.status not in (Status.IN_SYNC, Status.UNKNOWN)
            expect(not wrong, f"a failed list ({trouble.value}) made a verdict {checked.verdict.status.value}")
    for ident in await trial.new_ids():
        await trial.subject.drift_injector.delete(trial.sample.kind, ident)


async def _listed(reader: Reader, kind: str) -> Sequence[object]:
    return [item async for item in reader.list(kind)]


async def _expect_raised(looking: Awaitable[Sequence[object]], what: str) -> None:
    try:
        brought = await looking
    except ReadFailed:
        return
    expect(holds=False, message=f"{what} brought {len(brought)} things instead of ReadFailed")


async def throttle(trial: Trial) -> str:
    """Expect that an API which says slow down gets its pause, and that no verdict is made of it."""
    faults = trial.faults(Doing.READ, ReadError.THROTTLED)
    process, name = trial.process(), trial.name()
    declaration, _ = await trial.made(process, trial.sample.full(name), name)
    slept = process.clock.slept
    with failing(faults, Doing.READ, ReadError.THROTTLED, times=1):
        checked = the_only(await process.check([declaration]))
    expect_status(checked, Status.IN_SYNC, "when a read was throttled once")
    expect(process.clock.slept > slept, "a read was throttled, and nobody waited")
    with failing(faults, Doing.READ, ReadError.THROTTLED):
        await _expect_unknown(process, declaration, "when it could not be read (throttled)")
    expect_status(the_only(await process.check([declaration])), Status.IN_SYNC, "once the API has time again")
    try:
        trial.faults(Doing.WRITE, ReadError.THROTTLED)
    except NotApplicable:
        return "reads; writes could not be tried"
    await _expect_patient_write(trial)
    return "reads and writes"


async def _expect_patient_write(trial: Trial) -> None:
    faults = trial.faults(Doing.WRITE, ReadError.THROTTLED)
    process, name = trial.process(), trial.name()
    desired = trial.sample.full(name)
    before = await trial.new_ids()
    declaration = process.declare(trial.sample.kind, name, desired)
    with failing(faults, Doing.WRITE, ReadError.THROTTLED, times=1):
        expect_done(await process.apply([declaration]), Action.CREATE)
    expect(process.clock.slept > 0, "a write was throttled, and nobody waited")
    await trial.expect_only(desired, "after a write that was throttled once", before)
