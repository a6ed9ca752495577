"""The flags provider in the conformance kit, with an injector that goes around it and faults from a proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from flags import SERVER_FIELDS, FlagsProvider
from flags_service import FlagService

from holdfast.provider import Connection, Json, Path
from holdfast.testing.conformance import ProviderUnderTest, Sample, set_field
from holdfast.testing.fault_proxy import FaultProxy

FLAG = Sample(
    "Flag",
    minimal=lambda name: {"key": name, "enabled": True},
    full=lambda name: {
        "key": name,
        "enabled": True,
        "description": "new checkout",
        "rollout": 50,
        "targeting": {"countries": ["DE", "FR"], "plan": "pro"},
        "token": "none",
    },
    fixed={"/key": "clients ask for a flag by its key"},
    sensitive_path="/token",
)


class DatabaseAccess:
    """Changes flags in the database of the service."""

    def __init__(self, service: FlagService) -> None:
        self._service = service

    async def ids(self, kind: str) -> Collection[str]:
        """Return the ids of all flags."""
        return list(self._service.flags)

    async def get(self, kind: str, ident: str) -> Json:
        """Return a flag with its token."""
        flag = self._service.flags.get(ident)
        return flag and {name: value for name, value in flag.items() if name not in SERVER_FIELDS}

    async def put(self, kind: str, ident: str, path: Path, value: Json) -> None:
        """Change one field and the revision."""
        set_field(self._service.flags[ident], path, value)
        self._service.flags[ident]["revision"] += 1

    async def delete(self, kind: str, ident: str) -> None:
        """Delete a flag."""
        self._service.flags.pop(ident, None)


@asynccontextmanager
async def flags() -> AsyncIterator[ProviderUnderTest]:
    """Open the provider on an empty service."""
    async with FlagService() as service, FaultProxy(service.url, list_paths=["/v1/flags"]) as proxy:
        connection = Connection("flags", "flags", {"url": proxy.url})
        yield ProviderUnderTest(FlagsProvider(), connection, (FLAG,), DatabaseAccess(service), proxy)
