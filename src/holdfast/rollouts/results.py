"""What a run of the engine says of the children it was for: which are well, which failed, which are not known yet."""

from __future__ import annotations

from typing import Final

from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.report import RunReport
from holdfast.rollouts import child_status
from holdfast.rollouts.core.template_groups import TemplateGroup

FAILED: Final = frozenset({ActionOutcome.FAILED, ActionOutcome.TERMINAL, ActionOutcome.UNDONE, ActionOutcome.UNSURE})


def well(report: RunReport) -> set[Address]:
    """Return what a run left in sync: written and settled, or found so."""
    fine = {each.address for each in report.checked if each.verdict.status is Status.IN_SYNC}
    for each in report.acted:
        status = each.checked.state.observed.status
        if each.result is ActionOutcome.DONE and status is Status.IN_SYNC:
            fine.add(each.checked.address)
        else:
            fine.discard(each.checked.address)
    return fine


def unwell(report: RunReport) -> dict[Address, str]:
    """Return what a run could not do, and will not by trying alone, with the reason."""
    refused = {each.address: each for each in report.checked if each.decision.action is Action.BLOCK}
    out = {address: each.decision.reasons[0].message for address, each in refused.items()}
    return out | {each.checked.address: each.message for each in report.acted if each.result in FAILED}


def serves(group: TemplateGroup, document: Json) -> bool:
    """Tell whether a child that is in sync is ready, too, by what its template asks for."""
    rules = group.template.ready_when
    return not rules or (document is not None and child_status.is_ready(rules, document) is True)
