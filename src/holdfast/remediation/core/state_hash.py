"""The hash of a target's state: the seed's canonical spec hash, of what its kind's rules leave to be compared.

For a document without rules it is exactly `canonical_spec_hash`. Rules take out what moves by itself or is not
configuration, unless it is declared; they spell values one way; and in a list they call ordered the places count, which
the seed's hash alone cannot see. Secrets have to be fingerprints already.
"""

from __future__ import annotations

from typing import Final

from holdfast.compare import canonical, normalize
from holdfast.compare.emptiness import is_void
from holdfast.compare.hash_schemes import HashComparison
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.rules import ListKind
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.record import dataclass

SCHEME = "state/2"  # a new way to make these hashes is a new number


def state_hash(document: Json, tree: RuleTree, desired: Json = ABSENT) -> str:
    """Return `sha256:` and 64 hex digits; raise UnhashableError for what is no object or cannot be written."""
    return canonical.canonical_spec_hash(canonical.as_spec(_form(tree.root, document, desired)))


def _form(node: Node, value: Json, desired: Json) -> Json:
    if isinstance(value, dict):
        declared = desired if isinstance(desired, dict) else {}
        return {
            key: _form(node.child(key), item, declared.get(key, ABSENT))
            for key, item in value.items()
            if _counts(node.child(key), item, is_declared=key in declared)
        }
    if isinstance(value, list):
        items = [_form(node.element(item, index), item, ABSENT) for index, item in enumerate(value)]
        is_ordered = node.list_rule is not None and node.list_rule.kind is ListKind.ORDERED
        return {str(index): item for index, item in enumerate(items)} if is_ordered and len(items) > 1 else items
    return normalize.normalise(node, value)  # a comparator spells leaves; containers stay what they are


def _counts(node: Node, value: Json, *, is_declared: bool) -> bool:
    if node.hidden or node.write_only or (node.hidden_unless_declared and not is_declared):
        return False
    return not is_void(node, value)


ABSENT_HASH: Final = "absent"


@dataclass(frozen=True, slots=True)
class StateHash:
    """A good read as its hash, with the prefix of its scheme. `ABSENT_HASH` for a deleted target.

    `revision` is the service's counter of changes to the spec, where it has one. An etag that moves with the status is
    not one. The counter shows a change that was reverted between two reads. `way` names the rules of the hash where its
    prefix does not (the rules of the target's kind), because the rules of another release must not look like a change.
    """

    hash: str
    revision: str | None = None
    way: str = ""


@dataclass(frozen=True, slots=True)
class StateUnknown:
    """The target could not be read, or not be hashed; nothing may be concluded."""

    detail: str = ""


StateReading = StateHash | StateUnknown
NO_TARGET: Final = StateHash(ABSENT_HASH)


def relation(one: str, other: str) -> HashComparison:
    """Compare two hashes by their texts; only those made in the same way, or absence, can differ."""
    if one == other:
        return HashComparison.EQUAL
    if ABSENT_HASH in (one, other):
        return HashComparison.DIFFERENT
    same_way = one.rpartition(":")[0] == other.rpartition(":")[0]
    return HashComparison.DIFFERENT if same_way else HashComparison.INCOMPARABLE


def compare(baseline: StateHash, seen: StateHash) -> HashComparison:
    """Return True if a target is as it was; a revision that moved is a difference even if the state came back."""
    if baseline.way != seen.way and ABSENT_HASH not in (baseline.hash, seen.hash):
        return HashComparison.INCOMPARABLE
    found = relation(baseline.hash, seen.hash)
    moved = None not in (baseline.revision, seen.revision) and baseline.revision != seen.revision
    return HashComparison.DIFFERENT if found is HashComparison.EQUAL and moved else found


def match(pre: str | None, post: str) -> bool | None:
    """Return True if a remediation left the spec unchanged, as a restart does. None if that is unknown."""
    found = HashComparison.INCOMPARABLE if pre is None else relation(pre, post)
    return None if found is HashComparison.INCOMPARABLE else found is HashComparison.EQUAL
