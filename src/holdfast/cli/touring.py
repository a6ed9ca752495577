"""`holdfast demo`: the whole product on this machine: an API of our own, files, a vandal, and the truth about them."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

import click

from holdfast.cli import output, reports
from holdfast.cli.session import Options, Session, opened, run
from holdfast.engine.applying import Report, look
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.testing.restdata import Shape
from holdfast.testing.restfaults import Fault, Wrong
from holdfast.testing.restserver import RestServer

_PROJECT = """\
connections:
  shop:
    provider: http
    base_url: {url}
    timeout_seconds: 0.5
    kinds:
      Widget:
        read: {{path: "/widgets/{{id}}"}}
        create: {{method: POST, path: /widgets, id: /id}}
        update: {{method: PATCH, path: "/widgets/{{id}}", body: merge}}
        delete: {{path: "/widgets/{{id}}"}}
        list: {{path: /widgets, items: /items, id: /id, next: {{cursor: {{pointer: /next, param: cursor}}}}}}
        etag: header
        conditional: true
        profile:
          rules:
            - {{path: /id, class: identity}}
            - {{path: /revision, class: runtime}}
            - {{path: /createdAt, class: runtime}}
            - {{path: /state, class: runtime}}
            - {{path: /tags, list: set}}
            - {{path: /region, compare: region}}
  files: {{provider: file, root: live}}
"""
_STRATEGY = """\
apiVersion: holdfast.dev/v1
kind: Strategy
metadata: {name: demo}
spec:
  defaults: {resyncPeriod: 1h}
