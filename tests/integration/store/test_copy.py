"""A copy of a store has the same facts, there and back, and a half copy is none."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from holdfast import store as stores
from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.store import blobs, store_copy
from holdfast.store.governance import CorrectionRecord
from holdfast.store.records import VersionedRecord
from holdfast.store.transaction import GovernanceChanges, RecordChanges, Transaction, WriteChanges
from tests import postgresql
from tests.acceptance.inprocess import invoke
from tests.unit.store import examples

pytestmark = pytest.mark.server

INDEX = {"manifest", "manifest_entry", "manifest_set", "manifest_binding"}  # a cache, which is not copied


async def fill(url: str | Path, count: int = 40) -> None:
    """Store facts of every kind, odd texts among them."""
    opened = await stores.open(url)
    try:
        for number in range(count):
            address = Address("prod", "Network", f"n{number} \x00ü")
            correction = examples.correction(f"c{number}", address)
            await opened.commit(
                Transaction(
                    documents=dict([blobs.digest_of({"n": number, "long": "x" * 300})]),
                    states=[examples.full_state(address, provider_id=f"id\x00{number}")],
                    findings={address: (examples.finding("size", desired=number),)},
                    checked={address},
                    revisions=[examples.revision(number + 1, address)],
                    decisions=[examples.decision(f"d{number}", address)],
                    events=[examples.event(address, said="\x00"), examples.event("", said=number)],
                    writes=WriteChanges(operations=[examples.operation(f"o{number}", address)]),
                    governance=GovernanceChanges(
                        corrections=[correction],
                        charges={correction.id: [BudgetCharge("bucket", 10**6, 0.0)]},
                        pauses=[examples.pause(f"scope {number}")],
                        approvals=[examples.approval(f"p{number}", address, used_at=5.0 if number % 2 else None)],
                        quarantines=[examples.quarantine("path\x00", address)],
                        accepted=[examples.acceptance("path", address)],
                    ),
                    records=RecordChanges(put=[VersionedRecord("rollout", f"k{number}", {"n": number}, due_at=1.0)]),
                )
            )
            claim = await opened.claim(address, "me", 1.0, 9.0)
            if number % 2:
                assert claim is not None
                await opened.release(claim)
    finally:
        await opened.close()


async def contents(url: str | Path) -> dict[str, list[store_copy.Row]]:
    async with store_copy._reader(url) as reader:
        return {
            table.name: [tuple(row) for rows in [page async for page in reader.rows(table)] for row in rows]
            for table in store_copy.TABLES
        }


async def postgres_url(folder: Path, version: str = "18") -> str:
    url = postgresql.store_url(version, folder)
    await postgresql.create_schema(url)
    return url


@pytest.mark.parametrize("version", postgresql.versions())
def test_a_copy_there_and_back_is_equal_row_by_row_and_numbers_go_on(version, tmp_path):
    async def whole() -> None:
        first, url, last = tmp_path / "a.db", await postgres_url(tmp_path, version), tmp_path / "b.db"
        await fill(first)
        there = await store_copy.copy(first, url)
        back = await store_copy.copy(url, last)
        assert there == back
        assert there.rows["event"] == there.head.length == 80
        before = await contents(first)
        assert before == await contents(url) == await contents(last)
        assert all(before.values())
        for copied in (url, last):
            opened = await stores.open(copied)
            await opened.commit(
                Transaction(
                    states=[examples.full_state(examples.A)],
                    decisions=[examples.decision("new")],
                    events=[examples.event()],
                    governance=GovernanceChanges(corrections=[examples.correction("new")]),
                    writes=WriteChanges(operations=[examples.operation("new")]),
                )
            )
            assert (await opened.decisions(None, 1))[0].id == "new"
            assert await opened.verify_chain([there.head]) == 81
            assert await opened.claim(Address("prod", "Network", "n1 \x00ü"), "you", 2.0, 9.0) is not None
            assert await opened.claim(Address("prod", "Network", "n2 \x00ü"), "you", 2.0, 9.0) is None
            await opened.close()

    asyncio.run(whole())


def test_every_table_of_both_schemas_is_copied(tmp_path):
    async def columns() -> dict[str, set[str]]:
        url = await postgres_url(tmp_path)
        await (await stores.open(url)).close()
        connection = await asyncpg.connect(url)
        found: dict[str, set[str]] = {}
        for table, column in await connection.fetch(
            "SELECT table_name::text, column_name::text FROM information_schema.columns JOIN information_schema.tables "
            "USING (table_schema, table_name) WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
        ):
            found.setdefault(table, set()).add(column)
        await connection.close()
        return found

    known = {table.name: set(table.columns) for table in store_copy.TABLES}
    in_postgres = asyncio.run(columns())
    assert in_postgres.pop("holdfast_store") == {"id", "version"}
    assert in_postgres == known
    asyncio.run(fill(tmp_path / "s.db", 1))
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        in_sqlite = {
            name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
            for name in names
            if not name.startswith("sqlite_") and name not in INDEX
        }
    assert {name: set(columns) for name, columns in in_sqlite.items()} == known
    # Rows are inserted by position.
    assert in_sqlite == {table.name: list(table.columns) for table in store_copy.TABLES}


def test_a_store_with_facts_is_not_overwritten(tmp_path):
    async def whole() -> None:
        first, url = tmp_path / "a.db", await postgres_url(tmp_path)
        await fill(first, 2)
        await fill(url, 3)
        before = await contents(url)
        with pytest.raises(StoreError, match="it has facts already"):
            await store_copy.copy(first, url)
        with pytest.raises(StoreError, match="it has facts already"):
            await store_copy.copy(url, first)
        assert await contents(url) == before

    asyncio.run(whole())


def test_a_copy_that_breaks_off_leaves_an_empty_store(tmp_path, monkeypatch):
    async def whole() -> None:
        first, url = tmp_path / "a.db", await postgres_url(tmp_path)
        await fill(first, 2)
        monkeypatch.setattr(store_copy, "TABLES", (*store_copy.TABLES, store_copy.Table("missing", ("id",))))
        for destination in (url, tmp_path / "b.db"):
            with pytest.raises(StoreError):
                await store_copy.copy(first, destination)
        monkeypatch.undo()
        for destination in (url, tmp_path / "b.db"):
            assert (await store_copy.copy(first, destination)).rows["event"] == 4

    asyncio.run(whole())


def test_there_must_be_a_store_to_copy(tmp_path):
    with pytest.raises(StoreError, match="there is no store at"):
        asyncio.run(store_copy.copy(tmp_path / "none.db", tmp_path / "b.db"))
    assert not list(tmp_path.iterdir())


MANIFEST = """
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec:
  resource:
    path: live/app.yaml
    content: {level: info}
