"""Known differences: what the service made of our own write, kept so that it is never mistaken for drift.

The algebra, with S the declaration, O the observation and D(S, O) their atomic differences:

- a difference is known only if path, operation, declared value and observed value all match an entry; leaving out the
  declared value would swallow a user's edit, leaving out the observed one a third party's;
- the set is immutable between captures: an entry that is not seen any more stays, for the service may restore its
  default at any time;
- a capture replaces the whole set, from the first settled read after our write, minus drift that the write failed to
  revert; that becomes *unresolved* and is never laundered into a default.

The baseline document that `compare.diff` walks is the same knowledge in another shape: S with the known differences
applied. What is too large to keep is held as a digest, never dropped.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from holdfast.compare import diff, normal, patching, paths
from holdfast.compare.ruletree import Node, RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Difference, Finding, FindingClass, Op, Side
from holdfast.model.json import Json
from holdfast.model.path import Path, Selector

SOFT_LIMIT_BYTES = 8 * 1024  # one value larger than this is kept as a digest
HARD_LIMIT_BYTES = 256 * 1024  # a set larger than this has its largest values digested until it fits
VOLATILE_VALUES = 3  # distinct captured values from which a path counts as volatile


class Kind(StrEnum):
    """Why the difference is there."""

    DEFAULT = "default"  # we said nothing, the service filled it in
    NORMALISED = "normalised"  # we said it, the service spells it differently or dropped an empty value
    OVERRIDDEN = "overridden"  # we said it, the service keeps another value
    ADOPTED = "adopted"  # it was there when we first looked
    LATE = "late"  # it appeared within the settle window


class Confidence(StrEnum):
    """How sure we are that nobody else made the difference."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """One entry: four things to match, and where it came from."""

    path: Path
    op: Op
    desired: Json
    observed: Json
    kind: Kind
    confidence: Confidence = Confidence.HIGH


@dataclass(frozen=True, slots=True)
class Subtraction:
    """D(S, O) against K: what is new, what is explained, which entries were not seen this time."""

    new: tuple[Difference, ...]
    known: tuple[KnownDifference, ...]
    gone: tuple[KnownDifference, ...]


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Drift that our write did not revert; it stays drift, however often we look."""

    path: Path
    drifted: Json
    wanted: Json


@dataclass(frozen=True, slots=True)
class Capture:
    """All that is learnt from the settled read after a write."""

    baseline: diff.Baseline
    known: tuple[KnownDifference, ...]
    unresolved: tuple[Unresolved, ...] = ()
    side_effects: tuple[Finding, ...] = ()


def subtract(differences: Iterable[Difference], known: Sequence[KnownDifference], rules: RuleTree) -> Subtraction:
    """Split differences into new and known; entries without a counterpart are gone, but stay in force."""
    index: dict[tuple[str, Op], list[KnownDifference]] = defaultdict(list)
    for entry in known:
        index[paths.format_path(entry.path), entry.op].append(entry)
    new: list[Difference] = []
    seen: list[KnownDifference] = []
    for difference in differences:
        entries = index.get((paths.format_path(difference.path), difference.op), ())
        match = next((entry for entry in entries if matches(difference, entry, rules)), None)
        if match is None:
            new.append(difference)
        else:
            seen.append(match)
    hit = {id(entry) for entry in seen}
    return Subtraction(tuple(new), tuple(seen), tuple(entry for entry in known if id(entry) not in hit))


def matches(difference: Difference, entry: KnownDifference, rules: RuleTree) -> bool:
    """Tell whether an entry explains a difference: path, operation and both values, each under its comparator."""
    if difference.op is not entry.op or difference.path != entry.path:
        return False
    node = node_at(rules, difference.path)
    return _equal(node, entry.desired, difference.desired) and _equal(node, entry.observed, difference.observed)


def _equal(node: Node, kept: Json, value: Json) -> bool:
    if isinstance(kept, normal.Digest):
        return value is not ABSENT and normal.digest(node, value) == kept
    return diff.equal_at(node, kept, value)


def node_at(rules: RuleTree, path: Path) -> Node:
    """Return the rules in force at a path."""
    node = rules.root
    for step in path:
        if isinstance(step, str):
            node = node.child(step)
        elif isinstance(step, Selector):
            node = node.element(dict(step.fields), -1)
        else:
            node = node.element(None, step)
    return node


def capture(
    desired: Json,
    settled: Json,
    rules: RuleTree,
    *,
    before: diff.Baseline | None = None,
    drift: Sequence[Finding] = (),
    adopted: bool = False,
) -> Capture:
    """Learn the whole set anew from a settled read; `drift` is what the read before our write had found."""
    unresolved = tuple(
        Unresolved(finding.path, finding.observed, _wanted(finding))
        for finding in drift
        if finding.side in (Side.WORLD, Side.BOTH) and _is_unreverted(finding, settled, rules)
    )
    baseline = settled
    if unresolved:
        baseline = copy.deepcopy(settled)
        for item in unresolved:
            baseline = patching.put(baseline, item.path, item.wanted)
    known = _bounded(tuple(_entry(d, adopted=adopted) for d in diff.differences(desired, baseline, rules)), rules)
    effects: tuple[Finding, ...] = ()
    if before is not None:
        moved = diff.findings(desired, baseline, rules, diff.Baseline(desired, before.observed))
        touched = {finding.path for finding in drift}
        effects = tuple(finding for finding in moved if finding.path not in touched and finding.desired is ABSENT)
    return Capture(diff.Baseline(desired, baseline), known, unresolved, effects)


