"""The manifest index never changes what a run sees: every edit is noticed, and every failure reads the files."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.app.options import ProjectOptions
from holdfast.app.project import open_project
from holdfast.app.sources import file_status, front_end_version
from holdfast.app.sources.files import FileSource
from holdfast.manifests import file_discovery, loader
from holdfast.store.sqlite.manifest_index import SqliteManifestIndex
from tests.unit.app.manifest_folder import FOREIGN, STRATEGY, Folder, document

NAMES = ("a.yaml", "b.yaml", "sub/c.yaml", "sub/d.json", "e.yml")
JSON = (
    '[{"apiVersion": "file.holdfast.dev/v1", "kind": "Document", "metadata": {"name": "j"},'
    ' "spec": {"resource": {"path": "out/j.json", "content": {"b": 1.50, "a": -0.0}}}}]'
)
TEXTS = (
    document("one"),
    document("two", labels="{tier: front}"),
    document("two", port=81, labels="{tier: front}"),
    document("one") + "---\n" + document("three", port=9),
    document("four", more="    content2: ${one.content.port}\n").replace("    content2", "  dependsOn: [two]\n  #"),
    document("five").replace("a: [x]", "a: '${Document/one.content.port}'"),
    document("six").replace("a: [x]", "a: {secretRef: {env: HOME}}"),
    "# a comment\n\n" + document("seven") + "...\n---\n# nothing\n---\n" + document("eight"),
    STRATEGY + "---\n" + document("nine"),
    FOREIGN + "---\n" + document("ten"),
    "%YAML 1.2\n---\n" + document("eleven"),
    document("twelve").replace("\n", "\r\n"),
    "\ufeff" + document("thirteen"),
    "kind: List\nitems:\n- " + document("l1").replace("\n", "\n  ") + "\n- " + document("l2").replace("\n", "\n  "),
    JSON,
    document("same", path="one"),  # means the same file as `one`
    document("bad") + "  unknown: 1\n",
    "{ not yaml",
    "just: text\n",
    "kind: Document\nmetadata: {name: lacks}\n",
    document("one").replace("kind: Document", "kind: Document\ntemplate: {replicas: 2}"),
    document("noted").replace("labels: {}", "annotations: {note: hello}"),
    document("taken").replace("spec:\n", "spec:\n  import: {id: out/taken.json}\n"),
)  # fmt: skip

_text = st.sampled_from(TEXTS)
_name = st.sampled_from(NAMES)
_edit = st.one_of(
    st.tuples(st.just("write"), _name, _text),
    st.tuples(st.just("quietly"), _name, _text),
    st.tuples(st.just("replace"), _name, _text),
    st.tuples(st.just("move"), _name, _name),
    st.tuples(st.just("copy"), _name, _name),
    st.tuples(st.just("link"), _name, _name),
    st.tuples(st.just("hard link"), _name, _name),
    st.tuples(st.just("remove"), _name, st.none()),
    st.tuples(st.just("touch"), _name, st.none()),
    st.tuples(st.just("swap"), st.none(), st.none()),
    st.tuples(st.just("connection"), st.sampled_from(["disk", "other"]), st.none()),
)
_looks = st.sampled_from([{}, {"targets": ("one",)}, {"targets": ("t*", "!two")}, {"selector": "tier=front"}])


def _apply(folder: Folder, kind: str, first: str | None, second: str | None) -> None:
    """Edit the project once."""
    if kind == "connection":
        text = "connections: {disk: {provider: file, root: live}, other: {provider: file, root: live}}\n"
        (folder.root / "holdfast.yaml").write_text(f"{text}defaults: {{connection: {first}}}\n")
    elif kind == "swap":
        other, middle = folder.root / "other", folder.root / "middle"
        other.mkdir(exist_ok=True)
        folder.infra.rename(middle)
        other.rename(folder.infra)
        middle.rename(other)
    elif kind in _WRITING:
        _WRITING[kind](folder, folder.infra / (first or ""), (second or "").encode())
    elif (folder.infra / (first or "")).exists():
        file, target = folder.infra / (first or ""), folder.infra / (second or first or "")
        if second is not None:
            if first == second or file.is_symlink():
                return
            target.parent.mkdir(exist_ok=True)
            target.unlink(missing_ok=True)
        _MOVING[kind](file, target)


def _write(folder: Folder, file: Path, text: bytes) -> None:
    folder.write(str(file.relative_to(folder.infra)), text)


def _write_quietly(folder: Folder, file: Path, text: bytes) -> None:
    """Write a text of the same size and time as before."""
    before = file.stat() if file.exists() else None
    _write(folder, file, text[: before.st_size].ljust(before.st_size) if before else text)
    if before:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace(folder: Folder, file: Path, text: bytes) -> None:
    """Put another inode in the place of a file, with the times of the file."""
    new = folder.write("new.tmp", text)
    file.parent.mkdir(exist_ok=True)
    if file.exists():
        shutil.copystat(file, new)
    new.replace(file)


_WRITING = {"write": _write, "quietly": _write_quietly, "replace": _replace}
_MOVING: dict[str, Callable[[Path, Path], object]] = {
    "move": lambda file, target: file.rename(target),
    "copy": shutil.copy2,
    "link": lambda file, target: target.symlink_to(file),
    "hard link": lambda file, target: target.hardlink_to(file),
    "remove": lambda file, _: file.unlink(),
    "touch": lambda file, _: os.utime(file),
}


@settings(max_examples=20)
@given(st.lists(st.tuples(_edit, _looks), min_size=1, max_size=6))
def test_no_edit_makes_the_index_differ_from_the_files(edits):
    with tempfile.TemporaryDirectory() as root:
        folder = Folder(Path(root) / "project")
        folder.write("a.yaml", TEXTS[0])
        folder.write("sub/c.yaml", TEXTS[1])
        folder.assert_same()
        for edit, look in edits:
            _apply(folder, *edit)
            folder.assert_same(**look)
            folder.open(index=True, check=True)


@pytest.fixture
def folder(tmp_path):
    folder = Folder(tmp_path / "project")
    folder.write("a.yaml", document("one") + "---\n" + document("two", labels="{tier: front}"))
    folder.write("b.yaml", document("three").replace("a: [x]", "a: '${Document/one.content.port}'"))
    return folder


@pytest.fixture
def parses(monkeypatch):
    """Count the files that are parsed."""
    parsed = []
    read = loader.read_file

    def counted(source, *rest):
        parsed.append(source.name)
        return read(source, *rest)

    monkeypatch.setattr(loader, "read_file", counted)
    return parsed


def test_unchanged_files_are_neither_parsed_nor_opened(folder, parses, monkeypatch):
    folder.open(index=True)
    assert parses == ["infra/a.yaml", "infra/b.yaml"]
    parses.clear()
    monkeypatch.setattr(file_status, "read", lambda source: pytest.fail(f"{source.name} was opened"))
    folder.open(index=True, targets=("one",))
    assert parses == []


def test_only_the_edited_file_is_parsed(folder, parses):
    folder.open(index=True)
    folder.tick()
    parses.clear()
    folder.write("b.yaml", document("three", port=4))
    folder.assert_same()
    assert parses[:1] == ["infra/b.yaml"]
    assert parses.count("infra/b.yaml") == 2  # once with the index, once without it


def test_the_same_content_with_another_time_is_not_parsed_again(folder, parses):
    folder.open(index=True)
    folder.tick()
    os.utime(folder.infra / "a.yaml")
    parses.clear()
    folder.open(index=True)
    assert parses == []


@pytest.mark.parametrize("how", ["same size and time", "another inode"])
def test_a_quiet_edit_is_seen(folder, how):
    folder.assert_same()
    file = folder.infra / "a.yaml"
    before, text = file.stat(), file.read_text()
    edited = text.replace("port: 80", "port: 81", 1)
    if how == "another inode":
        (folder.infra / "new").write_text(edited)
        os.utime(folder.infra / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
        (folder.infra / "new").replace(file)
    else:
        file.write_text(edited)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    seen = folder.assert_same()
    assert {declaration.desired["content"]["port"] for declaration in seen["declarations"].values()} == {80, 81}


@pytest.mark.parametrize(
    "changed, read_at, now, is_trusted",
    [
        (100.0, 110.0, 120.0, True),
        (109.0, 110.0, 120.0, False),  # changed just before it was read: perhaps again in the same tick
        (110.0, 110.0, 120.0, False),
        (130.0, 110.0, 120.0, False),  # changed in the future
        (100.0, 110.0, 105.0, False),  # the clock was set back since it was read
    ],
)
def test_a_file_is_trusted_only_if_no_clock_can_hide_an_edit(changed, read_at, now, is_trusted):
    status = file_status.FileStatus("the same", changed)
    assert file_status.is_trusted(status, "the same", read_at, now) is is_trusted
    assert not file_status.is_trusted(status, "another", read_at, now)


def test_a_file_that_was_just_written_is_read_again_until_it_is_old_enough(folder, monkeypatch):
    opened = []
    read = file_status.read

    def counted(source):
        opened.append(source.name)
        return read(source)

    monkeypatch.setattr(file_status, "read", counted)
    real, folder.clock = folder.clock, lambda: (folder.infra / "a.yaml").stat().st_ctime + 0.5
    for _ in range(2):
        folder.open(index=True)
    assert len(opened) == 4
    folder.clock = real
    folder.open(index=True)  # compared, and trusted from now on
    opened.clear()
    folder.open(index=True)
    assert opened == []


def test_a_clock_that_steps_back_reads_the_files_again(folder):
    folder.assert_same()
    folder.write("a.yaml", document("one", port=82))
    later, folder.clock = folder.clock, lambda: 1000.0
    assert folder.open(index=True) == folder.open(index=False)
    folder.clock = later
    folder.assert_same()


def test_a_file_that_changes_while_it_is_read_is_not_trusted(folder, monkeypatch):
    read = file_discovery.load

    def edited_meanwhile(source, stdin):
        data = read(source, stdin)
        if source.name.endswith("a.yaml"):
            folder.write("a.yaml", document("one", port=5))
        return data

    with monkeypatch.context() as patch:
        patch.setattr(file_discovery, "load", edited_meanwhile)
        folder.open(index=True)
    folder.assert_same()


def test_a_file_that_is_edited_during_the_run_stops_it_with_a_clear_message(folder, monkeypatch):
    folder.open(index=True)
    seen = folder._seen

    async def after_an_edit(options, *, check):
        folder.write("a.yaml", document("one", port=5))
        return await seen(options, check=check)

    monkeypatch.setattr(folder, "_seen", after_an_edit)
    file = folder.infra / "a.yaml"
    before = file.stat()
    monkeypatch.setattr(os, "stat", lambda path, **more: before if str(path) == "infra/a.yaml" else _stat(path, **more))
    found = folder.open(index=True)
    assert "edited during this run" in found["error"][1]


_stat = os.stat


def test_another_release_reads_everything_again(folder, parses, monkeypatch):
    folder.open(index=True)
    parses.clear()
    monkeypatch.setattr(front_end_version, "FORMAT", 99)
    front_end_version._release.cache_clear()
    folder.assert_same()
    front_end_version._release.cache_clear()
    assert parses[:2] == ["infra/a.yaml", "infra/b.yaml"]


def _store(folder: Folder) -> sqlite3.Connection:
    return sqlite3.connect(folder.root / ".holdfast" / "holdfast.db", isolation_level=None)


DAMAGES = (
    "UPDATE manifest_entry SET head = x'00'",
    "UPDATE manifest_entry SET head = replace(head, 'Document', 'Documenx')",
    "UPDATE manifest_entry SET address = address || 'x' WHERE name = 'one'",
    "UPDATE manifest_entry SET links = NULL",
    "UPDATE manifest_entry SET body = x'00112233445566778899'",
    "DELETE FROM manifest_entry WHERE name = 'one'",
    "DELETE FROM manifest_entry",
    "DELETE FROM manifest",
    "DELETE FROM manifest_set",
    "DELETE FROM manifest_binding",
    "UPDATE manifest_set SET summary = '[0, [], 0, \"\"]'",
    "UPDATE manifest_binding SET body = '[]'",
    "UPDATE manifest SET others = x'00'",
    "DROP TABLE manifest_entry",
    "DROP TABLE manifest",
    "ALTER TABLE manifest RENAME COLUMN digest TO digests",
)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("look", [{}, {"targets": ("one",)}, {"targets": ("three",)}])
def test_a_damaged_index_never_changes_the_result(folder, damage, look):
    folder.open(index=True, check=True)
    folder.tick()
    with _store(folder) as store:
        store.execute(damage)
    store.close()
    folder.assert_same(**look)


def test_a_store_that_cannot_be_written_is_no_obstacle(folder, monkeypatch):
    folder.open(index=True)
    folder.tick()
    folder.write("b.yaml", document("three", port=3))

    monkeypatch.setattr(SqliteManifestIndex, "_transaction", _refusing)
    folder.assert_same()


def _refusing(_self):
    from contextlib import contextmanager

    from holdfast.errors import StoreError

    @contextmanager
    def refused():
        raise StoreError("read-only")
        yield

    return refused()


def test_projects_share_a_store(tmp_path):
    projects = [Folder(tmp_path / name) for name in ("north", "south")]
    for number, folder in enumerate(projects):
        folder.write("a.yaml", document(f"own{number}"))
        text = f"connections: {{disk{number}: {{provider: file, root: live}}}}\nstore: ../shared/holdfast.db\n"
        text += f"defaults: {{connection: disk{number}}}\n"
        (folder.root / "holdfast.yaml").write_text(text)
    for _, folder in itertools.product(range(2), projects):
        seen = folder.assert_same()
        assert len(seen["declarations"]) == 1


def test_the_way_to_a_file_does_not_matter(folder):
    folder.open(index=True)
    folder.write("foreign.yaml", FOREIGN + "---\n" + document("ten"))
    (folder.infra / "link.yaml").symlink_to(folder.infra / "a.yaml")
    for files in (("infra",), ("infra/a.yaml",), ("infra/*.yaml",), ("infra/foreign.yaml",), ("./infra/",)):
        folder.assert_same(files=files)
        folder.assert_same(files=files, targets=("ten",))


def test_no_value_of_a_document_is_in_the_index_unless_the_store_has_it_in_clear(folder):
    folder.write("s.yaml", document("hidden").replace("a: [x]", "a: very-secret-text"))
    folder.open(index=True)  # opened, not checked
    content = (folder.root / ".holdfast" / "holdfast.db").read_bytes()
    assert b"very-secret-text" not in content
    with _store(folder) as store:
        assert store.execute("SELECT count(*) FROM manifest_entry WHERE body IS NOT NULL").fetchone() == (0,)
        assert store.execute("SELECT count(*) FROM manifest_entry").fetchone() == (4,)
    store.close()


def test_checked_declarations_are_taken_from_the_store(folder, monkeypatch):
    folder.open(index=True, check=True)
    with _store(folder) as store:
        kept = store.execute("SELECT name FROM manifest_entry WHERE body IS NOT NULL").fetchall()
    store.close()
    assert ("one",) in kept
    assert ("three",) not in kept  # it has a reference: the store has the resolved document
    folder.assert_same()


def test_one_file_of_many_documents(folder):
    folder.write("many.yaml", "---\n".join(document(f"m{number}", port=number) for number in range(600)))
    seen = folder.assert_same(targets=("m599",))
    assert len(seen["declarations"]) == 603
    assert [str(address) for address in seen["selected"]] == ["local/Document/m599"]


def test_many_files(folder):
    for number in range(300):
        folder.write(f"{number % 7}/f{number}.yaml", document(f"n{number}"))
    assert len(folder.assert_same(selector="tier=front")["selected"]) == 1


def test_a_large_manifest(folder):
    text = "x" * 3_000_000
    folder.write("large.yaml", document("large").replace("a: [x]", f"a: {text}"))
    seen = folder.assert_same(targets=("large",))
    assert len(seen["declarations"]) == 4


def _due(folder: Folder, names: tuple[str, ...], *, index: bool) -> object:
    """Return the declarations of some resources of the store, as a watch reads them."""
    store = folder.root / ".holdfast" / "holdfast.db"

    async def read() -> object:
        options = ProjectOptions(("infra",))
        async with open_project(options, reads="named", beside=("infra",)) as project:
            states = [state async for state in project.store.all_states() if state.address.name in names]
            source = FileSource(("infra",), project.config, store if index else None)
            found = source.read_declaring(states)
            places = {
                declaration.address: (declaration.location, dict(declaration.places))
                for declaration in found.declarations
            }
            return found.declarations, found.strategies, places

    with contextlib.chdir(folder.root):
        return asyncio.run(read())


def test_due_resources_are_read_without_the_rest_of_their_files(folder, parses):
    folder.write("s.yaml", STRATEGY + "---\n" + document("nine"))
    folder.open(index=True, check=True)
    plain = _due(folder, ("one", "three", "nine"), index=False)
    _due(folder, ("one", "three", "nine"), index=True)
    parses.clear()
    assert _due(folder, ("one", "three", "nine"), index=True) == plain
    assert parses == []
