"""A history is lived: people, strangers, services and processes do what its steps say, and the oracle looks on."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from tests.simulation.commands import parsed, replaced
from tests.simulation.history import History, Violation
from tests.simulation.kernel import Stuck
from tests.simulation.people import People
from tests.simulation.strangers import Strangers

SHM = Path("/dev/shm")  # only for speed; elsewhere the usual folder is used


class Life(People, Strangers):
    """One history under way."""

    def __init__(self, history: History, folder: Path) -> None:
        super().__init__(history, folder)
        self.world.before_send.append(self.ordered_before)
        self.world.after_effect.insert(0, self.ordered_after)

    def run(self) -> list[Violation]:
        """Live it to its end, and return what was broken."""
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with replaced(self.kernel, self.machine, self.world, self.history.seed):
                with contextlib.suppress(Stuck):
                    self.kernel.run(self._lived())
                self.kernel.close()
        finally:
            os.chdir(before)
        return self.oracle.violations

    async def _lived(self) -> None:
        self.write_manifests()
        self.oracle.begin()
        for number, step in enumerate(self.history.steps):
            self.number = self.world.step = number
            self.story.step(step)
            await getattr(self, f"do_{step.op}")(**step.args)
            self.oracle.after_step(step)
        self.number = self.world.step = len(self.history.steps)
        self.oracle.before_rest()
        if self.history.rests:
            await self._rest()
        self.oracle.at_end()

    async def _rest(self) -> None:
        """Let people and strangers rest, and everything come to an end."""
        self.story.say("everybody rests")
        self.oracle.is_resting = True
        self.world.faults.clear()
        self.world.other_writers.clear()
        self._orders.clear()
        if self.fleet.project.get("corrections", {}).pop("windows", None):
            self.write_manifests()
        self.kernel.loop.slowness = 0.0
        self.kernel.jumped = max(self.kernel.jumped, 0.0)
        await self.do_watch_stop()
        for process in self.kernel.processes:
            if process.is_stopped:
                self.kernel.wake(process)
        for process in self.kernel.processes:
            await self.machine.finished(process, 3600.0)
        status = await self.machine.run("status -o json")
        for pause in (parsed(status) or {}).get("pauses", []):
            await self.do_resume(scope=pause["scope"])
        await self.kernel.sleep(1000.0)
        for number in range(4):
            run = await self.do_apply()
            if number and not run.sent:
                break
            await self.do_approve()
            await self.kernel.sleep(400.0)
        await self.do_check(quiet=True)
        self.oracle.rested()
        self.oracle.nothing_open(parsed(await self.machine.run("corrections --limit 1000 -o json")))
        last = await self.do_apply()
        self.oracle.idle(last)
        verified = await self.machine.run("audit verify")
        self.oracle.audited(verified)
        told = await self.machine.run("history --limit 100000 -o json")
        self._events = [
            {"type": item["what"], "subject": item["address"], "at": item["at"], "data": item["data"]}
            for item in parsed(told) or []
        ]


def live(history: History) -> Life:
    """Live a history in a folder of its own, and return it with all that was seen."""
    base = SHM if SHM.is_dir() and os.access(SHM, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="holdfast-sim-", dir=base))
    try:
        life = Life(history, folder)
        life.run()
        return life
    finally:
        shutil.rmtree(folder, ignore_errors=True)
