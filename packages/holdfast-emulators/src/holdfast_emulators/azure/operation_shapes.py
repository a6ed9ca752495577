"""Every shape of a long-running operation that was recorded or is documented, by name: for tests that go through all.

The names say where one learns the end: at Azure-AsyncOperation, at Location, at both, in provisioningState, or at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast_emulators.azure.type_behaviour import Operation, Operations

CATALOGUE: Mapping[str, Operation] = {
    "at once": Operation(),
    "at once, 202": Operation("sync", 202),
    "self location, relative": Operation("self", 201, relative=True),
    "self location, absolute": Operation("self", 201),
    "self location, 202": Operation("self", 202, seconds=30),
    "async 201": Operation("async", 201, seconds=30),
    "async 201, retry after": Operation("async", 201, seconds=30, retry_after=15),
    "async 200": Operation("async", 200, seconds=30),
    "async 202": Operation("async", 202, seconds=30, body="empty"),
    "async, relative": Operation("async", 201, seconds=30, relative=True),
    "async, dated retry after": Operation("async", 201, seconds=30, retry_after=15, retry_as_date=True),
    "async, odd words": Operation(
        "async",
        201,
        seconds=30,
        words=("Accepted", "Dequeued", "CreatingAgentPool: 0/1 nodes completed"),
        done="succeeded",
    ),
    "async, null body": Operation("async", 202, seconds=30, body="null"),
    "async, forgotten": Operation("async", 201, seconds=30, forgotten_seconds=0),
    "both 202": Operation("both", 202, seconds=30),
    "both 202, retry after": Operation("both", 202, seconds=30, retry_after=15),
    "both, empty": Operation("both", 202, seconds=30, body="empty"),
    "both, relative": Operation("both", 202, seconds=30, relative=True),
    "location 202": Operation("location", 202, seconds=30),
    "location 202, retry after": Operation("location", 202, seconds=30, retry_after=15),
    "location, relative": Operation("location", 202, seconds=30, relative=True),
    "location, moving": Operation("location", 202, seconds=30, moving=True),
    "location, 204 in the end": Operation("location", 202, seconds=30, final="empty"),
    "location, result is no resource": Operation("location", 202, seconds=30, final="result"),
    "location, forgotten": Operation("location", 202, seconds=30, forgotten_seconds=0),
    "location, hidden": Operation("location", 202, seconds=30, hidden=True),
    "state 201": Operation("state", 201, seconds=30),
    "state 200": Operation("state", 200, seconds=30),
    "state 202": Operation("state", 202, seconds=30),
    "state, other word": Operation("state", 201, seconds=30, state="RegisteringDns"),
}


def alike(operation: Operation) -> Operations:
    """Return operations that are all the same; a deletion that shows no polling address is done at once."""
    polled = operation.style in ("async", "location", "both")
    delete = msgspec.structs.replace(operation, status=202) if polled else Operation()
    return Operations(operation, operation, delete)
