"""What keeps the findings of one resource from being corrected now: people, policy, and what was tried before. Pure.

Imported only where something drifted, because nothing else is held path by path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.compare import canonical, element_identity, known_differences, paths
from holdfast.model.absent import ABSENT
from holdfast.model.condition import ConditionType
from holdfast.model.finding import Finding, Side
from holdfast.model.json import Json
from holdfast.model.resource import OnDrift
from holdfast.model.verdict import Status, Verdict
from holdfast.policy import contention_rules, write_history
from holdfast.policy.contention_rules import Fight, FightRules
from holdfast.policy.decide import WHOLE, Restrained, Restraint, Situation
from holdfast.policy.settings import PathPolicy, Settings
from holdfast.policy.write_history import Write
from holdfast.reconcile.evaluate import Evaluation, Overrides
from holdfast.reconcile.policy_evaluation import UNDONE, Past
from holdfast.reconcile.resolved_resource import Prepared
from holdfast.remediation import target_state
from holdfast.remediation.core import past_attempts
from holdfast.remediation.core.guard import Sighted
from holdfast.remediation.core.past_attempts import Precedent, Today
from holdfast.store.protocol import Demotion, FindingRecord
from holdfast.store.value_codec import encode_finding


@dataclass(frozen=True, slots=True)
class Holds:
    """What holds back the paths of one resource, and the contention that is under way."""

    situation: Situation
    fights: tuple[Fight, ...]
    new_fights: tuple[Fight, ...]
    plan: str  # the digest that an approval must name


def hold_paths(
    evaluation: Evaluation, situation: Situation, overrides: Overrides, past: Past, rules: FightRules
) -> Holds:
    """Return the situation with all that is held path by path, and the digest of the plan."""
    item, verdict, now = evaluation.resource, evaluation.verdict, evaluation.at
    address = item.declaration.address
    corrections = past.corrections.get(address, ())
    put_back = write_history.in_sequence(corrections, rules.forgotten_after(item.settings.resync_period))
    contended = contention_rules.fights(contention_rules.moved_paths(verdict), put_back, rules)
    seen = [fight for fight in contended if _is_declared(fight.path, fight.ours, item)]
    demoted = _still(overrides.demotions.get(address, {}), item)
    new = tuple(fight for fight in seen if fight.path not in demoted)
    restrained = {
        **_futile(evaluation, past.precedents.get(address, ())),
        **_laddered(verdict, put_back, rules, now),
        **_volatile(verdict, put_back),
        **_unripe(verdict, item, past.findings.get(address, ()), now),
        **_platforms_own(evaluation),
        **_by_policy(verdict, item.settings),
        **{path: _demoted(each) for path, each in demoted.items()},
        **{fight.path: Restrained(Restraint.FIGHT, f"a fight: {fight}") for fight in new},
    }
    known = replace(situation.paths, restrained=restrained, free=_free(verdict, item.settings))
    situation = replace(situation, paths=known)
    plan = plan_digest(evaluation, situation)
    limits = replace(situation.limits, approved=plan in overrides.approved)
    return Holds(replace(situation, limits=limits), tuple(seen), new, plan)


def plan_digest(evaluation: Evaluation, situation: Situation) -> str:
    """Name exactly this plan: the resource, its declaration, its findings, and what an approval would let through.

    Values that are not compared are not part of it, because many APIs show some that never stand still.
    """
    body = {
        "address": str(evaluation.resource.declaration.address),
        "desired": evaluation.resource.desired_digest,
        "findings": [encode_finding(finding) for finding in evaluation.verdict.findings],
        "held": sorted(path for path, why in situation.paths.restrained.items() if not why.restraint.yields),
        "unresolved": sorted(situation.paths.unresolved - situation.paths.pinnable),
        "pinned": sorted(situation.paths.pinnable),
        "fixed": [situation.handling.on_immutable.value, *sorted(situation.paths.immutable)],
        "recreate": situation.handling.recreate.value,
        "policy": situation.handling.policy.value,
    }
    return canonical.digest_bytes(canonical.canonical_bytes(body, lists="ordered")).removeprefix("sha256:")[:16]


def _futile(evaluation: Evaluation, tried: Sequence[Precedent]) -> dict[str, Restrained]:
    """Return everything, where putting it back failed on this very state as often as policy allows."""
    most, tree = evaluation.resource.settings.refuse_after, evaluation.tree
    if not most or not tried or tree is None:
        return {}
    seen = target_state.of_document(evaluation.resource, evaluation.observation.document, tree)
    if not isinstance(seen, Sighted):
        return {}
    today = Today(str(evaluation.resource.declaration.address), seen.hash, evaluation.at)
    times = past_attempts.failures(tried, today)
    if times < most:
        return {}
    why = Restrained(Restraint.FUTILE, f"putting it back from this state failed {times} times; see remediations")
    moved = [paths.format_path(each.path) for each in evaluation.verdict.findings if each.side is not Side.INTENT]
    settings = evaluation.resource.settings
    if settings.on_drift is not OnDrift.CORRECT:  # what is not put back anyway is not held back either
        free = _free(evaluation.verdict, settings)
        return {path: why for path in moved if path in free}
    return dict.fromkeys([*moved, WHOLE], why)


def _laddered(
    verdict: Verdict, put_back: Mapping[str, Sequence[Write]], rules: FightRules, now: float
) -> dict[str, Restrained]:
    """Return the paths that were put back a moment ago, and are left alone a little longer each time."""
    out = {}
    for path in contention_rules.moved_paths(verdict) if put_back else ():
        writes = put_back.get(path, ())
        until = contention_rules.backoff_until(writes, rules)
        if until is not None and writes[-1].at <= now < until:  # a clock that was set back must not make us wait
            message = f"put back a moment ago and moved again; next try in {until - now:.0f} s"
            out[path] = Restrained(Restraint.BACKOFF, message)
    return out


def _volatile(verdict: Verdict, put_back: Mapping[str, Sequence[Write]]) -> dict[str, Restrained]:
    """Return what had another value before each of our corrections: it moves by itself, and no write settles it."""
    found = {path: [element_identity.text(each.path.before) for each in writes] for path, writes in put_back.items()}
    _, apart = known_differences.quarantine(verdict.findings, known_differences.volatile_paths(found))
    message = "it has another value each time, so no write can settle it; a profile should call it runtime"
    return {paths.format_path(each.path): Restrained(Restraint.VOLATILE, message) for each in apart}


def _still(demotions: Mapping[str, Demotion], item: Prepared) -> dict[str, Demotion]:
    """Return the demotions in force: an edit of the declared value is a person's decision and ends one."""
    return {
        path: each
        for path, each in demotions.items()
        if ("ours" not in each.data or _is_declared(path, each.data["ours"], item))
        and each.data.get("declared", item.desired_digest) == item.desired_digest
    }


