"""The world in memory as a subject: one kind that takes whole documents, one that takes patches."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Final

from holdfast.compare import apply_patch
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.providers.protocol import Connection
from holdfast.testing.conformance import Doing, Sample, Subject
from holdfast.testing.memory import MemoryProvider, MemoryService

KINDS: Final = {"Thing": False, "Patched": True}  # with whether it takes patches
FAILURES: Final = tuple(each for each in ReadError if each is not ReadError.WITHHELD)  # withheld is an answer, for ever
_VERBS: Final = {
    Doing.READ: ("read",),
    Doing.LIST: ("list", "find"),
    Doing.WRITE: ("create", "update", "delete"),
}


class MemoryDriftInjector:
    """Reaches straight into the dictionary."""

    def __init__(self, world: MemoryService) -> None:
        self._world = world

    async def ids(self, kind: str) -> Collection[str]:
        """Return what is there."""
        return [ident for found, ident in self._world.things if found == kind]

    async def get(self, kind: str, id: str) -> Json:  # noqa: A002 - as the protocol has it
        """Return a copy, without the name, which is no configuration."""
        body = self._world.things.get((kind, id))
        return None if body is None else copy.deepcopy({key: value for key, value in body.items() if key != "name"})

    async def put(self, kind: str, id: str, path: Path, value: Json) -> None:  # noqa: A002
        """Change a field."""
        apply_patch.put(self._world.things[kind, id], path, value)

    async def delete(self, kind: str, id: str) -> None:  # noqa: A002
        """Remove a thing."""
        self._world.things.pop((kind, id), None)


class MemoryFaults:
    """Makes calls fail by their verbs."""

    provokes = (
        *((Doing.READ, trouble) for trouble in FAILURES),
        *((Doing.LIST, trouble) for trouble in FAILURES),
        (Doing.WRITE, ReadError.THROTTLED),
        (Doing.WRITE, ReadError.SERVER_ERROR),
    )

    def __init__(self, world: MemoryService) -> None:
        self._world = world

    def fail(self, doing: Doing, trouble: ReadError, times: int | None = None) -> None:
        """Let the next calls fail."""
        self._world.faults.append(_fault(doing, trouble, times))

    def mend(self) -> None:
        """Let everything work again."""
        self._world.faults.clear()


def _fault(doing: Doing, trouble: ReadError, times: int | None) -> Callable[[str], ReadFailure | WriteFailure | None]:
    left = [times]

    def strike(call: str) -> ReadFailure | WriteFailure | None:
        if call.partition(" ")[0] not in _VERBS[doing] or left[0] == 0:
            return None
        left[0] = None if left[0] is None else left[0] - 1
        if doing is not Doing.WRITE:
            return ReadFailure(trouble, "made to fail")
        refusal = WriteError.THROTTLED if trouble is ReadError.THROTTLED else WriteError.RETRYABLE
        return WriteFailure(refusal, "made to fail")

    return strike


def _minimal(name: str) -> dict[str, Json]:
    return {"label": name}


def _full(name: str) -> dict[str, Json]:
    return {
        "label": name,
        "color": "red",
        "weight": 4,
        "enabled": True,
        "login": {"user": "u", "password": "none"},
        "rules": [{"name": "ssh", "port": 22}, {"name": "web", "port": 80}],
        "order": ["a", "b", "c"],
    }


@asynccontextmanager
async def memory() -> AsyncIterator[Subject]:
    """Open the provider on a world of its own, in which writes take three polls and leave defaults behind."""
    world = MemoryService(defaults={"size": "small", "burst": False}, polls=3)
    provider = MemoryProvider(world)
    for kind, patches in KINDS.items():
        provider.kinds = {**provider.kinds, **MemoryProvider(world, (kind,), patches=patches).kinds}
    samples = tuple(Sample(kind, _minimal, _full, secret="/login/password") for kind in KINDS)  # noqa: S106 - a path
    connection = Connection("conformance", provider.name)
    yield Subject(provider, connection, samples, MemoryDriftInjector(world), MemoryFaults(world))
