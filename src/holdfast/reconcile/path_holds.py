"""The reasons that hold corrections of single paths: people, policy, and earlier attempts. Pure.

Imported only if something drifted, because nothing else is held path by path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.compare import canonical, element_identity, known_differences, paths
from holdfast.model.absent import ABSENT
from holdfast.model.condition import ConditionType
from holdfast.model.finding import ChangedBy, Finding
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import OnDrift
from holdfast.model.verdict import Status, Verdict
from holdfast.policy import contention_rules, write_history
from holdfast.policy.contention_rules import Contention, ContentionRules
from holdfast.policy.decide import WHOLE, DecisionInputs, HoldReason, PathHold
from holdfast.policy.settings import PathPolicy, Settings
from holdfast.policy.write_history import Write
from holdfast.reconcile.evaluation import Evaluation, Overrides
from holdfast.reconcile.policy_evaluation import UNDONE, WriteHistory
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.remediation import target_state
from holdfast.remediation.core import past_attempts
from holdfast.remediation.core.past_attempts import CurrentState, PastAttempt
from holdfast.remediation.core.state_hash import StateHash
from holdfast.store.governance import Quarantine
from holdfast.store.records import FindingRecord
from holdfast.store.value_codec import encode_finding


@dataclass(frozen=True, slots=True)
class Holds:
    """The held paths of one resource, and its open contentions."""

    inputs: DecisionInputs
    contentions: tuple[Contention, ...]
    new_contentions: tuple[Contention, ...]
    plan: str  # the digest that an approval must name


def hold_paths(
    evaluation: Evaluation, inputs: DecisionInputs, overrides: Overrides, past: WriteHistory, rules: ContentionRules
) -> Holds:
    """Return the situation with all that is held path by path, and the digest of the plan."""
    item, verdict, now = evaluation.resource, evaluation.verdict, evaluation.at
    address = item.declaration.address
    corrections = past.corrections.get(address, ())
    put_back = write_history.in_sequence(corrections, rules.forgotten_after(item.settings.resync.period))
    contended = contention_rules.contentions(contention_rules.moved_paths(verdict), put_back, rules)
    seen = [contention for contention in contended if _is_declared(contention.path, contention.ours, item)]
    quarantined = _still(overrides.quarantines.get(address, {}), item)
    new = tuple(contention for contention in seen if contention.path not in quarantined)
    restrained = {
        **_futile(evaluation, past.precedents.get(address, ())),
        **_laddered(verdict, put_back, rules, now),
        **_volatile(verdict, put_back),
        **_unripe(verdict, item, past.findings.get(address, ()), now),
        **_platforms_own(evaluation),
        **_by_policy(verdict, item.settings),
        **{path: _quarantined(quarantine) for path, quarantine in quarantined.items()},
        **{contention.path: PathHold(HoldReason.CONTENTION, f"contention: {contention}") for contention in new},
    }
    known = replace(inputs.paths, restrained=restrained, free=_free(verdict, item.settings))
    inputs = replace(inputs, paths=known)
    plan = plan_digest(evaluation, inputs)
    limits = replace(inputs.limits, approved=plan in overrides.approved)
    return Holds(replace(inputs, limits=limits), tuple(seen), new, plan)


def plan_digest(evaluation: Evaluation, inputs: DecisionInputs) -> str:
    """Return the digest of exactly this plan: the resource, its declaration, its findings, and the held paths.

    Values that are not compared are not part of it, because many APIs show some that never stand still.
    """
    body = {
        "address": str(evaluation.resource.declaration.address),
        "desired": evaluation.resource.desired_digest,
        "findings": [encode_finding(finding) for finding in evaluation.verdict.findings],
        "held": sorted(path for path, why in inputs.paths.restrained.items() if not why.restraint.yields),
        "unresolved": sorted(inputs.paths.unresolved - inputs.paths.pinnable),
        "pinned": sorted(inputs.paths.pinnable),
        "fixed": [inputs.handling.on_immutable.value, *sorted(inputs.paths.immutable)],
        "recreate": inputs.handling.recreate.value,
        "policy": inputs.handling.policy.value,
    }
    return canonical.digest_bytes(canonical.canonical_bytes(body, lists="ordered")).removeprefix("sha256:")[:16]


def _futile(evaluation: Evaluation, tried: Sequence[PastAttempt]) -> dict[str, PathHold]:
    """Return everything, where putting it back failed on this very state as often as policy allows."""
    most, tree = evaluation.resource.settings.assessing.refuse_after, evaluation.tree
    if not most or not tried or tree is None:
        return {}
    seen = target_state.of_document(evaluation.resource, evaluation.observation.document, tree)
    if not isinstance(seen, StateHash):
        return {}
    today = CurrentState(str(evaluation.resource.declaration.address), seen.hash, evaluation.at)
    times = past_attempts.failures(tried, today)
    if times < most:
        return {}
    why = PathHold(HoldReason.FUTILE, f"putting it back from this state failed {times} times; see remediations")
    moved = [
        paths.format_path(finding.path)
        for finding in evaluation.verdict.findings
        if finding.changed_by is not ChangedBy.DECLARED
    ]
    settings = evaluation.resource.settings
    if settings.on_drift is not OnDrift.CORRECT:  # what is not revert anyway is not held back either
        free = _free(evaluation.verdict, settings)
        return {path: why for path in moved if path in free}
    return dict.fromkeys([*moved, WHOLE], why)


def _laddered(
    verdict: Verdict, put_back: Mapping[str, Sequence[Write]], rules: ContentionRules, now: float
) -> dict[str, PathHold]:
    """Return the paths that were reverted a moment ago, and are left alone a little longer each time."""
    out = {}
    for path in contention_rules.moved_paths(verdict) if put_back else ():
        writes = put_back.get(path, ())
        until = contention_rules.backoff_until(writes, rules)
        if until is not None and writes[-1].at <= now < until:  # a clock that was set back must not make us wait
            message = f"reverted a moment ago and changed again; next try in {until - now:.0f} s"
            out[path] = PathHold(HoldReason.BACKOFF, message)
    return out


def _volatile(verdict: Verdict, put_back: Mapping[str, Sequence[Write]]) -> dict[str, PathHold]:
    """Return holds for values that change by themselves: they differed before each correction."""
    found = {path: [element_identity.text(write.path.before) for write in writes] for path, writes in put_back.items()}
    _, apart = known_differences.quarantine(verdict.findings, known_differences.volatile_paths(found))
    message = "it has another value each time, so no write can settle it; a profile should call it runtime"
    return {paths.format_path(pair.path): PathHold(HoldReason.VOLATILE, message) for pair in apart}


def _still(quarantines: Mapping[str, Quarantine], item: ResolvedResource) -> dict[str, Quarantine]:
    """Return the quarantines in force: an edit of the declared value is a person's decision and ends one."""
    return {
        path: quarantine
        for path, quarantine in quarantines.items()
        if ("ours" not in quarantine.data or _is_declared(path, quarantine.data["ours"], item))
        and quarantine.data.get("declared", item.desired_digest) == item.desired_digest
    }


