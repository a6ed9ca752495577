"""The command `plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from holdfast.app.project import Project
from holdfast.cli import console, exit_codes, options
from holdfast.cli.progress import Meter
from holdfast.cli.render import report_files, reports
from holdfast.cli.run import in_project


@click.command("plan")
@options.common
@click.option("--out", metavar="FILE", help="Save the plan; `apply FILE` makes exactly these writes, or refuses.")
@click.option("--all", "everything", is_flag=True, help="Show resources that are in sync too.")
@options.detailed_exitcode
@console.option(*options.FORMATS, *report_files.NAMES)
@report_files.option
def plan_command(
    out: str | None,
    everything: bool,
    detailed_exitcode: bool,
    output_: str,
    output_files: report_files.Files,
    **rest: Any,
) -> int:
    """Show the differences and the writes that would follow (read-only).

    \b
    Examples:
      holdfast plan -f infra/
      holdfast plan -f infra/ --out plan.json && holdfast apply plan.json
    """

    async def body(project: Project) -> int:
        meter = Meter(len(project.selected), "checking")
        plan = await project.plan(meter)
        meter.close()
        if out is not None:
            plan.save(Path(out))
        report = plan.report
        assert report is not None
        if not report_files.show(output_, report, "plan", project.clock.now()):
            reports.show_plan(report, everything=everything)
            if out is not None:
                console.line(f"Saved to {out}; apply it with: holdfast apply {out}")
        report_files.write(output_files, report, "plan", project.clock.now())
        return exit_codes.exit_code(
            reports.statuses(report), detailed=detailed_exitcode, blocked=reports.is_blocked(report)
        )

    return in_project(rest, body)
