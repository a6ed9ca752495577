"""What is accepted is written into the manifest to the letter, and nothing else is; or it is refused, with a reason.

The files of tests/data/accept have their cases beside them (see accepting.py); properties draw the rest.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.compare import diff, paths
from holdfast.errors import InputError, Location
from holdfast.manifests import documents
from holdfast.manifests.edit import accept_edit
from holdfast.manifests.edit.accept_edit import Edit, Refused
from holdfast.manifests.secrets import Secret
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.model.path import Pointer, Selector
from holdfast.model.resource import Declaration
from holdfast.schema.document import Document as Written
from tests import strategies
from tests.unit.manifests import accepting
from tests.unit.manifests.rendering import Pen

SOURCES = sorted(file for file in accepting.FILES.iterdir() if file.suffix in (".yaml", ".json"))
CASES = [case for file in SOURCES for case in accepting.cases(file)]


# --- the files --------------------------------------------------------------------------------------------------------


def test_there_are_files_of_every_shape():
    assert len(SOURCES) >= 60
    assert len({case.name for case in CASES}) == len(CASES) >= 200


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_gives_the_difference_written_beside_its_file(case):
    after, outcome = case.outcome()
    assert outcome == case.expected
    if after is not None:
        accepting.check(case.file.read_bytes(), after, case.declaration(), case.edits)


@pytest.mark.parametrize("file", SOURCES, ids=[file.name for file in SOURCES])
def test_accepting_what_the_manifest_says_changes_no_byte(file):
    first = accepting.cases(file)[0]
    if "program writes it" in first.expected:
        return
    declaration, source = first.declaration(), file.read_bytes()
    told = json.dumps(declaration.desired)
    same = [] if "${" in told or "secretRef" in told else [Edit((), dict(declaration.desired))]
    if declaration.desired:
        assert accept_edit.accept(source, str(file), declaration, same) == source
    assert accept_edit.accept(source, str(file), declaration, []) == source


@pytest.mark.parametrize("file", SOURCES, ids=[file.name for file in SOURCES])
def test_any_place_of_any_file_is_edited_exactly_or_not_at_all(file):
    chance = random.Random(file.name)
    source, declaration = file.read_bytes(), accepting.cases(file)[0].declaration()
    for edit in chance.sample(possible := list(everywhere(declaration.desired)), min(25, len(possible))):
        try:
            after = accept_edit.accept(source, str(file), declaration, [edit])
        except Refused:
            continue
        accepting.check(source, after, declaration, [edit])


VALUES: tuple[Json, ...] = (ABSENT, 5, "a: b", "one\ntwo\n", {"x": {"y": [1]}}, [])


def everywhere(resource: Json) -> Iterator[Edit]:
    """Change, remove and add at every place."""
    for pointer in pointers(resource):
        here = paths.resolve(resource, pointer)
        if pointer:
            yield from (Edit(pointer, value) for value in VALUES)
        if isinstance(here, dict | list):
            step = len(here) if isinstance(here, list) else "added"
            yield from (Edit((*pointer, step), value) for value in VALUES[1:])


# --- one text, written out --------------------------------------------------------------------------------------------

SMALL = """\
apiVersion: file.holdfast.dev/v1
kind: Text
metadata: {name: a}
spec:
  resource:
    size: 1
    names: [x, y]
    rules:
      - {p: 1, q: 1}
      - {p: 1, q: 2}
