"""Files are replaced whole or not at all, and only while they are what the change was decided on."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from holdfast.model.read_result import Found, NotFound
from holdfast.model.write_result import Done, WriteError, WriteFailure
from holdfast.providers.file import atomic_replace, safe_path
from holdfast.providers.protocol import Change, Target
from tests.unit.providers.running import change, document, files, unprivileged, with_provider


def update(root: Path, target: Target, *paths: str, meanwhile=lambda: None):
    async def story(reader, writer):
        seen = await reader.read(target)
        meanwhile()
        return await writer.update(target, change(target, seen, *paths), "key")

    return with_provider(files(root), story)


def create(root: Path, target: Target):
    return with_provider(files(root), lambda _, writer: writer.create(target, "key"))


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.rglob(f"{safe_path.TEMPORARY}*")]


# --- creating ---------------------------------------------------------------------------------------------------------

NEW = {
    "json": ({"a": [1]}, '{\n  "a": [\n    1\n  ]\n}\n'),
    "yaml": ({"a": ["no", 1]}, "a:\n  - 'no'\n  - 1\n"),
    "toml": ({"a": {"b": 1}}, "[a]\nb = 1\n"),
    "ini": ({"top": 1, "s": {"k": True}}, "top = 1\n\n[s]\nk = true\n"),
}


@pytest.mark.parametrize("name", NEW)
def test_a_new_document_is_written_in_its_format_with_the_folders_above_it(tmp_path, name):
    content, text = NEW[name]
    target = document(f"deep/er/it.{name}", content=content, mode="0600")
    made = create(tmp_path, target)
    path = tmp_path / "deep/er" / f"it.{name}"
    assert isinstance(made, Done)
    assert made.id == f"deep/er/it.{name}"
    assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == 0o600
    seen = with_provider(files(tmp_path), lambda reader, _: reader.read(target))
    assert isinstance(seen, Found)
    assert (seen.document, seen.etag) == (made.document, made.etag)
    assert seen.document["content"] == content
    assert leftovers(tmp_path) == []


def test_a_new_text_is_written_as_it_is(tmp_path):
    assert isinstance(create(tmp_path, document("motd", kind="Text", content="hello\r\né")), Done)
    assert (tmp_path / "motd").read_bytes() == "hello\r\né".encode()


def test_a_repeated_create_is_done_and_one_over_something_else_is_refused(tmp_path):
    target = document("it.json", content={"a": 1})
    assert isinstance(create(tmp_path, target), Done)
    assert isinstance(create(tmp_path, target), Done)
    (tmp_path / "it.json").write_text('{"a": 2}')
    again = create(tmp_path, target)
    assert isinstance(again, WriteFailure)
    assert again.refusal is WriteError.MOVED
    assert (tmp_path / "it.json").read_text() == '{"a": 2}'


def test_a_system_without_hard_links_creates_all_the_same(tmp_path, monkeypatch):
    def no_links(*_, **__):
        raise OSError(errno.EOPNOTSUPP, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    target = document("it.json", content={"a": 1})
    assert isinstance(create(tmp_path, target), Done)
    other = create(tmp_path, document("it.json", content={"a": 2}))
    assert isinstance(other, WriteFailure)
    assert (tmp_path / "it.json").read_text() == '{\n  "a": 1\n}\n'


CANNOT = {
    "a structure as a text": (Target("Text", "it", None, {"path": "a", "content": {"a": 1}}), "is a string"),
    "a list as toml": (document("a.toml", content=[1]), "a TOML text is a map"),
    "a user nobody knows": (document("a.json", owner="nobody-knows-me"), "there is no user"),
    "a group nobody knows": (document("a.json", group="nobody-knows-us"), "there is no group"),
    "a path out of the root": (document("../a.json"), "not a path below the root"),
}


@pytest.mark.parametrize("target, message", CANNOT.values(), ids=list(CANNOT))
def test_what_no_repetition_makes_right_is_terminal(tmp_path, target, message):
    root = tmp_path / "root"
    root.mkdir()
    made = create(root, target)
    assert isinstance(made, WriteFailure)
    assert (made.refusal, message in made.message) == (WriteError.TERMINAL, True)
    assert list(tmp_path.rglob("*")) == [root]


def test_a_root_that_is_not_there_is_waited_for(tmp_path):
    made = create(tmp_path / "unmounted", document("it.json", content={}))
    assert isinstance(made, WriteFailure)
    assert made.refusal is WriteError.RETRYABLE
    assert not (tmp_path / "unmounted").exists()


def test_a_folder_in_the_place_of_the_file_is_terminal(tmp_path):
    (tmp_path / "it.json").mkdir()
    target = document("it.json", content={"a": 1})
    made = create(tmp_path, target)
    assert isinstance(made, WriteFailure)
    gone = with_provider(files(tmp_path), lambda _, writer: writer.delete(target, "key"))
    assert isinstance(gone, WriteFailure)
    assert gone.refusal is WriteError.TERMINAL
    assert (tmp_path / "it.json").is_dir()


# --- updating ---------------------------------------------------------------------------------------------------------


def test_only_the_changed_paths_are_written_and_undeclared_keys_stay(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("# mine\na: 1  # one\nb: 2\nc: 3\n")
    wrote = update(tmp_path, document("it.yaml", content={"a": 9, "b": 8}), "/content/a")
    assert isinstance(wrote, Done)
    assert path.read_text() == "# mine\na: 9  # one\nb: 2\nc: 3\n"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("name", ["yaml", "json", "toml", "ini"])
def test_the_line_ends_and_the_byte_order_mark_of_a_file_stay(tmp_path, name):
    texts = {
        "yaml": ("a: 1  # one\r\nb: |\r\n  x\r\n", "a: 2  # one\r\nb: |\r\n  x\r\n"),
        "json": ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 2\r\n}\r\n'),
        "toml": ("# one\r\na = 1\r\n", "# one\r\na = 2\r\n"),
        "ini": ("; one\r\na = 1\r\n", "; one\r\na = 2\r\n"),
    }
    before, after = texts[name]
    path = tmp_path / f"it.{name}"
    path.write_bytes(b"\xef\xbb\xbf" + before.encode())
    assert isinstance(update(tmp_path, document(path.name, content={"a": 2}), "/content/a"), Done)
    assert path.read_bytes() == b"\xef\xbb\xbf" + after.encode()


def test_a_file_with_line_ends_of_both_kinds_keeps_each(tmp_path):
    path = tmp_path / "it.ini"
    path.write_bytes(b"; one\r\na = 1\nb = 2\r\n")
    assert isinstance(update(tmp_path, document("it.ini", content={"a": 5}), "/content/a"), Done)
    assert path.read_bytes() == b"; one\r\na = 5\nb = 2\r\n"


def test_a_text_is_replaced_whole(tmp_path):
    (tmp_path / "motd").write_text("old\n")
    assert isinstance(update(tmp_path, document("motd", kind="Text", content="new\n"), "/content"), Done)
    assert (tmp_path / "motd").read_text() == "new\n"


def test_mode_and_times_of_what_is_not_changed_stay(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    path.chmod(0o4750)
    update(tmp_path, document("it.yaml", content={"a": 2}), "/content/a")
    assert (path.read_text(), path.stat().st_mode & 0o7777) == ("a: 2\n", 0o4750)


def test_a_change_of_mode_alone_does_not_replace_the_file(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    before = path.stat().st_ino
    assert isinstance(update(tmp_path, document("it.yaml", content={"a": 5}, mode="0600"), "/mode"), Done)
    assert (path.stat().st_ino, path.stat().st_mode & 0o777, path.read_text()) == (before, 0o600, "a: 1\n")


def test_an_owner_is_given_where_that_is_allowed(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    target = document("it.yaml", owner=12345, group="12345")
    wrote = update(tmp_path, target, "/owner", "/group")
    if os.geteuid() == 0:
        assert isinstance(wrote, Done)
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12345)
        assert isinstance(update(tmp_path, document("it.yaml", content={"a": 2}), "/content/a"), Done)
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12345), "a replaced file keeps its owner"
    else:
        assert isinstance(wrote, WriteFailure)
        assert wrote.refusal is WriteError.TERMINAL


def test_extended_attributes_are_carried_over(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    try:
        os.setxattr(path, "user.note", b"keep")
    except OSError:
        return  # this file system has none, so there is nothing to carry over
    update(tmp_path, document("it.yaml", content={"a": 2}), "/content/a")
    assert os.getxattr(path, "user.note") == b"keep"


def test_a_file_that_moved_since_the_decision_is_left_alone(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    wrote = update(
        tmp_path, document("it.yaml", content={"a": 2}), "/content/a", meanwhile=lambda: path.write_text("a: 7\n")
    )
    assert isinstance(wrote, WriteFailure)
    assert (wrote.refusal, path.read_text()) == (WriteError.MOVED, "a: 7\n")
    wrote = update(tmp_path, document("it.yaml", content={"a": 2}), "/content/a", meanwhile=path.unlink)
    assert isinstance(wrote, WriteFailure)
    assert (wrote.refusal, path.exists()) == (WriteError.MOVED, False)


def test_a_file_that_moves_just_before_the_rename_is_left_alone(tmp_path, monkeypatch):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    fill = atomic_replace._fill

    def somebody_else(*arguments):
        fill(*arguments)
        path.write_text("a: 7\n")

    monkeypatch.setattr(atomic_replace, "_fill", somebody_else)
    wrote = update(tmp_path, document("it.yaml", content={"a": 2}), "/content/a")
    assert isinstance(wrote, WriteFailure)
    assert (wrote.refusal, path.read_text(), leftovers(tmp_path)) == (WriteError.MOVED, "a: 7\n", [])


def test_what_is_written_is_on_disk_before_it_has_the_name(tmp_path, monkeypatch):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    calls: list[str] = []
    fsync, rename = os.fsync, os.replace

    def noted_fsync(handle):
        calls.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")  # noqa: PTH112
        fsync(handle)

    def noted_rename(*arguments, **options):
        calls.append("rename")
        rename(*arguments, **options)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_rename)
    update(tmp_path, document("it.yaml", content={"a": 2}), "/content/a")
    assert calls == ["file", "rename", "folder"]


def test_a_full_disk_leaves_the_old_file_and_is_tried_again(tmp_path, monkeypatch):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")

    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(atomic_replace, "_fill", full)
    wrote = update(tmp_path, document("it.yaml", content={"a": 2}), "/content/a")
    assert isinstance(wrote, WriteFailure)
    assert (wrote.refusal, path.read_text(), leftovers(tmp_path)) == (WriteError.RETRYABLE, "a: 1\n", [])


def test_a_folder_that_may_not_be_written_is_denied_and_may_be_tried_again():
    with unprivileged() as folder:
        path = folder / "it.yaml"
        path.write_text("a: 1\n")
        folder.chmod(0o555)
        wrote = update(folder, document("it.yaml", content={"a": 2}), "/content/a")
        folder.chmod(0o755)
        assert isinstance(wrote, WriteFailure)
        assert (wrote.refusal, path.read_text()) == (WriteError.DENIED, "a: 1\n")


def test_what_is_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "real.yaml").write_text("a: 1\n")
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    assert isinstance(update(tmp_path, document("link.yaml", content={"a": 2}), "/content/a"), Done)
    assert (tmp_path / "link.yaml").is_symlink()
    assert (tmp_path / "real.yaml").read_text() == "a: 2\n"


def test_a_path_cannot_be_changed_in_place(tmp_path):
    (tmp_path / "it.yaml").write_text("a: 1\n")
    wrote = update(tmp_path, document("other.yaml", ident="it.yaml"), "/path")
    assert isinstance(wrote, WriteFailure)
    assert wrote.refusal is WriteError.TERMINAL


def test_a_file_that_cannot_be_read_is_not_written(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("a: [1")
    target = document("it.yaml", content={"a": 2})
    wrote = with_provider(
        files(tmp_path), lambda _, w: w.update(target, Change(target.desired, None, ("/content/a",)), "key")
    )
    assert isinstance(wrote, WriteFailure)
    assert (wrote.refusal, path.read_text()) == (WriteError.TERMINAL, "a: [1")


def test_a_document_too_deep_to_be_edited_is_left_alone(tmp_path):
    path = tmp_path / "it.json"
    text = '{"a": 1, "deep": ' + "[" * 3000 + "]" * 3000 + "}"
    path.write_text(text)
    wrote = update(tmp_path, document("it.json", content={"a": 2}), "/content/a")
    assert isinstance(wrote, WriteFailure)
    assert (wrote.refusal, path.read_text()) == (WriteError.TERMINAL, text)


def test_two_writers_at_once_lose_nothing_silently(tmp_path):
    """One of them is told that the file moved; what it wrote is not there, what the other wrote is."""
    path = tmp_path / "it.json"
    path.write_text('{"a": 0, "b": 0}')

    async def story(reader, writer):
        targets = [document("it.json", content={key: 1}) for key in "ab"]
        seen = await reader.read(targets[0])
        calls = [writer.update(t, change(t, seen, f"/content/{k}"), k) for k, t in zip("ab", targets, strict=True)]
        return await asyncio.gather(*calls)

    outcomes = with_provider(files(tmp_path), story)
    assert {type(outcome) for outcome in outcomes} == {Done, WriteFailure}
    a = int(isinstance(outcomes[0], Done))
    assert path.read_text() == f'{{"a": {a}, "b": {1 - a}}}'


# --- deleting ---------------------------------------------------------------------------------------------------------


def test_delete_removes_the_file_and_is_done_when_it_is_gone(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    target = document("it.yaml", ident="it.yaml")

    async def story(reader, writer):
        first, second = await writer.delete(target, "key"), await writer.delete(target, "key")
        return first, second, await reader.read(target)

    assert with_provider(files(tmp_path), story) == (Done("it.yaml"), Done("it.yaml"), NotFound())


def test_delete_with_an_etag_leaves_a_file_that_moved(tmp_path):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")

    async def story(reader, writer):
        seen = await reader.read(document("it.yaml"))
        path.write_text("a: 2\n")
        refused = await writer.delete(document("it.yaml"), "key", seen.etag)
        again = await reader.read(document("it.yaml"))
        return refused, await writer.delete(document("it.yaml"), "key", again.etag)

    refused, done = with_provider(files(tmp_path), story)
    assert isinstance(refused, WriteFailure)
    assert refused.refusal is WriteError.MOVED
    assert isinstance(done, Done)


def test_delete_removes_a_link_and_not_what_it_leads_to(tmp_path):
    (tmp_path / "real.yaml").write_text("a: 1\n")
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    assert with_provider(files(tmp_path), lambda _, w: w.delete(document("link.yaml"), "key")) == Done("link.yaml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["real.yaml"]


def test_there_is_nothing_to_poll(tmp_path):
    assert isinstance(with_provider(files(tmp_path), lambda _, w: w.poll(document("it.yaml"), {})), WriteFailure)
