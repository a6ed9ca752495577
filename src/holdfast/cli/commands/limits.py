"""The commands with which a person decides: pause, resume, approve, contention, corrections, undo."""

from __future__ import annotations

import asyncio
import getpass
import socket
from typing import Any

import click

from holdfast.app.project import (
    Session,
    addresses_of,
    common,
    opened,
    options_of,
    remembered,
    remembered_partly,
    run,
    singly,
)
from holdfast.app.stored_selection import scope_of
from holdfast.cli import confirm, console
from holdfast.cli.commands.reconcile import look_at
from holdfast.cli.render import findings, reports
from holdfast.cli.render.times import ago, when
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.policy import contention_rules, durations
from holdfast.reconcile.check import CheckResult
from holdfast.store.governance import Approval, CorrectionRecord, Pause, Quarantine
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import GovernanceChanges, Transaction

_FORMATS = ("table", "json", "yaml")


def person() -> str:
    """Return who is at the keyboard, as far as the machine knows."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "somebody"
    return f"{name}@{socket.gethostname()}"


def who_option(function: Any) -> Any:
    """Add --who."""
    return click.option("--who", default=None, help="Who decides; you, by default.")(function)


@click.command("pause")
@click.argument("scope", required=False, default="")
@remembered
@click.option("--why", required=True, help="What for; whoever meets the pause will read it.")
@click.option("--for", "duration", metavar="DURATION", help="Until then: 30m, 2h, 3d; without it until resumed.")
@who_option
def pause_command(scope: str, why: str, duration: str | None, who: str | None, **rest: Any) -> int:
    """Stop all writes: everywhere, or to a connection, a kind or one resource. Checks go on.

    \b
    Examples:
      holdfast pause --why "incident 4711"
      holdfast pause prod/Network --why migration --for 2h
    """
    options = options_of(rest)
    seconds = _duration(duration) if duration else None

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options, needs_files=False, reads_files=False) as session:
            await _require_scope(session, scope)
            now = session.clock.now()
            until = now + seconds if seconds is not None else None
            pause = Pause(scope, who or person(), why, now, until)
            data: dict[str, Json] = {"scope": scope, "who": pause.who, "why": why, "until": until}
            await session.store.commit(
                Transaction(events=[AuditEvent(now, "paused", "", data)], governance=GovernanceChanges(pauses=[pause]))
            )
        what = scope or "everything"
        end = f"until {when(until)}" if until else f"until `holdfast resume{' ' + scope if scope else ''}`"
        console.line(f"{what} is paused {end}: checks go on, nothing is written.", fg="yellow")
        return 0

    return run(main)


def _duration(text: str) -> float:
    try:
        return durations.parse(text)
    except InputError as error:
        raise click.BadParameter(error.message, param_hint="--for") from None


async def _require_scope(session: Session, scope: str) -> None:
    """Refuse a scope that names nothing: a mistyped pause would be no pause."""
    parts = scope.split("/")
    kinds = {kind for connection, kind in await session.store.count_resources() if connection == parts[0]}
    if len(parts) > 1 and kinds and parts[1] not in kinds:
        known = ", ".join(sorted(kinds))
        raise InputError(f"nothing of kind {parts[1]!r} is known on {parts[0]} (known: {known})")
    if scope and parts[0] not in session.project.connections:
        known = ", ".join(sorted(session.project.connections)) or "none"
        raise InputError(f"there is no connection {parts[0]!r} (known: {known}); a scope is connection[/Kind[/name]]")


@click.command("resume")
@click.argument("scope", required=False, default="")
@remembered
@who_option
def resume_command(scope: str, who: str | None, **rest: Any) -> int:
    """End a pause.

    \b
    Examples:
      holdfast resume
      holdfast resume prod/Network
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options, needs_files=False, needs_store=True, reads_files=False) as session:
            pauses = {pause.scope: pause for pause in await session.store.pauses()}
            if scope not in pauses:
                known = ", ".join(name or "everything" for name in pauses) or "nothing"
                raise InputError(f"{scope or 'everything'} is not paused; paused now: {known}")
            data: dict[str, Json] = {"scope": scope, "who": who or person()}
            event = AuditEvent(session.clock.now(), "resumed", "", data)
            await session.store.commit(Transaction(events=[event], governance=GovernanceChanges(resumed=[scope])))
            left = [name or "everything" for name in pauses if name != scope]
        console.line(f"{scope or 'everything'} goes on.", fg="green")
        if left:
            console.line(f"still paused: {', '.join(left)}", fg="yellow")
        return 0

    return run(main)


