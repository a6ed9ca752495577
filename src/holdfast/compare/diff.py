"""The comparison: what differs between a declaration and the world, and what of it is news.

With a baseline the question at every place is who moved since then: equal to the declaration is never news; different
from it is news only if the declaration moved since it was applied, or the world since the baseline. That is the
subtraction of known differences, done in one pass (see `compare.known_differences` for the algebra spelled out).
Without a baseline only what is declared can be judged, and nobody can say who moved.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.compare.diff_walk import TraceEntry, Walk
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.unchanged import is_same
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Difference, Finding
from holdfast.model.json import Json


@dataclass(frozen=True, slots=True)
class Baseline:
    """What we last wrote, and the first settled observation after that write."""

    applied: Json
    observed: Json


def findings(
    desired: Json,
    observed: Json,
    rules: RuleTree,
    baseline: Baseline | None = None,
    trace: list[TraceEntry] | None = None,
) -> list[Finding]:
    """Return what is news: against the baseline where there is one, else against the declaration alone.

    With `trace` every place is looked at, and what was judged equal, known or not compared is noted there.
    """
    walk = Walk(has_baseline=baseline is not None, undeclared=False, trace=trace)
    applied, settled = (baseline.applied, baseline.observed) if baseline else (ABSENT, ABSENT)
    # Straight to the parts: that a whole document has not moved is found out by its digest, before it is parsed.
    walk.moved(rules.root, (), (), (desired, applied, settled, observed))
    return walk.found


def differences(desired: Json, observed: Json, rules: RuleTree) -> list[Difference]:
    """Return every atomic difference between two documents, undeclared values included; differences(a, a) is empty."""
    walk = Walk(has_baseline=False, undeclared=True)
    walk.value(rules.root, (), (), (desired, ABSENT, ABSENT, observed))
    return [Difference(f.path, f.op, f.desired, f.observed, f.rule, f.pointer) for f in walk.found]


def equal_at(node: Node, one: Json, other: Json) -> bool:
    """Tell whether two values are the same at the place that `node` stands for."""
    return is_same(one, other) or Walk(has_baseline=False, undeclared=True).equal(node, one, other)
