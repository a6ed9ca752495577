"""The OpenStack provider as the registry finds it; nothing here needs openstacksdk until a connection is used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from holdfast.providers.openstack import kind_registry, settings
from holdfast.providers.openstack.calls import Calls
from holdfast.providers.openstack.cloud import Cloud
from holdfast.providers.openstack.reader import OpenStackReader
from holdfast.providers.openstack.settings import Account
from holdfast.providers.openstack.writer import OpenStackWriter
from holdfast.providers.protocol import Connection, Kind, Reader, Writer


@dataclass(slots=True)
class _Lease:
    """A session, and how many halves use it."""

    account: Account
    cloud: Cloud
    users: int = 0


class OpenStackProvider:
    """The things of a project, and the projects of a cloud."""

    name = "openstack"

    def __init__(self) -> None:
        self._leases: dict[str, _Lease] = {}

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kinds there are."""
        return kind_registry.kinds()

    def default_connection(self, environ: Mapping[str, str]) -> Connection:
        """Return the connection for a project that declares none."""
        return settings.ambient(environ)

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:
        """Open the reading half; raise InputError if the connection is not well described."""
        async with self._cloud(connection) as cloud:
            yield OpenStackReader(Calls(cloud))

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:
        """Open the writing half; raise InputError if the connection is not well described."""
        async with self._cloud(connection) as cloud:
            yield OpenStackWriter(Calls(cloud))

    @asynccontextmanager
    async def _cloud(self, connection: Connection) -> AsyncIterator[Cloud]:
        """Share one session among all halves of a connection that are open; the last one closes it."""
        account = settings.account(connection)
        lease = self._leases.get(connection.name)
        if lease is None or lease.account != account:
            lease = self._leases[connection.name] = _Lease(account, Cloud(account))
        lease.users += 1
        try:
            await lease.cloud.described()
            yield lease.cloud
        finally:
            lease.users -= 1
            if not lease.users:
                lease.cloud.close()
                if self._leases.get(connection.name) is lease:
                    del self._leases[connection.name]
