"""What creations were told and did not take, from what was learnt of each after its write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.compare.known_differences import DifferenceKind
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.reconcile.action_result import ActionOutcome, NotTaken
from holdfast.reconcile.report import RunReport
from holdfast.store.protocol import BlobStore

_MAKING: Final = frozenset({Action.CREATE, Action.RECREATE, Action.REPLACE})


async def note(store: BlobStore, report: RunReport) -> None:
    """Note in a report what the services keep otherwise than the declarations of new resources say."""
    made = [one for one in report.acted if one.result is ActionOutcome.DONE and one.checked.decision.action in _MAKING]
    known = {
        one.checked.address: one.checked.state.applied.known_differences
        for one in made
        if one.checked.state.applied.known_differences is not None
    }
    documents = await store.documents(sorted(set(known.values())))
    for address, digest in known.items():
        entries = documents[digest]["known"] if digest in documents else ()
        found = tuple(_not_taken(entry) for entry in entries if _is_not_taken(entry))
        if found:
            report.not_taken[address] = found


def _not_taken(entry: Mapping[str, Json]) -> NotTaken:
    return NotTaken(entry["path"], entry["desired"], entry.get("observed", ABSENT))


def _is_not_taken(entry: Mapping[str, Json]) -> bool:
    """Return True if the declared value is not there; another spelling or a dropped empty value is no news."""
    is_dropped = "observed" not in entry and bool(entry.get("desired"))
    return "desired" in entry and (entry["kind"] == DifferenceKind.OVERRIDDEN.value or is_dropped)
