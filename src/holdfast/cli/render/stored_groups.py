"""What the store alone tells of templates and their children, for commands that are asked without manifests."""

from __future__ import annotations

from collections import Counter

from holdfast.cli import console
from holdfast.cli.render import rollouts
from holdfast.cli.render.times import ago
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.rollouts import serialization
from holdfast.rollouts.core.template_groups import ChildRecord
from holdfast.store.protocol import Store


async def child_of(store: Store, address: Address) -> tuple[str, ChildRecord] | None:
    """Return the template that leads a child, and what is kept of it; None for what is no child."""
    record = await store.record(serialization.CHILDREN, str(address))
    return None if record is None else (record.owner, serialization.child_of(record))


def show_child(owner: str, child: ChildRecord, now: float) -> None:
    """Print what a child comes from, how it stands to each owner, and since when."""
    made_from = ", ".join(
        f"{name} revision {birth.revision or 'unknown'} (regime {birth.regime})" for name, birth in child.births.items()
    )
    console.line(f"  child of template {owner}, slot {child.slot}, {child.state.value}; made from {made_from}")
    if child.note:
        console.line(f"      {child.note}", fg="bright_black")
    for each in child.findings:
        where = f" at {', '.join(rollouts.fields_text(each.fields))}" if each.fields else ""
        text = f"{each.owner}: {each.kind.value}, {each.reason}{where}, first seen {ago(each.first_seen, now)}"
        text += f", {each.times} times so far" if each.last_seen else ""
        console.line(f"  ~ {text}", fg="yellow")


def child_as_json(owner: str, child: ChildRecord) -> dict[str, Json]:
    """Return the same for programs."""
    return {
        "template": owner,
        "slot": child.slot,
        "state": child.state.value,
        "generation": child.generation,
        "madeFrom": {
            name: {
                "revision": birth.revision,
                "regime": birth.regime,
                "stamp": str(birth.stamp) if birth.stamp else None,
            }
            for name, birth in child.births.items()
        },
        "findings": rollouts.findings_as_json(child),
        "note": child.note,
    }


async def templates(store: Store) -> list[dict[str, Json]]:
    """Return what is kept of every template, for programs."""
    out = []
    async for record in store.records(serialization.TEMPLATES):
        states = Counter([each.data["state"] async for each in store.records(serialization.CHILDREN, owner=record.key)])
        files = [
            serialization.rollout_of(each) async for each in store.records(serialization.ROLLOUTS, owner=record.key)
        ]
        out.append(
            {
                "name": record.key,
                "revision": record.data["current"],
                "children": dict(states),
                "rollout": rollouts.rollout_as_json(files[-1]) if files else None,
            }
        )
    return out


async def show_templates(store: Store) -> None:
    """Print a line a template."""
    for each in await templates(store):
        children = ", ".join(f"{number} {state}" for state, number in sorted(each["children"].items())) or "no children"
        rollout = each["rollout"]
        doing = f"; rollout {rollout['number']} {rollout['phase']}" if rollout else ""
        console.line(f"template {each['name']}: revision {each['revision']}, {children}{doing}")
