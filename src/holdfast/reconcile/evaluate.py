"""From an observation to a verdict, with the known facts about the resource. Decides nothing and writes nothing.

`is_unchanged` ends an evaluation early. Otherwise the pure steps of `STEPS` run in their order over one `Evaluation`,
and the verdict is concluded once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from holdfast.compare import paths, verdict_rules
from holdfast.errors import StoreError
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadResult
from holdfast.model.resource import ManagementPolicy
from holdfast.model.verdict import INHERITED, LASTING, Status, Suppressed, SuppressionReason, Verdict
from holdfast.policy.decide import ReconcileMode
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile.evaluation import Evaluation, EvaluationInput, Known, Observation, Signature
from holdfast.reconcile.resolved_resource import ResolvedResource, digest_of
from holdfast.store.governance import AcceptedValue
from holdfast.store.state import Digest, ResourceState, is_idle

if TYPE_CHECKING:
    from holdfast.compare import diff

DAMAGED: Final = "the stored baseline is damaged: its checksum does not match"
_JOINED: Final = "it appeared after our write, as a default of the service does, and joins the baseline"
_IGNORED: Final = "ignored by policy: neither compared nor written"
_ALWAYS_SENT: Final = (ReconcileMode.PUT_ONLY, ReconcileMode.SHADOW)
_DRIFTED: Final = (Status.DRIFTED, Status.CONFLICTED)  # then a new field may be of the same writer


Step = Callable[[Evaluation, EvaluationInput], Evaluation]


# -- unchanged


def is_unchanged(item: ResolvedResource, state: ResourceState | None, seen: Observation | None = None) -> bool:
    """Return True if the last verdict still holds: in sync, with the same declaration, rules and settings.

    Without `seen` the service answers for the live side, by its etag or by the digest of the raw bytes. With `seen`
    the canonical hash of the reading must be that of the baseline. `item` may be another resource of the same kind
    and settings. Then the caller knows that the declaration is the same.

    A list scan asks a store for the resources of a kind that are idle in the same sense.
    """
    if state is None or not is_idle(state):
        return False
    if item.settings.reconcile_mode in _ALWAYS_SENT:  # a resource that is sent at every turn is compared every time
        return False
    if state.applied.rules != item.rules.digest:
        return False
    declared = item.declaration
    if state.address == declared.address and not (
        state.declared.document == item.desired_digest
        and state.declared.options == item.options
        and state.declared.labels == declared.labels
        and state.declared.depends_on == item.depends_on
        and state.declared.provider == declared.provider
        and (state.declared.source or "") == str(declared.location)
    ):
        return False
    if seen is None:
        return True
    if seen.digest is None or state.observed.document != seen.digest or not _is_baseline(item, seen.digest):
        return False
    return not _invalid(item, seen.reading) and all(pair[0] in LASTING for pair in state.observed.suppressed)


def _is_baseline(item: ResolvedResource, digest: Digest | None) -> bool:
    """Return True if hashes alone say that neither side changed; `stateHash: false` has everything compared."""
    state = item.state
    if digest is None or state is None or item.secrets.paths or not item.settings.state_hash:
        return False
    return state.applied.document == item.desired_digest and state.applied.baseline == digest


def observe_digest(item: ResolvedResource, reading: ReadResult | Unchanged) -> Observation:
    """Return a reading with the digest of its document; the last digest holds if the raw bytes are the same."""
    if not isinstance(reading, Found):
        return Observation(reading)
    state = item.state
    if (
        state is not None
        and state.observed.document is not None
        and reading.raw_digest is not None
        and reading.raw_digest == state.observed.raw_digest
        and state.applied.rules == item.rules.digest
        and not item.secrets.paths
    ):
        return Observation(reading, state.observed.document)
    return Observation(reading, digest_of(reading.document))


def wanted_documents(item: ResolvedResource, seen: Observation) -> set[Digest]:
    """Return the stored documents that the verdict may depend on."""
    state = item.state
    if state is None or seen.digest is None:
        return set()
    is_migrated = item.is_under_other_rules
    if not is_migrated and _is_baseline(item, seen.digest):
        return set()
    wanted = {state.applied.document, state.applied.baseline, state.applied.known_differences}
    if is_migrated or (item.is_only_seen and inherited(state)):
        wanted |= {state.applied.rules, state.observed.document, state.declared.document}
    return {digest for digest in wanted if digest is not None}


# -- the steps


def migrate_rules(evaluation: Evaluation, evidence: EvaluationInput) -> Evaluation:
    """Take a resource over from the rules that it was last evaluated by, without changing its verdict."""
    if evaluation.observation.digest is None or not evaluation.resource.is_under_other_rules:
        return evaluation
    from holdfast.reconcile import rule_migration  # noqa: PLC0415 - only after an upgrade or an edit of profiles

    return replace(evaluation, resource=rule_migration.succeeded(evaluation.resource, evidence.documents))


def recall(evaluation: Evaluation, evidence: EvaluationInput) -> Evaluation:
    """Add the rules in force, and the facts known from our last write."""
    from holdfast.compare import diff  # noqa: PLC0415 - only where something changed

    item, seen = evaluation.resource, evaluation.observation
    state, migration = item.state, item.migration
    tree, secret_rules = item.rules_for(seen.document)
    evaluation = replace(evaluation, tree=tree, secret_rules=secret_rules)
    if state is None:
        return evaluation
    documents = {**evidence.documents, **migration.documents} if migration is not None else evidence.documents
    unresolved, pinned = _of_last_write(item, documents)
    known = Known(unresolved=unresolved, pinned=pinned)
    if state.applied.document is None:
        return replace(evaluation, known=replace(known, invalid=_invalid(item, seen.reading)))
    if not isinstance(seen.reading, Found):
        return replace(evaluation, known=replace(known, applied=item.desired))
    is_baseline = _is_baseline(item, seen.digest)
    kept = (
        documents.get(state.applied.baseline, ABSENT)
        if state.applied.baseline is not None and not is_baseline
        else ABSENT
    )
    is_damaged = (
        state.applied.baseline is not None
        and not is_baseline
        and (kept is ABSENT or digest_of(kept) != state.applied.baseline)
    )
    # One and the same object where nothing was edited, which the comparison sees at once.
    same = state.applied.document == item.desired_digest
    applied = item.desired if same else _kept(documents, state.applied.document, item)
    invalid = DAMAGED if is_damaged else _invalid(item, seen.reading)
    if invalid or state.applied.baseline is None:
        return replace(evaluation, known=replace(known, applied=applied, invalid=invalid))
    baseline = diff.Baseline(applied, seen.document if is_baseline else kept)
    known = replace(known, applied=applied, baseline=baseline, baseline_digest=state.applied.baseline)
    return replace(evaluation, known=known)


def compare(evaluation: Evaluation, _: EvaluationInput) -> Evaluation:
    """Compare three ways; known differences, which the baseline has, are subtracted."""
    from holdfast.compare import diff  # noqa: PLC0415 - only where something changed

    item, known, tree = evaluation.resource, evaluation.known, evaluation.tree
    if not isinstance(evaluation.observation.reading, Found) or not _is_compared(item):
        return evaluation
    if not known.invalid and _is_baseline(item, evaluation.observation.digest):
        return evaluation  # neither side changed, so there is nothing to compare
    assert tree is not None
    findings = tuple(diff.findings(item.desired, evaluation.observation.document, tree, known.baseline))
    has_moved = bool(findings) and known.baseline is None
    has_moved = has_moved and verdict_rules.has_moved(item.desired, known.applied, tree)
    return replace(evaluation, findings=findings, intent_moved=has_moved)


def drop_newly_visible(evaluation: Evaluation, evidence: EvaluationInput) -> Evaluation:
    """Drop findings that only the new rules see, if the resource has no baseline that they could join."""
    if not evaluation.findings or not evaluation.resource.is_only_seen or not told(evaluation.resource):
        return evaluation
    from holdfast.reconcile import rule_migration  # noqa: PLC0415 - only after an upgrade or an edit of profiles

    live = rule_migration.without_newly_visible(evaluation.resource, evaluation.findings, evidence.documents)
    return _with_fewer(evaluation, live)


def drop_removed(evaluation: Evaluation, _: EvaluationInput) -> Evaluation:
    """Drop findings of fields whose declaration was removed, if no write ever follows that would remove them."""
    item = evaluation.resource
    is_observed = item.settings.reconcile_mode is ReconcileMode.OBSERVE
    if not evaluation.findings or not (is_observed or item.declaration.policy is ManagementPolicy.OBSERVED):
        return evaluation
    return _with_fewer(evaluation, verdict_rules.counted(evaluation.findings))


def absorb_late_defaults(evaluation: Evaluation, evidence: EvaluationInput) -> Evaluation:
    """Let values that the service filled in after our write join the baseline, and report them once."""
    from holdfast.compare import known_differences  # noqa: PLC0415 - only where something changed

    known, baseline = evaluation.known, evaluation.known.baseline
    if baseline is None or not evaluation.findings:
        return evaluation
    assert evaluation.tree is not None
    after, rest = known_differences.absorb_filled_in(baseline, evaluation.findings, evaluation.tree)
    if rest and is_settling(evaluation.resource, evidence.now):
        touched = evidence.touched or _is_touched(evaluation, baseline, evidence.signature)
        after, rest = known_differences.absorb_late(after, rest, window_open=True, touched_by_other=touched)
    if after is baseline:
        return evaluation
    joined = tuple(
        Suppressed(SuppressionReason.LATE, paths.format_path(finding.path), _JOINED, finding)
        for finding in evaluation.findings
        if finding not in rest
    )
    known = replace(known, baseline=after, baseline_digest=digest_of(after.observed))
    return replace(evaluation, known=known, findings=tuple(rest), suppressed=(*evaluation.suppressed, *joined))


def migrate_version(evaluation: Evaluation, evidence: EvaluationInput) -> Evaluation:
    """Keep the verdict of a resource that was in sync in the old API version. Its baseline is learnt in the new one."""
    if evidence.newer is None or evaluation.findings or not isinstance(evaluation.observation.reading, Found):
        return evaluation
    mode, migration = evaluation.resource.settings.reconcile_mode, evaluation.resource.migration
    if mode is ReconcileMode.PUT_ONLY or (migration is not None and migration.unreadable):
        return evaluation
    item, seen = evidence.newer
    tree, secret_rules = item.rules_for(seen.document)
    known = replace(evaluation.known, baseline=None, baseline_digest=None, invalid=outdated(item, seen.reading) or "")
    return replace(
        evaluation,
        resource=item,
        observation=seen,
        tree=tree,
        secret_rules=secret_rules,
        known=known,
        carried_over=True,
    )


def note_platform_changes(evaluation: Evaluation, evidence: EvaluationInput) -> Evaluation:
    """Add the paths that the platform itself seems to have changed, where its reader knows its habits."""
    if evidence.habits is None or not evaluation.findings:
        return evaluation
    platform = evidence.habits(evaluation.resource.desired, evaluation.observation.document, evaluation.at)
    return replace(evaluation, platform=platform) if platform else evaluation


def suppress(evaluation: Evaluation, evidence: EvaluationInput) -> Evaluation:
    """Take out of the findings those that a person or a policy answers for; they are shown beside the others."""
    item, overrides = evaluation.resource, evidence.overrides
    address = item.declaration.address
    if isinstance(evaluation.observation.reading, NotFound) and address in overrides.unsure:
        return replace(evaluation, lapsed=overrides.unsure[address])
    accepted = _baselined(evaluation, overrides.acceptances.get(address, ()))
    suppressed = (*evaluation.suppressed, *_ignored(item), *accepted, *_inherited(evaluation))
    if not evaluation.findings or not evidence.waivers:
        return replace(evaluation, suppressed=suppressed) if suppressed else evaluation
    from holdfast.policy import waivers  # noqa: PLC0415 - only where there are any

    live, waived = waivers.split(address, evaluation.findings, evidence.waivers, evaluation.at)
    lapsed = "; ".join(map(str, waivers.expired(address, live, evidence.waivers, evaluation.at)))
    return replace(_with_fewer(evaluation, live), suppressed=(*suppressed, *waived), lapsed=lapsed)


STEPS: tuple[Step, ...] = (
    migrate_rules,
    recall,
    compare,
    drop_newly_visible,
    drop_removed,
    absorb_late_defaults,
    migrate_version,
    note_platform_changes,
    suppress,
)


def evaluate(item: ResolvedResource, seen: Observation, evidence: EvaluationInput) -> Evaluation:
    """Return the evaluation of a resource by all steps in their order."""
    evaluation = Evaluation(item, evidence.now, seen)
    for step in STEPS:
        evaluation = step(evaluation, evidence)
    return replace(evaluation, verdict=_conclude(evaluation))


def repeat_last(item: ResolvedResource, now: float, reading: Unchanged) -> Evaluation:
    """Return the evaluation of a resource that did not change: as declared, with the earlier suppressions."""
    evaluation = Evaluation(item, now, Observation(reading))
    if not item.settings.ignored_paths and (item.state is None or not item.state.observed.suppressed):
        return evaluation
    suppressed = (*_ignored(item), *told(item).values())
    return replace(evaluation, suppressed=suppressed, verdict=replace(evaluation.verdict, suppressed=suppressed))


def _conclude(evaluation: Evaluation) -> Verdict:
    """Choose the verdict."""
    item, reading = evaluation.resource, evaluation.observation.reading
    assert not isinstance(reading, Unchanged)
    migration = item.migration
    if migration is not None and migration.unreadable:
        verdict = verdict_rules.unknown(migration.unreadable)
    elif item.declaration.policy is ManagementPolicy.UNMANAGED:
        verdict = verdict_rules.presence(reading)
    elif not isinstance(reading, Found):
        verdict = verdict_rules.not_found(reading, was_there=evaluation.known.applied is not ABSENT)
    elif item.settings.reconcile_mode is ReconcileMode.PUT_ONLY:
        verdict = verdict_rules.uncompared()
    else:
        verdict = verdict_rules.conclude(evaluation.findings, intent_moved=evaluation.intent_moved)
    if not evaluation.suppressed and not evaluation.lapsed:
        return verdict
    reason = f"{verdict.reason}; {evaluation.lapsed}" if evaluation.lapsed else verdict.reason
    return replace(verdict, reason=reason, suppressed=evaluation.suppressed)


# -- what the steps ask


def _with_fewer(evaluation: Evaluation, left: Sequence[Finding]) -> Evaluation:
    """Return the evaluation with the findings that are left; with some taken out, an edit no longer explains them."""
    explains = evaluation.intent_moved and len(left) == len(evaluation.findings)
    return replace(evaluation, findings=tuple(left), intent_moved=explains)


def _is_compared(item: ResolvedResource) -> bool:
    """Return True if a resource is compared at all."""
    is_readable = item.migration is None or not item.migration.unreadable
    is_managed = item.declaration.policy is not ManagementPolicy.UNMANAGED
    return is_readable and is_managed and item.settings.reconcile_mode is not ReconcileMode.PUT_ONLY


def _invalid(item: ResolvedResource, reading: ReadResult | Unchanged) -> str:
    """Return the reason why the baseline does not apply: the resource was recreated under the same id.

    Without an identity or a version on both sides the baseline applies.
    """
    state = item.state
    if state is None or state.applied.baseline is None or not isinstance(reading, Found):
        return ""
    if reading.identity is None and reading.version is None:
        return ""
    from holdfast.compare.known_differences import Validity, invalid_because  # noqa: PLC0415 - as above

    was = Validity(state.applied.identity or reading.identity, state.applied.api_version or reading.version)
    now = Validity(reading.identity or was.identity, reading.version or was.api_version)
    return invalid_because(was, now) or ""


def outdated(item: ResolvedResource, reading: ReadResult | Unchanged) -> str | None:
    """Return the reason why the baseline does not fit this reading, which has another API version, or None."""
    state = item.state
    if state is None or state.applied.baseline is None or state.applied.api_version is None:
        return None
    if not isinstance(reading, Found) or reading.version is None:
        return None
    if state.applied.api_version == reading.version:
        return None
    from holdfast.compare.known_differences import Validity, invalid_because  # noqa: PLC0415 - after an upgrade only

    return invalid_because(Validity(None, state.applied.api_version), Validity(None, reading.version))


def is_settling(item: ResolvedResource, now: float) -> bool:
    """Return True if a service may still be filling in defaults after our last write, and nothing else changed."""
    state = item.state
    if state is None or state.applied.settle_until is None or not item.kind.fills_in:
        return False
    return now < state.applied.settle_until and state.observed.status not in _DRIFTED


def _is_touched(evaluation: Evaluation, baseline: diff.Baseline, signature: Signature | None) -> bool:
    """Return True if the reading has another writer than the settled read after our own write."""
    if signature is None:
        return False
    ours, theirs = signature(baseline.observed), signature(evaluation.observation.document)
    return ours is not None and theirs is not None and ours != theirs


def _of_last_write(item: ResolvedResource, documents: Mapping[Digest, Json]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the paths that our last write failed to revert, and those pinned without effect, until the next edit."""
    state = item.state
    if state is None or state.applied.known_differences is None or state.declared.document != item.desired_digest:
        return frozenset(), frozenset()
    known = documents.get(state.applied.known_differences) or {}
    return frozenset(known.get("unresolved", ())), frozenset(known.get("pinned", ()))


