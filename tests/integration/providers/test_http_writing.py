"""Writes send no more than was decided, and every answer to them is one kind of yes or one kind of no."""

from __future__ import annotations

import asyncio

import orjson
import pytest
from aiohttp import web

from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure
from holdfast.providers.protocol import Change, Connection
from holdfast.testing.rest_server import Fault, Shape, Wrong
from tests.integration.providers.rest import widget, with_server
from tests.unit.providers.running import change, told


def put_there(server, **fields) -> None:
    server.collections["widgets"].put("w", {"name": "w", **fields})


def test_a_new_thing_is_made_under_its_name():
    async def story(server, reader, writer):
        made = await writer.create(widget(size=1), "key")
        return made, await reader.read(widget()), server.writes()

    made, seen, writes = with_server(story, shape=Shape(defaults={"colour": "red"}))
    assert made == Done("w", {"name": "w", "size": 1, "colour": "red"}, seen.etag)
    assert seen.document == made.document
    assert [(entry.method, entry.path, entry.status) for entry in writes] == [("PUT", "/widgets/w", 201)]


IDS = {
    "a field of the answer": ({"path": "/widgets", "id": "/id"}, "widgets-1"),
    "a deep field": ({"path": "/widgets", "id": "/id"}, "widgets-1"),
    "the location": ({"path": "/widgets", "id": "location"}, "widgets-1"),
    "the name": ({"method": "PUT", "path": "/widgets/{name}", "id": "name"}, "w"),
}


@pytest.mark.parametrize("create, ident", IDS.values(), ids=list(IDS))
def test_the_id_of_a_new_thing_comes_from_where_it_is_described_to(create, ident):
    async def story(server, _, writer):
        made = await writer.create(widget(), "key")
        assert ident in server.collections["widgets"]
        return made

    made = with_server(story, shape=Shape(counted_ids=True, stamps=("id",)), kind={"create": create})
    assert isinstance(made, Done)
    assert made.id == ident


def test_a_new_thing_whose_id_nobody_tells_is_terminal():
    async def story(_, __, writer):
        return await writer.create(widget(), "key")

    made = with_server(story, kind={"create": {"path": "/widgets", "id": "/uid"}})
    assert isinstance(made, WriteFailure)
    assert (made.refusal, "does not say its id" in made.message) == (WriteError.TERMINAL, True)


def test_a_repeated_create_with_the_same_key_makes_no_second_thing():
    kind = {"create": {"path": "/widgets"}, "idempotency_header": "Idempotency-Key"}

    async def story(server, _, writer):
        server.faults.append(Fault(Wrong.RESET_AFTER, "POST"))
        first = await writer.create(widget(), "key")
        second = await writer.create(widget(), "key")
        return first, second, await writer.create(widget(), "other"), len(server.collections["widgets"])

    lost, made, other, count = with_server(story, shape=Shape(counted_ids=True, stamps=("id",)), kind=kind)
    assert isinstance(lost, WriteFailure)
    assert lost.refusal is WriteError.RETRYABLE
    assert (made.id, other.id, count) == ("widgets-1", "widgets-2", 2)


def test_a_conditional_create_does_not_go_over_something_else():
    async def story(server, _, writer):
        put_there(server, size=9)
        made = await writer.create(widget(size=1), "key")
        return made, server.collections["widgets"]["w"]["size"]

    made, size = with_server(story, kind={"conditional": True})
    assert isinstance(made, WriteFailure)
    assert (made.refusal, size) == (WriteError.MOVED, 9)


def test_read_only_fields_are_not_sent_and_documents_are_wrapped():
    rules = {"rules": [{"path": "/revision", "class": "read_only"}]}

    async def story(server, _, writer):
        await writer.create(widget(revision=7, size=1), "key")
        return server.collections["widgets"]["w"]

    found = with_server(story, shape=Shape(envelope="data"), kind={"envelope": "/data", "profile": rules})
    assert found == {"name": "w", "size": 1}


# --- updates ----------------------------------------------------------------------------------------------------------

OBSERVED = {
    "name": "w",
    "size": 2,
    "colour": "red",
    "deep": {"a": 1, "b": 2},
    "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}],
}
WANTED: dict[str, Json] = {"size": 3, "deep": {"a": 5}, "list": [{"n": "x", "v": 9}]}
PATHS = ("/size", "/deep/a", "/list[n=x]/v")
AFTER = {
    "name": "w",
    "size": 3,
    "colour": "red",
    "deep": {"a": 5, "b": 2},
    "list": [{"n": "x", "v": 9}, {"n": "y", "v": 2}],
}

