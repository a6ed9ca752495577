"""Templates and rollouts as text and JSON, from a template group or from the store alone. Prints nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.compare import paths
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.rollouts import serialization
from holdfast.rollouts.core import dry_run, group_findings, group_rollouts, group_views, rollout_steps, template_groups
from holdfast.rollouts.core.dry_run import Preview
from holdfast.rollouts.core.records import OVER, RolloutPhase
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_findings import TemplateFinding
from holdfast.rollouts.core.template_groups import ChildRecord, RolloutRecord, TemplateGroup
from holdfast.rollouts.core.templates import RolloutMode
from holdfast.store.protocol import RecordStore

_MOST_WAVES: Final = 12


def up_to_date(group: TemplateGroup) -> tuple[int, int]:
    """Return how many children are what the declarations ask for, and how many there are."""
    living = [child for child in group.children.values() if child.state is not ChildState.EMPTY]
    fine = sum(
        template_groups.fits(group, record, group.current) is True and record.state is ChildState.READY
        for record in living
    )
    return fine, len(living)


def preview(group: TemplateGroup, now: float) -> Preview | None:
    """Return the steps that the current rollout still has to take."""
    file = group.rollout
    if file is None or file.rollout.phase in OVER:
        return None
    return dry_run.preview(file.rollout, group_views.children(group), group_views.limits(group), now)


def waits(group: TemplateGroup, now: float, unready: Sequence[Address] = (), turns: str = "") -> tuple[str, ...]:
    """Return the reasons why the current rollout waits.

    `unready` are parts that are not as declared. `turns` names the templates in progress if no turn is left.
    """
    file = group.rollout
    if file is None:
        return ()
    parts = [f"part {address} is not as declared" for address in unready if file.rollout.phase not in OVER]
    parts += [turns] if turns and not group_rollouts.retired(file.rollout) else []
    return *parts, *rollout_steps.blocked_by(file.rollout, group_views.children(group), group_views.limits(group), now)


def line(group: TemplateGroup) -> str:
    """Return a template in one line."""
    fine, total = up_to_date(group)
    doing = f"; {rollout_text(group.rollout)}" if group.rollout is not None else ""
    return f"template {group.template.name}: {fine}/{total} children up to date{doing}"


def rollout_text(file: RolloutRecord) -> str:
    """Return a rollout in one line."""
    rollout = file.rollout
    direction = "back to" if rollout.is_going_back else "to"
    wave = f", wave {rollout.wave}" if rollout.wave and rollout.phase not in OVER else ""
    failed = f", {rollout.failed} failed" if rollout.failed else ""
    why = f" ({rollout.why})" if rollout.why else ""
    return f"rollout {file.number} {direction} revision {rollout.target.revision}: {rollout.phase}{wave}{failed}{why}"


def preview_text(found: Preview) -> str:
    """Return the children that would be rolled, in their waves."""
    shown = [str(wave) for wave in found.waves[:_MOST_WAVES]]
    more = f", … {len(found.waves) - _MOST_WAVES} more" if len(found.waves) > _MOST_WAVES else ""
    waves = f" in waves of {', '.join(shown)}{more}" if len(found.waves) > 1 else ""
    kept = f", rewriting {found.rewritten} of them" if found.rewritten else ""
    return f"would roll {found.rolled} of {found.total} children{waves}{kept}"


def finding_lines(group: TemplateGroup) -> Iterable[str]:
    """Return findings by owner and class, each with how many children it is about."""
    counted: Counter[tuple[str, str, str]] = Counter()
    waiting: Counter[tuple[str, str, str]] = Counter()
    sample: dict[tuple[str, str, str], TemplateFinding] = {}
    for child in group.children.values():
        for finding in child.findings:
            key = (finding.owner, finding.kind.value, finding.reason)
            counted[key] += 1
            waiting[key] += group_findings.is_debounced(group, finding)
            sample.setdefault(key, finding)
    for (owner, kind, reason), number in sorted(counted.items()):
        fields = sample[owner, kind, reason].fields
        where = f" at {', '.join(fields_text(fields))}" if fields else ""
        children = "child" if number == 1 else "children"
        held = waiting[owner, kind, reason]
        unripe = f" ({held} not seen often or long enough yet)" if held else ""
        yield f"{kind}: {number} {children}, {owner} {reason}{where}{unripe}"


def fields_text(fields: Sequence[tuple[str, ...]]) -> list[str]:
    """Return paths in a template's content."""
    return [paths.format_path(field) for field in fields]


