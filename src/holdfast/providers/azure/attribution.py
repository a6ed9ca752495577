"""Attribution from systemData: the last writer is a person, an application, or an identity of Azure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Final

from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.json import Json

_WHAT: Final = {"User": "a person", "Application": "an application", "ManagedIdentity": "an identity", "Key": "a key"}


def writer(document: Json) -> str | None:
    """Return the name on a document."""
    system = document.get("systemData") if isinstance(document, Mapping) else None
    name = system.get("lastModifiedBy") if isinstance(system, Mapping) else None
    return name if isinstance(name, str) and name.strip() else None


def likely_actor(document: Json) -> LikelyActor | None:
    """Return the last writer according to a document."""
    name = writer(document)
    if name is None:
        return None
    system = document["systemData"]
    what = _WHAT.get(str(system.get("lastModifiedByType")), "an unknown identity")
    return LikelyActor(name, Confidence.HIGH, f"systemData says that {what} wrote it last", _moment(system))


def _moment(system: Mapping[str, Json]) -> float | None:
    text = system.get("lastModifiedAt")
    try:
        found = dt.datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if found is None:
        return None
    return (found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)).timestamp()
