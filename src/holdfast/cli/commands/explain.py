"""The command `explain`."""

from __future__ import annotations

import asyncio
import shlex
from typing import Any

import click

from holdfast.app.project import Project
from holdfast.app.selection import parse_addresses
from holdfast.cli import console, options
from holdfast.cli.render import findings, rollouts
from holdfast.cli.render.state import state_as_json
from holdfast.cli.render.text import ago, due
from holdfast.cli.run import open_project, run
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.attribution import LikelyActor
from holdfast.model.finding import ChangedBy, FindingClass
from holdfast.model.json import Json
from holdfast.policy import settings, strategies
from holdfast.reconcile import attribution, explain
from holdfast.reconcile.explain import ExplainedFinding, Story
from holdfast.rollouts import render as rollout_text
from holdfast.store.state import ResourceState

_NEXT = {
    "none": "no action",
    "create": "create",
    "update": "update",
    "replace": "delete and create",
    "recreate": "recreate",
    "adopt": "adopt",
    "delete": "delete",
    "report": "report only",
    "hold": "held",
    "block": "blocked until a person acts",
}


@click.command("explain")
@click.argument("address")
@click.argument("path", required=False)
@options.taking("files", "project", "store", "default_resync_period")
@click.option(
    "--settings", "only_settings", is_flag=True, help="Show only the settings in force and where each comes from."
)
@console.option(*options.FORMATS)
def explain_command(address: str, path: str | None, only_settings: bool, output_: str, **rest: Any) -> int:
    """Explain a verdict: values, rule, cause and next action.

    With -f the provider is also asked who made the change, where it can tell.

    \b
    Examples:
      holdfast explain api/Widget/blue
      holdfast explain api/Widget/blue /size -f infra/
      holdfast explain --settings api/Widget/blue -f infra/
    """
    given = options.options_of(rest)

    async def body(project: Project) -> int:
        wanted = parse_addresses([address])[0]
        state = await project.store.state(wanted)
        if state is None and wanted not in project.resources.declarations:
            raise InputError(f"{address} is not in the store; `holdfast status` lists all resources")
        settings = _settings(project, wanted, state)
        story = await explain.tell(project.store, state, path) if state is not None else None
        likely_actors = await _likely_actors(project, wanted) if story is not None and story.findings else ()
        body = {"address": address, "settings": settings} if story is None else _as_json(story, settings, likely_actors)
        child = await rollout_text.child_of(project.store, wanted)
        if child is not None:
            body["template"] = rollout_text.child_as_json(*child)
        if console.structured(output_, lambda: settings if only_settings else body):
            return 0
        if story is not None and not only_settings:
            _show(story, likely_actors, project.clock.now())
            if child is not None:
                rollouts.show_child(*child, project.clock.now())
        console.line("Settings", bold=True)
        for name, given in settings.items():
            console.line(f"  {name} = {given['value']}  " + console.styled(given["from"], fg="bright_black"))
        return 0

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given, reads="named", needs_store=not given.files) as project:
            return await body(project)

    return run(main)


def _settings(project: Project, address: Address, state: ResourceState | None) -> dict[str, Json]:
    declaration = project.resources.declarations.get(address)
    if declaration is None:
        return dict(state.declared.options) if state is not None else {}
    resolved = strategies.settings_for(declaration, project.resources.strategies, project.resources.outer)
    return dict(settings.as_json(resolved))


async def _likely_actors(project: Project, address: Address) -> tuple[LikelyActor, ...]:
    """Return the likely actors that the provider names, if the manifests were given."""
    if address not in project.resources.declarations:
        return ()
    async with project.connections() as connections:
        ready, _ = await project.resolver(connections).prepare([address])
        return await attribution.likely_actors_of(connections, ready[0]) if ready else ()


# -- for programs


def _as_json(story: Story, settings: dict[str, Json], likely_actors: tuple[LikelyActor, ...]) -> dict[str, Json]:
    decision = story.decision
    return {
        **state_as_json(story.state),
        "findings": [_told_as_json(finding, story) for finding in story.findings],
        "known": list(story.known),
        "unresolved": list(story.unresolved),
        "rule": {"path": story.rule.path, "says": story.rule.says, "rule": story.rule.rule} if story.rule else None,
        "attributedTo": [findings.likely_actor_as_json(actor) for actor in likely_actors],
        "lastDecision": {"id": decision.id, "at": decision.at, "summary": decision.summary} if decision else None,
        "next": {"action": story.outcome["action"], "held": story.outcome["held"], "reasons": story.outcome["reasons"]}
        if story.outcome
        else None,
        "settings": settings,
    }


