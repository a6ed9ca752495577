"""Mistakes in declarations as their providers see them, found before any request is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from holdfast.compare import paths
from holdfast.errors import InputError
from holdfast.manifests.project import ConnectionSpec
from holdfast.model.resource import Declaration
from holdfast.policy import source_location
from holdfast.providers.protocol import Connection, Provider, SupportsIdentity, SupportsValidation

ProviderOf = Callable[[str], Provider]


def mistakes(
    declarations: Iterable[Declaration], connections: Mapping[str, ConnectionSpec], provider_of: ProviderOf
) -> list[InputError]:
    """Return fields that providers do not know or cannot use, and declarations that mean one live thing."""
    errors: list[InputError] = []
    meant: dict[tuple[str, str], Declaration] = {}
    for declaration, wrong, identity in examine(declarations, connections, provider_of):
        errors += wrong
        first = meant.setdefault(identity, declaration) if identity is not None else declaration
        if first is not declaration:
            errors.append(_twice(first, declaration))
    return errors


def examine(
    declarations: Iterable[Declaration], connections: Mapping[str, ConnectionSpec], provider_of: ProviderOf
) -> Iterator[tuple[Declaration, list[InputError], tuple[str, str] | None]]:
    """Yield declarations, each with the mistakes that its provider sees and with the live thing that it means."""
    ways = {name: _connection(spec) for name, spec in connections.items()}
    providers: dict[str, tuple[SupportsValidation | None, SupportsIdentity | None]] = {}
    for declaration in declarations:
        way = ways.get(declaration.address.connection)
        if way is None:
            yield declaration, [], None
            continue
        if way.provider not in providers:  # asking what a provider supports takes longer than asking it
            provider = provider_of(way.provider)
            providers[way.provider] = (
                provider if isinstance(provider, SupportsValidation) else None,
                provider if isinstance(provider, SupportsIdentity) else None,
            )
        validating, identifying = providers[way.provider]
        wrong = (
            [_located(error, declaration) for error in validating.validate(declaration)]
            if validating is not None
            else []
        )
        identity = _identity(identifying, way, declaration)
        yield declaration, wrong, None if identity is None else (way.provider, identity)


def _connection(spec: ConnectionSpec) -> Connection:
    return Connection(spec.name, spec.provider, spec.settings, {}, spec.base_dir)


def _place(declaration: Declaration) -> tuple[str, int, str]:
    where = declaration.location
    return where.file or "", where.line or 0, str(declaration.address)


def _identity(provider: SupportsIdentity | None, way: Connection, declaration: Declaration) -> str | None:
    """Return the identity of the live resource: that of the provider, else the id that it is imported by."""
    if provider is not None:
        return provider.identity(way, declaration)
    wanted = declaration.import_from
    if wanted is None or wanted.id is None or "${" in wanted.id:
        return None
    return f"{way.name}/{declaration.address.kind}/{wanted.id}"


def _located(error: InputError, declaration: Declaration) -> InputError:
    field = paths.parse_path(error.location.field or "")
    return InputError(error.message, source_location.desired(declaration, tuple(map(str, field))))


def _twice(one: Declaration, other: Declaration) -> InputError:
    first, second = sorted((one, other), key=_place)
    message = (
        f"{second.address} means the same live thing as {first.address} in {source_location.text(first.location)}; "
        "two declarations of one thing would correct one another: remove one"
    )
    return InputError(message, replace(second.location, field=None))
