"""Settings of a connection to RunPod.

    connections:
      prod:
        provider: runpod
        secrets: {api_key: {env: RUNPOD_API_KEY}}
        extended: true                    # also read what only GraphQL shows: one call more a list, and a read
        base_url: http://127.0.0.1:8900   # for the emulator; the real one is the default

One connection is one account: the key decides which. Environments within an account are the namespaces of declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.providers import connection_settings
from holdfast.providers.http.description import Api
from holdfast.providers.protocol import Connection
from holdfast.schema import fields

BASE_URL: Final = "https://api.runpod.io"
SECRET: Final = "api_key"  # noqa: S105 - the name of a secret, not one
KEY_VARIABLE: Final = "RUNPOD_API_KEY"
BASE_VARIABLE: Final = "RUNPOD_API_BASE_URL"


@dataclass(frozen=True, slots=True)
class Account:
    """A connection, understood."""

    api: Api
    extended: bool

    @property
    def rest(self) -> str:
        """The address of REST v2."""
        return f"{self.api.base_url}/v2"

    @property
    def graphql(self) -> str:
        """The address of GraphQL."""
        return f"{self.api.base_url}/graphql"


def ambient(environ: Mapping[str, str]) -> Connection:
    """Return the connection for a project that declares none: the key and the address as Flash finds them.

    It also reads the facts that only GraphQL returns. Declare a connection to save that call.
    """
    key = environ.get(KEY_VARIABLE)
    if not key:
        message = f"no connection to RunPod is declared in holdfast.yaml, and {KEY_VARIABLE} is not set"
        raise InputError(f"{message}; set it, or declare one with secrets: {{{SECRET}: ...}}")
    base = environ.get(BASE_VARIABLE)
    given: dict[str, Json] = {"extended": True, **({"base_url": base} if base else {})}
    return Connection("runpod", "runpod", given, {SECRET: key})


def _address(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise InputError(f"expected an address, such as {BASE_URL}")
    return text.rstrip("/")


_SETTINGS: Final = fields.plain(
    {
        "base_url": fields.STRING.then(_address),
        "extended": fields.BOOLEAN,
        "timeout": fields.renamed(fields.POSITIVE, "timeout_seconds"),
        "max_connections": fields.COUNT,
    }
)


def account(connection: Connection) -> Account:
    """Return a connection as read; raise InputError or InputErrors with the fields that are wrong."""
    given = connection_settings.read(_SETTINGS, connection)
    key = connection.secrets.get(SECRET)
    if not key:
        message = f"an API key is missing: secrets: {{{SECRET}: {{env: {KEY_VARIABLE}}}}}"
        raise connection_settings.problem(connection, message, "secrets")
    base, extended = given.pop("base_url", BASE_URL), given.pop("extended", False)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return Account(
        Api(connection.name, base, headers, {}, **{"max_connections": 16, **given}, secrets=(key,)), extended
    )
