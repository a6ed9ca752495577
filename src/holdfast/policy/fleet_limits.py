"""Limits of the fleet on decisions: mass drift holds all corrections, budgets hold those that do not fit.

A function of the whole batch, because both are about many resources at once. An approval of a plan lifts the hold
for it, not the budgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.decision import Decision, Reason
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status
from holdfast.policy import budgets, write_reasons
from holdfast.policy.budgets import Candidate, Sizes
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.decide import CORRECTED, hold
from holdfast.policy.mass_drift import MassDrift


@dataclass(frozen=True, slots=True)
class BatchDecision:
    """One decision of a batch."""

    address: Address
    status: Status
    decision: Decision
    approved: bool = False

    @property
    def is_correction(self) -> bool:
        """Return True if the write reverts live state."""
        return self.decision.action.is_write and self.status in CORRECTED

    def candidate(self) -> Candidate:
        """Return it as budgets see it."""
        return Candidate(self.address, self.decision.action, write_reasons.of_status(self.status).value)


@dataclass(frozen=True, slots=True)
class Allowed:
    """A decision after the limits, unchanged or held, with its budget charges."""

    decision: Decision
    charges: tuple[BudgetCharge, ...] = ()


def candidates(wanted: Sequence[BatchDecision]) -> list[Candidate]:
    """Return the writes of a batch."""
    return [item.candidate() for item in wanted if item.decision.action.is_write]


def hold_back(
    wanted: Sequence[BatchDecision],
    rules: CorrectionRules,
    mass_drift: MassDrift | None,
    spent: Mapping[str, int],
    sizes: Sizes,
    now: float,
) -> list[Allowed]:
    """Return the decisions of a batch after the limits, in the same order."""
    out: list[Allowed] = []
    taken = dict(spent)
    for item in wanted:
        if item.is_correction and mass_drift is not None and not item.approved:
            out.append(Allowed(hold(item.decision, Reason("massDrift", str(mass_drift)))))
            continue
        if not item.decision.action.is_write:
            out.append(Allowed(item.decision))
            continue
        allotment = budgets.allot([item.candidate()], rules.budgets, taken, sizes, now)
        if allotment.held:
            out.append(Allowed(hold(item.decision, Reason("budget", str(allotment.held[0])))))
            continue
        one = item.candidate()
        charges = budgets.charges(rules.budgets, one.address, one.action, one.reason, sizes, now)
        for charge in charges:
            taken[charge.bucket] = taken.get(charge.bucket, 0) + 1
        out.append(Allowed(item.decision, tuple(charges)))
    return out