BODIES = {
    "whole": ("PUT", "application/json", AFTER),
    "desired": ("PUT", "application/json", {"name": "w", **WANTED}),
    "changed": ("PATCH", "application/json", {key: AFTER[key] for key in ("size", "deep", "list")}),
    "merge": ("PATCH", "application/merge-patch+json", {"size": 3, "deep": {"a": 5}, "list": AFTER["list"]}),
    "json-patch": (
        "PATCH",
        "application/json-patch+json",
        [
            {"op": "replace", "path": "/size", "value": 3},
            {"op": "replace", "path": "/deep/a", "value": 5},
            {"op": "replace", "path": "/list/0/v", "value": 9},
        ],
    ),
}


async def recorded(kind, story):
    """Tell a story to a server that does what it is asked and notes what was sent."""
    sent: list[tuple[str, str, object, dict[str, str]]] = []

    async def note(request: web.Request) -> web.Response:
        body = await request.read()
        sent.append((request.method, request.content_type, orjson.loads(body) if body else None, dict(request.headers)))
        return web.json_response({}, headers={"ETag": '"2"'})

    app = web.Application()
    app.router.add_route("*", "/widgets/w", note)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    settings = {
        "base_url": f"http://127.0.0.1:{runner.addresses[0][1]}",
        "kinds": {"Widget": {"read": "/widgets/w", **kind}},
    }
    try:
        return await told(Connection("api", "http", settings), story), sent
    finally:
        await runner.cleanup()


def updated(body: str, target, what: Change, kind=None):
    method = BODIES[body][0]
    update = {"update": {"method": method, "path": "/widgets/w", "body": body}, **(kind or {})}
    return asyncio.run(recorded(update, lambda _, writer: writer.update(target, what, "the-key")))


@pytest.mark.parametrize("body", BODIES)
def test_an_update_sends_just_what_its_style_wants(body):
    method, content_type, expected = BODIES[body]
    target = widget(**WANTED)
    wrote, sent = updated(body, target, Change(target.desired, OBSERVED, PATHS))
    assert isinstance(wrote, Done)
    assert [item[:3] for item in sent] == [(method, content_type, expected)]


@pytest.mark.parametrize("body", BODIES)
def test_every_style_leads_to_the_same_document(body):
    method = BODIES[body][0]

    async def story(server, reader, writer):
        server.collections["widgets"].put("w", OBSERVED)
        target = widget(**WANTED)
        seen = await reader.read(target)
        wrote = await writer.update(target, change(target, seen, *PATHS), "key")
        assert isinstance(wrote, Done), wrote
        return server.collections["widgets"]["w"]

    found = with_server(story, kind={"update": {"method": method, "path": "/widgets/{id}", "body": body}})
    assert found == (AFTER if body != "desired" else {"name": "w", **WANTED})


@pytest.mark.parametrize("body", ["merge", "json-patch", "changed"])
def test_a_patch_of_nothing_is_not_sent(body):
    target = widget(size=2)
    wrote, sent = updated(body, target, Change(target.desired, OBSERVED, ()))
    assert isinstance(wrote, Done)
    assert sent == []


RULES = {
    "rules": [
        {"path": "/revision", "class": "read_only"},
        {"path": "/usage", "class": "runtime"},
        {"path": "/limit", "class": "runtime"},
        {"path": "/password", "class": "write_only"},
        {"path": "/key", "class": "secret"},
    ]
}


def test_a_whole_document_has_the_declared_secrets_and_nothing_that_is_the_services_own():
    target = widget(size=3, password="p4ss", key="k3y", limit=5, hidden="h1dden")
    observed = {
        "name": "w",
        "size": 2,
        "revision": 7,
        "usage": 0.4,
        "limit": 5,
        "password": "********",
        "key": "k3y",
        "own": 1,
    }
    wrote, sent = updated("whole", target, Change(target.desired, observed, ("/size",)), {"profile": RULES})
    assert isinstance(wrote, Done)
    assert sent[0][2] == {
        "name": "w",
        "size": 3,
        "limit": 5,
        "password": "p4ss",
        "key": "k3y",
        "own": 1,
        "hidden": "h1dden",  # declared and not shown: sent, or it would be lost
    }


