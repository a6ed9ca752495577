"""The file provider as a subject: a folder that lasts as long as a scenario."""

from __future__ import annotations

import configparser
import io
import json
import os
import tempfile
import tomllib
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path as FilePath
from typing import Final

import tomlkit
import yaml

from holdfast.compare import apply_patch
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import ReadError
from holdfast.providers import registry
from holdfast.providers.protocol import Connection
from holdfast.testing.conformance import CallType, ProviderUnderTest, Sample

_SPARED: Final = {"/path": "another path is another file"}
_CANNOT: Final = {"throttle": "a file system has no rate limit"}


def _ini(text: str) -> Json:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def _as_ini(content: Json) -> str:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict(content)
    out = io.StringIO()
    parser.write(out)
    return out.getvalue()


# By libraries that the provider does not use for this, so that a mistake is not made on both sides.
_FORMATS: Final[dict[str, tuple[Callable[[str], Json], Callable[[Json], str]]]] = {
    ".json": (json.loads, json.dumps),
    ".yaml": (yaml.safe_load, yaml.safe_dump),
    ".toml": (tomllib.loads, tomlkit.dumps),
    ".ini": (_ini, _as_ini),
    ".txt": (str, str),
}


class FileDriftInjector:
    """Edits files as anybody with an editor would."""

    def __init__(self, root: FilePath) -> None:
        self._root = root

    async def ids(self, kind: str) -> Collection[str]:
        """Return the paths of the files of a kind, from the root."""
        files = (path for path in self._root.rglob("*.*") if path.is_file())
        found = (path for path in files if (path.suffix == ".txt") is (kind == "Text"))
        return [path.relative_to(self._root).as_posix() for path in found]

    async def get(self, kind: str, ident: str) -> Json:  # noqa: ARG002 - as the protocol has it
        """Return the content of the file, and its mode."""
        file = self._root / ident
        if not file.is_file():
            return None
        parse, _ = _FORMATS[file.suffix]
        content = parse(file.read_text(encoding="utf-8"))
        return {"path": ident, "content": content, "mode": f"{file.stat().st_mode & 0o7777:04o}"}

    async def put(self, kind: str, ident: str, path: Path, value: Json) -> None:
        """Rewrite the file, or change its mode."""
        file = self._root / ident
        if path == ("mode",):
            file.chmod(int(value, 8))
            return
        _, dump = _FORMATS[file.suffix]
        document = apply_patch.put(await self.get(kind, ident), path, value)
        file.write_text(dump(document["content"]), encoding="utf-8")

    async def delete(self, kind: str, ident: str) -> None:  # noqa: ARG002 - paths tell kinds apart
        """Remove the file."""
        (self._root / ident).unlink(missing_ok=True)


class FileFaults:
    """Takes the disk away, or breaks what is on it; a file system does not ask anybody to slow down."""

    supported = (
        (CallType.READ, ReadError.UNREACHABLE),
        (CallType.READ, ReadError.MALFORMED),
        (CallType.LIST, ReadError.UNREACHABLE),
        (CallType.WRITE, ReadError.UNREACHABLE),
    )

    def __init__(self, root: FilePath) -> None:
        self._root = root
        self._away = root.with_name(root.name + "-away")
        self._whole: dict[FilePath, bytes] = {}

    def fail(self, call_type: CallType, trouble: ReadError, times: int | None = None) -> None:  # noqa: ARG002 - for good
        """Unmount the root, or put bytes that are no text into every file."""
        if trouble is ReadError.UNREACHABLE:
            os.replace(self._root, self._away)  # noqa: PTH105 - Path.replace says it backwards
            return
        for file in self._root.rglob("*.*"):
            self._whole[file] = file.read_bytes()
            file.write_bytes(b'{"cut off": \xff')

    def clear(self) -> None:
        """Mount the root again, and restore the files."""
        if self._away.exists():
            os.replace(self._away, self._root)  # noqa: PTH105
        for file, data in self._whole.items():
            file.write_bytes(data)
        self._whole.clear()


_CONTENT: Final[Json] = {
    "workers": 4,
    "ratio": 0.5,
    "debug": False,
    "log": {"level": "info", "targets": ["stdout", "syslog"]},
    "rules": [{"name": "ssh", "port": 22}, {"name": "web", "port": 80}],
    "password": "none",
}
_CONTENTS: Final[dict[str, Json]] = {
    "json": {**_CONTENT, "nothing": None, "empty": {}},
    "yaml": {**_CONTENT, "nothing": None, "empty": {}, "on": "yes"},
    "toml": _CONTENT,
    "ini": {"server": {"port": "80", "password": "none"}, "log": {"level": "info"}},
}


def _document(format_: str) -> Sample:
    inner = "/content/server/password" if format_ == "ini" else "/content/password"

    def minimal(name: str) -> dict[str, Json]:
        return {"path": f"etc/{name}.{format_}", "content": {"main": {"name": name}}}

    def full(name: str) -> dict[str, Json]:
        content = {"main": {"name": name}, **_CONTENTS[format_]}
        return {"path": f"etc/{name}.{format_}", "content": content, "mode": "0640"}

    return Sample(
        "Document",
        minimal,
        full,
        drift_values={"/mode": "0600"},
        fixed=_SPARED,
        not_applicable=_CANNOT,
        sensitive_path=inner,
        variant=format_,
    )


_TEXT: Final = Sample(
    "Text",
    lambda name: {"path": f"{name}.txt"},
    lambda name: {"path": f"{name}.txt", "content": f"first line\nthis is {name}\n", "mode": "0640"},
    drift_values={"/mode": "0600"},
    fixed=_SPARED,
    not_applicable=_CANNOT,
    sensitive_path="/content",
)
_SAMPLES: Final = (*(_document(format_) for format_ in _CONTENTS), _TEXT)


@asynccontextmanager
async def file() -> AsyncIterator[ProviderUnderTest]:
    """Open the provider on an empty folder."""
    with tempfile.TemporaryDirectory(prefix="holdfast-conformance-") as folder:
        root = FilePath(folder) / "root"
        root.mkdir()
        connection = Connection("conformance", "file", {"root": str(root)})
        yield ProviderUnderTest(registry.get("file"), connection, _SAMPLES, FileDriftInjector(root), FileFaults(root))
