"""What a run saw and did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.model.address import Address
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.store.state import ResourceState

if TYPE_CHECKING:
    from holdfast.reconcile.action_result import ActionResult, NotTaken
    from holdfast.reconcile.check import CheckResult
    from holdfast.reconcile.resolve import Blocked
    from holdfast.rollouts.core.template_groups import TemplateGroup


@dataclass(slots=True)
class RunReport:
    """What a run saw and did; the run adds to it."""

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