def test_masks_in_a_list_are_filled_in_by_the_key_of_the_element():
    users = [{"name": "b", "password": "p-b"}, {"name": "a", "password": "p-a"}]
    target = widget(size=3, users=users)
    seen = [{"name": "a", "password": "****"}, {"name": "x", "role": "own"}, {"name": "b", "password": "****"}]
    what = Change(target.desired, {"name": "w", "size": 2, "users": seen}, ("/size",))
    wrote, sent = updated("whole", target, what)
    assert isinstance(wrote, Done)
    assert sent[0][2] == {
        "name": "w",
        "size": 3,
        "users": [{"name": "a", "password": "p-a"}, {"name": "x", "role": "own"}, {"name": "b", "password": "p-b"}],
    }


@pytest.mark.parametrize("body, expected", [("merge", {"password": "n3w"}), ("changed", {"password": "n3w"})])
@pytest.mark.parametrize("shown", ["********", None])
def test_a_secret_that_is_to_change_is_sent_though_nobody_can_see_the_difference(body, expected, shown):
    target = widget(password="n3w")
    observed = {"name": "w", "password": shown} if shown else {"name": "w"}
    wrote, sent = updated(body, target, Change(target.desired, observed, ("/password",)), {"profile": RULES})
    assert isinstance(wrote, Done)
    assert sent[0][2] == expected


@pytest.mark.parametrize("method, body", [("PUT", "whole"), ("PATCH", "merge"), ("PATCH", "changed")])
def test_a_fingerprint_in_what_was_observed_is_never_sent_back(method, body):
    """The engine shows writers fingerprints in place of secrets; what is sent is made from the clear document."""
    clear = {"name": "w", "size": 2, "keys": [{"n": "a", "v": "s3cret"}, {"n": "b", "v": "0ther"}], "own": "t0ken"}
    mark = "hmac-sha256:" + "0" * 64
    redacted = {**clear, "keys": [{"n": "a", "v": mark}, {"n": "b", "v": mark}], "own": mark}

    async def story(server, reader, writer):
        server.collections["widgets"].put("w", clear)
        target = widget(size=3, keys=[{"n": "a", "v": "n3w"}])
        seen = await reader.read(target)
        what = Change(target.desired, redacted, ("/size", "/keys[n=a]/v"), seen.etag)
        wrote = await writer.update(target, what, "key")
        assert isinstance(wrote, Done), wrote
        after = server.collections["widgets"]["w"]
        late = await writer.update(target, what, "key")
        return after, late

    after, late = with_server(story, kind={"update": {"method": method, "path": "/widgets/{id}", "body": body}})
    assert after == {**clear, "size": 3, "keys": [{"n": "a", "v": "n3w"}, {"n": "b", "v": "0ther"}]}
    assert isinstance(late, WriteFailure)
    assert late.refusal is WriteError.MOVED


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("body", BODIES)
def test_a_document_too_deep_to_be_sent_is_terminal_or_not_needed(body):
    target = widget(size=3, deep=nested(3000))
    wrote, sent = updated(body, target, Change(target.desired, {"name": "w", "deep": nested(3000)}, ("/size",)))
    if body in ("whole", "desired"):
        assert isinstance(wrote, WriteFailure)
        assert (wrote.refusal, sent) == (WriteError.TERMINAL, [])
    else:
        assert isinstance(wrote, Done | WriteFailure)


def test_a_conditional_update_is_refused_if_it_moved():
    async def story(server, reader, writer):
        put_there(server, size=1)
        target = widget(size=3)
        seen = await reader.read(target)
        server.collections["widgets"].edit("w", lambda document: document.update(size=2))
        return await writer.update(target, change(target, seen, "/size"), "key"), server.collections["widgets"]["w"][
            "size"
        ]

    refused, size = with_server(story, kind={"conditional": True})
    assert isinstance(refused, WriteFailure)
    assert (refused.refusal, size) == (WriteError.MOVED, 2)
    done, size = with_server(story)
    assert isinstance(done, Done), "without `conditional` nobody asks"
    assert size == 3


def test_headers_carry_the_key_and_the_condition():
    target = widget(size=3)
    kind = {"conditional": True, "etag": "header", "idempotency_header": "X-Request-Key"}
    wrote, sent = updated("merge", target, Change(target.desired, OBSERVED, ("/size",), '"1"'), kind)
    assert wrote == Done("w", None, '"2"')
    headers = sent[0][3]
    assert (headers["X-Request-Key"], headers["If-Match"]) == ("the-key", '"1"')


