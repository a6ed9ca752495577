"""What a connection to Azure says.

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

from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.providers import unknown_fields
from holdfast.providers.azure import type_catalog
from holdfast.providers.protocol import Connection

_WORDS: Final = (
    "subscription", "resource_group", "auth", "cloud", "base_url", "authority", "audience", "operation_hosts", "tls",
    "habits", "timeout",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cloud:
    """One of the clouds: where Resource Manager is, who signs people in, and where operations may be asked about."""

    base_url: str
    authority: str
    hosts: tuple[str, ...]  # suffixes of host names that may be sent our token


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
    """How to sign in."""

    type: str
    tenant: str | None = None
    client: str | None = None
    secret: str | None = None

    def __repr__(self) -> str:
        return f"Auth({self.type}, {self.tenant}, {self.client})"


@dataclass(frozen=True, slots=True)
class Account:
    """A connection, understood."""

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
        """Who Azure counts: the same subscription and principal share a quota, whatever the connection is called."""
        return self.base_url, self.subscription, f"{self.auth.type}:{self.auth.tenant}:{self.auth.client}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown."""
        return (self.auth.secret,) if self.auth.secret else ()


def account(connection: Connection) -> Account:
    """Read a connection; raise InputError with the field that is wrong."""
    given = connection.settings
    unknown_fields.refuse_unknown(connection, _WORDS)
    cloud = _cloud(connection, given)
    base = _text(connection, given, "base_url") or cloud.base_url
    if not base.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise _wrong(connection, "base_url", "an https address is needed: a token is sent there")
    return Account(
        connection.name,
        base.rstrip("/"),
        (_text(connection, given, "authority") or cloud.authority).rstrip("/"),
        (_text(connection, given, "audience") or cloud.base_url).rstrip("/"),
        _hosts(connection, given, cloud),
        _auth(connection, given),
        _text(connection, given, "subscription"),
        _text(connection, given, "resource_group"),
        type_catalog.Types(_habits(connection, given)),
        _ca_file(connection, given),
        _seconds(connection, given),
    )


def _cloud(connection: Connection, given: Mapping[str, Json]) -> Cloud:
    name = given.get("cloud", "public")
    if name not in CLOUDS:
        raise _wrong(connection, "cloud", f"one of {', '.join(CLOUDS)} is needed")
    return CLOUDS[name]


def _hosts(connection: Connection, given: Mapping[str, Json], cloud: Cloud) -> tuple[str, ...]:
    value = given.get("operation_hosts", list(cloud.hosts))
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise _wrong(connection, "operation_hosts", "a list of domains is needed, such as [azure.com]")
    return tuple(value)


def _auth(connection: Connection, given: Mapping[str, Json]) -> Auth:
    body = given.get("auth", {"type": "default"})
    kind = body.get("type", "default") if isinstance(body, dict) else body
    if kind not in AUTHS:
        raise _wrong(connection, "auth", f"one of {', '.join(AUTHS)} is needed")
    body = body if isinstance(body, dict) else {}
    for word in body:
        if word not in ("type", "tenant_id", "client_id"):
            raise _wrong(connection, f"auth/{word}", "unknown field; known here: type, tenant_id, client_id")
    tenant, client = body.get("tenant_id"), body.get("client_id")
    secret = connection.secrets.get(kind) if kind in ("client_secret", "token") else None
    if kind in ("client_secret", "token") and not secret:
        raise _wrong(connection, "secrets", f"auth {kind} needs it: secrets: {{{kind}: {{env: ...}}}}")
    if kind == "client_secret" and not (tenant and client):
        raise _wrong(connection, "auth", "client_secret needs tenant_id and client_id")
    return Auth(kind, tenant, client, secret)


def _habits(connection: Connection, given: Mapping[str, Json]) -> tuple[type_catalog.Habit, ...]:
    try:
        return type_catalog.read_habits(given.get("habits", []))
    except InputError as error:
        raise _wrong(connection, "habits", error.message) from None


def _ca_file(connection: Connection, given: Mapping[str, Json]) -> str | None:
    tls = given.get("tls", {})
    name = tls.get("ca_file") if isinstance(tls, dict) and set(tls) <= {"ca_file"} else ""
    if name is None:
        return None
    path = Path(connection.base_dir, str(name))
    if not name or not path.is_file():
        raise _wrong(connection, "tls/ca_file", "a file of certificates is needed: tls: {ca_file: ca.pem}")
    return str(path)


def _seconds(connection: Connection, given: Mapping[str, Json]) -> float:
    value = given.get("timeout", 60)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise _wrong(connection, "timeout", "a number of seconds greater than zero is needed")
    return float(value)


def _text(connection: Connection, given: Mapping[str, Json], word: str) -> str | None:
    value = given.get(word)
    if value is not None and (not isinstance(value, str) or not value):
        raise _wrong(connection, word, "a text is needed")
    return value


def _wrong(connection: Connection, field: str, message: str) -> InputError:
    return InputError(message, Location(field=f"/connections/{connection.name}/{field}"))
