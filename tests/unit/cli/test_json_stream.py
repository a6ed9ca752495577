"""A JSON document that is rendered entry by entry is the one that would be rendered as a whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast.cli import console, json_stream, terminal_escape
from holdfast.cli.json_stream import JsonList

ENTRIES: dict[str, dict[str, Any]] = {
    "b": {"x": [1, {"y": "\u001b[31m"}], "empty": []},
    "a": {"text": "two\nlines", "none": None},
    "c": {},
}


async def each(values):
    for value in values:
        yield value


def printed(capsys, values) -> str:
    asyncio.run(json_stream.print_object(values))
    return capsys.readouterr().out


@pytest.mark.parametrize("in_memory", [1, 1 << 20], ids=["in a file", "in memory"])
def test_a_list_is_printed_in_order_of_its_keys(capsys, monkeypatch, in_memory):
    monkeypatch.setattr(json_stream, "IN_MEMORY", in_memory)
    entries = JsonList()
    for key, value in ENTRIES.items():
        entries.add(key, value)
    whole = {"list": [ENTRIES[key] for key in sorted(ENTRIES)], "z": {"m": 1, "a": [2]}, "before": []}
    assert printed(capsys, {**whole, "list": entries}) == console.json_text(whole) + "\n"


def test_entries_may_stay_in_the_order_they_came_and_get_fields_later(capsys):
    entries = JsonList(is_sorted=False)
    for key, value in ENTRIES.items():
        entries.add(key, value)
    entries.added["a"] = {"more": True}
    whole = {"list": [{**value, **({"more": True} if key == "a" else {})} for key, value in ENTRIES.items()]}
    assert printed(capsys, {"list": entries}) == console.json_text(whole) + "\n"


@pytest.mark.parametrize("values", [[], list(ENTRIES.values())])
def test_a_list_may_be_computed_while_it_is_printed(capsys, values):
    whole = {"list": values, "total": 3}
    assert printed(capsys, {"list": each(values), "total": 3}) == console.json_text(whole) + "\n"


def test_no_secret_passes_in_an_entry(capsys):
    terminal_escape.hide_with(lambda text: text.replace("hunter2", "***"))
    try:
        entries = JsonList()
        entries.add("a", {"password": "hunter2"})
        assert "hunter2" not in printed(capsys, {"list": entries, "also": {"it": "hunter2"}})
    finally:
        terminal_escape.hide_with(str)
