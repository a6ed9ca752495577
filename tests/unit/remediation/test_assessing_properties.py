"""Whatever live state does, in whatever order: the laws of an assessment hold for the real engine and store."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.remediation.core.alerts import Alert
from holdfast.remediation.core.state import EndReason
from tests.unit.remediation import trail as trails
from tests.unit.remediation.assessment_fixtures import Ward

FIRING = Alert({"alertname": "HighMemory"})
STEPS = (
    "pass",
    "change",
    "revert",
    "delete",
    "down",
    "up",
    "fire",
    "resolve",
    "blind",
    "sighted",
    "ill",
    "well",
    "die",
)


class Story:
    """A correction, and what happens around it."""

    def __init__(self) -> None:
        self.ward = Ward()
        self.ward.live.health_signals["running"] = True
        self.is_blind = False
        self.ward.live.faults.append(self._fault)

    def _fault(self, call):
        return ReadFailure(ReadError.UNREACHABLE) if self.is_blind and call.startswith("read") else None

    async def step(self, word):
        ward, thing = self.ward, self.ward.live_thing("a")
        match word:
            case "pass":
                await ward.sleep()
                await ward.look()
            case "change" if thing is not None:
                thing["size"] = 9
            case "revert" if thing is not None:
                thing["size"] = 1
            case "delete":
                ward.live.things.clear()
            case "down" | "up":
                ward.servers.is_up = word == "up"
            case "fire" | "resolve":
                ward.servers.firing = [FIRING] if word == "fire" else []
            case "blind" | "sighted":
                self.is_blind = word == "blind"
            case "ill" | "well":
                ward.live.health_signals["running"] = word == "well"
            case "die":
                self.ward = ward.restarted()
            case _:
                pass

    async def told(self, words):
        await self.ward.correct()
        for word in words:
            await self.step(word)
        return await self.ward.finish(), await self.ward.trail()


@given(st.lists(st.sampled_from(STEPS), max_size=14))
def test_the_laws_of_an_assessment(words):
    """It ends for one reason; its score is in range or none, 0.0 for drift; no event comes twice; the trail agrees."""
    story = Story()
    record, trail = asyncio.run(story.told(words))
    state = record.assessment
    assert state.phase.is_terminal
    assert isinstance(state.reason, EndReason)
    assert state.score is None or 0.0 <= state.score <= 1.0
    assert len({event.data["id"] for event in trail}) == len(trail)
    assert [event.type for event in trail].count("effectiveness.assessment.completed") == 1
    assert trail[-1].type == "effectiveness.assessment.completed"
    summary = trails.summarise([event.data for event in trail])
    assert (summary.status, summary.score) == (state.reason.value, state.score)
    if state.reason is EndReason.SPEC_DRIFT:
        assert state.score == 0.0
    if state.reason is EndReason.EXPIRED:
        assert state.score is None


@given(st.lists(st.sampled_from(STEPS), max_size=8))
def test_once_the_target_is_changed_nobody_is_asked_any_more(words):
    async def main():
        story = Story()
        await story.ward.correct()
        for word in words:
            await story.step(word)
        await story.step("sighted")
        (record,) = await story.ward.all()
        assert record.assessment is not None
        is_open = not record.assessment.phase.is_terminal
        await story.step("change")
        await story.step("delete")
        story.ward.servers.asked.clear()
        record = await story.ward.finish()
        return is_open, record, story.ward.servers.asked

    is_open, record, asked = asyncio.run(main())
    assert asked == []
    if is_open:
        assert record.assessment.reason is EndReason.SPEC_DRIFT


@given(st.permutations(["change", "fire", "down", "ill", "pass", "die"]))
def test_spec_drift_absorbs_whatever_comes_before_or_after_it(words):
    record, _ = asyncio.run(Story().told(["pass", *words, "pass", "up", "well", "resolve"]))
    assert (record.assessment.reason, record.assessment.score) == (EndReason.SPEC_DRIFT, 0.0)
