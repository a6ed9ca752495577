"""Signals are gathered into batches; order, doubles and time change nothing but when a batch is complete."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.watch.signal_gathering import LONGEST_DELAY_SECONDS, QUIET_SECONDS, SignalGatherer

SIGNALS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["1", "2", None])), min_size=1, max_size=20)


def gather(signals: list[tuple[str, str | None]]) -> dict[str, str | None]:
    gatherer = SignalGatherer()
    for ident, version in signals:
        gatherer.add(ident, version, 0.0)
    return dict(gatherer.take().versions)


@given(SIGNALS, st.randoms())
def test_order_and_doubles_change_nothing(signals, random):
    distorted = signals * 2
    random.shuffle(distorted)
    assert gather(distorted) == gather(signals)


@given(SIGNALS, st.data())
def test_a_lost_signal_adds_no_resource(signals, data):
    kept = data.draw(st.lists(st.sampled_from(signals), unique=True))
    assert gather(kept).keys() <= gather(signals).keys()


@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=50))
def test_a_batch_is_complete_after_a_pause_and_never_later_than_the_longest_delay(pauses):
    gatherer, now = SignalGatherer(), 100.0
    for pause in pauses:
        now += pause
        gatherer.add("a", None, now)
    at = gatherer.next_at()
    assert at is not None
    assert at <= now + QUIET_SECONDS
    assert at <= 100.0 + pauses[0] + LONGEST_DELAY_SECONDS


def test_without_signals_nothing_is_due():
    gatherer = SignalGatherer()
    assert gatherer.next_at() is None
    gatherer.add("a", "1", 5.0)
    assert gatherer.next_at() == 5.0 + QUIET_SECONDS
    gatherer.take()
    assert gatherer.next_at() is None


def test_of_two_versions_neither_counts():
    """The last one to arrive may be the older one, which a check has seen."""
    assert gather([("a", "2"), ("a", "1"), ("b", "1"), ("b", "1")]) == {"a": None, "b": "1"}


def test_more_signals_than_are_kept_ask_for_a_list():
    gatherer = SignalGatherer(most_pending=2)
    for ident in "abcab":
        gatherer.add(ident, "1", 0.0)
    batch = gatherer.take()
    assert (sorted(batch.versions), batch.is_overfull) == (["a", "b"], True)
    assert not gatherer.take().is_overfull