def _is_declared(path: str, value: Json, item: Prepared) -> bool:
    """Tell whether a value is still what is declared at a path, or nothing is."""
    declared = paths.resolve(item.desired, paths.parse_path(path)) if path else ABSENT
    return declared is ABSENT or bool(declared == value)


def _demoted(demotion: Demotion) -> Restrained:
    if demotion.cause == UNDONE:
        return Restrained(Restraint.UNDONE, "our correction was undone; it waits for a person's decision")
    rival = demotion.data.get("rival")
    return Restrained(Restraint.FIGHT, f"a fight{f' with {rival}' if rival else ''}; it waits for a person's decision")


def _platforms_own(evaluation: Evaluation) -> dict[str, Restrained]:
    """Return what the platform itself moved: it would move it again, so it is told and left, unless policy insists."""
    if not evaluation.platform:
        return {}
    free = _free(evaluation.verdict, evaluation.resource.settings)
    moved = {paths.format_path(each.path) for each in evaluation.verdict.findings if each.side is Side.WORLD} - free
    return {path: Restrained(Restraint.PLATFORM, why) for path, why in evaluation.platform.items() if path in moved}


def _by_policy(verdict: Verdict, settings: Settings) -> dict[str, Restrained]:
    """Return what policy says about the paths of the findings, where it does not simply correct."""
    out = {}
    for path, (pattern, policy) in _policies(verdict.findings, settings).items():
        if policy is PathPolicy.REPORT:
            out[path] = Restrained(Restraint.REPORT, f"policy is to report {pattern}")
        elif policy is PathPolicy.APPROVE:
            out[path] = Restrained(Restraint.APPROVAL, f"correcting {pattern} needs approval")
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


def _unripe(verdict: Verdict, item: Prepared, records: Sequence[FindingRecord], now: float) -> dict[str, Restrained]:
    """Return what was not seen often or long enough yet to be corrected."""
    checks, seconds = item.settings.debounce_checks, item.settings.debounce_time
    if checks <= 1 and seconds <= 0:
        return {}
    known = {(paths.format_path(each.finding.path), each.finding.op): each for each in records}
    out = {}
    for finding in verdict.findings:
        if finding.side is not Side.INTENT:
            path = paths.format_path(finding.path)
            record = known.get((path, finding.op))
            times, since = (record.times + 1, record.first_seen) if record is not None else (1, now)
            if times < checks or now - since < seconds:
                out[path] = Restrained(Restraint.DEBOUNCE, _still_unripe(times, checks, now - since, seconds))
    if verdict.status is Status.MISSING:
        times, since = _missing_since(item, now)
        if times < checks or now - since < seconds:
            out[WHOLE] = Restrained(Restraint.DEBOUNCE, _still_unripe(times, checks, now - since, seconds))
    return out


def _missing_since(item: Prepared, now: float) -> tuple[int, float]:
    """Return how many looks in a row, with this one, found nothing, and since when."""
    state = item.state
    if state is None or state.observed.status is not Status.MISSING:
        return 1, now
    drifted = next((each for each in state.observed.conditions if each.type is ConditionType.DRIFTED), None)
    return state.observed.missing_checks + 1, drifted.last_transition if drifted is not None else now


def _still_unripe(times: int, checks: int, age: float, seconds: float) -> str:
    parts = []
    if times < checks:
        parts.append(f"seen {times} of {checks} times")
    if age < seconds:
        parts.append(f"for {age:.0f} of {seconds:.0f} s")
    return f"debounced: {' and '.join(parts)}"
