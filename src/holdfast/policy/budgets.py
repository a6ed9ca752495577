"""Budgets: the number of corrections in a time, so that a mistake of ours stays small.

A rule has one bucket, or one for each connection, kind or resource that it covers. A correction charges every bucket of
every rule that covers it, and is made only if none is exhausted. The store counts the charges. This module has the
buckets, their sizes, and the order of candidates if there is not enough for all.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final

from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.decision import Action
from holdfast.model.record import dataclass
from holdfast.policy import durations, write_reasons
from holdfast.policy.write_reasons import CORRECTIONS, EVERY, WriteReason

DESTRUCTIVE: Final = frozenset({Action.REPLACE, Action.DELETE, Action.RECREATE})
ANYTHING: Final = ("*",)

Sizes = Mapping[tuple[str, str], int]  # (connection, kind) -> how many resources are declared


class Each(StrEnum):
    """The level at which a rule has a bucket of its own."""

    FLEET = "fleet"
    CONNECTION = "connection"
    KIND = "kind"
    RESOURCE = "resource"


@dataclass(frozen=True, slots=True)
class Percent:
    """A share of the resources that a bucket is for: rounded down, but never less than one of them.

    Rounded down, because a limit is a promise; at least one, because a budget that a small fleet can never spend would
    switch correction off without saying so. Who wants none writes 0.
    """

    percent: float

    def of(self, resources: int) -> int:
        """Return how many that is; exact, so that 29 % of 100 is 29."""
        return max(1, int(Fraction(repr(self.percent)) * resources / 100))

    def __str__(self) -> str:
        return f"{self.percent:g}%"


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """At most so many writes, of these resources, for these reasons, in any stretch of this length."""

    max: int | Percent
    per: float  # seconds
    connections: tuple[str, ...] = ANYTHING  # globs
    kinds: tuple[str, ...] = ANYTHING  # globs
    actions: frozenset[Action] | None = None  # None: every write
    reasons: frozenset[WriteReason] = CORRECTIONS
    each: Each = Each.FLEET

    def covers(self, address: Address, action: Action, reason: str) -> bool:
        """Return True if the rule is charged for such a write. `reason` is a write reason or the code of a decision."""
        if not action.is_write or write_reasons.of_code(reason) not in self.reasons:
            return False
        return (self.actions is None or action in self.actions) and self._holds(address.connection, address.kind)

    def _holds(self, connection: str, kind: str) -> bool:
        return _any_glob(connection, self.connections) and _any_glob(kind, self.kinds)

    def limit(self, address: Address, sizes: Sizes) -> int:
        """Return how much the bucket for an address holds."""
        if not isinstance(self.max, Percent):
            return self.max
        return self.max.of(1 if self.each is Each.RESOURCE else sum(self._counted(address, sizes)))

    def _counted(self, address: Address, sizes: Sizes) -> Iterable[int]:
        for (connection, kind), resources in sizes.items():
            same_connection = self.each is not Each.CONNECTION or connection == address.connection
            same_kind = self.each is not Each.KIND or kind == address.kind
            if same_connection and same_kind and self._holds(connection, kind):
                yield resources

    def bucket(self, address: Address) -> str:
        """Return the name of the bucket for an address. It is readable, and does not depend on the amount.

        So raising or lowering the amount does not forget earlier charges.
        """
        actions = "" if self.actions is None else _actions_text(self.actions) + " "
        covers = f"{actions}{_reasons_text(self.reasons)}"
        kinds = "" if self.kinds == ANYTHING else f" of {','.join(sorted(self.kinds))}"
        connections = "" if self.connections == ANYTHING else f" on {','.join(sorted(self.connections))}"
        return f"{covers}{kinds}{connections} per {durations.format_seconds(self.per)}{self._whose(address)}"

    def _whose(self, address: Address) -> str:
        match self.each:
            case Each.FLEET:
                return ""
            case Each.CONNECTION:
                return f", connection {address.connection}"
            case Each.KIND:
                return f", kind {address.kind}"
            case Each.RESOURCE:
                return f", resource {address}"


def _any_glob(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _actions_text(actions: frozenset[Action]) -> str:
    return "destructive" if actions == DESTRUCTIVE else "+".join(sorted(actions))


def _reasons_text(reasons: frozenset[WriteReason]) -> str:
    if reasons == CORRECTIONS:
        return "corrections"
    return "writes" if reasons == EVERY else f"writes for {'+'.join(sorted(reasons))}"


def charges(
    rules: Iterable[BudgetRule], address: Address, action: Action, reason: str, sizes: Sizes, now: float
) -> list[BudgetCharge]:
    """Return the charges of a write in the order of the rules. If two rules share a bucket, the stricter one counts."""
    out: dict[str, BudgetCharge] = {}
    for rule in rules:
        if rule.covers(address, action, reason):
            charge = BudgetCharge(rule.bucket(address), rule.limit(address, sizes), now - rule.per)
            before = out.get(charge.bucket)
            if before is None or charge.limit < before.limit:
                out[charge.bucket] = charge
    return list(out.values())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A write that is wanted."""

    address: Address
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A write that does not fit, and the first bucket that was too empty for it."""

    candidate: Candidate
    charge: BudgetCharge

    def __str__(self) -> str:
        return f"the budget is spent: {self.charge.limit} {self.charge.bucket}"


@dataclass(frozen=True, slots=True)
class Allotment:
    """Which of a batch fit into the budgets."""

    granted: tuple[Candidate, ...] = ()
    held: tuple[Waiting, ...] = ()


def buckets(
    candidates: Iterable[Candidate], rules: Sequence[BudgetRule], sizes: Sizes, now: float
) -> list[tuple[str, float]]:
    """Return the buckets that a batch would charge, each once, with the start of its window."""
    found: dict[str, float] = {}
    for candidate in candidates:
        for charge in charges(rules, candidate.address, candidate.action, candidate.reason, sizes, now):
            found[charge.bucket] = charge.since
    return list(found.items())


def allot(
    candidates: Iterable[Candidate], rules: Sequence[BudgetRule], spent: Mapping[str, int], sizes: Sizes, now: float
) -> Allotment:
    """Return the candidates of a batch that fit into the budgets, first come, first served.

    `spent` has the charges so far by bucket. A candidate that does not fit charges nothing, so that a later and smaller
    one may still fit. The result is for display: the store decides.
    """
    taken = dict(spent)
    granted: list[Candidate] = []
    held: list[Waiting] = []
    for candidate in candidates:
        asked = charges(rules, candidate.address, candidate.action, candidate.reason, sizes, now)
        empty = next((charge for charge in asked if taken.get(charge.bucket, 0) >= charge.limit), None)
        if empty is not None:
            held.append(Waiting(candidate, empty))
            continue
        granted.append(candidate)
        for charge in asked:
            taken[charge.bucket] = taken.get(charge.bucket, 0) + 1
    return Allotment(tuple(granted), tuple(held))
