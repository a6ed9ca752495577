"""The settings of a connection to a cluster.

connections:
  cluster:
    provider: kubernetes
    kubeconfig: ~/.kube/config      # default: KUBECONFIG, then ~/.kube/config, then the service account of the pod
    context: production             # default: the current context
    namespace: shop                 # of namespaced objects that name none; default: that of the context
    fieldManager: holdfast          # the name of our writes
    fieldConflicts: leave           # or take: fields that another manager applies
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from holdfast.providers import connection_settings
from holdfast.providers.protocol import Connection
from holdfast.schema import fields

MANAGER: Final = "holdfast"


class FieldConflicts(StrEnum):
    """The response to a declared field that another manager applies with another value."""

    LEAVE = "leave"
    TAKE = "take"


@dataclass(frozen=True, slots=True)
class Settings:
    """A connection as read."""

    connection: str
    kubeconfig: str | None = None  # None: as kubectl finds it
    context: str | None = None
    namespace: str | None = None
    manager: str = MANAGER
    conflicts: FieldConflicts = FieldConflicts.LEAVE
    timeout_seconds: float = 30.0
    page_size: int = 500


_SETTINGS: Final = fields.plain(
    {
        "kubeconfig": fields.STRING,
        "context": fields.STRING,
        "namespace": fields.STRING,
        "fieldManager": fields.renamed(fields.STRING, "manager"),
        "fieldConflicts": fields.renamed(fields.choice(FieldConflicts), "conflicts"),
        "timeout": fields.renamed(fields.POSITIVE, "timeout_seconds"),
        "pageSize": fields.renamed(fields.POSITIVE.then(int), "page_size"),
    }
)


def read(connection: Connection) -> Settings:
    """Return the settings of a connection; raise InputError or InputErrors with the fields that are wrong."""
    given = connection_settings.read(_SETTINGS, connection)
    if "kubeconfig" in given:
        given["kubeconfig"] = str(Path(connection.base_dir, Path(given["kubeconfig"]).expanduser()))
    return Settings(connection.name, **given)
