"""One edit of a JSON text touches the value, or what stands between its neighbours, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare.comparators import typed_equal
from holdfast.text_edit import edits, json_edit, pieces
from holdfast.text_edit.edits import Act, DocumentEdit
from holdfast.text_edit.json_edit import Style
from tests import strategies


@given(
    before=strategies.maps(),
    after=strategies.maps(),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    tight=st.booleans(),
)
def test_each_edit_is_exact_and_stays_where_it_belongs(before, after, indent, tight):
    text = json.dumps(before, indent=indent, separators=(",", ":") if tight else None)
    document = before
    for edit in edits.between(before, after):
        start, end = json_edit.edit_span(text, edit)
        spliced = json_edit.edit_text(text, edit, Style.of(text))
        assert pieces.is_within(text, spliced, start, end)
        text, document = spliced, edits.apply_edit(document, edit)
        assert typed_equal(json.loads(text), document)


STYLES = {
    '{"a": 1}': (None, ": ", ", "),
    '{"a":1,"b":2}': (None, ":", ","),
    '{\n\t"a": "x,y"\n}': ("\t", ": ", ", "),
    '{"a": "x, y", "b":1,"c":2}': (None, ": ", ", "),
}


@pytest.mark.parametrize("text, style", STYLES.items())
def test_the_style_is_read_off_the_text_and_not_off_its_strings(text, style):
    found = Style.of(text)
    assert (found.indent, found.colon, found.comma) == style


def test_an_element_is_written_on_one_line_where_its_neighbour_is():
    text = '{\n  "a": [\n    {"b": 1}\n  ]\n}\n'
    edit = DocumentEdit(Act.ADD, ("a", 1), {"b": 2})
    assert json_edit.edit_text(text, edit, Style.of(text)) == '{\n  "a": [\n    {"b": 1},\n    {"b": 2}\n  ]\n}\n'


def test_a_text_that_is_too_deep_is_not_spliced():
    with pytest.raises(json_edit.TooDeepError):
        json_edit.edit_text("[" * 300 + "]" * 300, DocumentEdit(Act.REPLACE, (0,), 1), Style.of(""))
