"""Judging: from a reading to a verdict, with what is remembered of the resource. Decides nothing and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from holdfast.compare import diff, known_differences, paths, verdict_rules
from holdfast.compare.known_differences import Validity
from holdfast.compare.rule_tree import RuleTree
from holdfast.errors import StoreError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure, Reading
from holdfast.model.resource import ManagementPolicy
from holdfast.model.verdict import LASTING, Status, Suppressed, SuppressionReason, Verdict
from holdfast.policy.decide import ReconcileMode
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile import fault_isolation, rule_migration
from holdfast.reconcile.resolved_resource import ResolvedResource, digest_of
from holdfast.store.state import DeclaredState, Digest, ResourceState

Signature = Callable[[Json], str | None]

DAMAGED = "the stored baseline is damaged: its checksum does not match"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is true of a resource, before it is asked what to do about it."""

    prepared: ResolvedResource
    at: float
    reading: Reading | Unchanged
    observed: Json  # as it was read, redacted; ABSENT if nothing was found
    tree: RuleTree | None  # None: nothing was compared
    verdict: Verdict
    baseline: diff.Baseline | None = None
    secret_rules: Json = None
    observed_digest: Digest | None = None
    baseline_digest: Digest | None = None
    unresolved: frozenset[str] = frozenset()  # paths that our last write failed to revert
    lapsed: str = ""  # waivers that have run out, as a sentence
    pinned: frozenset[str] = frozenset()  # of these, what did not go back though its baseline value was sent
    invalid: str = ""  # why what was known of it counts no more, as a sentence
    carried_over: bool = False  # in sync by what it shows in the version of the API that what is known was learnt in
    platform: Mapping[str, str] = field(
        default_factory=dict
    )  # paths that the platform itself moved, and why it seems so

    @property
    def is_still(self) -> bool:
        """Tell whether nothing has moved since the last look, so that there was nothing to compare or decide."""
        return isinstance(self.reading, Unchanged)

    @property
    def joined(self) -> list[Suppressed]:
        """Return the defaults that joined the baseline with this look."""
        return [each for each in self.verdict.suppressed if each.because is SuppressionReason.LATE]

    @property
    def is_fast(self) -> bool:
        """Tell whether nothing even had to be parsed to know that."""
        return isinstance(self.reading, Unchanged) and not self.reading.parsed

    @property
    def before(self) -> ResourceState:
        """Return what was remembered before this look."""
        declaration = self.prepared.declaration
        return self.prepared.state or ResourceState(declaration.address, declared=DeclaredState(declaration.provider))


STILL = Verdict(Status.IN_SYNC, "nothing moved since the last check")


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """What a judgement needs besides the thing itself."""

    documents: Mapping[Digest, Json]  # what the verdict may depend on
    now: float
    signature: Signature | None = None  # tells who wrote a document; None: nobody can
    touched: bool = False  # the provider says that somebody else has written since we did


def judge(
    item: ResolvedResource, reading: Reading | Unchanged, seen: Digest | None, means: EvaluationContext
) -> Evaluation:
    """Say what a reading means."""
    documents, now = means.documents, means.now
    if isinstance(reading, Unchanged):
        return Evaluation(item, now, reading, ABSENT, None, STILL)
    state = item.state
    damaged = _is_damaged(item, reading, documents, seen)
    invalid = DAMAGED if damaged else _invalid(item, reading)
    applied, baseline = _remembered(item, reading, documents, seen, damaged=damaged)
    was_applied = state is not None and state.applied.document is not None
    baseline_digest = (
        state.applied.baseline if state is not None and was_applied and isinstance(reading, Found) else None
    )
    if invalid:
        baseline, baseline_digest = None, None
    tree, secret_rules = item.rules_for(reading.document if isinstance(reading, Found) else ABSENT)
    if item.declaration.policy is ManagementPolicy.UNMANAGED:
        verdict = _presence_only(reading)
    elif item.settings.reconcile_mode is ReconcileMode.PUT_ONLY and isinstance(reading, Found):
        verdict = verdict_rules.uncompared()
    elif not invalid and seen is not None and is_baseline(item, seen):
        verdict = verdict_rules.conclude(())  # neither side moved, so there is nothing to compare
    else:
        verdict = verdict_rules.judge(reading, item.desired, tree, applied=applied, baseline=baseline)
        verdict = (
            rule_migration.without_newly_visible(item, verdict, documents) if isinstance(reading, Found) else verdict
        )
        verdict = verdict_rules.without_removed(verdict) if _is_only_observed(item) else verdict
        touched = means.touched or _is_touched(reading, baseline, means.signature)
        verdict, settled = _absorb_late(verdict, baseline, item, now, touched_by_other=touched)
        if settled is not baseline:
            baseline, baseline_digest = settled, digest_of(settled.observed) if settled else None
    observed = reading.document if isinstance(reading, Found) else ABSENT
    unresolved = _of_last_write("unresolved", item, documents)
    pinned = _of_last_write("pinned", item, documents)
    return Evaluation(
        item, now, reading, observed, tree, verdict, baseline, secret_rules, seen, baseline_digest, unresolved,
        pinned=pinned, invalid=invalid,
    )  # fmt: skip


