"""Strangers, other controllers, services, processes and clocks: all that people do not do."""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.simulation.documents import put
from tests.simulation.kernel import Process
from tests.simulation.other_writers import Rival
from tests.simulation.stage import Stage
from tests.simulation.world import Fault, Sent, operation


class Strangers(Stage):
    """What happens to people."""

    # --- strangers ----------------------------------------------------------------------------------------------------

    async def do_stranger(self, name: str, path: str, value: Any, who: str = "stranger") -> None:
        """Somebody else edits a live thing."""
        thing = self.thing_of(name)
        if thing is None or thing.deleted is not None:
            return
        if thing.api == "files":
            put(thing.live, path, value)
            (self.folder / "live" / thing.ident).write_text(json.dumps(thing.live["content"]))
            thing.touched[path] = (who, self.kernel.elapsed)
        else:
            self.world.stranger_edits(thing, path, value, who)
        self.oracle.stranger(thing, path, value)

    async def do_stranger_restores(self, name: str, path: str) -> None:
        """Somebody else puts a field back to what it was before the last edit of the declaration."""
        resource = self.fleet.get(name)
        old = self.oracle.previous(resource, path) if resource is not None else None
        if old is not None:
            await self.do_stranger(name, path, old)

    async def do_stranger_deletes(self, name: str) -> None:
        """Somebody else deletes a live thing."""
        thing = self.thing_of(name)
        if thing is None or thing.deleted is not None:
            return
        if thing.api == "files":
            (self.folder / "live" / thing.ident).unlink(missing_ok=True)
            self.world.file_things(self.folder / "live")
        else:
            self.world.stranger_deletes(thing)
        self.oracle.stranger_deleted(thing)

    async def do_stranger_makes(self, api: str, kind: str, document: dict[str, Any]) -> None:
        """Somebody else makes a thing."""
        self.world.stranger_makes(api, kind, document)

    async def do_other_writer(self, name: str, path: str, values: list[Any], delay: float) -> None:
        """Another controller begins to put a field back after each write of ours."""
        thing = self.thing_of(name)
        if thing is not None and thing.deleted is None:
            other_writer = Rival(self.world, thing, path, itertools.cycle(values), delay)
            self.world.other_writers.append(other_writer)
            self.oracle.contended(thing, path)
            other_writer.act()

    async def do_mass(self, names: list[str], path: str, value: Any) -> None:
        """Somebody else edits many live things at once."""
        for name in names:
            resource = self.fleet.get(name)
            if resource is not None:
                await self.do_stranger(name, path, value)
                self.mass[resource.address] = self.kernel.elapsed
        self.oracle.drifted_at_once()

    async def do_rotate(self, name: str, key: str, how: str) -> None:
        """Somebody else changes a list that has secrets in it."""
        thing = self.thing_of(name)
        if thing is None or thing.deleted is not None or not isinstance(thing.live.get("users"), list):
            return
        users = json.loads(json.dumps(thing.live["users"]))
        secret = f"live-{self.history.seed}-{len(self.oracle.needles)}-{self.number}"
        self.oracle.needles[secret] = "a live secret in a list"
        if how == "prepend":
            users.insert(0, {key: "eve", "pw": secret})
        elif how == "append":
            users.append({key: "eve", "pw": secret})
        elif how == "drop":
            users = users[1:]
        elif how == "reverse":
            users.reverse()
        if how == "rotate" or (how in ("prepend", "reverse") and users):
            other = f"{secret}-again"
            self.oracle.needles[other] = "a rotated secret in a list"
            users[-1]["pw"] = other
        self.world.stranger_edits(thing, "/users", users)

    # --- services, processes, clocks ----------------------------------------------------------------------------------

    async def do_fault(self, **args: Any) -> None:
        """A service begins to misbehave."""
        if "lasting" in args:
            args["until"] = self.kernel.elapsed + args.pop("lasting")
        args["ops"] = tuple(args.get("ops", ()))
        self.world.faults.append(Fault(**args))

    async def do_heal(self) -> None:
        """Services behave again."""
        self.world.faults.clear()

    async def do_echo(self, api: str, secret: str) -> None:
        """An API begins to repeat a secret in its answers."""
        self.world.echo[api] = secret

    async def do_order(self, **order: Any) -> None:
        """The next process is killed or stopped at a moment: `what`, at its n-th `op`, `before` or `after` it."""
        self._orders.append({"seen": 0, **order})

    def ordered_before(self, process: Process | None, op: str, _name: str) -> None:
        self._ordered(process, op, "before")

    def ordered_after(self, sent: Sent) -> None:
        op = (
            operation(sent.method, sent.ident if sent.effect != "create" else None, sent.thing.kind)
            if sent.thing
            else "list"
        )
        op = {"": op, "create": "create", "update": "update", "delete": "delete"}.get(sent.effect, op)
        self._ordered(sent.process, op, "after")

    def _ordered(self, process: Process | None, op: str, moment: str) -> None:
        if process is None:
            return
        for order in list(self._orders):
            command = order.get("command", "")
            if order["moment"] != moment or op not in order["ops"] or not process.arguments[0].startswith(command):
                continue
            order["seen"] += 1
            if order["seen"] < order["n"]:
                continue
            self._orders.remove(order)
            self.story.say(f"{order['what']} of {process.arguments[0]} {moment} its {op}")
            if order["what"] == "kill":
                self.kernel.kill(process)
            else:
                self.kernel.halt(process)

    async def do_wake(self) -> None:
        """Stopped processes go on."""
        for process in self.kernel.processes:
            if process.is_stopped and not process.is_dead:
                self.kernel.wake(process)

    async def do_kill_watch(self) -> None:
        """The watch is killed, wherever it is."""
        if self.watch is not None:
            self.kernel.kill(self.watch)
            self.watch = None

    async def do_await_others(self, seconds: float = 5000.0) -> None:
        """People wait for what runs beside."""
        for process in self.others:
            if not process.is_stopped:
                await self.machine.finished(process, seconds)
                self.story.command(process)
                self.oracle.finished(process)

    async def do_clock(self, seconds: float) -> None:
        """The clock on the wall jumps."""
        self.kernel.jumped += seconds
        self.oracle.clock_jumped(seconds)

    async def do_wait(self, seconds: float) -> None:
        """Time passes."""
        await self.kernel.sleep(seconds)

    async def do_latency(self, seconds: float) -> None:
        """Services become slower or quicker."""
        self.world.latency = seconds

    async def do_slow_store(self, seconds: float) -> None:
        """The disk becomes slower: what a process asks of its store may take so long."""
        self.kernel.loop.slowness = seconds
