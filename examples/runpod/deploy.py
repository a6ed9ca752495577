"""Deploy an endpoint from Python, move it behind our back in three ways, and see what is found and done.

    python examples/runpod/deploy.py

It needs no account: without RUNPOD_API_KEY it starts an emulated RunPod on this machine, and what it remembers goes
into a folder that is removed at the end. With a key of your own, only the first two steps are taken, on your account.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast import ResourceManager
from holdfast.api.results import Deployment
from holdfast.providers.runpod import CpuLoadBalancerSlsResource
from holdfast_emulators.runpod import RunPodServer, running


@contextmanager
def somewhere() -> Iterator[RunPodServer | None]:
    """Return an emulated RunPod, or nothing where there is a real one."""
    if os.environ.get("RUNPOD_API_KEY"):
        yield None
        return
    with running(RunPodServer()) as server:
        os.environ.update(server.environ)
        yield server


def endpoint(image: str = "user/image:1.0") -> CpuLoadBalancerSlsResource:
    """Return what we want to have."""
    return CpuLoadBalancerSlsResource(
        name="inference-lb", imageName=image, workersMin=0, workersMax=5, env={"MODE": "fast"}
    )


def tell(what: str, deployment: Deployment[CpuLoadBalancerSlsResource]) -> None:
    """Say what came of a deploy."""
    print(f"{what}: {deployment.action.value} ({deployment.verdict.reason})")
    for reason in deployment.decision.reasons:
        if set(reason.paths) & set(deployment.left_alone):
            print(f"    left alone: {reason.message}")


async def tour(manager: ResourceManager, server: RunPodServer | None) -> None:
    """Deploy, change, and let the world move."""
    first = await manager.deploy(endpoint())
    tell("the first time", first)
    tell("again", await manager.deploy(endpoint()))
    if server is None:
        return
    tell("another image", await manager.deploy(endpoint("user/image:2.0")))

    server.console("user_alice").edit("inference-lb", template={"imageName": "user/image:9"})
    (seen,) = await manager.check(endpoint("user/image:2.0"))
    print(f"somebody edits it: {seen.verdict.status.value}, and {seen.likely_actors[0].who} did it")
    tell("so it is reverted", await manager.deploy(endpoint("user/image:2.0")))

    server.advance(days=4)
    tell("four days idle", await manager.deploy(endpoint("user/image:2.0")))

    server.console().delete("inference-lb")
    tell("deleted at the console", await manager.deploy(endpoint("user/image:2.0")))
    print(f"undeployed: {(await manager.undeploy('inference-lb')).message}")
    print(f"left in the account: {len(server.account.endpoints)} endpoints, {len(server.account.templates)} templates")


def main() -> None:
    """Run the tour."""
    with somewhere() as server, tempfile.TemporaryDirectory() as folder:
        asyncio.run(tour(ResourceManager(folder if server is not None else None), server))


if __name__ == "__main__":
    main()