def _wanted(finding: Finding) -> Json:
    return finding.baseline if finding.baseline is not ABSENT or finding.desired is ABSENT else finding.desired


def _is_unreverted(finding: Finding, settled: Json, rules: RuleTree) -> bool:
    now = paths.resolve(settled, finding.path)
    return diff.equal_at(node_at(rules, finding.path), finding.observed, now)


def _entry(difference: Difference, *, adopted: bool) -> KnownDifference:
    if adopted:
        kind = Kind.ADOPTED
    elif difference.desired is ABSENT or difference.op in (Op.ADDED, Op.ELEMENT_ADDED):
        kind = Kind.DEFAULT
    elif difference.observed is ABSENT or difference.op is Op.REORDERED or _is_respelling(difference):
        kind = Kind.NORMALISED
    else:
        kind = Kind.OVERRIDDEN
    confidence = Confidence.LOW if adopted else Confidence.HIGH
    return KnownDifference(difference.path, difference.op, difference.desired, difference.observed, kind, confidence)


def _is_respelling(difference: Difference) -> bool:
    one, other = difference.desired, difference.observed
    if isinstance(one, str) and isinstance(other, str):
        return "".join(one.split()).casefold() == "".join(other.split()).casefold()
    return str(one) == str(other)


def _bounded(known: tuple[KnownDifference, ...], rules: RuleTree) -> tuple[KnownDifference, ...]:
    """Replace values that are too large by their digests: one by one first, then the largest until the set fits."""
    sizes = [_size(entry.observed) for entry in known]
    limit = SOFT_LIMIT_BYTES
    while True:
        kept = [size if size <= limit else 100 for size in sizes]
        if sum(kept) <= HARD_LIMIT_BYTES or limit < 200:
            break
        limit //= 2
    return tuple(
        entry if size <= limit else replace(entry, observed=normal.digest(node_at(rules, entry.path), entry.observed))
        for entry, size in zip(known, sizes, strict=True)
    )


def _size(value: Json) -> int:
    return 0 if value is ABSENT else len(json.dumps(value, default=str))


def baseline_from(applied: Json, known: Iterable[KnownDifference]) -> diff.Baseline:
    """Rebuild the baseline from what was applied and what is known; digests stay digests."""
    listed = [Difference(entry.path, entry.op, entry.desired, entry.observed) for entry in known]
    return diff.Baseline(applied, patching.apply(applied, listed))


def absorb_late(
    baseline: diff.Baseline, findings: Sequence[Finding], *, window_open: bool, touched_by_other: bool
) -> tuple[diff.Baseline, tuple[Finding, ...]]:
    """Within the settle window let undeclared values that merely appeared join the baseline; return what remains.

    A service may fill in a default some time after the operation ends. Once the window is shut, or where the provider
    says that somebody else touched the resource, the same appearance is drift.
    """
    if not window_open or touched_by_other:
        return baseline, tuple(findings)
    late = [finding for finding in findings if finding.cls is FindingClass.UNDECLARED and finding.op is Op.ADDED]
    if not late:
        return baseline, tuple(findings)
    document = copy.deepcopy(baseline.observed)
    for finding in late:
        document = patching.put(document, finding.path, finding.observed)
    rest = tuple(finding for finding in findings if finding not in late)
    return diff.Baseline(baseline.applied, document), rest


def accept(baseline: diff.Baseline, findings: Iterable[Finding]) -> diff.Baseline:
    """Take the observed values of these findings into the baseline because a person said so."""
    document = copy.deepcopy(baseline.observed)
    for finding in findings:
        document = patching.put(document, finding.path, finding.observed)
    return diff.Baseline(baseline.applied, document)


@dataclass(frozen=True, slots=True)
class Validity:
    """What a capture depends on; if any of it moves, the capture says nothing any more."""

    identity: str | None  # the service's own id or creation time of the object
    api_version: str | None = None
    checksum: str | None = None


def invalid_because(captured: Validity, current: Validity) -> str | None:
    """Return why a capture no longer holds, or None; a comparator or profile upgrade is not a reason."""
    if captured.identity != current.identity:
        return "the object was recreated: its identity changed"
    if captured.api_version != current.api_version:
        return f"the API version changed from {captured.api_version} to {current.api_version}"
    if captured.checksum != current.checksum:
        return "the stored capture is damaged: its checksum does not match"
    return None


def volatile_paths(captured: Mapping[str, Sequence[str]], limit: int = VOLATILE_VALUES) -> frozenset[str]:
    """Return the paths that had at least `limit` distinct values over the captures given (path -> value digests)."""
    return frozenset(path for path, digests in captured.items() if len(set(digests)) >= limit)


def quarantine(findings: Iterable[Finding], volatile: frozenset[str]) -> tuple[list[Finding], list[Finding]]:
    """Set apart findings at volatile paths, which no write can settle; declared values are never quarantined."""
    kept: list[Finding] = []
    apart: list[Finding] = []
    for finding in findings:
        is_volatile = finding.desired is ABSENT and paths.format_path(finding.path) in volatile
        (apart if is_volatile else kept).append(finding)
    return kept, apart
