"""The cheap check for edits notices every way in which manifests change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.watch.edit_check import EditCheck

LONG_AGO = 10**18
NOW = 1_900_000_000.0

EDITS = {
    "another content": lambda folder: (folder / "a.yaml").write_text("longer than before"),
    "same size, another time": lambda folder: os.utime(folder / "a.yaml", ns=(1, 1)),
    "another inode": lambda folder: (folder / "sub" / "new").rename(folder / "a.yaml"),
    "a new file": lambda folder: (folder / "sub" / "c.yaml").write_text("c"),
    "a new file in an empty folder": lambda folder: (folder / "empty" / "c.yaml").write_text("c"),
    "a removed file": lambda folder: (folder / "sub" / "b.json").unlink(),
    "a renamed file": lambda folder: (folder / "a.yaml").rename(folder / "c.yaml"),
    "a file behind a link": lambda folder: (folder.parent / "target.yaml").write_text("other"),
    "a link to another file": lambda folder: _relink(folder / "link.yaml", folder.parent / "other.yaml"),
    "a missing file that appears": lambda folder: (folder.parent / "waivers.yaml").write_text("w"),
}


def _relink(link: Path, target: Path) -> None:
    link.unlink()
    link.symlink_to(target)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "infra"
    (folder / "sub").mkdir(parents=True)
    (folder / "empty").mkdir()
    for name, text in (("a.yaml", "a"), ("sub/b.json", "b"), ("sub/new", "n")):
        (folder / name).write_text(text)
    for name in ("target.yaml", "other.yaml"):
        (tmp_path / name).write_text("t")
    (folder / "link.yaml").symlink_to(tmp_path / "target.yaml")
    for path in (*folder.rglob("*"), folder, *tmp_path.iterdir()):  # long ago, so that any change has another time
        os.utime(path, ns=(LONG_AGO, LONG_AGO))
    return folder


def test_nothing_edited_is_seen_as_such(folder):
    check = EditCheck.of([str(folder)], [folder.parent / "waivers.yaml"], NOW)
    assert check.is_unedited()
    (folder / "sub" / "notes.txt").touch()
    os.utime(folder / "sub", ns=(LONG_AGO, LONG_AGO))
    assert check.is_unedited()


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_noticed(folder, edit):
    check = EditCheck.of([str(folder)], [folder.parent / "waivers.yaml"], NOW)
    edit(folder)
    assert not check.is_unedited()


@pytest.mark.parametrize("given", ["infra/*.yaml", "missing"])
def test_patterns_and_missing_paths_are_never_called_unedited(folder, monkeypatch, given):
    monkeypatch.chdir(folder.parent)
    assert not EditCheck.of([given], [], NOW).is_unedited()


def test_a_path_that_changed_just_now_is_not_trusted(folder):
    assert not EditCheck.of([str(folder)], [], LONG_AGO / 1e9 + 0.5).is_unedited()
    assert EditCheck.of([str(folder)], [], LONG_AGO / 1e9 + 1.5).is_unedited()
