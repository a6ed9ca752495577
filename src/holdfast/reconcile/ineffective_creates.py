"""Fields that creates sent without effect, from the known differences after each write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.compare.known_differences import DifferenceKind
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.reconcile.action_result import ActionOutcome, ActionResult, NotTaken
from holdfast.reconcile.check import BATCH
from holdfast.reconcile.report import RunReport
from holdfast.store.protocol import BlobStore
from holdfast.store.state import Digest

_MAKING: Final = frozenset({Action.CREATE, Action.RECREATE, Action.REPLACE})


def known_differences(acted: ActionResult) -> Digest | None:
    """Return the digest of the known differences of a new resource; None if it has none, or is not new."""
    is_made = acted.result is ActionOutcome.DONE and acted.checked.decision.action in _MAKING
    return acted.checked.state.applied.known_differences if is_made else None


async def note(store: BlobStore, report: RunReport, made: Sequence[tuple[Address, Digest]] = ()) -> None:
    """Add to a report the declared fields of new resources that the services have with other values.

    `made` are new resources with their known differences that the report did not keep.
    """
    kept = [(acted.checked.address, digest) for acted in report.acted if (digest := known_differences(acted))]
    known = [*made, *kept]
    for start in range(0, len(known), BATCH):
        batch = known[start : start + BATCH]
        documents = await store.documents(sorted({digest for _, digest in batch}))
        for address, digest in batch:
            entries = documents[digest]["known"] if digest in documents else ()
            not_taken = tuple(_not_taken(entry) for entry in entries if _is_not_taken(entry))
            if not_taken:
                report.not_taken[address] = not_taken


def _not_taken(entry: Mapping[str, Json]) -> NotTaken:
    return NotTaken(entry["path"], entry["desired"], entry.get("observed", ABSENT))


def _is_not_taken(entry: Mapping[str, Json]) -> bool:
    """Return True if the declared value is not there; another spelling or a dropped empty value is no news."""
    is_dropped = "observed" not in entry and bool(entry.get("desired"))
    return "desired" in entry and (entry["kind"] == DifferenceKind.OVERRIDDEN.value or is_dropped)
