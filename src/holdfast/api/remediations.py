"""Remediations from Python: for the tool that makes them, in the same process.

    remediations = Remediations("infra")
    started = await remediations.start("shop/Service/cart", action="restart", alert="HighMemory")
    ...                                                       # restart it
    await remediations.complete("shop/Service/cart")
    (record,) = await remediations.assess("shop/Service/cart", wait=True)
    record.assessment.score                                   # 0.0 to 1.0, or None

The same as the command `holdfast remediation`, on the same store. Targets have to be declared, if only as observed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path

from holdfast.app import assessment_task
from holdfast.app.project import Options, Session, opened
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
    """Announces remediations and reads what came of them; `folder` has the manifests, and holdfast.yaml in it or above.

    Every call opens the store and closes it again, so it may be used beside a running watch.
    """

    def __init__(
        self,
        folder: str | PathLike[str] = ".",
        *,
        project: str | PathLike[str] | None = None,
        store: str | PathLike[str] | None = None,
    ) -> None:
        here = Path(folder).absolute()
        above = next((each / FILE for each in (here, *here.parents) if (each / FILE).is_file()), None)
        named = project or above
        self._options = Options((str(here),), str(named) if named else None, str(store) if store else None)

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
        """Say that a remediation begins; captures the state before it. An `order` says all there is to say.

        Raise `engine.announcing.Refused` where policy does not let it begin. Saying so again with the same correlation
        id changes nothing.
        """
        if order is None:
            workflow = Workflow(action_type=action, signal_type="alert" if alert else "")
            signal = Signal(alert, dict(labels or {})) if alert else None
            order = Announcement(workflow, signal, correlation_id=correlation_id)
        async with self._opened() as session, session.world() as world:
            item = await assessment_task.Preparing(session, world).needed(_address(target))
            item = await assessment_task.remembered(session, world, item)
            return await assessment_task.announcer(session, world).start(item, order)

    async def complete(
        self,
        target: str,
        *,
        ending: RemediationEnding = RemediationEnding.COMPLETED,
        correlation_id: str = "",
        propagation: float | None = None,
    ) -> RemediationRecord:
        """Say that it ended; what is there now has to hold.

        `propagation` is how many seconds others (GitOps, an operator) take to bring it about.
        """
        async with self._opened() as session, session.world() as world:
            announcer = assessment_task.announcer(session, world)
            found = await announcer.open_on(_address(target), correlation_id)
            item = await assessment_task.Preparing(session, world).needed(_address(target))
            return await announcer.complete(found, item, ending, propagation)

    async def assess(self, *which: str, wait: bool = False, timeout: float | None = None) -> list[RemediationRecord]:  # noqa: ASYNC109 - a limit on the world's time, not on ours
        """Take assessments further, of ids or targets or of all: one pass over what is due, or to their end."""
        async with self._opened() as session, session.writable_world() as world:
            chosen = await repository.named(session.store, which)
            assessor = assessment_task.assessor(session, world)
            if wait:
                until = None if timeout is None else session.clock.now() + timeout
                await controller.wait_for(assessor, chosen, asyncio.Event(), until)
            else:
                await assessor.run_due(only=frozenset(chosen))
            return await _found(session, chosen)

    async def history(self, target: str) -> dict[str, Json]:
        """Return what was tried on a target, as `holdfast remediations TARGET -o json` prints it."""
        async with self._opened() as session, session.world() as world:
            announcer = assessment_task.announcer(session, world)
            item = await assessment_task.Preparing(session, world).needed(_address(target))
            today = await announcer.look(item)
            refusal = await announcer.refusal(item, "", today)
            told = await attempt_history.account(session.store, target, today, session.clock.now(), refusal)
            return attempt_history.as_json(told)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Session]:
        async with opened(self._options) as session:
            yield session


async def _found(session: Session, chosen: Sequence[str]) -> list[RemediationRecord]:
    found = [await repository.find(session.store, ident) for ident in chosen]
    return [one.record for one in found if one is not None]


def _address(text: str) -> Address:
    try:
        return Address.parse(text)
    except ValueError as error:
        raise InputError(str(error)) from None
