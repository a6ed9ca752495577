"""What a store is: facts in, facts out, all or nothing.

Everything that changes goes through `commit`, one transaction for a whole batch, so that a crash between two facts that
belong together cannot happen. Documents are kept once by content. Times are seconds since the epoch, given by the
caller; a store has no clock.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, NewType, Protocol

from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.audit import AuditHead
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.condition import Condition
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.resource import Origin
from holdfast.model.verdict import Status

CLOCK_SLACK_SECONDS: Final = 60.0  # a check that seems later than now by more was made by a clock that was set back
REVISIONS_KEPT: Final = 100  # of each resource; those before are forgotten, the newest one never
Digest = NewType("Digest", str)  # "sha256:<hex>" of a document's ordered canonical bytes


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration of a resource as last resolved."""

    provider: str
    generation: int = 1  # grows when the declaration changes
    document: Digest | None = None  # the declaration as last seen, secrets as fingerprints
    labels: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)  # effective settings as last resolved
    depends_on: tuple[str, ...] = ()  # addresses this one refers to
    source: str | None = None  # file:line of the declaration


@dataclass(frozen=True, slots=True)
class Applied:
    """Our last write to a resource and its result."""

    document: Digest | None = None  # the declaration that was written last, the newest revision
    revision: int = 0
    baseline: Digest | None = None  # the first settled observation after that
    known_differences: Digest | None = None  # for people; the baseline is compared with live state
    rules: Digest | None = None  # the rule set the baseline was captured under
    identity: str | None = None  # of the object the baseline was taken from; a successor under the same id has another
    api_version: str | None = None  # the API version the baseline was taken in
    settle_until: float | None = None  # late defaults may still join the baseline until then
    origin: Origin = Origin.CREATED


