"""An engine that assesses what it corrects, in memory: a target, servers to ask, and a clock; every part breakable."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from holdfast.model.address import Address
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.selectors import parse_targets
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.remediation import repository
from holdfast.remediation.controller import AssessmentController
from holdfast.remediation.core.alerts import Alert, Signal
from holdfast.remediation.core.audit_events import Workflow
from holdfast.remediation.core.metrics import Query, Series
from holdfast.remediation.core.records import RemediationEnding, RemediationRecord
from holdfast.remediation.core.rules import AssessmentRules, TargetRule
from holdfast.remediation.core.timing import Windows
from holdfast.remediation.intake import Announcement, Announcer
from holdfast.remediation.measurement import Instruments
from tests.unit.reconcile.fixtures import Bench, declare

(ANYTHING,) = parse_targets(["**"]).included
MEMORY = Query("memory", "sum(memory)")
RULES = AssessmentRules(
    Windows(),
    (TargetRule(ANYTHING, alert=Signal("HighMemory"), queries=(MEMORY,)),),
    has_prometheus=True,
    has_alertmanager=True,
)
PLAIN = {"color": "red", "size": 1}
TARGET = Address("mem", "Thing", "a")


@dataclass
class Servers:
    """Prometheus and Alertmanager, as far as they are asked, and who asked them."""

    firing: list[Alert] | None = field(default_factory=list)
    before: float = 1000.0
    after: float = 400.0
    is_up: bool = True
    asked: list[str] = field(default_factory=list)
    series: int = 1
    changed_at: float = 0.0  # when the metrics changed

    async def is_ready(self) -> bool:
        self.asked.append("ready")
        return self.is_up

    async def query_range(self, expression, asked):
        self.asked.append(f"query {expression}")
        if not self.is_up:
            return None
        middle = self.changed_at
        at, samples = asked.start, []
        while at <= asked.end:
            samples.append((at, self.before if at <= middle else self.after))
            at += asked.step
        return [Series({"of": str(number)}, samples) for number in range(self.series)]

    async def alerts(self, signal):
        self.asked.append(f"alerts {signal.name}")
        return self.firing if self.is_up else None


@dataclass
class Ward(Bench):
    """One process that corrects and assesses; build another on the same store and world to have a restart."""

    rules: PolicyRules = field(
        default_factory=lambda: PolicyRules(CorrectionRules(mass_drift=None), given_assessment=RULES)
    )
    servers: Servers = field(default_factory=Servers)
    declarations: list = field(default_factory=lambda: [declare("a", PLAIN, assess="corrections")])

    def with_rules(self, **changes) -> Ward:
        self.rules = replace(self.rules, given_assessment=replace(self.rules.assessment, **changes))
        return self

    def restarted(self) -> Ward:
        """Return another process on what is left of this one."""
        return replace(self, owner=self.owner + "'", seed=self.seed + 1)

    def assessor(self, world) -> AssessmentController:
        applier = self.applier(world, self.declarations)

        async def prepare(address):
            if address not in applier.preparer.fleet.declarations:
                return f"{address} is not declared"
            ready, waiting = await applier.preparer.prepare([address])
            return ready[0] if ready else waiting[0].reason

        return AssessmentController(
            self.store,
            applier.checker,
            self.clock,
            self.rules.assessment,
            prepare,
            Instruments(self.servers, self.servers),
            self.undoer(world, applier.checker),
        )

    # -- corrections of ours

    async def correct(self, **changes) -> RemediationRecord:
        """Have changed outside Holdfast, put it back, and return the record of that."""
        await self.apply(self.declarations)
        self.live_thing("a").update(changes or {"color": "black"})
        self.clock.advance(60.0)
        self.servers.changed_at = self.clock.now()
        await self.apply(self.declarations)
        return (await self.all())[-1]

    # -- those of others

    async def announcing(self, work):
        async with self.world() as world:
            applier = self.applier(world, self.declarations)
            (item,), _ = await applier.preparer.prepare([self.declarations[0].address])
            announcer = Announcer(self.store, applier.checker, self.clock, self.random, self.rules.assessment)
            return await work(announcer, item)

    async def start(self, **order) -> RemediationRecord:
        order.setdefault("workflow", Workflow("restarter", action_type="restart"))
        return await self.announcing(lambda one, item: one.start(item, Announcement(**order)))

    async def complete(self, ending=RemediationEnding.COMPLETED, propagation=None, ident="") -> RemediationRecord:
        async def work(announcer, item):
            open_one = await announcer.open_on(self.declarations[0].address, ident)
            return await announcer.complete(open_one, item, ending, propagation)

        self.servers.changed_at = self.clock.now()
        return await self.announcing(work)

    # -- assessing

    async def look(self) -> list[RemediationRecord]:
        """Take further what is due now."""
        async with self.world() as world:
            return await self.assessor(world).run_due()

    async def sleep(self) -> bool:
        """Move the clock to the next due time; return False if nothing is due."""
        async with self.world() as world:
            at = await self.assessor(world).next_at()
        if at is None:
            return False
        self.clock.advance(max(at - self.clock.now(), 0.0))
        return True

    async def finish(self) -> RemediationRecord:
        """Go on until nothing is to be done any more; return the newest record."""
        for _ in range(500):
            await self.look()
            if not await self.sleep():
                return (await self.all())[-1]
        raise AssertionError("the assessment does not end")

    async def all(self) -> list[RemediationRecord]:
        found = [item.record async for item in repository.every(self.store)]
        return sorted(found, key=lambda record: (record.started_at, record.correlation_id))

    async def trail(self, prefix="") -> list:
        found = [item.event async for item in self.store.events()]
        return [event for event in found if event.type.startswith(prefix or ("remediation.", "effectiveness."))]
