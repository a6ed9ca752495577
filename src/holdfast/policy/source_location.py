"""Where in its file a part of a declaration stands, for messages and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.compare import paths
from holdfast.errors import Location
from holdfast.model.path import Path, Pointer
from holdfast.model.resource import Declaration

_GROUP: Final = "holdfast.dev/"


def declared(declaration: Declaration, path: Path | Pointer) -> Location:
    """Return where a part of the manifest, or the nearest thing above it, is written; paths begin at the document."""
    return nearest(declaration.location, declaration.places, path)


def nearest(document: Location, places: Mapping[str, int], path: Path | Pointer) -> Location:
    """Return where a part of a document, or the nearest thing above it, is written, by the lines of its fields."""
    whole = paths.format_path(path)
    for length in range(len(path), -1, -1):
        line = places.get(paths.format_path(path[:length]))
        if line is not None:
            return Location(document.file, line, field=whole or None)
    return Location(document.file, document.line, field=whole or None)


def desired(declaration: Declaration, path: Path | Pointer) -> Location:
    """Return where a field of the wanted document is written; paths begin at spec.resource, as those of findings do."""
    return declared(declaration, (*resource_pointer(declaration), *path))


def resource_pointer(declaration: Declaration) -> Pointer:
    """Return where the wanted document begins in its manifest; a plain Kubernetes object is the manifest itself."""
    return ("spec", "resource") if _GROUP in declaration.api_version else ()


def text(location: Location) -> str:
    """Return `file:line`, as much of it as is known."""
    return ":".join(str(part) for part in (location.file, location.line) if part is not None)
