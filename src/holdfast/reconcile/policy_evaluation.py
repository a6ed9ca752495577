"""The limits of correction from the project, people and the history. Limits hold back correction, never detection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING, Protocol

from holdfast.compare import paths
from holdfast.model.address import Address
from holdfast.model.decision import Decision
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status, Verdict
from holdfast.policy.decide import CORRECTED, DecisionInputs, WriteLimits, decide
from holdfast.reconcile.evaluation import Evaluation, Overrides
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.store.governance import AcceptedValue, CorrectionRecord, Pause, Quarantine
from holdfast.store.protocol import Store
from holdfast.store.records import FindingRecord, OperationStep

if TYPE_CHECKING:
    from holdfast.policy.budgets import Sizes
    from holdfast.policy.contention_rules import Contention
    from holdfast.policy.correction_limits import CorrectionRules
    from holdfast.policy.fleet_limits import Allowed
    from holdfast.policy.mass_drift import MassDrift
    from holdfast.policy.waivers import Waiver
    from holdfast.policy.write_reasons import WriteReason
    from holdfast.remediation.core.past_attempts import PastAttempt
    from holdfast.remediation.core.rules import AssessmentRules

CONTENTION = "contention"
UNDONE = "undone"

Foreseen = dict[Address, Verdict]  # which count where mass drift is judged, though nothing is done about them yet


@cache
def _usual_corrections() -> CorrectionRules:
    from holdfast.policy.correction_limits import CorrectionRules  # noqa: PLC0415 - where the project says nothing

    return CorrectionRules()


@cache
def _usual_assessment() -> AssessmentRules:
    from holdfast.remediation.core.rules import AssessmentRules  # noqa: PLC0415 - where the project says nothing

    return AssessmentRules()


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """The rules of the project for corrections. A project that gives none has the usual ones."""

    given_corrections: CorrectionRules | None = None
    waivers: tuple[Waiver, ...] = ()
    given_assessment: AssessmentRules | None = None

    @property
    def corrections(self) -> CorrectionRules:
        """The limits of corrections."""
        return _usual_corrections() if self.given_corrections is None else self.given_corrections

    @property
    def assessment(self) -> AssessmentRules:
        """The rules of assessments."""
        return _usual_assessment() if self.given_assessment is None else self.given_assessment


@dataclass(frozen=True, slots=True)
class WriteHistory:
    """The records of some resources that matter for the decisions about them now."""

    findings: Mapping[Address, Sequence[FindingRecord]] = field(default_factory=dict)
    corrections: Mapping[Address, Sequence[CorrectionRecord]] = field(default_factory=dict)
    precedents: Mapping[Address, Sequence[PastAttempt]] = field(
        default_factory=dict
    )  # where policy asks what came of it


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """A decision with everything that led to it, and the contention that was seen for the first time."""

    inputs: DecisionInputs
    decision: Decision
    contentions: tuple[Contention, ...] = ()  # all that are under way
    new_contentions: tuple[Contention, ...] = ()
    plan: str = ""  # the digest that an approval must name


class Wanting(Protocol):
    """The parts of a check with a decision that the limits of the fleet need."""

    @property
    def address(self) -> Address:
        """The address of the resource."""

    @property
    def verdict(self) -> Verdict:
        """The verdict about the resource."""

    @property
    def decision(self) -> Decision:
        """The decision about the resource."""

    @property
    def inputs(self) -> DecisionInputs | None:
        """The inputs of the decision."""

    @property
    def prepared(self) -> ResolvedResource:
        """The declaration with its settings."""


@dataclass(frozen=True, slots=True)
class LimitHold:
    """The decisions of a batch after the limits of the fleet."""

    allowed: Sequence[Allowed] = ()
    mass_drift: MassDrift | None = None
    changed: bool = False  # whether anything is held, or charged


@dataclass(frozen=True, slots=True)
class PolicyEvaluator:
    """Applies the rules, with the decisions of people and the history from the store."""

    store: Store
    rules: PolicyRules = field(default_factory=PolicyRules)

    async def overrides(self) -> Overrides:
        """Return the decisions of people that are in force."""
        from holdfast.policy import lost_create_reasons  # noqa: PLC0415 - only where something changed

        quarantines: dict[Address, dict[str, Quarantine]] = {}
        for quarantine in await self.store.quarantines():
            quarantines.setdefault(quarantine.address, {})[quarantine.path] = quarantine
        acceptances: dict[Address, list[AcceptedValue]] = {}
        for accepted in await self.store.accepted_values():
            acceptances.setdefault(accepted.address, []).append(accepted)
        approved = frozenset(approval.plan for approval in await self.store.approvals())
        unsure = {
            operation.address: lost_create_reasons.message(operation.address, operation.token)
            for operation in await self.store.operations()
            if operation.step is OperationStep.UNSURE
        }
        return Overrides(tuple(await self.store.pauses()), quarantines, acceptances, approved, unsure)

    async def past(self, evaluations: Iterable[Evaluation], now: float) -> WriteHistory:
        """Return the records of the resources that drifted. Those of the others do not matter."""
        items = [evaluation.resource for evaluation in evaluations if evaluation.verdict.status in CORRECTED]
        if not items:
            return WriteHistory()
        drifted = [item.declaration.address for item in items]
        rules = self.rules.corrections.contention
        held = rules.forgotten_after(max(item.settings.resync.period for item in items))
        corrections: dict[Address, list[CorrectionRecord]] = {}
        for correction in await self.store.corrections(drifted, since=now - (rules.reverts + 1) * held):
            corrections.setdefault(correction.address, []).append(correction)
        tried: dict[Address, Sequence[PastAttempt]] = {}
        for item in items:
            if item.settings.assessing.refuse_after:
                from holdfast.remediation import repository  # noqa: PLC0415 - only where policy asks what came of it

                tried[item.declaration.address] = await repository.precedents(self.store, item.declaration.address)
        return WriteHistory(await self.store.findings_of(drifted), corrections, tried)

    def govern(
        self, evaluation: Evaluation, inputs: DecisionInputs, overrides: Overrides, past: WriteHistory
    ) -> PolicyOutcome:
        """Decide within the limits of policy, people and history."""
        from holdfast.policy import windows, write_reasons  # noqa: PLC0415 - only where something changed

        verdict, now, address = evaluation.verdict, evaluation.at, evaluation.resource.declaration.address
        closed = windows.closed_by(self.rules.corrections.windows, now, write_reasons.of_status(verdict.status))
        limits = WriteLimits(
            inputs.limits.approved,
            paused_by(address, overrides.pauses, now),
            inputs.limits.source,
            str(closed) if closed is not None else None,
        )
        unsure = overrides.unsure.get(address, "")
        record = replace(inputs.record, unsure=unsure) if unsure else inputs.record
        inputs = DecisionInputs(inputs.handling, record, inputs.paths, limits)
        if verdict.status not in CORRECTED:
            return PolicyOutcome(inputs, decide(verdict, inputs))
        from holdfast.reconcile import path_holds  # noqa: PLC0415 - only where something drifted

        holds = path_holds.hold_paths(evaluation, inputs, overrides, past, self.rules.corrections.contention)
        decision = decide(verdict, holds.inputs)
        return PolicyOutcome(holds.inputs, decision, holds.contentions, holds.new_contentions, holds.plan)

    async def stopped(self, address: Address, write_reason: WriteReason, now: float) -> str | None:
        """Return the reason that holds a write now: a pause, or a window for its write reason."""
        from holdfast.policy import windows  # noqa: PLC0415 - only where something is written

        paused = paused_by(address, await self.store.pauses(), now)
        if paused is not None:
            return paused
        closed = windows.closed_by(self.rules.corrections.windows, now, write_reason)
        return str(closed) if closed is not None else None

    async def held_back(
        self,
        checks: Sequence[Wanting],
        foreseen: Mapping[Address, Verdict],
        now: float,
        sizes: Sizes | None = None,
    ) -> LimitHold:
        """Check all decisions of a run for mass drift, and return those that fit into the budgets.

        `sizes` are the sizes of the fleet before the run, where it has recorded new resources since.
        """
        if not any(checked.decision.action.is_write for checked in checks):
            return LimitHold()
        from holdfast.policy import budgets, fleet_limits  # noqa: PLC0415 - only where something is to be written

        wanted = [
            fleet_limits.BatchDecision(checked.address, checked.verdict.status, checked.decision, is_approved(checked))
            for checked in checks
        ]
        rules = self.rules.corrections
        sizes = sizes if sizes is not None else await self.store.count_resources()
        has_correction = any(item.is_correction for item in wanted)
        mass_drift = await self.mass_drift(checks, foreseen, sizes, now) if has_correction else None
        if mass_drift is None and not rules.budgets:
            return LimitHold()
        buckets = budgets.buckets(fleet_limits.candidates(wanted), rules.budgets, sizes, now)
        spent = dict(zip([name for name, _ in buckets], await self.store.count_charges(buckets), strict=True))
        return LimitHold(fleet_limits.hold_back(wanted, rules, mass_drift, spent, sizes, now), mass_drift, changed=True)

    async def mass_drift(
        self, checks: Sequence[Wanting], foreseen: Mapping[Address, Verdict], sizes: Sizes, now: float
    ) -> MassDrift | None:
        """Judge the drift of the whole fleet: present, foreseen and recorded drift, and recent reverts."""
        guard = self.rules.corrections.mass_drift
        if guard is None:
            return None
        from holdfast.policy import mass_drift  # noqa: PLC0415 - only where something is to be corrected

        seen = {**foreseen, **{checked.address: checked.verdict for checked in checks}}
        drifted = {address: verdict.findings for address, verdict in seen.items() if verdict.status in CORRECTED}
        missing = [address for address, verdict in seen.items() if verdict.status is Status.MISSING]
        known = await self.store.findings()
        drifted |= {a: tuple(record.finding for record in item) for a, item in known.items() if a not in seen}
        missing += [
            address for address in await self.store.addresses_with_status(Status.MISSING) if address not in seen
        ]
        settings = [checked.prepared.settings for checked in checks if checked.decision.action.is_write]
        window = mass_drift.window(setting.resync.period * (1 + setting.resync.jitter) for setting in settings)
        return mass_drift.mass_drift(drifted, missing, sizes, guard, await self.store.reverts(now - window))


def is_approved(checked: Wanting) -> bool:
    """Return True if a person approved exactly this plan."""
    return checked.inputs is not None and checked.inputs.limits.approved


def still_unresolved(evaluation: Evaluation, past: WriteHistory) -> Evaluation:
    """Count a path that our last write did not change as that only as long as it was never seen right since."""
    if not evaluation.known.unresolved:
        return evaluation
    address = evaluation.resource.declaration.address
    written = max((correction.at for correction in past.corrections.get(address, ())), default=evaluation.at)
    since = {
        paths.format_path(record.finding.path)
        for record in past.findings.get(address, ())
        if record.clean_at is None or record.clean_at <= written
    }
    known = replace(evaluation.known, unresolved=evaluation.known.unresolved & since)
    return replace(evaluation, known=known)


def paused_by(address: Address, pauses: Collection[Pause], now: float) -> str | None:
    """Return the author and the reason of a pause that covers a resource, or None."""
    if not pauses:
        return None
    text = str(address)
    for pause in pauses:
        running = pause.until is None or now < pause.until
        if running and (not pause.scope or text == pause.scope or text.startswith(f"{pause.scope}/")):
            scope = pause.scope or "everything"
            return f"{scope} is paused by {pause.who}" + (f": {pause.why}" if pause.why else "")
    return None
