"""The audit chain: what is hashed, and what is noticed."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import canonical
from holdfast.errors import ChainBroken
from holdfast.store import audit_chain
from holdfast.store.records import AuditEvent
from tests.unit.store import examples

EVENTS = [AuditEvent(float(n), "check.finished", f"c/K/n{n}", {"n": n}) for n in range(6)]


def links_of(events: list[AuditEvent]) -> tuple[list[audit_chain.Link], audit_chain.Head]:
    return audit_chain.extend(audit_chain.START, [(event, audit_chain.data_bytes(event)) for event in events])


def verify(links: list[audit_chain.Link], head: audit_chain.Head) -> int:
    verification = audit_chain.Verification()
    for link in links:
        if not verification.follows(link):
            displaced = [other.sequence for other in links if verification.is_next(other)]
            raise verification.reordered(displaced[0]) if displaced else verification.edited()
    return verification.finish(head, links[-1].sequence if links else 0)


@given(
    st.integers(1, 2**40),
    examples.times,
    st.text(),
    st.text(),
    st.dictionaries(st.text(), st.integers(0, 9) | st.text()),
)
def test_the_body_is_the_canonical_form_of_the_whole_event(sequence, at, kind, subject, data):
    whole = {"at": at, "type": kind, "subject": subject, "data": data, "sequence": sequence}
    event = AuditEvent(at, kind, subject, data)
    assert audit_chain.body(sequence, at, kind, subject, audit_chain.data_bytes(event)) == canonical.canonical_bytes(
        whole, lists="ordered"
    )


def test_each_hash_covers_the_hash_before_it():
    links, head = links_of(EVENTS)
    previous = bytes(32)
    for link in links:
        content = audit_chain.body(link.sequence, link.at, link.type, link.subject, link.data)
        assert link.hash == hashlib.sha256(previous + content).digest()
        previous = link.hash
    assert head == audit_chain.Head(6, previous)


def test_the_first_hash_never_changes_between_releases():
    links, _ = links_of([AuditEvent(1.5, "engine.started", "", {"b": [2, 1], "a": "<é>"})])
    assert links[0].hash.hex() == "89bac9f651a41bed629dedb0f97883b8466ee60761e16af21a727597ad02869f"


def test_a_chain_can_be_extended_in_parts():
    links, head = links_of(EVENTS)
    first, middle = links_of(EVENTS[:2])
    rest, end = audit_chain.extend(middle, [(event, audit_chain.data_bytes(event)) for event in EVENTS[2:]])
    assert (first + rest, end) == (links, head)


def test_an_unbroken_chain_verifies():
    assert verify(*links_of(EVENTS)) == 6
    assert verify([], audit_chain.START) == 0


@pytest.mark.parametrize(
    "field, value", [("at", 99.0), ("type", "x"), ("subject", "y"), ("data", b"{}"), ("hash", b"z")]
)
@pytest.mark.parametrize("place", range(6))
def test_every_edit_of_every_event_is_found_at_its_place(place, field, value):
    links, head = links_of(EVENTS)
    links[place] = links[place]._replace(**{field: value})
    with pytest.raises(ChainBroken, match="edited") as broken:
        verify(links, head)
    assert broken.value.sequence == place + 1


@pytest.mark.parametrize("place", range(5))
def test_a_removed_event_is_named(place):
    links, head = links_of(EVENTS)
    del links[place]
    with pytest.raises(ChainBroken, match=f"event {place + 1} was removed") as broken:
        verify(links, head)
    assert broken.value.sequence == place + 1


@pytest.mark.parametrize("left", range(6))
def test_a_trail_cut_short_is_noticed(left):
    links, head = links_of(EVENTS)
    with pytest.raises(ChainBroken, match=f"events {left + 1} to 6 were removed") as broken:
        verify(links[:left], head)
    assert broken.value.sequence == left + 1


@pytest.mark.parametrize("one, other", [(0, 1), (0, 5), (2, 4)])
def test_two_events_that_changed_places_are_called_reordered(one, other):
    links, head = links_of(EVENTS)
    first, second = links[one], links[other]
    links[one], links[other] = second._replace(sequence=one + 1), first._replace(sequence=other + 1)
    with pytest.raises(ChainBroken, match=f"reordered, event {one + 1} now stands at {other + 1}") as broken:
        verify(links, head)
    assert broken.value.sequence == one + 1


def test_events_removed_and_renumbered_are_noticed():
    links, head = links_of(EVENTS)
    renumbered = [link._replace(sequence=n) for n, link in enumerate(links[:2] + links[3:], start=1)]
    with pytest.raises(ChainBroken, match="renumbered") as broken:
        verify(renumbered, head)
    assert broken.value.sequence == 3


def test_an_event_with_a_number_below_one_is_noticed():
    links, head = links_of(EVENTS)
    with pytest.raises(ChainBroken, match="put in afterwards") as broken:
        verify([links[0]._replace(sequence=-4), *links], head)
    assert broken.value.sequence == -4


def test_an_event_appended_by_somebody_else_is_noticed():
    links, head = links_of(EVENTS[:5])
    more, _ = links_of(EVENTS)
    verification = audit_chain.Verification()
    assert all(verification.follows(link) for link in links)
    with pytest.raises(ChainBroken, match="event 6 was not put there by Holdfast"):
        verification.finish(head, more[-1].sequence)


def test_a_trail_rewritten_without_its_head_is_noticed():
    forged, _ = links_of([*EVENTS[:5], AuditEvent(5.0, "check.finished", "c/K/n5", {"n": 0})])
    with pytest.raises(ChainBroken, match="rewritten") as broken:
        verify(forged, links_of(EVENTS)[1])
    assert broken.value.sequence == 6


def test_a_column_that_holds_something_else_altogether_counts_as_edited():
    links, head = links_of(EVENTS)
    odd: list[audit_chain.Link] = [links[0]._replace(at="soon", data="text")]  # type: ignore[arg-type]
    with pytest.raises(ChainBroken, match="edited"):
        verify(odd + links[1:], head)
