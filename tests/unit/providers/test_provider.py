"""holdfast.provider: the names that authors import, and the defaults of the base classes."""

from __future__ import annotations

import asyncio
import types
from collections.abc import AsyncIterator

import pytest

from holdfast import provider
from holdfast.provider import (
    Change,
    Done,
    Found,
    Hint,
    Kind,
    Listed,
    NotFound,
    Reader,
    ReadError,
    ReadFailed,
    ReadResult,
    Target,
    Unchanged,
    WriteError,
    WriteFailure,
    Writer,
    WriteResult,
    document_digest,
    found_or_unchanged,
)

FLAGS = {"1": {"key": "a", "on": True, "plan": {"tier": "pro"}}, "2": {"key": "b", "on": True, "plan": {"tier": 1}}}


class OnlyReads(Reader):
    kinds = {"Flag": Kind("Flag")}  # noqa: RUF012

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        return NotFound()


class Lists(OnlyReads):
    async def list(self, kind: str) -> AsyncIterator[Listed]:
        for ident, document in FLAGS.items():
            yield Listed.from_document(ident, document)


class OnlyWrites(Writer):
    async def create(self, target: Target, key: str) -> WriteResult:
        return Done("1")

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        return Done("1")

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        return Done("1")


def test_all_public_names_are_exported():
    names = {
        name
        for name, value in vars(provider).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name != "annotations"
    }
    assert names == set(provider.__all__)


@pytest.mark.parametrize("method", ["list", "find"])
def test_a_reader_without_a_list_raises_read_failed(method: str):
    async def call():
        reader = OnlyReads()
        return await reader.find("Flag", {}) if method == "find" else [item async for item in reader.list("Flag")]

    with pytest.raises(ReadFailed) as caught:
        asyncio.run(call())
    assert caught.value.reading.trouble is ReadError.OTHER  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "criteria, ids",
    [
        ({"key": "a"}, ["1"]),
        ({"/plan/tier": "pro"}, ["1"]),
        ({"/plan/tier": True}, []),  # 1 is a number and no boolean
        ({"on": True}, ["1", "2"]),
        ({"on": True, "key": "b"}, ["2"]),
        ({"missing": None}, []),
    ],
)
def test_find_compares_fields_and_pointers_exactly(criteria, ids):
    assert asyncio.run(Lists().find("Flag", criteria)) == ids


def test_a_read_and_a_list_of_one_document_have_one_digest():
    listed = Listed.from_document("1", FLAGS["1"])
    assert Lists().parse("Flag", listed.raw) == FLAGS["1"]
    assert listed.raw_digest == document_digest(FLAGS["1"])
    assert found_or_unchanged(Found(FLAGS["1"], "e"), None) == Found(FLAGS["1"], "e", listed.raw_digest)


def test_an_equal_digest_is_unchanged_and_another_is_found():
    digest = document_digest({"on": True})
    assert found_or_unchanged(Found({"on": True}, "e"), Hint("e", digest)) == Unchanged("e", digest)
    assert isinstance(found_or_unchanged(Found({"on": False}, "e"), Hint("e", digest)), Found)


def test_a_writer_without_operations_refuses_to_poll():
    answer = asyncio.run(OnlyWrites().poll(Target("Flag", "a", "1", {}), {}))
    assert isinstance(answer, WriteFailure)
    assert answer.refusal is WriteError.TERMINAL


@pytest.mark.parametrize("half", [Reader, Writer])
def test_a_half_without_its_required_methods_cannot_be_made(half):
    with pytest.raises(TypeError, match="abstract"):
        type("Empty", (half,), {})()
