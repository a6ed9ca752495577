"""The registry of providers: the built-in ones by name, others by the entry points of installed packages.

The code of a provider, and its imports, are loaded when the provider is first requested. Importing Holdfast loads none.
A package adds a provider with an entry point in the group `holdfast.providers`. The name of the entry point is the
value of `provider:` in holdfast.yaml. Its value is a Provider, or a callable that returns one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.providers.protocol import Provider
from holdfast.schema.document import InputErrors

if TYPE_CHECKING:
    from importlib import metadata

    from holdfast.compare import yaml_reader

GROUP: Final = "holdfast.providers"
DOMAIN: Final = ".holdfast.dev"

_BUILT_IN: Final = {
    "azure": "holdfast.providers.azure.provider:AzureProvider",
    "file": "holdfast.providers.file.provider:FileProvider",
    "http": "holdfast.providers.http.provider:HttpProvider",
    "kubernetes": "holdfast.providers.kubernetes.provider:KubernetesProvider",
    "openstack": "holdfast.providers.openstack.provider:OpenStackProvider",
    "runpod": "holdfast.providers.runpod.provider:RunPodProvider",
}


# Providers that accept references in forms of their own. The functions that read them need no installed package.
_REWRITING: Final = {
    "azure": "holdfast.providers.azure.references:rewritten",
    "openstack": "holdfast.providers.openstack.references:rewritten",
    "runpod": "holdfast.providers.runpod.kinds:rewritten",
}
# Providers with several names for one kind. Addresses use one of them, so that a resource has one record.
_CANONICAL: Final = {"runpod": "holdfast.providers.runpod.kinds:canonical"}

Rewriting = Callable[[str, Mapping[str, Json]], tuple[dict[str, Json], str | None]]


def rewriting(name: str) -> Rewriting | None:
    """Return the function that rewrites a provider's own references into Holdfast's."""
    if name not in _REWRITING:
        return None
    module, _, attribute = _REWRITING[name].partition(":")
    return cast("Rewriting", getattr(importlib.import_module(module), attribute))


def canonical_kind(name: str, kind: str) -> str:
    """Return the name that a kind has in addresses, where a provider accepts several names for it."""
    if name not in _CANONICAL:
        return kind
    module, _, attribute = _CANONICAL[name].partition(":")
    return cast("str", getattr(importlib.import_module(module), attribute)(kind))


def is_built_in(name: str) -> bool:
    """Return True if a provider is part of Holdfast."""
    return name in _BUILT_IN


def names() -> tuple[str, ...]:
    """List the names of the available providers without loading any."""
    from importlib import metadata  # noqa: PLC0415 - slow, and for providers of other packages only

    return tuple(sorted({*_BUILT_IN, *(point.name for point in metadata.entry_points(group=GROUP))}))


class _Available(Collection[str]):
    """The names of the available providers. Other packages are asked for theirs only if a name is not built in."""

    def __contains__(self, name: object) -> bool:
        return name in _BUILT_IN or name in names()

    def __iter__(self) -> Iterator[str]:
        return iter(names())

    def __len__(self) -> int:
        return len(names())


AVAILABLE: Final[Collection[str]] = _Available()


@cache
def get(name: str) -> Provider:
    """Return a provider by name; raise InputError if there is none, or if it cannot be loaded."""
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        return cast("Provider", getattr(importlib.import_module(module), attribute)())
    from importlib import metadata  # noqa: PLC0415

    for point in metadata.entry_points(group=GROUP, name=name):
        return _loaded(point)
    raise InputError(f"there is no provider {name!r}; installed are {', '.join(names())}")


def _loaded(point: metadata.EntryPoint) -> Provider:
    try:
        found = point.load()
    except Exception as error:
        raise InputError(f"the provider {point.name!r} ({point.value}) does not load: {error!r}") from error
    return cast("Provider", found() if callable(found) else found)


def name_of(api_version: str) -> str:
    """Return the provider that a manifest's apiVersion names: `file` for `file.holdfast.dev/v1`."""
    group = api_version.partition("/")[0]
    return group.removesuffix(DOMAIN)


def located(error: InputError, document: yaml_reader.YamlDocument, file: str | None = None) -> InputError:
    """Return an error about a connection with file and line. Its `field` is a pointer into the source document."""
    if isinstance(error, InputErrors):
        return InputErrors(located(single, document, file) for single in error.errors)
    field = error.location.field or ""
    if error.location.file or not field.startswith("/connections/"):
        return error
    try:
        pointer = tuple(_steps(document, field))
    except InputError:
        return error
    place = document.location(pointer, file)
    return error.at(Location(place.file, place.line, place.column, field))


def _steps(document: yaml_reader.YamlDocument, field: str) -> Iterator[str | int]:
    """Yield the steps of a pointer with list indices as numbers, which only the document distinguishes from keys."""
    here: Pointer = ()
    for step in paths.parse_path(field):
        is_index = isinstance(paths.resolve(document.value, here), list) and str(step).isdigit()
        following = int(str(step)) if is_index else str(step)
        here = (*here, following)
        yield following
