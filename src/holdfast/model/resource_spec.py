"""The description of a resource by a Python object: everything except its connection.

The resource classes of a provider know this module and nothing else of the Python API, which turns outlines into
declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import ClassVar, Protocol, Self, runtime_checkable

from holdfast.model.json import Json
from holdfast.model.record import dataclass


@dataclass(frozen=True, slots=True)
class Outline:
    """The description of one object."""

    kind: str
    name: str  # unique within connection, kind and environment
    stamp: str  # the hash of the configuration, computed by the class
    desired: Callable[[], Mapping[str, Json]]  # the document, secrets and references as `SpecContext` makes them
    refers: bool = False  # True if the document depends on other resources
    id: str | None = None  # of an existing resource, if the object knows it
    environment: str | None = None  # that the object is bound to, if any
    options: Mapping[str, Json] = field(default_factory=dict)  # managedOptions of the class
    labels: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class ResourceSpec(Protocol):
    """A resource class that can be deployed from Python: it names its provider and describes itself."""

    PROVIDER: ClassVar[str]

    def outline(self, means: SpecContext) -> Outline:
        """Return the outline; raise InputError, here or when the document is built, if it cannot be deployed."""

    def has_stamp(self, stamp: str) -> bool:
        """Return True if a stamp, ours or of an earlier tool, matches this configuration."""

    def deployed(self, ident: str) -> Self:
        """Return a copy with the provider's id; the object itself does not change."""


@dataclass(frozen=True, slots=True)
class SpecContext:
    """Functions and values that an object may use to describe itself."""

    secret: Callable[[str], Json]  # marks a value as secret: never stored or shown
    unwatched: Callable[[str], Json]  # marks a secret whose changes are not compared
    refer: Callable[[ResourceSpec], Json]  # refers to the id of another object, which is deployed first
    key: bytes = field(repr=False)  # for stored hashes
    environment: str | None = None  # of all resources of the project, if any
