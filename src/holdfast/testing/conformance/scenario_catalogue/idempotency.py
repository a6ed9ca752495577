"""The writer itself: everything may be said twice, and what was decided on an old state is refused."""

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
from holdfast.testing.conformance.scenario_run import Trial, expect_accepted, path_text, settled


def _target(trial: Trial, name: str, desired: Mapping[str, Json], ident: str | None = None) -> Target:
    return Target(trial.sample.kind, name, ident, desired)


async def create(trial: Trial) -> str:
    """Expect that a creation repeated with its key makes no second thing, and gives the same id."""
    name = trial.name()
    target = _target(trial, name, trial.sample.full(name))
    async with trial.halves() as (_reader, writer):
        first = expect_accepted(await settled(writer, target, await writer.create(target, trial.prefix)), "a creation")
        answer = await settled(writer, target, await writer.create(target, trial.prefix))
        second = expect_accepted(answer, "the same creation with the same key")
    made = await trial.new_ids()
    expect(
        made == {first.id}, f"a creation said twice made {len(made)} things; the answers were {first.id!r} and so on"
    )
    expect(second.id == first.id, f"the same creation was answered {first.id!r}, then {second.id!r}")
    return "one thing, one id"


async def update(trial: Trial) -> str:
    """Expect that a change which is repeated is done, and changes nothing more."""
    _, target, change = await _changed(trial)
    async with trial.halves() as (_reader, writer):
        first = await settled(writer, target, await writer.update(target, change, trial.prefix))
        expect_accepted(first, "a change")
        after = await trial.live(target.id or "")
        again = await settled(writer, target, await writer.update(target, change, trial.prefix))
        expect_accepted(again, "the same change with the same key")
    same = typed_equal(_seen(trial, after), _seen(trial, await trial.live(target.id or "")))
    expect(same, "a change said twice is not the same as said once")
    await trial.expect_live(target.id or "", change.desired, "after the change")
    return "said twice, done once"


async def delete(trial: Trial) -> str:
    """Expect that a deletion which is repeated is done; so is one of what is gone."""
    name = trial.name()
    desired = trial.sample.full(name)
    _, ident = await trial.made(trial.process(), desired, name)
    target = _target(trial, name, desired, ident)
    async with trial.halves() as (_reader, writer):
        for what, key in (("a deletion", "1"), ("the same deletion", "1"), ("a deletion of what is gone", "2")):
            answer = await settled(writer, target, await writer.delete(target, f"{trial.prefix}-{key}"))
            expect_accepted(answer, what)
            expect(ident not in await trial.new_ids(), f"{what} is done, and the thing is still there")
    return "gone stays gone"


async def precondition(trial: Trial) -> str:
    """Expect that a change or deletion decided on an old state is refused as moved, and not made."""
    if not trial.kind.conditional:
        raise NotApplicable("the kind does not say that its writes honour an etag")
    place, target, change = await _changed(trial)
    async with trial.halves() as (reader, writer):
        stale = await _etag(reader, target)
        await _meddle(trial, target, change, place)
        before = await trial.live(target.id or "")
        for what, write in _writes(trial, writer, target, change).items():
            await _expect_refused(trial, target, before, what, await settled(writer, target, await write(stale)))
        for what, write in _writes(trial, writer, target, change).items():
            answer = await settled(writer, target, await write(await _etag(reader, target)))
            expect_accepted(answer, f"the {what} decided anew")
    return "changes and deletions: refused on the old etag, done on the new"


def _writes(
    trial: Trial, writer: Writer, target: Target, change: Change
) -> dict[str, Callable[[str], Awaitable[WriteResult]]]:
    """Return the writes that have a precondition; each is another operation for each etag."""
    return {
        "change": lambda etag: writer.update(target, replace(change, etag=etag), f"{trial.prefix}-change-{etag}"),
        "deletion": lambda etag: writer.delete(target, f"{trial.prefix}-deletion-{etag}", etag),
    }


async def _meddle(trial: Trial, target: Target, change: Change, besides: str) -> None:
    """Let somebody change another field of the thing."""
    place = _other_place(trial, change.desired, besides)
    value = _drifted(trial, place, change.desired)
    await trial.subject.drift_injector.put(trial.sample.kind, target.id or "", paths.parse_path(place), value)


async def _expect_refused(trial: Trial, target: Target, before: Json, what: str, answer: WriteResult) -> None:
    refused = isinstance(answer, WriteFailure) and answer.refusal is WriteError.MOVED
    expect(refused, f"a {what} decided on an old state was answered {answer!r}, not refused as moved")
    live = await trial.subject.drift_injector.get(trial.sample.kind, target.id or "")
    expect(typed_equal(live, before), f"a {what} that was refused was made all the same")


async def _etag(reader: Reader, target: Target) -> str:
    reading = await reader.read(target)
    expect(
        isinstance(reading, Found) and reading.etag, f"the kind is conditional, and a read brings no etag: {reading!r}"
    )
    assert isinstance(reading, Found)
    return reading.etag or ""


async def _changed(trial: Trial) -> tuple[str, Target, Change]:
    """Make a thing; return a field of it, and the change that a declaration with another value there asks for."""
    name = trial.name()
    desired = dict(trial.sample.full(name))
    _, ident = await trial.made(trial.process(), desired, name)
    place = _other_place(trial, desired, "")
    path = paths.parse_path(place)
    wanted = apply_patch.put(apply_patch.copied(desired), path, _drifted(trial, place, desired))
    target = _target(trial, name, wanted, ident)
    async with trial.halves() as (reader, _writer):
        reading = await reader.read(target)
    expect(isinstance(reading, Found), f"what was just created is read as {reading!r}")
    observed = reading.document if isinstance(reading, Found) else None
    return place, target, Change(wanted, observed, (place,))


def _other_place(trial: Trial, desired: Mapping[str, Json], besides: str) -> str:
    """Return a declared leaf that can be changed, outside of lists and not the one that is taken; else that one."""
    tree = trial.rules(dict(desired), dict(desired))
    spared = {path_text(path) for path in trial.sample.spared}
    found = [
        paths.format_path(pointer)
        for pointer, _ in leaf_values.leaves(dict(desired))
        if leaf_values.place(pointer) == pointer and _is_plain(known_differences.node_at(tree, pointer))
    ]
    usable = [path for path in found if path not in spared]
    if not usable:
        raise NotApplicable("the full sample declares no field outside of lists that can be changed")
    return next((path for path in usable if path != besides), usable[0])


def _is_plain(node: Node) -> bool:
    return not node.hidden and not node.create_only and not node.write_only


def _drifted(trial: Trial, place: str, desired: Mapping[str, Json]) -> Json:
    given = {path_text(path): value for path, value in trial.sample.others.items()}
    return given.get(place, leaf_values.other(paths.resolve(desired, paths.parse_path(place))))


def _seen(trial: Trial, live: Json) -> Json:
    """Return a thing without what the service counts up at every write."""
    return normalize.normalise(trial.rules(live, live).root, live)
