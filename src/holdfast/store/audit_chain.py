"""The hash chain of the audit trail: each event's hash covers the event and the hash before it.

Pure. Proves that a trail was not edited, thinned out, reordered or cut short after the fact, against somebody who does
not redo the chain with its head; against that, only a copy of the head kept elsewhere helps (see `heads`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.compare import canonical
from holdfast.errors import ChainBroken
from holdfast.model.audit import AuditHead
from holdfast.store.blobs import load
from holdfast.store.records import AuditEvent, ChainedEvent


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ends."""

    length: int
    hash: bytes


class Link(NamedTuple):
    """An event as it is kept; `data` are the canonical bytes that were hashed."""

    sequence: int
    at: float
    type: str
    subject: str
    data: bytes
    hash: bytes


START: Final = Head(0, bytes(32))


def data_bytes(event: AuditEvent) -> bytes:
    """Return the bytes of an event's data that are hashed and kept."""
    return canonical.canonical_bytes(dict(event.data), lists="ordered")


def body(sequence: int, at: float, type_: str, subject: str, data: bytes) -> bytes:
    """Return what is hashed of an event: the canonical bytes of {at, data, sequence, subject, type}.

    Written by hand because the data need not be read for it; a property test holds it to `canonical_bytes`.
    """
    return b'{"at":%s,"data":%s,"sequence":%d,"subject":%s,"type":%s}' % (
        _time_text(float(at)),
        data,
        sequence,
        canonical.canonical_bytes(subject),
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
    """Return a kept event as the store shows it."""
    event = AuditEvent(link.at, link.type, link.subject, load(link.data))
    return ChainedEvent(link.sequence, event, text(previous), text(link.hash))


def text(digest: bytes) -> str:
    """Write a hash of the chain."""
    return "sha256:" + digest.hex()


class Verification:
    """Recomputes a chain link by link, in constant memory."""

    def __init__(self, known: Iterable[AuditHead] = ()) -> None:
        self.head = START
        self._known = {each.length: each for each in sorted(known, key=lambda each: each.length) if each.length}

    def follows(self, link: Link) -> bool:
        """Take the next link; raise ChainBroken if its number is wrong, return False if its hash is."""
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
        """Tell whether a link, wherever it stands now, was made to follow the head."""
        try:
            content = body(self.head.length + 1, link.at, link.type, link.subject, link.data)
        except (TypeError, ValueError):  # a column that no longer holds what we put there
            return False
        return _hash(self.head.hash, content) == link.hash

    def reordered(self, standing: int) -> ChainBroken:
        """Say that the next event was found in another place."""
        bad = self.head.length + 1
        return ChainBroken(bad, f"the audit trail is broken: reordered, event {bad} now stands at {standing}")

    def edited(self) -> ChainBroken:
        """Say that the next event does not follow and is nowhere else."""
        bad = self.head.length + 1
        message = (
            f"the audit trail is broken: event {bad} does not follow from the one before it; it was edited, "
            "or events were removed and the rest renumbered"
        )
        return ChainBroken(bad, message)

    def finish(self, recorded: Head, last: int) -> int:
        """Compare the end reached with the recorded head and the highest number there is; return the length."""
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
    """Say that the record of the trail's end is gone."""
    return ChainBroken(0, "the audit trail is broken: the record of its end was removed")


@lru_cache(maxsize=64)  # the events of a batch mostly share one time
def _time_text(at: float) -> bytes:
    return canonical.number_text(at + 0.0)  # without the sign of a zero, which SQLite does not keep either


@lru_cache(maxsize=256)
def _type_text(type_: str) -> bytes:
    return canonical.canonical_bytes(type_)


def _hash(previous: bytes, content: bytes) -> bytes:
    return hashlib.sha256(previous + content).digest()
