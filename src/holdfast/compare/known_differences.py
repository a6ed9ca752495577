"""Known differences: changes that the service made to our own write, stored so that they are never taken for drift.

The algebra, with S the declaration, O the observation and D(S, O) their atomic differences:

- a difference is known only if path, operation, declared value and observed value all match an entry; leaving out the
  declared value would swallow a user's edit, leaving out the observed one a third party's;
- the set is immutable between captures: an entry without a difference stays, because the service may restore its
  default at any time;
- a capture replaces the whole set with the differences of the first settled read after our write. Values that the write
  should have changed and did not become *unresolved*, never a default or an override. Changes by another writer between
  our write and that read are excluded if they can be recognised: a value that the service has shown as declared before,
  or a new value where the service fills in nothing.

The baseline document that `compare.diff` walks is the same knowledge in another shape: S with the known differences
applied. What is too large to keep is held as a digest, never dropped.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from holdfast.compare import apply_patch, diff, normalize, paths
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.rules import ListKind
from holdfast.model.absent import ABSENT
from holdfast.model.confidence import Confidence
from holdfast.model.finding import ChangedBy, Difference, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.model.path import Path, Selector, Step
from holdfast.model.record import dataclass

SOFT_LIMIT_BYTES = 8 * 1024  # one value larger than this is kept as a digest
HARD_LIMIT_BYTES = 256 * 1024  # a set larger than this has its largest values digested until it fits
VOLATILE_VALUES = 3  # distinct captured values from which a path counts as volatile


class DifferenceKind(StrEnum):
    """The origin of a known difference."""

    DEFAULT = "default"  # not declared, filled in by the service
    NORMALISED = "normalised"  # declared; the service spells it differently or dropped an empty value
    OVERRIDDEN = "overridden"  # declared; the service keeps another value
    ADOPTED = "adopted"  # present at the first read
    LATE = "late"  # appeared within the settle window


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """One known difference: four fields to match, and its origin."""

    path: Path
    op: Op
    desired: Json
    observed: Json
    kind: DifferenceKind
    confidence: Confidence = Confidence.HIGH


@dataclass(frozen=True, slots=True)
class UnresolvedChange:
    """A value that our write should have changed and did not; reported at every check."""

    path: Path
    drifted: Json
    wanted: Json


@dataclass(frozen=True, slots=True)
class Capture:
    """The result of the settled read after a write."""

    baseline: diff.Baseline
    known: tuple[KnownDifference, ...]
    unresolved: tuple[UnresolvedChange, ...] = ()
    side_effects: tuple[Finding, ...] = ()

    @property
    def digested(self) -> list[str]:
        """Return the paths whose values are stored as a digest because of their size."""
        return [paths.format_path(entry.path) for entry in self.known if isinstance(entry.observed, normalize.Digest)]


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
    """Return the text of a path, with a wildcard for indices of lists whose order does not matter."""
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
    """Capture the known differences of a settled read; `drift` has the findings of the read before our write.

    `chained`: the service guaranteed that no other write came between that read and our write. Otherwise a change of
    that moment may be among the differences, so their confidence is lower. If the service fills in nothing
    (`fills_in` is False), a new undeclared value was written by another writer.
    """
    still = _unchanged(drift, desired, settled, rules, before)
    unresolved = tuple(UnresolvedChange(finding.path, finding.observed, _wanted(finding)) for finding in still)
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
    """Return the findings of values that were removed from the declaration and that the write did not remove.

    Such a value becomes a default, because no declared field can change it, but it is reported.
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
    if finding.changed_by is ChangedBy.DECLARED:  # an element that is no longer declared
        return ABSENT
    return finding.baseline if finding.baseline is not ABSENT or finding.desired is ABSENT else finding.desired


_EDITED = (ChangedBy.DECLARED, ChangedBy.BOTH, ChangedBy.UNKNOWN)


