"""Notifications from the command line: who is told, with what, and where undelivered ones are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from holdfast.app.project import Options, Session
from holdfast.cli import console
from holdfast.notify import deliver, rules
from holdfast.notify.sinks import SinkContext
from holdfast.reconcile.report import RunReport

DEAD_LETTERS: Final = "undelivered.jsonl"  # beside the store


def office(session: Session, options: Options) -> deliver.Notifier:
    """Return what telling takes in a session."""
    store = Path(options.store) if options.store else session.project.store
    return deliver.Notifier(
        session.store,
        session.project.notify,
        SinkContext(session.clock, session.random01, session.resolver),
        f"/holdfast/{session.project.folder.name}",
        store.parent / DEAD_LETTERS,
        console.warn,
    )


async def tell(report: RunReport, desk: deliver.Notifier) -> None:
    """Tell whoever is to be told about a run; whatever happens, the run has said what it says."""
    await deliver.notify(report, rules.statuses_before(report), desk)
