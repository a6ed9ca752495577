"""Settings of a connection to OpenStack.

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
        all_projects: false            # list the resources of all projects: for administrators
        revisions: true                # trust revision_number where it was found to cover everything compared
        options: {verify: true, cacert: ca.pem, interface: internal}     # as in clouds.yaml

With `auth` neither clouds.yaml nor the environment is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.providers import connection_settings
from holdfast.providers.protocol import Connection
from holdfast.schema import fields

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
    """Return the connection for a project that declares none, as the `openstack` command finds it."""
    if not any(environ.get(name) for name in _VARIABLES):
        message = "no connection to OpenStack is declared in holdfast.yaml, and neither OS_CLOUD nor OS_AUTH_URL is set"
        raise InputError(f"{message}; set one, or declare a connection with cloud: ...")
    return Connection("openstack", "openstack")


_SETTINGS: Final = fields.plain(
    {
        "cloud": fields.STRING,
        "clouds_file": fields.STRING,
        "region": fields.STRING,
        "auth": fields.DOCUMENT,
        "auth_type": fields.STRING,
        "timeout": fields.renamed(fields.POSITIVE, "timeout_seconds"),
        "threads": fields.POSITIVE.then(int),
        "all_projects": fields.BOOLEAN,
        "revisions": fields.renamed(fields.BOOLEAN, "trusts_revisions"),
        "options": fields.DOCUMENT,
    }
)


def account(connection: Connection) -> Account:
    """Return a connection as read; raise InputError or InputErrors with the fields that are wrong."""
    given = connection_settings.read(_SETTINGS, connection)
    file = given.pop("clouds_file", None)
    return Account(
        connection=connection.name,
        files=(str(Path(connection.base_dir, file or "clouds.yaml")),),
        is_file_named=file is not None,
        secrets=dict(connection.secrets),
        base_dir=connection.base_dir,
        **given,
    )
