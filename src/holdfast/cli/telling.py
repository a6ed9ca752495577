"""Notifications from the command line: who is told, with what, and where undelivered ones are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from holdfast.cli import output
from holdfast.cli.session import Options, Session
from holdfast.engine import notices, notifying
from holdfast.engine.applying import Report
from holdfast.engine.sinks import Means

DEAD_LETTERS: Final = "undelivered.jsonl"  # beside the store


def office(session: Session, options: Options) -> notifying.Office:
    """Return what telling takes in a session."""
    store = Path(options.store) if options.store else session.project.store
    return notifying.Office(
        session.store,
        session.project.notify,
        Means(session.clock, session.random01, session.resolver),
        f"/holdfast/{session.project.folder.name}",
        store.parent / DEAD_LETTERS,
        output.warn,
    )


async def tell(report: Report, desk: notifying.Office) -> None:
    """Tell whoever is to be told about a run; whatever happens, the run has said what it says."""
    await notifying.notify(report, notices.statuses_before(report), desk)
