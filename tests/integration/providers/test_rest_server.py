"""The test API does what it says: other tests lean on it."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import urllib.error
import urllib.request

import aiohttp
import pytest

from holdfast.testing.rest_server import Fault, JournalEntry, RestServer, Shape, Wrong
from tests.integration.providers.drift_injector import Damage, RandomDriftInjector


def with_client(story, shape: Shape | None = None, **options):
    async def run():
        async with RestServer({"widgets": shape}, **options) as server, aiohttp.ClientSession(server.url) as client:
            return await story(server, client)

    return asyncio.run(run())


async def call(client, method, path, body=None, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.request(method, path, json=body, headers=named) as response:
        text = await response.text()
        return response.status, json.loads(text) if text else None, response.headers


def test_a_service_fills_in_rewrites_reorders_hides_and_stamps():
    shape = Shape(
        defaults={"colour": "red"},
        stamps=("id", "createdAt", "revision", "state"),
        sorted_lists=("tags",),
        lowered=("region",),
        masked=("password",),
    )

    async def story(server, client):
        body = {"name": "w", "tags": ["b", "a"], "region": "EU", "password": "p4ss"}
        _, made, _ = await call(client, "POST", "/widgets", body)
        _, changed, _ = await call(client, "PATCH", "/widgets/w", {"tags": ["c"], "colour": None})
        return made, changed, server.collections["widgets"]["w"]["password"]

    made, changed, kept = with_client(story, shape)
    assert made == {
        "colour": "red",
        "name": "w",
        "tags": ["a", "b"],
        "region": "eu",
        "password": "********",
        "id": "w",
        "createdAt": "2026-01-01T00:00:00Z",
        "revision": 1,
        "state": "ready",
    }
    assert (changed["tags"], changed["colour"], changed["revision"], kept) == (["c"], "red", 2, "p4ss")


def test_preconditions_hold():
    async def story(server, client):
        server.collections["widgets"].put("w", {"name": "w"})
        _, _, headers = await call(client, "GET", "/widgets/w")
        etag = headers["ETag"]
        return [
            (await call(client, method, "/widgets/w", body, **conditions))[0]
            for method, body, conditions in (
                ("GET", None, {"If_None_Match": etag}),
                ("PUT", {"name": "w", "n": 1}, {"If_None_Match": "*"}),
                ("PUT", {"name": "w", "n": 1}, {"If_Match": etag}),
                ("PATCH", {"n": 2}, {"If_Match": etag}),
                ("DELETE", None, {"If_Match": etag}),
                ("DELETE", None, {}),
                ("DELETE", None, {}),
            )
        ]

    assert with_client(story) == [304, 412, 200, 412, 412, 204, 404]


def test_wrong_requests_are_refused():
    async def story(_, client):
        return [
            (await call(client, method, path, body))[0]
            for method, path, body in (
                ("GET", "/nowhere", None),
                ("GET", "/widgets/none", None),
                ("PUT", "/widgets", {}),
                ("POST", "/widgets", [1]),
                ("POST", "/widgets", {"size": 1}),
                ("PATCH", "/widgets/none", {"size": 1}),
                ("PUT", "/widgets/w", None),
                ("POST", "/widgets", {"name": "w", "size": 1}),
                ("POST", "/widgets", {"name": "w", "size": 1}),
                ("GET", "/operations/9", None),
            )
        ]

    assert with_client(story, Shape(required=("size",))) == [404, 404, 405, 400, 422, 404, 400, 201, 409, 404]


def test_the_journal_counts_writes_that_happened():
    async def story(server, client):
        await call(client, "PUT", "/widgets/w", {"name": "w"})
        await call(client, "GET", "/widgets/w")
        server.faults.append(Fault(status=503, method="PUT"))
        await call(client, "PUT", "/widgets/w", {"name": "w"})
        return server.journal, server.writes()

    journal, writes = with_client(story)
    assert journal == [
        JournalEntry("PUT", "/widgets/w", 201),
        JournalEntry("GET", "/widgets/w", 200),
        JournalEntry("PUT", "/widgets/w", 503),
    ]
    assert writes == journal[:1]


def test_a_fault_strikes_what_it_matches_as_often_as_it_should():
    fault = Fault(method="GET", path="/widgets/*", times=2)
    struck = [fault.strikes(*item) for item in (("PUT", "/widgets/a"), ("GET", "/other"), *[("GET", "/widgets/a")] * 3)]
    assert struck == [False, False, True, True, False]


def test_an_empty_list_can_be_shown_where_there_are_items():
    async def story(server, client):
        server.collections["widgets"].put("w", {"name": "w"})
        server.faults.append(Fault(Wrong.EMPTY_LIST, path="/widgets"))
        return (await call(client, "GET", "/widgets"))[1], (await call(client, "GET", "/widgets"))[1]["items"]

    empty, full = with_client(story)
    assert (empty["items"], full) == ([], [{"name": "w"}])


def test_lists_are_filtered_by_their_query():
    async def story(server, client):
        for name, size in (("a", 1), ("b", 2)):
            server.collections["widgets"].put(name, {"name": name, "size": size})
        return [item["name"] for item in (await call(client, "GET", "/widgets?size=2"))[1]["items"]]

    assert with_client(story) == ["b"]


def test_credentials_can_be_asked_for():
    async def story(_, client):
        with_them = await call(client, "GET", "/widgets", Authorization="Bearer x")
        return with_them[0], (await call(client, "GET", "/widgets"))[0]

    assert with_client(story, authorization="Bearer x") == (200, 401)


@pytest.mark.parametrize("damage", list(Damage))
def test_the_drift_injector_does_the_same_damage_for_the_same_seed(damage):
    def struck():
        server = RestServer({"widgets": None})
        widgets = server.collections["widgets"]
        for name in "abc":
            widgets.put(name, {"name": name, "size": 1, "on": True, "tags": ["x"], "word": "w"})
        before = {ident: widgets[ident] for ident in widgets.ids()}
        report = RandomDriftInjector(random.Random(7)).strike(widgets, (damage,))
        return report, before, {ident: widgets[ident] for ident in widgets.ids()}

    report, before, after = struck()
    assert report is not None
    assert report[1] is damage
    assert [ident for ident in before if before[ident] != after.get(ident)] == [report[0]]
    assert struck()[2] == after


def test_the_drift_injector_has_nothing_to_do_where_there_is_nothing():
    assert RandomDriftInjector(random.Random(7)).strike(RestServer({"widgets": None}).collections["widgets"]) is None


def test_it_runs_as_a_process_of_its_own_and_is_steered_from_outside():
    arguments = [
        "--collections",
        '{"widgets": {"defaults": {"a": 1}}}',
        "--things",
        '{"widgets": {"w": {"name": "w"}}}',
    ]
    command = [sys.executable, "-m", "holdfast.testing.rest_server", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"

            def ask(method, path, body=None):
                data = json.dumps(body).encode() if body is not None else None
                with urllib.request.urlopen(urllib.request.Request(url + path, data, method=method)) as answer:
                    return json.loads(answer.read())

            assert ask("GET", "/widgets/w") == {"name": "w"}
            assert ask("PUT", "/widgets/v", {"name": "v"}) == {"a": 1, "name": "v"}
            assert ask("PUT", "/_control/things/widgets/x", {"name": "x"}) == ["w", "v", "x"]
            assert ask("DELETE", "/_control/things/widgets/w") == ["v", "x"]
            assert ask("POST", "/_control/faults", [{"wrong": "status", "status": 503, "path": "/widgets/v"}]) == 1
            with pytest.raises(urllib.error.HTTPError) as failed:
                ask("GET", "/widgets/v")
            failed.value.close()
            assert [entry["status"] for entry in ask("GET", "/_control/journal")] == [200, 201, 503]
        finally:
            process.terminate()
