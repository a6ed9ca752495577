"""The command `approve`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import click

from holdfast.cli import confirm, console, options
from holdfast.cli.progress import ProgressMeter
from holdfast.cli.render import findings, reports
from holdfast.cli.run import open_project, run
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.reconcile.check import CheckResult
from holdfast.store.governance import Approval
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import Transaction


@click.command("approve")
@click.argument("plans", nargs=-1, metavar="PLAN...")
@options.common
@click.option("--all", "everything", is_flag=True, help="All held writes; they are shown first.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--why", default="", help="The reason for the approval.")
@options.who
def approve_command(plans: tuple[str, ...], everything: bool, yes: bool, why: str, who: str | None, **rest: Any) -> int:
    """Approve writes that are held.

    PLAN is the name that `holdfast plan` shows beside a held write. An approval is for exactly that plan. It has no
    effect after live state or the declaration changed.

    \b
    Examples:
      holdfast plan -f infra/                      shows:  to update it: holdfast approve 3f2a90c1d4e5b6a7
      holdfast approve 3f2a90c1d4e5b6a7 -f infra/ --why "seen with ada"
      holdfast approve --all -f infra/
    """
    given = options.options_of(rest)
    if not plans and not everything:
        raise click.UsageError("name the plans, or pass --all")
    if everything and not yes:
        confirm.require_answer("approve")

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given) as project:
            meter = ProgressMeter(len(project.selected), "checking")
            report = await replace(project, retries=True).run_check(meter, record=False)
            meter.close()
            held = {result.plan: result for result in report.checked if reports.asks(result)}
            unknown = [plan for plan in plans if plan not in held]
            if unknown:
                raise InputError(
                    f"no held plan {unknown[0]}: it was applied, or live state changed; see `holdfast plan`"
                )
            chosen = list(held.values()) if everything else [held[plan] for plan in plans]
            if not chosen:
                console.line("nothing is held for approval")
                return 0
            for result in chosen:
                action = result.decision.held or result.decision.action
                console.line(f"  {action.symbol:>3} {result.address}  {_why(result)}")
                findings.show(result.verdict.findings, indent="      ")
            if everything and not yes and not confirm.is_agreed("Approve these?"):
                return 1
            now = project.clock.now()
            name = who or options.person()
            transaction = Transaction()
            for result in chosen:
                transaction.governance.approvals.append(Approval(result.plan, result.address, name, why, now))
                data: dict[str, Json] = {"plan": result.plan, "who": name, "why": why}
                transaction.events.append(AuditEvent(now, "approved", str(result.address), data))
            await project.store.commit(transaction)
        console.line(f"approved {len(chosen)}; `holdfast apply` or a running watch makes the writes", fg="green")
        return 0

    return run(main)


def _why(checked: CheckResult) -> str:
    """Return the cause of a held write."""
    causes = [reason for reason in checked.decision.reasons if reason.code in reports.CAUSES]
    reason = (causes or checked.decision.reasons)[0]
    where = f" [{', '.join(reason.paths[:3])}]" if reason.paths else ""
    return f"{reason.message}{where}"
