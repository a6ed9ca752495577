"""The path language: one notation for rules, findings, ignores and waivers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from holdfast.compare import paths
from holdfast.errors import PathError
from holdfast.model.absent import ABSENT
from holdfast.model.path import Path, Selector
from tests import strategies


def by(**fields: str) -> Selector:
    return Selector(tuple(fields.items()))


# -- writing and reading


@pytest.mark.parametrize(
    "path, text",
    [
        ((), ""),
        (("",), "/"),
        (("a", "b"), "/a/b"),
        (("a/b", "c~d"), "/a~1b/c~0d"),
        (("*",), "/~3"),
        (("a[0]",), "/a~20]"),
        (("rules", 0, "ports"), "/rules/0/ports"),
        (("rules", by(name="ssh"), "ports"), "/rules[name=ssh]/ports"),
        (("policies", by(tenant="t", object="o")), "/policies[tenant=t,object=o]"),
        (("m", by(name="a]b,c=d/e[f")), "/m[name=a~4b~5c~6d~1e~2f]"),
        ((by(name="x"), "y"), "/[name=x]/y"),
        (("", by(name="x")), "//[name=x]"),
        (("a", by(k="1"), by(k="2")), "/a[k=1][k=2]"),
    ],
)
def test_a_path_is_written_as_a_json_pointer_with_selectors(path: Path, text: str):
    assert paths.format_path(path) == text


@given(strategies.any_paths)
def test_reading_a_written_path_gives_it_back_with_indices_as_text(path: Path):
    expected = tuple(str(step) if isinstance(step, int) else step for step in path)
    assert paths.parse_path(paths.format_path(path)) == expected


@given(strategies.any_paths)
def test_a_written_path_is_a_pattern_that_matches_itself_and_what_is_below_it(path: Path):
    pattern = paths.parse_pattern(paths.format_path(path))
    assert pattern.matches(path)
    assert pattern.matches((*path, "below"), below=True)
    assert not pattern.matches((*path, "below"))


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("a/b", "must start with /"),
        ("/a[b", "unclosed or misplaced bracket"),
        ("/a[b=c]d", "unclosed or misplaced bracket"),
        ("/a[b]", "'b' inside the brackets is not field=value"),
        ("/a[]", "is not field=value"),
        ("/a[b=c,]", "is not field=value"),
        ("/a~7", "'~7' is not an escape"),
        ("/a~", "'~' is not an escape"),
    ],
)
def test_a_path_that_does_not_parse_is_refused_with_what_is_wrong(text: str, complaint: str):
    with pytest.raises(PathError, match=re.escape(complaint)) as caught:
        paths.parse_pattern(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["/a/*", "/**", "/a*b", "/a[*]"])
def test_a_wildcard_is_refused_where_one_exact_path_is_needed(text: str):
    with pytest.raises(PathError, match="wildcard where one exact path is needed; escape a literal star as ~3"):
        paths.parse_path(text)


# -- matching


@pytest.mark.parametrize(
    "pattern, path, expected",
    [
        ("", (), True),
        ("", ("a",), False),
        ("/a", ("a",), True),
        ("/a", ("A",), False),
        ("/0", (0,), True),
        ("/*", ("a",), True),
        ("/*", (3,), True),
        ("/*", (by(name="x"),), True),
        ("/*", (), False),
        ("/*", ("a", "b"), False),
        ("/**", (), True),
        ("/**", ("a", 0, "b"), True),
        ("/a/**/z", ("a", "z"), True),
        ("/a/**/z", ("a", "b", 1, "z"), True),
        ("/a/**/z", ("a", "z", "b"), False),
        ("/**/b/**/d", ("a", "b", "c", "b", "d"), True),
        ("/last*Time", ("lastModifiedTime",), True),
        ("/last*Time", ("lastTime",), True),
        ("/last*Time", ("lastTimes",), False),
        ("/*.b", ("axb",), False),
        ("/a*", (0,), False),
        ("/l[*]/x", ("l", by(name="q"), "x"), True),
        ("/l[name=q]", ("l", by(name="q")), True),
        ("/l[name=q]", ("l", by(name="r")), False),
        ("/l[name=q]", ("l", by(zone="1", name="q")), True),
        ("/l[name=q,zone=1]", ("l", by(name="q")), False),
        ("/l[name=q]", ("l", "q"), False),
        ("/l/q", ("l", by(name="q")), False),
        ("/~3", ("*",), True),
        ("/~3", ("a",), False),
    ],
)
def test_wildcards_stand_for_one_step_for_any_number_or_for_a_run_of_characters(
    pattern: str, path: Path, expected: bool
):
    assert paths.parse_pattern(pattern).matches(path) is expected


def test_a_pattern_with_below_covers_everything_under_what_it_matches():
    pattern = paths.parse_pattern("/a/*/c")
    assert pattern.matches(("a", "b", "c", "d", 0), below=True)
    assert not pattern.matches(("a", "b"), below=True)


def test_matching_takes_time_in_proportion_however_many_double_stars_there_are():
    pattern = paths.parse_pattern("/**/a" * 12 + "/**/b")
    assert not pattern.matches(("a",) * 400)
    assert pattern.matches((*("a",) * 400, "b"))


# -- resolving

DOCUMENT = {
    "0": "key zero",
    "list": [{"name": "a", "port": 1.0, "on": True, "none": None}, {"name": "b", "port": 2}],
    "empty": None,
}


@pytest.mark.parametrize(
    "path, value",
    [
        ((), DOCUMENT),
        (("0",), "key zero"),
        ((0,), "key zero"),
        (("list", 1, "name"), "b"),
        (("list", "1", "name"), "b"),
        (("list", by(name="b"), "port"), 2),
        (("list", by(port="1"), "name"), "a"),
        (("list", by(on="true"), "name"), "a"),
        (("list", by(none="null", name="a"), "name"), "a"),
        (("list", by(port="2", missing="null"), "name"), "b"),
        (("empty",), None),
        (("empty", "x"), ABSENT),
        (("list", 2), ABSENT),
        (("list", "-1"), ABSENT),
        (("list", "x"), ABSENT),
        (("list", by(name="c")), ABSENT),
        (("0", "x"), ABSENT),
        ((by(name="a"),), ABSENT),
    ],
)
def test_a_path_resolves_to_what_stands_there_or_to_absence(path: Path, value: object):
    assert paths.resolve(DOCUMENT, path) is value or paths.resolve(DOCUMENT, path) == value


@given(strategies.documents())
def test_every_scalar_of_a_document_is_found_at_its_pointer(document: object):
    for pointer, value in strategies.leaves(document):
        assert paths.resolve(document, pointer) is value


@pytest.mark.parametrize(
    "one, other, expected",
    [
        (("a", 0), ("a", "0"), True),
        (("a",), ("a", "b"), True),
        (("a", "b"), ("a",), True),
        ((), ("a",), True),
        (("a", "c"), ("a", "b"), False),
    ],
)
def test_pointers_overlap_when_one_is_equal_to_above_or_below_the_other(one: Path, other: Path, expected: bool):
    assert paths.overlaps(one, other) is expected  # type: ignore[arg-type]