def _invalid(item: ResolvedResource, reading: Reading | Unchanged) -> str:
    """Say why what is known of a resource is not about what was read: that has been made since, under the same id.

    Where either side has no identity, or no version, nothing speaks against it.
    """
    state = item.state
    if state is None or state.applied.baseline is None or not isinstance(reading, Found):
        return ""
    was = Validity(state.applied.identity or reading.identity, state.applied.api_version or reading.version)
    now = Validity(reading.identity or was.identity, reading.version or was.api_version)
    return known_differences.invalid_because(was, now) or ""


def _of_last_write(what: str, item: ResolvedResource, documents: Mapping[Digest, Json]) -> frozenset[str]:
    """Return the paths that our last write failed to revert, unless the declaration was edited since."""
    state = item.state
    if state is None or state.applied.known_differences is None or state.declared.document != item.desired_digest:
        return frozenset()
    known = documents.get(state.applied.known_differences)
    return frozenset(known.get(what, ())) if known else frozenset()


def _is_damaged(
    item: ResolvedResource, reading: Reading | Unchanged, documents: Mapping[Digest, Json], seen: Digest | None
) -> bool:
    """Tell whether the baseline is lost, or is not what was kept; then it says nothing, and must not be believed."""
    state = item.state
    if (
        state is None
        or state.applied.document is None
        or state.applied.baseline is None
        or not isinstance(reading, Found)
    ):
        return False
    if seen is not None and is_baseline(item, seen):
        return False
    kept = documents.get(state.applied.baseline, ABSENT)
    return kept is ABSENT or digest_of(kept) != state.applied.baseline


def _remembered(
    item: ResolvedResource,
    reading: Reading,
    documents: Mapping[Digest, Json],
    seen: Digest | None,
    *,
    damaged: bool = False,
) -> tuple[Json, diff.Baseline | None]:
    """Return what was applied and the baseline, as far as the verdict can depend on their contents."""
    state = item.state
    if state is None or state.applied.document is None:
        return ABSENT, None
    # One and the same object where nothing was edited, which the comparison sees at a glance.
    same = state.applied.document == item.desired_digest
    if not isinstance(reading, Found):
        return item.desired, None
    applied = item.desired if same else _kept(documents, state.applied.document, item)
    if state.applied.baseline is None or damaged:
        return applied, None
    if seen is not None and is_baseline(item, seen):  # the very document that was just read
        return applied, diff.Baseline(applied, reading.document)
    return applied, diff.Baseline(applied, _kept(documents, state.applied.baseline, item))


def is_settling(item: ResolvedResource, now: float) -> bool:
    """Tell whether a service may still be filling in what it makes of our last write, with nothing else moved."""
    state = item.state
    if state is None or state.applied.settle_until is None or not item.kind.fills_in:
        return False
    return now < state.applied.settle_until and state.observed.status not in _MOVED


_MOVED = (Status.DRIFTED, Status.CONFLICTED)  # then what appears beside it may be of the same hand


