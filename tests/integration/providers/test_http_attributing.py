"""A real service says who wrote last: they are named, we are told from them, and a failure names nobody."""

from __future__ import annotations

import random

from holdfast.model.confidence import Confidence
from holdfast.model.read_result import Found
from holdfast.providers.protocol import SupportsSignature, attribution
from holdfast.testing.rest_server import Fault, Shape
from tests.integration.providers.drift_injector import Damage, RandomDriftInjector
from tests.integration.providers.rest import widget, with_server
from tests.unit.providers.running import change


async def likely_actors(reader, target):
    asked = attribution(reader)
    assert asked is not None
    return await asked.likely_actors(target)


SHAPE = Shape(stamps=("revision", "updated_by", "updated_at"))
KIND = {"attribution": {"who": "/updated_by", "at": "/updated_at"}}


def test_who_wrote_last_is_named_and_when():
    async def story(server, reader, writer):
        target = widget(color="red")
        await writer.create(target, "key")
        ours = await likely_actors(reader, target)
        drift_injector = RandomDriftInjector(random.Random(1), "mallory")
        assert drift_injector.strike(server.collections["widgets"], (Damage.VALUE,)) is not None
        return ours, await likely_actors(reader, target)

    ours, theirs = with_server(story, shape=SHAPE, kind=KIND, headers={"X-Actor": "deployer"})
    assert [(item.who, item.confidence, item.at) for item in ours] == [("deployer", Confidence.HIGH, 1767225601.0)]
    assert [(item.who, item.why) for item in theirs] == [("mallory", "/updated_by of the thing")]
    assert theirs[0].at == 1767225602.0


def test_every_way_to_write_leaves_the_name_of_its_writer():
    async def story(server, reader, writer):
        target = widget(color="red")
        await writer.create(target, "1")
        server.collections["widgets"].edit("w", lambda thing: thing.update(color="black"), "mallory")
        await writer.update(target, change(target, await reader.read(target), "/color"), "2")
        return server.collections["widgets"]["w"]["updated_by"]

    for body, method in (("merge", "PATCH"), ("json-patch", "PATCH"), ("whole", "PUT")):
        kind = {**KIND, "update": {"method": method, "path": "/widgets/{id}", "body": body}}
        assert with_server(story, shape=SHAPE, kind=kind, headers={"X-Actor": "deployer"}) == "deployer"
    assert with_server(story, shape=SHAPE, kind=KIND) == "anonymous"


def test_what_is_read_back_after_our_own_write_bears_our_name():
    async def story(_server, reader, writer):
        await writer.create(widget(), "key")
        seen = await reader.read(widget())
        assert isinstance(reader, SupportsSignature)
        assert isinstance(seen, Found)
        return reader.signature("Widget", seen.document), reader.signature("Nothing", seen.document)

    assert with_server(story, shape=SHAPE, kind=KIND, headers={"X-Actor": "deployer"}) == ("deployer", None)


def test_where_nothing_can_be_told_nobody_is_named():
    async def story(server, reader, writer):
        absent = await likely_actors(reader, widget())
        await writer.create(widget(), "key")
        server.faults.append(Fault(method="GET", status=503))
        return absent, await likely_actors(reader, widget()), len(await likely_actors(reader, widget()))

    assert with_server(story, shape=SHAPE, kind=KIND) == ((), (), 1)


def test_without_a_description_nothing_is_asked():
    async def story(server, reader, writer):
        await writer.create(widget(), "key")
        server.journal.clear()
        return await likely_actors(reader, widget()), server.journal

    assert with_server(story, shape=SHAPE) == ((), [])


def test_without_the_stamps_a_service_keeps_no_names():
    async def story(server, reader, writer):
        await writer.create(widget(), "key")
        return server.collections["widgets"]["w"], await likely_actors(reader, widget())

    assert with_server(story, kind=KIND) == ({"name": "w"}, ())