# --- deletes ----------------------------------------------------------------------------------------------------------


def test_delete_removes_and_gone_is_done():
    async def story(server, reader, writer):
        put_there(server)
        first, second = await writer.delete(widget(), "key"), await writer.delete(widget(), "key")
        return first, second, await reader.read(widget())

    assert with_server(story) == (Done("w"), Done("w"), NotFound())


def test_a_delete_that_a_proxy_answers_is_not_done():
    async def story(server, _, writer):
        put_there(server)
        server.faults.append(Fault(Wrong.HTML, "DELETE", status=404))
        return await writer.delete(widget(), "key")

    refused = with_server(story)
    assert isinstance(refused, WriteFailure)
    assert refused.refusal is WriteError.RETRYABLE


def test_a_conditional_delete_leaves_what_moved():
    async def story(server, reader, writer):
        put_there(server, size=1)
        seen = await reader.read(widget())
        server.collections["widgets"].edit("w", lambda document: document.update(size=2))
        return await writer.delete(widget(), "key", seen.etag), "w" in server.collections["widgets"]

    refused, there = with_server(story, kind={"conditional": True})
    assert isinstance(refused, WriteFailure)
    assert (refused.refusal, there) == (WriteError.MOVED, True)


# --- every kind of no -------------------------------------------------------------------------------------------------

REFUSALS = {
    301: WriteError.TERMINAL,
    400: WriteError.TERMINAL,
    401: WriteError.DENIED,
    403: WriteError.DENIED,
    405: WriteError.TERMINAL,
    408: WriteError.RETRYABLE,
    409: WriteError.RETRYABLE,
    412: WriteError.MOVED,
    415: WriteError.TERMINAL,
    422: WriteError.TERMINAL,
    423: WriteError.RETRYABLE,
    429: WriteError.THROTTLED,
    500: WriteError.RETRYABLE,
    503: WriteError.RETRYABLE,
}


async def each_verb(server, reader, writer, make_fault):
    put_there(server, size=1)
    target = widget(size=2)
    seen = await reader.read(target)
    calls = (
        lambda: writer.create(target, "k1"),
        lambda: writer.update(target, change(target, seen, "/size"), "k2"),
        lambda: writer.delete(target, "k3"),
    )
    out = []
    for call in calls:
        server.faults[:] = [make_fault()]
        out.append(await call())
    return out


@pytest.mark.parametrize("status", REFUSALS)
@pytest.mark.parametrize("wrong", [Wrong.STATUS, Wrong.HTML])
def test_each_status_is_one_kind_of_no(status, wrong):
    fault = {"wrong": wrong, "status": status, "headers": {"Retry-After": "2"}}
    outcomes = with_server(lambda s, r, w: each_verb(s, r, w, lambda: Fault(**fault)))
    for outcome in outcomes:
        assert isinstance(outcome, WriteFailure)
        assert (outcome.refusal, outcome.retry_after_seconds) == (REFUSALS[status], 2.0)
        assert f"was answered {status}" in outcome.message


@pytest.mark.parametrize("wrong", [Wrong.RESET, Wrong.RESET_AFTER, Wrong.TRUNCATED, Wrong.HANG])
def test_a_write_without_an_answer_may_be_tried_again(wrong):
    outcomes = with_server(lambda s, r, w: each_verb(s, r, w, lambda: Fault(wrong, times=None)), timeout_seconds=0.2)
    for outcome in outcomes[:2]:
        assert isinstance(outcome, WriteFailure)
        assert outcome.refusal is WriteError.RETRYABLE


def test_gone_while_it_is_updated_is_moved():
    outcomes = with_server(lambda s, r, w: each_verb(s, r, w, lambda: Fault(status=404)))
    assert [type(outcome) for outcome in outcomes] == [WriteFailure, WriteFailure, Done]
    assert [outcome.refusal for outcome in outcomes[:2]] == [WriteError.TERMINAL, WriteError.MOVED]


@pytest.mark.parametrize(
    "status, refusal",
    [(409, WriteError.TERMINAL), (400, WriteError.RETRYABLE), (418, WriteError.MOVED), (503, WriteError.THROTTLED)],
)
def test_an_api_may_mean_something_else_by_a_status(status, refusal):
    rules = {"status": {"terminal": [409], "retryable": [400], "moved": [418], "throttled": [503]}}
    outcomes = with_server(lambda s, r, w: each_verb(s, r, w, lambda: Fault(status=status)), kind=rules)
    assert [outcome.refusal for outcome in outcomes] == [refusal] * 3


