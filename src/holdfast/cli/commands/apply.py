"""The command `apply`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any, TextIO

import click

from holdfast.app import notifications
from holdfast.app.plan import Plan
from holdfast.app.project import Project
from holdfast.cli import confirm, console, options
from holdfast.cli.progress import Meter
from holdfast.cli.render import reports
from holdfast.cli.run import open_project, run
from holdfast.model.decision import Action
from holdfast.model.verdict import Status
from holdfast.reconcile import finding_actions, ineffective_creates
from holdfast.reconcile.action_result import LEFT_TO_OTHERS, ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked


@click.command("apply")
@click.argument("plan_file", required=False)
@options.common
@click.option("-y", "--yes", is_flag=True, help="Do not ask before writing.")
@click.option("--recreate", is_flag=True, help="Also recreate resources without resync that were deleted elsewhere.")
@click.option("--create-again", is_flag=True, help="Repeat creates whose outcome is unknown.")
@console.option(*options.FORMATS)
def apply_command(
    plan_file: str | None, yes: bool, recreate: bool, create_again: bool, output_: str, **rest: Any
) -> int:
    """Apply manifests, within configured limits.

    With PLAN_FILE (from `plan --out`) exactly the writes of the plan are made, or none.

    \b
    Examples:
      holdfast apply -f infra/
      holdfast apply plan.json
    """
    given = options.options_of(rest)
    plan = Plan.load(Path(plan_file)) if plan_file else None
    if plan is not None:
        given = plan.options
    elif not yes:
        confirm.require_answer("apply")

    async def main(stop: asyncio.Event) -> int:
        async with open_project(given) as project:
            to = sys.stdout if output_ == "table" else sys.stderr
            if plan is None and not yes and not await _is_agreed(project, to):
                return 1
            again: dict[str, Any] = {"reconsider": _with_recreate} if recreate else {}
            again["create_again"] = create_again
            report = await _apply(project, stop, plan, again, quiet=output_ != "table")
            await ineffective_creates.note(project.store, report)
            await notifications.send(project, report, console.warn)
        outdated = [checked for checked in report.checked if plan is not None and plan.is_outdated_by(checked)]
        if not console.structured(output_, lambda: reports.as_json(report)):
            _show(report, outdated)
        return _exit_code(report) or int(bool(outdated))

    return run(main)


async def _is_agreed(project: Project, to: TextIO) -> bool:
    """Show the plan and ask. A plan without writes needs no answer."""
    from dataclasses import replace

    meter = Meter(len(project.selected), "checking")
    report = await replace(project, retries=True).run_check(meter, record=False)
    meter.close()
    with contextlib.redirect_stdout(to):
        reports.show_plan(report)
    return not reports.is_work(report) or confirm.is_agreed("Apply this?")


async def _apply(
    project: Project, stop: asyncio.Event, plan: Plan | None, again: dict[str, Any], *, quiet: bool
) -> RunReport:
    meter = Meter(len(project.selected), "applying")

    def progress(step: CheckResult | ActionResult | Blocked) -> None:
        meter(step)
        if isinstance(step, ActionResult) and not quiet:
            meter.close()
            reports.show_acted(step)

    when_rolled = None if quiet else reports.show_all_acted
    report = await project.run_apply(plan, stop=stop, progress=progress, when_rolled=when_rolled, **again)
    meter.close()
    return report


def _show(report: RunReport, outdated: list[CheckResult]) -> None:
    for checked in report.checked:
        shown = checked.decision.action in (Action.BLOCK, Action.HOLD, Action.REPORT)
        if shown or checked.verdict.status is Status.UNKNOWN:
            reports.show_checked(checked)
    for waiting in report.waiting:
        console.line(f"  … {waiting.declaration.address}  {waiting.reason}")
    for checked in outdated:
        console.line(f"  ✗ {checked.address}  changed since the plan was made; skipped", fg="red")
    reports.show_groups(report)
    reports.show_not_taken(report)
    console.line(reports.apply_line(report), bold=True)
    reports.show_undeclared(report.undeclared)
    if any(acted.correction for acted in report.acted):
        from holdfast.cli.render import remediations

        remediations.show_begun(report)


def _with_recreate(checked: CheckResult) -> CheckResult:
    """Return a blocked decision about a deleted resource as one that recreates it."""
    return finding_actions.recreated(checked) if checked.decision.action is Action.BLOCK else checked


def _exit_code(report: RunReport) -> int:
    good = {ActionOutcome.DONE, *LEFT_TO_OTHERS}
    bad = any(acted.result not in good or acted.unresolved for acted in report.acted)
    bad = bad or bool(report.waiting or report.not_reached)
    unknown = any(checked.verdict.status is Status.UNKNOWN for checked in report.checked)
    blocked = any(checked.decision.action is Action.BLOCK for checked in report.checked)
    return 1 if bad or unknown or blocked or reports.has_stuck_rollout(report) else 0
