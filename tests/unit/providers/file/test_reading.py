"""What is on disk, and nothing else, decides between found, gone and unreadable."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from holdfast.compare import diff, profiles
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure
from holdfast.providers import registry
from holdfast.providers.file import file_state
from holdfast.providers.file.safe_path import Root
from holdfast.providers.protocol import Hint, ReadFailed, Target, Unchanged
from tests.unit.providers.running import document, files, unprivileged, with_provider


def read(root: Path, target: Target, hint: Hint | None = None):
    return with_provider(files(root), lambda reader, _: reader.read(target, hint))


def test_a_document_is_found_in_the_shape_of_its_declaration(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app/config.yaml").write_text("port: 8080\nhosts: [a]\n")
    (tmp_path / "app/config.yaml").chmod(0o640)
    seen = read(tmp_path, document("app/config.yaml"))
    assert isinstance(seen, Found)
    assert seen.document == {
        "path": "app/config.yaml",
        "format": "yaml",
        "content": {"port": 8080, "hosts": ["a"]},
        "mode": "0640",
        "owner": file_state.user_name(os.getuid()),
        "group": file_state._group_name(tmp_path.stat().st_gid),
    }
    assert seen.id == "app/config.yaml"
    assert seen.etag == seen.raw_digest


CONTENTS = {
    "json": ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
    "yaml": ("a: [1, 2.5, null, true]\n", {"a": [1, 2.5, None, True]}),
    "toml": ("a = [1, 2]\n[t]\nd = 2020-01-01\n", {"a": [1, 2], "t": {"d": "2020-01-01"}}),
    "ini": ("a = 1\n[s]\nb = x\n", {"a": "1", "s": {"b": "x"}}),
}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("dress", [str, lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")])
def test_content_is_a_structure_whatever_the_file_is_dressed_in(tmp_path, name, dress):
    text, content = CONTENTS[name]
    (tmp_path / "file").write_bytes(dress(text).encode())
    seen = read(tmp_path, document("file", format=name))
    assert isinstance(seen, Found)
    assert seen.document["content"] == content


def test_a_text_is_taken_as_it_is(tmp_path):
    (tmp_path / "motd").write_bytes("\ufeffhello\r\nworld".encode())
    seen = read(tmp_path, document("motd", kind="Text"))
    assert isinstance(seen, Found)
    assert seen.document["content"] == "\ufeffhello\r\nworld"
    assert "format" not in seen.document


def test_the_strings_of_an_ini_file_are_read_as_what_is_declared_there(tmp_path):
    (tmp_path / "a.ini").write_text(
        "[s]\nport = 8080\nother = 9090\non = True\nword = yes\nlist = 1\nlist = 2\nx = 1\n"
    )
    declared = {"s": {"port": 8080, "other": 8080, "on": True, "word": True, "list": [1, 3], "x": "1"}}
    seen = read(tmp_path, document("a.ini", content=declared))
    assert isinstance(seen, Found)
    expected = {"port": 8080, "other": 9090, "on": True, "word": "yes", "list": [1, 2], "x": "1"}
    assert seen.document["content"]["s"] == expected


def test_owners_are_shown_the_way_they_are_declared(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    ident = (tmp_path / "a.json").stat().st_uid
    shown = {}
    for declared in (ident, str(ident), "somebody", None):
        seen = read(tmp_path, document("a.json", owner=declared))
        assert isinstance(seen, Found)
        shown[declared] = seen.document["owner"]
    name = file_state.user_name(ident)
    assert shown == {ident: ident, str(ident): str(ident), "somebody": name, None: name}


def test_a_missing_file_is_gone(tmp_path):
    assert read(tmp_path, document("none.yaml")) == NotFound()
    assert read(tmp_path, document("no/such/folder/none.yaml")) == NotFound()


def make_folder(root: Path) -> None:
    (root / "it.yaml").mkdir()


def make_fifo(root: Path) -> None:
    os.mkfifo(root / "it.yaml")


def make_socket(root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(root)
        server.bind("it.yaml")


def make_large(root: Path) -> None:
    with (root / "it.yaml").open("wb") as file:
        file.truncate(file_state.MAX_BYTES + 1)


def make_link_out(root: Path) -> None:
    (root / "it.yaml").symlink_to("/etc/hostname")


def make_link_to_nothing(root: Path) -> None:
    (root / "it.yaml").symlink_to("nothing.yaml")


def make_link_in_circles(root: Path) -> None:
    (root / "it.yaml").symlink_to("it.yaml")


def make(text: bytes):
    return lambda root: (root / "it.yaml").write_bytes(text)


TROUBLES = {
    "a folder": (make_folder, ReadError.OTHER, "is a folder"),
    "a fifo without a writer": (make_fifo, ReadError.OTHER, "is a FIFO"),
    "a socket": (make_socket, ReadError.OTHER, "No such device"),
    "too large": (make_large, ReadError.OTHER, "the limit is 67,108,864"),
    "a link out of the root": (make_link_out, ReadError.OTHER, "outside the root"),
    "a link to nothing": (
        make_link_to_nothing,
        ReadError.UNCONFIRMED,
        "a symbolic link to something that is not there",
    ),
    "a link to itself": (make_link_in_circles, ReadError.OTHER, "symbolic link"),
    "not yaml": (make(b"a: [1"), ReadError.MALFORMED, "not YAML"),
    "two documents": (make(b"a: 1\n---\nb: 2\n"), ReadError.MALFORMED, "several documents"),
    "not utf-8": (make(b"a: \xff\n"), ReadError.MALFORMED, "not UTF-8 from byte 3 on"),
    "cut off": (make(b'a: "1'), ReadError.MALFORMED, "not YAML"),
}


@pytest.mark.parametrize("prepare, trouble, detail", TROUBLES.values(), ids=list(TROUBLES))
def test_what_cannot_be_judged_is_never_gone(tmp_path, monkeypatch, prepare, trouble, detail):
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    seen = read(tmp_path, document("it.yaml"))
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is trouble
    assert detail in seen.detail
    assert "it.yaml" in seen.detail


def test_a_file_in_the_place_of_a_folder_is_not_gone(tmp_path):
    (tmp_path / "folder").write_text("")
    seen = read(tmp_path, document("folder/it.yaml"))
    assert isinstance(seen, ReadFailure)
    assert "Not a directory" in seen.detail


def test_a_root_that_is_not_there_says_nothing_about_its_files(tmp_path):
    seen = read(tmp_path / "unmounted", document("it.yaml"))
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.UNREACHABLE


@pytest.mark.parametrize("what", ["in", "in/it.yaml"])
def test_a_file_that_may_not_be_read_is_unauthorised(what):
    with unprivileged() as root:
        (root / "in").mkdir()
        (root / "in/it.yaml").write_text("a: 1\n")
        (root / what).chmod(0)
        seen = read(root, document("in/it.yaml"))
        (root / what).chmod(0o755)
    assert isinstance(seen, ReadFailure)
    assert (seen.trouble, "Permission denied" in seen.detail) == (ReadError.UNAUTHORISED, True)


ESCAPES = ["/etc/passwd", "../it.yaml", "a/../../it.yaml", "..", ".", "a/..", "a\0b.yaml"]


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_out_of_the_root_is_refused(tmp_path, path):
    (tmp_path / "it.yaml").write_text("a: 1\n")
    (tmp_path / "root").mkdir()
    for target in (document(path), document("fine.yaml", ident=path)):
        seen = read(tmp_path / "root", target)
        assert isinstance(seen, ReadFailure)
        assert seen.trouble is ReadError.OTHER


def test_a_link_within_the_root_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/it.yaml").write_text("a: 1\n")
    (tmp_path / "current").symlink_to("real")
    (tmp_path / "alias.yaml").symlink_to("current/it.yaml")
    for path in ("current/it.yaml", "alias.yaml"):
        seen = read(tmp_path, document(path))
        assert isinstance(seen, Found)
        assert (seen.document["path"], seen.document["content"]) == (path, {"a": 1})


DECLARATIONS = {
    "no path": ({}, "needs a `path`"),
    "no format": ({"path": "x.conf"}, "set `format`"),
    "a format nobody knows": ({"path": "x", "format": "xml"}, "one of json, yaml, toml, ini"),
    "a mode that is a number": ({"path": "x.json", "mode": 644}, "in quotes"),
    "a mode that is not octal": ({"path": "x.json", "mode": "0984"}, "octal"),
    "an owner that is a list": ({"path": "x.json", "owner": ["me"]}, "`owner` is a name or a number"),
}


@pytest.mark.parametrize("desired, detail", DECLARATIONS.values(), ids=list(DECLARATIONS))
def test_a_declaration_that_cannot_be_read_says_what_to_edit(tmp_path, desired, detail):
    seen = read(tmp_path, Target("Document", "it", None, desired))
    assert isinstance(seen, ReadFailure)
    assert detail in seen.detail


def test_an_unchanged_file_is_not_parsed(tmp_path, monkeypatch):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    first = read(tmp_path, document("it.yaml"))
    assert isinstance(first, Found)
    hint = Hint(first.etag, first.raw_digest)
    with monkeypatch.context() as patch:
        patch.setattr(file_state, "document", lambda *_: pytest.fail("parsed"))
        assert read(tmp_path, document("it.yaml"), hint) == Unchanged(first.etag, first.raw_digest)
    path.chmod(0o600)
    assert isinstance(read(tmp_path, document("it.yaml"), hint), Found), "a change of mode is a change"


def test_a_file_that_is_written_while_it_is_read_is_unsettled(tmp_path, monkeypatch):
    path = tmp_path / "it.yaml"
    path.write_text("a: 1\n")
    real = os.fstat
    calls: list[int] = []

    def fstat(handle):
        if calls:
            with path.open("a") as file:
                file.write("b: 2\n")
        calls.append(handle)
        return real(handle)

    monkeypatch.setattr(os, "fstat", fstat)
    seen = file_state.look(Root(tmp_path), "it.yaml")
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.UNSETTLED


# --- lists ------------------------------------------------------------------------------------------------------------


def plant(root: Path) -> None:
    for name in ("a.yaml", "b/c.json", "b/d/e.toml", "b/notes.txt", ".hidden/f.yaml", ".holdfast-0123.yaml"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text({".json": '{"x": 1}', ".toml": "x = 1"}.get(path.suffix, "x: 1"))


LISTS = {
    "all documents": ("Document", ["**/*"], ["a.yaml", "b/c.json", "b/d/e.toml"]),
    "all texts": ("Text", ["**/*"], ["b/notes.txt"]),
    "one folder": ("Document", ["b/*"], ["b/c.json"]),
    "a folder and all below": ("Document", ["b/**"], ["b/c.json", "b/d/e.toml"]),
    "a single letter": ("Document", ["?.yaml"], ["a.yaml"]),
    "none": ("Document", [], []),
}


@pytest.mark.parametrize("kind, include, expected", LISTS.values(), ids=list(LISTS))
def test_a_list_brings_the_included_files_as_a_read_would(tmp_path, kind, include, expected):
    plant(tmp_path)

    async def story(reader, _):
        listed = [item async for item in reader.list(kind)]
        for item in listed:
            alone = await reader.read(document(item.id, kind=kind))
            assert (alone.raw_digest, alone.document) == (item.raw_digest, reader.parse(kind, item.raw))
        return [item.id for item in listed]

    assert with_provider(files(tmp_path, include=include), story) == expected


def test_files_are_found_by_what_they_say(tmp_path):
    plant(tmp_path)
    (tmp_path / "b/c.json").write_text('{"x": 2}')

    async def story(reader, _):
        by_content = await reader.find("Document", {"/content/x": 1})
        return (
            by_content,
            await reader.find("Document", {"path": "b/c.json"}),
            await reader.find("Document", {"path": "z"}),
        )

    assert with_provider(files(tmp_path), story) == (["a.yaml", "b/d/e.toml"], ["b/c.json"], [])


def test_a_list_with_something_unreadable_in_it_is_no_list(tmp_path):
    plant(tmp_path)
    make_fifo(tmp_path)

    async def story(reader, _):
        return [item async for item in reader.list("Document")]

    with pytest.raises(ReadFailed) as failed:
        with_provider(files(tmp_path), story)
    assert isinstance(failed.value.reading, ReadFailure)

    with pytest.raises(ReadFailed):
        with_provider(files(tmp_path / "unmounted"), story)


def test_a_listed_file_that_does_not_parse_fails_as_a_read_of_it_does(tmp_path):
    (tmp_path / "it.yaml").write_text("a: [1")

    async def story(reader, _):
        (item,) = [item async for item in reader.list("Document")]
        with pytest.raises(ReadFailed) as failed:
            reader.parse("Document", item.raw)
        return failed.value.reading, await reader.read(document("it.yaml"))

    one, other = with_provider(files(tmp_path), story)
    assert one == other


# --- the profile ------------------------------------------------------------------------------------------------------

COMPARED = {
    "mode is not compared unless declared": ({}, {"mode": "0600"}, []),
    "mode in another spelling": ({"mode": "644"}, {"mode": "0644"}, []),
    "mode that differs": ({"mode": "0644"}, {"mode": "0600"}, ["mode"]),
    "owner that differs": ({"owner": "root"}, {"owner": "nobody"}, ["owner"]),
    "an empty list is something": (
        {"format": "json", "content": {"a": []}},
        {"format": "json", "content": {}},
        ["content"],
    ),
    "a null in toml is nothing": ({"format": "toml", "content": {"a": None}}, {"format": "toml", "content": {}}, []),
    "another path": ({"path": "b"}, {"path": "a"}, ["path"]),
}


@pytest.mark.parametrize("desired, observed, expected", COMPARED.values(), ids=list(COMPARED))
def test_the_rules_of_files(desired, observed, expected):
    rules = profiles.stack(registry.get("file").kinds["Document"].profiles)
    wanted, seen = {"path": "a", **desired}, {"path": "a", "mode": "0644", "owner": "root", "group": "root", **observed}
    found = diff.findings(wanted, seen, rules.tree(wanted, seen))
    assert [finding.path[0] for finding in found] == expected
