"""The assessment of remediations for a project, with its servers opened and its manifests located."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, InputError, Location
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.remediation.controller import AssessmentController, Prepare
from holdfast.remediation.intake import Announcer
from holdfast.remediation.manifest import Assessment, ServerSpec
from holdfast.remediation.measurement import Instruments
from holdfast.remediation.probes import http_query
from holdfast.remediation.probes.alertmanager import Alertmanager
from holdfast.remediation.probes.http_query import Server
from holdfast.remediation.probes.prometheus import Prometheus
from holdfast.remediation.repository import COLLECTION
from holdfast.schema import did_you_mean
from holdfast.watch.loop import WAITING_SECONDS

if TYPE_CHECKING:
    from holdfast.app.project import Project
    from holdfast.app.watch import WatchOutput


def instruments(project: Project) -> Instruments:
    """Return the servers of the project file."""
    declared = project.config.assessment or Assessment()
    prometheus = _server(project, "prometheus", declared.prometheus)
    alertmanager = _server(project, "alertmanager", declared.alertmanager)
    return Instruments(
        None if prometheus is None else Prometheus(prometheus),
        None if alertmanager is None else Alertmanager(alertmanager),
    )


def _server(project: Project, name: str, spec: ServerSpec | None) -> Server | None:
    if spec is None:
        return None
    try:
        url, token = spec.fetched(project.secrets)
    except InputError as error:
        file = project.config.file
        raise error.at(Location(str(file) if file else None, field=f"/assessment/{name}")) from None
    return Server(url, token, spec.timeout)


async def troubles(project: Project) -> list[tuple[str, str | None]]:
    """Return the servers with their problems, and the rules that match no declaration."""
    declared = project.config.assessment or Assessment()
    out: list[tuple[str, str | None]] = []
    for name, spec in (("prometheus", declared.prometheus), ("alertmanager", declared.alertmanager)):
        server = _server(project, name, spec)
        if server is not None:
            answer = await http_query.get(server, "/-/ready")
            out.append((f"assessment: {name}", None if answer.is_ok else answer.why))
    known = project.resources.declarations
    idle = [rule.target for rule in declared.rules.targets if known and not any(map(rule.target.matches, known))]
    mistyped = "covers nothing that is declared; is it mistyped?"
    return [*out, *((f"assessment of {target.text}", mistyped) for target in idle)]


def assessor(
    project: Project, connections: WritableConnections, prepare: Prepare | None = None
) -> AssessmentController:
    """Return the controller that advances assessments."""
    checker = project.checker(connections)
    return AssessmentController(
        project.store,
        checker,
        project.clock,
        project.engine.rules.assessment,
        prepare or Preparing(project, connections).one,
        instruments(project),
        project.undoer(connections, checker),
    )


def announcer(project: Project, connections: Connections) -> Announcer:
    """Return the receiver of announcements."""
    checker = project.checker(connections)
    rules = project.engine.rules.assessment
    return Announcer(project.store, checker, project.clock, project.engine.random01, rules)


@dataclass(slots=True)
class Preparing:
    """Makes targets ready that the manifests at hand declare."""

    project: Project
    connections: Connections

    async def one(self, address: Address) -> ResolvedResource | str:
        """Return a target as it can be looked at, or why it cannot."""
        if address not in self.project.resources.declarations:
            return f"{address} is not declared in the manifests given with -f"
        try:
            ready, waiting = await self.project.resolver(self.connections).prepare([address])
        except InputError as error:  # one target that cannot be looked at must not keep the others from it
            return str(error)
        return ready[0] if ready else waiting[0].reason

    async def needed(self, address: Address) -> ResolvedResource:
        """Return a target, or raise InputError with a remedy."""
        found = await self.one(address)
        if isinstance(found, ResolvedResource):
            return found
        if address not in self.project.resources.declarations:
            known = [str(declaration) for declaration in self.project.resources.declarations]
            hint = did_you_mean.hint(str(address), known) or (
                "; declare it, with managementPolicy: observed if it is not ours to write"
            )
            raise InputError(f"{found}{hint}")
        raise InputError(f"{address} cannot be looked at now: {found}")


async def remembered(project: Project, connections: Connections, item: ResolvedResource) -> ResolvedResource:
    """Return a target that the store knows. A new target is checked first, so that a watch finds its manifest."""
    if item.state is not None:
        return item
    await project.checker(connections).check_all([item])
    return replace(item, state=await project.store.state(item.declaration.address))


@dataclass(slots=True)
class Assessments:
    """The assessments of corrections, on the schedule of the watch."""

    project: Project
    connections: WritableConnections
    prepare: Prepare
    output: WatchOutput
    _assessor: AssessmentController | None = None
    _rests_until: float = 0.0  # after a mistake in the project file, such as a token that is not there

    def _assessing(self) -> AssessmentController:
        if self._assessor is None:
            self._assessor = assessor(self.project, self.connections, self.prepare)
        return self._assessor

    async def run(self) -> bool:
        """Advance the assessments that are due, and show the results of the finished ones."""
        now = self.project.clock.now()
        if now < self._rests_until or await self._due_at() > now:
            return False
        try:
            done = await self._assessing().run_due()
        except HoldfastError as error:
            self.output.warn(f"nothing is assessed: {error}")
            self._rests_until = now + WAITING_SECONDS
            return False
        for record in done:
            if record.is_settled:
                self.output.assessed(record, now)
        return bool(done)

    async def next_at(self) -> float | None:
        """Return when the next look at one is due."""
        at = await self._due_at()
        return None if at == math.inf else max(at, self._rests_until)

    async def _due_at(self) -> float:
        at = await self.project.store.next_due_record(COLLECTION)
        return math.inf if at is None else at
