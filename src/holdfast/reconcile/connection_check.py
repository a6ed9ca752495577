"""Connection check: a cheap read that fails if the address, token or permission is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.model.address import Address
from holdfast.model.read_result import ReadFailure
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.providers.protocol import Kind, Reader, ReadFailed, SupportsAccount, Target
from holdfast.reconcile.connections import Connections
from holdfast.store.state import ResourceState

MOST: Final = 100  # resources that are considered for the read
SECONDS: Final = 30.0
NOBODY: Final = "holdfast-doctor-asks-for-what-is-not-there"


@dataclass(frozen=True, slots=True)
class ConnectionAnswer:
    """The question to a connection, and why it failed. An empty `trouble` means that it succeeded."""

    question: str
    trouble: str = ""


async def ask(
    world: Connections, connection: str, declared: Sequence[Declaration], states: Mapping[Address, ResourceState]
) -> ConnectionAnswer:
    """Read one resource of each declared kind, or of any kind if nothing is declared, and return the answer."""
    reader = await world.reader(connection)
    answer = ConnectionAnswer("opened; it has no kind to ask for")
    try:
        async with asyncio.timeout(SECONDS):
            if isinstance(reader, SupportsAccount):
                answer = ConnectionAnswer(f"account {await reader.account()}")
            targets = _targets(declared, states)
            for name in sorted({declaration.address.kind for declaration in declared}) or sorted(reader.kinds)[:1]:
                kind = reader.kinds.get(name)
                answer = await _asked(reader, kind, targets.get(name)) if kind is not None else answer
                if answer.trouble:
                    break
    except ReadFailed as error:
        return ConnectionAnswer("asked", _why(error.reading))
    except TimeoutError:
        return ConnectionAnswer("asked", f"no answer within {SECONDS:g} seconds")
    return answer


def _targets(declared: Sequence[Declaration], states: Mapping[Address, ResourceState]) -> dict[str, Target]:
    """Return one resource of each kind that is known to exist."""
    out: dict[str, Target] = {}
    for declaration in declared:
        address, state = declaration.address, states.get(declaration.address)
        if state is not None and state.observed.provider_id is not None and address.kind not in out:
            out[address.kind] = Target(
                address.kind, address.name, state.observed.provider_id, declaration.desired, address.namespace
            )
    return out


async def _asked(reader: Reader, kind: Kind, known: Target | None) -> ConnectionAnswer:
    if known is None and (kind.lists or kind.discovers):
        async for _ in reader.list(kind.name):
            break
        return ConnectionAnswer(f"asked for a list of {kind.name}")
    # The id does not exist. "Not found" is also an answer, because only the right service gives it.
    reading = await reader.read(known or Target(kind.name, NOBODY, NOBODY, {}))
    return ConnectionAnswer(f"asked for a {kind.name}", _why(reading) if isinstance(reading, ReadFailure) else "")


def _why(reading: object) -> str:
    return reading.detail or reading.trouble.value if isinstance(reading, ReadFailure) else "it is not there"
