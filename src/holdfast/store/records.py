"""History and coordination records: findings, revisions, decisions, operations, claims, versioned records, events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from holdfast.model.address import Address
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.store.state import Digest

REVISIONS_KEPT: Final = 100  # of each resource; older ones are deleted


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """An open finding with its age; values are as shown, secrets as fingerprints.

    The onset lies between `clean_at`, the last successful check without the finding, and `first_seen`.
    """

    finding: Finding
    first_seen: float
    last_seen: float
    clean_at: float | None = None  # None: the first check already had it
    times: int = 1  # consecutive checks that saw it


@dataclass(frozen=True, slots=True)
class AppliedRevision:
    """One declaration that was applied; never changed afterwards."""

    address: Address
    number: int
    document: Digest
    stamp: str  # stamped hash
    at: float


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision with its inputs; replaying the inputs must give the same output bytes.

    A decision that is no news is stored only if it differs from the last one on its resource.
    """

    id: str
    address: Address
    at: float
    action: str
    inputs: Digest
    output: Digest
    summary: str
    is_news: bool = field(default=True, compare=False)  # not stored

    def repeats(self, last: DecisionRecord) -> bool:
        """Return True if this decision adds nothing to the last one on the resource."""
        mine, theirs = (self.action, self.inputs, self.output), (last.action, last.inputs, last.output)
        return not self.is_news and mine == theirs and self.summary == last.summary


class OperationStep(StrEnum):
    """The progress of a write; each step is recorded before the next begins."""

    INTENDED = "intended"  # about to call the provider
    SENT = "sent"  # the provider accepted; the operation is being polled
    UNSURE = "unsure"  # a create whose answer was lost: a person must find out whether the resource exists
    SETTLING = "settling"  # the operation ended; waiting for a settled read
    DONE = "done"


@dataclass(frozen=True, slots=True)
class WriteOperation:
    """A write in flight, with everything that another process needs to finish it."""

    id: str  # also the idempotency key given to the provider
    address: Address
    action: str
    step: OperationStep
    started_at: float
    desired: Digest | None
    pre_image: Digest | None  # live state before the write
    drift: tuple[Finding, ...] = ()  # findings of the read before the write
    token: Mapping[str, Json] = field(default_factory=dict)
    poll_at: float | None = None
    attempts: int = 0
    decision: str | None = None
    phase: str = ""  # which write, for actions of two writes


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write one resource until it expires or is released; `fence` grows with every claim."""

    address: Address
    owner: str
    fence: int
    until: float
    revision: int = field(default=0, compare=False)  # the revision applied last when the claim was taken; 0: none


class ClaimLost(Exception):  # noqa: N818 - an outcome, not a mistake
    """Another worker holds the resource; nothing of the transaction was kept."""


@dataclass(frozen=True, slots=True)
class VersionedRecord:
    """A record that is updated by compare-and-swap: a template group, a child, a rollout, an assessment.

    A writer reads the record and commits its next version. The commit fails if another writer was first.
    """

    collection: str
    key: str
    data: Mapping[str, Json]
    version: int = 1  # a commit must bring the version after the stored one
    owner: str = ""  # the record this one belongs to
    due_at: float | None = None  # when the record needs work; None: never


class VersionConflict(Exception):  # noqa: N818 - an outcome, not a mistake
    """Another writer committed this version of a record; nothing of the transaction was kept. Read the record again."""

    def __init__(self, collection: str, key: str) -> None:
        self.collection = collection
        self.key = key
        super().__init__(f"cannot store {collection} {key}: another writer changed it; read it again and retry")


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One line of the audit trail, before it is chained."""

    at: float
    type: str
    subject: str  # an address, or "" for the engine itself
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChainedEvent:
    """An event as stored: `hash` covers the event and the hash before it."""

    sequence: int
    event: AuditEvent
    previous: str
    hash: str
