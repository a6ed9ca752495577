"""One process that deploys one endpoint: python -m tests.integration.providers.runpod_child FOLDER AHEAD FIELDS

Says that it is ready, waits for a line, deploys, and prints what came of it as JSON. Its clock is AHEAD seconds ahead:
the claims of a process that was killed run out by the clock, and whoever comes next comes later.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from holdfast.api import ResourceManager
from holdfast.providers.runpod import CpuServerlessEndpoint
from holdfast.reconcile.clock import SystemClock


class AheadClock(SystemClock):
    def __init__(self, ahead: float) -> None:
        self._ahead = ahead

    def now(self) -> float:
        return super().now() + self._ahead


async def main(folder: str, ahead: float, fields: dict[str, Any]) -> None:
    manager = ResourceManager(folder, clock=AheadClock(ahead))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    done = await manager.deploy(CpuServerlessEndpoint(**fields))
    said = {"id": done.id, "action": done.action.value, "resumed": done.resumed, "notes": done.notes}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), json.loads(sys.argv[3])))
