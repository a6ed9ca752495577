"""The edits between two documents, each as deep as it can be."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given

from holdfast.compare.comparators import typed_equal
from holdfast.model.json import Json
from holdfast.text_edit import edits
from holdfast.text_edit.edits import Act, DocumentEdit
from tests import strategies


def applied(document: Json, found: list[DocumentEdit]) -> Json:
    root = [copy.deepcopy(document)]
    for edit in found:
        *above, last = (0, *edit.pointer)
        holder: Json = root
        for step in above:
            holder = holder[step]
        if edit.act is Act.REMOVE:
            del holder[last]
        elif edit.act is Act.ADD and isinstance(holder, list):
            holder.insert(int(last), edit.value)
        else:
            assert (edit.act is Act.ADD) is not (last in holder if isinstance(holder, dict) else True)
            holder[last] = edit.value
    return root[0]


@given(before=strategies.documents(), after=strategies.documents())
def test_the_edits_between_two_documents_turn_one_into_the_other(before, after):
    found = list(edits.between(before, after))
    assert typed_equal(applied(before, found), after)
    assert bool(found) is not typed_equal(before, after)


@given(before=strategies.documents(), after=strategies.documents())
def test_making_each_edit_gives_the_other_document_and_leaves_the_first_alone(before, after):
    untouched = copy.deepcopy(before)
    document = before
    for edit in edits.between(before, after):
        document = edits.apply_edit(document, edit)
    assert typed_equal(document, after)
    assert typed_equal(before, untouched)


BETWEEN = {
    "an element that went": (["a", "b", "c"], ["a", "c"], [("remove", (1,), None)]),
    "elements that came and went": (
        ["a", "b", "c", "d"],
        ["b", "x", "d"],
        [("remove", (0,), None), ("replace", (1,), "x")],
    ),
    "elements are known by their names": (
        [{"name": "a", "n": 1}, {"name": "b", "n": 1}, {"name": "c", "n": 1}],
        [{"name": "b", "n": 1}, {"name": "c", "n": 2}, {"name": "d", "n": 1}],
        [("remove", (0,), None), ("replace", (1, "n"), 2), ("add", (2,), {"name": "d", "n": 1})],
    ),
    "without names by their contents, else by their places": (
        [{"n": 1, "m": 0}, {"n": 2, "m": 0}],
        [{"n": 2, "m": 0}, {"n": 3, "m": 0}],
        [("remove", (0,), None), ("add", (1,), {"n": 3, "m": 0})],
    ),
    "a map is never empty on the way": ({"a": 1}, {"b": 2}, [("add", ("b",), 2), ("remove", ("a",), None)]),
}


@pytest.mark.parametrize("before, after, expected", BETWEEN.values(), ids=list(BETWEEN))
def test_no_more_is_edited_than_must_be(before, after, expected):
    assert [(edit.act.value, edit.pointer, edit.value) for edit in edits.between(before, after)] == expected


def test_long_lists_are_compared_by_place_and_not_pair_by_pair():
    before, after = [*range(3000)], [*range(1, 3001)]
    assert len(list(edits.between(before, after))) == 3000
