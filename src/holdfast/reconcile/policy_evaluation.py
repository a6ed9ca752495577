"""Governing: what people said and what we did before, brought to bear on what is to be done now.

Limits hold back correction, never detection: everything here takes a verdict as it is. Findings that somebody answers
for are suppressed, seen and counted, before anything is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from holdfast.compare import canonical, diff, element_identity, known_differences, paths, verdict_rules
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.condition import ConditionType
from holdfast.model.decision import Decision
from holdfast.model.finding import ChangedBy, Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound
from holdfast.model.resource import OnDrift
from holdfast.model.verdict import Status, Suppressed, SuppressionReason, Verdict
from holdfast.policy import (
    budgets,
    contention_rules,
    fleet_limits,
    lost_create_reasons,
    mass_drift,
    waivers,
    windows,
    write_history,
    write_reasons,
)
from holdfast.policy.budgets import Sizes
from holdfast.policy.contention_rules import Contention, ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.decide import CORRECTED, DecisionInputs, HoldReason, PathHold, decide
from holdfast.policy.fleet_limits import Allowed, Wanted
from holdfast.policy.mass_drift import MassDrift
from holdfast.policy.settings import PathPolicy, Settings
from holdfast.policy.waivers import Waiver
from holdfast.policy.write_history import WHOLE, Write
from holdfast.policy.write_reasons import WriteReason
from holdfast.reconcile import rule_migration
from holdfast.reconcile.evaluate import Evaluation
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.remediation import repository, target_state
from holdfast.remediation.core import past_attempts
from holdfast.remediation.core.guard import Sighted
from holdfast.remediation.core.past_attempts import Precedent, Today
from holdfast.remediation.core.rules import AssessmentRules
from holdfast.store.governance import AcceptedValue, CorrectionRecord, Pause, Quarantine
from holdfast.store.protocol import Store
from holdfast.store.records import FindingRecord, OperationStep
from holdfast.store.value_codec import encode_finding

CONTENTION = "contention"
UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """What the project says about correcting."""

    corrections: CorrectionRules = field(default_factory=CorrectionRules)
    waivers: tuple[Waiver, ...] = ()
    assessment: AssessmentRules = field(default_factory=AssessmentRules)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What people said and has not run out, for a whole run."""

    pauses: tuple[Pause, ...] = ()
    quarantines: Mapping[Address, Mapping[str, Quarantine]] = field(default_factory=dict)
    acceptances: Mapping[Address, Sequence[AcceptedValue]] = field(default_factory=dict)
    approved: frozenset[str] = frozenset()  # digests of plans
    unsure: Mapping[Address, str] = field(default_factory=dict)  # creates of which nobody knows, and what to do


@dataclass(frozen=True, slots=True)
class WriteHistory:
    """What is remembered of some resources that matters for what to do about them now."""

    findings: Mapping[Address, Sequence[FindingRecord]] = field(default_factory=dict)
    corrections: Mapping[Address, Sequence[CorrectionRecord]] = field(default_factory=dict)
    precedents: Mapping[Address, Sequence[Precedent]] = field(default_factory=dict)  # where policy asks what came of it


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """A decision with everything that led to it, and the contention that were seen for the first time."""

    inputs: DecisionInputs
    decision: Decision
    contentions: tuple[Contention, ...] = ()  # all that are under way
    new_contentions: tuple[Contention, ...] = ()
    plan: str = ""  # the digest that an approval must name


class Wanting(Protocol):
    """A check with a decision, as far as limits of the fleet look at it."""

    @property
    def address(self) -> Address:
        """Whom it is about."""

    @property
    def verdict(self) -> Verdict:
        """What is true."""

    @property
    def decision(self) -> Decision:
        """What is to be done."""

    @property
    def inputs(self) -> DecisionInputs | None:
        """What led to it."""

    @property
    def prepared(self) -> ResolvedResource:
        """What is declared, with its settings."""


@dataclass(frozen=True, slots=True)
class LimitHold:
    """What of a batch may be done now."""

    allowed: Sequence[Allowed] = ()
    mass_drift: MassDrift | None = None
    changed: bool = False  # whether anything is held, or charged


