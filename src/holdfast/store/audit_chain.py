"""The hash chain of the audit trail: each event's hash covers the event and the hash before it.

Pure. Detects events that were edited, removed, reordered or cut off later. A person who recomputes the whole chain and
its head is detected only with a copy of the head that is stored elsewhere (see `audit_head_file`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.compare import canonical
from holdfast.errors import ChainBroken
from holdfast.model.audit import AuditHead
from holdfast.model.record import dataclass
from holdfast.store.blobs import load
from holdfast.store.records import AuditEvent, ChainedEvent


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain."""

    length: int
    hash: bytes


class Link(NamedTuple):
    """An event as stored; `data` are the canonical bytes that were hashed."""

    sequence: int
    at: float
    type: str
    subject: str
    data: bytes
    hash: bytes


START: Final = Head(0, bytes(32))


def data_bytes(event: AuditEvent) -> bytes:
    """Return the bytes of an event's data that are hashed and stored."""
    return canonical.canonical_bytes(dict(event.data), lists="ordered")


def body(sequence: int, at: float, type_: str, subject: str, data: bytes) -> bytes:
    """Return the hashed bytes of an event: the canonical bytes of {at, data, sequence, subject, type}.

    They are assembled without parsing the data; a property test compares them with `canonical_bytes`.
    """
    return b'{"at":%s,"data":%s,"sequence":%d,"subject":%s,"type":%s}' % (
        _time_text(float(at)),
        data,
        sequence,
        _subject_text(subject),
        _type_text(type_),
    )


def extend(head: Head, events: Iterable[tuple[AuditEvent, bytes]]) -> tuple[list[Link], Head]:
    """Chain events, each with its data bytes, onto a head."""
    links: list[Link] = []
    sequence, previous = head.length, head.hash
    for event, data in events:
        sequence += 1
        previous = _hash(previous, body(sequence, event.at, event.type, event.subject, data))
        links.append(Link(sequence, event.at, event.type, event.subject, data, previous))
    return links, Head(sequence, previous)


def chained(link: Link, previous: bytes) -> ChainedEvent:
    """Return a stored event with the hash before it."""
    event = AuditEvent(link.at, link.type, link.subject, load(link.data))
    return ChainedEvent(link.sequence, event, text(previous), text(link.hash))


def text(digest: bytes) -> str:
    """Return a hash of the chain as text."""
    return "sha256:" + digest.hex()


class Verification:
    """Recomputes a chain link by link, in constant memory."""

    def __init__(self, known: Iterable[AuditHead] = ()) -> None:
        self.head = START
        self._known = {head.length: head for head in sorted(known, key=lambda head: head.length) if head.length}

    def follows(self, link: Link) -> bool:
        """Return True if the next link has the right hash; raise ChainBroken if its number is wrong."""
        expected = self.head.length + 1
        if link.sequence > expected:
            raise ChainBroken(expected, f"the audit trail is broken: event {expected} was removed")
        if link.sequence < expected:
            raise ChainBroken(link.sequence, f"the audit trail is broken: event {link.sequence} was put in afterwards")
        if not self.is_next(link):
            return False
        self.head = Head(expected, link.hash)
        known = self._known.pop(expected, None)
        if known is not None and known.hash != text(link.hash):
            raise ChainBroken(
                expected, f"the audit trail was rewritten: its event {expected} is not that of the head {known}"
            )
        return True

    def is_next(self, link: Link) -> bool:
        """Return True if the hash of a link follows from the head, whatever its number is."""
        try:
            content = body(self.head.length + 1, link.at, link.type, link.subject, link.data)
        except (TypeError, ValueError):  # a damaged column
            return False
        return _hash(self.head.hash, content) == link.hash

    def reordered(self, standing: int) -> ChainBroken:
        """Return the error for a next event that was found in another place."""
        bad = self.head.length + 1
        return ChainBroken(bad, f"the audit trail is broken: reordered, event {bad} now stands at {standing}")

    def edited(self) -> ChainBroken:
        """Return the error for a next event that was not found anywhere."""
        bad = self.head.length + 1
        message = (
            f"the audit trail is broken: event {bad} does not follow from the one before it; it was edited, "
            "or events were removed and the rest renumbered"
        )
        return ChainBroken(bad, message)

    def finish(self, recorded: Head, last: int) -> int:
        """Return the length, after comparing the end with the recorded head and the highest event number."""
        length = self.head.length
        if length < recorded.length:
            message = f"the audit trail is broken: events {length + 1} to {recorded.length} were removed from its end"
            raise ChainBroken(length + 1, message)
        if last > recorded.length:
            message = f"the audit trail is broken: event {recorded.length + 1} was not put there by Holdfast"
            raise ChainBroken(recorded.length + 1, message)
        if self.head != recorded:
            message = f"the audit trail is broken: it was rewritten, event {length} is not the one its head names"
            raise ChainBroken(length, message)
        if self._known:
            missing = next(iter(self._known.values()))
            message = (
                f"the audit trail was cut: it has {length} events, and a head that is known has {missing.length}; "
                f"events {length + 1} to {missing.length} were removed, or lost with a backup or a power cut"
            )
            raise ChainBroken(length + 1, message)
        return length


def head_lost() -> ChainBroken:
    """Return the error for a missing record of the trail's end."""
    return ChainBroken(0, "the audit trail is broken: the record of its end was removed")


@lru_cache(maxsize=64)  # the events of a batch mostly share one time
def _time_text(at: float) -> bytes:
    return canonical.number_text(at + 0.0)  # without the sign of a zero, which SQLite does not keep either


@lru_cache(maxsize=256)
def _type_text(type_: str) -> bytes:
    return canonical.canonical_bytes(type_)


@lru_cache(maxsize=1024)  # a write is several events about one resource
def _subject_text(subject: str) -> bytes:
    return canonical.canonical_bytes(subject)


def _hash(previous: bytes, content: bytes) -> bytes:
    return hashlib.sha256(previous + content).digest()
