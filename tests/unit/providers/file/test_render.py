"""Texts are changed where they must be and nowhere else; every golden text below is written out whole."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.compare import apply_patch, paths
from holdfast.compare.comparators import typed_equal
from holdfast.errors import DocumentError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.providers.file import formats
from tests import strategies

GONE = ABSENT

YAML = """\
# the head comment
server:
    port:   8080   # the port
    hosts: # those we serve
    - a
    # about b
    - b

    tls: {cert: x,key:  'y'}
base: &base
    a: 1
    deep: {x: 1}
use:
    <<: *base
    b: 2
same: *base
text: |
    one
    two

last: "end"   # bye
# the tail
"""

JSON = """\
{
    "price": 1.50,
    "list": [1, 2, 3],
    "empty": {},
    "line": {"x": 1e3, "y":2},
    "block": [
        {"q": 1}
    ]
}
"""

TOML = """\
# the head
title = "x" # the title

[a]
x = 1
y = [1, 2]

# about b
[b.c]
day = 2020-01-01T00:00:00Z # when

[[item]]
n = 1
"""

INI = """\
; the head
top=1

[core]
\tbare = false
\tlong = a
\t\tb
# about the service
[svc]
Exec: a
Exec: b

# about the last
[last]
k = v
"""

# format, text, what changes, and the lines that go and come, in the manner of a diff
GOLDEN = {
    "yaml: a scalar keeps its comment and spacing": (
        "yaml",
        YAML,
        {"/server/port": 9090},
        "-    port:   8080   # the port\n+    port:   9090   # the port\n",
    ),
    "yaml: a string keeps its quotes": (
        "yaml",
        YAML,
        {"/last": 'say "hi"'},
        '-last: "end"   # bye\n+last: "say \\"hi\\""   # bye\n',
    ),
    "yaml: a string that looks like something else is quoted": (
        "yaml",
        YAML,
        {"/server/hosts/0": "no", "/server/hosts/1": "0o14"},
        "-    - a\n+    - 'no'\n-    - b\n+    - '0o14'\n",
    ),
    "yaml: a null where a number was": (
        "yaml",
        YAML,
        {"/server/port": None},
        "-    port:   8080   # the port\n+    port:   null   # the port\n",
    ),
    "yaml: an element more, indented like the others": ("yaml", YAML, {"/server/hosts/2": "c"}, "+    - c\n"),
    "yaml: an element less, comments stay": ("yaml", YAML, {"/server/hosts/0": GONE}, "-    - a\n"),
    "yaml: a key more, with the indentation of the file": (
        "yaml",
        YAML,
        {"/server/new": {"deep": {"list": [1, "x"]}}},
        "+    new:\n+        deep:\n+            list:\n+            - 1\n+            - x\n",
    ),
    "yaml: a key less, the comment after it stays": ("yaml", YAML, {"/last": GONE}, '-last: "end"   # bye\n'),
    "yaml: inside braces": (
        "yaml",
        YAML,
        {"/server/tls/key": "z", "/server/tls/more": True},
        "-    tls: {cert: x,key:  'y'}\n+    tls: {cert: x,key:  'z', more: true}\n",
    ),
    "yaml: out of braces": (
        "yaml",
        YAML,
        {"/server/tls/cert": GONE},
        "-    tls: {cert: x,key:  'y'}\n+    tls: {key:  'y'}\n",
    ),
    "yaml: what an alias stands for is copied, the anchor stays as it is": (
        "yaml",
        YAML,
        {"/same/a": 5},
        "-same: *base\n+same:\n+    a: 5\n+    deep:\n+        x: 1\n",
    ),
    "yaml: what a merge brought in is overruled": ("yaml", YAML, {"/use/a": 7}, "+    a: 7\n"),
    "yaml: deep in what a merge brought in": (
        "yaml",
        YAML,
        {"/use/deep/x": 2},
        "+    deep:\n+        x: 2\n",
    ),
    "yaml: a block of lines": (
        "yaml",
        YAML,
        {"/text": "three\n\nfour\n"},
        "-    one\n-    two\n+    three\n+\n+    four\n",
    ),
    "yaml: the scalar behind an anchor changes, the one behind its alias does not": (
        "yaml",
        "a: &x 1\nb: *x\nc: 3  # own\n",
        {"/a": 2},
        "-a: &x 1\n-b: *x\n+a: &x 2\n+b: 1\n",
    ),
    "yaml: a map where a scalar was, the comment stays": (
        "yaml",
        YAML,
        {"/last": {"a": 1}},
        '-last: "end"   # bye\n+last:   # bye\n+    a: 1\n',
    ),
    "json: a number, the others keep their spelling": (
        "json",
        JSON,
        {"/list/1": 9},
        '-    "list": [1, 2, 3],\n+    "list": [1, 9, 3],\n',
    ),
    "json: an element and a key more, in a line": (
        "json",
        JSON,
        {"/list/3": 4, "/line/z": [1]},
        (
            '-    "list": [1, 2, 3],\n+    "list": [1, 2, 3, 4],\n'
            '-    "line": {"x": 1e3, "y":2},\n+    "line": {"x": 1e3, "y":2, "z": [1]},\n'
        ),
    ),
    "json: a key more, in lines": (
        "json",
        JSON,
        {"/new": {"é": [1]}},
        '-    ]\n+    ],\n+    "new": {\n+        "é": [\n+            1\n+        ]\n+    }\n',
    ),
    "json: a key less, at the end and at the beginning": (
        "json",
        JSON,
        {"/price": GONE, "/block": GONE},
        (
            '-    "price": 1.50,\n-    "line": {"x": 1e3, "y":2},\n-    "block": [\n-        {"q": 1}\n-    ]\n'
            '+    "line": {"x": 1e3, "y":2}\n'
        ),
    ),
    "json: something in what was empty": (
        "json",
        JSON,
        {"/empty/a": 1},
        '-    "empty": {},\n+    "empty": {\n+        "a": 1\n+    },\n',
    ),
    "toml: a value keeps its comment": (
        "toml",
        TOML,
        {"/title": "y"},
        '-title = "x" # the title\n+title = "y" # the title\n',
    ),
    "toml: a date stays a date": (
        "toml",
        TOML,
        {"/b/c/day": "2021-02-03T00:00:00Z"},
        "-day = 2020-01-01T00:00:00Z # when\n+day = 2021-02-03T00:00:00Z # when\n",
    ),
    "toml: a key more, before the comment on the next table": (
        "toml",
        TOML,
        {"/a/z": {"q": 1}},
        "+z = {q = 1}\n",
    ),
    "toml: a key less, and a table more in an array": (
        "toml",
        TOML,
        {"/a/x": GONE, "/item/1": {"n": 2}},
        "-x = 1\n+[[item]]\n+n = 2\n",
    ),
    "ini: a value, spaced as it was": (
        "ini",
        INI,
        {"/top": 2, "/core/bare": True},
        "-top=1\n+top=2\n-\tbare = false\n+\tbare = true\n",
    ),
    "ini: a value of several lines": (
        "ini",
        INI,
        {"/core/long": "x\ny\nz"},
        "-\tlong = a\n-\t\tb\n+\tlong = x\n+\t\ty\n+\t\tz\n",
    ),
    "ini: an entry that stands several times": (
        "ini",
        INI,
        {"/svc/Exec": ["a", "c", "d"]},
        "-Exec: b\n+Exec: c\n+Exec: d\n",
    ),
    "ini: an entry and a section more": (
        "ini",
        INI,
        {"/svc/n": 1, "/fresh": {"q": "r"}},
        "+n: 1\n+\n+[fresh]\n+q = r\n",
    ),
    "ini: an entry and a section less": (
        "ini",
        INI,
        {"/top": GONE, "/svc": GONE},
        "-top=1\n-[svc]\n-Exec: a\n-Exec: b\n",
    ),
}


def changed(document: Json, changes: dict[str, Json]) -> Json:
    out = apply_patch.copied(document)
    for pointer, value in changes.items():
        path = tuple(int(step) if step.isdigit() else step for step in map(str, paths.parse_path(pointer)))
        out = apply_patch.put(out, path, value)
    return out


def line_diff(before: str, after: str) -> str:
    import difflib

    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
    return "".join(f"{line}\n" for line in lines if not line.startswith("@@"))


@pytest.mark.parametrize("name, text, changes, expected", GOLDEN.values(), ids=list(GOLDEN))
def test_an_edit_touches_only_the_lines_it_must(name, text, changes, expected):
    wanted = changed(formats.named(name).parse(text), changes)
    assert line_diff(text, formats.edited(name, text, wanted)) == expected


@pytest.mark.parametrize("name, text", [("yaml", YAML), ("json", JSON), ("toml", TOML), ("ini", INI)])
def test_a_text_that_says_what_is_wanted_is_returned_as_it_is(name, text):
    assert formats.edited(name, text, formats.named(name).parse(text)) is text


def test_a_json_text_in_one_line_stays_in_one_line():
    assert formats.edited("json", '{"a":1,"b":[]}', {"a": 1, "b": [1, {"c": 2}]}) == '{"a":1,"b":[1,{"c":2}]}'


def test_a_yaml_text_without_a_last_line_break_stays_without():
    assert formats.edited("yaml", "a: 1\nb: 2", {"a": 1, "b": 3}) == "a: 1\nb: 3"


def test_a_yaml_file_of_comments_keeps_them():
    assert formats.edited("yaml", "# all defaults\n", {"a": 1}) == "# all defaults\na: 1\n"


BROKEN = {
    "yaml": ["a: [1", "a: 1\na: 2", "a: 1\n---\nb: 2", "a: !!python/object:x {}", "a: .nan"],
    "json": ["", "{", '{"a": 1,}', "{'a': 1}", "nul"],
    "toml": ["a = ", "a = 1\na = 2", "a = nan", "[a\n"],
    "ini": ["[a]\n=1\n", "[a]\n[a]\n", "a = 1\n[a]\n"],
}


@pytest.mark.parametrize("name, text", [(name, text) for name, texts in BROKEN.items() for text in texts])
def test_a_text_of_another_format_is_an_error(name, text):
    with pytest.raises(DocumentError):
        formats.named(name).parse(text)


UNSAYABLE = {
    "toml": [[1], {"a": [None]}, "text"],
    "ini": [[1], {"a": {"b": {"c": 1}}}, {"a": {"b": [1]}}, {"a": {"b": [[1], 2]}}],
}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in UNSAYABLE.items() for value in values])
def test_what_a_format_cannot_say_is_an_error(name, value):
    with pytest.raises(DocumentError):
        formats.dumped(name, value)


def test_a_null_in_toml_is_an_entry_that_is_not_there():
    assert formats.edited("toml", "a = 1\nb = 2\n", {"a": None, "b": 2}) == "b = 2\n"


def test_the_format_goes_by_the_extension():
    assert [formats.by_extension(name) for name in ("a.json", "b.YML", "c.toml", "d.cfg", "e.conf", "f")] == [
        "json",
        "yaml",
        "toml",
        "ini",
        None,
        None,
    ]


# --- properties -------------------------------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8) | st.sampled_from(
    [
        "no",
        "~",
        "0x1",
        "1e3",
        "- a",
        "a: b",
        "#c",
        "&a",
        "*a",
        "|",
        "'",
        '"',
        "é",
        "a\nb\n",
        " a",
        "2020-01-01",
        "\u2028",
        "\x7f",
    ]
)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
)
keys = st.sampled_from(["a", "b", "c", "name"]) | words
values = st.recursive(
    leaves, lambda below: st.lists(below, max_size=4) | st.dictionaries(keys, below, max_size=4), max_leaves=12
)


@pytest.mark.parametrize("name", ["json", "yaml"])
@given(before=values, after=values)
def test_any_document_can_be_written_and_edited_into_any_other(name, before, after):
    assume(before is not None)
    chosen = formats.named(name)
    text = formats.dumped(name, before)
    assert typed_equal(chosen.parse(text), before)
    assert typed_equal(chosen.parse(formats.edited(name, text, after)), after)


@pytest.mark.parametrize(
    "before, after",
    [
        ({"": None}, {"\x85": None}),
        ({"": None, "a": 1}, {"\x85": None, "a": 1}),
        ({"": None, "a": 1}, {"": None, "b": {"\u2028": "\x85"}}),
    ],
)
def test_line_breaks_of_unicode_in_keys_survive(before, after):
    """Found by the property above: between single quotes they would fold away."""
    text = formats.dumped("yaml", before)
    assert formats.named("yaml").parse(formats.edited("yaml", text, after)) == after


plain = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.dictionaries(
        st.sampled_from(["x", "y", "z"]), st.integers() | st.sampled_from(["", "p", "q = r", "é"]), max_size=3
    ),
    max_size=3,
)


@given(before=plain, after=plain)
def test_any_ini_document_can_be_edited_into_any_other(before, after):
    chosen = formats.named("ini")
    text = "; head\n" + formats.dumped("ini", before)
    edited = formats.edited("ini", text, after)
    assert typed_equal(chosen.parse(edited), chosen.as_written(after))
    assert edited.startswith("; head\n")


tables = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.integers(-5, 5)
    | words
    | st.lists(st.integers(0, 3), max_size=3)
    | st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 3)),
    max_size=3,
)


@given(before=tables, after=tables)
def test_a_toml_document_is_edited_into_another_or_not_at_all(before, after):
    """tomlkit has corners; what counts is that a wrong text is never the result."""
    chosen = formats.named("toml")
    text = "# head\n" + formats.dumped("toml", before)
    try:
        edited = formats.edited("toml", text, after)
    except DocumentError:
        return
    assert typed_equal(chosen.parse(edited), after)


@given(document=strategies.maps(), lines=st.lists(st.integers(0, 30), max_size=3), data=st.data())
def test_comments_in_yaml_survive_a_changed_scalar(document, lines, data):
    """Comments on lines of their own, anywhere between the lines of a text, are all there after the edit."""
    text = formats.dumped("yaml", document)
    assume(document and "|" not in text and "?" not in text)
    rows = text.splitlines()
    for number, line in enumerate(lines):
        rows.insert(min(line, len(rows)), f"# comment {number}")
    commented = "\n".join(rows) + "\n"
    key = data.draw(st.sampled_from(sorted(document)))
    edited = formats.edited("yaml", commented, {**document, key: "changed"})
    scalar = not isinstance(document[key], dict | list)
    assert [line for line in edited.splitlines() if line.startswith("#")] == [
        line for line in rows if line.startswith("#")
    ] or not scalar