@dataclass(slots=True)
class PolicyEvaluator:
    """Knows the rules, and asks the store what people said."""

    store: Store
    rules: PolicyRules = field(default_factory=PolicyRules)
    foreseen: dict[Address, Verdict] = field(default_factory=dict)  # of what this run has yet to come to

    async def standing(self) -> Overrides:
        """Return what people said."""
        quarantines: dict[Address, dict[str, Quarantine]] = {}
        for each in await self.store.quarantines():
            quarantines.setdefault(each.address, {})[each.path] = each
        acceptances: dict[Address, list[AcceptedValue]] = {}
        for accepted in await self.store.accepted_values():
            acceptances.setdefault(accepted.address, []).append(accepted)
        approved = frozenset(each.plan for each in await self.store.approvals())
        unsure = {
            each.address: lost_create_reasons.message(each.address, each.token)
            for each in await self.store.operations()
            if each.step is OperationStep.UNSURE
        }
        return Overrides(tuple(await self.store.pauses()), quarantines, acceptances, approved, unsure)

    async def past(self, judged: Iterable[Evaluation], now: float) -> WriteHistory:
        """Return what is remembered of the resources that moved; of the others nothing matters."""
        items = [each.prepared for each in judged if each.verdict.status in CORRECTED]
        moved = [item.declaration.address for item in items]
        if not moved:
            return WriteHistory()
        corrections: dict[Address, list[CorrectionRecord]] = {}
        rules = self.rules.corrections.contentions
        held = rules.forgotten_after(max(item.settings.resync_period for item in items))
        since = now - (rules.reverts + 1) * held
        for each in await self.store.corrections(moved, since=since):
            corrections.setdefault(each.address, []).append(each)
        wary = [item.declaration.address for item in items if item.settings.refuse_after]
        tried = {address: await repository.precedents(self.store, address) for address in wary}
        return WriteHistory(await self.store.findings_of(moved), corrections, tried)

    def suppress(self, judged: Evaluation, standing: Overrides) -> Evaluation:
        """Take out of a verdict what somebody answers for; it stays visible beside the findings."""
        verdict, address = judged.verdict, judged.prepared.declaration.address
        if address in standing.unsure and verdict.status in (Status.PENDING, Status.MISSING) and not verdict.findings:
            said = standing.unsure[address]
            return replace(judged, verdict=replace(verdict, reason=f"{verdict.reason}; {said}"), lapsed=said)
        accepted, inherited = standing.acceptances.get(address, ()), _inherited(judged)
        if not accepted and not inherited and not verdict.findings and not judged.prepared.settings.ignored_paths:
            return judged
        told = (*_ignored(judged.prepared.settings), *_baselined(judged, accepted), *inherited)
        suppressed = [*verdict.suppressed, *told]
        lapsed = ""
        if verdict.findings and self.rules.waivers:
            live, waived = waivers.split(address, verdict.findings, self.rules.waivers, judged.at)
            if waived:
                verdict = verdict_rules.conclude(live)
                suppressed += waived
            lapsed = "; ".join(map(str, waivers.expired(address, live, self.rules.waivers, judged.at)))
            if lapsed:
                verdict = replace(verdict, reason=f"{verdict.reason}; {lapsed}")
        if not suppressed and not lapsed:
            return judged
        return replace(judged, verdict=replace(verdict, suppressed=tuple(suppressed)), lapsed=lapsed)

    def unresolved(self, judged: Evaluation, past: WriteHistory) -> Evaluation:
        """Let what our last write did not change count as that only as long as it was never seen right since."""
        if not judged.unresolved:
            return judged
        address = judged.prepared.declaration.address
        written = max((each.at for each in past.corrections.get(address, ())), default=judged.at)
        since = {
            paths.format_path(each.finding.path)
            for each in past.findings.get(address, ())
            if each.clean_at is None or each.clean_at <= written
        }
        return replace(judged, unresolved=judged.unresolved & since)

    def govern(
        self, judged: Evaluation, inputs: DecisionInputs, standing: Overrides, past: WriteHistory
    ) -> PolicyOutcome:
        """Decide, within what policy, people and the past allow."""
        item, verdict, now = judged.prepared, judged.verdict, judged.at
        address = item.declaration.address
        unsure = standing.unsure.get(address, "")
        inputs = replace(inputs, paused=_paused(address, standing.pauses, now), unsure=unsure)
        closed = windows.closed_by(self.rules.corrections.windows, now, write_reasons.of_status(verdict.status))
        inputs = replace(inputs, frozen=str(closed) if closed is not None else None)
        if verdict.status not in CORRECTED:
            return PolicyOutcome(inputs, decide(verdict, inputs))
        corrections = past.corrections.get(address, ())
        rules, period = self.rules.corrections.contentions, item.settings.resync_period
        put_back = write_history.in_sequence(corrections, rules.forgotten_after(period))
        found = contention_rules.contentions(contention_rules.moved_paths(verdict), put_back, rules)
        seen = [each for each in found if _is_declared(each.path, each.ours, item)]
        quarantined = _still(standing.quarantines.get(address, {}), item)
        new = tuple(each for each in seen if each.path not in quarantined)
        restrained = {
            **self._futile(judged, past.precedents.get(address, ())),
            **_laddered(verdict, put_back, rules, now),
            **_volatile(verdict, put_back),
            **_unripe(verdict, item, past.findings.get(address, ()), now),
            **_platforms_own(judged),
            **_by_policy(verdict, item.settings),
            **{path: _quarantined(each) for path, each in quarantined.items()},
            **{each.path: PathHold(HoldReason.CONTENTION, f"contention: {each}") for each in new},
        }
        inputs = replace(inputs, restrained=restrained, free=_free(verdict, item.settings))
        plan = plan_digest(judged, decide(verdict, replace(inputs, approved=True, paused=None, frozen=None)))
        inputs = replace(inputs, approved=plan in standing.approved)
        return PolicyOutcome(inputs, decide(verdict, inputs), tuple(seen), new, plan)

    def paused(self, address: Address, standing: Overrides, now: float) -> str | None:
        """Say who paused a resource, and why, if somebody did."""
        return _paused(address, standing.pauses, now)

    async def stopped(self, address: Address, write_reason: WriteReason, now: float) -> str | None:
        """Say what holds back a write at this very moment: a pause, or a window for its motive."""
        paused = _paused(address, await self.store.pauses(), now)
        if paused is not None:
            return paused
        closed = windows.closed_by(self.rules.corrections.windows, now, write_reason)
        return str(closed) if closed is not None else None

    async def held_back(self, checks: Sequence[Wanting], now: float) -> LimitHold:
        """Look at a batch as a whole: whether it is mass drift, and what fits into the budgets."""
        if not any(each.decision.action.is_write for each in checks):
            return LimitHold()
        wanted = [
            Wanted(each.address, each.verdict.status, each.decision, each.inputs is not None and each.inputs.approved)
            for each in checks
        ]
        writes = fleet_limits.candidates(wanted)
        rules = self.rules.corrections
        sizes = await self.store.count_resources()
        mass_drift = await self._mass_drift(checks, sizes, now) if any(each.is_correction for each in wanted) else None
        if mass_drift is None and not rules.budgets:
            return LimitHold()
        buckets = budgets.buckets(writes, rules.budgets, sizes, now)
        spent = dict(zip([name for name, _ in buckets], await self.store.count_charges(buckets), strict=True))
        return LimitHold(fleet_limits.hold_back(wanted, rules, mass_drift, spent, sizes, now), mass_drift, changed=True)

    async def is_mass_drift(self, checks: Sequence[Wanting], now: float) -> bool:
        """Tell whether so much is known to have moved that nothing of it is reverted."""
        return await self._mass_drift(checks, await self.store.count_resources(), now) is not None

    async def _mass_drift(self, checks: Sequence[Wanting], sizes: Sizes, now: float) -> MassDrift | None:
        """Judge the drift of the whole fleet: what is seen, foreseen or known of the rest, and what was reverted."""
        guard = self.rules.corrections.mass_drift
        if guard is None:
            return None
        seen = self.foreseen | {each.address: each.verdict for each in checks}
        drifted = {address: verdict.findings for address, verdict in seen.items() if verdict.status in CORRECTED}
        missing = [address for address, verdict in seen.items() if verdict.status is Status.MISSING]
        known = await self.store.findings()
        drifted |= {a: tuple(r.finding for r in found) for a, found in known.items() if a not in seen}
        missing += [a for a in await self.store.addresses_with_status(Status.MISSING) if a not in seen]
        settings = [each.prepared.settings for each in checks if each.decision.action.is_write]
        window = mass_drift.window(each.resync_period * (1 + each.resync_jitter) for each in settings)
        return mass_drift.mass_drift(drifted, missing, sizes, guard, await self.store.reverts(now - window))

    def _futile(self, judged: Evaluation, tried: Sequence[Precedent]) -> dict[str, PathHold]:
        """Return everything, where putting it back failed on this very state as often as policy allows."""
        most, tree = judged.prepared.settings.refuse_after, judged.tree
        if not most or not tried or tree is None:
            return {}
        seen = target_state.of_document(judged.prepared, judged.observed, tree)
        if not isinstance(seen, Sighted):
            return {}
        today = Today(str(judged.prepared.declaration.address), seen.hash, judged.at)
        times = past_attempts.failures(tried, today)
        if times < most:
            return {}
        why = PathHold(HoldReason.FUTILE, f"putting it back from this state failed {times} times; see remediations")
        moved = [
            paths.format_path(each.path)
            for each in judged.verdict.findings
            if each.changed_by is not ChangedBy.DECLARED
        ]
        settings = judged.prepared.settings
        if settings.on_drift is not OnDrift.CORRECT:  # what is not revert anyway is not held back either
            free = _free(judged.verdict, settings)
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
            message = f"revert a moment ago and moved again; next try in {until - now:.0f} s"
            out[path] = PathHold(HoldReason.BACKOFF, message)
    return out


