"""What is declared of the children of a template group, for the engine that looks at and writes what is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.model.address import Address
from holdfast.model.resource import Declaration
from holdfast.rollouts.core import group_rollouts, rendering
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_groups import ChildRecord, TemplateGroup
from holdfast.rollouts.core.templates import Method

_HIDDEN: Final = frozenset({ChildState.REMOVING, ChildState.FAILED, ChildState.GONE})


def declarations(group: TemplateGroup, around: Mapping[Address, Declaration]) -> list[Declaration]:
    """Return what is declared of the children of a template group that are there, or are to be there."""
    shown = (each for each in at_hand(group, around).children.values() if is_declared(group, each))
    return [*(declaration(group, each, around) for each in shown), *unrecorded(group, around)]


def unrecorded(group: TemplateGroup, around: Mapping[Address, Declaration]) -> list[Declaration]:
    """Return what is declared of selected children that nobody has looked at yet: they are to be looked at, only."""
    new = (address for address in group_rollouts.selected(group, around) if address not in group.children)
    return [declaration(group, ChildRecord(address, address.name, {}), around) for address in new]


def is_declared(group: TemplateGroup, child: ChildRecord) -> bool:
    """Tell whether a child is to exist; what is rewritten exists all the time."""
    return group.template.method is Method.REWRITE or child.is_rewriting or child.state not in _HIDDEN


def at_hand(group: TemplateGroup, around: Mapping[Address, Declaration]) -> TemplateGroup:
    """Return a template group with the children that can be written; selected ones must be declared."""
    if group.template.selector is None:
        return group
    return replace(group, children={address: each for address, each in group.children.items() if address in around})


def imagined(group: TemplateGroup) -> list[ChildRecord]:
    """Return the first child that more `replicas` would make, to be looked at; a selector makes none."""
    template = group.template
    if template.replicas is None:
        return []
    slot = rendering.slot_name(template, 0)
    return [ChildRecord(rendering.child_address(template, slot), slot, {})]


def declaration(group: TemplateGroup, child: ChildRecord, around: Mapping[Address, Declaration]) -> Declaration:
    """Return what is declared of one child."""
    return rendering.declaration(group, child, around.get(child.address))
