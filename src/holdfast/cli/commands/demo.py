"""`holdfast demo`: the whole product on this machine, with an API of our own, files and injected drift."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from pathlib import Path

import click

from holdfast.app.options import ProjectOptions
from holdfast.app.project import Project
from holdfast.cli import console, demo_fixtures
from holdfast.cli.render import reports
from holdfast.cli.run import open_project, run
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.report import RunReport
from holdfast.testing.rest_data import Collection
from holdfast.testing.rest_faults import Fault, Wrong
from holdfast.testing.rest_server import RestServer

OTHER_WRITER = "autoscaler-bot"
_SHOWN = 8  # lines of a kind before the rest is counted


@click.command("demo")
@click.option("--keep", metavar="FOLDER", help="Work in this folder and leave it there, to look around afterwards.")
def demo_command(keep: str | None) -> int:
    """Take a self-contained tour: declare, apply, drift, detect, explain, correct, and stay within limits.

    Starts a small API of its own on this machine, and leaves nothing running.
    """

    async def main(_stop: asyncio.Event) -> int:
        with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as scratch:
            folder = Path(keep or scratch)
            async with RestServer(demo_fixtures.SHAPES) as server:
                demo_fixtures.write(folder, server.url)
                with contextlib.chdir(folder):
                    return await Tour(server).run()

    return run(main)


class Tour:
    """The acts of the demo, in order."""

    def __init__(self, server: RestServer) -> None:
        self._server = server
        self._found: dict[str, str] = {}
        self._missed: list[str] = []  # what did not go as the demo says

    async def run(self) -> int:
        """Play all acts; return 0 if everything ended as the summary says."""
        await self._detecting()
        await self._contention()
        await self._freeze()
        await self._mass_drift()
        self._break()
        await self._check(
            "Now the API throttles, hangs and answers with an error page. What cannot be read is unknown,\n"
            "never missing and never drifted, and the run says that its coverage is incomplete:"
        )
        self._server.faults.clear()
        last = await self._check("The API is back. The closing check:")
        return self._summary(last)

    # -- the acts

    async def _detecting(self) -> None:
        await self._apply("Twenty resources are declared: twelve widgets behind an API, eight files.")
        await self._check(
            "Nothing has drifted. The service filled in sizes and reordered tags; these are known differences:"
        )
        self.inject_drift()
        await self._check("Widgets and files changed outside Holdfast. Every change is found and classified:")
        await self._apply("Revert, with the smallest write that does it. Undeclared fields are only reported:")
        green = "color: green # as in the brand book\n"
        _rewrite("infra/widgets.yaml", green, f"{green}    size: medium\n")
        await self._apply("So you declare the size of the green widget yourself:")

    async def _contention(self) -> None:
        """Let another writer change a field after each correction; the third time it is contention."""
        report = RunReport()
        for number in ("first", "second", "third"):
            _edit(self._widgets, "black", OTHER_WRITER, color="jet")
            report = await self._apply(f"Another controller paints the black widget, for the {number} time:")
        codes = {reason.code for result in report.checked for reason in result.decision.reasons}
        self._expect("contention" in codes, "the contention was not seen in the third round")
        told = await self._command("It is named, and the field is left alone until a person decides:", "contention")
        self._expect(OTHER_WRITER in told, "the other writer was not named")
        title = "You decide that the other writer is right. The live value goes into the manifest, comments and all:"
        await self._command(title, "accept", "shop/Widget/black", "/color", "-f", "infra")
        planned = await self._command("So there is nothing left to do:", "plan", "-f", "infra")
        self._expect("0 to change" in planned, "the plan after accept is not empty")

    async def _freeze(self) -> None:
        """Hold corrections back until a freeze is over; looking goes on."""
        _rewrite("holdfast.yaml", "corrections:\n", f"corrections:\n{demo_fixtures.FREEZE}")
        _edit(self._widgets, "pink", "an-operator", color="magenta")
        report = await self._apply("A freeze is on. The drift of the pink widget is seen, its correction waits:")
        held = [result for result in report.checked if result.decision.action is Action.HOLD]
        self._expect(len(held) == 1 and not report.acted, "the freeze did not hold the correction")
        _rewrite("holdfast.yaml", demo_fixtures.FREEZE, "")
        await self._apply("The freeze is over:")

    async def _mass_drift(self) -> None:
        """Move so much at once that correcting it might make it worse: halt, and ask."""
        for name in ("red", "orange", "yellow", "indigo", "white", "brown"):
            _edit(self._widgets, name, "a-migration", region="north-eu", tags=["moved"])
        report = await self._apply("Six more move, twelve of twenty within the hour. One cause is likelier than many:")
        self._expect(not report.acted, "the mass drift was not halted")
        title = "You looked, and say yes to exactly these plans:"
        await self._command(title, "approve", "--all", "--yes", "-f", "infra")
        report = await self._apply("So they are reverted:")
        self._expect(len(report.acted) == 6, "not all six were reverted")

    def inject_drift(self) -> None:
        """Go through the shop and the files behind everybody's back."""
        _edit(self._widgets, "red", "a-drift_injector", color="crimson", tags=["red", "demo", "shop", "stolen"])
        _edit(self._widgets, "green", "a-drift_injector", size="enormous")
        self._widgets.drop("violet")
        live = Path("live")
        web = live / "web.yaml"
        web.write_text(web.read_text().replace("level: info", "level: debug  # just for a moment"))
        (live / "cron.yaml").unlink()

    def _break(self) -> None:
        self._server.faults += [
            Fault(Wrong.STATUS, "GET", "/widgets*", status=429, headers={"Retry-After": "1"}, times=1),
            Fault(Wrong.HANG, "GET", "/widgets*", times=2),
            Fault(Wrong.HTML, "GET", "/widgets*", status=502, times=None),
        ]

    # -- how they are played

    @property
    def _widgets(self) -> Collection:
        return self._server.collections["widgets"]

    async def _apply(self, title: str) -> RunReport:
        _say(title, "holdfast apply -f infra/")
        async with (
            open_project(ProjectOptions(files=("infra",))) as project,
            project.writable_connections() as connections,
        ):
            report = await project.applier(connections).apply(project.selected)
        for acted in sorted(report.acted, key=lambda one: str(one.checked.address))[:_SHOWN]:
            reports.show_acted(acted)
        if len(report.acted) > _SHOWN:
            console.line(f"    … and {len(report.acted) - _SHOWN} more", fg="bright_black")
        waiting = [result for result in report.checked if result.decision.action in (Action.REPORT, Action.HOLD)]
        for result in sorted(waiting, key=lambda result: str(result.address))[:2]:
            reports.show_checked(result)
        if len(waiting) > 2:
            console.line(f"    … and {len(waiting) - 2} more like these", fg="bright_black")
        console.line(reports.apply_line(report), bold=True)
        return report

    async def _check(self, title: str) -> RunReport:
        _say(title, "holdfast check -f infra/")
        async with open_project(ProjectOptions(files=("infra",))) as project:
            report = await _looked(project)
        reports.show_check(report)
        for result in report.checked:
            if result.verdict.status is not Status.IN_SYNC:
                self._found[str(result.address)] = result.verdict.status.value
        return report

    async def _command(self, title: str, *arguments: str) -> str:
        """Run a command as a user would, and show its output."""
        _say(title, f"holdfast {' '.join(arguments)}")
        environment = {**os.environ, **({"FORCE_COLOR": "1"} if console.use_colour() else {"NO_COLOR": "1"})}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "holdfast", *arguments,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=environment,
        )  # fmt: skip
        said, _ = await process.communicate()
        text = said.decode().rstrip()
        click.echo(text, color=console.use_colour())  # escaped by the command itself
        self._expect(process.returncode == 0, f"holdfast {arguments[0]} failed")
        return text

    def _expect(self, is_so: bool, otherwise: str) -> None:
        if not is_so:
            self._missed.append(otherwise)

    def _summary(self, last: RunReport) -> int:
        writes = self._server.writes()
        clean = all(result.verdict.status is Status.IN_SYNC for result in last.checked) and not self._missed
        _say("In short", None)
        console.line(f"  {len(last.checked)} resources, {len(self._found)} of them in trouble at some time, all found.")
        made = sum(entry.method == "POST" for entry in writes)
        again = f"{made} to create (one of them again), {len(writes) - made} to revert"
        console.line(f"  {len(writes)} writes to the API: {again}.")
        console.line("  Contention was named and settled, a freeze was kept, mass drift was halted until you said yes.")
        console.line("  Every decision is kept with its inputs: holdfast history, explain, replay, audit verify.")
        for name in self._missed:
            console.line(f"  NOT as it should be: {name}", fg="red", bold=True)
        console.line(
            f"  In the end: {'everything in sync.' if clean else 'NOT everything in sync.'}",
            bold=True,
            fg="green" if clean else "red",
        )
        return 0 if clean else 1


async def _looked(project: Project) -> RunReport:
    async with project.connections() as connections:
        return await check_resources(project.resolver(connections), project.checker(connections), project.selected)


def _rewrite(file: str, before: str, after: str) -> None:
    """Edit a file as a person would."""
    path = Path(file)
    path.write_text(path.read_text().replace(before, after))


def _edit(collection: Collection, ident: str, actor: str, **fields: Json) -> None:
    collection.edit(ident, lambda document: document.update(fields), actor)


def _say(title: str, command: str | None) -> None:
    console.line()
    for name in title.split("\n"):
        console.line(name, bold=True)
    if command:
        console.line(f"$ {command}", fg="bright_black")
