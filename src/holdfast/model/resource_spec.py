"""A resource as an object in somebody's program describes itself: everything but where it is to be.

A provider's classes know this and nothing else of the Python door, which turns outlines into declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self, runtime_checkable

from holdfast.model.json import Json


@dataclass(frozen=True, slots=True)
class Outline:
    """What an object says of itself."""

    kind: str
    name: str  # with the kind and the environment it tells the resource from all others of a connection
    stamp: str  # the hash of the configuration, as the class computes it
    desired: Callable[[], Mapping[str, Json]]  # the document, secrets and references as `SpecContext` makes them
    refers: bool = False  # the document depends on other resources too
    id: str | None = None  # of something that is there already, where the object knows it
    environment: str | None = None  # the one that the object itself is bound to, if it is
    options: Mapping[str, Json] = field(default_factory=dict)  # managedOptions that suit the class
    labels: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class ResourceSpec(Protocol):
    """A resource class that can be deployed from Python: it names its provider and describes itself."""

    PROVIDER: ClassVar[str]

    def outline(self, means: SpecContext) -> Outline:
        """Describe itself; raise InputError, here or when the document is asked for, if it cannot be deployed."""

    def has_stamp(self, stamp: str) -> bool:
        """Tell whether a stamp, ours or of the tool that was used before, is that of this configuration."""

    def deployed(self, ident: str) -> Self:
        """Return a copy that knows the provider's id of what it stands for; the object itself stays as it is."""


@dataclass(frozen=True, slots=True)
class SpecContext:
    """What an object may need in order to describe itself."""

    secret: Callable[[str], Json]  # keeps a value out of everything that is kept or shown
    unwatched: Callable[[str], Json]  # does the same, and no change of the value counts
    refer: Callable[[ResourceSpec], Json]  # stands for the id of another object, which is deployed first
    key: bytes = field(repr=False)  # for hashes that are kept
    environment: str | None = None  # the one that everything is put in, if there is one