"""


def holdfast(folder: Path, *arguments: str, **env: str) -> str:
    done = invoke(*arguments, cwd=folder, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_project_moves_to_postgresql_and_its_next_round_writes_nothing(tmp_path):
    (tmp_path / "m.yaml").write_text(MANIFEST)
    url = asyncio.run(postgres_url(tmp_path))
    holdfast(tmp_path, "apply", "-y", "-f", "m.yaml")
    verified = holdfast(tmp_path, "audit", "verify", "-f", "m.yaml")
    written = (tmp_path / "live/app.yaml").stat().st_mtime_ns
    assert "copied: 1 resource" in holdfast(tmp_path, "store", "copy", ".holdfast/holdfast.db", url)
    env = {stores.VARIABLE: url}
    assert holdfast(tmp_path, "audit", "verify", "-f", "m.yaml", **env).splitlines()[0] == verified.splitlines()[0]
    holdfast(tmp_path, "check", "-f", "m.yaml", **env)
    holdfast(tmp_path, "apply", "-y", "-f", "m.yaml", **env)
    assert (tmp_path / "live/app.yaml").stat().st_mtime_ns == written
    assert len(asyncio.run(corrections(url))) == len(asyncio.run(corrections(tmp_path / ".holdfast/holdfast.db"))) == 1
    assert "in sync" in holdfast(tmp_path, "status", "-f", "m.yaml", "--store", url)


def test_a_machine_with_another_key_is_refused(tmp_path):
    (tmp_path / "m.yaml").write_text(MANIFEST)
    url = asyncio.run(postgres_url(tmp_path))
    holdfast(tmp_path, "apply", "-y", "-f", "m.yaml", "--store", url)
    (tmp_path / ".holdfast/key").unlink()
    done = invoke("check", "-f", "m.yaml", "--store", url, cwd=tmp_path)
    assert done.returncode != 0
    assert "is not the one that this store is used with" in done.stderr + done.stdout


async def corrections(url: str | Path) -> list[CorrectionRecord]:
    opened = await stores.open(url)
    try:
        return await opened.corrections()
    finally:
        await opened.close()