def _volatile(verdict: Verdict, put_back: Mapping[str, Sequence[Write]]) -> dict[str, PathHold]:
    """Return what had another value before each of our corrections: it moves by itself, and no write settles it."""
    found = {path: [element_identity.text(each.path.before) for each in writes] for path, writes in put_back.items()}
    _, apart = known_differences.quarantine(verdict.findings, known_differences.volatile_paths(found))
    message = "it has another value each time, so no write can settle it; a profile should call it runtime"
    return {paths.format_path(each.path): PathHold(HoldReason.VOLATILE, message) for each in apart}


def plan_digest(judged: Evaluation, decision: Decision) -> str:
    """Name exactly this plan: what would be done to which resource, from which live values to which declaration.

    Values that are not compared are not part of it: many APIs show some that never stand still.
    """
    body = {
        "address": str(judged.prepared.declaration.address),
        "action": (decision.held or decision.action).value,
        "paths": sorted(decision.reasons[0].paths),
        "desired": judged.prepared.desired_digest,
        "findings": [encode_finding(finding) for finding in judged.verdict.findings],
    }
    return canonical.digest_bytes(canonical.canonical_bytes(body, lists="ordered")).removeprefix("sha256:")[:16]


def _ignored(settings: Settings) -> list[Suppressed]:
    note = "ignored by policy: neither compared nor written"
    return [Suppressed(SuppressionReason.IGNORED, path, note) for path in settings.ignored_paths]