def _is_declared(path: str, value: Json, item: ResolvedResource) -> bool:
    """Return True if the declaration at a path still has the value, or has none."""
    declared = paths.resolve(item.desired, paths.parse_path(path)) if path else ABSENT
    return declared is ABSENT or bool(declared == value)


def _quarantined(quarantine: Quarantine) -> PathHold:
    if quarantine.cause == UNDONE:
        return PathHold(HoldReason.UNDONE, "our correction was undone; it waits for a person's decision")
    other_writer = quarantine.data.get("otherWriter")
    return PathHold(
        HoldReason.CONTENTION,
        f"contention{f' with {other_writer}' if other_writer else ''}; it waits for a person's decision",
    )


def _platforms_own(evaluation: Evaluation) -> dict[str, PathHold]:
    """Return holds for paths that the platform itself changed. It would change them again, unless policy insists."""
    if not evaluation.platform:
        return {}
    free = _free(evaluation.verdict, evaluation.resource.settings)
    moved = {
        paths.format_path(finding.path)
        for finding in evaluation.verdict.findings
        if finding.changed_by is ChangedBy.LIVE
    } - free
    return {path: PathHold(HoldReason.PLATFORM, why) for path, why in evaluation.platform.items() if path in moved}


def _by_policy(verdict: Verdict, settings: Settings) -> dict[str, PathHold]:
    """Return holds for the paths of findings whose policy is not to correct."""
    out = {}
    for path, (pattern, policy) in _policies(verdict.findings, settings).items():
        if policy is PathPolicy.REPORT:
            out[path] = PathHold(HoldReason.REPORT, f"policy is to report {pattern}")
        elif policy is PathPolicy.APPROVE:
            out[path] = PathHold(HoldReason.APPROVAL, f"correcting {pattern} needs approval")
    return out


