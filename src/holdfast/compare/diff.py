"""The comparison: differences between declared and live state, and which of them are new since the baseline.

A live value that equals the declaration is never a finding. With a baseline, a live value that differs is a finding
only if the declaration changed since it was applied, or the live value since the baseline. This subtracts the known
differences in one pass (`compare.known_differences` has the algebra). Without a baseline only declared values are
compared, and the side that changed is unknown.
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
    """The applied revision, and the first settled observation after it was written."""

    applied: Json
    observed: Json


def findings(
    desired: Json,
    observed: Json,
    rules: RuleTree,
    baseline: Baseline | None = None,
    trace: list[TraceEntry] | None = None,
) -> list[Finding]:
    """Return the new differences: against the baseline if there is one, else against the declaration alone.

    With `trace` every path is visited, and equal, known and excluded values are recorded there.
    """
    walk = Walk(has_baseline=baseline is not None, undeclared=False, trace=trace)
    applied, settled = (baseline.applied, baseline.observed) if baseline else (ABSENT, ABSENT)
    # No comparison of the whole documents: unchanged documents were recognised by their digest before.
    walk.moved(rules.root, (), (), (desired, applied, settled, observed))
    return walk.found


def differences(desired: Json, observed: Json, rules: RuleTree) -> list[Difference]:
    """Return every atomic difference between two documents, undeclared values included; differences(a, a) is empty."""
    walk = Walk(has_baseline=False, undeclared=True)
    four = (desired, ABSENT, ABSENT, observed)
    if not walk.is_untouched(four):
        walk.moved(rules.root, (), (), four)
    return [Difference(f.path, f.op, f.desired, f.observed, f.rule, f.pointer) for f in walk.found]


def equal_at(node: Node, one: Json, other: Json) -> bool:
    """Return True if two values are the same under the rules of `node`."""
    return is_same(one, other) or Walk(has_baseline=False, undeclared=True).equal(node, one, other)
