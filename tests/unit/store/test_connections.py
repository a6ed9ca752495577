"""Opening a store: what is made, what is refused, and that refusing changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import stat
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.errors import SchemaTooNew, StoreError
from holdfast.store.sqlite import database, migrations
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.transaction import Transaction
from tests.unit.store.examples import A, event, full_state


def use(path: Path, *, work: Callable[[SqliteStore], Awaitable[object]] | None = None, durable: bool = False) -> object:
    """Open a store, do something with it, close it."""

    async def whole() -> object:
        store = await SqliteStore.open(path, durable=durable)
        try:
            return await work(store) if work else None
        finally:
            await store.close()

    return asyncio.run(whole())


def altered(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def pragma(store: SqliteStore, name: str) -> Awaitable[object]:
    return store._batcher.read(lambda: store._connection.execute(f"PRAGMA {name}").fetchone()[0])


def test_a_new_store_is_made_with_its_folder_for_its_owner_only(tmp_path):
    path = tmp_path / "deep" / ".holdfast" / "holdfast.db"
    modes = {}

    async def look(store: SqliteStore) -> None:
        await store.commit(Transaction(states=[full_state()]))
        modes.update({file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()})

    use(path, work=look)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert modes == {"holdfast.db": 0o600, "holdfast.db-wal": 0o600, "holdfast.db-shm": 0o600}


def test_the_mode_of_a_folder_that_was_there_is_left_alone(tmp_path):
    tmp_path.chmod(0o755)
    use(tmp_path / "holdfast.db")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_what_was_committed_is_there_after_opening_again(tmp_path):
    use(tmp_path / "s.db", work=lambda store: store.commit(Transaction(states=[full_state()], events=[event()])))
    assert use(tmp_path / "s.db", work=lambda store: store.state(A)) == full_state()
    assert use(tmp_path / "s.db", work=lambda store: store.verify_chain()) == 1


@pytest.mark.parametrize("durable, level", [(False, 1), (True, 2)])
def test_the_journal_is_a_write_ahead_log_and_durability_can_be_chosen(tmp_path, durable, level):
    path = tmp_path / "s.db"
    assert use(path, work=lambda store: pragma(store, "journal_mode"), durable=durable) == "wal"
    assert use(path, work=lambda store: pragma(store, "synchronous"), durable=durable) == level


def test_all_work_happens_in_one_thread_that_is_not_the_event_loops(tmp_path):
    seen = set()

    async def look(store: SqliteStore) -> None:
        await asyncio.gather(
            *[store._batcher.read(lambda: seen.add(threading.current_thread().name)) for _ in range(20)]
        )

    use(tmp_path / "s.db", work=look)
    assert len(seen) == 1
    assert threading.main_thread().name not in seen


def test_closing_ends_the_thread_and_leaves_one_file(tmp_path):
    use(tmp_path / "s.db", work=lambda store: store.commit(Transaction(states=[full_state()])))
    assert [file.name for file in tmp_path.iterdir()] == ["s.db"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("holdfast-store")]


def test_a_closed_store_says_so_and_may_be_closed_again(tmp_path):
    async def whole() -> None:
        store = await SqliteStore.open(tmp_path / "s.db")
        await store.close()
        await store.close()
        with pytest.raises(StoreError, match=r"s\.db is closed"):
            await store.state(A)

    asyncio.run(whole())


@pytest.mark.parametrize("steps", range(4))
def test_giving_up_while_a_store_is_being_opened_leaves_nothing_open(tmp_path, steps):
    async def whole() -> None:
        opening = asyncio.ensure_future(SqliteStore.open(tmp_path / "s.db"))
        for _ in range(steps):
            await asyncio.sleep(0)
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await opening).close()

    asyncio.run(whole())
    for thread in threading.enumerate():
        if thread.name.startswith("holdfast-store"):
            thread.join()
    assert {file.name for file in tmp_path.iterdir()} <= {"s.db"}
    use(tmp_path / "s.db", work=lambda store: store.commit(Transaction(states=[full_state()])))


def test_a_newer_schema_is_refused_with_advice_and_nothing_is_touched(tmp_path):
    path = tmp_path / "s.db"
    use(path)
    altered(path, "PRAGMA user_version = 999")
    before = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(SchemaTooNew, match=r"schema 999.*newer Holdfast.*Upgrade Holdfast.*--store"):
        use(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [file.name for file in tmp_path.iterdir()] == ["s.db"]


def test_a_newer_schema_is_refused_even_while_it_is_in_the_log_only(tmp_path):
    path = tmp_path / "s.db"
    use(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as newer:
        newer.execute("PRAGMA user_version = 999")
        with pytest.raises(SchemaTooNew):
            use(path)
        assert newer.execute("PRAGMA user_version").fetchone() == (999,)


FOREIGN = {
    "a text file": (b"dear diary, " * 20, "not a SQLite database"),
    "a very short file": (b"\0", "not a SQLite database"),
    "the beginning of a database": (b"SQLite format 3\0" + b"\xff" * 200, "damaged"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, what):
    path = tmp_path / "s.db"
    content, message = FOREIGN[what]
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message) as refused:
        use(path)
    assert str(path) in str(refused.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize("mark", ["PRAGMA application_id = 77", "PRAGMA user_version = 1", "PRAGMA user_version = 99"])
def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path, mark):
    path = tmp_path / "other.db"
    altered(path, "CREATE TABLE theirs (x)", mark)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        use(path)
    assert path.read_bytes() == before


def test_a_damaged_store_is_reported_with_advice(tmp_path):
    path = tmp_path / "s.db"
    use(path, work=lambda store: store.commit(Transaction(events=[event(n=n) for n in range(500)])))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged; restore it from a backup"):
        use(path, work=lambda store: store.verify_chain())


@pytest.mark.parametrize("make", [lambda path: path.write_text(""), lambda path: None], ids=["empty", "absent"])
def test_an_empty_file_becomes_a_store(tmp_path, make):
    make(tmp_path / "s.db")
    use(tmp_path / "s.db", work=lambda store: store.commit(Transaction(states=[full_state()])))


def test_a_path_that_cannot_be_a_file_is_reported(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "s.db", tmp_path):
        with pytest.raises(StoreError, match=f"cannot use the store {path}"):
            use(path)


def test_a_folder_that_may_not_be_written_is_reported(tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("holdfast.store.sqlite.database.os.open", refuse)
    with pytest.raises(StoreError, match=r"cannot use the store .*s\.db: Permission denied"):
        use(tmp_path / "s.db")


def test_a_store_that_may_not_be_written_any_more_is_reported(tmp_path):
    async def whole(store: SqliteStore) -> None:
        await store._batcher.read(lambda: store._connection.execute("PRAGMA query_only = ON").fetchall())
        with pytest.raises(StoreError, match="read-only; check the permissions"):
            await store.commit(Transaction(states=[full_state()]))

    use(tmp_path / "s.db", work=whole)


def test_a_lock_that_is_never_released_ends_in_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.0)
    monkeypatch.setattr("holdfast.store.sqlite.database.time.sleep", lambda seconds: None)
    path = tmp_path / "s.db"
    use(path)

    async def whole(store: SqliteStore) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked by another process for"):
                await store.commit(Transaction(states=[full_state()]))
            assert await store.state(A) is None  # reading goes on meanwhile
            other.execute("ROLLBACK")
        await store.commit(Transaction(states=[full_state()]))
        assert await store.state(A) == full_state()

    use(path, work=whole)


def test_a_lock_that_is_released_in_time_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.0)
    path = tmp_path / "s.db"
    use(path)

    async def whole(store: SqliteStore) -> None:
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            waits = []

            def wait(seconds: float) -> None:
                waits.append(seconds)
                if len(waits) == 3:
                    other.execute("ROLLBACK")

            monkeypatch.setattr("holdfast.store.sqlite.database.time.sleep", wait)
            await store.commit(Transaction(states=[full_state()]))
        assert len(waits) == 3
        assert waits == sorted(waits)

    use(path, work=whole)


def test_an_sqlite_that_is_too_old_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 23, 0))
    with pytest.raises(StoreError, match="too old"):
        use(tmp_path / "s.db")


def test_the_file_carries_our_mark(tmp_path):
    use(tmp_path / "s.db")
    assert (tmp_path / "s.db").read_bytes()[68:72] == b"Hold"
    assert migrations.APPLICATION_ID == 0x486F6C64
