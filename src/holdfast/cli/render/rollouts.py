"""Templates and rollouts on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.cli import console
from holdfast.cli.render.text import ago
from holdfast.model.address import Address
from holdfast.rollouts import render
from holdfast.rollouts.core.records import RolloutPhase
from holdfast.rollouts.core.template_groups import ChildRecord, TemplateGroup
from holdfast.rollouts.core.templates import RolloutMode
from holdfast.store.protocol import RecordStore

_COLOUR: Final = {
    RolloutPhase.COMPLETE: "green",
    RolloutPhase.HALTED: "red",
    RolloutPhase.PAUSED: "cyan",
    RolloutPhase.ROLLED_BACK: "magenta",
    RolloutPhase.SUPERSEDED: "bright_black",
}


def show(
    group: TemplateGroup, now: float, unready: Sequence[Address] = (), turns: str = "", *, everything: bool = False
) -> None:
    """Print one template: its line, the present or planned steps of its rollout, and findings without an action."""
    fine, total = render.up_to_date(group)
    name = console.styled(f"template {group.template.name}", bold=True)
    wanted = f" of {group.template.replicas} wanted" if group.template.replicas not in (None, total) else ""
    console.line(f"  {name}  revision {group.current.number}, {fine}/{total} children up to date{wanted}")
    file = group.rollout
    if file is not None and (everything or file.rollout.phase is not RolloutPhase.COMPLETE):
        console.line(f"      {render.rollout_text(file)}", fg=_COLOUR.get(file.rollout.phase, "yellow"))
    found = render.preview(group, now)
    if found is not None:
        console.line(f"      {render.preview_text(found)}")
    for text in render.waits(group, now, unready, turns):
        console.line(f"      waits: {text}", fg="bright_black")
    for text in render.finding_lines(group):
        console.line(f"      {text}", fg="bright_black")
    if group.template.rollout.mode is not RolloutMode.ENFORCE:
        console.line(f"      mode {group.template.rollout.mode}: nothing is rolled", fg="bright_black")


def show_child(owner: str, child: ChildRecord, now: float) -> None:
    """Print the origin of a child, its standing with each owner, and since when."""
    made_from = ", ".join(
        f"{name} revision {birth.revision or 'unknown'} (regime {birth.regime})" for name, birth in child.births.items()
    )
    console.line(f"  child of template {owner}, slot {child.slot}, {child.state.value}; made from {made_from}")
    if child.note:
        console.line(f"      {child.note}", fg="bright_black")
    for finding in child.findings:
        where = f" at {', '.join(render.fields_text(finding.fields))}" if finding.fields else ""
        text = (
            f"{finding.owner}: {finding.kind.value}, {finding.reason}{where}, first seen {ago(finding.first_seen, now)}"
        )
        text += f", {finding.times} times so far" if finding.last_seen else ""
        console.line(f"  ~ {text}", fg="yellow")


async def show_templates(store: RecordStore) -> None:
    """Print a line a template."""
    for template in await render.templates(store):
        children = (
            ", ".join(f"{number} {state}" for state, number in sorted(template["children"].items())) or "no children"
        )
        rollout = template["rollout"]
        doing = f"; rollout {rollout['number']} {rollout['phase']}" if rollout else ""
        console.line(f"template {template['name']}: revision {template['revision']}, {children}{doing}")