def _inherited(judged: Evaluation) -> list[Suppressed]:
    """Return what was suppressed when the rules of now took over, as far as it still is as it was then."""
    item, reading = judged.prepared, judged.reading
    told = rule_migration.told(item)
    if not told or isinstance(reading, NotFound):
        return []
    if not isinstance(reading, Found) or judged.tree is None:
        return list(told.values())
    counted = {paths.format_path(each.path) for each in judged.verdict.findings}
    differing = {paths.format_path(each.path) for each in diff.differences(item.desired, judged.observed, judged.tree)}
    return [each for path, each in told.items() if path in differing - counted]


def _baselined(judged: Evaluation, acceptances: Sequence[AcceptedValue]) -> list[Suppressed]:
    """Return what was accepted as the new normal and still is so."""
    if not isinstance(judged.reading, Found):
        return []
    out = []
    for each in acceptances:
        if paths.resolve(judged.observed, paths.parse_path(each.path)) == each.value:
            note = f"baselined by {each.who}" + (f": {each.why}" if each.why else "")
            out.append(Suppressed(SuppressionReason.BASELINED, each.path, note))
    return out


def _paused(address: Address, pauses: Sequence[Pause], now: float) -> str | None:
    text = str(address)
    for pause in pauses:
        running = pause.until is None or now < pause.until
        if running and (not pause.scope or text == pause.scope or text.startswith(f"{pause.scope}/")):
            scope = pause.scope or "everything"
            return f"{scope} is paused by {pause.who}" + (f": {pause.why}" if pause.why else "")
    return None


def _still(quarantines: Mapping[str, Quarantine], item: ResolvedResource) -> dict[str, Quarantine]:
    """Return the quarantines in force: an edit of the declared value is a person's decision and ends one."""
    return {
        path: each
        for path, each in quarantines.items()
        if ("ours" not in each.data or _is_declared(path, each.data["ours"], item))
        and each.data.get("declared", item.desired_digest) == item.desired_digest
    }


def _is_declared(path: str, value: Json, item: ResolvedResource) -> bool:
    """Tell whether a value is still what is declared at a path, or nothing is."""
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


def _platforms_own(judged: Evaluation) -> dict[str, PathHold]:
    """Return what the platform itself moved: it would move it again, so it is told and left, unless policy insists."""
    if not judged.platform:
        return {}
    free = _free(judged.verdict, judged.prepared.settings)
    moved = {
        paths.format_path(each.path) for each in judged.verdict.findings if each.changed_by is ChangedBy.LIVE
    } - free
    return {path: PathHold(HoldReason.PLATFORM, why) for path, why in judged.platform.items() if path in moved}


def _by_policy(verdict: Verdict, settings: Settings) -> dict[str, PathHold]:
    """Return what policy says about the paths of the findings, where it does not simply correct."""
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
    """Return what was not seen often or long enough yet to be corrected."""
    checks, seconds = item.settings.debounce_checks, item.settings.debounce_time
    if checks <= 1 and seconds <= 0:
        return {}
    known = {(paths.format_path(each.finding.path), each.finding.op): each for each in records}
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
    drifted = next((each for each in state.observed.conditions if each.type is ConditionType.DRIFTED), None)
    return state.observed.missing_checks + 1, drifted.last_transition if drifted is not None else now


def _still_unripe(times: int, checks: int, age: float, seconds: float) -> str:
    parts = []
    if times < checks:
        parts.append(f"seen {times} of {checks} times")
    if age < seconds:
        parts.append(f"for {age:.0f} of {seconds:.0f} s")
    return f"debounced: {' and '.join(parts)}"
