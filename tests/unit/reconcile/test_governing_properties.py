"""For any policy, any budgets and any drift: no budget is ever exceeded in any window, nothing outside the policy's
paths is ever written, and what is seen does not depend on the limits."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model.decision import Action
from holdfast.policy.budgets import DESTRUCTIVE, BudgetRule, Each, Percent
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.mass_drift import MassDriftGuard
from holdfast.policy.write_reasons import CORRECTIONS, WriteReason
from holdfast.reconcile.policy_evaluation import PolicyRules
from tests.unit.reconcile.fixtures import Bench, declare

FIELDS = ("color", "size", "shape")
NAMES = tuple(f"n{i}" for i in range(6))
POLICIES = ("correct", "report", "approve", "ignore")

budget_rules = st.builds(
    BudgetRule,
    max=st.one_of(st.integers(0, 4), st.sampled_from([Percent(10), Percent(50)])),
    per=st.sampled_from([50.0, 100.0, 1000.0]),
    actions=st.sampled_from([None, DESTRUCTIVE, frozenset({Action.UPDATE})]),
    reasons=st.sampled_from([CORRECTIONS, frozenset({WriteReason.DRIFT}), frozenset({WriteReason.MISSING})]),
    each=st.sampled_from(Each),
)
limits = st.builds(
    CorrectionRules,
    budgets=st.lists(budget_rules, max_size=3).map(tuple),
    mass_drift=st.one_of(st.none(), st.builds(MassDriftGuard, share=st.just(0.5), at_least=st.integers(2, 6))),
    contention=st.builds(
        ContentionRules, reverts=st.integers(1, 3), forget_after=st.just(500.0), backoff=st.sampled_from([0.0, 30.0])
    ),
)
edits = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(NAMES), st.sampled_from(FIELDS), st.integers(10, 13)),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(""), st.just(0)),
)
rounds = st.lists(st.tuples(st.lists(edits, max_size=5), st.integers(1, 120)), min_size=1, max_size=6)
policies = st.dictionaries(st.sampled_from([f"/{name}" for name in FIELDS]), st.sampled_from(POLICIES))


@dataclass
class Ledger:
    """What the provider saw: every write with the document before and after, at the time it came in."""

    bench: Bench
    writes: list[tuple[float, str, str, dict, dict]] = field(default_factory=list)
    _before: dict = field(default_factory=dict)

    def before(self, _verb: str) -> None:
        self._before = copy.deepcopy(self.bench.live.things)

    def after(self, verb: str) -> None:
        now = self.bench.live.things
        for key in {*now, *self._before}:
            if now.get(key) != self._before.get(key):
                body = now.get(key) or self._before[key]
                self.writes.append(
                    (
                        self.bench.clock.now(),
                        verb,
                        body["name"],
                        self._before.get(key, {}),
                        copy.deepcopy(now.get(key, {})),
                    )
                )


def run(coroutine):
    return asyncio.run(coroutine)


def fleet_of(policy, on_drift):
    desired = dict.fromkeys(FIELDS, 1)
    return [declare(n, desired, onDrift=on_drift, onDriftPaths=policy, recreate="always") for n in NAMES]


def live(rules, patches):
    bench = Bench(rules=PolicyRules(rules), patches=patches)
    ledger = Ledger(bench)
    bench.live.before_write, bench.live.after_write = ledger.before, ledger.after
    return bench, ledger


def inject_drift(bench, changes):
    for what, name, place, value in changes:
        ident = bench.live.find("Thing", name)
        if ident is not None and what == "set":
            bench.live.things["Thing", ident][place] = value
        elif ident is not None:
            del bench.live.things["Thing", ident]


@given(limits, policies, st.sampled_from(["correct", "report", "approve"]), rounds, st.booleans())
@settings(max_examples=60)
def test_corrections_never_exceed_a_budget_nor_leave_the_policys_paths(rules, policy, on_drift, history, patches):
    bench, ledger = live(rules, patches)
    fleet = fleet_of(policy, on_drift)
    run(bench.apply(fleet))
    ledger.writes.clear()
    for changes, seconds in history:
        inject_drift(bench, changes)
        run(bench.apply(fleet))
        bench.clock.advance(seconds)
    for rule in rules.budgets:
        assert_within(rule, ledger)
    for _, verb, name, before, after in ledger.writes:
        if verb == "update":
            changed = {key for key in FIELDS if before.get(key) != after.get(key)}
            allowed = {key for key in FIELDS if policy.get(f"/{key}", on_drift) == "correct"}
            assert changed <= allowed, (name, before, after)
        else:
            assert on_drift == "correct", "making it again is a correction of the whole"


def assert_within(rule: BudgetRule, ledger: Ledger) -> None:
    write_reason_of = {"update": WriteReason.DRIFT, "create": WriteReason.MISSING}
    action_of = {"update": Action.UPDATE, "create": Action.RECREATE}
    covered = [
        (at, name)
        for at, verb, name, _, _ in ledger.writes
        if write_reason_of[verb] in rule.reasons and (rule.actions is None or action_of[verb] in rule.actions)
    ]
    limit = rule.max if isinstance(rule.max, int) else rule.max.of(1 if rule.each is Each.RESOURCE else len(NAMES))
    same: Callable[[str, str], bool] = (lambda a, b: a == b) if rule.each is Each.RESOURCE else (lambda _a, _b: True)
    for start, first in covered:
        inside = [name for at, name in covered if start <= at < start + rule.per and same(name, first)]
        assert len(inside) <= limit, (rule, covered)


@given(limits, policies, rounds)
@settings(max_examples=40)
def test_what_is_seen_is_the_same_with_and_without_limits(rules, policy, history):
    """Limits change what is done, never what is true."""
    free, _ = live(
        CorrectionRules(mass_drift=None, contention=ContentionRules(reverts=10_000, backoff=0.0)), patches=True
    )
    bound, _ = live(rules, patches=True)
    fleet = fleet_of(policy, "correct")
    for bench in (free, bound):
        run(bench.apply(fleet))
    for changes, seconds in history:
        seen = []
        for bench in (free, bound):
            inject_drift(bench, changes)
            report = run(bench.check(fleet))
            seen.append([(item.address, item.verdict.status, item.verdict.findings) for item in report.checked])
            bench.clock.advance(seconds)
        assert seen[0] == seen[1]