def _told_as_json(told: ExplainedFinding, story: Story) -> dict[str, Json]:
    record = told.record
    return {
        **findings.as_json(record.finding),
        "firstSeen": record.first_seen,
        "lastSeen": record.last_seen,
        "lastGood": record.clean_at,
        "timesSeen": record.times,
        "cause": {
            "class": told.cause.cause.value,
            "confidence": told.cause.confidence.value,
            "sentence": told.cause.sentence,
        },
        "settle": _commands(told, story),
    }


# -- for people


def _show(story: Story, likely_actors: tuple[LikelyActor, ...], now: float) -> None:
    state = story.state
    status = state.observed.status.value.replace("_", " ") if state.observed.status else "never checked"
    console.line(f"{state.address}  {status}: {state.observed.reason}", bold=True)
    console.line(
        f"  revision {state.applied.revision}, generation {state.declared.generation}, "
        f"id {state.observed.provider_id}, {state.applied.origin.value}"
    )
    if state.declared.source:
        console.line(f"  declared in {state.declared.source}")
    if state.schedule.terminal:
        console.line(f"  stopped: {state.schedule.terminal}", fg="red")
    for condition in state.observed.conditions:
        console.line(f"  {condition.type.value}={condition.status.value} ({condition.reason}) {condition.message}")
    for because, path, note in state.observed.suppressed:
        console.line(f"  ○ {path}  {because}: {note}", fg="cyan")
    for told in story.findings:
        _show_told(told, story, now)
    for actor in likely_actors:
        moment = f", {ago(actor.at, now)}" if actor.at is not None else ""
        console.line(f"  last changed by {actor.who} ({actor.confidence.value} confidence: {actor.why}{moment})")
    for entry in story.known:
        shown = _short(entry["observed"]) if "observed" in entry else "(absent)"
        console.line(f"  = {entry['path']}  {entry['kind']}: {shown}", fg="bright_black")
    if story.rule is not None:
        console.line(f"  {story.rule.path} is {story.rule.says}; rule {story.rule.rule}")
    _show_next(story, now)


def _show_told(told: ExplainedFinding, story: Story, now: float) -> None:
    finding = told.record.finding
    who = findings.SIDE_TEXT[finding.changed_by]
    console.line(
        f"  ~ {told.path or '(document)'}  {finding.op.value}, {finding.cls.value}; {who}", fg="yellow", bold=True
    )
    for name, value in findings.as_json(finding).items():
        if name in ("desired", "baseline", "observed"):
            console.line(f"      {name:9} {_short(value)}")
    console.line(f"      rule      {finding.rule}")
    console.line(f"      began     {told.onset.text(now)}; seen {_times(told.record.times)}")
    console.line(f"      cause     {told.cause.sentence} ({told.cause.confidence.value} confidence)")
    for name, command in _commands(told, story).items():
        console.line(f"      to {name:9} {command}", fg="bright_black")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"


def _commands(told: ExplainedFinding, story: Story) -> dict[str, str]:
    """Return the exact command or rule for each answer to a finding."""
    path = shlex.quote(told.path) if told.path else ""
    target = f"{shlex.quote(str(story.state.address))} {path}".rstrip() + " -f …"
    ignore = f"managedOptions: {{onDriftPaths: {{{told.path or '/'}: ignore}}}}"
    commands = {"revert": f"holdfast revert {target}"}
    if told.record.finding.changed_by is ChangedBy.DECLARED:
        return {"apply": "holdfast apply -f …"}
    if told.record.finding.cls is not FindingClass.SECRET:
        commands["accept"] = f"holdfast accept {target}"
        commands["baseline"] = f"holdfast baseline {target} --why …"
    commands["waive"] = f"holdfast waive {target} --owner … --reason … --expires …"
    commands["ignore"] = ignore
    return commands


def _show_next(story: Story, now: float) -> None:
    """Print the next action, when it is due, and the reasons."""
    if story.outcome is None or story.decision is None:
        return
    action = story.outcome["action"]
    held = story.outcome["held"]
    done = next((correction for correction in story.corrections if correction.at >= story.decision.at), None)
    if done is not None:
        console.line(f"  done: {done.action}, {done.outcome.value}, {ago(done.at, now)} (correction {done.id[:12]})")
        return
    instead = f" ({_NEXT[held]} once that is lifted)" if held else ""
    next_check = (
        f"; next check {due(story.state.schedule.due_at, now)}"
        if story.state.schedule.due_at
        else "; no periodic check is scheduled"
    )
    console.line(f"  next: {_NEXT.get(action, action)}{instead}{next_check}", bold=True)
    for reason in story.outcome["reasons"]:
        where = f" [{', '.join(reason['paths'][:3])}]" if reason["paths"] else ""
        console.line(f"      {reason['code']}: {reason['message']}{where}")
    console.line(f"  decision {story.decision.id}, {ago(story.decision.at, now)}", fg="bright_black")


def _short(value: Json) -> str:
    return findings.value_text(value, 60)
