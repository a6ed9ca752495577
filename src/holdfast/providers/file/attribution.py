"""The likely writer of a file, as far as a file system records it: its owner, and when its content changed.

A writer that edits a file in place does not change its owner, so an owner is only a hint. Blocking; never raises.
"""

from __future__ import annotations

import os

from holdfast.provider import Confidence, Json, LikelyActor, Target
from holdfast.providers.file import file_state, spec
from holdfast.providers.file.safe_path import OutsideError, Root
from holdfast.providers.file.spec import BadDeclarationError


def likely_actors(root: Root, target: Target) -> tuple[LikelyActor, ...]:
    """Return the owner of a file as its likely last writer; more likely if that is not our own user."""
    try:
        place = root.locate(spec.of(target).path)
        with root.passing(place.real.parent) as folder:
            status = os.stat(place.real.name, dir_fd=folder, follow_symlinks=False)
    except (BadDeclarationError, OutsideError, OSError, ValueError):
        return ()
    confidence = Confidence.LOW if status.st_uid == os.geteuid() else Confidence.MEDIUM
    return (LikelyActor(file_state.user_name(status.st_uid), confidence, "owner of the file", status.st_mtime),)


def owner(document: Json) -> str | None:
    """Return the owner in a document by name, however it is declared."""
    found = document.get("owner") if isinstance(document, dict) else None
    if found is None:
        return None
    return file_state.user_name(int(found)) if isinstance(found, int) or str(found).isdigit() else str(found)
