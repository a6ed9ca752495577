"""A store is opened by URL or by path."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdfast import store
from holdfast.errors import StoreError
from holdfast.store.state import DeclaredState, ResourceState
from holdfast.store.transaction import Transaction
from tests.unit.store.examples import A

STATE = ResourceState(A, DeclaredState("file"))


async def write_and_read(url: str | Path) -> None:
    """Commit through one opening and read through another."""
    first = await store.open(url)
    await first.commit(Transaction(states=[STATE]))
    await first.close()
    second = await store.open(url)
    assert await second.state(A) == STATE
    await second.close()


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_path_and_an_absolute_sqlite_url_name_the_same_file(tmp_path, form):
    file = tmp_path / "deep" / "s.db"
    asyncio.run(write_and_read(form.format(file)))
    assert file.exists()


def test_a_path_object_is_opened(tmp_path):
    asyncio.run(write_and_read(tmp_path / "s.db"))


def test_a_relative_url_is_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asyncio.run(write_and_read("sqlite:///s.db"))
    assert (tmp_path / "s.db").exists()


def test_every_store_in_memory_is_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def whole() -> None:
        first, second = await store.open("sqlite:///:memory:"), await store.open(":memory:")
        await first.commit(Transaction(states=[STATE]))
        assert await first.state(A) == STATE
        assert await second.state(A) is None
        await first.close()
        await second.close()

    asyncio.run(whole())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "url, message",
    [
        ("postgresql://user:hunter2@[broken/db", "the URL is wrong"),
        ("postgres://user:hunter2@localhost:1/db", "nothing answers there; check host and port"),
        ("mysql://user:hunter2@host/db", "unknown scheme `mysql`"),
        ("sqlite:///", "the path is missing"),
        ("sqlite://host/s.db", "has no host; use sqlite:///PATH"),
    ],
)
def test_an_unusable_url_is_refused_without_showing_its_password(url, message):
    with pytest.raises(StoreError, match=message) as refused:
        asyncio.run(store.open(url))
    assert "hunter2" not in str(refused.value)