def as_json(group: TemplateGroup, now: float, unready: Sequence[Address] = (), turns: str = "") -> dict[str, Json]:
    """Return a template for programs."""
    fine, total = up_to_date(group)
    found = preview(group, now)
    return {
        "name": group.template.name,
        "owners": {owner.template.name: owner.record.current for owner in group.owners},
        "revision": group.current.number,
        "mode": group.template.rollout.mode.value,
        "replicas": group.template.replicas,
        "children": total,
        "upToDate": fine,
        "states": dict(Counter(record.state.value for record in group.children.values())),
        "rollout": None if group.rollout is None else rollout_as_json(group.rollout),
        "preview": None
        if found is None
        else {
            "rolled": found.rolled,
            "of": found.total,
            "waves": list(found.waves),
            "left": found.left,
            **({"rewritten": found.rewritten} if found.rewritten else {}),
        },
        "waits": list(waits(group, now, unready, turns)),
        "findings": [item for child in group.children.values() for item in findings_as_json(child)],
    }


def findings_as_json(child: ChildRecord) -> list[Json]:
    """Return the findings on a child, for programs."""
    return [
        {
            "child": str(child.address),
            "owner": finding.owner,
            "kind": finding.kind.value,
            "reason": finding.reason,
            "firstSeen": finding.first_seen,
            "fields": fields_text(finding.fields),
            **({"seen": finding.times, "lastSeen": finding.last_seen} if finding.last_seen else {}),
        }
        for finding in child.findings
    ]


def rollout_as_json(file: RolloutRecord) -> dict[str, Json]:
    """Return a rollout for programs."""
    rollout = file.rollout
    return {
        "number": file.number,
        "id": rollout.id,
        "phase": rollout.phase.value,
        "aim": file.aim,
        "target": rollout.target.revision,
        "previous": None if rollout.previous is None else rollout.previous.revision,
        "wave": rollout.wave,
        "failed": rollout.failed,
        "goingBack": rollout.is_going_back,
        "startedAt": rollout.started_at,
        "dueAt": file.due_at,
        "who": file.who,
        "why": rollout.why,
    }


def is_news(group: TemplateGroup) -> bool:
    """Return True if a template has something to show."""
    fine, total = up_to_date(group)
    return fine != total or group.is_rolling or any(child.findings for child in group.children.values())


def is_acting(group: TemplateGroup) -> bool:
    """Return True if a rollout is due, or waits for an approval. Used for exit codes."""
    if group.template.rollout.mode is RolloutMode.OBSERVE:
        return False
    return group.is_rolling or any(group_findings.wanting(group, child) for child in group.children.values())


def is_stuck(group: TemplateGroup) -> bool:
    """Return True if a person has to act. Used for exit codes."""
    return group.rollout is not None and group.rollout.rollout.phase in {RolloutPhase.HALTED, RolloutPhase.PAUSED}


# --- from the store alone


async def child_of(store: RecordStore, address: Address) -> tuple[str, ChildRecord] | None:
    """Return the template that leads a child, and what is kept of it; None for what is no child."""
    record = await store.record(serialization.CHILDREN, str(address))
    return None if record is None else (record.owner, serialization.child_of(record))


def child_as_json(owner: str, child: ChildRecord) -> dict[str, Json]:
    """Return the same for programs."""
    return {
        "template": owner,
        "slot": child.slot,
        "state": child.state.value,
        "revision": child.generation,
        "madeFrom": {
            name: {
                "revision": birth.revision,
                "regime": birth.regime,
                "stamp": str(birth.stamp) if birth.stamp else None,
            }
            for name, birth in child.births.items()
        },
        "findings": findings_as_json(child),
        "note": child.note,
    }


async def templates(store: RecordStore) -> list[dict[str, Json]]:
    """Return the records of every template, for programs."""
    out = []
    async for record in store.records(serialization.TEMPLATES):
        states = Counter([item.data["state"] async for item in store.records(serialization.CHILDREN, owner=record.key)])
        files = [
            serialization.rollout_of(item) async for item in store.records(serialization.ROLLOUTS, owner=record.key)
        ]
        out.append(
            {
                "name": record.key,
                "revision": record.data["current"],
                "children": dict(states),
                "rollout": rollout_as_json(files[-1]) if files else None,
            }
        )
    return out
