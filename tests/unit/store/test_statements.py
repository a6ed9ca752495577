"""The statements: each has a name, a purpose, a use, and a plan that does not read whole tables."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest

from holdfast.store.sqlite import manifest_index, migrations, statements

FOLDER = Path(statements.__file__).parent
TEXT = (resources.files("holdfast.store.sqlite") / "sql/queries.sql").read_text(encoding="utf-8")
WHOLE = {
    "families",
    "count_statuses",
    "count_resources",
    "addresses_with_status",
    "findings",
    "operations",
    "decisions",
    "head",
    "next_due",
    "set_head",
}
WHOLE |= {"pauses", "approvals", "quarantines", "accepted_values"}  # a person made each of them, so there are few
WHOLE |= {"declaring_files"}  # a command about all resources asks once
WHOLE |= {"claims"}  # by an index of those that are held
WHOLE |= {"checked_in_future"}  # once for each clock that is set back
WHOLE |= {"any_request"}  # by an index of those that are open, up to the first

INDEX_MODULE = "manifest_index.py"
# What a run asks once about all files, all declarations or all resources.
WHOLE_INDEX = {"files", "addresses", "count", "address_clashes", "identity_clashes", "undeclared", "known", "old_sets"}


@pytest.fixture
def schema() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrations.apply(connection, migrations.released(), Path(":memory:"))
        yield connection


def plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    names = re.findall(r":(\w+)", statement)
    numbered = len(set(re.findall(r"\?(\d)", statement)))
    values = dict.fromkeys(names, 1) if names else (1,) * (numbered or statement.count("?"))
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]


@pytest.mark.parametrize("name", statements.SQL)
def test_every_statement_fits_the_schema_and_searches_by_a_key(schema, name):
    steps = plan(schema, statements.SQL[name])
    harmless = ("SCAN event USING INDEX", "SCAN json_each")  # the latter goes through what it was given
    scans = [step for step in steps if step.startswith("SCAN") and not step.startswith(harmless)]
    assert not scans or name in WHOLE, steps


@pytest.mark.parametrize(
    "name",
    ["due", "states_page", "unchecked_page", "events_page", "events_page_of", "decisions_of", "corrections", "pauses"],
)
def test_no_page_is_made_by_sorting_everything(schema, name):
    assert not [step for step in plan(schema, statements.SQL[name]) if "TEMP B-TREE" in step]


def test_due_walks_along_the_due_index(schema):
    assert plan(schema, statements.SQL["due"])[0] == "SEARCH resource USING INDEX resource_due (due_at<?)"


def test_a_sweep_finds_things_by_the_ids_of_their_provider(schema):
    steps = plan(schema, statements.SQL["unchanged"])
    assert steps[0] == "SEARCH detail USING INDEX detail_provider_id (provider_id=?)"
    assert len(steps) == 3


def test_every_statement_says_what_it_is_for():
    heads = re.findall(r"^-- name: (\w+)\n(.*)\n", TEXT, re.MULTILINE)
    assert [name for name, _ in heads] == list(statements.SQL)
    assert all(purpose.startswith("-- ") and purpose.endswith(".") for _, purpose in heads)


def test_every_statement_is_used_and_every_used_one_exists():
    files = [file for file in FOLDER.glob("*.py") if file.name != INDEX_MODULE]
    code = "".join(file.read_text(encoding="utf-8") for file in [*files, FOLDER.parent / "audit_trail.py"])
    used = {name for name in statements.SQL if f'"{name.removesuffix("_of")}"' in code or f'"{name}"' in code}
    assert used == set(statements.SQL)
    mentions = re.findall(
        r'(?:SQL\[|sized\(|_select\(|_select_once\(|_select_listed\(|_many\(|_of\(|_pages\()"(\w+)"', code
    )
    named = set(mentions)
    assert named
    assert named <= set(statements.SQL)


def test_every_statement_of_the_manifest_index_is_used_says_what_it_is_for_and_searches_by_a_key():
    text = (resources.files("holdfast.store.sqlite") / "sql/manifest_index.sql").read_text(encoding="utf-8")
    heads = dict(re.findall(r"^-- name: (\w+)\n(.*)\n", text, re.MULTILINE))
    code = (FOLDER / INDEX_MODULE).read_text(encoding="utf-8")
    assert all(purpose.startswith("-- ") and purpose.endswith(".") for purpose in heads.values())
    assert [name for name in heads if f'"{name}"' not in code] == []
    index = manifest_index.SqliteManifestIndex.temporary()
    for name, statement in statements.parse(text).items():
        steps = plan(index._connection, statement.replace("$store", "main"))
        scans = [step for step in steps if step.startswith("SCAN") and step != "SCAN h"]
        assert not scans or name in WHOLE_INDEX, (name, steps)
        assert not any("manifest=? AND address=?" in step for step in steps)  # every file by every address
    index.close()


@pytest.mark.parametrize(
    "count, lengths",
    [(0, []), (1, [1]), (2, [8]), (8, [8]), (9, [40]), (41, [200]), (201, [200, 1]), (441, [200, 200, 200])],
)
def test_lists_are_cut_to_a_few_lengths_and_padded(count, lengths):
    chunks = list(statements.in_lists(list(range(count))))
    assert [len(chunk) for chunk in chunks] == lengths
    assert [value for chunk in chunks for value in chunk if value is not None] == list(range(count))
    assert all(statements.sized("states", chunk).count("?") == len(chunk) for chunk in chunks)


@pytest.mark.parametrize("change", ["UPDATE event SET type = 'x'", "DELETE FROM event"])
def test_the_schema_itself_refuses_to_change_events(schema, change):
    schema.execute("INSERT INTO event VALUES (1, 1.0, 't', 1, x'7b7d', x'00')")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        schema.execute(change)
