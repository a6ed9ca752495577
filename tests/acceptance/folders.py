"""A project whose world is a folder of files, and the commands a person types in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance.test_commands import run

PROJECT = "connections:\n  fleet: {provider: file, root: fleet}\n"


class Folder:
    """A project with manifests in `infra` and a world in `fleet`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "fleet").mkdir()
        (path / "infra").mkdir()
        (path / "holdfast.yaml").write_text(PROJECT)

    def write(self, *documents: str) -> None:
        (self.path / "infra/web.yaml").write_text("---\n".join(documents))

    def __call__(self, *args: str, code: int | None = 0) -> str:
        done = run(*args, "-f", "infra", cwd=self.path)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def json(self, *args: str, code: int | None = 0):
        return json.loads(self(*args, "-o", "json", code=code))

    def files(self) -> dict[str, dict[str, Any]]:
        return {item.stem: yaml.safe_load(item.read_text()) for item in sorted((self.path / "fleet").glob("*.yaml"))}

    def touched(self) -> dict[str, int]:
        return {item.name: item.stat().st_mtime_ns for item in (self.path / "fleet").iterdir()}
