"""The algebra of known differences, spelt out: what `compare.diff` must agree with when it walks the documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.compare import apply_patch, diff, normalize
from holdfast.compare.known_differences import KnownDifference, node_at, place
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Difference, Op
from holdfast.model.json import Json


@dataclass(frozen=True, slots=True)
class Subtraction:
    """Differences split into new and known ones, with the entries that matched none of them."""

    new: tuple[Difference, ...]
    known: tuple[KnownDifference, ...]
    unseen: tuple[KnownDifference, ...]


def subtract(differences: Iterable[Difference], known: Sequence[KnownDifference], rules: RuleTree) -> Subtraction:
    """Split differences into new and known; entries that match none stay in force."""
    index: dict[tuple[str, Op], list[KnownDifference]] = defaultdict(list)
    for entry in known:
        index[place(rules, entry.path), entry.op].append(entry)
    new: list[Difference] = []
    seen: list[KnownDifference] = []
    for difference in differences:
        entries = index.get((place(rules, difference.path), difference.op), [])
        match = next((entry for entry in entries if matches(difference, entry, rules)), None)
        if match is None:
            new.append(difference)
        else:
            seen.append(match)
            entries.remove(match)  # one entry explains one difference
    hit = {id(entry) for entry in seen}
    return Subtraction(tuple(new), tuple(seen), tuple(entry for entry in known if id(entry) not in hit))


def matches(difference: Difference, entry: KnownDifference, rules: RuleTree) -> bool:
    """Return True if an entry explains a difference: path, operation and both values, under their comparator."""
    if difference.op is not entry.op or place(rules, difference.path) != place(rules, entry.path):
        return False
    node = node_at(rules, difference.path)
    return _equal(node, entry.desired, difference.desired) and _equal(node, entry.observed, difference.observed)


def _equal(node: Node, kept: Json, value: Json) -> bool:
    if isinstance(kept, normalize.Digest):
        return value is not ABSENT and normalize.stands_for(kept, node, value)
    return diff.equal_at(node, kept, value)


def baseline_from(applied: Json, known: Iterable[KnownDifference]) -> diff.Baseline:
    """Rebuild the baseline from the applied revision and the known differences; digests stay digests."""
    listed = [Difference(entry.path, entry.op, entry.desired, entry.observed) for entry in known]
    return diff.Baseline(applied, apply_patch.apply(applied, listed))