def _unchanged(
    drift: Sequence[Finding], desired: Json, settled: Json, rules: RuleTree, before: diff.Baseline | None
) -> list[Finding]:
    """Return the findings that the write left unchanged, with their paths in the settled read."""
    to_change = [finding for finding in drift if not _may_stay(finding, desired, rules, before)]
    if before is None and any(finding.changed_by in (ChangedBy.LIVE, ChangedBy.BOTH) for finding in to_change):
        return [finding for finding in to_change if _has_stayed(finding, paths.resolve(settled, finding.path), rules)]
    seen: dict[tuple[str, Op], list[Finding]] = defaultdict(list)
    for finding in to_change:
        seen[place(rules, finding.path), finding.op].append(finding)
    now = diff.findings(desired, settled, rules, before) if seen else ()
    same = [f for f in now if any(_is_same(old, f, rules) for old in seen[place(rules, f.path), f.op])]
    whole: dict[Path, Finding] = {}
    for finding in same:  # an element that should have been removed is one finding
        element = _element(finding, desired) if finding.cls is FindingClass.REMOVED else None
        shown = paths.resolve(settled, element) if element is not None else ABSENT
        told = finding if element is None else finding._replace(path=element, op=Op.ELEMENT_ADDED, observed=shown)
        whole.setdefault(told.path, told)
    return list(whole.values())


def _may_stay(finding: Finding, desired: Json, rules: RuleTree, before: diff.Baseline | None) -> bool:
    """Return True if a value may look unchanged although the edit took effect.

    This holds for another spelling of the same value, another form of empty, a value that the service never shows or
    has always shown differently from the declaration, and a value that is no longer declared.
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
        return finding.observed is ABSENT  # declared before and never shown
    return bool(applied != finding.baseline)


def _is_left_over(finding: Finding, desired: Json, rules: RuleTree) -> bool:
    """Return True if a value is no longer declared and its list or mapping is not declared as a whole."""
    if finding.cls is not FindingClass.REMOVED or _element(finding, desired) is not None:
        return False
    rule = node_at(rules, finding.path[:-1]).map_rule if finding.path else None
    return rule is None or not rule.whole


def _element(finding: Finding, desired: Json) -> Path | None:
    """Return the path of the element that a finding is in, if its list is declared without that element."""
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
    """Return the findings that another writer caused between our write and the settled read.

    The service has shown these values as declared before, so another value is not its own spelling. If the service
    fills in nothing, new undeclared values belong here as well.
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
    """Return True if the baseline had the declared value; for a new element, if it had the declared list."""
    path, wanted, shown = finding.path, finding.desired, finding.baseline
    if finding.op is Op.ELEMENT_ADDED:
        path = path[:-1]
        wanted, shown = paths.resolve(desired, path), paths.resolve(before.observed, path)
    return wanted is not ABSENT and shown is not ABSENT and diff.equal_at(node_at(rules, path), wanted, shown)


def _is_same(old: Finding, now: Finding, rules: RuleTree) -> bool:
    """Return True if a finding equals one from before the write; missing elements must be the same element."""
    if now.op is Op.ELEMENT_MISSING and not diff.equal_at(node_at(rules, old.path), old.desired, now.desired):
        return False
    return _has_stayed(old, now.observed, rules)


def _has_stayed(finding: Finding, now: Json, rules: RuleTree) -> bool:
    return diff.equal_at(node_at(rules, finding.path), finding.observed, now)


_UNDOING = {Op.ELEMENT_ADDED: Op.ELEMENT_MISSING, Op.ELEMENT_MISSING: Op.ELEMENT_ADDED}


def _undoing(finding: Finding) -> Difference:
    """Return the difference that reverts a finding."""
    op = _UNDOING.get(finding.op, finding.op)
    return Difference(finding.path, op, finding.observed, _wanted(finding), finding.rule, finding.pointer)


def _entry(difference: Difference, *, adopted: bool, chained: bool) -> KnownDifference:
    if adopted:
        kind = DifferenceKind.ADOPTED
    elif difference.desired is ABSENT or difference.op in (Op.ADDED, Op.ELEMENT_ADDED):
        kind = DifferenceKind.DEFAULT
    elif difference.observed is ABSENT or difference.op is Op.REORDERED or _is_respelling(difference):
        kind = DifferenceKind.NORMALISED
    else:
        kind = DifferenceKind.OVERRIDDEN
    confidence = Confidence.LOW if adopted else Confidence.HIGH if chained else Confidence.MEDIUM
    return KnownDifference(difference.path, difference.op, difference.desired, difference.observed, kind, confidence)


