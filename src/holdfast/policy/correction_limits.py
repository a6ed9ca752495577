"""The limits of correction, all in one: what the section `corrections` of the project file says, or what holds without.

By default there are no budgets and no windows, but the guard against storms and the rules of fights are on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.policy.budgets import BudgetRule
from holdfast.policy.contention_rules import FightRules
from holdfast.policy.mass_drift import StormGuard
from holdfast.policy.windows import Window


@dataclass(frozen=True, slots=True)
class CorrectionRules:
    """How much may be corrected, when, and when to stop."""

    budgets: tuple[BudgetRule, ...] = ()
    windows: tuple[Window, ...] = ()
    storm: StormGuard | None = field(default_factory=StormGuard)  # None: switched off
    fights: FightRules = field(default_factory=FightRules)
