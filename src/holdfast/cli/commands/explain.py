"""The command `explain`: why, since when, what next, and how to settle it."""

from __future__ import annotations

import shlex
from typing import Any

import click

from holdfast.app.project import Session, addresses_of, taking
from holdfast.cli import console
from holdfast.cli.commands.records import in_session, state_as_json
from holdfast.cli.render import findings, stored_groups
from holdfast.cli.render.times import ago
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.attribution import LikelyActor
from holdfast.model.finding import ChangedBy, FindingClass
from holdfast.model.json import Json
from holdfast.policy import strategies
from holdfast.reconcile import attribution, explain
from holdfast.reconcile.explain import ExplainedFinding, Story
from holdfast.reconcile.resolved_resource import settings_as_json
from holdfast.store.state import ResourceState

_FORMATS = ("table", "json", "yaml")
_NEXT = {
    "none": "nothing is to be done",
    "create": "it will be created",
    "update": "it will be reverted",
    "replace": "it will be deleted and created anew",
    "recreate": "it will be recreated",
    "adopt": "it will be taken over as it is",
    "delete": "it will be deleted",
    "report": "it is only reported",
    "hold": "it is held back",
    "block": "it is stopped until somebody acts",
}


@click.command("explain")
@click.argument("address")
@click.argument("path", required=False)
@taking("files", "project", "store", "default_resync_period")
@click.option(
    "--settings", "only_settings", is_flag=True, help="Show only the settings in force and where each comes from."
)
@console.option(*_FORMATS)
def explain_command(address: str, path: str | None, only_settings: bool, output_: str, **rest: Any) -> int:
    """Say why: values, rule, cause, since when, what happens next and when, what holds it back, how to settle it.

    With -f the provider is also asked who did it, where it can tell.

    \b
    Examples:
      holdfast explain api/Widget/blue
      holdfast explain api/Widget/blue /size -f infra/
      holdfast explain --settings api/Widget/blue -f infra/
    """

    async def body(session: Session) -> int:
        wanted = addresses_of([address])[0]
        state = await session.store.state(wanted)
        if state is None and wanted not in session.fleet.declarations:
            message = f"nothing is known of {address}; `holdfast status` lists what is"
            raise InputError(message)
        settings = _settings(session, wanted, state)
        story = await explain.tell(session.store, state, path) if state is not None else None
        likely_actors = await _likely_actors(session, wanted) if story is not None and story.findings else ()
        body = {"address": address, "settings": settings} if story is None else _as_json(story, settings, likely_actors)
        child = await stored_groups.child_of(session.store, wanted)
        if child is not None:
            body["template"] = stored_groups.child_as_json(*child)
        if console.structured(output_, settings if only_settings else body):
            return 0
        if story is not None and not only_settings:
            _show(story, likely_actors, session.clock.now())
            if child is not None:
                stored_groups.show_child(*child, session.clock.now())
        console.line("Settings", bold=True)
        for name, given in settings.items():
            console.line(f"  {name} = {given['value']}  " + console.styled(given["from"], fg="bright_black"))
        return 0

    return in_session(rest, body, is_told_by_files=True)


def _settings(session: Session, address: Address, state: ResourceState | None) -> dict[str, Json]:
    declaration = session.fleet.declarations.get(address)
    if declaration is None:
        return dict(state.declared.options) if state is not None else {}
    resolved = strategies.settings_for(declaration, session.fleet.strategies, session.fleet.outer)
    return settings_as_json(resolved)


async def _likely_actors(session: Session, address: Address) -> tuple[LikelyActor, ...]:
    """Ask the provider who may have done it, if we have what it takes to ask."""
    if address not in session.fleet.declarations:
        return ()
    async with session.world() as world:
        ready, _ = await session.preparer(world).prepare([address])
        return await attribution.likely_actors_of(world, ready[0]) if ready else ()


# -- for programs


def _as_json(story: Story, settings: dict[str, Json], likely_actors: tuple[LikelyActor, ...]) -> dict[str, Json]:
    decision = story.decision
    return {
        **state_as_json(story.state),
        "findings": [_told_as_json(each, story) for each in story.findings],
        "known": list(story.known),
        "unresolved": list(story.unresolved),
        "rule": {"path": story.rule.path, "says": story.rule.says, "rule": story.rule.rule} if story.rule else None,
        "attributedTo": [findings.likely_actor_as_json(each) for each in likely_actors],
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
    for likely_actor in likely_actors:
        moment = f", {ago(likely_actor.at, now)}" if likely_actor.at is not None else ""
        console.line(
            f"  who: {likely_actor.who} ({likely_actor.confidence.value} confidence: {likely_actor.why}{moment})"
        )
    for entry in story.known:
        shown = _short(entry["observed"]) if "observed" in entry else "(absent)"
        console.line(f"  = {entry['path']}  {entry['kind']}: {shown}", fg="bright_black")
    if story.rule is not None:
        console.line(f"  {story.rule.path} is {story.rule.says}; rule {story.rule.rule}")
    _show_next(story, now)


def _show_told(told: ExplainedFinding, story: Story, now: float) -> None:
    finding = told.record.finding
    who = {ChangedBy.DECLARED: "you moved it", ChangedBy.BOTH: "both changed"}.get(
        finding.changed_by, "changed outside Holdfast"
    )
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
    """Return the exact command or rule for each way to settle a finding."""
    path = shlex.quote(told.path) if told.path else ""
    target = f"{shlex.quote(str(story.state.address))} {path}".rstrip() + " -f …"
    ignore = f"managedOptions: {{onDriftPaths: {{{told.path or '/'}: ignore}}}}"
    out = {"revert": f"holdfast revert {target}"}
    if told.record.finding.changed_by is ChangedBy.DECLARED:
        return {"apply": "holdfast apply -f …"}
    if told.record.finding.cls is not FindingClass.SECRET:
        out["keep it"] = f"holdfast accept {target}"
        out["watch it"] = f"holdfast baseline {target} --why …"
    out["let it be"] = f"holdfast waive {target} --owner … --reason … --expires …"
    out["silence"] = ignore
    return out


def _show_next(story: Story, now: float) -> None:
    """Say what will be done, when, and what holds it back."""
    if story.outcome is None or story.decision is None:
        return
    action = story.outcome["action"]
    held = story.outcome["held"]
    done = next((each for each in story.corrections if each.at >= story.decision.at), None)
    if done is not None:
        console.line(f"  done: {done.action}, {done.outcome.value}, {ago(done.at, now)} (correction {done.id[:12]})")
        return
    instead = f" ({_NEXT[held]} once that is lifted)" if held else ""
    due = (
        f"; next look {ago(story.state.schedule.due_at, now)}"
        if story.state.schedule.due_at
        else "; no periodic check is scheduled"
    )
    console.line(f"  next: {_NEXT.get(action, action)}{instead}{due}", bold=True)
    for reason in story.outcome["reasons"]:
        where = f" [{', '.join(reason['paths'][:3])}]" if reason["paths"] else ""
        console.line(f"      {reason['code']}: {reason['message']}{where}")
    console.line(f"  decision {story.decision.id}, {ago(story.decision.at, now)}", fg="bright_black")


def _short(value: Json) -> str:
    return findings.value_text(value, 60)
