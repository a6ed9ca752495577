"""What a connection to OpenStack says.

    connections:
      prod-cloud:
        provider: openstack
        cloud: prod                    # of clouds.yaml; without it OS_CLOUD or the OS_* variables
        clouds_file: clouds.yaml       # beside holdfast.yaml; without it where OpenStack's own tools look
        region: RegionOne
        auth: {auth_url: https://..., username: holdfast, project_name: web, user_domain_id: default}
        secrets: {password: {env: PROD_PASSWORD}}      # joined with auth; any secret of the auth plugin
        timeout: 60                    # seconds for one request
        threads: 8                     # requests at once
        all_projects: false            # list everybody's things, not only the project's own: for administrators
        revisions: true                # trust revision_number where it was found to cover everything compared
        options: {verify: true, cacert: ca.pem, interface: internal}     # as in clouds.yaml

With `auth` neither clouds.yaml nor the environment is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.providers import unknown_fields
from holdfast.providers.protocol import Connection

_WORDS: Final = (
    "cloud",
    "clouds_file",
    "region",
    "auth",
    "auth_type",
    "timeout",
    "threads",
    "all_projects",
    "revisions",
    "options",
)
_VARIABLES: Final = ("OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE")


@dataclass(frozen=True, slots=True)
class Account:
    """A connection, understood."""

    connection: str
    cloud: str | None = None
    files: tuple[str, ...] = ()  # a clouds.yaml to look into before the usual ones
    is_file_named: bool = False
    region: str | None = None
    auth: Mapping[str, Json] | None = field(default=None, repr=False)  # without its secrets
    auth_type: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 60.0
    threads: int = 8
    all_projects: bool = False
    trusts_revisions: bool = True
    options: Mapping[str, Json] = field(default_factory=dict)
    base_dir: str = "."


def ambient(environ: Mapping[str, str]) -> Connection:
    """Return the connection of whoever has declared none, as the `openstack` command finds it."""
    if not any(environ.get(name) for name in _VARIABLES):
        message = "no connection to OpenStack is declared in holdfast.yaml, and neither OS_CLOUD nor OS_AUTH_URL is set"
        raise InputError(f"{message}; set one, or declare a connection with cloud: ...")
    return Connection("openstack", "openstack")


def account(connection: Connection) -> Account:
    """Read a connection; raise InputError with the field that is wrong."""
    unknown_fields.refuse_unknown(connection, _WORDS)
    named = _text(connection, "clouds_file")
    base = Path(connection.base_dir)
    return Account(
        connection=connection.name,
        cloud=_text(connection, "cloud"),
        files=(str(base / named),) if named else (str(base / "clouds.yaml"),),
        is_file_named=named is not None,
        region=_text(connection, "region"),
        auth=_mapping(connection, "auth"),
        auth_type=_text(connection, "auth_type"),
        secrets=dict(connection.secrets),
        timeout_seconds=_number(connection, "timeout", 60.0),
        threads=int(_number(connection, "threads", 8)),
        all_projects=_flag(connection, "all_projects", default=False),
        trusts_revisions=_flag(connection, "revisions", default=True),
        options=_mapping(connection, "options") or {},
        base_dir=connection.base_dir,
    )


def _text(connection: Connection, word: str) -> str | None:
    value = connection.settings.get(word)
    if value is not None and (not isinstance(value, str) or not value):
        raise _wrong(connection, word, "a word is needed")
    return value


def _mapping(connection: Connection, word: str) -> Mapping[str, Json] | None:
    value = connection.settings.get(word)
    if value is not None and not isinstance(value, Mapping):
        raise _wrong(connection, word, "a mapping is needed")
    return value


def _flag(connection: Connection, word: str, *, default: bool) -> bool:
    value = connection.settings.get(word, default)
    if not isinstance(value, bool):
        raise _wrong(connection, word, "true or false is needed")
    return value


def _number(connection: Connection, word: str, default: float) -> float:
    value = connection.settings.get(word, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise _wrong(connection, word, "a number greater than zero is needed")
    return float(value)


def _wrong(connection: Connection, word: str, message: str) -> InputError:
    return InputError(message, Location(field=f"/connections/{connection.name}/{word}"))
