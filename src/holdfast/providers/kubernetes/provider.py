"""The Kubernetes provider as the registry loads it. aiohttp and kubernetes-asyncio are imported when it is opened."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from holdfast.errors import InputError, Location
from holdfast.model.resource import Declaration
from holdfast.providers.kubernetes import settings
from holdfast.providers.kubernetes.cluster import Cluster
from holdfast.providers.kubernetes.kinds import Kinds
from holdfast.providers.protocol import Connection, Kind, Reader, Writer

_AGENT: Final = "holdfast"
_LONGEST_NAME: Final = 253  # characters of the name of an object


class KubernetesProvider:
    """Every kind that an API server serves."""

    name = "kubernetes"

    def __init__(self) -> None:
        self.kinds: Mapping[str, Kind] = Kinds(Cluster())
        self._clusters: dict[tuple[str, str | None, str | None], tuple[asyncio.AbstractEventLoop, Cluster]] = {}

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:
        """Open the reader; raise InputError if the connection is not described correctly."""
        from holdfast.providers.kubernetes import client  # noqa: PLC0415 - see the module's first line
        from holdfast.providers.kubernetes.reader import KubernetesReader  # noqa: PLC0415

        given = settings.read(connection)
        cluster = self._cluster(given)
        async with client.opened(given, _AGENT) as opened:
            await cluster.load(opened)
            yield KubernetesReader(opened, cluster)

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:
        """Open the writer; raise InputError if the connection is not described correctly."""
        from holdfast.providers.kubernetes import client  # noqa: PLC0415
        from holdfast.providers.kubernetes.writer import KubernetesWriter  # noqa: PLC0415

        given = settings.read(connection)
        cluster = self._cluster(given)
        async with client.opened(given, _AGENT) as opened:
            yield KubernetesWriter(opened, cluster)

    def _cluster(self, given: settings.Settings) -> Cluster:
        """Return the state of a cluster in the running event loop, shared by its reader and its writer."""
        loop, key = asyncio.get_running_loop(), (given.connection, given.kubeconfig, given.context)
        known = self._clusters.get(key)
        if known is None or known[0] is not loop:
            known = self._clusters[key] = (loop, Cluster())
        return known[1]

    def validate(self, declaration: Declaration) -> Sequence[InputError]:
        """Return the mistakes that need no server."""
        name = declaration.address.name
        if len(name) > _LONGEST_NAME:
            message = f"the name has {len(name)} characters, and Kubernetes allows {_LONGEST_NAME}; shorten it"
            return [InputError(message, Location(field="/metadata/name"))]
        return []

    def default_connection(self, environ: Mapping[str, str]) -> Connection:
        """Return the connection that kubectl would use; raise InputError if there is none."""
        file = environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
        if "KUBERNETES_SERVICE_HOST" in environ or any(map(os.path.exists, file.split(os.pathsep))):
            return Connection("kubernetes", "kubernetes")
        message = "no connection to Kubernetes is declared in holdfast.yaml, and there is no kubeconfig; set KUBECONFIG"
        raise InputError(message)
