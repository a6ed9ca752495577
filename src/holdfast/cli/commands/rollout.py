"""The command `rollout`: how the children of templates are brought to another revision, and a person's say in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from holdfast.app import template_groups
from holdfast.app.project import Project
from holdfast.cli import console, options
from holdfast.cli.render import rollouts
from holdfast.cli.render.text import ago, when
from holdfast.cli.run import in_project
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.rollouts import child_status
from holdfast.rollouts import render as rollout_text
from holdfast.rollouts.core import group_rollouts, rollout_steps
from holdfast.rollouts.core.records import OVER, RolloutPhase
from holdfast.rollouts.core.template_groups import RolloutRecord, TemplateGroup
from holdfast.rollouts.repository import GroupChanges, RolloutRepository
from holdfast.schema import did_you_mean
from holdfast.store.records import VersionConflict


@click.group("rollout")
def rollout_command() -> None:
    """Show and steer rollouts: how the children of a template come to its current revision.

    \b
    Examples:
      holdfast rollout status -f infra/
      holdfast rollout pause web -f infra/ --why "errors are rising"
      holdfast rollout resume web -f infra/
      holdfast rollout undo web -f infra/
      holdfast rollout history web -f infra/
    """


def _chosen(project: Project, names: Sequence[str]) -> list[TemplateGroup]:
    """Return the template groups of these names, or all; a part stands for the templates that use it."""
    known = {group.template.name for group in project.groups} | {template.name for template in project.templates}
    for name in names:
        if name not in known:
            guess = did_you_mean.hint(name, known) or f"; declared are {', '.join(sorted(known)) or 'none'}"
            raise InputError(f"there is no template {name!r}{guess}")
    wanted = set(names)
    return [
        group
        for group in project.groups
        if not wanted or group.template.name in wanted or wanted & set(group.template.uses)
    ]


@rollout_command.command("status")
@click.argument("names", nargs=-1, metavar="[TEMPLATE]...")
@options.singly
@console.option(*options.FORMATS)
def status_command(names: tuple[str, ...], output_: str, **rest: Any) -> int:
    """Show the progress of rollouts and findings about children.

    Exit code 1 if one has stopped and waits for a person.

    \b
    Examples:
      holdfast rollout status -f infra/
      holdfast rollout status web -f infra/ -o json
    """

    async def body(project: Project) -> int:
        found, now = _chosen(project, names), project.clock.now()
        parts = {group.template.name: await child_status.unready_parts(project.store, group) for group in found}
        turns = await template_groups.concurrency_note(project)
        shown = [rollout_text.as_json(group, now, parts[group.template.name], turns) for group in found]
        if not console.structured(output_, lambda: shown):
            for item in found:
                rollouts.show(item, now, parts[item.template.name], turns, everything=True)
                _show_children(item)
            if not found:
                console.line("no templates are declared")
        return 1 if any(rollout_text.is_stuck(group) for group in found) else 0

    return in_project(rest, body)


def _show_children(group: TemplateGroup) -> None:
    for child in sorted(group.children.values(), key=lambda each: (each.slot, each.since))[:50]:
        made_from = ", ".join(f"{owner} r{birth.revision or '?'}" for owner, birth in child.births.items())
        note = f"  {child.note}" if child.note else ""
        console.line(f"        {child.state.value:<10} {child.address}  {made_from}{note}", fg="bright_black")
    if len(group.children) > 50:
        console.line(f"        and {len(group.children) - 50:,} more", fg="bright_black")


# --- a person's say ---------------------------------------------------------------------------------------------------

Turn = Callable[[TemplateGroup, float], tuple[RolloutRecord | None, str]]


async def _turned(project: Project, name: str, turn: Turn, event: str) -> int:
    """Change the rollout of a template, if it has not changed since it was read; else read it again."""
    repository = RolloutRepository(project.store, project.clock)
    if not [item for item in _chosen(project, [name]) if item.template.name == name]:
        raise InputError(f"template {name!r} has no children of its own; name the template that uses it")
    for _ in range(20):
        group = await repository.kept(name, project.templates)
        if group is None:
            raise InputError(f"template {name!r} was not applied yet")
        after, why_not = turn(group, project.clock.now())
        if after is None:
            console.line(f"{name}: {why_not}")
            return 1
        kept = group.rollout
        if kept is not None and kept.number == after.number:
            after = replace(after, rollout=replace(after.rollout, version=kept.rollout.version + 1))
        data: dict[str, Json] = {"rollout": after.number, "who": after.who, "why": after.rollout.why}
        try:
            await repository.commit(
                group, GroupChanges(rollouts=[after], events=[repository.event(event, name, **data)])
            )
        except VersionConflict:
            continue
        console.line(f"{name}: {rollout_text.rollout_text(after)}")
        return 0
    raise InputError(f"the rollout of {name!r} moves too fast to be changed; try again")


@rollout_command.command("pause")
@click.argument("name", metavar="TEMPLATE")
@click.option("--why", default="", help="For those who find it paused.")
@options.singly
def pause_command(name: str, why: str, **rest: Any) -> int:
    """Start no more children, and finish those under way.

    \b
    Examples:
      holdfast rollout pause web -f infra/ --why "errors are rising"
    """

    def turn(group: TemplateGroup, _now: float) -> tuple[RolloutRecord | None, str]:
        file, who = group.rollout, options.person()
        if file is None or file.rollout.phase in OVER:
            return None, "there is no rollout under way"
        if file.rollout.phase is RolloutPhase.PAUSED:
            return None, f"it is paused already: {file.rollout.why}"
        told = f"paused by {who}{': ' + why if why else ''}"
        return replace(file, rollout=rollout_steps.pause(file.rollout, told), who=who), ""

    return in_project(rest, lambda project: _turned(project, name, turn, "rollout.paused"))


@rollout_command.command("resume")
@click.argument("name", metavar="TEMPLATE")
@options.singly
def resume_command(name: str, **rest: Any) -> int:
    """Go on after a pause or a halt, forgiving failures; after a rollback or an undo, try once more.

    \b
    Examples:
      holdfast rollout resume web -f infra/
    """

    def turn(group: TemplateGroup, now: float) -> tuple[RolloutRecord | None, str]:
        return group_rollouts.resumed(group, now, options.person())

    return in_project(rest, lambda project: _turned(project, name, turn, "rollout.resumed"))


@rollout_command.command("undo")
@click.argument("name", metavar="TEMPLATE")
@click.option("--to", type=int, metavar="GENERATION", help="Go to this one, not to the one before; see `history`.")
@options.singly
def undo_command(name: str, to: int | None, **rest: Any) -> int:
    """Revert the children to an earlier revision.

    The next apply or a running watch does it. The template still declares the new revision, which
    is not tried again until the template is edited, or resumed.

    \b
    Examples:
      holdfast rollout undo web -f infra/ && holdfast apply -f infra/
      holdfast rollout undo web -f infra/ --to 3
    """

    def turn(group: TemplateGroup, now: float) -> tuple[RolloutRecord | None, str]:
        return group_rollouts.undone(group, now, options.person(), to)

    return in_project(rest, lambda project: _turned(project, name, turn, "rollout.undone"))


@rollout_command.command("history")
@click.argument("name", metavar="TEMPLATE")
@options.singly
@console.option(*options.FORMATS)
def history_command(name: str, output_: str, **rest: Any) -> int:
    """List the rollouts of a template and the revisions that are kept.

    \b
    Examples:
      holdfast rollout history web -f infra/
      holdfast rollout history web -f infra/ -o json
    """

    async def body(project: Project) -> int:
        (group, *_) = _chosen(project, [name])
        files = await RolloutRepository(project.store, project.clock).rollouts(group.template.name)
        value = {
            "template": group.template.name,
            "rollouts": [rollout_text.rollout_as_json(file) for file in files],
            "generations": [
                {"number": generation.number, "revisions": dict(generation.births)}
                for generation in group.lead.generations
            ],
            "revisions": {
                owner.template.name: [
                    {"revision": revision.ordinal, "content": revision.content} for revision in owner.record.revisions
                ]
                for owner in group.owners
            },
            "regimes": {
                owner.template.name: [
                    {"index": e.index, "scheme": e.scheme, "base": e.base} for e in owner.record.regimes
                ]
                for owner in group.owners
            },
        }
        if console.structured(output_, lambda: value):
            return 0
        now = project.clock.now()
        rows = [_row(file, now) for file in files]
        if rows:
            console.table(("rollout", "generation", "phase", "started", "failed", "who", "why"), rows)
        else:
            console.line("nothing was rolled out yet")
        for item in group.lead.generations:
            made_of = ", ".join(f"{owner} revision {ordinal}" for owner, ordinal in item.births.items())
            current = "  (declared)" if item.number == group.current.number else ""
            console.line(f"generation {item.number}: {made_of}{current}")
        return 0

    return in_project(rest, body)


def _row(file: RolloutRecord, now: float) -> tuple[str, ...]:
    rollout = file.rollout
    target = f"{file.aim}" + (f", back to {rollout.target.revision}" if rollout.is_going_back else "")
    started = f"{when(rollout.started_at)} ({ago(rollout.started_at, now)})"
    return (str(file.number), target, rollout.phase.value, started, str(rollout.failed), file.who, rollout.why)
