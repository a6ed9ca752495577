"""What a service says of one thing is about that thing, or about nothing that counts."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.model.read_result import Found, ReadError, ReadFailure
from holdfast.providers.openstack.reader import OpenStackReader
from holdfast.providers.protocol import Target

OURS = {"id": "n-1", "name": "net", "tags": []}
ANSWERS = {
    "another thing": {"network": {**OURS, "id": "n-2"}},
    "nothing": {},
    "an error": {"NeutronError": {"message": "try again"}},
    "a list": {"networks": [OURS]},
}


def read(answer: dict[str, Any]):
    async def get(*_: object) -> dict[str, Any]:
        return answer

    async def everything(*_: object) -> list[Any]:
        return []

    account = SimpleNamespace(trusts_revisions=False)
    calls: Any = SimpleNamespace(get=get, everything=everything, cloud=SimpleNamespace(account=account))
    return asyncio.run(OpenStackReader(calls).read(Target("Network", "net", "n-1", {"name": "net"})))


def test_what_is_asked_for_is_found():
    assert isinstance(read({"network": OURS}), Found)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=list(ANSWERS))
def test_an_answer_that_is_not_about_the_thing_is_unreadable(answer):
    seen = read(answer)
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.MALFORMED
