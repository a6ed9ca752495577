"""From a decided change to what is sent: read, merge, write.

The wanted document is what is live now with the decided paths put right; what is sent is where the two differ. The
environment is merged with the live one in clear, because a service that takes it whole must get back what we do not
show: the masked values, and what others put there.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.compare.comparators import typed_equal
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.providers import minimal_patch
from holdfast.providers.protocol import Change
from holdfast.providers.runpod import documents
from holdfast.providers.runpod.documents import Document


def wanted(change: Change, live: Document, clear_env: Mapping[str, str]) -> tuple[Document, list[str]]:
    """Return the document to be reached, its environment in clear, and the top-level fields that differ."""
    after = minimal_patch.wanted(dict(change.desired), live, change.paths)
    names = [name for name in sorted({*live, *after}) if not _same(live.get(name, ABSENT), after.get(name, ABSENT))]
    if "env" in names:
        after = {**after, "env": merged_env(clear_env, live.get("env") or {}, after.get("env") or {})}
    return after, names


def declared(desired: Mapping[str, Json], live: Mapping[str, Json]) -> list[str]:
    """Return the declared top-level fields in which the live resource differs."""
    return [name for name, value in desired.items() if value is not None and not _covers(live.get(name, ABSENT), value)]


def merged_env(clear: Mapping[str, str], shown: Mapping[str, Json], after: Mapping[str, Json]) -> dict[str, str]:
    """Return the live environment with the changes between two shown ones made to it."""
    out = {key: value for key, value in clear.items() if key not in shown or key in after}
    for key, value in after.items():
        is_masked = key in documents.MASKED and value == documents.MASK
        if not is_masked and not typed_equal(shown.get(key, ABSENT), value):
            out[key] = str(value)
    return out


def _same(one: Json, other: Json) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return typed_equal(one, other)


def _covers(live: Json, wanted_value: Json) -> bool:
    """Return True if what is declared is there; maps may hold more."""
    if isinstance(live, dict) and isinstance(wanted_value, Mapping):
        return all(_covers(live.get(key, ABSENT), value) for key, value in wanted_value.items())
    return _same(live, wanted_value)
