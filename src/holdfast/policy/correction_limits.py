"""The limits of correction: the section `corrections` of the project file, or the defaults.

By default there are no budgets and no windows, but the mass-drift guard and the contention rules are on.
"""

from __future__ import annotations

from dataclasses import field

from holdfast.model.record import dataclass
from holdfast.policy.budgets import BudgetRule
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.mass_drift import MassDriftGuard
from holdfast.policy.windows import Window


@dataclass(frozen=True, slots=True)
class CorrectionRules:
    """The rules that limit how much is corrected, when, and when correction stops."""

    budgets: tuple[BudgetRule, ...] = ()
    windows: tuple[Window, ...] = ()
    mass_drift: MassDriftGuard | None = field(default_factory=MassDriftGuard)  # None: switched off
    contention: ContentionRules = field(default_factory=ContentionRules)
