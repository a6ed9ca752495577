"""What the servers answer is taken as it is; what they do not, or not properly, is no answer and never a number."""

from __future__ import annotations

import asyncio
import json
import math

import aiohttp.web
import pytest

from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.metrics import Range
from holdfast.remediation.probes.alertmanager import Alertmanager
from holdfast.remediation.probes.http_query import Server, get
from holdfast.remediation.probes.prometheus import Prometheus

RANGE = Range(100.0, 160.0, 15.0)


def answering(body, status=200, *, seen=None, use):
    """Run something against a server that gives one answer to everything."""

    async def main():
        async def handle(request):
            if seen is not None:
                seen.append(request)
            text = body if isinstance(body, str) else json.dumps(body)
            return aiohttp.web.Response(text=text, status=status)

        app = aiohttp.web.Application()
        app.router.add_get("/{path:.*}", handle)
        runner = aiohttp.web.AppRunner(app)
        await runner.setup()
        site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            port = runner.addresses[0][1]
            return await use(Server(f"http://127.0.0.1:{port}/base/", "s3cret-token", 2.0))
        finally:
            await runner.cleanup()

    return asyncio.run(main())


def queried(body, status=200, seen=None):
    return answering(body, status, seen=seen, use=lambda server: Prometheus(server).query_range("sum(up)", RANGE))


def listed(body, status=200, seen=None, signal=None):
    wanted = signal or Signal("HighMemory")
    return answering(body, status, seen=seen, use=lambda server: Alertmanager(server).alerts(wanted))


def matrix(*series):
    result = [{"metric": {"pod": str(number)}, "values": values} for number, values in enumerate(series)]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def test_a_range_query_asks_for_whole_seconds_with_our_token_and_reads_every_series():
    seen: list = []
    found = queried(matrix([[100, "1"], [115, "NaN"]], [[100, "+Inf"]]), seen=seen)
    assert [item.labels for item in found] == [{"pod": "0"}, {"pod": "1"}]
    assert found[0].samples[0] == (100.0, 1.0)
    assert math.isnan(found[0].samples[1][1])
    assert math.isinf(found[1].samples[0][1])
    (request,) = seen
    assert request.path == "/base/api/v1/query_range"
    assert dict(request.query) == {"query": "sum(up)", "start": "100", "end": "160", "step": "15"}
    assert request.headers["Authorization"] == "Bearer s3cret-token"


def test_no_series_is_an_answer():
    assert queried(matrix()) == ()


@pytest.mark.parametrize(
    "body, status",
    [
        ({"status": "error", "errorType": "bad_data"}, 400),
        ({"status": "error"}, 200),
        ("<html>", 200),
        ("", 200),
        ([], 200),
        ({"status": "success", "data": {"resultType": "vector", "result": []}}, 200),
        ({"status": "success", "data": {"resultType": "matrix", "result": [{"values": [[1]]}]}}, 200),
        ({"status": "success", "data": {"resultType": "matrix", "result": [{"values": [[1, "x"]]}]}}, 200),
        ({"status": "success", "data": {"resultType": "matrix", "result": ["x"]}}, 200),
        (matrix(), 503),
        (matrix(), 302),
    ],
)
def test_what_is_not_of_the_agreed_shape_is_no_answer(body, status):
    assert queried(body, status) is None


def test_51_alerts_are_asked_for_by_escaped_matchers_and_silenced_ones_count():
    seen: list = []
    body = [
        {"labels": {"alertname": "HighMemory"}, "status": {"state": "active"}},
        {"labels": {"alertname": "HighMemory", "pod": "x"}, "status": {"state": "suppressed"}},
        {"labels": {"alertname": "HighMemory"}},
    ]
    found = listed(body, seen=seen, signal=Signal("HighMemory", {"service": 'a"b\\c', "empty": ""}))
    assert [item.state for item in found] == ["active", "suppressed", "active"]
    (request,) = seen
    assert request.path == "/base/api/v2/alerts"
    assert request.query.getall("filter") == ['alertname="HighMemory"', 'service="a\\"b\\\\c"']


@pytest.mark.parametrize(
    "body, status", [("bad matcher", 400), ({"a": 1}, 200), ([{"x": 1}], 200), (["x"], 200), ([], 500)]
)
def test_alerts_that_could_not_be_listed_are_no_answer(body, status):
    assert listed(body, status) is None


def test_a_server_is_ready_when_it_says_so():
    ready = answering("Prometheus Server is Ready.", use=lambda server: Prometheus(server).is_ready())
    unready = answering("no", 503, use=lambda server: Prometheus(server).is_ready())
    assert (ready, unready) == (True, False)


def test_nobody_there_is_no_answer_and_no_message_holds_the_address_or_the_token():
    server = Server("http://user:hunter2@127.0.0.1:1/secret-path", "s3cret-token", 1.0)
    answer = asyncio.run(get(server, "/x"))
    assert (answer.status, answer.is_ok) == (0, False)
    text = f"{answer} {server!r}"
    assert not any(word in text for word in ("hunter2", "secret-path", "s3cret-token"))
    assert asyncio.run(Prometheus(server).query_range("x", RANGE)) is None
    assert asyncio.run(Alertmanager(server).alerts(Signal("x"))) is None