def _is_respelling(difference: Difference) -> bool:
    one, other = difference.desired, difference.observed
    if isinstance(one, str) and isinstance(other, str):
        return "".join(one.split()).casefold() == "".join(other.split()).casefold()
    return not isinstance(one, dict | list) and str(one) == str(other)


def _bounded(known: tuple[KnownDifference, ...], rules: RuleTree) -> tuple[KnownDifference, ...]:
    """Replace large values by their digests: each value over the soft limit, then the largest until the set fits."""
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
    except RecursionError:  # too deep to serialise counts as too large to store
        return HARD_LIMIT_BYTES


def absorb_late(
    baseline: diff.Baseline, findings: Sequence[Finding], *, window_open: bool, touched_by_other: bool
) -> tuple[diff.Baseline, tuple[Finding, ...]]:
    """Add undeclared values that appeared within the settle window to the baseline; return it and the other findings.

    A service may fill in a default some time after the operation ends. A value is drift if it appears after the window,
    if the provider reports another writer, or if another value changed at the same time.
    """
    late = [finding for finding in findings if _is_new(finding)]
    rest = tuple(finding for finding in findings if not _is_new(finding))
    if (
        not window_open
        or touched_by_other
        or not late
        or any(finding.changed_by is not ChangedBy.DECLARED for finding in rest)
    ):
        return baseline, tuple(findings)
    document = apply_patch.copied(baseline.observed)
    for finding in late:
        document = apply_patch.put(document, finding.path, finding.observed)
    return diff.Baseline(baseline.applied, document), rest


def absorb_filled_in(
    baseline: diff.Baseline, findings: Sequence[Finding], rules: RuleTree
) -> tuple[diff.Baseline, tuple[Finding, ...]]:
    """Add values that the service was still to fill in to the baseline; return it and the other findings.

    The time does not matter, and neither do other changes. Once a value is there, a change of it is drift.
    """
    filled_in = [finding for finding in findings if is_filled_in(finding, rules)]
    if not filled_in:
        return baseline, tuple(findings)
    return accept(baseline, filled_in), tuple(finding for finding in findings if finding not in filled_in)


def is_filled_in(finding: Finding, rules: RuleTree) -> bool:
    """Return True if a finding is the first value of a field that the service fills in."""
    if finding.op not in (Op.ADDED, Op.ELEMENT_ADDED) or finding.changed_by is not ChangedBy.LIVE:
        return False
    return finding.baseline is ABSENT and node_at(rules, finding.path).filled_in


def accept(baseline: diff.Baseline, findings: Iterable[Finding]) -> diff.Baseline:
    """Return the baseline with the observed values of findings that a person accepted.

    Where both sides changed, the declared value counts as applied: the difference between the two is what was accepted.
    An index names an element of the live list alone, so the declaration of such an element stays as it was applied.
    """
    accepted = list(findings)
    taken = [Difference(f.path, f.op, f.baseline, f.observed, f.rule, f.pointer) for f in accepted]
    edited = [f for f in accepted if f.changed_by is ChangedBy.BOTH and int not in map(type, f.path)]
    applied = apply_patch.copied(baseline.applied) if edited else baseline.applied
    for finding in edited:
        applied = apply_patch.put(applied, finding.path, finding.desired)
    return diff.Baseline(applied, apply_patch.apply(baseline.observed, taken))


@dataclass(frozen=True, slots=True)
class Validity:
    """The conditions of a capture; it is void if one of them changes."""

    identity: str | None  # the service's own id or creation time of the object
    api_version: str | None = None
    checksum: str | None = None


def invalid_because(captured: Validity, current: Validity) -> str | None:
    """Return the reason that a capture is void, or None. A comparator or profile upgrade is not a reason."""
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
    """Split findings into kept and quarantined ones: undeclared values at volatile paths, which no write can settle."""
    kept: list[Finding] = []
    apart: list[Finding] = []
    for finding in findings:
        is_volatile = finding.desired is ABSENT and paths.format_path(finding.path) in volatile
        (apart if is_volatile else kept).append(finding)
    return kept, apart
