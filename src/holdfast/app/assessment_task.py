"""What assesses remediations, put together for a session: its servers opened, its way to the manifests known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from holdfast.app.project import Session
from holdfast.cli import console
from holdfast.cli.render import remediations
from holdfast.errors import HoldfastError, InputError, Location
from holdfast.manifests.assessment_spec import SECTION, ServerSpec
from holdfast.model.address import Address
from holdfast.policy import did_you_mean
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.remediation.controller import AssessmentController, Prepare
from holdfast.remediation.intake import Announcer
from holdfast.remediation.measurement import Instruments
from holdfast.remediation.probes import http_query
from holdfast.remediation.probes.alertmanager import Alertmanager
from holdfast.remediation.probes.http_query import Server
from holdfast.remediation.probes.prometheus import Prometheus
from holdfast.remediation.repository import COLLECTION
from holdfast.watch.loop import WAITING_SECONDS


def instruments(session: Session) -> Instruments:
    """Return the servers of the project file."""
    declared = session.project.assessment
    prometheus = _server(session, "prometheus", declared.prometheus)
    alertmanager = _server(session, "alertmanager", declared.alertmanager)
    return Instruments(
        None if prometheus is None else Prometheus(prometheus),
        None if alertmanager is None else Alertmanager(alertmanager),
    )


def _server(session: Session, name: str, spec: ServerSpec | None) -> Server | None:
    if spec is None:
        return None
    try:
        url, token = spec.fetched(session.resolver)
    except InputError as error:
        file = session.project.file
        raise error.at(Location(str(file) if file else None, field=f"/{SECTION}/{name}")) from None
    return Server(url, token, spec.timeout)


async def troubles(session: Session) -> list[tuple[str, str | None]]:
    """Say which servers answer, and which rules are for nothing that is declared."""
    declared = session.project.assessment
    out: list[tuple[str, str | None]] = []
    for name, spec in (("prometheus", declared.prometheus), ("alertmanager", declared.alertmanager)):
        server = _server(session, name, spec)
        if server is not None:
            answer = await http_query.get(server, "/-/ready")
            out.append((f"assessment: {name}", None if answer.is_ok else answer.why))
    known = session.fleet.declarations
    idle = [rule.target for rule in declared.rules.targets if known and not any(map(rule.target.matches, known))]
    mistyped = "covers nothing that is declared; is it mistyped?"
    return [*out, *((f"assessment of {target.text}", mistyped) for target in idle)]


def assessor(session: Session, world: WritableConnections, prepare: Prepare | None = None) -> AssessmentController:
    """Return what takes assessments further."""
    checker = session.checker(world)
    return AssessmentController(
        session.store,
        checker,
        session.clock,
        session.rules.assessment,
        prepare or Preparing(session, world).one,
        instruments(session),
        session.undoer(world, checker),
    )


def announcer(session: Session, world: Connections) -> Announcer:
    """Return what takes announcements."""
    checker = session.checker(world)
    rules = session.rules.assessment
    return Announcer(session.store, checker, session.clock, session.random01, rules)


@dataclass(slots=True)
class Preparing:
    """Makes targets ready that the manifests at hand declare."""

    session: Session
    world: Connections

    async def one(self, address: Address) -> ResolvedResource | str:
        """Return a target as it can be looked at, or why it cannot."""
        if address not in self.session.fleet.declarations:
            return f"{address} is not declared in the manifests given with -f"
        try:
            ready, waiting = await self.session.preparer(self.world).prepare([address])
        except InputError as error:  # one target that cannot be looked at must not keep the others from it
            return str(error)
        return ready[0] if ready else waiting[0].reason

    async def needed(self, address: Address) -> ResolvedResource:
        """Return a target, or raise InputError that says what to do."""
        found = await self.one(address)
        if isinstance(found, ResolvedResource):
            return found
        if address not in self.session.fleet.declarations:
            known = [str(each) for each in self.session.fleet.declarations]
            hint = did_you_mean.hint(str(address), known) or (
                "; declare it, with managementPolicy: observed if it is not ours to write"
            )
            raise InputError(f"{found}{hint}")
        raise InputError(f"{address} cannot be looked at now: {found}")


async def remembered(session: Session, world: Connections, item: ResolvedResource) -> ResolvedResource:
    """Have a target that nobody has looked at yet known to the store, so that a watch finds its manifest."""
    if item.state is not None:
        return item
    await session.checker(world).check_all([item])
    return replace(item, state=await session.store.state(item.declaration.address))


@dataclass(slots=True)
class Assessments:
    """The assessments of what was corrected, on the schedule of the watch."""

    session: Session
    world: WritableConnections
    prepare: Prepare
    _assessor: AssessmentController | None = None
    _rests_until: float = 0.0  # after a mistake in the project file, such as a token that is not there

    def _assessing(self) -> AssessmentController:
        if self._assessor is None:
            self._assessor = assessor(self.session, self.world, self.prepare)
        return self._assessor

    async def run(self) -> bool:
        """Take further what is due, and show what came of what is over."""
        now = self.session.clock.now()
        if now < self._rests_until or await self._due_at() > now:
            return False
        try:
            done = await self._assessing().run_due()
        except HoldfastError as error:
            console.warn(f"nothing is assessed: {error}")
            self._rests_until = now + WAITING_SECONDS
            return False
        for record in done:
            if record.is_settled:
                remediations.show_record(record, now)
        return bool(done)

    async def next_at(self) -> float | None:
        """Return when the next look at one is due."""
        at = await self._due_at()
        return None if at == math.inf else max(at, self._rests_until)

    async def _due_at(self) -> float:
        at = await self.session.store.next_due_record(COLLECTION)
        return math.inf if at is None else at
