"""People: they run commands, edit manifests and settings, and decide."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from typing import Any

from tests.simulation.commands import parsed
from tests.simulation.documents import at, put
from tests.simulation.fleet import Resource
from tests.simulation.kernel import START, Process
from tests.simulation.stage import MANIFESTS, Stage


class People(Stage):
    """What people do."""

    async def do_apply(self, extra: str = "", machine: str = "here") -> Process:
        """A person applies."""
        return await self._run(f"apply {MANIFESTS} -y -o json {extra}".strip(), machine=machine)

    async def do_apply_beside(self, extra: str = "", machine: str = "there") -> None:
        """A person applies, and nobody waits for it."""
        process = self.machine.start(f"apply {MANIFESTS} -y -o json {extra}".strip(), machine=machine)
        process.version = self.fleet.version
        self.oracle.started(process)
        self.others.append(process)

    async def do_check(self, extra: str = "", *, quiet: bool = False) -> None:
        """A person looks."""
        before = self.oracle.snapshot()
        process = await self._run(f"check {MANIFESTS} -o json {extra}".strip())
        self.oracle.checked(process, before, quiet=quiet)

    async def do_check_text(self, command: str = "check") -> None:
        """A person looks, and reads what is printed."""
        process = await self._run(f"{command} {MANIFESTS}")
        self.oracle.printed(process)

    async def do_plan(self) -> None:
        """A person asks what would be done."""
        await self._run(f"plan {MANIFESTS} -o json")

    async def do_status(self) -> None:
        """A person asks what is known."""
        process = await self._run("status -o json")
        self.oracle.status(parsed(process))

    async def do_contention(self) -> None:
        """A person asks who is fought with."""
        process = await self._run("contention -o json")
        self.oracle.contentions(parsed(process))

    async def do_check_now(self) -> None:
        """A person asks a running watch for a check."""
        process = await self._run(f"check {MANIFESTS} --now -o json")
        self.oracle.asked_now(process)

    async def do_check_now_beside(self) -> None:
        """The same, and nobody waits for it."""
        process = self.machine.start(f"check {MANIFESTS} --now -o json", machine="here")
        process.version = self.fleet.version
        self.oracle.started(process)
        self.others.append(process)

    async def do_watch_start(self, machine: str = "here", extra: str = "") -> None:
        """A person starts the watch."""
        if self.watch is None or not self.watch.is_running:
            self.watch = self.machine.start(f"watch {MANIFESTS} {extra}".strip(), machine=machine)
            self.watch.version = self.fleet.version
            self.oracle.started(self.watch)

    async def do_watch_stop(self) -> None:
        """A person ends the watch."""
        if self.watch is not None and self.watch.is_running and self.watch.stop is not None:
            self.watch.stop.set()
            await self.machine.finished(self.watch, 3600.0)
            self.story.command(self.watch)
            self.oracle.finished(self.watch)
        self.watch = None

    async def do_pause(self, scope: str = "", extra: str = "") -> None:
        """A person pauses."""
        process = await self._run(f"pause {scope} {extra} --why trouble".replace("  ", " "))
        self.oracle.paused(process, scope, extra)

    async def do_resume(self, scope: str = "", extra: str = "") -> None:
        """A person ends a pause."""
        process = await self._run(f"resume {scope} {extra}".strip())
        self.oracle.resumed(process, scope, extra)

    async def do_resume_all(self) -> None:
        """A person ends every pause."""
        for scope in list(self.oracle.pauses):
            await self.do_resume(scope=scope)

    async def do_approve(self) -> None:
        """A person says yes to everything."""
        process = await self._run(f"approve --all --yes {MANIFESTS}")
        self.oracle.approved(process)

    async def do_accept(self, name: str, path: str) -> None:
        """A person takes a live value into the manifest."""
        await self._decided("accept", name, path)

    async def do_baseline(self, name: str, path: str) -> None:
        """A person takes a live value as normal."""
        await self._decided("baseline", name, path, " --why fine")

    async def do_waive(self, name: str, path: str) -> None:
        """A person lets a difference be."""
        await self._decided("waive", name, path, " --owner ada --reason later --expires 2027-12-31")

    async def do_revert(self, name: str, path: str) -> None:
        """A person puts a difference back."""
        await self._decided("revert", name, path)

    async def _decided(self, verb: str, name: str, path: str, extra: str = "") -> None:
        resource = self.fleet.get(name)
        if resource is None or not resource.declared:
            return
        thing = self.thing_of(name)
        value = at(thing.live, path) if thing is not None else None
        process = await self._run(f"{verb} {resource.address} {path} {MANIFESTS}{extra}")
        self.oracle.decided(verb, resource, path, value, process)
        if verb == "accept" and process.code == 0:
            self._read_back(resource)

    def _read_back(self, resource: Resource) -> None:
        """Take what a command wrote into a manifest as what is declared."""
        text = (self.folder / "infra" / resource.file).read_text()
        with contextlib.suppress(ValueError):
            for part in text.split("\n---\n"):
                document = json.loads(part)
                if document["metadata"]["name"] == resource.name:
                    resource.spec = document["spec"]["resource"]

    async def do_undo(self, name: str) -> None:
        """A person takes the last write to a resource back."""
        resource = self.fleet.get(name)
        if resource is None or not resource.declared:
            return
        listed = await self.machine.run(f"corrections {resource.address} -o json")
        found = [item for item in parsed(listed) or [] if item["action"] == "update" and not item["undoes"]]
        if found:
            self.oracle.undoing(resource, found[0])
            process = await self._run(f"undo {found[0]['id']} {MANIFESTS} --why mistake")
            self.oracle.undone(resource, found[0], process)

    async def do_delete(self, options: str, names: list[str]) -> None:
        """A person deletes some of what is declared; `names` is what the options mean."""
        self.oracle.deleting(names)
        process = await self._run(f"delete {MANIFESTS} {options} --yes -o json")
        self.oracle.deleted(process, names)

    async def do_import(self, name: str, ident: str) -> None:
        """A person takes over a live thing."""
        resource = self.fleet.get(name)
        if resource is not None:
            await self._run(f"import {resource.address} {ident} {MANIFESTS}")

    # --- people at their manifests ------------------------------------------------------------------------------------

    async def do_edit(self, name: str, path: str, value: Any) -> None:
        """A person edits a field of a declaration."""
        resource = self.fleet.get(name)
        if resource is not None:
            put(resource.spec, path, value)
            self.oracle.edited(resource, path, value)
            self.write_manifests()

    async def do_option(self, name: str, option: str, value: Any) -> None:
        """A person changes a setting of a resource."""
        resource = self.fleet.get(name)
        if resource is not None:
            resource.options[option] = value
            self.write_manifests()

    async def do_policy(self, name: str, policy: str) -> None:
        """A person changes who manages a resource."""
        resource = self.fleet.get(name)
        if resource is not None:
            resource.policy = policy if not resource.is_file or policy != "unmanaged" else "observed"
            resource.imports = {"filter": {"name": resource.name}} if resource.policy == "unmanaged" else None
            self.oracle.policy_changed(resource)
            self.write_manifests()

    async def do_label(self, name: str, key: str, value: str) -> None:
        """A person labels a resource."""
        resource = self.fleet.get(name)
        if resource is not None:
            resource.labels[key] = value
            self.write_manifests()

    async def do_undeclare(self, name: str) -> None:
        """A person takes a declaration out."""
        resource = self.fleet.get(name)
        if resource is not None and not any(f"{resource.name}." in json.dumps(o.spec) for o in self.fleet.declared):
            resource.declared = False
            self.oracle.undeclared(resource)
            self.write_manifests()

    async def do_declare(self, name: str) -> None:
        """A person puts a declaration back."""
        resource = self.fleet.get(name)
        if resource is not None:
            resource.declared = True
            self.oracle.declared_again(resource)
            self.write_manifests()

    async def do_rename_file(self, old: str, new: str) -> None:
        """A person renames a file of manifests."""
        for resource in self.fleet.resources:
            if resource.file == old:
                resource.file = new
        self.write_manifests()

    async def do_project(self, **settings: Any) -> None:
        """A person edits holdfast.yaml."""
        self.fleet.project.update(settings)
        self.oracle.project_changed()
        self.write_manifests()

    # --- special looks ------------------------------------------------------------------------------------------------

    async def do_check_joined(self, name: str, path: str) -> None:
        """A person looks whether a key that a stranger added is told of."""
        resource = self.fleet.get(name)
        process = await self._run(f"check {MANIFESTS}")
        if resource is not None:
            self.oracle.joined(resource, path, process)

    async def do_observe_as_is(self, name: str) -> None:
        """A person declares less of what is only observed."""
        resource = self.fleet.get(name)
        if resource is not None and resource.policy == "observed":
            inner = resource.spec["content"] if resource.is_file else resource.spec
            for key in ("conf", "size", "password"):
                inner.pop(key, None)
            self.write_manifests()

    async def do_freeze_soon(self, after: float) -> None:
        """A person writes down a freeze that begins in a moment."""
        start = START + self.kernel.elapsed + after
        begins, ends = (dt.datetime.fromtimestamp(item, dt.UTC) for item in (start, start + 40000.0))
        window = {"freeze": {"from": f"{begins:%Y-%m-%dT%H:%M:%S}", "until": f"{ends:%Y-%m-%dT%H:%M:%S}"}}
        corrections = {**self.fleet.project.get("corrections", {}), "windows": [window]}
        await self.do_project(corrections=corrections)

    async def do_limits(self, connection: str, limits: dict[str, Any]) -> None:
        """A person changes how quickly an API is asked."""
        self.fleet.connections[connection] = {**self.fleet.connections[connection], "limits": limits}
        self.write_manifests()

    async def do_requests_handled(self) -> None:
        """A person looks whether the checks that were asked for were done."""
        process = await self._run("status -o json")
        self.oracle.requests_handled(parsed(process))

    async def do_corrections_closed(self) -> None:
        """A person looks whether something is still open."""
        process = await self._run("corrections -o json")
        self.oracle.corrections_closed(parsed(process))

    async def do_history(self) -> None:
        """A person asks what was decided."""
        process = await self._run("history --limit 1000 -o json")
        self.oracle.decisions(parsed(process))

    async def do_must_be_own(self, name: str, path: str) -> None:
        """A person looks whether a stranger's edit, after edits of their own, was reverted."""
        resource = self.fleet.get(name)
        if resource is not None:
            self.oracle.must_be_own(resource, path)