@dataclass(frozen=True, slots=True)
class Observed:
    """The last reading of a resource and the verdict on it."""

    document: Digest | None = None  # of the last successful reading
    provider_id: str | None = None
    etag: str | None = None
    raw_digest: str | None = None
    state_hash: str | None = None  # stamped hash of the compared fields, the short cut where there is no etag
    status: Status | None = None  # None: never checked
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    suppressed: tuple[tuple[str, str, str], ...] = ()  # reason, path and note of differences that do not count
    missing_checks: int = 1  # how many checks in a row found the resource missing; always 1 for other states


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a resource was checked and when it is checked next."""

    checked_at: float | None = None  # last attempt
    good_at: float | None = None  # last successful check
    resync_seconds: float = 0.0  # 0: no periodic check
    due_at: float | None = None  # persisted, jitter included; None: not scheduled
    failures: int = 0  # consecutive retryable failures
    terminal: str | None = None  # why nothing more is tried until the user edits
    requested: str | None = None  # token of the last requested check
    handled: str | None = None  # token of the last requested check that was done


@dataclass(frozen=True, slots=True)
class ResourceState:
    """Everything kept of one resource except its documents, findings and history."""

    address: Address
    declared: Declared
    applied: Applied = field(default_factory=Applied)
    observed: Observed = field(default_factory=Observed)
    schedule: Schedule = field(default_factory=Schedule)


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """A finding with its age; values are as shown, secrets as fingerprints.

    The onset lies between `clean_at`, the last successful check that did not have it, and `first_seen`.
    """

    finding: Finding
    first_seen: float
    last_seen: float
    clean_at: float | None = None  # None: it was there at the first look
    times: int = 1  # consecutive checks that saw it


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of the declaration that was applied; never changed afterwards."""

    address: Address
    number: int
    document: Digest
    stamp: str  # stamped hash
    at: float


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision with everything it was made from; replaying the inputs must give the same output bytes.

    One that is no news is kept only if it differs from the last one on its resource: what is decided again at every
    check is kept once.
    """

    id: str
    address: Address
    at: float
    action: str
    inputs: Digest
    output: Digest
    summary: str
    is_news: bool = field(default=True, compare=False)  # of the moment, and not kept

    def repeats(self, last: DecisionRecord) -> bool:
        """Tell whether this says nothing that the last decision on the resource did not say."""
        mine, theirs = (self.action, self.inputs, self.output), (last.action, last.inputs, last.output)
        return not self.is_news and mine == theirs and self.summary == last.summary


class Step(StrEnum):
    """Where a write stands; each is recorded before the next begins."""

    INTENDED = "intended"  # about to ask the provider
    SENT = "sent"  # the provider accepted; following the operation
    UNSURE = "unsure"  # a create whose answer was lost: nobody knows whether it was made, and a person decides
    SETTLING = "settling"  # the operation ended; waiting for a settled read
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Operation:
    """A write in flight, with all that another process needs to finish it."""

    id: str  # also the idempotency key given to the provider
    address: Address
    action: str
    step: Step
    started_at: float
    desired: Digest | None
    pre_image: Digest | None  # what was there before
    drift: tuple[Finding, ...] = ()  # what the read before the write had found
    token: Mapping[str, Json] = field(default_factory=dict)
    poll_at: float | None = None
    attempts: int = 0
    decision: str | None = None
    phase: str = ""  # for actions of two writes: which one


class CorrectionOutcome(StrEnum):
    """How a correction ended."""

    BEGUN = "begun"  # charged, perhaps sent
    DONE = "done"  # written, and verified by a settled read
    INEFFECTIVE = "ineffective"  # written, and some of it did not take
    FAILED = "failed"  # refused, or given up
    UNDONE = "undone"  # taken back later, by a correction that names it


@dataclass(frozen=True, slots=True)
class CorrectedPath:
    """What a correction meant to change at one path; values are as shown, secrets as fingerprints."""

    path: str
    before: Json = ABSENT
    after: Json = ABSENT
    took: bool = True
    asked: bool = False  # a person had edited what is declared there


@dataclass(frozen=True, slots=True)
class Correction:
    """One write of ours, with what it takes to judge it later and to take it back."""

    id: str  # the id of its operation
    address: Address
    at: float
    action: str
    reason: str  # the code of the decision's first reason: drift, intent, missing, conflict, ...
    outcome: CorrectionOutcome = CorrectionOutcome.BEGUN
    paths: tuple[CorrectedPath, ...] = ()
    pre_image: Digest | None = None  # what was there before; None: nothing was
    post_image: Digest | None = None  # what was there after it settled
    undoes: str | None = None  # the correction that this one takes back
    who: str = ""  # the worker, or the person who asked


class BudgetSpent(Exception):  # noqa: N818 - an outcome, not a mistake
    """A bucket that a transaction charges is empty; nothing of the transaction was kept."""

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        super().__init__(bucket)


@dataclass(frozen=True, slots=True)
class Pause:
    """Somebody said stop, for a scope: "" for all, a connection, connection/Kind, or an address."""

    scope: str
    who: str
    why: str
    at: float
    until: float | None = None  # None: until resumed


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's yes to exactly one plan, named by its digest; it is used once."""

    plan: str
    address: Address
    who: str
    why: str
    at: float
    used_at: float | None = None


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A path that is only reported until a person decides: we fought over it, or a write to it was undone."""

    address: Address
    path: str
    cause: str  # contention | undone
    since: float
    data: Mapping[str, Json] = field(default_factory=dict)  # period, values, other writer, correction


@dataclass(frozen=True, slots=True)
class AcceptedValue:
    """A live value that a person took as the new baseline without changing the source; it stays watched."""

    address: Address
    path: str
    value: Json  # as shown
    who: str
    why: str
    at: float


@dataclass(frozen=True, slots=True)
class VersionedRecord:
    """All that is known of one matter that goes on for a while: a template, a child of one, a rollout, an assessment.

    It is read, thought about and written back as its next version: whoever did not see the last one is refused, so two
    workers cannot both take the same step.
    """

    collection: str  # the sort of matter
    key: str  # which one
    data: Mapping[str, Json]
    version: int = 1  # of a new one; each commit must bring the one after the one kept
    owner: str = ""  # what it belongs to
    due_at: float | None = None  # when something is to be done about it; None: nothing is


class VersionConflict(Exception):  # noqa: N818 - an outcome, not a mistake
    """Somebody else took the matter further meanwhile; nothing of the transaction was kept. Read it anew."""

    def __init__(self, collection: str, key: str) -> None:
        self.collection = collection
        self.key = key
        super().__init__(f"{collection} {key} was taken further by somebody else meanwhile; nothing was recorded")


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the audit trail, before it is chained."""

    at: float
    type: str
    subject: str  # an address, or "" for the engine itself
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChainedEvent:
    """An event as stored: `hash` covers the event and the hash before it."""

    sequence: int
    event: Event
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class UnchangedCheck:
    """A check that found nothing new: only its times move."""

    address: Address
    checked_at: float
    due_at: float | None
    etag: str | None = None
    raw_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A check that somebody asked for, due at a time; `token` is in `handled` once it was done."""

    address: Address
    token: str
    due_at: float


class Settled(NamedTuple):
    """A resource at rest that a list read shows unmoved."""

    address: Address
    resync_seconds: float


@dataclass(slots=True)
class PartialUpdates:
    """Changes to a few columns of known resources; resources that the store does not know are skipped."""

    unchanged: list[UnchangedCheck] = field(default_factory=list)
    rescheduled: list[tuple[Address, float | None]] = field(default_factory=list)  # due times, and nothing else
    requested: list[Request] = field(default_factory=list)  # the only way to ask for a check of a known resource


@dataclass(slots=True)
class WriteChanges:
    """Writes in flight, and the claims that protect them."""

    operations: list[Operation] = field(default_factory=list)  # inserted or replaced
    finished: list[str] = field(default_factory=list)  # ids of operations to remove
    fences: dict[Address, int] = field(default_factory=dict)  # the claims this transaction relies on
    renewed: list[Claim] = field(default_factory=list)  # prolonged to their `until`, if the fences hold
    released: list[Claim] = field(default_factory=list)  # released when the transaction commits


@dataclass(slots=True)
class GovernanceChanges:
    """Corrections, their charges, and the decisions of people that limit them."""

    corrections: list[Correction] = field(default_factory=list)  # inserted or replaced, by id
    charges: dict[str, list[BudgetCharge]] = field(
        default_factory=dict
    )  # correction id -> buckets to charge, once each
    pauses: list[Pause] = field(default_factory=list)  # inserted or replaced, by scope
    resumed: list[str] = field(default_factory=list)  # scopes
    approvals: list[Approval] = field(default_factory=list)  # inserted or replaced, by plan
    quarantines: list[Quarantine] = field(default_factory=list)  # inserted or replaced, by address and path
    unquarantined: list[tuple[Address, str]] = field(default_factory=list)
    accepted: list[AcceptedValue] = field(default_factory=list)  # inserted or replaced, by address and path
    unaccepted: list[tuple[Address, str]] = field(default_factory=list)


@dataclass(slots=True)
class RecordChanges:
    """Changes to versioned records."""

    put: list[VersionedRecord] = field(default_factory=list)  # each the version after the one kept
    deleted: list[tuple[str, str]] = field(default_factory=list)  # collections and keys


@dataclass(slots=True)
class Transaction:
    """A batch of facts that become true together."""

    documents: dict[Digest, bytes] = field(default_factory=dict)  # ordered canonical bytes by their digest
    states: list[ResourceState] = field(default_factory=list)
    forgotten: list[Address] = field(default_factory=list)
    findings: dict[Address, tuple[Finding, ...]] = field(default_factory=dict)  # replaces all of an address
    findings_at: float = 0.0
    checked: set[Address] = field(default_factory=set)  # states and findings of these come from a check, not a write:
    # they are dropped if a newer revision was applied since the check began, because they describe live state before it
    revisions: list[Revision] = field(default_factory=list)
    decisions: list[DecisionRecord] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    updates: PartialUpdates = field(default_factory=PartialUpdates)
    writes: WriteChanges = field(default_factory=WriteChanges)
    governance: GovernanceChanges = field(default_factory=GovernanceChanges)
    records: RecordChanges = field(default_factory=RecordChanges)


class ClaimLost(Exception):  # noqa: N818 - an outcome, not a mistake
    """Another worker holds the resource now; nothing of the transaction was kept."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write one resource, until it runs out or is given back; `fence` grows with every claim."""

    address: Address
    owner: str
    fence: int
    until: float
    revision: int = field(default=0, compare=False)  # that was applied last when it was claimed; 0: none


