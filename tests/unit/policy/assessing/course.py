"""A remediation on a virtual clock: a world to ask, and an engine that does what the machine wants of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from holdfast.remediation.core import scoring, state, state_machine
from holdfast.remediation.core.audit_events import RemediationEvent
from holdfast.remediation.core.scoring import Measurement
from holdfast.remediation.core.state import AssessmentPhase, AssessmentScope, AssessmentState, Execution, Remediation
from holdfast.remediation.core.state_hash import StateHash, StateReading
from holdfast.remediation.core.state_machine import Ask, AssessmentFacts
from holdfast.remediation.core.timing import Windows

CREATED = 1_000_000.0
PRE, POST, OTHER = "sha256:aa", "sha256:bb", "sha256:cc"
REMEDIATION = Remediation("rr-1", "prod/Deployment/web", CREATED, signal_name="HighMemory", pre_hash=PRE)

WELL = scoring.scored(1.0, "all 3 pods ready")
ILL = scoring.scored(0.0, "0/3 pods ready")
RESOLVED = scoring.scored(1.0, "resolved", {"alert_resolution": {"alert_resolved": True, "active_count": 0}})
FIRING = scoring.scored(0.0, "1 firing", {"alert_resolution": {"alert_resolved": False, "active_count": 1}})
BETTER = scoring.scored(0.5, "1 of 1 metrics improved")
WORSE = scoring.scored(0.0, "0 of 1 metrics improved")
DOWN = scoring.unanswered("does not answer")


@dataclass
class World:
    """What is there to be found, and who asked for it."""

    target: StateReading = field(default_factory=lambda: StateHash(POST))
    health: Measurement = WELL
    alerts: Measurement = RESOLVED
    metrics: Measurement = BETTER
    execution: Execution = Execution.COMPLETED
    asked: list[Ask] = field(default_factory=list)

    def answer(self, asks) -> AssessmentFacts:
        self.asked.extend(asks)
        return AssessmentFacts(**{ask.value: getattr(self, ask.value) for ask in asks})


class Course:
    """Runs an assessment pass by pass; time moves only when the machine sleeps or a test says so."""

    def __init__(self, windows=None, *, scope=None, world=None, **changes) -> None:
        self.world: World = world or World()
        execution = changes.pop("execution", Execution.UNASKED)
        self.state: AssessmentState = state.begin(
            replace(REMEDIATION, **changes), windows or Windows(), scope or AssessmentScope(), execution
        )
        self.now = CREATED
        self.wake_at: float | None = CREATED
        self.events: list[RemediationEvent] = []
        self.passes = 0

    def look(self, at=None):
        """One pass: ask what is wanted until the machine sleeps or ends."""
        self.now = self.now if at is None else CREATED + at
        facts = AssessmentFacts()
        for _ in range(10):
            self.state, wants = state_machine.step(self.state, facts, self.now)
            self.events.extend(wants.events)
            self.wake_at = wants.wake_at
            if not wants.asks:
                break
            facts = self.world.answer(wants.asks)
        else:
            raise AssertionError("the machine asks without end")
        self.passes += 1
        return self.state

    def sleep(self):
        assert self.wake_at is not None
        assert self.wake_at > self.now
        self.now = self.wake_at
        return self.look()

    def until(self, at):
        """Look, and go on looking up to and including an instant."""
        self.look()
        while self.wake_at is not None and self.wake_at <= CREATED + at:
            self.sleep()
        return self.state

    def finish(self):
        self.look()
        while self.wake_at is not None:
            self.sleep()
        assert self.state.phase is AssessmentPhase.COMPLETED
        return self.state

    @property
    def told(self):
        return [event.type.value.removeprefix("effectiveness.") for event in self.events]
