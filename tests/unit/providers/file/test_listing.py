"""What a list of the file provider brings: files, and what is declared of them; nothing of Holdfast's own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.providers.file.provider import FileProvider
from holdfast.providers.protocol import Connection, ReadFailed


def listed(root: Path, kind: str = "Text") -> list[str]:
    async def story() -> list[str]:
        connection = Connection("c", "file", {"root": str(root)})
        async with FileProvider().reader(connection) as reader:
            return [item.id async for item in reader.list(kind)]

    return asyncio.run(story())


def test_documents_go_by_their_extension_and_everything_else_is_a_text(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/b.yaml", "c.JSON", "d.txt", "e"):
        (tmp_path / name).write_text("x: 1\n")
    assert listed(tmp_path, "Document") == ["a/b.yaml", "c.JSON"]
    assert listed(tmp_path, "Text") == ["d.txt", "e"]


MANIFESTS = {
    "yaml": "apiVersion: file.holdfast.dev/v1\nkind: Text\n",
    "a strategy": "# ours\napiVersion: 'holdfast.dev/v1'\nkind: Strategy\n",
    "the second document": "a: 1\n---\napiVersion: http.holdfast.dev/v1\n",
    "json": '{\n  "apiVersion": "http.holdfast.dev/v1"\n}\n',
}
OTHERS = {
    "somebody else's": "apiVersion: apps/v1\nkind: Deployment\n",
    "one that speaks of us": "see: https://holdfast.dev/v1\n",
}


@pytest.mark.parametrize("text", MANIFESTS.values(), ids=MANIFESTS.keys())
def test_manifests_are_not_live_things(tmp_path, text):
    (tmp_path / "m.yaml").write_text(text)
    assert listed(tmp_path, "Document") == []


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_other_documents_are(tmp_path, text):
    (tmp_path / "m.yaml").write_text(text)
    assert listed(tmp_path, "Document") == ["m.yaml"]


def test_the_project_file_and_the_store_are_not_listed(tmp_path):
    (tmp_path / "holdfast.yaml").write_text("connections: {}\n")
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / ".holdfast/holdfast.db").write_text("")
    assert listed(tmp_path, "Document") == listed(tmp_path, "Text") == []


def test_links_that_lead_nowhere_or_outside_do_not_spoil_the_list(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("x")
    (root / "file").write_text("x")
    (root / "inside").symlink_to("file")
    (root / "outside").symlink_to(tmp_path / "secret")
    (root / "dangling").symlink_to("nowhere")
    (root / "circle").symlink_to("circle")
    assert listed(root) == ["file", "inside"]


def test_a_root_that_is_not_there_is_no_empty_one(tmp_path):
    with pytest.raises(ReadFailed) as failed:
        listed(tmp_path / "nowhere")
    assert isinstance(failed.value.reading, ReadFailure)
    assert failed.value.reading.trouble is ReadError.UNREACHABLE
