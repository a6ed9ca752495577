"""The four answers to a finding: revert, accept, baseline, waive."""

from __future__ import annotations

import asyncio
import difflib
from pathlib import Path
from typing import Any

import click

from holdfast.app.project import Options, Session, addresses_of, known_documents, opened, options_of, run, singly
from holdfast.cli import atomic_write, console
from holdfast.cli.commands.limits import person, who_option
from holdfast.cli.render import findings, reports
from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.manifests import accept_edit, file_discovery, waiver_edit
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy, FindingClass
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.policy import time_parsing, waivers
from holdfast.policy.waivers import Waiver
from holdfast.reconcile import finding_actions
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.finding_actions import Person
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import GovernanceChanges, Transaction

YEAR_SECONDS = 366 * 86_400.0


def _declared(session: Session, address: str) -> Address:
    wanted = addresses_of([address])[0]
    if wanted not in session.fleet.declarations:
        raise InputError(f"{address} is not declared in the manifests given with -f")
    return wanted


async def _looked_at(session: Session, world: Connections, address: Address) -> CheckResult:
    ready, waiting = await session.preparer(world).prepare([address])
    if not ready:
        raise InputError(f"{address} cannot be looked at now: {waiting[0].reason}")
    (checked,) = await session.checker(world).check_all(ready, record=False, fresh=True)
    if checked.verdict.status is Status.UNKNOWN:
        raise InputError(f"{address} cannot be judged now: {checked.verdict.reason}")
    return checked


@click.command("revert")
@click.argument("address")
@click.argument("path", required=False)
@singly
@who_option
@click.option("--why", default="", help="What for.")
def revert_command(address: str, path: str | None, who: str | None, why: str, **rest: Any) -> int:
    """Revert a finding to its declared value whatever policy says; this ends contention over the path.

    A pause or a freeze window still holds it back. The re-read guard and the verification are those of any write.

    \b
    Examples:
      holdfast revert api/Widget/blue /size -f infra/
      holdfast revert api/Widget/blue -f infra/            everything that drifted
    """
    options = options_of(rest)

    async def main(stop: asyncio.Event) -> int:
        async with opened(options) as session:
            session.retries = True
            wanted = _declared(session, address)
            async with session.writable_world() as world:
                before = await _looked_at(session, world, wanted)
                if before.verdict.status is Status.MISSING and path is not None:
                    raise InputError(f"{address} is gone; without a path it is recreated as a whole")
                if before.verdict.status is not Status.MISSING:
                    finding_actions.chosen(before, path)  # says so if there is nothing to revert
                applier = session.applier(
                    world, stop=stop, reconsider=lambda checked: finding_actions.reverted(checked, path)
                )
                report = await applier.apply([wanted])
            (checked,) = report.checked
            if not report.acted:
                reason = checked.decision.reasons[0]
                console.line(f"not reverted: {reason.message}", fg="red")
                return 1
            acted = report.acted[0]
            if acted.result is ActionOutcome.DONE:
                await _promote(session, checked, Person(who or person(), why))
        reports.show_acted(acted)
        return 0 if acted.result is ActionOutcome.DONE and not acted.unresolved else 1

    return run(main)


async def _promote(session: Session, checked: CheckResult, by: Person) -> None:
    """Make the fields ours again: a person has decided."""
    ended = [(checked.address, each) for each in checked.decision.reasons[0].paths] or [(checked.address, "")]
    data: dict[str, Json] = {"paths": [path for _, path in ended], "who": by.who, "why": by.why}
    event = AuditEvent(session.clock.now(), "reverted", str(checked.address), data)
    await session.store.commit(
        Transaction(events=[event], governance=GovernanceChanges(unquarantined=ended, unaccepted=ended))
    )


@click.command("baseline")
@click.argument("address")
@click.argument("path", required=False)
@singly
@who_option
@click.option("--why", required=True, help="What for; it stands beside the finding from now on.")
def baseline_command(address: str, path: str | None, who: str | None, why: str, **rest: Any) -> int:
    """Take the live value as the new normal, without changing the manifest; it stays watched and counted.

    \b
    Examples:
      holdfast baseline api/Widget/blue /size --why "resized by hand during the incident" -f infra/
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options) as session, session.world() as world:
            checked = await _looked_at(session, world, _declared(session, address))
            taken = await finding_actions.rebaseline(
                session.store, checked, path, Person(who or person(), why), session.owner
            )
        for finding in taken:
            value = findings.value_text(finding.observed)
            console.line(f"  = {paths.format_path(finding.path) or '(document)'}  {value} is the new normal", fg="cyan")
        return 0

    return run(main)


@click.command("accept")
@click.argument("address")
@click.argument("path", required=False)
@singly
@who_option
@click.option("--dry-run", is_flag=True, help="Show the change to the manifest; write nothing.")
def accept_command(address: str, path: str | None, who: str | None, dry_run: bool, **rest: Any) -> int:
    """Write the live value into the manifest, keeping comments, order and layout; refuses rather than mangles.

    \b
    Examples:
      holdfast accept api/Widget/blue /size -f infra/ --dry-run
      holdfast accept api/Widget/blue -f infra/
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options) as session, session.world() as world:
            wanted = _declared(session, address)
            checked = await _looked_at(session, world, wanted)
            file, before, after = _edited(session, checked, path)
            _show_diff(file, before, after)
            if dry_run:
                return 0
            atomic_write.put(file, after)
            ended = [(wanted, paths.format_path(f.path)) for f in finding_actions.chosen(checked, path)]
            data: dict[str, Json] = {"file": str(file), "paths": [each for _, each in ended], "who": who or person()}
            event = AuditEvent(session.clock.now(), "accepted", str(wanted), data)
            await session.store.commit(
                Transaction(events=[event], governance=GovernanceChanges(unquarantined=ended, unaccepted=ended))
            )
        console.line(f"accepted into {file}; review and commit it", fg="green")
        return await _confirmed(options, wanted)

    return run(main)


