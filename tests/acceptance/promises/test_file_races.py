"""No file outside the root is written or read, whenever a folder is exchanged for a link; no temporary file is open.

The opponent acts before a chosen system call of the provider, so every moment is tried once, at any speed.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.model.read_result import Found
from holdfast.model.write_result import Done
from holdfast.providers.file.safe_path import TEMPORARY
from holdfast.providers.protocol import Change, Connection, Target
from tests.unit.providers.running import with_provider

MOST = 100  # more system calls than any operation makes
EXCHANGE = 2  # RENAME_EXCHANGE
SECRET = "outside: true\n"

_libc = ctypes.CDLL(None, use_errno=True)
_act: Callable[[str, tuple[object, ...]], None] | None = None


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    global _act  # noqa: PLW0603 - there is one hook
    act = _act
    if act is not None and (event == "open" or event.startswith("os.")):
        _act = None  # what the opponent does is no call of ours
        try:
            act(event, arguments)
        finally:
            _act = act


sys.addaudithook(_heard)


@contextmanager
def opponent(act: Callable[[str, tuple[object, ...]], None]) -> Iterator[None]:
    """Let somebody act before every system call on files that this process makes meanwhile."""
    global _act  # noqa: PLW0603 - a hook cannot be taken back
    _act = act
    try:
        yield
    finally:
        _act = None


def exchange(one: Path, other: Path) -> None:
    """Exchange two entries at once, as renameat2 does."""
    done = _libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), EXCHANGE)
    if done != 0:
        pytest.skip(f"this file system exchanges no entries: {os.strerror(ctypes.get_errno())}")


class Trap:
    """A root with a folder `d`, and beside it a link to a folder outside that takes its place at a moment."""

    def __init__(self, path: Path, moment: int) -> None:
        self.root, self.outside = path / f"root{moment}", path / f"outside{moment}"
        (self.root / "d/e").mkdir(parents=True)
        (self.root / "d/e/it.yaml").write_text("a: 1\n")
        (self.outside / "e").mkdir(parents=True)
        (self.outside / "e/it.yaml").write_text(SECRET)
        (self.root / "link").symlink_to(self.outside)
        self.calls, self.moment = 0, moment

    def act(self, _event: str, arguments: tuple[object, ...]) -> None:
        if str(arguments[0]).startswith("/") and not str(arguments[0]).startswith(str(self.root)):
            return  # a module that is imported
        self.calls += 1
        if self.calls == self.moment:
            exchange(self.root / "d", self.root / "link")

    def tried(self, do: Callable):
        connection = Connection("files", "file", {"root": str(self.root)})

        async def story(reader, writer):
            with opponent(self.act):
                return await do(reader, writer)

        return with_provider(connection, story)

    def left_outside(self) -> dict[str, str]:
        """Return what is outside: files with their texts, folders without."""
        found = sorted(self.outside.rglob("*"))
        return {str(item.relative_to(self.outside)): item.read_text() if item.is_file() else "" for item in found}


def target(path: str, **fields: object) -> Target:
    return Target("Document", path, None, {"path": path, "content": {"a": 2}, **fields})


def change(found: Target) -> Change:
    return Change(found.desired, {"path": found.name, "content": {"a": 1}}, ("/content/a",))


IT = target("d/e/it.yaml")
DEEDS: dict[str, Callable] = {
    "create": lambda _, writer: writer.create(target("d/e/new.yaml"), "key"),
    "create in a new folder": lambda _, writer: writer.create(target("d/e/new/one.yaml", mode="0600"), "key"),
    "update": lambda _, writer: writer.update(IT, change(IT), "key"),
    "change of the mode": lambda _, writer: writer.update(
        target("d/e/it.yaml", content={"a": 1}, mode="0600"),
        Change({"path": "d/e/it.yaml", "content": {"a": 1}, "mode": "0600"}, {}, ("/mode",)),
        "key",
    ),
    "delete": lambda _, writer: writer.delete(IT, "key"),
    "read": lambda reader, _: reader.read(IT),
}


@pytest.mark.parametrize("deed", DEEDS.values(), ids=list(DEEDS))
def test_a_folder_that_is_exchanged_for_a_link_leads_nobody_outside(tmp_path, deed):
    moment, trap = 0, Trap(tmp_path, 0)
    while trap.calls >= moment:
        moment += 1
        assert moment <= MOST, "there are more moments than were to be tried"
        trap = Trap(tmp_path, moment)
        mode = (trap.outside / "e/it.yaml").stat().st_mode
        got = trap.tried(deed)
        assert trap.left_outside() == {"e": "", "e/it.yaml": SECRET}, moment
        assert (trap.outside / "e/it.yaml").stat().st_mode == mode
        assert not isinstance(got, Found) or got.document["content"] == {"a": 1}, "read from outside"
    assert moment > 2


CONTENTS = {"a new file": "d/e/new.yaml", "a file that is there": "d/e/it.yaml"}


@pytest.mark.parametrize("path", CONTENTS.values(), ids=list(CONTENTS))
@pytest.mark.parametrize("mode", ["0600", "0640", None])
def test_a_temporary_file_is_nobody_elses_until_it_has_its_final_mode(tmp_path, path, mode):
    trap = Trap(tmp_path, 0)
    (trap.root / "d/e/it.yaml").chmod(0o600)
    fields = {"mode": mode} if mode is not None else {}
    wanted = target(path, **fields)
    seen: set[int] = set()

    def look(_event: str, _arguments: tuple[object, ...]) -> None:
        for item in trap.root.rglob(f"{TEMPORARY}*"):
            status = item.stat()
            seen.update({stat.S_IMODE(status.st_mode)} if status.st_size or path == "d/e/it.yaml" else ())

    def deed(_, writer):
        if path == "d/e/it.yaml":
            return writer.update(
                wanted, Change(wanted.desired, {}, ("/content/a", *(["/mode"] if mode else []))), "key"
            )
        return writer.create(wanted, "key")

    trap.act = look  # type: ignore[assignment, method-assign]
    old = os.umask(0o022)
    try:
        assert isinstance(trap.tried(deed), Done)
    finally:
        os.umask(old)
    final = stat.S_IMODE((trap.root / path).stat().st_mode)
    assert final == (int(mode, 8) if mode else 0o600 if path == "d/e/it.yaml" else 0o644)
    assert seen
    assert seen <= {0o600, final}
