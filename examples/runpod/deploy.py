"""Deploy an endpoint from Python, change it outside Holdfast in three ways, and print what is found and done.

    python examples/runpod/deploy.py

It needs no account: without RUNPOD_API_KEY it starts an emulated RunPod on this machine and keeps its state in a
temporary folder. With your own key it takes only the first two steps, on your account.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.api import ResourceManager
from holdfast.api.results import Deployment
from holdfast.providers.runpod import CpuLoadBalancerSlsResource
from holdfast_emulators.runpod import RunPodServer, running


@contextmanager
def somewhere() -> Iterator[RunPodServer | None]:
    """Return an emulated RunPod, or None if RUNPOD_API_KEY names a real account."""
    if os.environ.get("RUNPOD_API_KEY"):
        yield None
        return
    with running(RunPodServer()) as server:
        os.environ.update(server.environ)
        yield server


def endpoint(image: str = "user/image:1.0") -> CpuLoadBalancerSlsResource:
    """Return the declaration of the endpoint."""
    return CpuLoadBalancerSlsResource(
        name="inference-lb", imageName=image, workersMin=0, workersMax=5, env={"MODE": "fast"}
    )


def show(step: str, deployment: Deployment[CpuLoadBalancerSlsResource]) -> None:
    """Print the result of a deploy."""
    print(f"{step}: {deployment.action.value} ({deployment.verdict.reason})")
    for reason in deployment.decision.reasons:
        if set(reason.paths) & set(deployment.left_alone):
            print(f"    kept: {reason.message}")


async def tour(manager: ResourceManager, server: RunPodServer | None) -> None:
    """Deploy, change the declaration, and change the endpoint outside Holdfast."""
    first = await manager.deploy(endpoint())
    show("first deploy", first)
    show("second deploy", await manager.deploy(endpoint()))
    if server is None:
        return
    show("another image", await manager.deploy(endpoint("user/image:2.0")))

    server.console("user_alice").edit("inference-lb", template={"imageName": "user/image:9"})
    (seen,) = await manager.check(endpoint("user/image:2.0"))
    print(f"edited at the console: {seen.verdict.status.value}, changed by {seen.likely_actors[0].who}")
    show("reverted", await manager.deploy(endpoint("user/image:2.0")))

    server.advance(days=4)
    show("four days idle", await manager.deploy(endpoint("user/image:2.0")))

    server.console().delete("inference-lb")
    show("deleted at the console", await manager.deploy(endpoint("user/image:2.0")))
    print(f"undeployed: {(await manager.undeploy('inference-lb')).message}")
    print(f"left in the account: {len(server.account.endpoints)} endpoints, {len(server.account.templates)} templates")


def main() -> None:
    """Run the tour."""
    with somewhere() as server, tempfile.TemporaryDirectory() as folder:
        asyncio.run(tour(ResourceManager(folder if server is not None else None), server))


if __name__ == "__main__":
    main()
