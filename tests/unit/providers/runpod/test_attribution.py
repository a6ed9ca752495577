"""Who moved an endpoint: what its releases say, what the platform does by itself, and what nobody can tell."""

from __future__ import annotations

import pytest

from holdfast.model.absent import ABSENT
from holdfast.model.confidence import Confidence
from holdfast.providers.protocol import Target
from holdfast.providers.runpod.attribution import ACCOUNT_USER
from holdfast_emulators.runpod import Fault
from tests.unit.providers.runpod.world import at_desk, endpoint


def test_releases_name_who_changed_what_without_the_values_of_an_environment():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.console("user_alice").edit(target.id, template={"imageName": "user/image:9"}, gpuCount=2)
        desk.server.console("user_bob").set_env(target.id, PASSWORD="hunter2")
        return await desk.reader.changes(target), await desk.reader.likely_actors(target)

    changes, likely_actors = at_desk(story)
    assert [(change.by, change.path, change.version) for change in changes] == [
        ("user_bob", "/env", 3),
        ("user_alice", "/gpuCount", 2),
        ("user_alice", "/imageName", 2),
    ]
    assert (changes[2].old, changes[2].new, changes[0].new) == ("user/image:1.0", "user/image:9", None)
    assert "hunter2" not in repr(changes)
    assert [(actor.who, actor.confidence) for actor in likely_actors] == [
        ("user_bob", Confidence.HIGH),
        ("user_alice", Confidence.HIGH),
    ]
    assert likely_actors[1].why == "release 2 changed /gpuCount, /imageName"
    assert likely_actors[1].at == pytest.approx(1_800_000_000.0)


@pytest.mark.parametrize("days, left", [(3.5, 2), (8, 0)])
def test_the_platforms_own_scaling_down_is_recognised(days, left):
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.advance(days=days)
        assert (await desk.found(target)).document["workersMax"] == left
        desk.server.journal.clear()
        desk.reader.checked_at = desk.server.world.clock()
        return await desk.reader.likely_actors(target), desk.server.counts()

    (likely_actor, *_), counts = at_desk(story)
    assert (likely_actor.who, likely_actor.confidence) == ("RunPod itself", Confidence.MEDIUM)
    assert f"workersMax is {left}" in likely_actor.why
    assert counts == {"GET /v2/serverless/*/releases": 1}


def test_a_release_that_was_put_back_speaks_for_little():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.console("user_alice").edit(target.id, template={"imageName": "user/image:9"})
        await desk.put_right(target, "/imageName")
        desk.server.console("user_bob").edit(target.id, gpuCount=2)
        await desk.found(target)
        return [(actor.who, actor.confidence) for actor in await desk.reader.likely_actors(target)]

    assert at_desk(story) == [
        ("user_bob", Confidence.HIGH),
        ("user_holdfast", Confidence.LOW),
        ("user_alice", Confidence.LOW),
    ]


def test_a_person_who_raised_the_number_is_not_taken_for_the_platform():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.console().edit(target.id, workersMax=50)
        return await desk.reader.likely_actors(target)

    (one,) = at_desk(story)
    assert (one.who, one.confidence, one.paths) == (ACCOUNT_USER, Confidence.LOW, ("/workersMax",))


def test_only_the_newest_release_that_changed_a_field_speaks_for_its_maker():
    async def story(desk):
        target = await desk.made(endpoint())
        for number, who in enumerate(("user_alice", "user_bob"), start=2):
            desk.server.console(who).edit(target.id, template={"imageName": f"user/image:{number}"})
        desk.server.console("user_alice").edit(target.id, gpuCount=2)
        return await desk.reader.likely_actors(target)

    found = at_desk(story)
    assert [(item.who, item.confidence, item.paths) for item in found] == [
        ("user_alice", Confidence.HIGH, ("/gpuCount",)),
        ("user_bob", Confidence.HIGH, ("/imageName",)),
        ("user_alice", Confidence.LOW, ("/imageName",)),
    ]


@pytest.mark.parametrize(
    "wanted, now, seen", [(5, 2, True), (5, 0, True), (2, 2, False), (1, 2, False), (5, 50, False), (5, 3, False)]
)
def test_the_platforms_habits_are_told_from_documents_alone(wanted, now, seen):
    async def story(desk):
        return desk.reader.platform_changes("Endpoint", {"workersMax": wanted}, {"workersMax": now}, 0.0)

    assert list(at_desk(story)) == (["/workersMax"] if seen else [])


def test_a_volume_has_no_habits_and_what_is_absent_has_none():
    async def story(desk):
        return desk.reader.platform_changes(
            "NetworkVolume", {"workersMax": 5}, {"workersMax": 2}, 0.0
        ), desk.reader.platform_changes("Endpoint", {"workersMax": 5}, ABSENT, 0.0)

    assert at_desk(story) == ({}, {})


def test_where_nothing_can_be_told_nobody_is_named():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.faults.append(Fault(status=500, times=None))
        volume = Target("NetworkVolume", "v", "v1", {})
        return (
            await desk.reader.likely_actors(target),
            await desk.reader.likely_actors(volume),
            await desk.reader.changes(endpoint()),
        )

    assert at_desk(story) == ([], [], [])
