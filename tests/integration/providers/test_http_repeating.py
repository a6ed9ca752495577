"""A creation whose answer was lost is asked for again: what is there is taken for ours only if it is what we asked."""

from __future__ import annotations

from holdfast.model.write_result import Done, WriteError, WriteFailure
from holdfast.testing.rest_server import Fault, Shape, Wrong
from tests.integration.providers.rest import widget, with_server

CONDITIONAL = {"conditional": True}
SHAPE = Shape(defaults={"size": "m"}, stamps=("id", "revision"))


def test_a_repeated_creation_by_name_finds_what_the_first_one_made():
    async def story(server, _reader, writer):
        server.faults.append(Fault(Wrong.RESET_AFTER, "PUT"))
        target = widget("w", color="red")
        answers = [await writer.create(target, "k"), await writer.create(target, "k")]
        return answers, server.collections["widgets"].ids()

    answers, ids = with_server(story, shape=SHAPE, kind=CONDITIONAL)
    assert ids == ["w"]
    assert isinstance(answers[-1], Done)
    assert answers[-1].id == "w"
    assert answers[-1].etag
    assert answers[-1].document["color"] == "red"


def test_something_else_of_that_name_is_not_ours():
    async def story(server, _reader, writer):
        server.collections["widgets"].put("w", {"name": "w", "color": "blue"})
        return await writer.create(widget("w", color="red"), "k"), server.collections["widgets"]["w"]

    answer, there = with_server(story, shape=SHAPE, kind=CONDITIONAL)
    assert isinstance(answer, WriteFailure)
    assert answer.refusal is WriteError.MOVED
    assert there["color"] == "blue"


def test_if_what_is_there_cannot_be_read_it_is_not_taken_for_ours():
    async def story(server, _reader, writer):
        target = widget("w", color="red")
        await writer.create(target, "k")
        server.faults.append(Fault(status=503, method="GET", times=None))
        return await writer.create(target, "k")

    answer = with_server(story, shape=SHAPE, kind=CONDITIONAL)
    assert isinstance(answer, WriteFailure)
    assert answer.refusal is WriteError.MOVED