def _is_only_observed(item: ResolvedResource) -> bool:
    observes = item.settings.reconcile_mode is ReconcileMode.OBSERVE
    return observes or item.declaration.policy is ManagementPolicy.OBSERVED


def _is_touched(reading: Reading, baseline: diff.Baseline | None, signature: Signature | None) -> bool:
    """Tell whether what was read bears another name than what was read back after our own write."""
    if signature is None or baseline is None or not isinstance(reading, Found):
        return False
    ours, theirs = signature(baseline.observed), signature(reading.document)
    return ours is not None and theirs is not None and ours != theirs


def _absorb_late(
    verdict: Verdict, baseline: diff.Baseline | None, item: ResolvedResource, now: float, *, touched_by_other: bool
) -> tuple[Verdict, diff.Baseline | None]:
    """Let what the service filled in after our write join the baseline, and tell of it this once."""
    if baseline is None or not verdict.findings or not is_settling(item, now):
        return verdict, baseline
    after, rest = known_differences.absorb_late(
        baseline, verdict.findings, window_open=True, touched_by_other=touched_by_other
    )
    if after is baseline:
        return verdict, baseline
    joined = (each for each in verdict.findings if each not in rest)
    suppressed = tuple(
        Suppressed(SuppressionReason.LATE, paths.format_path(each.path), _JOINED, each) for each in joined
    )
    return replace(verdict_rules.conclude(rest), suppressed=suppressed), after


_JOINED = "it appeared after our write, as a default of the service does, and joins the baseline"


def _kept(documents: Mapping[Digest, Json], digest: Digest, item: ResolvedResource) -> Json:
    """Return a remembered document; one that is lost must stop the check, for the world is no substitute for it."""
    try:
        return documents[digest]
    except KeyError:
        message = f"the store has lost document {digest} of {item.declaration.address}; restore it from a backup"
        raise StoreError(message) from None


def _presence_only(reading: Reading) -> Verdict:
    match reading:
        case Found():
            return Verdict(Status.IN_SYNC, "there; unmanaged resources are not compared")
        case NotFound():
            return Verdict(Status.MISSING, "unmanaged, and not there")
        case ReadFailure(trouble=trouble, detail=detail):
            return Verdict(Status.UNKNOWN, f"could not be read ({trouble.value}){': ' + detail if detail else ''}")


def observed_digest(item: ResolvedResource, reading: Reading | Unchanged) -> Digest | None:
    """Return the digest of what was found; the last one holds if not even the raw bytes moved."""
    if not isinstance(reading, Found):
        return None
    state = item.state
    if state is None or state.applied.rules != item.rules_digest or item.secrets or reading.raw_digest is None:
        return digest_of(reading.document)
    same = reading.raw_digest == state.observed.raw_digest and state.observed.document is not None
    return state.observed.document if same else digest_of(reading.document)


def digested(item: ResolvedResource, reading: Reading | Unchanged) -> tuple[Reading | Unchanged, Digest | None]:
    """Return a reading with the digest of what was found; what has none is unreadable."""
    try:
        return reading, observed_digest(item, reading)
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        return fault_isolation.unreadable(error, item.declaration.address), None


def unmoved(item: ResolvedResource, reading: Reading | Unchanged, seen: Digest | None) -> Reading | Unchanged:
    """Return a whole reading of something at rest as the news that it is: none, if its hash is that of the baseline.

    For what a hint may be offered for (see `looking.hint`). Then all that a check would find, decide and remember is
    what the last one did, but for its times and tags. What a person accepted is counted at every look.
    """
    state = item.state
    if seen is None or state is None or state.observed.document != seen or not is_baseline(item, seen):
        return reading
    if (
        not isinstance(reading, Found)
        or _invalid(item, reading)
        or any(each[0] not in LASTING for each in state.observed.suppressed)
    ):
        return reading
    return Unchanged(reading.etag, reading.raw_digest, parsed=True)


def is_baseline(item: ResolvedResource, seen: Digest) -> bool:
    """Tell by hashes alone that neither side moved; `stateHash: false` has everything compared instead."""
    state = item.state
    if state is None or item.secrets or not item.settings.state_hash:
        return False
    return state.applied.document == item.desired_digest and state.applied.baseline == seen
