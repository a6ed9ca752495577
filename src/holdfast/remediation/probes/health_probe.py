"""Generic probes: does it answer, does it accept a connection, does a command of yours say it is well.

A probe fails when the target says no or does not answer; it is unknown when it could not be run at all, which says
nothing about the target.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import aiohttp

from holdfast.remediation.core.health import Probe, ProbeAnswer
from holdfast.remediation.core.rules import CommandProbe, HttpProbe, ProbeSpec, TcpProbe


async def run_all(specs: Sequence[ProbeSpec]) -> list[Probe]:
    """Run all probes at once."""
    return list(await asyncio.gather(*[run(spec) for spec in specs]))


async def run(spec: ProbeSpec) -> Probe:
    """Run one probe."""
    match spec:
        case HttpProbe():
            return Probe(spec.name, await _http(spec))
        case TcpProbe():
            return Probe(spec.name, await _tcp(spec))
        case CommandProbe():
            return Probe(spec.name, await _command(spec))


async def _http(spec: HttpProbe) -> ProbeAnswer:
    timeout = aiohttp.ClientTimeout(total=spec.timeout)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(spec.url, allow_redirects=False) as response,
        ):
            return ProbeAnswer.PASSED if response.status == spec.status else ProbeAnswer.FAILED
    except aiohttp.InvalidURL:
        return ProbeAnswer.UNKNOWN
    except (TimeoutError, aiohttp.ClientError, OSError):
        return ProbeAnswer.FAILED  # a target that does not answer is not well


async def _tcp(spec: TcpProbe) -> ProbeAnswer:
    try:
        async with asyncio.timeout(spec.timeout):
            _, writer = await asyncio.open_connection(spec.host, spec.port)
    except (TimeoutError, OSError):
        return ProbeAnswer.FAILED
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return ProbeAnswer.PASSED


async def _command(spec: CommandProbe) -> ProbeAnswer:
    try:
        process = await asyncio.create_subprocess_exec(
            *spec.words,
            cwd=spec.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except (OSError, ValueError):
        return ProbeAnswer.UNKNOWN  # there is no such program: that is our mistake, and not the target's
    try:
        async with asyncio.timeout(spec.timeout):
            code = await process.wait()
    except TimeoutError:
        return ProbeAnswer.FAILED
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return ProbeAnswer.PASSED if code == 0 else ProbeAnswer.FAILED
