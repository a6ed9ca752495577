"""Flash's state: the ids and stamps in its `.flash/resources.pkl`, for adoption.

The file is a pickle of live objects, and loading a pickle runs whatever it says. Here nothing in it is ever imported
or called: every class it names is taken for an inert one that keeps what it is given.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

from holdfast.errors import InputError
from holdfast.model.json import Json

LONGEST: Final = 64 * 1024 * 1024  # bytes
_PLAIN: Final[Mapping[str, type]] = {"set": set, "frozenset": frozenset, "bytearray": bytearray}


@dataclass(frozen=True, slots=True)
class Left:
    """One resource of Flash's."""

    key: str  # `Class:name`, as `get_resource_key` gives it
    id: str | None
    stamp: str | None  # what it last hashed: 32 digits


class _Inert:
    """Stands for anything that a pickle names."""

    state: Any = None
    kind = ""

    def __new__(cls, *_given: object, **_more: object) -> Self:
        return super().__new__(cls)

    def __init__(self, *_given: object, **_more: object) -> None: ...

    def __setstate__(self, state: object) -> None:
        self.state = state

    def __call__(self, *_given: object, **_more: object) -> _Inert:
        return self

    def append(self, item: object) -> None:
        """Take an element of what would have been a list."""

    def extend(self, items: object) -> None:
        """Take elements of what would have been a list."""

    def add(self, item: object) -> None:
        """Take an element of what would have been a set."""

    def __setitem__(self, key: object, value: object) -> None: ...


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - the base class says so
        if module == "builtins" and name in _PLAIN:
            return _PLAIN[name]
        return type(name.rpartition(".")[2] or "Inert", (_Inert,), {"kind": name})

    def persistent_load(self, pid: Any) -> Any:  # noqa: ANN401
        raise pickle.UnpicklingError(f"a reference to something outside the file: {type(pid).__name__}")


def read(file: str | PathLike[str]) -> dict[str, Left]:
    """Return Flash's resources by key; raise InputError if the file is not one of Flash's."""
    path = Path(file)
    try:
        with path.open("rb") as stream:
            data = stream.read(LONGEST + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > LONGEST:
        raise InputError(f"{path} is larger than {LONGEST // 2**20} MB; that is no state of Flash's")
    try:
        found = _Unpickler(io.BytesIO(data)).load()
    except Exception as error:  # noqa: BLE001 - whatever a broken pickle leads to
        raise InputError(f"{path} is no state of Flash's: {type(error).__name__}") from None
    # Flash keeps hashes beside the resources; once there were only these.
    resources, stamps = found if isinstance(found, tuple) and len(found) == 2 else (found, {})
    if not isinstance(resources, Mapping) or not isinstance(stamps, Mapping):
        raise InputError(f"{path} is no state of Flash's: it holds no map of resources")
    listed = [_left(str(key), resource, stamps.get(key)) for key, resource in resources.items()]
    return {left.key: left for left in listed}


def _left(key: str, resource: object, stamp: Json) -> Left:
    fields = _fields(resource)
    name, ident = fields.get("name"), fields.get("id")
    if ":" not in key and isinstance(resource, _Inert) and isinstance(name, str):
        key = f"{resource.kind}:{name}"  # an old key, made of a hash
    return Left(key, ident if isinstance(ident, str) else None, stamp if isinstance(stamp, str) and stamp else None)


def _fields(resource: object) -> Mapping[str, Any]:
    state = resource.state if isinstance(resource, _Inert) else None
    fields = state.get("__dict__", state) if isinstance(state, Mapping) else {}
    return fields if isinstance(fields, Mapping) else {}
