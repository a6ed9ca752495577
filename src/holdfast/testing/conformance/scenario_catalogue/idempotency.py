"""The writer: every call may be repeated, and a write with an old etag fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from holdfast.compare import apply_patch, known_differences, normalize, paths
from holdfast.compare.comparators import typed_equal
from holdfast.compare.rule_tree import Node
from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.model.write_result import WriteError, WriteFailure, WriteResult
from holdfast.providers.protocol import Change, Reader, Target, Writer
from holdfast.testing.conformance import leaf_values
from holdfast.testing.conformance.expectations import NotApplicable, expect
from holdfast.testing.conformance.scenario_run import ScenarioRun, expect_accepted, path_text, settled


def _target(run: ScenarioRun, name: str, desired: Mapping[str, Json], ident: str | None = None) -> Target:
    return Target(run.sample.kind, name, ident, desired)


async def create(run: ScenarioRun) -> str:
    """Expect no second resource and the same id from a repeated create."""
    name = run.name()
    target = _target(run, name, run.sample.full(name))
    async with run.halves() as (_reader, writer):
        first = expect_accepted(await settled(writer, target, await writer.create(target, run.prefix)), "a creation")
        answer = await settled(writer, target, await writer.create(target, run.prefix))
        second = expect_accepted(answer, "the same creation with the same key")
    made = await run.new_ids()
    expect(made == {first.id}, f"a repeated create made {len(made)} resources; the first answer was {first.id!r}")
    expect(second.id == first.id, f"the same creation was answered {first.id!r}, then {second.id!r}")
    return "one resource, one id"


async def update(run: ScenarioRun) -> str:
    """Expect a repeated update to be done and to change nothing more."""
    _, target, change = await _changed(run)
    async with run.halves() as (_reader, writer):
        first = await settled(writer, target, await writer.update(target, change, run.prefix))
        expect_accepted(first, "a change")
        after = await run.live(target.id or "")
        again = await settled(writer, target, await writer.update(target, change, run.prefix))
        expect_accepted(again, "the same change with the same key")
    same = typed_equal(_seen(run, after), _seen(run, await run.live(target.id or "")))
    expect(same, "a repeated update is not the same as a single one")
    await run.expect_live(target.id or "", change.desired, "after the change")
    return "repeated, done once"


async def delete(run: ScenarioRun) -> str:
    """Expect a repeated deletion, and the deletion of a missing resource, to be done."""
    name = run.name()
    desired = run.sample.full(name)
    _, ident = await run.made(run.process(), desired, name)
    target = _target(run, name, desired, ident)
    async with run.halves() as (_reader, writer):
        for what, key in (("a deletion", "1"), ("the same deletion", "1"), ("a deletion of a missing resource", "2")):
            answer = await settled(writer, target, await writer.delete(target, f"{run.prefix}-{key}"))
            expect_accepted(answer, what)
            expect(ident not in await run.new_ids(), f"{what} is done, but the resource still exists")
    return "deleted stays deleted"


async def precondition(run: ScenarioRun) -> str:
    """Expect MOVED, and no write, for an update or deletion with an old etag."""
    if not run.kind.conditional:
        raise NotApplicable("the kind is not conditional")
    place, target, change = await _changed(run)
    async with run.halves() as (reader, writer):
        stale = await _etag(reader, target)
        await _meddle(run, target, change, place)
        before = await run.live(target.id or "")
        for what, write in _writes(run, writer, target, change).items():
            await _expect_refused(run, target, before, what, await settled(writer, target, await write(stale)))
        for what, write in _writes(run, writer, target, change).items():
            answer = await settled(writer, target, await write(await _etag(reader, target)))
            expect_accepted(answer, f"the {what} with the new etag")
    return "updates and deletions: MOVED with the old etag, done with the new"


def _writes(
    run: ScenarioRun, writer: Writer, target: Target, change: Change
) -> dict[str, Callable[[str], Awaitable[WriteResult]]]:
    """Return the writes with a precondition; each etag is another operation."""
    return {
        "change": lambda etag: writer.update(target, replace(change, etag=etag), f"{run.prefix}-change-{etag}"),
        "deletion": lambda etag: writer.delete(target, f"{run.prefix}-deletion-{etag}", etag),
    }


async def _meddle(run: ScenarioRun, target: Target, change: Change, besides: str) -> None:
    """Change another field of the resource outside Holdfast."""
    place = _other_place(run, change.desired, besides)
    value = _drifted(run, place, change.desired)
    await run.subject.drift_injector.put(run.sample.kind, target.id or "", paths.parse_path(place), value)


async def _expect_refused(run: ScenarioRun, target: Target, before: Json, what: str, answer: WriteResult) -> None:
    refused = isinstance(answer, WriteFailure) and answer.refusal is WriteError.MOVED
    expect(refused, f"a {what} with an old etag was answered {answer!r}, not refused as moved")
    live = await run.subject.drift_injector.get(run.sample.kind, target.id or "")
    expect(typed_equal(live, before), f"a {what} that was refused was done nevertheless")


async def _etag(reader: Reader, target: Target) -> str:
    reading = await reader.read(target)
    expect(isinstance(reading, Found) and reading.etag, f"the kind is conditional, but a read has no etag: {reading!r}")
    assert isinstance(reading, Found)
    return reading.etag or ""


async def _changed(run: ScenarioRun) -> tuple[str, Target, Change]:
    """Create a resource; return one of its fields, and an update that gives it another value."""
    name = run.name()
    desired = dict(run.sample.full(name))
    _, ident = await run.made(run.process(), desired, name)
    place = _other_place(run, desired, "")
    path = paths.parse_path(place)
    wanted = apply_patch.put(apply_patch.copied(desired), path, _drifted(run, place, desired))
    target = _target(run, name, wanted, ident)
    async with run.halves() as (reader, _writer):
        reading = await reader.read(target)
    expect(isinstance(reading, Found), f"what was just created is read as {reading!r}")
    observed = reading.document if isinstance(reading, Found) else None
    return place, target, Change(wanted, observed, (place,))


def _other_place(run: ScenarioRun, desired: Mapping[str, Json], besides: str) -> str:
    """Return a declared leaf that can be changed, outside of lists and not the one that is taken; else that one."""
    tree = run.rules(dict(desired), dict(desired))
    fixed = {path_text(path) for path in run.sample.fixed}
    found = [
        paths.format_path(pointer)
        for pointer, _ in leaf_values.leaves(dict(desired))
        if leaf_values.place(pointer) == pointer and _is_plain(known_differences.node_at(tree, pointer))
    ]
    usable = [path for path in found if path not in fixed]
    if not usable:
        raise NotApplicable("the full sample declares no field outside of lists that can be changed")
    return next((path for path in usable if path != besides), usable[0])


def _is_plain(node: Node) -> bool:
    return not node.hidden and not node.create_only and not node.write_only


def _drifted(run: ScenarioRun, place: str, desired: Mapping[str, Json]) -> Json:
    given = {path_text(path): value for path, value in run.sample.drift_values.items()}
    return given.get(place, leaf_values.other(paths.resolve(desired, paths.parse_path(place))))


def _seen(run: ScenarioRun, live: Json) -> Json:
    """Return a resource without the fields that the service changes at every write."""
    return normalize.normalise(run.rules(live, live).root, live)