def test_a_write_redirected_to_another_host_is_not_repeated_there():
    location = {"Location": "http://elsewhere.invalid/"}
    outcomes = with_server(
        lambda s, r, w: each_verb(s, r, w, lambda: Fault(Wrong.REDIRECT, status=307, headers=location))
    )
    assert all(isinstance(outcome, WriteFailure) and "another host" in outcome.message for outcome in outcomes)


def test_what_is_not_described_cannot_be_written():
    async def story(server, reader, writer):
        return await each_verb(server, reader, writer, lambda: Fault(times=0))

    outcomes = with_server(story, kind={"create": None, "update": None, "delete": None})
    assert [outcome.refusal for outcome in outcomes] == [WriteError.TERMINAL] * 3
    assert all("does not describe how to" in outcome.message for outcome in outcomes)


# --- operations -------------------------------------------------------------------------------------------------------

BY_STATUS = {
    "header": "Location",
    "done": {"pointer": "/status", "values": ["succeeded"]},
    "failed": {"pointer": "/status", "values": ["failed"]},
    "id": "/resource/id",
    "poll_seconds": 0.5,
}
OPERATIONS = {"by a field": BY_STATUS, "by the status code": {}, "a link in the body": {"pointer": "/operation"}}


async def followed(writer, target, writing):
    polls = 0
    while isinstance(writing, InProgress):
        polls += 1
        assert polls < 10
        token = orjson.loads(orjson.dumps(dict(writing.token)))  # as another process would have it
        writing = await writer.poll(target, token)
    return writing, polls


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=list(OPERATIONS))
def test_a_long_operation_is_followed_to_its_end_for_every_verb(operation):
    async def story(server, reader, writer):
        target = widget(size=1)
        started = await writer.create(target, "k1")
        assert isinstance(started, InProgress)
        assert await reader.read(target) == NotFound()
        made, polls = await followed(writer, target, started)
        seen = await reader.read(target)
        bigger = widget(size=2)
        changed, _ = await followed(writer, target, await writer.update(bigger, change(bigger, seen, "/size"), "k2"))
        after = await reader.read(target)
        removed, _ = await followed(writer, target, await writer.delete(target, "k3"))
        return (made, changed, removed), polls, after, await reader.read(target)

    done, polls, after, last = with_server(story, shape=Shape(operation_polls=3), kind={"operation": operation})
    assert [item.id for item in done] == ["w", "w", "w"]
    assert (polls, after.document["size"], last) == (3, 2, NotFound())


def test_a_poll_that_fails_says_nothing_about_the_operation():
    async def story(server, _, writer):
        target = widget(size=1)
        started = await writer.create(target, "key")
        out = []
        for fault in (
            Fault(status=500),
            Fault(status=429, headers={"Retry-After": "9"}),
            Fault(Wrong.RESET, times=2),
            Fault(status=403),
            Fault(status=404),
        ):
            server.faults[:] = [fault]
            out.append(await writer.poll(target, started.token))
        server.failing_operations = True
        again = await writer.create(target, "other")
        out.append((await followed(writer, target, again))[0])
        return started, out

    started, out = with_server(story, shape=Shape(operation_polls=2), kind={"operation": BY_STATUS})
    assert started.poll_after_seconds == 0.5
    assert [type(item) for item in out] == [
        InProgress,
        InProgress,
        InProgress,
        WriteFailure,
        WriteFailure,
        WriteFailure,
    ]
    assert out[1].poll_after_seconds == 9.0
    assert [item.refusal for item in out[3:]] == [WriteError.DENIED, WriteError.RETRYABLE, WriteError.RETRYABLE]


def test_a_poll_goes_to_no_other_host():
    async def story(_, __, writer):
        return await writer.poll(widget(), {"url": "http://elsewhere.invalid/operations/1", "id": "w"})

    refused = with_server(story, kind={"operation": BY_STATUS})
    assert isinstance(refused, WriteFailure)
    assert refused.refusal is WriteError.TERMINAL


def test_a_read_after_the_write_may_lag_and_settles():
    async def story(_, reader, writer):
        await writer.create(widget(size=1), "key")
        return [await reader.read(widget()) for _ in range(3)]

    seen = with_server(story, shape=Shape(lag_reads=2))
    assert [type(item) for item in seen] == [NotFound, NotFound, Found]
