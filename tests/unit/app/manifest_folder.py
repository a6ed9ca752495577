"""A project folder that is edited in every way, and what its manifests come to with the index and without it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path
from typing import Any
from unittest import mock

from holdfast.app import project as projects
from holdfast.app.options import ProjectOptions
from holdfast.app.sources import catalog
from holdfast.errors import HoldfastError

AHEAD = 60.0  # seconds: no file seems to be edited just now


def document(name: str, *, port: int = 80, labels: str = "{}", more: str = "", path: str | None = None) -> str:
    """Return a manifest of the file provider."""
    return (
        "apiVersion: file.holdfast.dev/v1\nkind: Document\n"
        f"metadata: {{name: {name}, labels: {labels}}}\n"
        f"spec:\n  resource:\n    path: out/{path or name}.json\n    content: {{port: {port}, z: 1.0, a: [x]}}\n{more}"
    )


STRATEGY = (
    "apiVersion: holdfast.dev/v1\nkind: Strategy\nmetadata: {name: calm}\nspec:\n  defaults: {resyncPeriod: 10h}\n"
)
FOREIGN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"


class Folder:
    """A project with a store beside its manifests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.infra = root / "infra"
        self.infra.mkdir(parents=True)
        (root / "holdfast.yaml").write_text("connections: {disk: {provider: file, root: live}}\n")
        (root / "live").mkdir()
        self.clock = lambda: time.time() + AHEAD

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a manifest in place."""
        file = self.infra / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def tick(self) -> None:
        """Wait until the clock of the file system has moved on, at most some milliseconds."""
        probe = self.root / "probe"
        probe.write_text("")
        began = probe.stat().st_ctime_ns
        while probe.stat().st_ctime_ns == began:
            os.utime(probe)

    def open(self, *, index: bool, check: bool = False, **options: Any) -> dict[str, Any]:
        """Return everything that a run sees of the manifests, or the mistakes in them."""
        switch = {catalog.SWITCH: "on" if index else "off"}
        clock = mock.Mock(return_value=mock.Mock(now=self.clock))
        files = options.pop("files", ("infra",))
        with (
            contextlib.chdir(self.root),
            mock.patch.dict(os.environ, switch),
            mock.patch.object(projects, "SystemClock", clock),
        ):
            try:
                return asyncio.run(self._seen(ProjectOptions(files, **options), check=check))
            except HoldfastError as error:
                return {"error": (type(error).__name__, str(error))}

    async def _seen(self, options: ProjectOptions, *, check: bool) -> dict[str, Any]:
        async with projects.open_project(options) as project:
            if check:
                await project.check()
            resources = project.resources
            declared = dict(resources.declarations.items())
            graph = resources.graph
            return {
                "declarations": declared,
                "desired as written": {address: list(item.desired.items()) for address, item in declared.items()},
                "locations": {address: item.location for address, item in declared.items()},
                "places": {address: dict(item.places) for address, item in declared.items()},
                "addresses": list(graph.addresses),
                "needs": {address: graph.dependencies(address) for address in graph.addresses},
                "meanings": {address: dict(graph.bindings.get(address, {})) for address in graph.addresses},
                "needing": {address: graph.needing([address]) for address in graph.addresses},
                "strategies": resources.strategies,
                "selected": project.selected,
                "undeclared": [state.address for state in project.undeclared],
                "connections": resources.connections(),
                "secrets": [secret.address for secret in resources.with_secrets()],
                "templates": [template.name for template in project.templates],
            }

    def assert_same(self, **options: Any) -> dict[str, Any]:
        """Compare what is seen with the index, again with it, and without it."""
        first = self.open(index=True, **dict(options))
        second = self.open(index=True, **dict(options))
        plain = self.open(index=False, **dict(options))
        assert first == plain
        assert second == plain
        self.tick()
        return plain
