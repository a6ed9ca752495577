"""Comparators by name: built from a profile's options, with errors that list the valid ones."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from holdfast.compare.comparators import (
    base,
    custom,
    encodings,
    identifiers,
    network,
    numbers,
    secrets,
    structured,
    text,
    times,
)
from holdfast.errors import ProfileError
from holdfast.model.json import Json

Factory: TypeAlias = Callable[..., base.Comparator]

CUSTOM_PREFIX = "custom:"

_BUILT_IN: Mapping[str, Factory] = {
    factory.__name__: factory
    for factory in (
        base.exact,
        custom.custom,
        encodings.base64,
        encodings.pem,
        encodings.ssh_key,
        identifiers.arm_id,
        identifiers.guid,
        identifiers.resource_id,
        identifiers.version_prefix,
        network.cidr,
        network.email,
        network.fqdn,
        network.ip,
        network.path,
        network.url,
        numbers.bool_str,
        numbers.int_or_string,
        numbers.number,
        numbers.quantity,
        secrets.write_only,
        structured.json_str,
        structured.xml,
        text.casefold,
        text.enum_map,
        text.regex,
        text.region,
        text.token_set,
        text.whitespace,
        times.duration,
        times.timestamp,
    )
}
_registered: dict[str, Factory] = {}

_NAMED = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_TYPE_NAMES: Mapping[type, str] = {bool: "true or false", str: "a string", bytes: "bytes", Mapping: "a mapping"}


def names() -> tuple[str, ...]:
    """Return every name that `build` knows, sorted."""
    return tuple(sorted({*_BUILT_IN, *_registered}))


def register(name: str, factory: Factory) -> None:
    """Make `build(name, **options)` call `factory(**options)`; the name begins with "custom:" and is given once."""
    if not name.startswith(CUSTOM_PREFIX) or name == CUSTOM_PREFIX:
        raise ValueError(f'comparator {name!r}: names of your own begin with "{CUSTOM_PREFIX}"')
    if _registered.setdefault(name, factory) is not factory:
        raise ValueError(f"comparator {name!r} is already registered with another factory")


def build(name: str, /, **options: Json) -> base.Comparator:
    """Return the comparator of that name with those options; raise ProfileError where either does not fit."""
    factory = _BUILT_IN.get(name) or _registered.get(name)
    if factory is None:
        raise ProfileError(_unknown(name))
    _check(name, factory, options)
    return factory(**options)


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, names(), n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"known are: {', '.join(names())}"
    return f'unknown comparator "{name}"; {hint}'


def _check(name: str, factory: Factory, options: Mapping[str, Json]) -> None:
    parameters = inspect.signature(factory).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    allowed = {option: parameter for option, parameter in parameters.items() if parameter.kind in _NAMED}
    for option in options:
        if option not in allowed and not takes_any:
            raise ProfileError(f'comparator "{name}" has no option "{option}"; {_allowed(allowed)}')
    for option, parameter in allowed.items():
        if parameter.default is parameter.empty and option not in options:
            raise ProfileError(f'comparator "{name}" needs the option "{option}"; {_allowed(allowed)}')
    if name in _BUILT_IN:
        _check_types(name, get_type_hints(factory), options)


def _check_types(name: str, hints: Mapping[str, Json], options: Mapping[str, Json]) -> None:
    for option, value in options.items():
        if not _fits(hints[option], value):
            # The value itself is not shown: it may be a key given by mistake.
            wanted, given = _described(hints[option]), type(value).__name__
            raise ProfileError(f'comparator "{name}": option "{option}" must be {wanted}, not a value of type {given}')


def _allowed(options: Mapping[str, inspect.Parameter]) -> str:
    return f"allowed are: {', '.join(options)}" if options else "it takes no options"


def _fits(hint: Json, value: Json) -> bool:
    origin: Json = get_origin(hint)
    if origin is types.UnionType or origin is Union:
        return any(_fits(arm, value) for arm in get_args(hint))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    return isinstance(value, origin or hint)


def _described(hint: Json) -> str:
    origin: Json = get_origin(hint)
    if origin is types.UnionType or origin is Union:
        return " or ".join(_described(arm) for arm in get_args(hint) if arm is not type(None))
    if origin is Literal:
        return f"one of {', '.join(get_args(hint))}"
    return _TYPE_NAMES[origin or hint]
