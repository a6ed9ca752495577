"""The other side of bench_runpod: runs inside an environment that has Flash and nothing of ours.

Reads one order a line on standard input, answers with one line of JSON on standard output: CPU seconds of this process.

    hash CLASS CALLS        config_hash of a typical endpoint, so many times
    load IDS                take over endpoints that exist, as if they had been deployed from here; IDS is JSON
    check                   get_or_deploy_resource for each of them, unchanged
    compare                 only what of that is local: the hash of each, beside the stored one
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from typing import Any

CLASSES = {
    "CpuLoadBalancerSlsResource": "runpod_flash.core.resources.load_balancer_sls_resource",
    "LoadBalancerSlsResource": "runpod_flash.core.resources.load_balancer_sls_resource",
    "ServerlessEndpoint": "runpod_flash.core.resources.serverless",
    "CpuServerlessEndpoint": "runpod_flash.core.resources.serverless_cpu",
}


def made(name: str, fields: dict[str, Any]) -> Any:
    """Return an object of Flash's."""
    return getattr(importlib.import_module(CLASSES[name]), name)(**fields)


class ChangedBy:
    """Carries out orders."""

    def __init__(self, typical: dict[str, dict[str, Any]]) -> None:
        self._typical = {name: made(name, fields) for name, fields in typical.items()}
        self._configs: list[Any] = []
        self._manager: Any = None

    def hash(self, name: str, calls: int) -> float:
        """Return what so many hashes cost."""
        endpoint = self._typical[name]
        start = time.process_time()
        for _ in range(calls):
            endpoint.config_hash  # noqa: B018 - a property that computes
        return time.process_time() - start

    def load(self, configs: list[dict[str, Any]]) -> int:
        """Remember endpoints as deployed; not through its own way, which writes the whole file for each."""
        module = importlib.import_module("runpod_flash.core.resources.resource_manager")
        self._manager = module.ResourceManager()
        for fields in configs:
            config = made("CpuLoadBalancerSlsResource", {key: fields[key] for key in fields if key != "id"})
            known = config.model_copy(update={"id": fields["id"]})
            self._manager._resources[config.get_resource_key()] = known
            self._manager._resource_configs[config.get_resource_key()] = config.config_hash
            self._configs.append(config)
        return len(self._configs)

    def check(self) -> float:
        """Return what looking after all of them costs; raise if it finds anything to do."""

        async def run() -> None:
            for config in self._configs:
                found = await self._manager.get_or_deploy_resource(config)
                if found is not self._manager._resources[config.get_resource_key()]:
                    raise SystemExit("Flash deployed something: the comparison would mean nothing")

        start = time.process_time()
        asyncio.run(run())
        return time.process_time() - start

    def compare(self) -> float:
        """Return what the local half of it costs."""
        stored = self._manager._resource_configs
        start = time.process_time()
        for config in self._configs:
            if stored[config.get_resource_key()] != config.config_hash:
                raise SystemExit("a hash moved by itself")
        return time.process_time() - start


def main() -> None:
    """Read the typical endpoints, then orders until there are no more."""
    side = ChangedBy(json.loads(sys.stdin.readline()))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        word, *given = line.split(maxsplit=1)
        match word:
            case "hash":
                name, calls = given[0].split()
                said: float = side.hash(name, int(calls))
            case "load":
                said = side.load(json.loads(given[0]))
            case "check":
                said = side.check()
            case _:
                said = side.compare()
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