"""
_COLOURS = ("red", "orange", "yellow", "green", "blue", "indigo", "violet", "black", "white", "grey", "pink", "brown")
SHAPES = {
    "widgets": Shape(
        defaults={"size": "medium", "replicas": 1},
        stamps=("id", "createdAt", "revision", "state"),
        sorted_lists=("tags",),
        lowered=("region",),
    )
}


def write_infra(folder: Path, url: str) -> None:
    """Write the project and about twenty declarations over both providers."""
    (folder / "infra").mkdir(parents=True)
    (folder / "live").mkdir()
    (folder / "holdfast.yaml").write_text(_PROJECT.format(url=url))
    (folder / "infra" / "strategy.yaml").write_text(_STRATEGY)
    (folder / "infra" / "widgets.yaml").write_text("---\n".join(_widget(colour) for colour in _COLOURS))
    (folder / "infra" / "files.yaml").write_text("---\n".join(_files()))


def _widget(colour: str) -> str:
    return (
        "apiVersion: http.holdfast.dev/v1\nkind: Widget\n"
        f'metadata: {{name: {colour}, labels: {{tier: "1"}}}}\n'
        "spec:\n  connection: shop\n  resource:\n"
        f"    name: {colour}\n    color: {colour}\n    region: West-EU\n    tags: [{colour}, demo, shop]\n"
    )


def _files() -> Iterable[str]:
    for name in ("web", "worker", "mailer", "cron", "cache", "search", "audit"):
        yield (
            "apiVersion: file.holdfast.dev/v1\nkind: Document\n"
            f"metadata: {{name: {name}}}\nspec:\n  connection: files\n  resource:\n"
            f"    path: {name}.yaml\n    content:\n      name: {name}\n      port: 80{len(name)}0\n"
            "      log: {level: info}\n"
        )
    yield (
        "apiVersion: file.holdfast.dev/v1\nkind: Text\nmetadata: {name: motd}\nspec:\n"
        "  connection: files\n  resource:\n    path: motd\n    content: |\n"
        "      The blue widget is ${shop/Widget/blue.color} and has id ${shop/Widget/blue.id}.\n"
    )


@click.command("demo")
@click.option("--keep", metavar="FOLDER", help="Work in this folder and leave it there, to look around afterwards.")
def demo_command(keep: str | None) -> int:
    """Take a self-contained tour: declare, apply, vandalise, detect, explain, correct.

    Starts a small API of its own on this machine, and leaves nothing running.
    """

    async def main(_stop: asyncio.Event) -> int:
        with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as scratch:
            folder = Path(keep or scratch)
            async with RestServer(SHAPES) as server:
                write_infra(folder, server.url)
                with contextlib.chdir(folder):
                    return await Tour(server).run()

    return run(main)


class Tour:
    """The acts of the demo, in order."""

    def __init__(self, server: RestServer) -> None:
        self._server = server
        self._found: dict[str, str] = {}

    async def run(self) -> int:
        """Play all acts; return 0 if everything ended as the summary says."""
        await self._apply("Twenty resources are declared: twelve widgets behind an API, eight files.", "apply")
        await self._check(
            "Nobody touched anything. The service filled in sizes and reordered tags; that is known:", "check"
        )
        self._vandalise()
        await self._check("A vandal went through. Everything it did is found, and told apart:", "check")
        await self._apply(
            "Put back, with the smallest write that does it. What nobody declared is only reported:", "apply"
        )
        self._declare_size()
        await self._apply("So you declare the size of the green widget yourself:", "apply")
        self._break()
        await self._check(
            "Now the API throttles, hangs and answers with an error page. What cannot be read is unknown,\n"
            "never missing and never drifted, and the run says that its coverage is incomplete:",
            "check",
        )
        self._server.faults.clear()
        last = await self._check("The API is back. The closing check:", "check")
        return self._summary(last)

    async def _session_report(self, *, write: bool) -> Report:
        async with opened(Options(files=("infra",))) as session:
            if not write:
                return await self._looked(session)
            async with session.writable_world() as world:
                return await session.applier(world).apply(session.chosen)

    async def _looked(self, session: Session) -> Report:
        async with session.world() as world:
            return await look(session.preparer(world), session.checker(world), session.chosen)

    async def _apply(self, title: str, command: str) -> Report:
        _say(title, f"holdfast {command} -f infra/")
        report = await self._session_report(write=True)
        for acted in sorted(report.acted, key=lambda one: str(one.checked.prepared.declaration.address))[:8]:
            reports.show_acted(acted)
        if len(report.acted) > 8:
            output.line(f"    … and {len(report.acted) - 8} more", fg="bright_black")
        for one in report.checked:
            if one.decision.action is Action.REPORT:
                reports.show_checked(one)
        output.line(reports.apply_line(report), bold=True)
        return report

    async def _check(self, title: str, command: str) -> Report:
        _say(title, f"holdfast {command} -f infra/")
        report = await self._session_report(write=False)
        reports.show_check(report)
        for one in report.checked:
            if one.verdict.status is not Status.IN_SYNC:
                self._found[str(one.prepared.declaration.address)] = one.verdict.status.value
        return report

    def _vandalise(self) -> None:
        widgets = self._server.collections["widgets"]
        _edit(widgets, "red", color="crimson")
        _edit(widgets, "green", size="enormous")
        _edit(widgets, "blue", tags=["blue", "demo", "shop", "stolen"])
        widgets.drop("violet")
        live = Path("live")
        web = live / "web.yaml"
        web.write_text(web.read_text().replace("level: info", "level: debug  # just for a moment"))
        (live / "cron.yaml").unlink()

    def _declare_size(self) -> None:
        manifest = Path("infra/widgets.yaml")
        manifest.write_text(manifest.read_text().replace("color: green\n", "color: green\n    size: medium\n"))

    def _break(self) -> None:
        self._server.faults += [
            Fault(Wrong.STATUS, "GET", "/widgets*", status=429, headers={"Retry-After": "1"}, times=1),
            Fault(Wrong.HANG, "GET", "/widgets*", times=2),
            Fault(Wrong.HTML, "GET", "/widgets*", status=502, times=None),
        ]

    def _summary(self, last: Report) -> int:
        writes = self._server.writes()
        clean = all(one.verdict.status is Status.IN_SYNC for one in last.checked)
        _say("In short", None)
        output.line(f"  {len(last.checked)} resources, {len(self._found)} of them in trouble at some time, all found.")
        made = sum(entry.method == "POST" for entry in writes)
        again = f"{made} to create (one of them again), {len(writes) - made} to put back"
        output.line(f"  {len(writes)} writes to the API: {again}.")
        output.line("  Every decision is kept with its inputs: holdfast history, explain, replay, audit verify.")
        output.line(
            f"  In the end: {'everything in sync.' if clean else 'NOT everything in sync.'}",
            bold=True,
            fg="green" if clean else "red",
        )
        return 0 if clean else 1


def _edit(collection: object, ident: str, **fields: Json) -> None:
    def change(document: dict[str, Json]) -> None:
        document.update(fields)

    collection.edit(ident, change)  # type: ignore[attr-defined]


def _say(title: str, command: str | None) -> None:
    output.line()
    output.line(title, bold=True)
    if command:
        output.line(f"$ {command}", fg="bright_black")