"""


def declared(data: bytes, name: str = "m.yaml", at: int = 0) -> tuple[Declaration, Written]:
    """Return a declaration of a file as reading gives it."""
    written = documents.read(data, name, is_json=name.endswith(".json"))[at]
    head = written.value["metadata"]
    return Declaration(
        address=Address("local", written.value["kind"], head["name"], head.get("namespace")),
        provider="file",
        api_version=written.value["apiVersion"],
        desired=written.value["spec"].get("resource") or {},
        location=Location(name, written.line),
        places={paths.format_path(pointer): place[0] for pointer, place in written.places.items()},
    ), written


def accepted(text: str, *edits: Edit, now: bytes | None = None) -> str:
    declaration, _ = declared(text.encode())
    return accept_edit.accept(text.encode() if now is None else now, "m.yaml", declaration, edits).decode()


UNREADABLE = {
    "a tab for indentation": (SMALL.replace("    size", "\tsize").encode(), 6, "indented with a tab; use blanks"),
    "not YAML": (SMALL.replace("[x, y]", "[x, y").encode(), 8, "correct the file first"),
    "a key twice": (SMALL.replace("names:", "size:").encode(), 7, "duplicate key"),
    "not UTF-8": (SMALL.encode() + b"# \xff\n", 11, "save it as UTF-8"),
    "UTF-16": (SMALL.encode("utf-16"), None, "save it as UTF-8"),
    "old line ends": (SMALL.replace("\n", "\r").encode(), 1, "ordinary line ends"),
    "another value by now": (SMALL.replace("size: 1", "size: 2").encode(), 1, "has changed since it was read"),
    "gone by now": (SMALL.replace("name: a", "name: b").encode(), None, "is not in this file"),
    "twice by now": (("# moved\n" + SMALL + "---\n" + SMALL).encode(), None, "stands more than once"),
    "empty by now": (b"", None, "is not in this file"),
}


@pytest.mark.parametrize("now, line, reason", UNREADABLE.values(), ids=list(UNREADABLE))
def test_a_file_that_cannot_be_edited_is_refused(now, line, reason):
    with pytest.raises(Refused, match=reason) as raised:
        accepted(SMALL, Edit(("size",), 3), now=now)
    assert raised.value.location.file == "m.yaml"
    assert raised.value.location.line == line


def test_json_that_is_too_deep_to_be_spliced_is_refused():
    deep = json.loads('{"a":' * 250 + "1" + "}" * 250)
    source = json.dumps(manifest({"deep": deep, "size": 1}, "it")).encode()
    declaration, _ = declared(source, "m.json")
    with pytest.raises(Refused, match="edit the manifest by hand"):
        accept_edit.accept(source, "m.json", declaration, [Edit(("size",), 2)])


UNWRITABLE = {
    "a secret": Secret("hunter2"),
    "a secret inside": {"a": [Secret("hunter2")]},
    "not a number": float("nan"),
    "a key that is no text": {1: 2},
    "a thing": object(),
    "deeper than any manifest": json.loads("[" * 300 + "]" * 300),
    "a mask": "<redacted>",
    "a reference to a secret": [{"secretRef": {"file": "/etc/shadow"}}],
}


@pytest.mark.parametrize("value", UNWRITABLE.values(), ids=list(UNWRITABLE))
def test_a_value_that_no_manifest_may_hold_is_refused_and_not_told(value):
    with pytest.raises(Refused) as raised:
        accepted(SMALL, Edit(("size",), value))
    assert raised.value.location == Location("m.yaml", 6, field="/spec/resource/size")
    assert "hunter2" not in str(raised.value)
    assert "shadow" not in str(raised.value)


def test_a_refusal_is_an_input_error_that_says_where_and_what_to_do():
    with pytest.raises(InputError, match=r"^m.yaml:5 \(/spec/resource/no/where\): .*; accept that instead"):
        accepted(SMALL, Edit(("no", "where"), 1))


PLACES = {
    "a selector in a map": Edit(("size", Selector((("n", "x"),))), 1),
    "a map in a list": Edit(("names", "first"), 1),
    "below a list's words": Edit(("names", "first", "x"), 1),
    "a selector where a map is": Edit((Selector((("n", "x"),)),), 1),
    "an index of two alike": Edit(("rules", 0, "p"), 5, 1),
    "an index that was never there": Edit(("rules", 5, "p"), 5),
    "a key that came to an element nobody can name": Edit(("rules", 0, "new"), 5, ABSENT),
    "two alike by name": Edit(("rules", Selector((("p", "1"),)), "q"), 5),
    "something else was compared": Edit(("size",), 5, 2),
    "nothing was there": Edit(("size",), 5, ABSENT),
    "something was there": Edit(("depth",), 5, 1),
    "not there to be removed": Edit(("rules", Selector((("p", "9"),))), ABSENT),
}


@pytest.mark.parametrize("edit", PLACES.values(), ids=list(PLACES))
def test_an_edit_that_means_no_place_or_several_is_refused(edit):
    with pytest.raises(Refused):
        accepted(SMALL, edit)


def test_an_index_of_a_finding_counts_live_elements_and_means_the_declared_one_with_that_content():
    """The first rule is gone in the live list, so what was the second is at 0."""
    out = accepted(SMALL, Edit(("rules", 0, "q"), 5, 2))
    assert "- {p: 1, q: 1}\n      - {p: 1, q: 5}\n" in out


def test_a_finding_becomes_the_edit_that_accepts_it():
    finding = Finding(("names", 2), Op.ELEMENT_ADDED, FindingClass.ELEMENT, ChangedBy.LIVE, observed="z")
    assert accept_edit.of_finding(finding) == Edit(("names", 2), "z", ABSENT)
    assert "names: [x, y, z]" in accepted(SMALL, accept_edit.of_finding(finding))


def test_edits_of_one_list_hold_whatever_their_order():
    edits = [
        Edit(("rules", 0), ABSENT),
        Edit(("rules", 1, "q"), 7),
        Edit(("names", 0), "w"),
        Edit(("names", 1), ABSENT),
        Edit(("names", 1), "v", ABSENT),
        Edit(("names", 0), "u", ABSENT),
    ]
    results = {accepted(SMALL, *shuffled) for shuffled in (edits, edits[::-1], edits[3:] + edits[:3])}
    (text,) = results
    assert text.endswith("names: [u, v, w]\n    rules:\n      - {p: 1, q: 7}\n")


def test_all_elements_go_and_others_come_without_the_list_losing_its_layout():
    text = SMALL.replace("[x, y]", "\n      - x  # one\n      - y")
    gone = [Edit(("names", 0), ABSENT), Edit(("names", 1), ABSENT), Edit(("names", 0), "z", ABSENT)]
    assert accepted(text, *gone) == SMALL.replace("[x, y]", "\n      - z")


# --- properties -------------------------------------------------------------------------------------------------------

WORDS = (
    *(
        "web",
        "a b",
        "10.0.0.0/8",
        "one two three four five",
        "é😀",
        "",
        "x" * 200,
        "C:\\path",
        "a,b",
        "it's",
        'say "hi"',
    ),
    *("no", "on", "y", "yes", "~", "null", "true", "010", "1e3", "1_000", "0x1F", "0o17", ".5", "12:30", "2020-01-01"),
    *(
        "a: b",
        "#x",
        "x #y",
        "- a",
        "? q",
        "key:",
        "*a",
        "&b",
        "!c",
        "%d",
        "@e",
        "`f",
        "{g",
        "[h",
        "=",
        "<<",
        "---",
        "...",
    ),
    *(
        " lead",
        "trail ",
        "a\tb",
        "\ttab",
        "line one\nline two\n",
        "a\nb",
        "a\n\n  b\nc\n",
        "\n",
        "x\n\n",
        "${x}",
        "$${y}",
    ),
    *("\x07", "\u2028", "\x85", "\ufeff", "\u00a0"),
)
words = st.sampled_from(WORDS) | st.text(st.characters(codec="utf-8"), max_size=6)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | words
)
keys = st.sampled_from(["a", "b", "c", "name", "size", "with space", "x.y/z", "no", "1", "é", "key#", "'q'"])
values: st.SearchStrategy[Json] = st.recursive(
    leaves,
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(keys, below, max_size=4)
        | st.lists(st.fixed_dictionaries({"name": st.sampled_from("abcd"), "v": below}), max_size=3)
    ),
    max_leaves=10,
)
resources = st.dictionaries(keys, values, min_size=1, max_size=5)
chances = st.randoms(use_true_random=False)


def manifest(resource: Json, name: str) -> Json:
    head = {"apiVersion": "file.holdfast.dev/v1", "kind": "Text", "metadata": {"name": name}}
    return head | {"spec": {"resource": resource, "managementPolicy": "managed"}}


def rendered(chance: random.Random, *documents: Json, sharing: float = 0) -> bytes:
    """Write documents as different people on different systems might."""
    parts = []
    for document in documents:
        pen = Pen.of(chance)
        pen.sharing = sharing
        parts.append(pen.document(document))
    text = chance.choice(["", "---\n", "# a head\n---  # here\n"]) + "---\n".join(parts)
    text += chance.choice(["", "", "...\n", "# the end\n"])
    text = text.removesuffix("\n") if chance.random() < 0.2 else text
    data = (text.replace("\n", "\r\n") if chance.random() < 0.2 else text).encode()
    return b"\xef\xbb\xbf" + data if chance.random() < 0.1 else data


def pointers(value: Json, pointer: Pointer = ()) -> list[Pointer]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [pointer, *(element for step, item in below for element in pointers(item, (*pointer, step)))]


@st.composite
def edits_of(draw: st.DrawFn, resource: Json) -> Edit:
    """Draw one ordinary edit: a value changed or removed, a key or an element added."""
    pointer = draw(st.sampled_from(pointers(resource)))
    here = paths.resolve(resource, pointer)
    if isinstance(here, dict) and (not pointer or draw(st.booleans())):
        key = draw(keys | words.filter(lambda word: word.casefold() == word))
        assume(all(key == other or key.casefold() != other.casefold() for other in here))
        return Edit((*pointer, key), draw(values))
    if isinstance(here, list) and draw(st.booleans()):
        return Edit((*pointer, draw(st.integers(0, len(here)))), draw(values), ABSENT)
    return Edit(pointer, draw(st.just(ABSENT) | values))


def is_harmless(edit: Edit) -> bool:
    return bool(edit.path)


@given(resource=resources, other=resources, chance=chances, data=st.data())
def test_any_edit_of_any_text_is_exact_and_touches_only_its_own_lines_or_is_refused(resource, other, chance, data):
    at = chance.randrange(3)
    documents = [manifest(other, f"n{index}") for index in range(3)]
    documents[at] = manifest(resource, "it")
    source = rendered(chance, *documents)
    declaration, written = declared(source, at=at)
    edit = data.draw(edits_of(declaration.desired).filter(is_harmless))
    try:
        after = accept_edit.accept(source, "m.yaml", declaration, [edit])
    except Refused:
        return
    accepting.check(source, after, declaration, [edit])
    accepting.check_lines(source, after, written, edit.path if edit.was is not ABSENT else edit.path[:-1])


@given(resource=resources, chance=chances, data=st.data())
def test_several_edits_at_once_are_exact_or_refused(resource, chance, data):
    source = rendered(chance, manifest(resource, "it"))
    declaration, _ = declared(source)
    edits = data.draw(st.lists(edits_of(declaration.desired).filter(is_harmless), min_size=2, max_size=4))
    try:
        after = accept_edit.accept(source, "m.yaml", declaration, edits)
    except Refused:
        return
    accepting.check(source, after, declaration, edits)


@given(resource=resources, chance=chances, data=st.data())
def test_with_anchors_and_aliases_edits_are_exact_or_refused(resource, chance, data):
    source = rendered(chance, manifest({"base": resource, "again": resource}, "it"), sharing=0.3)
    declaration, _ = declared(source)
    edit = data.draw(edits_of(declaration.desired).filter(is_harmless))
    try:
        after = accept_edit.accept(source, "m.yaml", declaration, [edit])
    except Refused:
        return
    accepting.check(source, after, declaration, [edit])


@given(
    resource=resources,
    indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    tight=st.booleans(),
    ascii_only=st.booleans(),
    data=st.data(),
)
def test_any_edit_of_json_is_exact(resource, indent, tight, ascii_only, data):
    separators = (",", ":") if tight else (", ", ": ") if indent is None else (",", ": ")
    text = json.dumps(
        [manifest(resource, "it"), manifest({}, "other")],
        indent=indent,
        separators=separators,
        ensure_ascii=ascii_only,
    )
    declaration, _ = declared(text.encode(), "m.json")
    edit = data.draw(edits_of(declaration.desired).filter(is_harmless))
    try:
        after = accept_edit.accept(text.encode(), "m.json", declaration, [edit])
    except Refused as refused:
        assert "reference" in refused.message or "cannot be told" in refused.message  # noqa: PT017
        return
    accepting.check(text.encode(), after, declaration, [edit])


@given(desired=strategies.maps(), observed=strategies.maps(), chance=chances)
def test_when_all_differences_are_accepted_none_is_left(desired, observed, chance):
    rules = strategies.tree()
    source = rendered(chance, manifest(desired, "it"))
    declaration, _ = declared(source)
    found = diff.differences(dict(declaration.desired), observed, rules)
    edits = [Edit(item.path, item.observed, item.desired) for item in found]
    try:
        after = accept_edit.accept(source, "m.yaml", declaration, edits)
    except Refused:
        return
    again, _ = declared(after)
    assert diff.differences(dict(again.desired), observed, rules) == []


def test_hardly_any_ordinary_edit_is_refused():
    """Measured on texts in many hands: with comments everywhere, in flow and block, with any indentation."""
    refused = []
    for seed in range(ORDINARY):
        chance = random.Random(seed)
        source = rendered(chance, manifest(ordinary(chance), "it"))
        declaration, _ = declared(source)
        edit = ordinary_edit(chance, declaration.desired)
        try:
            accept_edit.accept(source, "m.yaml", declaration, [edit])
        except Refused as refusal:
            refused.append((seed, str(refusal)))
    assert len(refused) <= ORDINARY / 100, refused[:10]


ORDINARY = 600


def ordinary(chance: random.Random) -> Json:
    """Make a document such as people declare."""
    return {
        "name": chance.choice(["web", "db-1"]),
        "size": chance.randint(1, 10_000),
        "enabled": chance.random() < 0.5,
        "note": chance.choice(WORDS[:11]),
        "script": "#!/bin/sh\nset -e\n\nexec true\n",
        "labels": {key: chance.choice(WORDS) for key in chance.sample(["team", "tier", "app.io/x", "no"], 3)},
        "ports": [{"name": name, "port": chance.randint(1, 99), "tls": {"on": True}} for name in ("http", "admin")],
        "hosts": [chance.choice(WORDS[:8]) for _ in range(chance.randint(0, 3))],
        "limits": {"cpu": {"min": 1, "max": chance.choice([2, None])}, "memory": {}},
    }


def ordinary_edit(chance: random.Random, resource: Json) -> Edit:
    pointer = chance.choice(pointers(resource)[1:])
    new = chance.choice([chance.choice(WORDS[:-5]), chance.randint(0, 99), None, ["a", "b"], {"a": {"b": [1]}}])
    here = paths.resolve(resource, pointer)
    kind = chance.random()
    if kind < 0.2:
        return Edit(pointer, ABSENT)
    if isinstance(here, dict):
        return Edit((*pointer, "added"), new)
    return Edit((*pointer, len(here)), new) if isinstance(here, list) else Edit(pointer, new)
