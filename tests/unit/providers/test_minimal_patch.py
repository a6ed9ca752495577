"""From a decided change to the wanted document, and from two documents to the smallest patch."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import diff, paths, profiles
from holdfast.compare.comparators import typed_equal
from holdfast.model.json import Json
from holdfast.providers import minimal_patch
from holdfast.providers.protocol import Change
from tests import strategies

RULES = {
    "default": "[]",
    "ordered": "[{path: /**, list: ordered}]",
    "set": "[{path: /**, list: set}]",
    "multiset": "[{path: /**, list: multiset}]",
    "keyed": "[{path: /**, list: {keyed: [name]}}]",
}

WANTED = {
    "a value is put right, the rest stays": ({"a": 1}, {"a": 2, "b": 3}, ["/a"], {"a": 1, "b": 3}),
    "a field that is not declared goes": ({}, {"a": 2, "b": 3}, ["/a"], {"b": 3}),
    "a missing field comes": ({"a": {"b": 1}}, {}, ["/a"], {"a": {"b": 1}}),
    "no more than the path names": ({"a": {"b": 1, "c": 2}}, {}, ["/a/b"], {"a": {"b": 1}}),
    "nothing to remove": ({}, {"a": 1}, ["/b/c"], {"a": 1}),
    "a scalar where a map should be": ({"a": {"b": 1}}, {"a": 5}, ["/a/b"], {"a": {"b": 1}}),
    "a null where a map should be": ({"a": {"b": 1}}, {"a": None}, ["/a"], {"a": {"b": 1}}),
    "the whole document": ({"a": 1}, {"b": 2}, [""], {"a": 1}),
    "an element by its key": (
        {"r": [{"n": "a", "p": 1}]},
        {"r": [{"n": "b"}, {"n": "a", "p": 2, "own": 1}]},
        ["/r[n=a]/p"],
        {"r": [{"n": "b"}, {"n": "a", "p": 1, "own": 1}]},
    ),
    "an element that is missing": (
        {"r": [{"n": "a"}]},
        {"r": [{"n": "b"}]},
        ["/r[n=a]"],
        {"r": [{"n": "b"}, {"n": "a"}]},
    ),
    "an element too many": ({"r": [{"n": "a"}]}, {"r": [{"n": "b"}, {"n": "a"}]}, ["/r[n=b]"], {"r": [{"n": "a"}]}),
    "two elements too many": ({}, {"r": [1, 2, 3]}, ["/r/0", "/r/1"], {"r": [3]}),
    "a list without keys is taken whole": ({"r": [1, 2, 3]}, {"r": [9, 1, 2]}, ["/r/0", "/r/2"], {"r": [1, 2, 3]}),
    "inside an element that has only a place": (
        {"r": [{"p": 1}]},
        {"r": [{"p": 2, "own": 1}]},
        ["/r/0/p"],
        {"r": [{"p": 1, "own": 1}]},
    ),
    "elements that changed places": (
        {"r": [{"p": 1, "q": 1}, {"p": 2, "q": 2}]},
        {"r": [{"p": 2, "q": 2}, {"p": 9, "q": 1}]},
        ["/r/1/p"],
        {"r": [{"p": 1, "q": 1}, {"p": 2, "q": 2}]},
    ),
    "a key that is spelt otherwise": ({"Tags": {"a": 1}}, {"tags": {"A": 2}}, ["/tags/A"], {"tags": {"A": 1}}),
    "an element whose key is spelt otherwise": (
        {"r": [{"n": "A", "p": 1}]},
        {"r": [{"n": "a", "p": 2}]},
        ["/r[n=a]/p"],
        {"r": [{"n": "a", "p": 1}]},
    ),
}


@pytest.mark.parametrize("desired, observed, changed, expected", WANTED.values(), ids=list(WANTED))
def test_the_wanted_document_is_the_observed_one_with_the_changed_paths_put_right(desired, observed, changed, expected):
    before = copy.deepcopy(observed)
    assert minimal_patch.desired_document(Change(desired, observed, tuple(changed))) == expected
    assert observed == before, "what was observed is not touched"


@pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
@given(desired=strategies.maps(), observed=strategies.maps())
def test_what_is_put_right_is_right(rules, desired, observed):
    """A correction of exactly the findings leaves none, whatever lists mean."""
    tree = profiles.stack([profiles.build({"profile": "p", "version": 1, "rules": _loaded(rules)})]).tree()
    changed = tuple(paths.format_path(finding.path) for finding in diff.findings(desired, observed, tree))
    after = minimal_patch.wanted(desired, observed, changed)
    assert diff.findings(desired, after, tree) == []


def _loaded(rules: str) -> Json:
    from holdfast.compare import yaml_reader

    return yaml_reader.document(rules).value


@given(desired=strategies.maps(), observed=strategies.maps())
def test_without_changed_paths_nothing_is_wanted_otherwise(desired, observed):
    assert typed_equal(minimal_patch.wanted(desired, observed, ()), observed)


WITHOUT_NULL = strategies.documents(strategies.scalars.filter(lambda value: value is not None))


@given(
    before=st.dictionaries(st.sampled_from("abc"), WITHOUT_NULL),
    after=st.dictionaries(st.sampled_from("abc"), WITHOUT_NULL),
)
def test_a_merge_patch_applied_as_rfc_7396_says_gives_the_document(before, after):
    from holdfast.testing import rest_data

    assert typed_equal(rest_data.merged(before, minimal_patch.merge_patch(before, after)), after)


PATCHES = {
    "a value": ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": 3}, {"b": 3}, [("replace", "/b", 3)]),
    "a deep value": (
        {"a": {"b": 1, "c": 2}},
        {"a": {"b": 1, "c": 3}},
        {"a": {"c": 3}},
        {"a": {"b": 1, "c": 3}},
        [("replace", "/a/c", 3)],
    ),
    "a field that goes": ({"a": 1, "b": 2}, {"a": 1}, {"b": None}, {"b": None}, [("remove", "/b", None)]),
    "a type": ({"a": 1}, {"a": True}, {"a": True}, {"a": True}, [("replace", "/a", True)]),
    "an element": ({"a": [1, 2]}, {"a": [1, 9, 2]}, {"a": [1, 9, 2]}, {"a": [1, 9, 2]}, [("add", "/a/1", 9)]),
    "a key with a slash": ({}, {"a/b~c": 1}, {"a/b~c": 1}, {"a/b~c": 1}, [("add", "/a~1b~0c", 1)]),
    "nothing": ({"a": [1]}, {"a": [1]}, {}, {}, []),
}


@pytest.mark.parametrize("before, after, merge, changed, patch", PATCHES.values(), ids=list(PATCHES))
def test_each_patch_holds_the_difference_and_no_more(before, after, merge, changed, patch):
    assert minimal_patch.merge_patch(before, after) == merge
    assert minimal_patch.changed_fields(before, after) == changed
    operations = minimal_patch.json_patch(before, after)
    assert [(operation["op"], operation["path"], operation.get("value")) for operation in operations] == patch
