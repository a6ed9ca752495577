"""The Azure provider as the registry loads it. Azure's packages are imported when a connection is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from holdfast.errors import InputError
from holdfast.providers.azure import settings
from holdfast.providers.azure.connection_state import Shared
from holdfast.providers.azure.kinds import Kinds
from holdfast.providers.azure.quota import Quota
from holdfast.providers.protocol import Connection, Kind, Reader, Writer

if TYPE_CHECKING:
    from holdfast.providers.azure.client import Client


class AzureProvider:
    """Every resource type of Azure Resource Manager."""

    name = "azure"

    def __init__(self, transport: Callable[[], Any] | None = None) -> None:
        self.kinds: Mapping[str, Kind] = Kinds()
        self._transport = transport  # creates the last step of a pipeline, for tests
        self._shared: dict[str, Shared] = {}
        self._quotas: dict[tuple[str, str | None, str], Quota] = {}

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:
        """Open the reader; raise InputError if the connection is not described correctly."""
        account = settings.account(connection)
        async with self._client(account) as client:
            from holdfast.providers.azure.reader import AzureReader  # noqa: PLC0415 - see the module's first line

            yield AzureReader(client, account, self._shared_of(account))

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:
        """Open the writer; raise InputError if the connection is not described correctly."""
        account = settings.account(connection)
        async with self._client(account) as client:
            from holdfast.providers.azure.writer import AzureWriter  # noqa: PLC0415

            yield AzureWriter(client, account, self._shared_of(account))

    @asynccontextmanager
    async def _client(self, account: settings.Account) -> AsyncIterator[Client]:
        try:
            from holdfast.providers.azure import client  # noqa: PLC0415
        except ImportError as error:
            raise InputError(f"Azure needs {error.name}: pip install 'holdfast[azure]'") from error
        transport = self._transport() if self._transport is not None else None
        async with client.opened(account, self._shared_of(account).quota, transport) as opened:
            yield opened

    def _shared_of(self, account: settings.Account) -> Shared:
        found = self._shared.get(account.connection)
        if found is None:
            quota = self._quotas.setdefault(account.principal, Quota())
            found = self._shared[account.connection] = Shared(quota)
        return found