@click.command("approve")
@click.argument("plans", nargs=-1, metavar="PLAN...")
@common
@click.option(
    "--all", "everything", is_flag=True, help="Everything that waits for a yes now; it is shown and asked first."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--why", default="", help="What you looked at.")
@who_option
def approve_command(plans: tuple[str, ...], everything: bool, yes: bool, why: str, who: str | None, **rest: Any) -> int:
    """Say yes to what is held for approval or by mass drift; PLAN is the name that `holdfast plan` shows beside it.

    A yes binds to exactly that plan: if the world or the declaration moves, it says nothing any more.

    \b
    Examples:
      holdfast plan -f infra/                      shows:  to update it: holdfast approve 3f2a90c1d4e5b6a7
      holdfast approve 3f2a90c1d4e5b6a7 -f infra/ --why "seen with ada"
      holdfast approve --all -f infra/
    """
    options = options_of(rest)
    if not plans and not everything:
        raise click.UsageError("name the plans, or say --all")
    if everything and not yes:
        confirm.require_answer("approve")

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options) as session:
            session.retries = True
            report = await look_at(session)
            held = {one.plan: one for one in report.checked if reports.asks(one)}
            unknown = [plan for plan in plans if plan not in held]
            if unknown:
                message = f"no held plan {unknown[0]}: it was applied or live state changed; run `holdfast plan`"
                raise InputError(message)
            chosen = list(held.values()) if everything else [held[plan] for plan in plans]
            if not chosen:
                console.line("nothing waits for approval")
                return 0
            for one in chosen:
                action = one.decision.held or one.decision.action
                console.line(f"  {action.symbol:>3} {one.address}  {_why(one)}")
                findings.show(one.verdict.findings, indent="      ")
            if everything and not yes and not confirm.is_agreed("Approve these?"):
                return 1
            now = session.clock.now()
            name = who or person()
            transaction = Transaction()
            for one in chosen:
                transaction.governance.approvals.append(Approval(one.plan, one.address, name, why, now))
                data: dict[str, Json] = {"plan": one.plan, "who": name, "why": why}
                transaction.events.append(AuditEvent(now, "approved", str(one.address), data))
            await session.store.commit(transaction)
        console.line(f"approved {len(chosen)}; `holdfast apply` or a running watch carries it out", fg="green")
        return 0

    return run(main)


def _why(checked: CheckResult) -> str:
    """Say what the write that is held would be for."""
    causes = [reason for reason in checked.decision.reasons if reason.code in reports.CAUSES]
    reason = (causes or checked.decision.reasons)[0]
    where = f" [{', '.join(reason.paths[:3])}]" if reason.paths else ""
    return f"{reason.message}{where}"


