"""Sighting: what a look at a target says to the spec drift guard.

The target is read through its provider like for any check. What could not be read is not hashed, whatever the reason.
"""

from __future__ import annotations

from holdfast.compare import hash_schemes
from holdfast.compare.rule_tree import RuleTree
from holdfast.errors import UnhashableError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure, ReadResult
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.remediation.core import state_hash
from holdfast.remediation.core.state_hash import StateHash, StateReading, StateUnknown


def of_document(item: ResolvedResource, observed: Json, tree: RuleTree, identity: str | None = None) -> StateReading:
    """Return the state that a redacted document is in; nothing there is a state too."""
    if observed is ABSENT:
        return state_hash.NO_TARGET
    way = item.kind.hash_scheme or f"{state_hash.SCHEME}+{item.rules.digest.removeprefix('sha256:')[:12]}"
    try:
        if item.kind.hash_scheme:
            return StateHash(hash_schemes.REGISTRY.get(way).digest(observed), identity, way)
        return StateHash(state_hash.state_hash(observed, tree, item.desired), identity, way)
    except UnhashableError as error:
        return StateUnknown(f"what is there cannot be hashed: {error}")


def of_reading(item: ResolvedResource, reading: ReadResult | Unchanged) -> StateReading:
    """Return the state that a reading shows."""
    match reading:
        case Found(document=document, identity=identity):
            tree, _ = item.rules_for(document)
            return of_document(item, document, tree, identity)
        case NotFound():
            return state_hash.NO_TARGET
        case ReadFailure(trouble=trouble, detail=detail):
            return StateUnknown(f"it could not be read ({trouble.value}){': ' + detail if detail else ''}")
        case Unchanged():
            return StateUnknown("it was not read")
