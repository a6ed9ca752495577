"""Strings are spelt so that every reader of YAML, of 1.1 as of 1.2, takes them for the same string."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import yaml_reader
from holdfast.text_edit import yaml_scalars, yaml_spelling

HAZARDS = (
    *("y", "N", "yes", "No", "on", "OFF", "true", "False", "null", "~", "", "=", "<<", ".inf", ".NaN"),
    *("0", "010", "0o17", "0x1F", "0b1", "1e3", ".5", "5.", "-1", "+1", "1_000", "12:30", "1:2:3", "2020-01-01"),
    *(
        "- a",
        "-",
        "? a",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "'",
        '"',
        "---",
        "...",
    ),
    *(" a", "a ", "\ta", "a\tb", "a\n", "\n", "\x07", "\x85", "\u2028", "\ufeff", "\U0001f600\x00", "\u00a0", "\\n"),
)
texts = st.sampled_from(HAZARDS) | st.text(st.characters(codec="utf-8"), max_size=12)
visible = st.text(st.sampled_from("ab \n\t#:-'"), max_size=24) | st.text(st.characters(codec="utf-8"), max_size=12)


def read(text: str) -> list:
    return [yaml_reader.document(text).value, yaml.safe_load(text)]


@given(text=texts, quote=st.sampled_from(["", "'", '"']), otherwise=st.sampled_from(["'", '"']))
def test_a_string_is_read_as_itself_in_a_block_and_in_brackets(text, quote, otherwise):
    in_block = yaml_spelling.scalar(text, quote, otherwise=otherwise)
    in_flow = yaml_spelling.scalar(text, quote, in_flow=True, otherwise=otherwise)
    assert read(f"a: {in_block}\n") == [{"a": text}] * 2
    assert read(f"[{in_flow}, {in_flow}]\n") == [[text, text]] * 2


@pytest.mark.parametrize("text", ["y", "no", "010", "1e3", "0o17", "12:30", "2020-01-01", "~", "1_000"])
def test_what_any_reader_takes_for_something_else_is_quoted(text):
    assert yaml_spelling.scalar(text) == f"'{text}'"


@pytest.mark.parametrize(
    "text", ["a,b", "a b", "{{ x }}"[2:-2].strip(), "http://x/y#z", "a{b}", "10.0.0.0/8", "-x", "é"]
)
def test_what_nobody_can_misread_stays_plain(text):
    assert yaml_spelling.scalar(text) == text


@given(text=visible, indent=st.integers(1, 9))
def test_a_text_below_a_bar_is_read_as_itself(text, indent):
    written = yaml_scalars.literal(text, indent)
    if written is not None:
        header, lines = written
        assert read(f"a: {header}\n" + "".join(f"{line}\n" for line in lines) + "b: 1\n")[0] == {"a": text, "b": 1}


@given(text=visible, indent=st.integers(1, 9), width=st.integers(20, 40))
def test_a_folded_text_is_read_as_itself_and_keeps_its_width(text, indent, width):
    written = yaml_scalars.folded(text, indent, width)
    if written is not None:
        header, lines = written
        assert read(f"a: {header}\n" + "".join(f"{line}\n" for line in lines) + "b: 1\n")[0] == {"a": text, "b": 1}
        assert all(len(line) <= max(width, 20 + indent) or " " not in line.strip() or "  " in line for line in lines)


def test_ordinary_texts_can_be_written_both_ways():
    assert yaml_scalars.literal("one\n\n  two\n", 2) == ("|", ["  one", "", "    two"])
    assert yaml_scalars.literal("  one\ntwo", 4) == ("|4-", ["      one", "    two"])
    assert yaml_scalars.folded("one two three four five six\nseven\n", 2, 22) == (
        ">",
        ["  one two three four", "  five six", "", "  seven"],
    )
    assert yaml_scalars.literal("\n", 2) is yaml_scalars.folded(" x", 2, 80) is None