UNCHECKED: Final = "unchecked"  # what a tally calls resources that have no status yet


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """How many resources have which status; what `status` begins with."""

    by_status: Mapping[str, int]
    total: int
    overdue: int


class Store(Protocol):
    """One memory. All methods are safe to call from several tasks; several processes may share one store.

    Whoever is answered can rely on it: what was committed, claimed or released is so for good, also after a kill. Calls
    that are under way at the same time may be carried out together, yet each succeeds or fails by itself, what changes
    does so in the order in which it was asked for, and what is read after that was asked for is read so. Whoever is
    cancelled while he waits does not know whether it was done.
    """

    async def commit(self, transaction: Transaction) -> None:
        """Make a batch of facts true, all or nothing.

        Raise ClaimLost if a fence it relies on has moved, BudgetSpent if a bucket is empty, VersionConflict
        if a versioned record is not the next version. A correction is charged to a bucket once, however often that
        is asked, at the time of the correction.

        A state never changes `requested` of a resource that is known. While a request is open (`requested` is not what
        the state handled), neither a state nor a touch moves the due time to a later one: the request may have been
        made while the check that is being recorded was under way.
        """

    async def document(self, digest: Digest) -> Json:
        """Return a kept document; raise KeyError if there is none."""

    async def documents(self, digests: Sequence[Digest]) -> dict[Digest, Json]:
        """Return many kept documents at once."""

    async def state(self, address: Address) -> ResourceState | None:
        """Return what is remembered of a resource."""

    async def states(self, addresses: Sequence[Address]) -> dict[Address, ResourceState]:
        """Return what is remembered of many resources, in as few queries as possible."""

    def all_states(self, *, connection: str | None = None, kind: str | None = None) -> AsyncIterator[ResourceState]:
        """Go through every resource in address order, in batches, without holding them all."""

    async def settled(self, connection: str, kind: str, listed: Sequence[tuple[str, str]]) -> list[Settled]:
        """Return which of the listed things (provider id, raw digest) are at rest and unmoved.

        At rest: in sync, on the schedule, what is desired is what was applied, and no look was asked for that was not
        done. Unmoved: the raw digest is the one kept.
        """

    def unlooked(self, connection: str, kind: str, since: float, until: float = math.inf) -> AsyncIterator[Address]:
        """Go through the scheduled resources of a kind that were not checked between two times."""

    async def due(self, now: float, limit: int, without: Collection[str] = ()) -> list[ResourceState]:
        """Return unclaimed resources whose due time has come, the longest overdue first.

        Those of the connections in `without` are left out.
        """

    async def ahead(self, now: float, limit: int) -> list[Address]:
        """Return scheduled resources that seem to have been checked later than now: the clock was set back."""

    async def next_due(self, without: Collection[str] = ()) -> float | None:
        """Return the earliest due time there is, but for those of the connections in `without`."""

    async def claim(self, address: Address, owner: str, now: float, until: float) -> Claim | None:
        """Take the right to write a resource, or return None if somebody else has it.

        The claim says which revision of the resource was applied last, as of the very moment it was taken.
        """

    async def renew(self, claim: Claim, until: float) -> Claim | None:
        """Prolong a claim that is still ours."""

    async def release(self, claim: Claim) -> None:
        """Give a claim back; a lost one, or one that was given back before, is let go silently."""

    async def claims(self) -> list[Claim]:
        """Return the claims that were not given back, run out or not, in order of their addresses."""

    async def findings(self, address: Address | None = None) -> dict[Address, list[FindingRecord]]:
        """Return open findings, of one resource or of all that have any."""

    async def findings_of(self, addresses: Sequence[Address]) -> dict[Address, list[FindingRecord]]:
        """Return the open findings of many resources, in as few queries as possible."""

    async def corrections(
        self, addresses: Sequence[Address] | None = None, *, since: float | None = None, limit: int | None = None
    ) -> list[Correction]:
        """Return corrections, newest first, of some resources or of all."""

    async def reverts(self, since: float) -> list[Correction]:
        """Return the corrections of drift, conflict or absence that were begun since a time and not refused."""

    async def correction(self, correction_id: str) -> Correction | None:
        """Return one correction."""

    async def spent(self, buckets: Sequence[tuple[str, float]]) -> list[int]:
        """Return how often each bucket was charged since a time, in the order asked."""

    async def pauses(self) -> list[Pause]:
        """Return the pauses there are, in order of their scopes, run out or not."""

    async def approvals(self, addresses: Sequence[Address] | None = None) -> list[Approval]:
        """Return the approvals that were not used yet."""

    async def quarantines(self, addresses: Sequence[Address] | None = None) -> list[Quarantine]:
        """Return the quarantines in force, in order of address and path."""

    async def acceptances(self, addresses: Sequence[Address] | None = None) -> list[AcceptedValue]:
        """Return the acceptances in force, in order of address and path."""

    async def record(self, collection: str, key: str) -> VersionedRecord | None:
        """Return one matter."""

    def records(self, collection: str, *, owner: str | None = None) -> AsyncIterator[VersionedRecord]:
        """Go through the matters of a collection in order of their keys, all or those of one owner."""

    async def due_records(self, collection: str, now: float, limit: int) -> list[VersionedRecord]:
        """Return the matters that something is to be done about by now, the longest overdue first."""

    async def next_due_record(self, collection: str) -> float | None:
        """Return when something is to be done next about any matter of a collection."""

    async def revisions(self, address: Address) -> list[Revision]:
        """Return the revisions of a resource, newest first."""

    async def decisions(self, address: Address | None, limit: int) -> list[DecisionRecord]:
        """Return decisions, newest first."""

    async def decision(self, decision_id: str) -> DecisionRecord | None:
        """Return one decision."""

    async def operations(self, address: Address | None = None) -> list[Operation]:
        """Return writes in flight, oldest first."""

    def events(
        self, *, subject: str | None = None, type_prefix: str | None = None, since: float | None = None
    ) -> AsyncIterator[ChainedEvent]:
        """Go through the audit trail in order."""

    async def head(self) -> AuditHead:
        """Return where the audit trail ends."""

    async def has_head(self, head: AuditHead) -> bool:
        """Tell whether the audit trail has an event of this number and hash."""

    async def verify_chain(self, known: Sequence[AuditHead] = ()) -> int:
        """Recompute the whole audit chain; return its length or raise ChainBroken naming the first bad event.

        Of every head that is `known` from elsewhere the trail must have the event.
        """

    async def tally(self, now: float) -> StatusCounts:
        """Count resources by status without reading them."""

    async def sizes(self) -> dict[tuple[str, str], int]:
        """Count resources by connection and kind."""

    async def with_status(self, status: Status) -> list[Address]:
        """Return the resources whose last verdict was this, in address order."""

    async def close(self) -> None:
        """Finish what is under way and let go of everything."""
