"""The choice of an account: a connection of the project file, or the one that the process environment describes.

The store keeps records under the name of the connection. A connection without a name is named after its account. With
another key in the same variable it is therefore another connection, not the same one with every resource missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, replace

from holdfast.errors import DeployError, InputError
from holdfast.manifests.project import ConnectionSpec, ProjectFile
from holdfast.manifests.secrets import Resolver
from holdfast.model.read_result import ReadFailure
from holdfast.model.record import dataclass
from holdfast.providers import registry
from holdfast.providers.protocol import Connection, ReadFailed, SupportsAccount, SupportsDefaultConnection
from holdfast.reconcile.rate_limit import RateLimits
from holdfast.schema import did_you_mean


@dataclass(frozen=True, slots=True)
class Chosen:
    """A connection, its rate limits, and its account if the provider knows accounts."""

    connection: Connection
    limits: RateLimits = field(default_factory=RateLimits)
    account: str | None = None


async def choose(project: ProjectFile, provider: str, name: str | None, environ: Mapping[str, str]) -> Chosen:
    """Return the named connection, else the default or only one of the provider, else that of the environment.

    Raise InputError if no connection fits or several do. Raise DeployError if the account cannot be read now.
    """
    spec = _declared(project, provider, name)
    if spec is None:
        ambient = _ambient(provider, environ)
        account = await account_of(ambient)
        return Chosen(replace(ambient, name=account or provider), account=account)
    clear = {key: str(secret.reveal()) for key, secret in spec.fetch_secrets(Resolver(environ)).items()}
    connection = Connection(spec.name, spec.provider, spec.settings, clear, spec.base_dir)
    given = {rate: value for rate, value in asdict(spec.limits).items() if value is not None}
    return Chosen(connection, replace(RateLimits(), **given), await account_of(connection))


def _declared(project: ProjectFile, provider: str, name: str | None) -> ConnectionSpec | None:
    fitting = {
        connection.name: connection for connection in project.connections.values() if connection.provider == provider
    }
    if name is not None and name not in fitting:
        hint = did_you_mean.hint(name, fitting) or f"; there are {', '.join(sorted(fitting)) or 'none'}"
        raise InputError(f"holdfast.yaml has no connection {name!r} of provider {provider}{hint}")
    wanted = name or (project.default_connection if project.default_connection in fitting else None)
    if wanted is not None:
        return fitting[wanted]
    if len(fitting) > 1:
        raise InputError(f"say which connection: ResourceManager(connection=...) with one of {', '.join(fitting)}")
    return next(iter(fitting.values()), None)


def _ambient(provider: str, environ: Mapping[str, str]) -> Connection:
    found = registry.get(provider)
    if not isinstance(found, SupportsDefaultConnection):
        raise InputError(f"holdfast.yaml declares no connection of provider {provider}")
    return found.default_connection(environ)


async def account_of(connection: Connection) -> str | None:
    """Read the account of a connection from the provider. Return None if the provider does not know accounts."""
    async with registry.get(connection.provider).reader(connection) as reader:
        if not isinstance(reader, SupportsAccount):
            return None
        try:
            return await reader.account()
        except ReadFailed as error:
            why = error.reading.detail if isinstance(error.reading, ReadFailure) else str(error)
            message = f"whose account this is could not be asked, so nothing was done: {why}"
            raise DeployError(connection.name, message) from None
