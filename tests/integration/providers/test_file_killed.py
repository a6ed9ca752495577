"""A process that dies while it writes leaves the old file or the new one, whole; repeating the write cleans up."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.model.write_result import Done
from holdfast.providers.file import safe_path
from tests.unit.providers.running import change, document, files, with_provider

CHILD = """
import asyncio, os, signal, sys
from holdfast.providers.protocol import Change
from holdfast.providers.file import atomic_replace
from tests.unit.providers.running import document, files, told, change

root, step, verb = sys.argv[1:]
real = getattr(os, step)

def die(*arguments, **options):
    if len(sys.argv) > 4 and sys.argv[4] == "after":
        real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

target = document("it.yaml", content={"a": 2, "text": "y" * 100_000})

async def story(reader, writer):
    seen = await reader.read(target) if verb == "update" else None
    setattr(os, step, die)
    if verb == "create":
        await writer.create(target, "key")
    elif verb == "update":
        await writer.update(target, change(target, seen, "/content/a", "/content/text"), "key")
    else:
        await writer.delete(target, "key")

asyncio.run(told(files(root), story))
"""

OLD = "# mine\na: 1\ntext: " + "x" * 100_000 + "\n"


def killed_child(root: Path, step: str, verb: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(root), step, verb], check=False, capture_output=True, text=True
    )
    assert run.returncode == -signal.SIGKILL, run.stderr


def temporaries(root: Path) -> list[Path]:
    return list(root.glob(f"{safe_path.TEMPORARY}*"))


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_update_killed_before_the_rename_leaves_the_old_file_whole(tmp_path, step):
    path = tmp_path / "it.yaml"
    path.write_text(OLD)
    killed_child(tmp_path, step, "update")
    assert path.read_text() == OLD
    assert len(temporaries(tmp_path)) == 1

    target = document("it.yaml", content={"a": 2, "text": "y"})

    async def again(reader, writer):
        return await writer.update(
            target, change(target, await reader.read(target), "/content/a", "/content/text"), "key"
        )

    assert isinstance(with_provider(files(tmp_path), again), Done)
    assert path.read_text() == "# mine\na: 2\ntext: 'y'\n"
    assert temporaries(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "link"])
def test_a_create_killed_before_it_has_its_name_leaves_nothing_under_it(tmp_path, step):
    killed_child(tmp_path, step, "create")
    assert not (tmp_path / "it.yaml").exists()
    target = document("it.yaml", content={"a": 2})
    assert isinstance(with_provider(files(tmp_path), lambda _, writer: writer.create(target, "key")), Done)
    assert temporaries(tmp_path) == []


def test_a_temporary_file_is_never_listed(tmp_path):
    (tmp_path / "it.yaml").write_text(OLD)
    killed_child(tmp_path, "replace", "update")

    async def listed(reader, _):
        return [item.id async for item in reader.list("Document")] + [item.id async for item in reader.list("Text")]

    assert with_provider(files(tmp_path), listed) == ["it.yaml"]


def test_a_delete_killed_before_the_unlink_leaves_the_file(tmp_path):
    (tmp_path / "it.yaml").write_text(OLD)
    killed_child(tmp_path, "unlink", "delete")
    assert (tmp_path / "it.yaml").read_text() == OLD
