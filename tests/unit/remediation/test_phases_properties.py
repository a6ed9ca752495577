"""Whatever measurements say, in whatever order, and wherever the process dies: the laws of the machine hold."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from holdfast.remediation.core import scoring, state, state_machine
from holdfast.remediation.core.audit_events import RemediationEvent
from holdfast.remediation.core.state import AssessmentPhase, AssessmentScope, AssessmentState, EndReason, Execution
from holdfast.remediation.core.state_hash import NO_TARGET, StateHash, StateUnknown
from holdfast.remediation.core.state_machine import Ask, AssessmentFacts, Wants
from holdfast.remediation.core.timing import Windows
from tests.unit.remediation import trail
from tests.unit.remediation.course import CREATED, OTHER, POST, REMEDIATION, Course, World

MEASURED = {Ask.HEALTH, Ask.ALERTS, Ask.METRICS}
ORDER = list(AssessmentPhase)

scores = st.sampled_from([0.0, 0.25, 0.5, 1.0]).map(lambda score: scoring.scored(score, ""))
measured = scores | st.sampled_from([scoring.unanswered("down"), scoring.not_applicable("none")])
sightings = st.sampled_from([StateHash(POST), StateHash(POST), StateHash(POST), StateUnknown(), StateHash("md5:bb")])
executions = st.sampled_from([Execution.COMPLETED, Execution.COMPLETED, Execution.STARTED, Execution.UNKNOWN])
answers = {"health": measured, "alerts": measured, "metrics": measured}
facts = st.builds(
    AssessmentFacts,
    st.none() | st.sampled_from(Execution),
    st.none() | sightings | st.sampled_from([StateHash(OTHER), NO_TARGET]),
    **{name: st.none() | answer for name, answer in answers.items()},
)
lengths = st.sampled_from([0.0, 30.0, 300.0])
windows = st.builds(
    Windows,
    stabilisation=lengths,
    validity=st.sampled_from([60.0, 600.0]),
    hash_delay=lengths,
    alert_delay=lengths,
)
scopes = st.builds(AssessmentScope, st.booleans(), st.booleans(), st.booleans())
steps = st.lists(st.tuples(facts, st.integers(0, 200)), max_size=25)
worlds = st.builds(World, sightings, measured, measured, measured, executions)


def begin(lengths, scope):
    return state.begin(REMEDIATION, lengths, scope)


@given(windows, scopes, steps)
def test_any_facts_in_any_order(lengths, scope, given_steps):
    """Phases only go forward, scores stay in range, drift is final, and only the guard opens the other questions."""
    at, now = begin(lengths, scope), CREATED
    seen: set[str] = set()
    for step, seconds in given_steps:
        now += seconds
        old = at
        at, wants = state_machine.step(old, step, now)
        assert ORDER.index(at.phase) >= ORDER.index(old.phase)
        assert at.score is None or 0.0 <= at.score <= 1.0
        assert not {event.id for event in wants.events} & seen
        seen |= {event.id for event in wants.events}
        if set(wants.asks) & MEASURED:
            assert isinstance(step.target, StateHash)
            assert at.baseline is not None
            assert step.target.hash == at.baseline.hash
        if old.phase.is_terminal:
            assert (at, wants) == (old, Wants())
        if at.phase.is_terminal:
            assert (wants.asks, wants.wake_at) == ((), None)
        else:
            assert bool(wants.asks) is (wants.wake_at is None)
            assert wants.wake_at is None or wants.wake_at > now
        differs = isinstance(step.target, StateHash) and step.target.hash in (OTHER, NO_TARGET.hash)
        if old.baseline == StateHash(POST) and not old.phase.is_terminal and differs:
            assert (at.reason, at.score) == (EndReason.SPEC_DRIFT, 0.0)


@given(windows, scopes, steps)
def test_no_read_that_failed_is_ever_hashed(lengths, scope, given_steps):
    at, now = begin(lengths, scope), CREATED
    seen: set[str] = set()
    for step, seconds in given_steps:
        now += seconds
        if isinstance(step.target, StateHash):
            seen.add(step.target.hash)
        at, _ = state_machine.step(at, step, now)
        assert at.current is None or at.current in seen
        assert at.baseline is None or at.baseline.hash in seen


@given(windows, scopes, worlds, st.integers(0, 3000))
def test_every_assessment_ends_by_its_deadline_and_the_trail_agrees(lengths, scope, world, late):
    course = Course(lengths, scope=scope, world=world)
    course.now += late
    course.finish()
    assert course.now <= max(course.state.timing.deadline, CREATED + late)
    summary = trail.summarise(trail.payloads(course.events))
    assert course.state.reason is not None
    assert (summary.status, summary.score) == (course.state.reason.value, course.state.score)


@given(windows, scopes, worlds, st.lists(st.booleans(), max_size=60))
def test_no_event_twice_wherever_the_process_dies(lengths, scope, world, crashes):
    """Dying before the transaction repeats the step, dying after it forgets what was wanted; the trail is the same."""
    at, now, found = begin(lengths, scope), CREATED, AssessmentFacts()
    dying = iter(crashes)
    kept: list[RemediationEvent] = []
    for _ in range(1000):
        new, wants = state_machine.step(at, found, now)
        if next(dying, False):  # nothing was stored: a new process begins its pass from the old state
            assert state_machine.step(at, found, now) == (new, wants)
            found = AssessmentFacts()
            continue
        at = new
        kept.extend(wants.events)
        if at.phase.is_terminal:
            break
        if next(dying, False):  # stored, and then died: the answers are lost
            found = AssessmentFacts()
            continue
        found = world.answer(wants.asks)
        now = now if wants.wake_at is None else wants.wake_at
    assert at.phase is AssessmentPhase.COMPLETED
    assert len({event.id for event in kept}) == len(kept)
    assert state_machine.step(at, AssessmentFacts(), now) == (at, Wants())
    undisturbed = Course(lengths, scope=scope, world=world)
    undisturbed.finish()
    assert {event.id for event in kept} == {event.id for event in undisturbed.events}


@given(windows, scopes, worlds, st.integers(0, 12))
def test_once_the_target_moves_nothing_is_measured_any_more(lengths, scope, world, passes):
    course = Course(lengths, scope=scope, world=world)
    course.look()
    for _ in range(passes):
        if course.wake_at is not None:
            course.sleep()
    is_open = not course.state.phase.is_terminal and course.state.baseline == StateHash(POST)
    course.world.target = StateHash(OTHER)
    course.world.asked.clear()
    if course.wake_at is not None:
        course.sleep()
    if is_open:
        assert course.state.reason is EndReason.SPEC_DRIFT
        assert not set(course.world.asked) & MEASURED


@given(windows, scopes, steps)
def test_a_state_can_be_written_down_and_read_back(lengths, scope, given_steps):
    at, now = begin(lengths, scope), CREATED
    for step, seconds in given_steps:
        now += seconds
        at, _ = state_machine.step(at, step, now)
    assert msgspec.json.decode(msgspec.json.encode(at), type=AssessmentState) == at
