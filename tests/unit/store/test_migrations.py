"""Schemas move forward one numbered file at a time, and old files open in new releases."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.condition import Condition, ConditionType, Truth
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.resource import Origin
from holdfast.model.verdict import Status
from holdfast.store import migration_files
from holdfast.store.migration_files import Migration
from holdfast.store.records import OperationStep, WriteOperation
from holdfast.store.sqlite import migrations
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import (
    AppliedState,
    DeclaredState,
    Digest,
    ObservedState,
    ResourceState,
    ScheduleState,
    UnchangedResource,
)
from holdfast.store.transaction import GovernanceChanges, Transaction
from tests.unit.store.examples import A, correction, event, finding, full_state

V1 = Path(__file__).with_name("v1.sql")
FIRST = Migration(1, "0001_first.sql", "CREATE TABLE one (x);\nINSERT INTO one VALUES ('a;b');\n")
SECOND = Migration(2, "0002_second.sql", "ALTER TABLE one ADD COLUMN y;\nUPDATE one SET y = x;\n")
BROKEN = Migration(2, "0002_broken.sql", "ALTER TABLE one ADD COLUMN y;\nUPDATE nowhere SET y = x;\n")


def opened(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(path, isolation_level=None))


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_store_of_the_oldest_schema_opens_with_everything_in_it(tmp_path):
    path = tmp_path / "old.db"
    with opened(path) as connection:
        connection.executescript(V1.read_text(encoding="utf-8"))
        assert version(connection) == 1
    x = Address("prod", "Network", "x", "team")

    async def whole() -> None:
        store = await SqliteStore.open(path)
        try:
            digest = Digest("sha256:fe36923e15fedd49a241f76219620a46e7bd8bfb6f17ddeffe18b0299b8b1028")
            assert await store.document(digest) == {"size": 1}
            assert await store.state(x) == ResourceState(
                x,
                declared=DeclaredState(
                    "openstack",
                    3,
                    digest,
                    labels={"tier": "1"},
                    options={"onDrift": "report"},
                    depends_on=("prod/Subnet/y",),
                    source="a.yaml:1",
                ),
                observed=ObservedState(
                    digest,
                    provider_id="id-1",
                    status=Status.DRIFTED,
                    reason="moved",
                    etag="e",
                    raw_digest=digest,
                    state_hash="spec-sha256/1:" + digest,
                    conditions=(Condition(ConditionType.DRIFTED, Truth.TRUE, "R", "m", 3, 8.5),),
                ),
                applied=AppliedState(digest, 2, digest, origin=Origin.IMPORTED, settle_until=None),
                schedule=ScheduleState(
                    checked_at=10.0, good_at=9.0, resync_seconds=60.0, due_at=70.5, failures=1, terminal=None
                ),
            )
            found = (await store.findings(x))[x][0]
            assert found.finding == Finding(("size",), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE, 1, 1, 2)
            assert (found.first_seen, found.last_seen) == (5.0, 6.0)
            assert (found.clean_at, found.times) == (None, 1)
            assert [revision.number for revision in await store.revisions(x)] == [2]
            assert [decision.id for decision in await store.decisions(x, 9)] == ["d-1"]
            in_flight = WriteOperation(
                "op-1", x, "update", OperationStep.SENT, 4.0, digest, None, (), {"n": 1}, None, 1, "d-1", ""
            )
            assert await store.operations() == [in_flight]
            assert await store.claim(x, "me", 5.0, 9.0) is None
            assert [item.event.data async for item in store.events(subject=str(x))] == [{"n": 1}]
            assert await store.verify_chain() == 1
            await store.commit(Transaction(states=[full_state(A)], events=[event(x)]))
            assert await store.verify_chain() == 2
        finally:
            await store.close()

    asyncio.run(whole())


def test_a_store_of_the_oldest_schema_goes_on_like_a_new_one(tmp_path):
    path = tmp_path / "old.db"
    with opened(path) as connection:
        connection.executescript(V1.read_text(encoding="utf-8"))
    x = Address("prod", "Network", "x", "team")
    raw = "sha256:fe36923e15fedd49a241f76219620a46e7bd8bfb6f17ddeffe18b0299b8b1028"

    async def whole() -> None:
        store = await SqliteStore.open(path)
        try:
            state = await store.state(x)
            assert state is not None
            seen = (await store.findings(x))[x][0].finding
            await store.commit(
                Transaction(states=[state], findings={x: (seen, finding("new"))}, findings_at=11.0, checked={x})
            )
            ages = [(item.first_seen, item.clean_at, item.times) for item in (await store.findings(x))[x]]
            assert ages == [(5.0, None, 2), (11.0, 9.0, 1)]
            assert await store.find_unchanged("prod", "Network", [("id-1", raw)]) == []
            await store.commit(
                Transaction(states=[replace(state, observed=replace(state.observed, status=Status.IN_SYNC))])
            )
            assert await store.find_unchanged("prod", "Network", [("id-1", raw)]) == [UnchangedResource(x, 60.0)]
            assert [item async for item in store.unchecked("prod", "Network", 10.5)] == [x]
            charges = {"c": [BudgetCharge("p", 1, 0.0)]}
            await store.commit(
                Transaction(governance=GovernanceChanges(corrections=[correction("c", x)], charges=charges))
            )
            assert await store.corrections([x]) == [correction("c", x)]
        finally:
            await store.close()

    asyncio.run(whole())


def test_an_old_store_has_the_tables_and_indices_of_a_new_one_after_opening(tmp_path):
    shapes = []
    for name, script in {"old.db": V1.read_text(encoding="utf-8"), "new.db": ""}.items():
        with opened(tmp_path / name) as connection:
            connection.executescript(script)
            migrations.apply(connection, migrations.released(), tmp_path / name)
            made = connection.execute("SELECT type, name FROM sqlite_master ORDER BY type, name").fetchall()
            shapes.append({item: connection.execute(f"PRAGMA table_xinfo({item[1]})").fetchall() for item in made})
    assert shapes[0] == shapes[1]


def test_the_released_migrations_are_numbered_without_gaps_and_start_at_one():
    steps = migrations.released()
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert steps[0].name == "0001_first.sql"


def test_each_migration_is_applied_once_and_in_order(tmp_path):
    path = tmp_path / "s.db"
    with opened(path) as connection:
        migrations.apply(connection, [FIRST], path)
        assert version(connection) == 1
        migrations.apply(connection, [FIRST, SECOND], path)
        migrations.apply(connection, [FIRST, SECOND], path)
        assert version(connection) == 2
        assert connection.execute("SELECT x, y FROM one").fetchall() == [("a;b", "a;b")]


def test_a_migration_that_fails_leaves_the_schema_before_it(tmp_path):
    path = tmp_path / "s.db"
    with opened(path) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrations.apply(connection, [FIRST, BROKEN], path)
        assert version(connection) == 1
        assert connection.execute("SELECT * FROM one").fetchall() == [("a;b",)]
        assert not connection.in_transaction
        migrations.apply(connection, [FIRST, SECOND], path)
        assert version(connection) == 2


def test_a_failing_migration_is_a_store_error_to_whoever_opens(tmp_path):
    async def whole() -> None:
        with pytest.raises(StoreError, match="no such table: nowhere"):
            await SqliteStore.open(tmp_path / "s.db", steps=[FIRST, BROKEN])

    asyncio.run(whole())


def test_a_migration_another_process_applied_meanwhile_is_not_repeated(tmp_path):
    path = tmp_path / "s.db"
    with opened(path) as one, opened(path) as other:
        overtaken: list[str] = []

        def overtake(statement: str) -> None:
            if statement == "BEGIN IMMEDIATE" and not overtaken:
                migrations.apply(other, [FIRST], path)
                overtaken.append(statement)

        one.set_trace_callback(overtake)
        migrations.apply(one, [FIRST, SECOND], path)
        assert overtaken
        assert version(other) == 2


@pytest.mark.parametrize("names", [["0002_a.sql"], ["0001_a.sql", "0003_b.sql"], ["0001_a.sql", "0001_b.sql"]])
def test_gaps_and_doubles_are_our_own_mistake(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("SELECT 1;\n", encoding="utf-8")
    with pytest.raises(ValueError, match="without a gap"):
        migration_files.read(tmp_path)


def test_a_script_is_split_at_the_ends_of_statements_only():
    script = (
        "-- a; comment\nCREATE TABLE a (x); \nCREATE TRIGGER t BEFORE UPDATE ON a\nBEGIN\n  SELECT 1;\nEND;\n-- end\n"
    )
    assert [part.split()[-1] for part in migrations.statements(script)] == ["(x);", "END;"]


def test_a_script_that_breaks_off_is_our_own_mistake():
    with pytest.raises(ValueError, match="middle of a statement"):
        list(migrations.statements("CREATE TABLE a (\n"))
