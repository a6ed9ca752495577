"""The life of a resource: created as declared, unchanged while in sync, recreated after deletion, listed."""

from __future__ import annotations

from holdfast.compare import diff
from holdfast.model.decision import Action
from holdfast.model.read_result import Found
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.providers.protocol import Hint, Reader, ReadFailed, Target, Unchanged
from holdfast.testing.conformance.engine_process import EngineProcess
from holdfast.testing.conformance.expectations import NotApplicable, expect, expect_status, named_paths, the_only
from holdfast.testing.conformance.scenario_run import ScenarioRun, expect_done

MANY = 6  # resources of one kind, enough for the engine to prefer one list to single reads


async def create(run: ScenarioRun) -> str:
    """Expect one create for the minimal and the full sample, and a resource as declared."""
    for declare in (run.sample.minimal, run.sample.full):
        process, name = run.process(), run.name()
        desired = declare(name)
        declaration, ident = await run.made(process, desired, name)
        written = [call.verb for call in process.ledger.writes]
        expect(written == ["create"], f"one create was expected, but the writer was asked to {', '.join(written)}")
        await run.expect_live(ident, desired, "after it was created")
        await run.expect_clean(process, declaration, "after it was created")
    return "minimal and full declaration"


async def second_check_clean(run: ScenarioRun) -> str:
    """Expect a second check in sync without a write, and without parsing if there is an etag or digest."""
    fast = 0
    for declare in (run.sample.minimal, run.sample.full):
        process, name = run.process(), run.name()
        declaration, _ = await run.made(process, declare(name), name)
        for when in ("at the second check", "at the third check"):
            written = len(process.ledger.writes)
            checked = the_only(await process.check([declaration]))
            expect_status(checked, Status.IN_SYNC, when)
            expect(len(process.ledger.writes) == written, f"{when} something was written")
            state = await process.state(declaration)
            if state.observed.etag is not None or state.observed.raw_digest is not None:
                expect(
                    checked.is_fast, f"{when} the whole answer was parsed, although its etag or digest had not changed"
                )
                fast += 1
    return "by etag or digest, nothing parsed" if fast else "the provider offers neither etag nor digest"


async def external_delete(run: ScenarioRun) -> str:
    """Expect a deleted resource to be missing and recreated; absence from a list alone is not enough."""
    process, name = run.process(), run.name()
    desired = run.sample.full(name)
    declaration, ident = await run.made(process, desired, name)
    await run.subject.drift_injector.delete(run.sample.kind, ident)
    expect_status(the_only(await process.check([declaration])), Status.MISSING, "after it was deleted outside Holdfast")
    expect_done(await process.apply([declaration]), Action.RECREATE)
    await run.expect_only(desired, "after recreation")
    await run.expect_clean(process, declaration, "after recreation")
    if not run.kind.lists:
        return "found missing, recreated"
    await _unlisted(run)
    return "found missing, recreated; an empty list is not believed"


async def _unlisted(run: ScenarioRun) -> None:
    process = run.process()
    declarations = [
        (await run.made(process, run.sample.minimal(name), name))[0] for name in (run.name() for _ in range(MANY))
    ]
    process.ledger.hides_lists = True
    report = await process.check(declarations)
    for checked in report.checked:
        expect_status(checked, Status.IN_SYNC, "when the list came back empty")
    listed = sum(call.verb == "list" for call in process.ledger.calls)
    expect(listed, "the kind has lists=True, but no list was requested")


# --- lists ------------------------------------------------------------------------------------------------------------


async def list_everything(run: ScenarioRun) -> str:
    """Expect every resource once in a list, under its id and with the document of a read."""
    process = run.process()
    made: dict[str, Declaration] = {}
    for _ in range(MANY):
        name = run.name()
        declaration, ident = await run.made(process, run.sample.full(name), name)
        made[ident] = declaration
    async with run.halves() as (reader, _writer):
        await _expect_listed(run, reader, made)
    if not run.kind.lists:
        return f"{len(made)} resources, for discovery only"
    await _expect_served(process, list(made.values()))
    return f"{len(made)} resources, one call for all"


async def _expect_listed(run: ScenarioRun, reader: Reader, made: dict[str, Declaration]) -> None:
    kind = run.sample.kind
    try:
        items = [item async for item in reader.list(kind)]
    except ReadFailed as error:
        if run.kind.lists or run.kind.discovers:
            raise
        raise NotApplicable(f"the kind cannot be listed ({error.reading})") from None
    ids = [item.id for item in items]
    twice = sorted({ident for ident in ids if ids.count(ident) > 1})
    expect(not twice, f"the list has {', '.join(twice)} more than once")
    missing = sorted(made.keys() - set(ids))
    expect(not missing, f"the list leaves out {', '.join(missing)}")
    for item in items:
        if item.id in made:
            target = Target(kind, made[item.id].address.name, item.id, made[item.id].desired)
            await _expect_as_read(run, reader, target, reader.parse(kind, item.raw))


async def _expect_as_read(run: ScenarioRun, reader: Reader, target: Target, listed: object) -> None:
    reading = await reader.read(target)
    expect(isinstance(reading, Found), f"{target.id!r} of the list is read as {reading!r}")
    assert isinstance(reading, Found)
    differing = diff.differences(reading.document, listed, run.rules(dict(target.desired), reading.document))
    paths = named_paths(differing)  # type: ignore[arg-type]  # a Difference has a path as well
    expect(not differing, f"the list and a read of {target.id!r} differ at {paths}")
    again = await reader.read(target, Hint(reading.etag, reading.raw_digest))
    is_same = isinstance(again, Unchanged | Found)
    expect(is_same, f"reading {target.id!r} again with the hint of the first read returns {again!r}")


async def _expect_served(process: EngineProcess, declarations: list[Declaration]) -> None:
    """Expect one list call for many checks; at the second check nothing is compared."""
    slow = 0
    for when in ("when a list was read", "when the same list was read again"):
        process.ledger.calls.clear()
        report = await process.check(declarations)
        for checked in report.checked:
            expect_status(checked, Status.IN_SYNC, when)
        asked = [call.verb for call in process.ledger.calls]
        expect(
            asked == ["list"], f"{when} one list call was expected, but the calls were {', '.join(sorted(set(asked)))}"
        )
        slow = sum(not checked.is_fast for checked in report.checked)
    expect(
        not slow, f"{slow} of {len(declarations)} listed resources were compared again, although nothing had changed"
    )