def _free(verdict: Verdict, settings: Settings) -> frozenset[str]:
    found = _policies(verdict.findings, settings)
    return frozenset(path for path, (_, policy) in found.items() if policy is PathPolicy.CORRECT)


def _policies(findings: Iterable[Finding], settings: Settings) -> dict[str, tuple[str, PathPolicy]]:
    """Return the most exact policy for each finding's path, where one speaks about it."""
    if not settings.on_drift_paths:
        return {}
    ranked = sorted(settings.on_drift_paths.items(), key=lambda each: (each[0].count("*"), -len(each[0])))
    out = {}
    for finding in findings:
        for pattern, policy in ranked:
            if paths.parse_pattern(pattern).matches(finding.path, below=True):
                out[paths.format_path(finding.path)] = (pattern, policy)
                break
    return out


def _unripe(
    verdict: Verdict, item: ResolvedResource, records: Sequence[FindingRecord], now: float
) -> dict[str, PathHold]:
    """Return holds for findings that were not seen often or long enough to be corrected."""
    checks, seconds = item.settings.debounce.checks, item.settings.debounce.time
    if checks <= 1 and seconds <= 0:
        return {}
    known = {(paths.format_path(element.finding.path), element.finding.op): element for element in records}
    out = {}
    for finding in verdict.findings:
        if finding.changed_by is not ChangedBy.DECLARED:
            path = paths.format_path(finding.path)
            record = known.get((path, finding.op))
            times, since = (record.times + 1, record.first_seen) if record is not None else (1, now)
            if times < checks or now - since < seconds:
                out[path] = PathHold(HoldReason.DEBOUNCE, _still_unripe(times, checks, now - since, seconds))
    if verdict.status is Status.MISSING:
        times, since = _missing_since(item, now)
        if times < checks or now - since < seconds:
            out[WHOLE] = PathHold(HoldReason.DEBOUNCE, _still_unripe(times, checks, now - since, seconds))
    return out


def _missing_since(item: ResolvedResource, now: float) -> tuple[int, float]:
    """Return how many looks in a row, with this one, found nothing, and since when."""
    state = item.state
    if state is None or state.observed.status is not Status.MISSING:
        return 1, now
    drifted = next(
        (condition for condition in state.observed.conditions if condition.type is ConditionType.DRIFTED), None
    )
    return state.observed.missing_checks + 1, drifted.last_transition if drifted is not None else now


def _still_unripe(times: int, checks: int, age: float, seconds: float) -> str:
    parts = []
    if times < checks:
        parts.append(f"seen {times} of {checks} times")
    if age < seconds:
        parts.append(f"for {age:.0f} of {seconds:.0f} s")
    return f"debounced: {' and '.join(parts)}"
