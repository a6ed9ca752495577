"""A database that cannot be used is refused with a reason and a remedy, before anything in it is changed."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from holdfast import store
from holdfast.errors import SchemaTooNew, StoreError
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.transaction import Transaction
from tests import postgresql
from tests.integration.store.transaction_pooler import run_pooler
from tests.postgresql import Server
from tests.unit.store.examples import A, event, full_state

pytestmark = pytest.mark.server

SECRET = "hunter2"


@pytest.fixture(scope="module", params=postgresql.versions())
def server(request) -> Server:
    """Return a server of these tests alone, with users that may do little."""
    server = postgresql.new_server(request.param)
    hba = server.data / "pg_hba.conf"
    hba.write_text("local all secretive scram-sha-256\nlocal all refused reject\n" + hba.read_text())
    server.run(
        f"""
        SELECT pg_reload_conf();
        CREATE ROLE secretive LOGIN PASSWORD '{SECRET}';
        CREATE ROLE poor LOGIN;
        CREATE ROLE reader LOGIN;
        ALTER ROLE reader SET default_transaction_read_only = on;
        CREATE ROLE lonely LOGIN CONNECTION LIMIT 1;
        CREATE ROLE refused LOGIN;
        """
    )
    server.run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    return server


async def look(url: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch("SELECT relname, relnamespace FROM pg_class ORDER BY oid")
    finally:
        await connection.close()


def refusal(url: str) -> str:
    with pytest.raises(StoreError) as refused:
        asyncio.run(store.open(url))
    assert SECRET not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    "database, options, expected",
    [
        ("postgres", {"user": "secretive", "password": "wrong"}, "the user or the password is wrong; check the URL"),
        ("postgres", {"user": "refused"}, "the server does not let this user in"),
        ("postgres", {"user": "nobody_at_all"}, "the server does not let this user in"),
        ("nothing", {}, "the database does not exist; create it"),
        ("postgres", {"host": "/tmp/nowhere"}, "the server cannot be reached"),
        ("latin", {}, "the encoding LATIN1; create one with CREATE DATABASE holdfast ENCODING 'UTF8'"),
        ("postgres", {"user": "lonely"}, "the server has no free connection; Holdfast needs two to four"),
        ("postgres", {"user": "reader"}, "read-only"),
        ("postgres", {"search_path": "missing"}, "no schema of the search path (missing) exists"),
        ("postgres", {"sslmode": "nonsense"}, "the URL is wrong; use postgresql://"),
        ("postgres", {"user": "poor", "search_path": "locked"}, "may not create tables in the schema locked"),
    ],
)  # fmt: skip
def test_a_database_that_cannot_be_used_is_left_alone(server, database, options, expected):
    server.run("CREATE SCHEMA IF NOT EXISTS locked; GRANT USAGE ON SCHEMA locked TO poor")
    before = asyncio.run(look(server.url()))
    assert expected in refusal(server.url(database, **options))
    assert asyncio.run(look(server.url())) == before


def test_a_password_with_a_slash_is_not_shown(server):
    assert "hun" not in refusal("postgresql://user:hun/ter2@host/db")
    assert "ter2" not in refusal("postgresql://user:12/ter2@host/db")


def test_the_tables_of_another_program_are_left_alone(server):
    server.run("CREATE SCHEMA shop; CREATE TABLE shop.orders (id integer); CREATE TABLE shop.name (id integer)")
    before = asyncio.run(look(server.url()))
    message = refusal(server.url(search_path="shop"))
    assert "the schema shop has tables of another program (name, orders); use a database of its own" in message
    assert asyncio.run(look(server.url())) == before


def test_a_table_that_only_has_our_name_is_not_a_store(server):
    server.run("CREATE SCHEMA fake; CREATE TABLE fake.holdfast_store (id integer)")
    assert "is not that of a Holdfast store" in refusal(server.url(search_path="fake"))


def open_once(server: Server, schema: str) -> str:
    server.run(f"CREATE SCHEMA {schema}")
    url = server.url(search_path=schema)

    async def whole() -> None:
        opened = await store.open(url)
        await opened.commit(Transaction(states=[full_state()]))
        await opened.close()

    asyncio.run(whole())
    return url


def test_a_store_of_a_newer_release_is_refused(server):
    url = open_once(server, "newer")
    server.run("UPDATE newer.holdfast_store SET version = 99")
    with pytest.raises(SchemaTooNew, match=r"has schema 99, this Holdfast knows up to .*Upgrade Holdfast"):
        asyncio.run(store.open(url))


def test_a_process_that_a_newer_release_migrates_past_stops_writing(server):
    url = open_once(server, "migrated")

    async def whole() -> None:
        opened = await PostgresStore.open(url)
        try:
            changing = await asyncpg.connect(url)
            await changing.execute("UPDATE holdfast_store SET version = 99")
            commits = [opened.commit(Transaction(events=[event()])) for _ in range(5)]
            outcomes = await asyncio.gather(*commits, return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [SchemaTooNew] * 5
            assert await changing.fetchval("SELECT count(*) FROM event") == 0
            assert await opened.state(A) == full_state()  # reading does no harm
            await changing.close()
        finally:
            await opened.close()

    asyncio.run(whole())


def test_privileges_that_are_missing_are_named(server):
    open_once(server, "partly")
    server.run(
        """
        GRANT USAGE ON SCHEMA partly TO poor;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA partly TO poor;
        REVOKE DELETE ON partly.finding FROM poor; REVOKE INSERT ON partly.event FROM poor
        """
    )
    message = refusal(server.url(user="poor", search_path="partly"))
    assert "the user lacks privileges on event, finding; GRANT USAGE" in message
    server.run("GRANT ALL ON ALL TABLES IN SCHEMA partly TO poor")

    async def write() -> None:
        opened = await store.open(server.url(user="poor", search_path="partly"))
        await opened.commit(Transaction(states=[full_state()], events=[event()]))
        await opened.close()

    asyncio.run(write())


def test_a_pooler_in_transaction_mode_is_refused(server):
    async def whole() -> str:
        with tempfile.TemporaryDirectory() as folder:
            async with run_pooler(server.folder / ".s.PGSQL.5432", Path(folder)):
                with pytest.raises(StoreError) as refused:
                    await store.open(f"postgresql:///postgres?host={folder}&user=postgres")
        return str(refused.value)

    before = asyncio.run(look(server.url()))
    assert "a pooler in transaction mode stands between Holdfast and PostgreSQL" in asyncio.run(whole())
    assert asyncio.run(look(server.url())) == before


def test_a_server_that_is_killed_and_returns_loses_nothing_and_is_used_again(server):
    url = open_once(server, "killed")

    async def whole() -> None:
        opened = await store.open(url)
        try:
            await opened.commit(Transaction(events=[event()]))
            await asyncio.to_thread(server.stop, "immediate")
            waiting = [asyncio.create_task(opened.commit(Transaction(events=[event()]))) for _ in range(3)]
            await asyncio.to_thread(server.start)
            await asyncio.gather(*waiting)
            assert await opened.verify_chain() == 4
            assert await opened.state(A) == full_state()
        finally:
            await opened.close()

    asyncio.run(whole())


def test_a_server_that_stays_away_is_named(server):
    url = open_once(server, "away")

    async def whole() -> str:
        opened = await store.open(url)
        await asyncio.to_thread(server.stop, "immediate")
        try:
            with pytest.raises(StoreError) as lost:
                await opened.commit(Transaction(events=[event()]))
            with pytest.raises(StoreError):
                await opened.state(A)
        finally:
            await opened.close()
            await asyncio.to_thread(server.start)
        return str(lost.value)

    assert "cannot use the store postgresql:///postgres: the server cannot be reached" in asyncio.run(whole())


def test_a_missing_driver_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("holdfast.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(StoreError, match=r"asyncpg is not installed; pip install 'holdfast\[postgres\]'"):
        asyncio.run(store.open("postgresql://host/db"))
