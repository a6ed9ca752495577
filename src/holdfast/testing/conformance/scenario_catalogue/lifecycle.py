"""The life of a thing: made as asked, left alone when it is right, recreated when somebody removed it, listed."""

from __future__ import annotations

from holdfast.compare import diff
from holdfast.model.decision import Action
from holdfast.model.read_result import Found
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.providers.protocol import Hint, Reader, ReadFailed, Target, Unchanged
from holdfast.testing.conformance.engine_process import Process
from holdfast.testing.conformance.expectations import NotApplicable, expect, expect_status, named_paths, the_only
from holdfast.testing.conformance.scenario_run import Trial, expect_done

MANY = 6  # things of one kind, enough for the engine to prefer one list to single reads


async def create(trial: Trial) -> str:
    """Expect that what is declared, the least and the most, is made once, settles, and is what was asked for."""
    for naming in (trial.sample.minimal, trial.sample.full):
        process, name = trial.process(), trial.name()
        desired = naming(name)
        declaration, ident = await trial.made(process, desired, name)
        written = [call.verb for call in process.ledger.writes]
        expect(written == ["create"], f"one create was expected, and the writer was asked to {', '.join(written)}")
        await trial.expect_live(ident, desired, "after it was created")
        await trial.expect_clean(process, declaration, "after it was created")
    return "minimal and full declaration"


async def second_check_clean(trial: Trial) -> str:
    """Expect that a second check is in sync, writes nothing, and parses nothing where there is an etag or digest."""
    fast = 0
    for naming in (trial.sample.minimal, trial.sample.full):
        process, name = trial.process(), trial.name()
        declaration, _ = await trial.made(process, naming(name), name)
        for when in ("at the second check", "at the third check"):
            written = len(process.ledger.writes)
            checked = the_only(await process.check([declaration]))
            expect_status(checked, Status.IN_SYNC, when)
            expect(len(process.ledger.writes) == written, f"{when} something was written")
            state = await process.state(declaration)
            if state.observed.etag is not None or state.observed.raw_digest is not None:
                expect(checked.is_fast, f"{when} the answer was read whole, though its etag or digest had not moved")
                fast += 1
    return "by etag or digest, nothing parsed" if fast else "the provider offers neither etag nor digest"


async def external_delete(trial: Trial) -> str:
    """Expect that what somebody removed is missing, and recreated; what a list leaves out is not missing for that."""
    process, name = trial.process(), trial.name()
    desired = trial.sample.full(name)
    declaration, ident = await trial.made(process, desired, name)
    await trial.subject.drift_injector.delete(trial.sample.kind, ident)
    expect_status(the_only(await process.check([declaration])), Status.MISSING, "after somebody removed it")
    expect_done(await process.apply([declaration]), Action.RECREATE)
    await trial.expect_only(desired, "after recreation")
    await trial.expect_clean(process, declaration, "after recreation")
    if not trial.kind.lists:
        return "found missing, recreated"
    await _unlisted(trial)
    return "found missing, recreated; an empty list is not believed"


async def _unlisted(trial: Trial) -> None:
    process = trial.process()
    declarations = [
        (await trial.made(process, trial.sample.minimal(name), name))[0] for name in (trial.name() for _ in range(MANY))
    ]
    process.ledger.hides_lists = True
    report = await process.check(declarations)
    for checked in report.checked:
        expect_status(checked, Status.IN_SYNC, "when the list came back empty")
    listed = sum(call.verb == "list" for call in process.ledger.calls)
    expect(listed, "the kind says that it lists, and no list was asked for")


# --- lists ------------------------------------------------------------------------------------------------------------


async def list_everything(trial: Trial) -> str:
    """Expect that a list brings every thing once, under its id and with the document that reading it brings."""
    process = trial.process()
    made: dict[str, Declaration] = {}
    for _ in range(MANY):
        name = trial.name()
        declaration, ident = await trial.made(process, trial.sample.full(name), name)
        made[ident] = declaration
    async with trial.halves() as (reader, _writer):
        await _expect_listed(trial, reader, made)
    if not trial.kind.lists:
        return f"{len(made)} things, for discovery only"
    await _expect_served(process, list(made.values()))
    return f"{len(made)} things, one call for all"


async def _expect_listed(trial: Trial, reader: Reader, made: dict[str, Declaration]) -> None:
    kind = trial.sample.kind
    try:
        items = [item async for item in reader.list(kind)]
    except ReadFailed as error:
        if trial.kind.lists or trial.kind.discovers:
            raise
        raise NotApplicable(f"the kind does not list ({error.reading})") from None
    ids = [item.id for item in items]
    twice = sorted({ident for ident in ids if ids.count(ident) > 1})
    expect(not twice, f"the list brings {', '.join(twice)} more than once")
    missing = sorted(made.keys() - set(ids))
    expect(not missing, f"the list leaves out {', '.join(missing)}")
    for item in items:
        if item.id in made:
            target = Target(kind, made[item.id].address.name, item.id, made[item.id].desired)
            await _expect_as_read(trial, reader, target, reader.parse(kind, item.raw))


async def _expect_as_read(trial: Trial, reader: Reader, target: Target, listed: object) -> None:
    reading = await reader.read(target)
    expect(isinstance(reading, Found), f"what the list brings as {target.id!r} is read as {reading!r}")
    assert isinstance(reading, Found)
    differing = diff.differences(reading.document, listed, trial.rules(dict(target.desired), reading.document))
    paths = named_paths(differing)  # type: ignore[arg-type]  # a Difference has a path, too
    expect(not differing, f"the list shows {target.id!r} otherwise than reading it does, at {paths}")
    again = await reader.read(target, Hint(reading.etag, reading.raw_digest))
    is_same = isinstance(again, Unchanged | Found)
    expect(is_same, f"reading {target.id!r} again with the hint of the first time brings {again!r}")


async def _expect_served(process: Process, declarations: list[Declaration]) -> None:
    """Expect that checking many costs one list; the first time each may be compared, the second nothing may be."""
    slow = 0
    for when in ("when a list was read", "when the same list was read again"):
        process.ledger.calls.clear()
        report = await process.check(declarations)
        for checked in report.checked:
            expect_status(checked, Status.IN_SYNC, when)
        asked = [call.verb for call in process.ledger.calls]
        expect(asked == ["list"], f"{when} one list was expected to do, and asked was {', '.join(sorted(set(asked)))}")
        slow = sum(not checked.is_fast for checked in report.checked)
    expect(not slow, f"{slow} of {len(declarations)} listed things were compared again, though nothing had moved")
