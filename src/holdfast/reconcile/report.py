"""The report of a run. Results that are not kept are counted, so that a report of a large fleet stays small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status, SuppressionReason
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.store.state import ResourceState

if TYPE_CHECKING:
    from holdfast.reconcile.action_result import ActionOutcome, ActionResult, NotTaken
    from holdfast.reconcile.check import CheckResult
    from holdfast.reconcile.resolve import Blocked
    from holdfast.rollouts.core.template_groups import TemplateGroup


@dataclass(slots=True)
class Tally:
    """Counts of results."""

    statuses: Counter[Status] = field(default_factory=Counter)
    decisions: Counter[Action] = field(default_factory=Counter)
    suppressed: Counter[SuppressionReason] = field(default_factory=Counter)
    done: Counter[Action] = field(default_factory=Counter)  # actions that succeeded
    outcomes: Counter[ActionOutcome] = field(default_factory=Counter)
    incomplete: int = 0  # actions that succeeded and did not change every field
    last_check: float = 0.0
    joined: list[str] = field(default_factory=list)  # defaults of services that joined a baseline

    def add_checked(self, checked: CheckResult) -> None:
        """Count a check."""
        evaluation = checked.evaluation
        self.statuses[evaluation.verdict.status] += 1
        self.decisions[checked.decision.action] += 1
        for suppressed in evaluation.verdict.suppressed:
            self.suppressed[suppressed.because] += 1
        if evaluation.suppressed:
            self.joined += [f"{checked.address} {suppressed.path}" for suppressed in evaluation.joined]
        self.last_check = max(self.last_check, evaluation.at)

    def add_acted(self, acted: ActionResult) -> None:
        """Count an action."""
        self.outcomes[acted.result] += 1
        if acted.result == "done":
            self.done[acted.checked.decision.action] += 1
            self.incomplete += bool(acted.unresolved)


Sink = Callable[["CheckResult | ActionResult"], bool]


def keep_all(_result: CheckResult | ActionResult) -> bool:
    """Keep every result in the report."""
    return True


@dataclass(slots=True)
class RunReport:
    """The observations and actions of a run, which adds to them."""

    checked: list[CheckResult] = field(default_factory=list)
    waiting: list[Blocked] = field(default_factory=list)
    acted: list[ActionResult] = field(default_factory=list)
    not_reached: list[Address] = field(default_factory=list)  # skipped because the run was stopped
    out_of_scope: list[Address] = field(default_factory=list)  # declared, and not meant by this run
    left_alone: list[ResolvedResource] = field(
        default_factory=list
    )  # neither checked nor written, as their settings say
    undeclared: list[ResourceState] = field(default_factory=list)  # known, and declared nowhere any more
    groups: list[TemplateGroup] = field(default_factory=list)  # templates, where there are any, as they stand now
    not_taken: dict[Address, tuple[NotTaken, ...]] = field(default_factory=dict)  # of what was created; see `untaken`
    sink: Sink = keep_all  # receives every final result; True: the report keeps it
    counted: Tally = field(default_factory=Tally)  # results that the report did not keep

    def add_checked(self, checks: list[CheckResult]) -> None:
        """Add the final results of checks."""
        for checked in checks:
            if self.sink(checked):
                self.checked.append(checked)
            else:
                self.counted.add_checked(checked)

    def add_acted(self, actions: list[ActionResult]) -> None:
        """Add the results of actions."""
        for acted in actions:
            if self.sink(acted):
                self.acted.append(acted)
            else:
                self.counted.add_acted(acted)

    @property
    def tally(self) -> Tally:
        """The counts of all results, kept or not."""
        counted = self.counted
        total = Tally(
            Counter(counted.statuses),
            Counter(counted.decisions),
            Counter(counted.suppressed),
            Counter(counted.done),
            Counter(counted.outcomes),
            counted.incomplete,
            counted.last_check,
            [*counted.joined],
        )
        for checked in self.checked:
            total.add_checked(checked)
        for acted in self.acted:
            total.add_acted(acted)
        return total
