"""What a connection to RunPod says.

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

from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.providers import unknown_fields
from holdfast.providers.http.description import Api
from holdfast.providers.protocol import Connection

BASE_URL: Final = "https://api.runpod.io"
SECRET: Final = "api_key"  # noqa: S105 - the name of a secret, not one
KEY_VARIABLE: Final = "RUNPOD_API_KEY"
BASE_VARIABLE: Final = "RUNPOD_API_BASE_URL"
_WORDS: Final = ("base_url", "extended", "timeout", "max_connections")


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
    """Return the connection of whoever has declared none: the key and the address as Flash finds them.

    It reads what only GraphQL shows as well; whoever minds the further call declares a connection.
    """
    key = environ.get(KEY_VARIABLE)
    if not key:
        message = f"no connection to RunPod is declared in holdfast.yaml, and {KEY_VARIABLE} is not set"
        raise InputError(f"{message}; set it, or declare one with secrets: {{{SECRET}: ...}}")
    base = environ.get(BASE_VARIABLE)
    given: dict[str, Json] = {"extended": True, **({"base_url": base} if base else {})}
    return Connection("runpod", "runpod", given, {SECRET: key})


def account(connection: Connection) -> Account:
    """Read a connection; raise InputError with the field that is wrong."""
    given = connection.settings
    unknown_fields.refuse_unknown(connection, _WORDS)
    key = connection.secrets.get(SECRET)
    if not key:
        raise _wrong(connection, "secrets", f"an API key is needed: secrets: {{{SECRET}: {{env: RUNPOD_API_KEY}}}}")
    base = given.get("base_url", BASE_URL)
    if not isinstance(base, str) or not base.startswith(("http://", "https://")):
        raise _wrong(connection, "base_url", f"an address is needed, such as {BASE_URL}")
    extended = given.get("extended", False)
    if not isinstance(extended, bool):
        raise _wrong(connection, "extended", "true or false is needed")
    return Account(
        Api(
            connection.name,
            base.rstrip("/"),
            {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            {},
            timeout_seconds=_number(connection, given, "timeout", 30.0),
            max_connections=int(_number(connection, given, "max_connections", 16)),
            secrets=(key,),
        ),
        extended,
    )


def _number(connection: Connection, given: Mapping[str, Json], word: str, default: float) -> float:
    value = given.get(word, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise _wrong(connection, word, "a number greater than zero is needed")
    return float(value)


def _wrong(connection: Connection, field: str, message: str) -> InputError:
    return InputError(message, Location(field=f"/connections/{connection.name}/{field}"))
