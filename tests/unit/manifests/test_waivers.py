"""Files of waivers are read with every mistake told, and edited without touching anything else."""

from __future__ import annotations

import datetime as dt
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.manifests import project, waivers
from holdfast.manifests.edit import waiver_edit
from holdfast.policy import time_parsing
from holdfast.policy.waivers import Waiver
from holdfast.schema.document import InputErrors


def utc(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()


NOW = utc("2026-11-01T00:00")

ADA = """\
waivers:
  - resource: api/Widget/*        # address glob
    path: /size
    owner: ada@example.org
    reason: load test until Friday
    expires: 2026-12-01
    ticket: OPS-123
"""
ADAS = Waiver("api/Widget/*", "/size", "ada@example.org", "load test until Friday", utc("2026-12-02"), ticket="OPS-123")


def read(text):
    return waivers.read(text.encode(), "waivers.yaml", NOW)


def test_a_waiver_is_read_with_its_place():
    (found,) = read(ADA)
    assert found == ADAS
    assert (found.location.file, found.location.line) == ("waivers.yaml", 2)


@pytest.mark.parametrize("text", ["", "# none\n", "waivers:\n", "waivers: []\n", "{}\n"])
def test_a_file_may_hold_none(text):
    assert read(text) == ()


@pytest.mark.parametrize(
    "text, until",
    [
        ("2026-12-01", "2026-12-02T00:00"),
        ("2026-12-01T10:30", "2026-12-01T10:30"),
        ('"2026-12-01T10:30+02:00"', "2026-12-01T08:30"),
        ("2026-01-01", "2026-01-02T00:00"),  # gone by, which is not for the reader to judge
        ("2027-11-01", "2027-11-02T00:00"),  # a year ahead
    ],
)
def test_it_ends_with_a_day_or_at_a_time(text, until):
    assert read(ADA.replace("2026-12-01", text).replace("    ticket: OPS-123\n", ""))[0].expires == utc(until)


def test_more_than_a_year_needs_a_ticket():
    longer = ADA.replace("2026-12-01", "2028-01-01")
    assert read(longer)[0].until == "2028-01-01"
    with pytest.raises(InputError) as caught:
        read(longer.replace("    ticket: OPS-123\n", ""))
    assert str(caught.value) == (
        "waivers.yaml:6:5 (/waivers/0/expires): "
        "more than a year ahead; choose an earlier day, or name the ticket that allows it"
    )


@pytest.mark.parametrize(
    "old, new, line, field, message",
    [
        ("waivers:", "waiver:", 1, "/waiver", "unknown field `waiver`; did you mean `waivers`?"),
        ("owner:", "ownr:", 4, "/waivers/0/ownr", "unknown field `ownr`; did you mean `owner`?"),
        ("    owner: ada@example.org\n", "", 2, "/waivers/0", "`owner` is missing; a person must answer for it"),
        (
            "    reason: load test until Friday\n",
            "",
            2,
            "/waivers/0",
            "`reason` is missing; give the reason why the difference is tolerated",
        ),
        (
            "    path: /size\n",
            "",
            2,
            "/waivers/0",
            "`path` is missing; name the field, such as /size; /** is all of them",
        ),
        (
            "    expires: 2026-12-01\n",
            "",
            2,
            "/waivers/0",
            "`expires` is missing; every waiver ends; give its last day, such as 2026-12-01",
        ),
        ("/size", "size", 3, "/waivers/0/path", "'size' must start with / (or be empty for the whole document)"),
        (
            "api/Widget/*",
            "a/b/c/d/e",
            2,
            "/waivers/0/resource",
            "'a/b/c/d/e' is not a target; write a name, Kind/name or connection/Kind/name, with * where needed",
        ),
        (
            "api/Widget/*",
            "'!api/Widget/*'",
            2,
            "/waivers/0/resource",
            "'!api/Widget/*' would waive everything else; name the resources to waive",
        ),
        (
            "2026-12-01",
            "Friday",
            6,
            "/waivers/0/expires",
            "expected a day or a time, such as 2026-12-24 or 2026-12-24T18:00",
        ),
        (
            "OPS-123",
            "123",
            7,
            "/waivers/0/ticket",
            "expected a string, got a number; write it in quotes: ticket: '123'",
        ),
        ("/size", "''", 3, "/waivers/0/path", "expected a string that is not empty"),
    ],
)
def test_a_mistake_is_told_with_its_place(old, new, line, field, message):
    with pytest.raises(InputError) as caught:
        read(ADA.replace(old, new))
    where = caught.value.location
    assert caught.value.message == message
    assert (where.file, where.line, where.field) == ("waivers.yaml", line, field)


@pytest.mark.parametrize(
    "text, message",
    [
        ("waivers: 5", "expected a list, got a number"),
        ("- a", "expected a mapping, got a list"),
        ("waivers: [5]", "expected a mapping, got a number"),
        ("waivers: [null]", "expected a mapping, got null"),
        ("waivers: []\n---\nwaivers: []", "a file of waivers is one document; put them all into one list"),
    ],
)
def test_what_is_no_file_of_waivers_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.message == message


def test_all_mistakes_of_all_files_come_together(tmp_path):
    (tmp_path / "a.yaml").write_text("waivers: [{}]")
    (tmp_path / "b.yaml").write_text("waivers: 5")
    with pytest.raises(InputErrors) as caught:
        waivers.load([tmp_path / "a.yaml", tmp_path / "b.yaml"], NOW, tmp_path)
    assert [error.location.file for error in caught.value.errors] == ["a.yaml"] * 5 + ["b.yaml"]


def test_files_are_read_in_their_order_and_one_that_is_not_there_has_none(tmp_path):
    (tmp_path / "a.yaml").write_text(ADA)
    (tmp_path / "b.yaml").write_text(ADA.replace("/size", "/name"))
    files = [tmp_path / name for name in ("b.yaml", "gone.yaml", "a.yaml")]
    assert [item.path for item in waivers.load(files, NOW, tmp_path)] == ["/name", "/size"]
    assert waivers.load([tmp_path / "gone.yaml"], NOW, tmp_path) == ()


# -- in the project file


def test_the_project_file_may_name_the_files(tmp_path):
    (tmp_path / "ops.yaml").write_text(ADA)
    file = tmp_path / "holdfast.yaml"
    file.write_text("waivers: ops.yaml\n")
    assert project.load(None, tmp_path).waivers == (tmp_path / "ops.yaml",)
    file.write_text("waivers: [ops.yaml]\n")
    assert project.load(None, tmp_path).waivers == (tmp_path / "ops.yaml",)
    file.write_text("waivers: []\n")
    assert project.load(None, tmp_path).waivers == (tmp_path / "waivers.yaml",)


@pytest.mark.parametrize(
    "text, field, message",
    [
        ("waivers: [5]", "/waivers/0", "expected a string, got a number; write it in quotes: '5'"),
        ("waivers: gone.yaml", "/waivers", "there is no file 'gone.yaml' beside the project file"),
    ],
)
def test_a_file_that_is_named_must_be_there(tmp_path, text, field, message):
    (tmp_path / "holdfast.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        project.load(None, tmp_path)
    assert (caught.value.location.field, caught.value.message) == (field, message)


# -- adding


NEW = Waiver("web-1", "/tags/**", "bob", "migration: step 2 # of 3", utc("2026-11-06T12:00"))
BLOCK = """\
  - resource: web-1
    path: /tags/**
    owner: bob
    reason: 'migration: step 2 # of 3'
    expires: 2026-11-06T12:00Z
"""
IN_LINE = "{" + ", ".join(line.strip(" -") for line in BLOCK.splitlines()) + "}"
OPEN = "waivers:\n  - resource: a\n    path: /b\n    owner: c\n    expires: 2026-11-02\n"


def test_the_first_waiver_makes_the_file():
    made = waiver_edit.add(None, NEW)
    assert made == waiver_edit.HEADER + "waivers:\n" + BLOCK
    assert read(made) == (NEW,)


@pytest.mark.parametrize(
    "before, after",
    [
        ("", "waivers:\n" + BLOCK),
        ("# mine", "# mine\nwaivers:\n" + BLOCK),
        ("waivers:\n", "waivers:\n" + BLOCK),
        ("waivers:", "waivers:\n" + BLOCK),
        ("waivers: # none\n# end\n", "waivers: # none\n" + BLOCK + "# end\n"),
        ("waivers: []\n", "waivers:\n" + BLOCK),
        ("waivers: null # none\n", "waivers: # none\n" + BLOCK),
        (ADA, ADA + BLOCK),
        (ADA.rstrip("\n"), ADA + BLOCK),
        (ADA + "\n\n# the end\n", ADA + BLOCK + "\n\n# the end\n"),
        (ADA + "...\n", ADA + BLOCK + "...\n"),
        ("---\n" + ADA, "---\n" + ADA + BLOCK),
        (ADA.replace("\n  ", "\n"), ADA.replace("\n  ", "\n") + BLOCK.replace("\n  ", "\n")[2:]),
        (ADA.replace("\n", "\r\n"), (ADA + BLOCK).replace("\n", "\r\n")),
        (
            "waivers: [{resource: a, path: /b, owner: c, reason: d, expires: 2026-11-02}] # flow\n",
            f"waivers: [{{resource: a, path: /b, owner: c, reason: d, expires: 2026-11-02}}, {IN_LINE}] # flow\n",
        ),
        (
            "waivers:\n  - {resource: a, path: /b, owner: c,\n     reason: d, expires: 2026-11-02}  # one\n  # more\n",
            "waivers:\n  - {resource: a, path: /b, owner: c,\n     reason: d, expires: 2026-11-02}  # one\n"
            + BLOCK
            + "  # more\n",
        ),
        (
            OPEN + "    reason: |\n      d\n\n",
            OPEN + "    reason: |\n      d\n\n" + BLOCK,
        ),
        (
            OPEN + "    reason: d\n      e # f\n",
            OPEN + "    reason: d\n      e # f\n" + BLOCK,
        ),
    ],
)
def test_a_waiver_is_added_at_the_end_and_nothing_else_changes(before, after):
    found = waiver_edit.add(before, NEW)
    assert found == after
    assert read(found) == (*read(before), NEW)


@pytest.mark.parametrize(
    "text",
    ["- a\n", "waivers: 5\n", "waivers: {}\n", "waivers: []\n---\nwaivers: []\n", "5\n", "other: {a: 1}\n---\n5\n"],
)
def test_what_is_no_file_of_waivers_is_not_written_to(text):
    with pytest.raises(InputError, match="no file of waivers"):
        waiver_edit.add(text, NEW)


def test_what_cannot_be_edited_is_refused_with_what_to_do_by_hand():
    with pytest.raises(InputError) as caught:
        waiver_edit.add("{}\n", NEW)
    assert str(caught.value) == f"the file is written in a way that cannot be edited here; add it by hand:\n{BLOCK}"


# -- removing

THREE = """\
# ours
waivers:
  # first
  - resource: a
    path: /a   # here
    owner: ada
    reason: a
    expires: 2026-11-02

  # second
  -
    resource: b
    path: /b
    owner: ada
    reason: >-
      long
      story
    expires: 2026-11-02
  - {resource: c, path: /c, owner: ada, reason: c, expires: 2026-11-02} # third
# end
"""


@pytest.mark.parametrize(
    "index, gone",
    [
        (0, (3, 8)),
        (1, (10, 18)),
        (2, (18, 19)),
    ],
)
def test_a_waiver_is_removed_with_its_lines_and_nothing_else_changes(index, gone):
    lines = THREE.splitlines(keepends=True)
    found = waiver_edit.remove(THREE, index)
    assert found == "".join(lines[: gone[0]] + lines[gone[1] :])
    kept = read(THREE)
    assert read(found) == kept[:index] + kept[index + 1 :]


FLOW = "waivers: [{a}, {b},\n  {c}]\n".replace("{", "{path: /x, owner: o, reason: r, expires: 2026-11-02, resource: ")


@pytest.mark.parametrize("index, kept", [(0, "bc"), (1, "ac"), (2, "ab")])
def test_a_waiver_is_removed_from_a_list_in_a_line(index, kept):
    assert "".join(item.resource for item in read(waiver_edit.remove(FLOW, index))) == kept


def test_the_last_one_leaves_an_empty_list():
    assert read(waiver_edit.remove(ADA, 0)) == ()
    assert waiver_edit.remove("waivers: [{resource: a}]\n", 0) == "waivers: []\n"


@pytest.mark.parametrize("index", [-1, 1])
def test_there_must_be_something_to_remove(index):
    with pytest.raises(InputError, match=f"there is no waiver number {index + 1} in this file; it has 1"):
        waiver_edit.remove(ADA, index)


def test_what_others_refer_to_is_not_removed():
    with pytest.raises(InputError, match="cannot be edited here; remove it by hand"):
        waiver_edit.remove("waivers:\n  - &a {resource: a}\n  - *a\n", 0)


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(
    [
        "no",
        "1.5",
        "null",
        "- a",
        "a: b",
        "#x",
        "'",
        '"',
        "a, b",
        "{x}",
        "[",
        "@",
        "%",
        "&a",
        "*",
        "!x",
        "\n",
        " a ",
        "~",
    ]
)
made = st.builds(
    Waiver,
    st.sampled_from(["a", "api/Widget/*", "**/x", "[ab]*", "Kind/*"]),
    st.sampled_from(["/a", "/**", "/rules[name=ssh]/port", "/a~1b/*", "/#"]),
    texts,
    texts,
    st.integers(int(NOW) // 60, int(NOW) // 60 + 500_000).map(lambda minutes: minutes * 60.0),
    st.just("") | texts,
)


@given(st.lists(made, max_size=4), st.sampled_from([None, "", THREE, FLOW, "# x\nwaivers: [] # y\n"]))
def test_what_is_added_is_read_back_and_what_was_there_stays(given_waivers, text):
    expected = read(text) if text else ()
    for waiver in given_waivers:
        text = waiver_edit.add(text, waiver)
        expected = (*expected, waiver)
        assert read(text) == expected


@given(st.lists(made, min_size=1, max_size=4), st.data())
def test_removing_takes_back_what_adding_did(given_waivers, data):
    steps = list(itertools.accumulate(given_waivers, waiver_edit.add, initial=THREE))
    for before, after in itertools.pairwise(steps):
        assert waiver_edit.remove(after, len(read(after)) - 1) == before
    index = data.draw(st.integers(0, len(read(steps[-1])) - 1))
    kept = read(steps[-1])
    assert read(waiver_edit.remove(steps[-1], index)) == kept[:index] + kept[index + 1 :]


def test_an_end_is_written_as_the_reader_reads_it():
    assert time_parsing.end(waiver_edit.entry(ADAS)["expires"]) == ADAS.expires
