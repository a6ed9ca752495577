"""Known differences: what the service made of our own write, kept so that it is never mistaken for drift.

The algebra, with S the declaration, O the observation and D(S, O) their atomic differences:

- a difference is known only if path, operation, declared value and observed value all match an entry; leaving out the
  declared value would swallow a user's edit, leaving out the observed one a third party's;
- the set is immutable between captures: an entry that is not seen any more stays, for the service may restore its
  default at any time;
- a capture replaces the whole set, from the first settled read after our write, minus what the write failed to change,
  drift or an edit of the declaration; that becomes *unresolved* and is never laundered into a default or an override.
  Nor is what somebody moved between our write and that read, as far as that can be told: a value that the service has
  shown as declared before, or anything new where nothing is ever filled in.

The baseline document that `compare.diff` walks is the same knowledge in another shape: S with the known differences
applied. What is too large to keep is held as a digest, never dropped.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from holdfast.compare import apply_patch, diff, normalize, paths
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.rules import ListKind
from holdfast.model.absent import ABSENT
from holdfast.model.confidence import Confidence
from holdfast.model.finding import ChangedBy, Difference, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.model.path import Path, Selector, Step

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
    """What our write did not change though it was to; it is told, however often we look."""

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

    @property
    def digested(self) -> list[str]:
        """The paths whose values are too large to keep, and are known by a digest."""
        return [paths.format_path(each.path) for each in self.known if isinstance(each.observed, normalize.Digest)]


def subtract(differences: Iterable[Difference], known: Sequence[KnownDifference], rules: RuleTree) -> Subtraction:
    """Split differences into new and known; entries without a counterpart are gone, but stay in force."""
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
    """Tell whether an entry explains a difference: path, operation and both values, each under its comparator."""
    if difference.op is not entry.op or place(rules, difference.path) != place(rules, entry.path):
        return False
    node = node_at(rules, difference.path)
    return _equal(node, entry.desired, difference.desired) and _equal(node, entry.observed, difference.observed)


def _equal(node: Node, kept: Json, value: Json) -> bool:
    if isinstance(kept, normalize.Digest):
        return value is not ABSENT and normalize.stands_for(kept, node, value)
    return diff.equal_at(node, kept, value)


def node_at(rules: RuleTree, path: Path) -> Node:
    """Return the rules in force at a path."""
    node = rules.root
    for step in path:
        node = _step(node, step)
    return node


def _step(node: Node, step: Step) -> Node:
    if isinstance(step, str):
        return node.child(step)
    return node.element(dict(step.fields), -1) if isinstance(step, Selector) else node.element(None, step)


def place(rules: RuleTree, path: Path) -> str:
    """Write a path such that it stays the same when a list whose order means nothing is reordered."""
    node, out = rules.root, list[Step]()
    for step in path:
        is_loose = isinstance(step, int) and node.list_rule is not None and node.list_rule.kind is not ListKind.ORDERED
        out.append("*" if is_loose else step)
        node = _step(node, step)
    return paths.format_path(tuple(out))


def capture(  # noqa: PLR0913 - two documents, their rules, and what is known of how they came about
    desired: Json,
    settled: Json,
    rules: RuleTree,
    *,
    before: diff.Baseline | None = None,
    drift: Sequence[Finding] = (),
    adopted: bool = False,
    chained: bool = True,
    fills_in: bool = True,
) -> Capture:
    """Learn the whole set anew from a settled read; `drift` is what the read before our write had found.

    `chained` tells that the service itself made sure that nobody wrote between that read and our write. Otherwise what
    somebody did in just that moment may be among what is learnt, and is marked as less than certain. Where the service
    fills in nothing (`fills_in`), what is new and was not declared is somebody else's.
    """
    still = _unchanged(drift, desired, settled, rules, before)
    unresolved = tuple(Unresolved(finding.path, finding.observed, _wanted(finding)) for finding in still)
    apart = [*still, *_moved_again(still, desired, settled, rules, before, fills_in=fills_in)]
    baseline = apply_patch.apply(settled, map(_undoing, apart)) if apart else settled
    known = _bounded(
        tuple(_entry(d, adopted=adopted, chained=chained) for d in diff.differences(desired, baseline, rules)), rules
    )
    effects: tuple[Finding, ...] = ()
    if before is not None:
        moved = diff.findings(desired, baseline, rules, diff.Baseline(desired, before.observed))
        touched = {finding.path for finding in drift}
        effects = tuple(finding for finding in moved if finding.path not in touched and finding.desired is ABSENT)
    return Capture(diff.Baseline(desired, baseline), known, unresolved, effects)


def unremoved(drift: Sequence[Finding], desired: Json, settled: Json, rules: RuleTree) -> tuple[Finding, ...]:
    """Return what was taken out of the declaration and stands there all the same after the write that was to remove it.

    It becomes a default, for nothing declared could change it; but whoever removed it should hear of it.
    """
    return tuple(
        finding
        for finding in drift
        if finding.changed_by is ChangedBy.DECLARED
        and _is_left_over(finding, desired, rules)
        and _has_stayed(finding, paths.resolve(settled, finding.path), rules)
    )


def _wanted(finding: Finding) -> Json:
    if finding.changed_by in _EDITED and finding.desired is not ABSENT:
        return finding.desired
    if finding.changed_by is ChangedBy.DECLARED:  # an element that is declared no more
        return ABSENT
    return finding.baseline if finding.baseline is not ABSENT or finding.desired is ABSENT else finding.desired


_EDITED = (ChangedBy.DECLARED, ChangedBy.BOTH, ChangedBy.UNKNOWN)


def _unchanged(
    drift: Sequence[Finding], desired: Json, settled: Json, rules: RuleTree, before: diff.Baseline | None
) -> list[Finding]:
    """Return what stands in the settled read as it stood before the write, at the paths that it has there."""
    to_change = [finding for finding in drift if not _may_stay(finding, desired, rules, before)]
    if before is None and any(finding.changed_by in (ChangedBy.LIVE, ChangedBy.BOTH) for finding in to_change):
        return [finding for finding in to_change if _has_stayed(finding, paths.resolve(settled, finding.path), rules)]
    seen: dict[tuple[str, Op], list[Finding]] = defaultdict(list)
    for finding in to_change:
        seen[place(rules, finding.path), finding.op].append(finding)
    now = diff.findings(desired, settled, rules, before) if seen else ()
    same = [f for f in now if any(_is_same(old, f, rules) for old in seen[place(rules, f.path), f.op])]
    whole: dict[Path, Finding] = {}
    for finding in same:  # an element that should have gone is told as one
        element = _element(finding, desired) if finding.cls is FindingClass.REMOVED else None
        shown = paths.resolve(settled, element) if element is not None else ABSENT
        told = finding if element is None else finding._replace(path=element, op=Op.ELEMENT_ADDED, observed=shown)
        whole.setdefault(told.path, told)
    return list(whole.values())


def _may_stay(finding: Finding, desired: Json, rules: RuleTree, before: diff.Baseline | None) -> bool:
    """Tell whether a value that an edit was to change may look as before though the edit took.

    That is so of another spelling of the same, of nothing said in another way, where the service has always shown
    something else than what was declared, or has never shown it, and of what is no longer declared.
    """
    if finding.changed_by not in (ChangedBy.DECLARED, ChangedBy.UNKNOWN):
        return False
    if _is_left_over(finding, desired, rules):
        return True
    if finding.observed is ABSENT and finding.desired in _NOTHING:
        return True
    if finding.op is Op.CHANGED and _is_respelling(_as_difference(finding)):
        return True
    if node_at(rules, finding.path).write_only:
        return True
    applied = ABSENT if before is None else paths.resolve(before.applied, finding.path)
    if applied is ABSENT:
        return False
    if finding.baseline is ABSENT:
        return finding.observed is ABSENT  # declared before, too, and never shown
    return bool(applied != finding.baseline)


def _is_left_over(finding: Finding, desired: Json, rules: RuleTree) -> bool:
    """Tell whether something is declared no more, and is not part of a list or map that is declared as a whole."""
    if finding.cls is not FindingClass.REMOVED or _element(finding, desired) is not None:
        return False
    rule = node_at(rules, finding.path[:-1]).map_rule if finding.path else None
    return rule is None or not rule.whole


def _element(finding: Finding, desired: Json) -> Path | None:
    """Return the element that a finding is about, if the list that it stands in is declared without it."""
    for place, step in enumerate(finding.path):
        if not isinstance(step, str) and paths.resolve(desired, finding.path[: place + 1]) is ABSENT:
            return finding.path[: place + 1] if isinstance(paths.resolve(desired, finding.path[:place]), list) else None
    return None


_NOTHING: tuple[Json, ...] = (None, "", [], {})


def _as_difference(finding: Finding) -> Difference:
    return Difference(finding.path, finding.op, finding.desired, finding.observed)


def _moved_again(
    still: Sequence[Finding],
    desired: Json,
    settled: Json,
    rules: RuleTree,
    before: diff.Baseline | None,
    *,
    fills_in: bool,
) -> list[Finding]:
    """Return what is declared as before, was shown as declared before, and has another value by now.

    The service is known to take these values as they are, so this is none of its spellings: somebody else wrote between
    our write and the settled read. So is what is new and undeclared where the service fills in nothing.
    """
    if before is None:
        return []
    left = {finding.path for finding in still}
    return [
        finding
        for finding in diff.findings(desired, settled, rules, before)
        if finding.changed_by is ChangedBy.LIVE
        and finding.path not in left
        and (_was_as_declared(finding, desired, before, rules) or (not fills_in and _is_new(finding)))
    ]


def _is_new(finding: Finding) -> bool:
    return finding.cls is FindingClass.UNDECLARED and finding.op is Op.ADDED


def _was_as_declared(finding: Finding, desired: Json, before: diff.Baseline, rules: RuleTree) -> bool:
    """Tell whether the baseline had what is declared; of a new element it is asked of the list that it came into."""
    path, wanted, shown = finding.path, finding.desired, finding.baseline
    if finding.op is Op.ELEMENT_ADDED:
        path = path[:-1]
        wanted, shown = paths.resolve(desired, path), paths.resolve(before.observed, path)
    return wanted is not ABSENT and shown is not ABSENT and diff.equal_at(node_at(rules, path), wanted, shown)


def _is_same(old: Finding, now: Finding, rules: RuleTree) -> bool:
    """Return True if a finding says the same as one before the write; of elements that are missing, about the same."""
    if now.op is Op.ELEMENT_MISSING and not diff.equal_at(node_at(rules, old.path), old.desired, now.desired):
        return False
    return _has_stayed(old, now.observed, rules)


def _has_stayed(finding: Finding, now: Json, rules: RuleTree) -> bool:
    return diff.equal_at(node_at(rules, finding.path), finding.observed, now)


_UNDOING = {Op.ELEMENT_ADDED: Op.ELEMENT_MISSING, Op.ELEMENT_MISSING: Op.ELEMENT_ADDED}


def _undoing(finding: Finding) -> Difference:
    """Return the difference that would revert what the finding found moved."""
    op = _UNDOING.get(finding.op, finding.op)
    return Difference(finding.path, op, finding.observed, _wanted(finding), finding.rule, finding.pointer)


def _entry(difference: Difference, *, adopted: bool, chained: bool) -> KnownDifference:
    if adopted:
        kind = Kind.ADOPTED
    elif difference.desired is ABSENT or difference.op in (Op.ADDED, Op.ELEMENT_ADDED):
        kind = Kind.DEFAULT
    elif difference.observed is ABSENT or difference.op is Op.REORDERED or _is_respelling(difference):
        kind = Kind.NORMALISED
    else:
        kind = Kind.OVERRIDDEN
    confidence = Confidence.LOW if adopted else Confidence.HIGH if chained else Confidence.MEDIUM
    return KnownDifference(difference.path, difference.op, difference.desired, difference.observed, kind, confidence)


def _is_respelling(difference: Difference) -> bool:
    one, other = difference.desired, difference.observed
    if isinstance(one, str) and isinstance(other, str):
        return "".join(one.split()).casefold() == "".join(other.split()).casefold()
    return not isinstance(one, dict | list) and str(one) == str(other)


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
        entry
        if size <= limit
        else replace(entry, observed=normalize.digest(node_at(rules, entry.path), entry.observed))
        for entry, size in zip(known, sizes, strict=True)
    )


def _size(value: Json) -> int:
    try:
        return 0 if value is ABSENT else len(json.dumps(value, default=str))
    except RecursionError:  # nested too deep to be written down is too large to be kept
        return HARD_LIMIT_BYTES


def baseline_from(applied: Json, known: Iterable[KnownDifference]) -> diff.Baseline:
    """Rebuild the baseline from what was applied and what is known; digests stay digests."""
    listed = [Difference(entry.path, entry.op, entry.desired, entry.observed) for entry in known]
    return diff.Baseline(applied, apply_patch.apply(applied, listed))


def absorb_late(
    baseline: diff.Baseline, findings: Sequence[Finding], *, window_open: bool, touched_by_other: bool
) -> tuple[diff.Baseline, tuple[Finding, ...]]:
    """Within the settle window let undeclared values that merely appeared join the baseline; return what remains.

    A service may fill in a default some time after the operation ends. Once the window is shut, where the provider says
    that somebody else touched the resource, or where something else moved, too, the same appearance is drift.
    """
    late = [finding for finding in findings if _is_new(finding)]
    rest = tuple(finding for finding in findings if not _is_new(finding))
    if (
        not window_open
        or touched_by_other
        or not late
        or any(each.changed_by is not ChangedBy.DECLARED for each in rest)
    ):
        return baseline, tuple(findings)
    document = apply_patch.copied(baseline.observed)
    for finding in late:
        document = apply_patch.put(document, finding.path, finding.observed)
    return diff.Baseline(baseline.applied, document), rest


def accept(baseline: diff.Baseline, findings: Iterable[Finding]) -> diff.Baseline:
    """Take the observed values of these findings into the baseline because a person said so."""
    taken = [Difference(f.path, f.op, f.baseline, f.observed, f.rule, f.pointer) for f in findings]
    return diff.Baseline(baseline.applied, apply_patch.apply(baseline.observed, taken))


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


def volatile_paths(captured: Mapping[str, Sequence[Hashable]], limit: int = VOLATILE_VALUES) -> frozenset[str]:
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
