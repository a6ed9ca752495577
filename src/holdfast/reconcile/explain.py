"""Explanation of one resource and its findings, gathered from the store.

It makes no API calls. The explanation of a finding has the facts that a person needs to decide: the change, its
start, the rule that makes it count, the most likely cause, the next action and its time, the reason of a hold, and the
ways to suppress or resolve the finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from holdfast.compare import known_differences, paths, profiles
from holdfast.compare.paths import Pattern
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import cause_analysis
from holdfast.policy.cause_analysis import CauseFacts, Explained, Onset
from holdfast.reconcile.policy_evaluation import CONTENTION
from holdfast.store.governance import CorrectionRecord, Quarantine
from holdfast.store.protocol import BlobStore, Store
from holdfast.store.records import DecisionRecord, FindingRecord
from holdfast.store.state import Digest, ResourceState

HISTORY = 50  # corrections of the resource that may explain a cause


@dataclass(frozen=True, slots=True)
class ExplainedFinding:
    """One finding with its cause, its onset and its quarantine."""

    record: FindingRecord
    cause: Explained
    onset: Onset
    quarantine: Quarantine | None = None

    @property
    def path(self) -> str:
        """The path of the finding."""
        return paths.format_path(self.record.finding.path)


@dataclass(frozen=True, slots=True)
class ExplainedRule:
    """The rule that applies to a path, whether the path differs or not."""

    path: str
    says: str  # compared, hidden, ...
    rule: str


@dataclass(frozen=True, slots=True)
class Story:
    """All known facts about one resource."""

    state: ResourceState
    findings: tuple[ExplainedFinding, ...] = ()
    known: Sequence[Mapping[str, Json]] = ()
    unresolved: Sequence[str] = ()
    rule: ExplainedRule | None = None  # for the requested path
    decision: DecisionRecord | None = None
    outcome: Mapping[str, Json] | None = None  # the stored verdict and decision
    corrections: Sequence[CorrectionRecord] = ()


async def tell(store: Store, state: ResourceState, pattern: str | None) -> Story:
    """Return the known facts about a resource, or about one of its paths."""
    address = state.address
    matcher = paths.parse_pattern(pattern) if pattern else None
    everything = await store.findings()
    quarantines = {quarantine.path: quarantine for quarantine in await store.quarantines([address])}
    decisions = await store.decisions(address, 1)
    inputs = await store.document(decisions[0].inputs) if decisions else {}
    rules = inputs.get("rules") or state.applied.rules
    changed = bool(state.applied.rules and rules != state.applied.rules)
    corrections = await store.corrections([address], limit=HISTORY)
    told = tuple(
        _told(record, address, everything, quarantines, CauseFacts(corrections, rules_changed=changed))
        for record in everything.get(address, [])
        if matcher is None or matcher.matches(record.finding.path, below=True)
    )
    known = (
        await store.document(state.applied.known_differences)
        if state.applied.known_differences
        else {"known": [], "unresolved": []}
    )
    return Story(
        state,
        told,
        [entry for entry in known["known"] if _is_about(matcher, entry["path"])],
        known["unresolved"],
        await _rule_at(store, replace(state, applied=replace(state.applied, rules=rules)), pattern)
        if pattern
        else None,
        decisions[0] if decisions else None,
        await store.document(decisions[0].output) if decisions else None,
        corrections,
    )


def _is_about(matcher: Pattern | None, path: str) -> bool:
    return matcher is None or matcher.matches(paths.parse_path(path), below=True)


def _told(
    record: FindingRecord,
    address: Address,
    everything: Mapping[Address, Sequence[FindingRecord]],
    quarantines: Mapping[str, Quarantine],
    evidence: CauseFacts,
) -> ExplainedFinding:
    finding = record.finding
    quarantine = quarantines.get(paths.format_path(finding.path))
    contested = quarantine is not None and quarantine.cause == CONTENTION
    evidence = replace(evidence, contested=contested, alike=_alike(finding, address, everything))
    return ExplainedFinding(
        record, cause_analysis.explain(finding, evidence), Onset(record.clean_at, record.first_seen), quarantine
    )


def _alike(finding: Finding, address: Address, everything: Mapping[Address, Sequence[FindingRecord]]) -> int:
    """Return the number of other resources of the kind with the same finding."""
    return sum(
        any(_is_same(record.finding, finding) for record in records)
        for other, records in everything.items()
        if other != address and other.kind == address.kind
    )


def _is_same(one: Finding, other: Finding) -> bool:
    if one.path != other.path or one.op is not other.op or one.changed_by is ChangedBy.DECLARED:
        return False
    return (
        one.observed is other.observed if ABSENT in (one.observed, other.observed) else one.observed == other.observed
    )


async def _rule_at(store: BlobStore, state: ResourceState, path: str) -> ExplainedRule | None:
    """Return the rule that applies to a path, with or without a finding there, or None if it is not known."""
    if state.applied.rules is None or "*" in path:
        return None
    wanted = [
        digest
        for digest in (state.applied.rules, state.declared.document, state.observed.document)
        if digest is not None
    ]
    documents = await store.documents(wanted)
    raw = documents.get(state.applied.rules)
    if raw is None:
        return None
    desired, observed = _document(documents, state.declared.document), _document(documents, state.observed.document)
    tree = profiles.stack([profiles.build(item) for item in raw], None).tree(desired, observed)
    asked = paths.parse_path(path)
    nodes = [known_differences.node_at(tree, asked[:length]) for length in range(len(asked) + 1)]
    node = next((item for item in nodes if item.hidden), nodes[-1])  # a rule that hides a path hides all paths below it
    label = node.labels.get("class") or node.labels.get("comparator") or "compared unless a rule says otherwise"
    if node.hidden:
        says = f"hidden ({node.cls.value if node.cls else ''}): neither compared nor written"
    elif node.hidden_unless_declared and paths.resolve(desired, paths.parse_path(path)) is ABSENT:
        says = f"hidden unless declared ({node.cls.value if node.cls else ''})"
    else:
        says = f"compared{f' ({node.cls.value})' if node.cls else ''}"
    return ExplainedRule(path, says, label)


def _document(documents: Mapping[Digest, Json], digest: Digest | None) -> Json:
    return ABSENT if digest is None else documents.get(digest, ABSENT)
