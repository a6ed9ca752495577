"""What a run saw and did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.model.address import Address
from holdfast.reconcile.resolved_resource import Prepared
from holdfast.store.protocol import ResourceState

if TYPE_CHECKING:
    from holdfast.reconcile.action_result import Acted, NotTaken
    from holdfast.reconcile.check import Checked
    from holdfast.reconcile.resolve import Waiting
    from holdfast.rollouts.core.template_groups import Brood


@dataclass(slots=True)
class Report:
    """What a run saw and did; the run adds to it."""

    checked: list[Checked] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    acted: list[Acted] = field(default_factory=list)
    not_reached: list[Address] = field(default_factory=list)  # skipped because the run was stopped
    out_of_scope: list[Address] = field(default_factory=list)  # declared, and not meant by this run
    left_alone: list[Prepared] = field(default_factory=list)  # neither checked nor written, as their settings say
    undeclared: list[ResourceState] = field(default_factory=list)  # known, and declared nowhere any more
    broods: list[Brood] = field(default_factory=list)  # templates, where there are any, as they stand now
    not_taken: dict[Address, tuple[NotTaken, ...]] = field(default_factory=dict)  # of what was created; see `untaken`
