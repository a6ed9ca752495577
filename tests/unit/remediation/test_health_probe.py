"""A probe passes, fails, or could not be run at all; only the first two say something about the target."""

from __future__ import annotations

import asyncio
import socket
import sys

import aiohttp.web
import pytest

from holdfast.remediation.core.health import ProbeAnswer
from holdfast.remediation.core.rules import CommandProbe, HttpProbe, ProbeSpec, TcpProbe
from holdfast.remediation.probes import health_probe


def run(spec):
    return asyncio.run(health_probe.run(spec)).answer


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    "status, wanted, answer",
    [(200, 200, ProbeAnswer.PASSED), (503, 200, ProbeAnswer.FAILED), (401, 401, ProbeAnswer.PASSED)],
)
def test_http(status, wanted, answer):
    async def main():
        async def handle(_request):
            return aiohttp.web.Response(status=status)

        app = aiohttp.web.Application()
        app.router.add_get("/healthz", handle)
        runner = aiohttp.web.AppRunner(app)
        await runner.setup()
        site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/healthz"
            port = runner.addresses[0][1]
            both: list[ProbeSpec] = [HttpProbe("web", url, wanted), TcpProbe("port", "127.0.0.1", port)]
            return [item.answer for item in await health_probe.run_all(both)]
        finally:
            await runner.cleanup()

    assert asyncio.run(main()) == [answer, ProbeAnswer.PASSED]


def test_what_does_not_answer_is_not_well():
    port = free_port()
    assert run(HttpProbe("web", f"http://127.0.0.1:{port}/", timeout=2.0)) is ProbeAnswer.FAILED
    assert run(TcpProbe("port", "127.0.0.1", port, timeout=2.0)) is ProbeAnswer.FAILED


def test_an_address_that_is_none_says_nothing_about_the_target():
    assert run(HttpProbe("web", "http://[x/")) is ProbeAnswer.UNKNOWN


@pytest.mark.parametrize(
    "code, timeout, answer",
    [
        ("raise SystemExit(0)", 20.0, ProbeAnswer.PASSED),
        ("raise SystemExit(3)", 20.0, ProbeAnswer.FAILED),
        ("import threading; threading.Event().wait()", 0.2, ProbeAnswer.FAILED),
    ],
)
def test_a_command_says_so_by_its_exit_code_in_time(code, timeout, answer, tmp_path):
    spec = CommandProbe("own", (sys.executable, "-c", code), str(tmp_path), timeout)
    assert run(spec) is answer


def test_a_command_that_is_not_there_says_nothing_about_the_target(tmp_path):
    assert run(CommandProbe("own", ("./no-such-program",), str(tmp_path))) is ProbeAnswer.UNKNOWN
