"""The commands about a fleet: plan, apply, check, delete."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import click

from holdfast.app import notifications, template_groups, undeclared
from holdfast.app.project import Session, common, opened, options_of, run
from holdfast.cli import confirm, console, exit_codes, plan_files
from holdfast.cli.render import remediations, report_files, reports, rollouts
from holdfast.model.decision import Action
from holdfast.reconcile import finding_actions, ineffective_creates, unchecked
from holdfast.reconcile.action_result import LEFT_TO_OTHERS, ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult, check_resources
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked

_FORMATS = ("table", "json", "yaml")


class Meter:
    """Live progress on standard error, if that is a terminal: how many, how fast, how long still."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what = total, what
        self._done = 0
        self._started = time.monotonic()
        self._shown = 0.0
        self._live = sys.stderr.isatty() and total > 0

    def __call__(self, what: CheckResult | ActionResult | Blocked) -> None:
        """Count one."""
        if not isinstance(what, ActionResult):
            self._done += 1
        now = time.monotonic()
        if self._live and (now - self._shown > 0.1 or self._done == self._total):
            self._shown = now
            rate = self._done / max(now - self._started, 1e-6)
            left = (self._total - self._done) / rate if rate else 0.0
            text = f"\r{self._what} {self._done}/{self._total}  {rate:,.0f}/s  {left:,.0f} s left "
            click.echo(text, nl=False, err=True)

    def close(self) -> None:
        """Clear the line."""
        if self._live:
            click.echo("\r" + " " * 60 + "\r", nl=False, err=True)


async def look_at(session: Session, *, record: bool = False) -> RunReport:
    """Look at what was chosen, showing how far it has come; what is recorded is shown, so it is asked who did it."""
    meter = Meter(len(session.chosen), "checking")
    async with session.world() as world:
        await template_groups.survey(session, world)
        preparer, checker = session.preparer(world), session.checker(world)
        report = await check_resources(preparer, checker, session.chosen, meter, record=record, attribute=record)
        report.groups = template_groups.in_scope(session)
    meter.close()
    report.undeclared = list(session.undeclared)
    if record:
        await unchecked.no_longer_declared(session.store, [s.address for s in report.undeclared], session.clock.now())
    return report


@click.command("plan")
@common
@click.option("--out", metavar="FILE", help="Save the plan; `apply FILE` then does exactly this, or refuses.")
@click.option("--all", "everything", is_flag=True, help="Show what is in sync too.")
@click.option("--detailed-exitcode", is_flag=True, help="2 pending, 4 drifted, 6 both, 8 incomplete, 16 blocked.")
@console.option(*_FORMATS, *report_files.NAMES)
@report_files.option
def plan_command(
    out: str | None,
    everything: bool,
    detailed_exitcode: bool,
    output_: str,
    output_files: report_files.Files,
    **rest: Any,
) -> int:
    """Show what differs and what would be done, both directions; touches nothing in the world.

    \b
    Examples:
      holdfast plan -f infra/
      holdfast plan -f infra/ --out plan.json && holdfast apply plan.json
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options) as session:
            session.retries = True
            report = await look_at(session, record=True)
            if out is not None:
                plan_files.save(Path(out), report, options)
            around = report_files.around("plan", session.clock.now())
        if not report_files.shown(output_, report, around):
            reports.show_plan(report, everything=everything)
            if out is not None:
                console.line(f"Saved to {out}; apply it with: holdfast apply {out}")
        report_files.write(output_files, report, around)
        return exit_codes.exit_code(
            reports.statuses(report), detailed=detailed_exitcode, blocked=reports.is_blocked(report)
        )

    return run(main)


@click.command("check")
@common
@click.option("--all", "everything", is_flag=True, help="Show what is in sync too.")
@click.option("--now", "fresh", is_flag=True, help="Ask a running watch to check the same, too.")
@click.option("--detailed-exitcode", is_flag=True, help="2 pending, 4 drifted, 6 both, 8 incomplete, 16 blocked.")
@console.option(*_FORMATS, *report_files.NAMES)
@report_files.option
def check_command(
    everything: bool,
    fresh: bool,
    detailed_exitcode: bool,
    output_: str,
    output_files: report_files.Files,
    **rest: Any,
) -> int:
    """Say what is true; read-only by construction: the writing half of a provider cannot be reached from here.

    \b
    Examples:
      holdfast check -f infra/
      holdfast check -f infra/ --detailed-exitcode -o json     for CI
      holdfast check -f infra/ --output-file sarif=drift.sarif --output-file junit=drift.xml
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options) as session:
            if fresh:
                from holdfast.watch import loop

                token = f"cli-{int(session.clock.now() * 1000)}"
                await loop.request(session.store, session.chosen, token, session.clock.now())
            report = await look_at(session, record=True)
            around = report_files.around("check", session.clock.now())
            await notifications.tell(report, notifications.office(session, options))
        if not report_files.shown(output_, report, around):
            reports.show_check(report, everything=everything)
        report_files.write(output_files, report, around)
        return exit_codes.exit_code(
            reports.statuses(report), detailed=detailed_exitcode, blocked=reports.is_blocked(report)
        )

    return run(main)


