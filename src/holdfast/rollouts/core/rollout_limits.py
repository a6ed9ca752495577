"""Limits of a rollout: how much at once, in which waves, when, and when to stop.

An amount is a number or a share of the slots of the fleet. The whole fleet is the measure and not the children that are
ready at the moment: ours to break would otherwise change what we may break. A share is rounded down; it is at least one
in a fleet of two or more (a limit that can never be used would stop rollouts without saying so), never in a fleet of
one, so rounding never makes it the whole fleet.

A share of a zone, or of all slots of all templates, is at least one: whatever else is limited, a zone of one slot would
otherwise never be rolled, and the limits of the whole fleet hold there, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from fractions import Fraction
from typing import Final

from holdfast.model.record import dataclass
from holdfast.policy.budgets import Percent
from holdfast.policy.windows import Window

Amount = int | Percent
EVERY_REASON: Final = "*"


class Order(StrEnum):
    """The first step when a child is replaced."""

    REPLACE_BEFORE_REMOVE = "replace-before-remove"
    REMOVE_FIRST = "remove-first"  # for what cannot exist twice


class OnHalt(StrEnum):
    """The reaction of a rollout to too many failures."""

    STAY = "stay"
    ROLL_BACK = "roll-back"


class Health(StrEnum):
    """The answer of a gate. An unknown answer neither opens a wave nor stops the rollout."""

    PASS = "pass"  # noqa: S105 - the opposite of fail
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Waves:
    """Which slots a rollout takes up first, and how many in each wave."""

    canary: int = 1  # slots of the first wave; 0: no canary
    canary_slots: frozenset[str] = frozenset()  # these go first, whatever the order says
    is_doubling: bool = True  # 1, 2, 4, ... after the canary; False: as many as the other limits allow
    partition: int = 0  # number of slots, the last by name, that are not rolled out
    soak: float = 0.0  # seconds that a wave must be healthy before the next begins


@dataclass(frozen=True, slots=True)
class HaltRules:
    """When a rollout stops by itself, and what follows."""

    after: Amount | None = 3  # failures; None: never
    action: OnHalt = OnHalt.STAY
    progress_deadline: float | None = None  # seconds without a new ready child while a slot is at work


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """The settings of a rollout, and the present state of its gates. Times are in seconds."""

    max_unavailable: Amount = field(default_factory=lambda: Percent(10))
    max_surge: Amount = field(default_factory=lambda: Percent(10))
    budgets: Mapping[str, Amount] = field(default_factory=dict)  # slots at work at once, by reason; "*": each reason
    per_zone: Amount | None = None  # slots of one zone at work at once; None: no limit
    turns: int | None = None  # slots at work at once that the limit over all templates leaves; None: no limit
    order: Order = Order.REPLACE_BEFORE_REMOVE
    waves: Waves = field(default_factory=Waves)
    halt: HaltRules = field(default_factory=HaltRules)
    windows: tuple[Window, ...] = ()
    gates: Mapping[str, Health] = field(default_factory=dict)
    min_ready: float = 0.0  # how long a replacement must be ready before the old child is removed
    hold_deadline: float | None = None  # after this time a rollout ignores the holds of children
    retry_base: float = 60.0  # wait after the first failure in a slot; doubled after each further failure ...
    retry_max: float = 600.0  # ... up to this


def resolve(amount: Amount, fleet: int) -> int:
    """Return how many slots an amount is; see the top of the module for the rounding."""
    if not isinstance(amount, Percent):
        return max(0, amount)
    share = int(Fraction(repr(amount.percent)) * fleet / 100)
    return max(share, 1) if fleet >= 2 and amount.percent > 0 else share


def resolve_part(amount: Amount, slots: int) -> int:
    """Return how many slots an amount is of a zone, or of all there are: a share is at least one."""
    return max(1, resolve(amount, slots)) if isinstance(amount, Percent) else amount


def budget(limits: RolloutLimits, reason: str, fleet: int) -> int:
    """Return how many slots may be at work for a reason; without a rule, as many as the other limits allow."""
    amount = limits.budgets.get(reason, limits.budgets.get(EVERY_REASON))
    return fleet if amount is None else resolve(amount, fleet)


def quota(limits: RolloutLimits, wave: int, fleet: int) -> int:
    """Return how many slots may have been taken up by the end of a wave; wave 0 is the canary."""
    first = len(limits.waves.canary_slots) or limits.waves.canary
    if wave == 0:
        return first
    return first + 2**wave - 1 if limits.waves.is_doubling else fleet
