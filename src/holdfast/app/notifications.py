"""Notifications about a run of a project."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast.app.project import Project
    from holdfast.notify.deliver import Notifier
    from holdfast.reconcile.report import RunReport

DEAD_LETTERS: Final = "undelivered.jsonl"  # beside the store


def notifier(project: Project, warn: Callable[[str], None]) -> Notifier:
    """Return the notifier of a project; `warn` is told of sinks that fail."""
    from holdfast.notify import deliver
    from holdfast.notify.sinks import SinkContext

    return deliver.Notifier(
        project.store,
        project.config.notify,
        SinkContext(project.clock, project.engine.random01, project.secrets),
        f"/holdfast/{project.config.folder.name}",
        project.store_file.parent / DEAD_LETTERS,
        warn,
    )


async def send(project: Project, report: RunReport, warn: Callable[[str], None]) -> None:
    """Notify the sinks of a project about a run. A sink that fails does not fail the run."""
    if project.config.notify:
        await send_with(notifier(project, warn), report)


async def send_with(desk: Notifier, report: RunReport) -> None:
    """Notify the sinks about a run with a notifier that outlives it."""
    from holdfast.notify import deliver, rules

    await deliver.notify(report, rules.statuses_before(report), desk)