@click.command("apply")
@click.argument("plan_file", required=False)
@common
@click.option("-y", "--yes", is_flag=True, help="Do not ask before writing.")
@click.option("--recreate", is_flag=True, help="Also make again what was deleted behind our back with resync off.")
@click.option("--create-again", is_flag=True, help="Repeat creates of which it is unknown whether they were made.")
@console.option(*_FORMATS)
def apply_command(
    plan_file: str | None, yes: bool, recreate: bool, create_again: bool, output_: str, **rest: Any
) -> int:
    """Make it so, within the limits.

    With PLAN_FILE (from `plan --out`) exactly what was shown is done, or nothing.

    \b
    Examples:
      holdfast apply -f infra/
      holdfast apply plan.json
    """
    options = options_of(rest)
    saved = plan_files.load(Path(plan_file)) if plan_file else None
    if saved is not None:
        options = saved.options
    elif not yes:
        confirm.require_answer("apply")

    async def main(stop: asyncio.Event) -> int:
        async with opened(options) as session:
            session.retries = True
            if saved is not None:
                seen = await look_at(session, record=False)
                plan_files.insist(saved, seen)
            elif not yes and not await _is_agreed(session, to=sys.stdout if output_ == "table" else sys.stderr):
                return 1
            again: dict[str, Any] = {"reconsider": _made_again} if recreate else {}
            again |= {"create_again": create_again}
            report = await _apply(session, stop, saved, again, quiet=output_ != "table")
            await ineffective_creates.note(session.store, report)
            await notifications.tell(report, notifications.office(session, options))
        if not console.structured(output_, reports.as_json(report)):
            for one in report.checked:
                if one.decision.action in (Action.BLOCK, Action.HOLD, Action.REPORT) or one.verdict.status == "unknown":
                    reports.show_checked(one)
            for waiting in report.waiting:
                console.line(f"  … {waiting.declaration.address}  {waiting.reason}")
            for one in _unlike(saved, report):
                console.line(f"  ✗ {one.address}  moved since the plan was looked at; not done", fg="red")
            reports.show_groups(report)
            reports.show_not_taken(report)
            console.line(reports.apply_line(report), bold=True)
            undeclared.show(report.undeclared)
            remediations.show_begun(report)
        return _apply_code(report) or int(bool(_unlike(saved, report)))

    return run(main)


async def _is_agreed(session: Session, to: TextIO) -> bool:
    """Show what would be done and ask; nothing to do needs no answer."""
    seen = await look_at(session, record=False)
    with contextlib.redirect_stdout(to):
        reports.show_plan(seen)
    return not reports.is_work(seen) or confirm.is_agreed("Apply this?")


def _unlike(saved: plan_files.Saved | None, report: RunReport) -> list[CheckResult]:
    """Return what was to be written and is not what the plan showed: it moved in the last moment."""
    if saved is None:
        return []
    return [one for one in report.checked if saved.writes(one) and not saved.allows(one)]


async def _apply(
    session: Session, stop: asyncio.Event, saved: plan_files.Saved | None, again: dict[str, Any], *, quiet: bool
) -> RunReport:
    meter = Meter(len(session.chosen), "applying")

    def progress(what: CheckResult | ActionResult | Blocked) -> None:
        meter(what)
        if isinstance(what, ActionResult) and not quiet:
            meter.close()
            reports.show_acted(what)

    async with session.writable_world() as world:
        arguments: dict[str, Any] = {"stop": stop, "progress": progress, **again}
        if saved is not None:
            arguments["only"] = saved.allows
        await template_groups.settle(session, world)
        report = await session.applier(world, **arguments).apply(session.chosen)
        names = None if saved is None else saved.rolled
        rolled = await template_groups.roll(session, world, stop, None if quiet else _show_rolled, names)
        report = template_groups.merged(report, rolled)
    meter.close()
    report.undeclared = list(session.undeclared)
    await unchecked.no_longer_declared(session.store, [s.address for s in report.undeclared], session.clock.now())
    return report


def _show_rolled(report: RunReport) -> None:
    for acted in report.acted:
        reports.show_acted(acted)


def _made_again(checked: CheckResult) -> CheckResult:
    """With --recreate a person says that what is gone shall come back."""
    return finding_actions.recreated(checked) if checked.decision.action is Action.BLOCK else checked


def _apply_code(report: RunReport) -> int:
    fine = {ActionOutcome.DONE, *LEFT_TO_OTHERS}
    bad = any(one.result not in fine or one.unresolved for one in report.acted) or report.waiting or report.not_reached
    unknown = any(one.verdict.status == "unknown" for one in report.checked)
    blocked = any(one.decision.action is Action.BLOCK for one in report.checked)
    halted = any(rollouts.is_stuck(each) for each in report.groups)
    return 1 if bad or unknown or blocked or halted else 0