def _edited(session: Session, checked: CheckResult, path: str | None) -> tuple[Path, bytes, bytes]:
    """Return the manifest with the live values in it; raise InputError if that cannot be done properly."""
    declaration = session.fleet.declarations[checked.address]
    name = declaration.location.file
    leading = [each.template.name for each in session.groups if checked.address in each.children]
    if leading:
        message = (
            f"{checked.address} is a child of template {leading[0]}: edit that for all, or revert, baseline or waive"
        )
        raise InputError(message)
    if name is None or name == file_discovery.STDIN:
        raise InputError("the manifest came from standard input; there is no file to write to")
    taken = finding_actions.chosen(checked, path)
    secret = [finding for finding in taken if finding.cls is FindingClass.SECRET]
    if secret:
        where = paths.format_path(secret[0].path)
        raise InputError(f"{where} is a secret; change it where it is kept, or revert it", declaration.location)
    if all(finding.changed_by is ChangedBy.DECLARED for finding in taken):
        raise InputError("only the declaration moved; there is no live value to accept. Apply it, or edit it back")
    file = Path(name)
    try:
        before = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", Location(name)) from None
    return file, before, accept_edit.accept(before, name, declaration, [accept_edit.of_finding(f) for f in taken])


def _show_diff(file: Path, before: bytes, after: bytes) -> None:
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    for line in difflib.unified_diff(old, new, str(file), str(file), lineterm="", n=1):
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        console.line(line, fg=colour)


async def _confirmed(options: Options, address: Address) -> int:
    """Look once more with the manifest as it is now, and remember that it is what is there; nothing is written."""
    async with opened(options) as session, session.writable_world() as world:
        applier = session.applier(world, only=lambda checked: checked.decision.action is Action.ADOPT)
        report = await applier.apply([address])
    reports.show_checked(report.checked[0])
    return 0


@click.command("waive")
@click.argument("resource", metavar="ADDRESS")
@click.argument("path")
@singly
@click.option("--owner", required=True, help="Who answers for it.")
@click.option("--reason", required=True, help="Why it is all right for now.")
@click.option("--expires", required=True, metavar="DAY", help="Until when: 2026-12-01 or 2026-12-01T18:00.")
@click.option("--ticket", default="", help="Where it is tracked; needed for more than a year.")
@click.option("--into", metavar="FILE", help="The file of waivers; waivers.yaml beside holdfast.yaml by default.")
def waive_command(
    resource: str, path: str, owner: str, reason: str, expires: str, ticket: str, into: str | None, **rest: Any
) -> int:
    """Let a difference be, until a date, with somebody who answers for it; kept in a file for review.

    It stays visible and counted; from the date on it is drift again, and says so.

    \b
    Examples:
      holdfast waive api/Widget/blue /size --owner ada@example.org --reason "load test" --expires 2026-12-01
      holdfast waive 'api/Widget/*' '/tags/**' --owner ops --reason migration --expires 2026-12-01
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options) as session:
            now = session.clock.now()
            waiver = Waiver(resource, path, owner, reason, _end(expires), ticket)
            _require_sound(waiver, now)
            for mistake in waivers.mistakes([waiver], await known_documents(session), now):
                raise InputError(mistake.message)
            file = Path(into) if into else session.project.waivers[0]
            before = file.read_bytes().decode() if file.exists() else None
            atomic_write.put(file, waiver_edit.add(before, waiver).encode())
        console.line(f"{waiver.note}", fg="cyan")
        console.line(f"written to {file}; review and commit it")
        return 0

    return run(main)


def _end(text: str) -> float:
    try:
        return time_parsing.end(text)
    except InputError as error:
        raise click.BadParameter(error.message, param_hint="--expires") from None


def _require_sound(waiver: Waiver, now: float) -> None:
    paths.parse_pattern(waiver.path)
    if waiver.is_expired(now):
        raise InputError(f"--expires: {waiver.until} is past; a waiver is for a time to come")
    if waiver.expires - now > YEAR_SECONDS and not waiver.ticket:
        raise InputError("--expires: more than a year needs a --ticket; nobody remembers for longer")
