"""Where a history is lived: the world, the machine, what is declared, and what the oracle may ask about it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.simulation.commands import Machine
from tests.simulation.fleet import Fleet, Resource
from tests.simulation.history import History
from tests.simulation.kernel import Kernel, Process
from tests.simulation.oracle import Oracle
from tests.simulation.story import Story
from tests.simulation.world import Thing, World

MANIFESTS = "-f infra"


class Stage:
    """Everything that whoever acts in a history needs."""

    def __init__(self, history: History, folder: Path) -> None:
        self.history = history
        self.folder = folder
        self.kernel = Kernel()
        self.machine = Machine(self.kernel)
        self.world = World(self.kernel)
        self.fleet: Fleet = history.fleet.copy()
        self.story = Story(self)
        self.oracle = Oracle(self)
        self.watch: Process | None = None
        self.others: list[Process] = []
        self.number = 0
        self._orders: list[dict[str, Any]] = []  # kill or stop somebody at a moment
        self.mass: dict[str, float] = {}  # what drifted together, and when
        self._events: list[dict[str, Any]] | None = None
        self.looks: list[float] = []  # when somebody looked at everything
        self.kernel.loop.after_work = lambda: self.world.file_things(folder / "live")
        self.world.after_effect.append(self.oracle.on_sent)
        self.world.environment = dict(self.fleet.environment)
        self.kernel.loop.random = random.Random(history.seed)
        longest = max((step.args["seconds"] for step in history.steps if step.op == "wait"), default=0.0)
        self.world.edits_every = history.looks_every if longest < 30_000.0 else 1800.0

    def write_manifests(self) -> None:
        """Put what is declared on the disk."""
        self.fleet.version += 1
        self.fleet.write(self.folder, self.kernel.wall_time())

    def thing_of(self, name: str) -> Thing | None:
        """Return the live thing of a declared name."""
        resource = self.fleet.get(name)
        if resource is None:
            return None
        return self.oracle.bound(resource)

    async def _run(self, arguments: str, *, at_most: float = 3000.0, machine: str = "here") -> Process:
        process = self.machine.start(arguments, machine=machine)
        process.version = self.fleet.version
        self.oracle.started(process)
        await self.machine.finished(process, at_most)
        self.story.command(process)
        self.oracle.finished(process)
        return process

    # --- what the oracle asks -----------------------------------------------------------------------------------------

    def looked_since(self, when: float) -> bool:
        """Tell whether a check, plan, apply or watch went over everything since a time."""
        return any(
            process.started > when and process.code is not None and process.arguments[0] in ("check", "plan", "apply")
            for process in self.kernel.processes
        )

    def watched_since(self, number: int) -> bool:
        """Tell whether a watch ran in one of the last steps."""
        return any(step.op.startswith("watch") for step in self.history.steps[max(0, number) : self.number])

    def contention_is_due(self, _address: str, _path: str) -> bool:
        """Tell whether contention of three corrections has been looked at since."""
        return any(step.op == "wait" for step in self.history.steps[-2:])

    def correctable(self) -> set[str]:
        """Return the addresses of which drift is reverted."""
        return {
            item.address
            for item in self.fleet.declared
            if item.policy == "managed" and self.fleet.setting(item, "onDrift", "correct") == "correct"
            and not item.options.get("onDriftPaths")
        }  # fmt: skip

    def has_own_edits(self, resource: Resource) -> bool:
        """Tell whether this history is about a person's own edits of a resource."""
        return self.history.scenario == "own_edits" and any(
            step.op == "edit" and step.args["name"] == resource.name for step in self.history.steps
        )

    def is_blocked(self, resource: Resource) -> bool:
        """Tell whether a resource waits for a person, by rights."""
        if self.fleet.project.get("corrections", {}).get("budgets"):
            return True
        return any(not item.declared for item in self.fleet.resources if item.name == resource.name)

    def is_unsettled(self) -> bool:
        """Tell whether something may rightly still be written."""
        return bool(self.fleet.project.get("corrections", {}).get("budgets"))

    def events(self) -> list[dict[str, Any]] | None:
        """Return the audit trail as `history` tells it."""
        return self._events