@click.command("contention")
@remembered_partly
@console.option(*_FORMATS)
def contention_command(output_: str, **rest: Any) -> int:
    """List the fields that somebody keeps reverting, and what else waits for a person's decision.

    \b
    Examples:
      holdfast contention
      holdfast revert api/Widget/blue /size       decide for the declaration, and go on correcting
      holdfast accept api/Widget/blue /size       decide for the live value
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options, needs_files=False, needs_store=True, reads_files=False) as session:
            scope = await scope_of(session.store, options)
            scope.insist()
            quarantines = [each for each in await session.store.quarantines() if scope.covers(each.address)]
            found = await session.store.corrections(limit=10_000)
            corrections = [each for each in found if scope.covers(each.address)]
            now = session.clock.now()
        ineffective = [
            {"kind": kind, "path": path, "writes": count}
            for (kind, path), count in contention_rules.ineffective(corrections).items()
        ]
        body = {"contention": [_quarantine_as_json(each) for each in quarantines], "ineffectiveWrites": ineffective}
        if console.structured(output_, body):
            return 0
        for each in quarantines:
            _show_quarantine(each, now)
        for entry in ineffective:
            text = f"{entry['writes']} writes to {entry['path']} of {entry['kind']} did not take"
            console.line(f"  {text}: a rule for its profile?", fg="bright_black")
        console.line(_waiting(len(quarantines)) if quarantines else "No contention.", bold=True)
        return 0

    return run(main)


def _waiting(count: int) -> str:
    return "1 field waits for a decision." if count == 1 else f"{count} fields wait for a decision."


def _quarantine_as_json(quarantine: Quarantine) -> dict[str, Json]:
    return {
        "address": str(quarantine.address),
        "path": quarantine.path,
        "cause": quarantine.cause,
        "since": quarantine.since,
        **quarantine.data,
    }


def _show_quarantine(quarantine: Quarantine, now: float) -> None:
    data = quarantine.data
    path = quarantine.path or "(the whole resource)"
    console.line(
        f"  ⚔ {quarantine.address}  {path}  {quarantine.cause}, {ago(quarantine.since, now)}", fg="magenta", bold=True
    )
    if quarantine.cause == "contention":
        rhythm = (
            f"about every {durations.format_seconds(round(data['period']))}"
            if (data.get("period") or 0) >= 1
            else "at once"
        )
        theirs = ", ".join(findings.value_text(value, 30) for value in data.get("theirs", []))
        other_writer = data.get("otherWriter") or "somebody the provider cannot name"
        console.line(
            f"      {other_writer} puts {theirs} where {findings.value_text(data.get('ours'), 30)} is declared"
        )
        console.line(f"      corrected {data.get('times')} times, {rhythm}; it is only reported until you decide")
    console.line(
        f"      decide: holdfast revert|accept|baseline {quarantine.address} {quarantine.path}".rstrip(),
        fg="bright_black",
    )


@click.command("corrections")
@click.argument("address", required=False)
@remembered_partly
@click.option("--limit", default=30, show_default=True)
@console.option(*_FORMATS)
def corrections_command(address: str | None, limit: int, output_: str, **rest: Any) -> int:
    """List our writes, newest first: what was changed, why, how it ended; with the name that `undo` takes.

    \b
    Examples:
      holdfast corrections api/Widget/blue
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options, needs_files=False, needs_store=True, reads_files=False) as session:
            wanted = addresses_of([address]) if address else None
            scope = await scope_of(session.store, options)
            found = await session.store.corrections(wanted, limit=limit if scope.is_all else None)
            scope.insist(each.address for each in found)
            found = [each for each in found if scope.covers(each.address)][:limit]
            now = session.clock.now()
        if console.structured(output_, [_correction_as_json(each) for each in found]):
            return 0
        rows = [
            (
                each.id[:12],
                ago(each.at, now),
                str(each.address),
                each.action,
                each.reason,
                each.outcome.value,
                ", ".join(path.path for path in each.paths[:3]) or "-",
            )
            for each in found
        ]
        console.table(("correction", "when", "resource", "action", "reason", "outcome", "paths"), rows)
        return 0

    return run(main)


def _correction_as_json(correction: CorrectionRecord) -> dict[str, Json]:
    return {
        "id": correction.id,
        "address": str(correction.address),
        "at": correction.at,
        "action": correction.action,
        "reason": correction.reason,
        "outcome": correction.outcome.value,
        "who": correction.who,
        "undoes": correction.undoes,
        "preImage": correction.pre_image,
        "postImage": correction.post_image,
        "paths": [
            {
                "path": each.path,
                "took": each.took,
                **findings.value_entry("before", each.before),
                **findings.value_entry("after", each.after),
            }
            for each in correction.paths
        ],
    }


@click.command("undo")
@click.argument("correction")
@singly
@click.option("--why", default="", help="What for.")
@who_option
def undo_command(correction: str, why: str, who: str | None, **rest: Any) -> int:
    """Revert what was there before a correction; refused if somebody has moved it since.

    Afterwards the fields are only reported until you decide: revert, accept, baseline or waive.

    \b
    Examples:
      holdfast corrections                          lists them
      holdfast undo 9f3ab2c4d5e6 -f infra/
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options) as session:
            found = await _correction(session, correction)
            if found.address not in session.fleet.declarations:
                raise InputError(f"{found.address} is not declared in the manifests given with -f")
            async with session.writable_world() as world:
                ready, waiting = await session.preparer(world).prepare([found.address])
                if not ready:
                    raise InputError(f"{found.address} cannot be looked at now: {waiting[0].reason}")
                undoer = session.undoer(world, session.checker(world))
                undone = await undoer.undo(found, ready[0], who or person(), why)
        console.line(f"{found.address}: {undone.message} (correction {undone.correction.id[:12]})", fg="green")
        console.line(f"  what next: holdfast revert|accept|baseline|waive {found.address}", fg="bright_black")
        return 0

    return run(main)


async def _correction(session: Session, text: str) -> CorrectionRecord:
    """Find a correction by its name or the beginning of it."""
    found = await session.store.correction(text)
    if found is not None:
        return found
    near = [each for each in await session.store.corrections(limit=10_000) if each.id.startswith(text)]
    if len(near) != 1:
        problem = "several corrections begin so" if near else "there is no such correction"
        raise InputError(f"{text}: {problem}; `holdfast corrections` lists them")
    return near[0]
