"""Who wrote a file last, as far as a file system tells: its owner, and when its content moved. Blocking; never raises.

Somebody who edits a file in place leaves its owner as it was, so an owner is a hint and no more.
"""

from __future__ import annotations

import os

from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.json import Json
from holdfast.providers.file import file_state, spec
from holdfast.providers.file.safe_path import OutsideError, Root
from holdfast.providers.file.spec import BadDeclarationError
from holdfast.providers.protocol import Target


def likely_actors(root: Root, target: Target) -> tuple[LikelyActor, ...]:
    """Name the owner; likelier to be the one if it is not who we are."""
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
