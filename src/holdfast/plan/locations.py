"""Where in its file a part of a declaration stands, for messages and provenance."""

from __future__ import annotations

from holdfast.compare import paths
from holdfast.errors import Location
from holdfast.model.path import Path, Pointer
from holdfast.model.resource import Declaration


def declared(declaration: Declaration, path: Path | Pointer) -> Location:
    """Return where a part of the manifest, or the nearest thing above it, is written; paths begin at the document."""
    whole = paths.format_path(path)
    for length in range(len(path), -1, -1):
        line = declaration.places.get(paths.format_path(path[:length]))
        if line is not None:
            return Location(declaration.location.file, line, field=whole or None)
    return Location(declaration.location.file, declaration.location.line, field=whole or None)


def desired(declaration: Declaration, path: Path | Pointer) -> Location:
    """Return where a field of the wanted document is written; paths begin at spec.resource, as those of findings do."""
    return declared(declaration, ("spec", "resource", *path))


def text(location: Location) -> str:
    """Return `file:line`, as much of it as is known."""
    return ":".join(str(part) for part in (location.file, location.line) if part is not None)
