"""Settings of a connection to Azure.

    connections:
      prod:
        provider: azure
        subscription: 00000000-0000-0000-0000-000000000000
        resource_group: platform              # for declarations without an owner
        auth: {type: default}                 # or client_secret, managed_identity, workload_identity, cli, token
        secrets: {client_secret: {env: AZURE_CLIENT_SECRET}}       # for client_secret; `token` for token
        cloud: public                         # or china, government; or `base_url` and `authority`
        tls: {ca_file: ca.pem}
        habits: [{types: Contoso.Test/*, terminal: [Ready]}]       # what the shipped table does not know; types.yaml

One connection is one subscription as seen by one principal: that is how Azure counts. A declaration may still have an
owner in another subscription.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.errors import InputError
from holdfast.providers import connection_settings
from holdfast.providers.azure import type_catalog
from holdfast.providers.protocol import Connection
from holdfast.schema import fields
from holdfast.schema.document import DocumentPath


@dataclass(frozen=True, slots=True)
class Cloud:
    """One of Azure's clouds: the address of Resource Manager, the sign-in authority, and the hosts of operations."""

    base_url: str
    authority: str
    hosts: tuple[str, ...]  # suffixes of host names that may receive our token


CLOUDS: Final[Mapping[str, Cloud]] = {
    "public": Cloud("https://management.azure.com", "https://login.microsoftonline.com", ("azure.com",)),
    "china": Cloud("https://management.chinacloudapi.cn", "https://login.chinacloudapi.cn", ("chinacloudapi.cn",)),
    "government": Cloud(
        "https://management.usgovcloudapi.net", "https://login.microsoftonline.us", ("usgovcloudapi.net", "azure.us")
    ),
}
AUTHS: Final = ("default", "client_secret", "managed_identity", "workload_identity", "cli", "token")


@dataclass(frozen=True, slots=True)
class Auth:
    """The sign-in method of a connection."""

    type: str
    tenant: str | None = None
    client: str | None = None
    secret: str | None = None

    def __repr__(self) -> str:
        return f"Auth({self.type}, {self.tenant}, {self.client})"


@dataclass(frozen=True, slots=True)
class Account:
    """A parsed connection."""

    connection: str
    base_url: str
    authority: str
    audience: str
    hosts: tuple[str, ...]
    auth: Auth
    subscription: str | None
    group: str | None
    types: type_catalog.Types
    ca_file: str | None = None
    timeout_seconds: float = 60.0

    @property
    def principal(self) -> tuple[str, str | None, str]:
        """The unit that Azure counts: connections with the same subscription and principal share a quota."""
        return self.base_url, self.subscription, f"{self.auth.type}:{self.auth.tenant}:{self.auth.client}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return (self.auth.secret,) if self.auth.secret else ()


def _base_url(text: str) -> str:
    if not text.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise InputError("expected an https address, because a token is sent there")
    return text.rstrip("/")


def _ca_file(name: str, at: DocumentPath) -> str:
    path = Path(at.folder, name)
    if not path.is_file():
        raise InputError("expected a file of certificates: tls: {ca_file: ca.pem}")
    return str(path)


SETTINGS: Final = fields.plain(
    {
        "subscription": fields.STRING,
        "resource_group": fields.renamed(fields.STRING, "group"),
        "auth": fields.short_for(
            fields.plain({"type": fields.word(AUTHS), "tenant_id": fields.STRING, "client_id": fields.STRING}), "type"
        ),
        "cloud": fields.word(tuple(CLOUDS)).then(CLOUDS.__getitem__),
        "base_url": fields.STRING.then(_base_url),
        "authority": fields.STRING,
        "audience": fields.STRING,
        "operation_hosts": fields.renamed(fields.STRINGS, "hosts"),
        "tls": fields.plain({"ca_file": fields.STRING.then_at(_ca_file)}),
        "habits": fields.parsed(type_catalog.read_habits, type="array"),
        "timeout": fields.renamed(fields.POSITIVE, "timeout_seconds"),
    }
)


def account(connection: Connection) -> Account:
    """Return the parsed connection; raise InputError or InputErrors with the wrong fields."""
    given = connection_settings.read(SETTINGS, connection)
    cloud: Cloud = given.pop("cloud", CLOUDS["public"])
    return Account(
        connection=connection.name,
        base_url=given.pop("base_url", cloud.base_url),
        authority=given.pop("authority", cloud.authority).rstrip("/"),
        audience=given.pop("audience", cloud.base_url).rstrip("/"),
        hosts=given.pop("hosts", cloud.hosts),
        auth=_auth(connection, given.pop("auth", {})),
        subscription=given.pop("subscription", None),
        group=given.pop("group", None),
        types=type_catalog.Types(given.pop("habits", ())),
        **given.pop("tls", {}),
        **given,
    )


def _auth(connection: Connection, given: Mapping[str, str]) -> Auth:
    kind, tenant, client = given.get("type", "default"), given.get("tenant_id"), given.get("client_id")
    secret = connection.secrets.get(kind) if kind in ("client_secret", "token") else None
    if kind in ("client_secret", "token") and not secret:
        message = f"auth {kind} needs it: secrets: {{{kind}: {{env: ...}}}}"
        raise connection_settings.problem(connection, message, "secrets")
    if kind == "client_secret" and not (tenant and client):
        raise connection_settings.problem(connection, "client_secret needs tenant_id and client_id", "auth")
    return Auth(kind, tenant, client, secret)
