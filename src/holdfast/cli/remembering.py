"""The commands about what is remembered: status, history, explain, audit, replay, doctor."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import click

import holdfast
from holdfast.cli import findings, output
from holdfast.cli.session import Session, addresses_of, common, opened, options_of, run
from holdfast.compare import canonical, paths
from holdfast.compare.paths import parse_pattern
from holdfast.engine import recording
from holdfast.errors import ChainBroken, HoldfastError, InputError
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.plan import durations, strategies
from holdfast.providers import registry
from holdfast.store.base import FindingRecord, ResourceState

_FORMATS = ("table", "json", "yaml")


def _session(
    rest: dict[str, Any], body: Callable[[Session], Coroutine[Any, Any, int]], *, needs_files: bool = False
) -> int:
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options, needs_files=needs_files) as session:
            return await body(session)

    return run(main)


def when(seconds: float | None) -> str:
    """Write a time in UTC."""
    return "never" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def ago(seconds: float | None, now: float) -> str:
    """Write how long ago, or in how long."""
    if seconds is None:
        return "never"
    distance = abs(now - seconds)
    text = durations.format_seconds(float(int(distance))) if distance >= 1 else "now"
    return text if text == "now" else f"{text} ago" if now >= seconds else f"in {text}"


@click.command("status")
@click.argument("addresses", nargs=-1)
@common
@output.option(*_FORMATS)
def status_command(addresses: tuple[str, ...], output_: str, **rest: Any) -> int:
    """Say how everything in the store stands, without asking the world.

    \b
    Examples:
      holdfast status
      holdfast status api/Widget/blue -o yaml
    """

    async def body(session: Session) -> int:
        now = session.clock.now()
        tally = await session.store.tally(now)
        if addresses:
            found = await session.store.states(addresses_of(addresses))
            missing = [text for text in addresses if text not in {str(address) for address in found}]
            if missing:
                message = f"nothing is known of {missing[0]}; `holdfast status` lists what is"
                raise InputError(message)
            states = list(found.values())
        else:
            states = (
                [state async for state in session.store.all_states()]
                if output_ != "table" or tally.total <= 200
                else []
            )
        if output.structured(
            output_,
            {
                "tally": dict(tally.by_status),
                "total": tally.total,
                "overdue": tally.overdue,
                "resources": [_state_as_json(state) for state in states],
            },
        ):
            return 0
        if states:
            output.table(
                ("resource", "status", "checked", "next check", "conditions"),
                [_state_row(state, now) for state in states],
            )
            output.line()
        said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(tally.by_status.items()))
        output.line(f"{tally.total} resources: {said or 'none'}; {tally.overdue} overdue for a check.", bold=True)
        return 0

    return _session(rest, body)


def _state_row(state: ResourceState, now: float) -> tuple[str, ...]:
    raised = ", ".join(c.type.value for c in state.conditions if c.status.value == "True") or "-"
    status = state.status.value.replace("_", " ") if state.status else "never checked"
    return (
        str(state.address),
        status,
        ago(state.good_at, now),
        ago(state.due_at, now) if state.due_at else "-",
        raised,
    )


def _state_as_json(state: ResourceState) -> dict[str, Json]:
    return {
        "address": str(state.address),
        "status": state.status.value if state.status else None,
        "reason": state.reason,
        "generation": state.generation,
        "revision": state.applied_revision,
        "id": state.provider_id,
        "origin": state.origin.value,
        "checkedAt": state.checked_at,
        "goodAt": state.good_at,
        "dueAt": state.due_at,
        "resyncSeconds": state.resync_seconds,
        "terminal": state.terminal,
        "requested": state.requested,
        "handled": state.handled,
        "source": state.source,
        "conditions": [
            {
                "type": c.type.value,
                "status": c.status.value,
                "reason": c.reason,
                "message": c.message,
                "observedGeneration": c.observed_generation,
                "lastTransitionTime": when(c.last_transition),
            }
            for c in state.conditions
        ],
    }


@click.command("history")
@click.argument("address", required=False)
@common
@click.option("--limit", default=50, show_default=True)
@output.option(*_FORMATS)
def history_command(address: str | None, limit: int, output_: str, **rest: Any) -> int:
    """Show decisions and audit events, newest last; of one resource or of all.

    \b
    Examples:
      holdfast history api/Widget/blue
    """

    async def body(session: Session) -> int:
        subject = str(addresses_of([address])[0]) if address else None
        events = [event async for event in session.store.events(subject=subject)][-limit:]
        decisions = await session.store.decisions(addresses_of([address])[0] if address else None, limit)
        rows: list[dict[str, Json]] = [
            {"at": e.event.at, "what": e.event.type, "address": e.event.subject, "data": dict(e.event.data)}
            for e in events
        ] + [
            {"at": d.at, "what": f"decision {d.id}", "address": str(d.address), "data": {"summary": d.summary}}
            for d in decisions
        ]
        rows.sort(key=lambda row: row["at"])
        if output.structured(output_, rows[-limit:]):
            return 0
        for row in rows[-limit:]:
            detail = row["data"].get("summary") or ", ".join(f"{k}={_short(v)}" for k, v in row["data"].items() if v)
            output.line(f"{when(row['at'])}  {output.styled(row['what'], bold=True)}  {row['address']}  {detail}")
        return 0

    return _session(rest, body)


def _short(value: Json) -> str:
    return findings.value_text(value, 60)


@click.command("explain")
@click.argument("address")
@click.argument("path", required=False)
@common
@click.option(
    "--settings", "only_settings", is_flag=True, help="Show only the settings in force and where each comes from."
)
@output.option(*_FORMATS)
def explain_command(address: str, path: str | None, only_settings: bool, output_: str, **rest: Any) -> int:
    """Say why a resource is judged as it is: values, rules, since when, known differences, settings.

    \b
    Examples:
      holdfast explain api/Widget/blue
      holdfast explain api/Widget/blue /size
      holdfast explain --settings api/Widget/blue -f infra/
    """

    async def body(session: Session) -> int:
        wanted = addresses_of([address])[0]
        state = await session.store.state(wanted)
        if state is None and wanted not in session.fleet.declarations:
            message = f"nothing is known of {address}; `holdfast status` lists what is"
            raise InputError(message)
        story = await _story(session, wanted, state, path)
        if output.structured(output_, story["settings"] if only_settings else story):
            return 0
        if not only_settings and state is not None:
            _show_story(story, session.clock.now())
        output.line("Settings", bold=True)
        for name, given in story["settings"].items():
            output.line(f"  {name} = {given['value']}  " + output.styled(given["from"], fg="bright_black"))
        return 0

    return _session(rest, body)


async def _story(session: Session, address: Address, state: ResourceState | None, path: str | None) -> dict[str, Json]:
    declaration = session.fleet.declarations.get(address)
    if declaration is not None:
        resolved = strategies.settings_for(declaration, session.fleet.strategies, session.fleet.outer)
        settings: Json = recording.settings_as_json(resolved)
    else:
        settings = dict(state.options) if state is not None else {}
    if state is None:
        return {"address": str(address), "settings": settings}
    pattern = parse_pattern(path) if path else None
    records = (await session.store.findings(address)).get(address, [])
    chosen = [r for r in records if pattern is None or pattern.matches(r.finding.path, below=True)]
    known = (await session.store.document(state.known)) if state.known else {"known": [], "unresolved": []}
    entries = [e for e in known["known"] if pattern is None or pattern.matches(paths.parse_path(e["path"]), below=True)]
    decisions = await session.store.decisions(address, 1)
    return {
        **_state_as_json(state),
        "findings": [_record_as_json(record) for record in chosen],
        "known": entries,
        "unresolved": known["unresolved"],
        "lastDecision": {"id": decisions[0].id, "at": decisions[0].at, "summary": decisions[0].summary}
        if decisions
        else None,
        "settings": settings,
    }


def _record_as_json(record: FindingRecord) -> dict[str, Json]:
    return {**findings.as_json(record.finding), "firstSeen": record.first_seen, "lastSeen": record.last_seen}


def _show_story(story: dict[str, Json], now: float) -> None:
    output.line(f"{story['address']}  {story['status']}: {story['reason']}", bold=True)
    output.line(
        f"  revision {story['revision']}, generation {story['generation']}, id {story['id']}, {story['origin']}"
    )
    if story["source"]:
        output.line(f"  declared in {story['source']}")
    following = ago(story["dueAt"], now) if story["dueAt"] else "not scheduled"
    output.line(f"  last good check {ago(story['goodAt'], now)}; next {following}")
    if story["terminal"]:
        output.line(f"  stopped: {story['terminal']}", fg="red")
    for condition in story["conditions"]:
        output.line(f"  {condition['type']}={condition['status']} ({condition['reason']}) {condition['message']}")
    for finding in story["findings"]:
        output.line(f"  ~ {finding['path']}  {finding['op']}, {finding['class']}, {finding['side']} moved", fg="yellow")
        for name in ("desired", "baseline", "observed"):
            if name in finding:
                output.line(f"      {name:9} {_short(finding[name])}")
        output.line(f"      rule      {finding['rule']}")
        output.line(f"      seen      first {ago(finding['firstSeen'], now)}, last {ago(finding['lastSeen'], now)}")
        output.line(
            f"      to silence it: a profile rule {{path: {finding['path']}, class: ignore}}", fg="bright_black"
        )
    for entry in story["known"]:
        shown = _short(entry["observed"]) if "observed" in entry else "(absent)"
        output.line(f"  = {entry['path']}  {entry['kind']}: {shown}", fg="bright_black")
    if story["lastDecision"]:
        output.line(f"  decision {story['lastDecision']['id']}: {story['lastDecision']['summary']}")


@click.group("audit")
def audit_command() -> None:
    """Prove what happened."""


@audit_command.command("verify")
@common
def verify_command(**rest: Any) -> int:
    """Recompute the hash chain of the audit trail; fails if an event was edited, removed or reordered."""

    async def body(session: Session) -> int:
        try:
            length = await session.store.verify_chain()
        except ChainBroken as error:
            output.line(f"broken: {error}", fg="red", bold=True)
            return 1
        output.line(f"verified: {length} events, unbroken", fg="green", bold=True)
        return 0

    return _session(rest, body)


@click.command("replay")
@click.argument("decision")
@common
@output.option(*_FORMATS)
def replay_command(decision: str, output_: str, **rest: Any) -> int:
    """Recompute a stored decision from its stored inputs; it must agree byte for byte.

    \b
    Examples:
      holdfast history api/Widget/blue        lists decisions
      holdfast replay 18f2a-0c9d1e2f3a4b
    """

    async def body(session: Session) -> int:
        record = await session.store.decision(decision)
        if record is None:
            message = f"there is no decision {decision}; `holdfast history` lists them"
            raise InputError(message)
        stored, recomputed = await recording.replay(session.store, record)
        one = canonical.canonical_bytes(stored, lists="ordered")
        other = canonical.canonical_bytes(recomputed, lists="ordered")
        agrees = one == other
        if not output.structured(
            output_, {"decision": record.id, "agrees": agrees, "stored": stored, "recomputed": recomputed}
        ):
            output.line(f"{record.summary}")
            verdict = "agrees, byte for byte" if agrees else "DISAGREES with what was stored"
            output.line(verdict, fg="green" if agrees else "red", bold=True)
        return 0 if agrees else 1

    return _session(rest, body)


@click.command("doctor")
@common
def doctor_command(**rest: Any) -> int:
    """Look for what would go wrong: manifests, connections, store, audit trail, versions."""
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        python, known = sys.version.split()[0], ", ".join(registry.names())
        output.line(f"holdfast {holdfast.__version__}, Python {python}, providers: {known}")
        problems = 0

        def say(what: str, trouble: str | None = None) -> None:
            nonlocal problems
            problems += trouble is not None
            output.line(
                f"  {'✗' if trouble else '✓'} {what}{': ' + trouble if trouble else ''}",
                fg="red" if trouble else "green",
            )

        try:
            async with opened(options, needs_files=bool(options.files)) as session:
                where = session.project.file or "none; using defaults"
                say(f"project file {where}")
                say(f"{len(session.fleet.declarations)} declarations, {len(session.fleet.strategies)} strategies")
                for strategy in strategies.unused(session.fleet.strategies, list(session.fleet.declarations.values())):
                    say(f"strategy {strategy.name}", "selects nothing; is a label mistyped?")
                await _doctor_store(session, say)
                await _doctor_connections(session, say)
        except HoldfastError as error:
            say("configuration", str(error))
        output.line("no problems found" if not problems else f"{problems} problems found", bold=True)
        return 1 if problems else 0

    return run(main)


async def _doctor_store(session: Session, say: Callable[..., None]) -> None:
    try:
        say(f"audit trail: {await session.store.verify_chain()} events, unbroken")
    except ChainBroken as error:
        say("audit trail", str(error))
    operations = await session.store.operations()
    say(
        "no unfinished writes"
        if not operations
        else f"{len(operations)} unfinished writes; `holdfast apply` finishes them"
    )


async def _doctor_connections(session: Session, say: Callable[..., None]) -> None:
    async with session.world() as world:
        for name in sorted({address.connection for address in session.fleet.declarations}):
            try:
                await world.reader(name)
                say(f"connection {name}")
            except HoldfastError as error:
                say(f"connection {name}", str(error))


@click.command("import")
@click.argument("address")
@click.argument("provider_id")
@common
def import_command(address: str, provider_id: str, **rest: Any) -> int:
    """Take over a live thing by its id: the declaration must exist; nothing is written to the world.

    \b
    Examples:
      holdfast import api/Widget/blue 42 -f infra/
    """

    async def body(session: Session) -> int:
        from dataclasses import replace

        from holdfast.model.decision import Action
        from holdfast.model.resource import Import

        wanted = addresses_of([address])[0]
        declaration = session.fleet.declarations.get(wanted)
        if declaration is None:
            message = f"{address} is not declared in the manifests given with -f"
            raise InputError(message)
        session.fleet = replace(
            session.fleet,
            declarations={
                **session.fleet.declarations,
                wanted: replace(declaration, import_from=Import(id=provider_id)),
            },
        )
        async with session.writable_world() as world:
            report = await session.applier(world, only=lambda checked: checked.decision.action is Action.ADOPT).apply(
                [wanted]
            )
        if not report.acted:
            reason = report.checked[0].decision.reasons[0].message if report.checked else report.waiting[0].reason
            output.line(f"not imported: {reason}", fg="red")
            return 1
        output.line(f"imported {address} as {provider_id}; nothing was written", fg="green")
        return 0

    return _session(rest, body, needs_files=True)
