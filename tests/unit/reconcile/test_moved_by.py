"""Who moved it: asked once for each resource that moved, told beside its findings; the platform itself is let be."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.verdict import Status, Verdict
from holdfast.reconcile import attribution, serialize
from holdfast.reconcile.check import Checker, CheckResult
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.resolve import ResourceResolver
from tests.unit.reconcile.fixtures import Bench, declare

THINGS = [declare(name, {"color": "red", "size": 5}) for name in "abc"]
WHY = "the platform did it: as after three days"


async def attributed(bench: Bench, things=THINGS):
    async with bench.world() as world:
        preparer = ResourceResolver(bench.store, world, bench.fleet(things), bench.fingerprint, bench.secrets)
        checker = Checker(bench.store, world, bench.clock, bench.random, bench.fingerprint, bench.patience, bench.rules)
        return {item.address.name: item for item in (await check_resources(preparer, checker, attribute=True)).checked}


def moved(bench: Bench, name: str, by: str, **fields: object) -> None:
    bench.live.things["Thing", bench.id_of(name)].update(fields)
    bench.live.actors["Thing", bench.id_of(name)] = by


def asked(bench: Bench) -> list[str]:
    return [call for call in bench.live.calls if call.startswith("likely actors")]


def test_whoever_moved_something_is_named_and_of_the_others_nobody_is_asked_about():
    async def story():
        bench = Bench()
        await bench.apply(THINGS)
        moved(bench, "b", "mallory", color="blue")
        return await attributed(bench), asked(bench)

    found, calls = asyncio.run(story())
    assert {name: [actor.who for actor in item.likely_actors] for name, item in found.items()} == {
        "a": [],
        "b": ["mallory"],
        "c": [],
    }
    assert calls == ["likely actors Thing/b"]


def test_a_check_that_is_not_asked_who_asks_nobody():
    async def story():
        bench = Bench()
        await bench.apply(THINGS)
        moved(bench, "b", "mallory", color="blue")
        await bench.check(THINGS)
        return asked(bench)

    assert asyncio.run(story()) == []


def test_where_very_many_moved_at_once_not_all_are_asked_about(monkeypatch):
    monkeypatch.setattr(attribution, "MOST", 2)

    async def story():
        bench = Bench()
        await bench.apply(THINGS)
        for thing in THINGS:
            moved(bench, thing.address.name, "mallory", color="blue")
        found = await attributed(bench)
        return [len(item.likely_actors) for item in found.values()], asked(bench)

    named, calls = asyncio.run(story())
    assert (sum(named), len(calls)) == (2, 2)


@dataclass
class Seen:
    verdict: Verdict
    likely_actors: tuple[LikelyActor, ...]


@pytest.mark.parametrize(
    "paths, is_about",
    [((), True), (("/env",), True), (("/env/MODE",), True), (("/env/MODE/x",), True), (("/envy", "/image"), False)],
)
def test_only_those_who_may_have_moved_what_was_found_are_named(paths, is_about):
    finding = Finding(("env", "MODE"), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE)
    likely_actor = LikelyActor("mallory", Confidence.HIGH, "a release", paths=paths)
    seen = Seen(Verdict(Status.DRIFTED, "moved", (finding,)), (likely_actor,))
    assert attribution.about(seen) == ((likely_actor,) if is_about else ())


# -- the platform's own hand


async def scaled_down(things, **other: object) -> tuple[Bench, CheckResult]:
    bench = Bench(patches=True)
    await bench.apply(THINGS)
    bench.live.habits = {"/size": WHY}
    moved(bench, "a", "platform", size=2, **other)
    bench.live.writes.clear()
    report = await bench.apply(things)
    (one,) = [item for item in report.checked if item.address.name == "a"]
    return bench, one


def test_what_the_platform_moved_is_reported_as_such_and_left():
    bench, one = asyncio.run(scaled_down(THINGS))
    assert (one.verdict.status, one.decision.action) == (Status.DRIFTED, Action.REPORT)
    assert (one.decision.reasons[0].code, WHY in one.decision.reasons[0].message) == ("platform", True)
    assert (bench.live.writes, bench.live_thing("a")["size"]) == ([], 2)


def test_what_somebody_else_moved_beside_it_is_put_back():
    bench, one = asyncio.run(scaled_down(THINGS, color="blue"))
    assert [reason.code for reason in one.decision.reasons] == ["drift", "platform"]
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("red", 2)


def test_an_edit_of_the_declaration_is_intent_and_is_written():
    edited = [declare("a", {"color": "red", "size": 6}), *THINGS[1:]]
    bench, _ = asyncio.run(scaled_down(edited))
    assert bench.live_thing("a")["size"] == 6


def test_policy_may_insist():
    insisting = [declare("a", {"color": "red", "size": 5}, onDriftPaths={"/size": "correct"}), *THINGS[1:]]
    bench, _ = asyncio.run(scaled_down(insisting))
    assert bench.live_thing("a")["size"] == 5


def test_a_decision_that_left_the_platforms_hand_alone_can_be_replayed():
    async def story():
        bench, one = await scaled_down(THINGS)
        (record, *_) = await bench.store.decisions(one.address, 1)
        return await serialize.replay(bench.store, record)

    stored, again = asyncio.run(story())
    assert stored == again
    assert stored["action"] == "report"
