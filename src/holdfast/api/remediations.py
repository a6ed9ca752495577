"""Remediations from Python, for a tool that executes them in the same process.

    remediations = Remediations("infra")
    started = await remediations.start("shop/Service/cart", action="restart", alert="HighMemory")
    ...                                                       # restart it
    await remediations.complete("shop/Service/cart")
    (record,) = await remediations.assess("shop/Service/cart", wait=True)
    record.assessment.score                                   # 0.0 to 1.0, or None

Equivalent to the command `holdfast remediation` on the same store. Targets must be declared, at least as observed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path

from holdfast.app import assessment_task
from holdfast.app.options import ProjectOptions
from holdfast.app.project import Project, open_project
from holdfast.errors import InputError
from holdfast.manifests.project import FILE
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.remediation import attempt_history, controller, repository
from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.audit_events import Workflow
from holdfast.remediation.core.records import RemediationEnding, RemediationRecord
from holdfast.remediation.intake import Announcement


class Remediations:
    """Remediations of one project: `folder` has the manifests, and holdfast.yaml is in it or above it.

    Every call opens the store and closes it again, so the object may be used while a watch is running.
    """

    def __init__(
        self,
        folder: str | PathLike[str] = ".",
        *,
        project: str | PathLike[str] | None = None,
        store: str | PathLike[str] | None = None,
    ) -> None:
        here = Path(folder).absolute()
        above = next((path / FILE for path in (here, *here.parents) if (path / FILE).is_file()), None)
        named = project or above
        self._options = ProjectOptions((str(here),), str(named) if named else None, str(store) if store else None)

    async def start(
        self,
        target: str,
        order: Announcement | None = None,
        *,
        action: str = "",
        alert: str = "",
        labels: Mapping[str, str] | None = None,
        correlation_id: str = "",
    ) -> RemediationRecord:
        """Record the start of a remediation and capture the state before it. An `order` replaces the other arguments.

        Raise `engine.announcing.Refused` if policy refuses the remediation. A second call with the same correlation id
        changes nothing.
        """
        if order is None:
            workflow = Workflow(action_type=action, signal_type="alert" if alert else "")
            signal = Signal(alert, dict(labels or {})) if alert else None
            order = Announcement(workflow, signal, correlation_id=correlation_id)
        async with self._opened() as project, project.connections() as connections:
            item = await assessment_task.Preparing(project, connections).needed(_address(target))
            item = await assessment_task.remembered(project, connections, item)
            return await assessment_task.announcer(project, connections).start(item, order)

    async def complete(
        self,
        target: str,
        *,
        ending: RemediationEnding = RemediationEnding.COMPLETED,
        correlation_id: str = "",
        propagation: float | None = None,
    ) -> RemediationRecord:
        """Record the end of a remediation. Its assessment expects the current live state to hold.

        `propagation` is the number of seconds that other tools (GitOps, an operator) take to apply the change.
        """
        async with self._opened() as project, project.connections() as connections:
            announcer = assessment_task.announcer(project, connections)
            found = await announcer.open_on(_address(target), correlation_id)
            item = await assessment_task.Preparing(project, connections).needed(_address(target))
            return await announcer.complete(found, item, ending, propagation)

    async def assess(self, *which: str, wait: bool = False, timeout: float | None = None) -> list[RemediationRecord]:  # noqa: ASYNC109 - a limit on the connections's time, not on ours
        """Advance assessments of the named ids or targets, or of all: one pass over due ones, or until they end."""
        async with self._opened() as project, project.writable_connections() as connections:
            chosen = await repository.named(project.store, which)
            assessor = assessment_task.assessor(project, connections)
            if wait:
                until = None if timeout is None else project.clock.now() + timeout
                await controller.wait_for(assessor, chosen, asyncio.Event(), until)
            else:
                await assessor.run_due(only=frozenset(chosen))
            return await _found(project, chosen)

    async def history(self, target: str) -> dict[str, Json]:
        """Return past remediations of a target in the form that `holdfast remediation list TARGET -o json` prints."""
        async with self._opened() as project, project.connections() as connections:
            announcer = assessment_task.announcer(project, connections)
            item = await assessment_task.Preparing(project, connections).needed(_address(target))
            today = await announcer.look(item)
            refusal = await announcer.refusal(item, "", today)
            told = await attempt_history.account(project.store, target, today, project.clock.now(), refusal)
            return attempt_history.as_json(told)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Project]:
        async with open_project(self._options) as project:
            yield project


async def _found(project: Project, chosen: Sequence[str]) -> list[RemediationRecord]:
    found = [await repository.find(project.store, ident) for ident in chosen]
    return [kept.record for kept in found if kept is not None]


def _address(text: str) -> Address:
    try:
        return Address.parse(text)
    except ValueError as error:
        raise InputError(str(error)) from None
