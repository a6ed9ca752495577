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
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Final

from holdfast.policy.budgets import Percent
from holdfast.policy.windows import Window

Amount = int | Percent
EVERY_REASON: Final = "*"


class Order(StrEnum):
    """What happens first when a child is replaced."""

    REPLACE_BEFORE_REMOVE = "replace-before-remove"
    REMOVE_FIRST = "remove-first"  # for what cannot exist twice


class OnHalt(StrEnum):
    """What a rollout does when it has seen enough failures."""

    STAY = "stay"
    ROLL_BACK = "roll-back"


class Health(StrEnum):
    """What a gate says. Not knowing neither opens a wave nor stops the rollout."""

    PASS = "pass"  # noqa: S105 - the opposite of fail
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """The settings of a rollout, and what its gates say at the moment. Times are in seconds."""

    max_unavailable: Amount = field(default_factory=lambda: Percent(10))
    max_surge: Amount = field(default_factory=lambda: Percent(10))
    budgets: Mapping[str, Amount] = field(default_factory=dict)  # slots at work at once, by reason; "*": any one
    per_zone: Amount | None = None  # slots of one zone at work at once; None: as many as the others allow
    turns: int | None = None  # slots at work at once, as far as those of other templates leave room; None: no matter
    order: Order = Order.REPLACE_BEFORE_REMOVE
    canary: int = 1  # slots of the first wave; 0: no canary
    canary_slots: frozenset[str] = frozenset()  # these go first, whatever the order says
    has_waves: bool = True  # 1, 2, 4, ... after the canary; False: everything the other limits allow
    partition: int = 0  # so many slots, the last by name, stay as they are
    windows: tuple[Window, ...] = ()
    gates: Mapping[str, Health] = field(default_factory=dict)
    min_ready: float = 0.0  # how long a replacement has to be ready before the old child goes
    soak: float = 0.0  # how long a wave has to be well before the next begins
    progress_deadline: float | None = None  # without a new ready child, while something is at work
    halt_after: Amount | None = 3  # failures; None: never
    on_halt: OnHalt = OnHalt.STAY
    hold_deadline: float | None = None  # after so long a rollout passes over the holds of children
    retry_base: float = 60.0  # a slot whose replacement failed waits so long, twice as long the next time ...
    retry_max: float = 600.0  # ... but no longer than this


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
    first = len(limits.canary_slots) or limits.canary
    if wave == 0:
        return first
    return first + 2**wave - 1 if limits.has_waves else fleet
