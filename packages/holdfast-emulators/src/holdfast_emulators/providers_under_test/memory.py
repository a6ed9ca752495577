"""The in-memory remote as a subject: one kind that takes whole documents, one that takes patches."""

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
from holdfast.testing.conformance import CallType, ProviderUnderTest, Sample
from holdfast.testing.memory import MemoryProvider, MemoryService

KINDS: Final = {"Thing": False, "Patched": True}  # with whether it takes patches
FAILURES: Final = tuple(item for item in ReadError if item is not ReadError.WITHHELD)  # withheld is an answer, for ever
_VERBS: Final = {
    CallType.READ: ("read",),
    CallType.LIST: ("list", "find"),
    CallType.WRITE: ("create", "update", "delete"),
}


class MemoryDriftInjector:
    """Reaches straight into the dictionary."""

    def __init__(self, world: MemoryService) -> None:
        self._world = world

    async def ids(self, kind: str) -> Collection[str]:
        """Return the ids of the existing resources."""
        return [ident for thing, ident in self._world.things if thing == kind]

    async def get(self, kind: str, ident: str) -> Json:
        """Return a copy, without the name, which is no configuration."""
        body = self._world.things.get((kind, ident))
        return None if body is None else copy.deepcopy({key: value for key, value in body.items() if key != "name"})

    async def put(self, kind: str, ident: str, path: Path, value: Json) -> None:
        """Change a field."""
        apply_patch.put(self._world.things[kind, ident], path, value)
        self._world.signal(kind, self._world.change_signal(kind, ident))

    async def delete(self, kind: str, ident: str) -> None:
        """Remove a thing."""
        self._world.things.pop((kind, ident), None)
        self._world.signal(kind, self._world.change_signal(kind, ident))


class MemoryFaults:
    """Makes calls fail by their verbs."""

    supported = (
        *((CallType.READ, trouble) for trouble in FAILURES),
        *((CallType.LIST, trouble) for trouble in FAILURES),
        (CallType.WRITE, ReadError.THROTTLED),
        (CallType.WRITE, ReadError.SERVER_ERROR),
    )

    def __init__(self, world: MemoryService) -> None:
        self._world = world

    def fail(self, call_type: CallType, trouble: ReadError, times: int | None = None) -> None:
        """Let the next calls fail."""
        self._world.faults.append(_fault(call_type, trouble, times))

    def clear(self) -> None:
        """Let everything work again."""
        self._world.faults.clear()


def _fault(
    call_type: CallType, trouble: ReadError, times: int | None
) -> Callable[[str], ReadFailure | WriteFailure | None]:
    left = [times]

    def strike(call: str) -> ReadFailure | WriteFailure | None:
        if call.partition(" ")[0] not in _VERBS[call_type] or left[0] == 0:
            return None
        left[0] = None if left[0] is None else left[0] - 1
        if call_type is not CallType.WRITE:
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
async def memory() -> AsyncIterator[ProviderUnderTest]:
    """Open the provider on a world of its own, in which writes take three polls and leave defaults behind."""
    world = MemoryService(defaults={"size": "small", "burst": False}, polls=3)
    provider = MemoryProvider(world)
    for kind, patches in KINDS.items():
        provider.kinds = {**provider.kinds, **MemoryProvider(world, (kind,), patches=patches, watches=True).kinds}
    samples = tuple(Sample(kind, _minimal, _full, sensitive_path="/login/password") for kind in KINDS)
    connection = Connection("conformance", provider.name)
    yield ProviderUnderTest(provider, connection, samples, MemoryDriftInjector(world), MemoryFaults(world))
