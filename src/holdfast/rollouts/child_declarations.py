"""What is declared of the children of a brood, for the engine that looks at and writes what is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.model.address import Address
from holdfast.model.resource import Declaration
from holdfast.rollouts.core import group_rollouts, rendering
from holdfast.rollouts.core.slots import State
from holdfast.rollouts.core.template_groups import Brood, ChildFile
from holdfast.rollouts.core.templates import Method

_HIDDEN: Final = frozenset({State.REMOVING, State.FAILED, State.GONE})


def declarations(brood: Brood, around: Mapping[Address, Declaration]) -> list[Declaration]:
    """Return what is declared of the children of a brood that are there, or are to be there."""
    shown = (each for each in at_hand(brood, around).children.values() if is_declared(brood, each))
    return [*(declaration(brood, each, around) for each in shown), *unrecorded(brood, around)]


def unrecorded(brood: Brood, around: Mapping[Address, Declaration]) -> list[Declaration]:
    """Return what is declared of selected children that nobody has looked at yet: they are to be looked at, only."""
    new = (address for address in group_rollouts.selected(brood, around) if address not in brood.children)
    return [declaration(brood, ChildFile(address, address.name, {}), around) for address in new]


def is_declared(brood: Brood, child: ChildFile) -> bool:
    """Tell whether a child is to exist; what is rewritten exists all the time."""
    return brood.template.method is Method.REWRITE or child.is_rewriting or child.state not in _HIDDEN


def at_hand(brood: Brood, around: Mapping[Address, Declaration]) -> Brood:
    """Return a brood with those children that can be written: selected ones only where they are declared, too."""
    if brood.template.selector is None:
        return brood
    return replace(brood, children={address: each for address, each in brood.children.items() if address in around})


def imagined(brood: Brood) -> list[ChildFile]:
    """Return the first child that more `replicas` would make, to be looked at; a selector makes none."""
    template = brood.template
    if template.replicas is None:
        return []
    slot = rendering.slot_name(template, 0)
    return [ChildFile(rendering.child_address(template, slot), slot, {})]


def declaration(brood: Brood, child: ChildFile, around: Mapping[Address, Declaration]) -> Declaration:
    """Return what is declared of one child."""
    return rendering.declaration(brood, child, around.get(child.address))