def _kept(documents: Mapping[Digest, Json], digest: Digest, item: ResolvedResource) -> Json:
    """Return a stored document; a lost one stops the check, because live state is no substitute for it."""
    try:
        return documents[digest]
    except KeyError:
        message = f"the store has lost document {digest} of {item.declaration.address}; restore it from a backup"
        raise StoreError(message) from None


def inherited(state: ResourceState) -> tuple[Suppressed, ...]:
    """Return the suppressions from a migration of rules at an earlier check."""
    return tuple(
        Suppressed(SuppressionReason(because), path, note)
        for because, path, note in state.observed.suppressed
        if because in INHERITED
    )


def told(item: ResolvedResource) -> dict[str, Suppressed]:
    """Return the suppressions from a migration of rules, now or at an earlier check, by path."""
    before = inherited(item.state) if item.state is not None and item.state.observed.suppressed else ()
    return {
        suppressed.path: suppressed
        for suppressed in (*before, *(item.migration.suppressed if item.migration is not None else ()))
    }


def _inherited(evaluation: Evaluation) -> list[Suppressed]:
    """Return the suppressions from a migration of rules whose values have not changed since."""
    from holdfast.compare import diff  # noqa: PLC0415

    item, reading = evaluation.resource, evaluation.observation.reading
    before = told(item)
    if not before or isinstance(reading, NotFound):
        return []
    if not isinstance(reading, Found) or evaluation.tree is None:
        return list(before.values())
    counted = {paths.format_path(finding.path) for finding in evaluation.findings}
    document, tree = evaluation.observation.document, evaluation.tree
    differing = {paths.format_path(change.path) for change in diff.differences(item.desired, document, tree)}
    return [suppressed for path, suppressed in before.items() if path in differing - counted]


def _ignored(item: ResolvedResource) -> list[Suppressed]:
    return [Suppressed(SuppressionReason.IGNORED, path, _IGNORED) for path in item.settings.ignored_paths]


def _baselined(evaluation: Evaluation, acceptances: Sequence[AcceptedValue]) -> list[Suppressed]:
    """Return suppressions for the accepted values that have not changed since."""
    if not isinstance(evaluation.observation.reading, Found):
        return []
    document = evaluation.observation.document
    return [
        Suppressed(
            SuppressionReason.BASELINED,
            acceptance.path,
            f"baselined by {acceptance.who}" + (f": {acceptance.why}" if acceptance.why else ""),
        )
        for acceptance in acceptances
        if paths.resolve(document, paths.parse_path(acceptance.path)) == acceptance.value
    ]
