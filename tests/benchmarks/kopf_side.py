"""The CPU time of one watch event in kopf, against a stub of the Kubernetes API on this machine.

python tests/benchmarks/kopf_side.py serve EVENTS     the stub; prints its port
python tests/benchmarks/kopf_side.py operate PORT     an operator whose handler does nothing; prints microseconds
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from pathlib import Path

from aiohttp import web

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.model.json import Json
from tests.benchmarks import inputs

GROUP = "bench.example.com"
VERSION = {"groupVersion": f"{GROUP}/v1", "version": "v1"}
VERBS = ["list", "watch", "get", "patch", "create"]
OBJECTS = 500
QUIET_SECONDS = 1.0  # without an event, after which all have come


def _kind(name: str, kind: str, *, namespaced: bool) -> Json:
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": VERBS}


DISCOVERY: Json = {
    "/api": {"versions": ["v1"]},
    "/apis": {"groups": [{"name": GROUP, "versions": [VERSION], "preferredVersion": VERSION}]},
    f"/apis/{GROUP}/v1": {"resources": [_kind("things", "Thing", namespaced=True)]},
    "/api/v1": {
        "resources": [_kind("namespaces", "Namespace", namespaced=False), _kind("events", "Event", namespaced=True)]
    },
}


def thing(number: int) -> Json:
    """Return an object of 4 KB."""
    meta: Json = {"name": f"thing-{number % OBJECTS}", "namespace": "default", "uid": f"uid-{number % OBJECTS}"}
    meta |= {"resourceVersion": str(number + 2), "generation": 1}
    spec = inputs.deployment(2, containers=2, variables=3, mounts=2)
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": meta, "spec": spec}


async def serve(events: int) -> None:
    """Serve discovery, an empty list, and one stream with all events."""
    lines = [json.dumps({"type": "MODIFIED", "object": thing(number)}).encode() + b"\n" for number in range(events)]

    async def things(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        while lines:
            await response.write(lines.pop())
        await asyncio.sleep(3600)
        return response

    async def discovery(request: web.Request) -> web.Response:
        return web.json_response(DISCOVERY.get(request.path.rstrip("/"), {"resources": []}))

    application = web.Application()
    application.router.add_get(f"/apis/{GROUP}/v1/things", things)
    application.router.add_get("/{tail:.*}", discovery)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.sleep(3600)


async def operate(port: int) -> float:
    """Return the microseconds of CPU for an event, from the first one to the last."""
    import kopf

    times: list[float] = []
    registry = kopf.OperatorRegistry()
    stop = asyncio.Event()

    @kopf.on.login(registry=registry)
    def login(**_: Json) -> Json:
        return kopf.ConnectionInfo(server=f"http://127.0.0.1:{port}")

    @kopf.on.startup(registry=registry)
    def configure(settings: Json, **_: Json) -> None:
        settings.posting.enabled = False
        settings.scanning.disabled = True

    @kopf.on.event(GROUP, "v1", "things", registry=registry)
    async def event(**_: Json) -> None:
        times.append(time.process_time())

    async def end() -> None:
        seen = -1
        while not times or len(times) != seen:
            seen = len(times)
            await asyncio.sleep(QUIET_SECONDS)
        stop.set()

    await asyncio.gather(end(), kopf.operator(registry=registry, clusterwide=True, standalone=True, stop_flag=stop))
    return (times[-1] - times[0]) / (len(times) - 1) * 1e6


def main() -> None:
    """Be the server or the operator."""
    logging.disable(logging.CRITICAL)
    role, argument = sys.argv[1:]
    if role == "serve":
        asyncio.run(serve(int(argument)))
    else:
        print(asyncio.run(operate(int(argument))))


if __name__ == "__main__":
    main()
