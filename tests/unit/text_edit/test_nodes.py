"""The tree of places: every value, key, dash and alias is found to the character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import yaml_reader
from holdfast.text_edit import yaml_nodes
from holdfast.text_edit.yaml_nodes import NodeKind, TextNode
from tests import strategies
from tests.unit.manifests.rendering import Pen

TEXT = """\
a: é😀 # comment
block: |+  # kept
  one

list: &list
- x
# between
-
  y: 1
- - z
  -
flow: { k: 'v', w: [1,
  2] } # end
key: &key name
alias: *list
tag: !!str 5
nothing:
# tail
"""


ROOT = yaml_nodes.documents(TEXT)[0].root


def find(*pointer: str | int, text: str = TEXT) -> TextNode:
    node = yaml_nodes.find(ROOT if text is TEXT else yaml_nodes.documents(text)[0].root, pointer)
    assert node is not None
    return node


PIECES = {
    ("a",): "é😀",
    ("block",): "|+  # kept\n  one\n",
    ("list",): "- x\n# between\n-\n  y: 1\n- - z\n  -",
    ("list", 1): "y: 1",
    ("list", 2): "- z\n  -",
    ("list", 2, 1): "",
    ("flow",): "{ k: 'v', w: [1,\n  2] }",
    ("flow", "w", 1): "2",
    ("key",): "name",
    ("tag",): "5",
    ("nothing",): "",
}


@pytest.mark.parametrize("pointer, piece", PIECES.items())
def test_a_value_stands_where_its_text_is(pointer, piece):
    node = find(*pointer)
    assert TEXT[node.body : node.end] == piece


def test_entries_begin_at_their_keys_and_dashes():
    listed = find("list")
    assert [TEXT[entry.start] for entry in listed.entries] == ["-", "-", "-"]
    assert [TEXT[entry.head - 1] for entry in find().entries] == [":"] * 8
    assert (listed.anchor, find("flow").is_padded, find("tag").is_tagged) == ("list", True, True)


def test_an_alias_knows_what_it_stands_for_and_nothing_stands_below_it():
    alias = ROOT.entries[-3].value
    assert alias.kind is NodeKind.ALIAS
    assert alias.target is find("list")
    assert yaml_nodes.uses(ROOT, alias.target) == [alias]
    assert yaml_nodes.find(ROOT, ("alias", 0)) is yaml_nodes.find(ROOT, ("alias",)) is None


def test_comments_are_told_from_texts_that_look_like_them():
    def has(text: str, *pointer: str | int) -> bool:
        return yaml_nodes.has_comment(text, find(*pointer, text=text))

    assert has("a:\n- x # y\n- z\n", "a")
    assert has("a:\n# y\n- x\n- z\n# w\n- v\n", "a")
    assert has("a: [1, # y\n 2]\n", "a")
    assert has("a:\n- | # y\n  b\n- c\n", "a")
    assert not has("a:\n- 'x # y'\n- x#y\n- |\n  # z\n- 1\n# behind\n", "a")
    assert not has("b: 1 # y\na: [1, 2] # z\n", "a")


def test_documents_begin_and_end_where_they_do():
    text = "# head\na: 1\n--- # two\n---\nb: 2\n...\n"
    found = yaml_nodes.documents(text)
    assert [document.is_empty for document in found] == [False, True, False]
    assert [text[document.start : document.end] for document in found] == ["a: 1\n", "--- # two\n", "---\nb: 2\n..."]


@given(document=strategies.maps(), chance=st.randoms(use_true_random=False))
def test_every_value_is_found_in_any_text(document, chance):
    text = Pen.of(chance).document(document)
    root = yaml_nodes.documents(text)[0].root
    for pointer, place in yaml_reader.document(text).places.items():
        node = yaml_nodes.find(root, pointer)
        assert node is not None
        assert yaml_nodes.line_number(text, node.body) >= place[0]
