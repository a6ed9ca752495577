"""One transaction of facts into the SQLite tables.

All that can be computed without the database (encoding, compression, digests of documents) is done before the write
lock is taken, so that other processes wait for the disk only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final, NamedTuple

from holdfast.compare.paths import format_path
from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.store import audit_chain, blobs, versioned_records
from holdfast.store.governance import BudgetSpent
from holdfast.store.records import REVISIONS_KEPT, AuditEvent, ClaimLost, DecisionRecord, VersionConflict
from holdfast.store.schedule import earlier
from holdfast.store.sqlite import governance_rows, rows
from holdfast.store.sqlite.address_ids import AddressIds, text_of
from holdfast.store.sqlite.statements import SQL, in_lists, sized
from holdfast.store.state import Digest, ResourceState
from holdfast.store.transaction import Transaction

_FORGET: Final = (
    "forget_detail",
    "forget_resource",
    "forget_revisions",
    "remove_findings",
    "forget_quarantines",
    "forget_acceptances",
    "forget_approvals",
)


class _Known(NamedTuple):
    """What is kept of a resource and must not be taken back by a state that was read earlier."""

    revision: int
    requested: str | None
    handled: str | None

    @property
    def done(self) -> str | None:
        """Return the token of the last request, if that was done."""
        return self.handled if self.handled == self.requested else None


class _Age(NamedTuple):
    """How long a finding has been known."""

    first_seen: float
    clean_at: float | None
    times: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction with the work done that needs no lock."""

    facts: Transaction
    documents: list[tuple[bytes | str, bytes]]
    events: list[tuple[AuditEvent, bytes]]


def prepare(connection: sqlite3.Connection, facts: Transaction) -> Prepared:
    """Encode what can be encoded, and compress the documents that are not kept yet."""
    keys = {blobs.pack_digest(digest): digest for digest in facts.documents}
    kept = _kept(connection, list(keys)) if keys else set()
    new = [(key, _checked(facts, digest)) for key, digest in keys.items() if key not in kept]
    return Prepared(facts, new, [(event, audit_chain.data_bytes(event)) for event in facts.events])


def _kept(connection: sqlite3.Connection, keys: list[bytes | str]) -> set[bytes | str]:
    return {key for chunk in in_lists(keys) for (key,) in connection.execute(sized("known_documents", chunk), chunk)}


def _checked(facts: Transaction, digest: Digest) -> bytes:
    data = facts.documents[digest]
    blobs.require_match(digest, data)
    return blobs.pack(data)


def _with_schedule(state: ResourceState, **changes: Any) -> ResourceState:  # noqa: ANN401 - fields of a schedule
    return replace(state, schedule=replace(state.schedule, **changes))


class Committer:
    """Writes one prepared transaction; runs inside the caller's BEGIN and COMMIT."""

    def __init__(self, connection: sqlite3.Connection, names: AddressIds, prepared: Prepared) -> None:
        self._connection = connection
        self._names = names
        self._facts = prepared.facts
        self._documents = prepared.documents
        self._events = prepared.events
        self._stated = [text_of(state.address) for state in prepared.facts.states]
        self._numbers: dict[str, int] = {}
        self._overtaken: set[int] = set()
        self._good_at: dict[int, float | None] = {}  # before this transaction

    def write(self) -> None:
        """Write everything; what is forgotten goes first, so a resource can be forgotten and begun anew at once."""
        self._require_fences()
        self._numbers = self._names.add_all(self._mentioned())
        self._many("add_document", self._documents)
        facts = self._facts  # most transactions are small, and there are many: what is empty should cost nothing
        if facts.forgotten:
            self._forget()
        if facts.findings:
            self._good_at = self._good_times()
        if facts.states:
            self._put_states()
        if facts.updates.unchanged:
            self._touch()
        if facts.updates.rescheduled or facts.updates.requested:
            self._reschedule()
        if facts.findings:
            self._put_findings()
        self._add_revisions()
        self._add_decisions()
        self._put_operations()
        self._put_corrections()
        self._charge()
        self._govern()
        self._file()
        self._append()
        self._renew()
        self._release()

    def _mentioned(self) -> dict[str, None]:
        """Return every name once, in the order given, so that what is declared together lies together."""
        facts = self._facts
        mentioned = dict.fromkeys(self._stated)
        history = (facts.revisions, facts.decisions, facts.writes.operations, facts.governance.corrections)
        records = (*history, facts.governance.approvals, facts.governance.quarantines, facts.governance.accepted)
        mentioned.update(dict.fromkeys([text_of(record.address) for group in records for record in group]))
        mentioned.update(dict.fromkeys(map(text_of, facts.findings)))
        mentioned.update(dict.fromkeys([event.subject for event in facts.events]))
        return mentioned

    def _number(self, address: Address) -> int:
        return self._numbers[text_of(address)]

    def _many(self, statement: str, values: Collection[rows.Row | dict[str, Any]]) -> None:
        if values:
            self._connection.executemany(SQL[statement], values)

    def _require_fences(self) -> None:
        for address, fence in self._facts.writes.fences.items():
            number = self._names.find(text_of(address))
            row = self._connection.execute(SQL["claim_of"], (number,)).fetchone()
            if fence != (row[0] if row else 0):
                raise ClaimLost(f"another worker has claimed {address} since; nothing was recorded")

    def _forget(self) -> None:
        numbers = [(number,) for number in self._names.find_all(map(text_of, self._facts.forgotten)).values()]
        for statement in _FORGET:
            self._many(statement, numbers)

    def _put_states(self) -> None:
        # In the order of the table, so that neighbours share a page while it is at hand; of two states of one resource
        # the later one wins.
        states = {self._numbers[text]: state for text, state in zip(self._stated, self._facts.states, strict=True)}
        known = self._known(states)
        self._overtaken = self._find_overtaken(states, known)
        numbers = sorted(states.keys() - self._overtaken)
        states |= self._with_requests({number: states[number] for number in numbers}, known)
        kept = self._marks(numbers)
        marks = {number: rows.mark_of_detail(states[number]) for number in numbers}
        self._many("put_resource", [rows.resource_row(number, states[number], marks[number]) for number in numbers])
        new = [number for number in numbers if marks[number] is None or marks[number] != kept.get(number)]
        self._many("put_detail", [rows.detail_row(number, states[number]) for number in new])

    def _known(self, states: dict[int, ResourceState]) -> dict[int, _Known]:
        """Return how far the writes to known resources have come, and which check was asked for last."""
        return {
            number: _Known(*known)
            for chunk in in_lists(sorted(states))
            for number, *known in self._connection.execute(sized("applied_revisions", chunk), chunk)
        }

    def _find_overtaken(self, states: dict[int, ResourceState], known: dict[int, _Known]) -> set[int]:
        """Return the resources that somebody wrote to after they were read for the check that is being recorded."""
        seen = self._facts.checked
        return {
            number
            for number, kept in known.items()
            if kept.revision != states[number].applied.revision and states[number].address in seen
        }

    def _with_requests(self, states: dict[int, ResourceState], known: dict[int, _Known]) -> dict[int, ResourceState]:
        """Return the states whose request is another one by now, or open; these stay due as they were.

        A request that was done meanwhile stays done: the state was read before it was.
        """
        asked = {number: kept for number, kept in known.items() if number in states}
        out = {
            number: _with_schedule(
                states[number], requested=kept.requested, handled=kept.done or states[number].schedule.handled
            )
            for number, kept in asked.items()
            if kept.requested != states[number].schedule.requested
            or kept.done not in (None, states[number].schedule.handled)
        }
        waiting = [
            number
            for number, kept in asked.items()
            if kept.requested is not None and kept.done is None and kept.requested != states[number].schedule.handled
        ]
        for chunk in in_lists(waiting):
            for number, due_at in self._connection.execute(sized("due_times", chunk), chunk):
                state = out.get(number, states[number])
                out[number] = _with_schedule(state, due_at=earlier(state.schedule.due_at, due_at))
        return out

    def _marks(self, numbers: list[int]) -> dict[int, int | None]:
        return dict(
            row for chunk in in_lists(numbers) for row in self._connection.execute(sized("marks", chunk), chunk)
        )

    def _touch(self) -> None:
        touches = [(text_of(touch.address), touch) for touch in self._facts.updates.unchanged]
        numbers = self._names.find_all([text for text, _ in touches])
        found = [(numbers[text], touch) for text, touch in touches if text in numbers]
        found.sort(key=itemgetter(0))
        (is_any_requested,) = self._connection.execute(SQL["any_request"]).fetchone()
        statement = "touch_unless_requested" if is_any_requested else "touch"
        self._many(statement, [rows.touch_row(number, touch) for number, touch in found])
        self._many("retag", [rows.tags(number, touch) for number, touch in found if rows.has_tags(touch)])

    def _reschedule(self) -> None:
        moved = [(due_at, text_of(address)) for address, due_at in self._facts.updates.rescheduled]
        asked = [(one.token, one.due_at, text_of(one.address)) for one in self._facts.updates.requested]
        numbers = self._names.find_all([*(text for _, text in moved), *(text for _, _, text in asked)])
        self._many("reschedule", [(due_at, numbers[text]) for due_at, text in moved if text in numbers])
        self._many("request", [(token, numbers[text]) for token, _, text in asked if text in numbers])
        self._many("reschedule", [(due_at, numbers[text]) for _, due_at, text in asked if text in numbers])

    def _good_times(self) -> dict[int, float | None]:
        """Return when the resources with findings, which are few, were last checked well."""
        numbers = [self._number(address) for address, findings in self._facts.findings.items() if findings]
        return dict(
            row for chunk in in_lists(numbers) for row in self._connection.execute(sized("good_times", chunk), chunk)
        )

    def _put_findings(self) -> None:
        at, looked_at = self._facts.findings_at, self._facts.checked
        numbers = {address: self._number(address) for address in self._facts.findings}
        current = {address: number for address, number in numbers.items() if number not in self._overtaken}
        kept = self._ages(list(current.values()))
        self._many("remove_findings", [(number,) for number in kept])
        new: list[rows.Row] = []
        for address, number in current.items():
            ages, onset = kept.get(number, {}), _Age(at, self._good_at.get(number), 1)
            more = 1 if address in looked_at else 0
            for ordinal, finding in enumerate(self._facts.findings[address]):
                path, op = format_path(finding.path), finding.op.value
                age = ages.get((path, op))
                first_seen, clean_at, times = onset if age is None else age._replace(times=age.times + more)
                body = rows.finding_body(finding)
                new.append((number, ordinal, path, op, first_seen, at, clean_at, times, body))
        self._many("add_finding", new)

    def _ages(self, numbers: list[int]) -> dict[int, dict[tuple[str, str], _Age]]:
        """Return how old the findings of resources are; most resources have none and are not in the answer."""
        out: dict[int, dict[tuple[str, str], _Age]] = {}
        for chunk in in_lists(numbers):
            for number, path, op, *age in self._connection.execute(sized("ages", chunk), chunk):
                out.setdefault(number, {})[path, op] = _Age(*age)
        return out

    def _add_revisions(self) -> None:
        for revision in self._facts.revisions:
            row = rows.revision_row(self._number(revision.address), revision)
            kept = self._connection.execute(SQL["revision"], row[:2]).fetchone()
            if kept is None:
                self._connection.execute(SQL["add_revision"], row)
                if revision.number > REVISIONS_KEPT:
                    oldest = revision.number - REVISIONS_KEPT
                    self._connection.execute(SQL["prune_revisions"], (row[0], oldest))
            elif kept != row[2:4]:
                raise StoreError(
                    f"revision {revision.number} of {revision.address} is kept already and was another one"
                )

    def _add_decisions(self) -> None:
        for decision in self._facts.decisions:
            row = rows.decision_row(self._number(decision.address), decision)
            kept = self._connection.execute(SQL["decision"], (decision.id,)).fetchone()
            if kept is None:
                if not self._repeats(row[1], decision):
                    self._connection.execute(SQL["add_decision"], row)
            elif rows.decision_of(kept) != decision:
                raise StoreError(f"decision {decision.id} is kept already and was another one")

    def _repeats(self, number: int, decision: DecisionRecord) -> bool:
        if decision.is_news:
            return False
        last = self._connection.execute(SQL["decisions_of"], (number, 1)).fetchone()
        return last is not None and decision.repeats(rows.decision_of(last))

    def _put_operations(self) -> None:
        operations = self._facts.writes.operations
        self._many("put_operation", [rows.operation_row(self._number(one.address), one) for one in operations])
        self._many("remove_operation", [(identity,) for identity in self._facts.writes.finished])

    def _put_corrections(self) -> None:
        corrections = self._facts.governance.corrections
        self._many(
            "put_correction", [governance_rows.correction_row(self._number(one.address), one) for one in corrections]
        )

    def _charge(self) -> None:
        """Take from the buckets; the write lock is held, so nobody takes from them between counting and taking."""
        for identity, charges in self._facts.governance.charges.items():
            correction = self._connection.execute(SQL["chargeable"], (identity,)).fetchone()
            if correction is None:
                raise ValueError(f"correction {identity} cannot be charged: it is not kept, nor in the transaction")
            for charge in charges:
                self._take(charge, *correction)

    def _take(self, charge: BudgetCharge, correction: int, at: float) -> None:
        if self._connection.execute(SQL["is_charged"], (correction, charge.bucket)).fetchone():
            return
        (count,) = self._connection.execute(SQL["spent"], (charge.bucket, charge.since)).fetchone()
        if count >= charge.limit:
            raise BudgetSpent(charge.bucket)
        self._connection.execute(SQL["add_charge"], (correction, charge.bucket, at))

    def _govern(self) -> None:
        """Write what people decided; what ends goes first, so it can begin anew at once."""
        facts, number = self._facts, self._number
        ending = facts.governance.resumed or facts.governance.unquarantined or facts.governance.unaccepted
        if not (
            ending
            or facts.governance.pauses
            or facts.governance.approvals
            or facts.governance.quarantines
            or facts.governance.accepted
        ):
            return
        self._many("remove_pause", [(scope,) for scope in facts.governance.resumed])
        self._many("remove_quarantine", self._found(facts.governance.unquarantined))
        self._many("remove_acceptance", self._found(facts.governance.unaccepted))
        self._many("put_pause", [governance_rows.pause_row(one) for one in facts.governance.pauses])
        self._many(
            "put_approval",
            [governance_rows.approval_row(number(one.address), one) for one in facts.governance.approvals],
        )
        self._many(
            "put_quarantine",
            [governance_rows.quarantine_row(number(one.address), one) for one in facts.governance.quarantines],
        )
        self._many(
            "put_acceptance",
            [governance_rows.acceptance_row(number(one.address), one) for one in facts.governance.accepted],
        )

    def _file(self) -> None:
        """Write the next versions of matters; the write lock is held, so nobody writes one in between."""
        self._many("remove_record", self._facts.records.deleted)
        for record in self._facts.records.put:
            place = record.collection, record.key
            row = self._connection.execute(SQL["version_of_record"], place).fetchone()
            if record.version != (row[0] if row else 0) + 1:
                raise VersionConflict(*place)
            self._connection.execute(SQL["put_record"], versioned_records.row(record))

    def _renew(self) -> None:
        for claim in self._facts.writes.renewed:
            key = (self._names.find(text_of(claim.address)), claim.fence, claim.owner)
            if self._connection.execute(SQL["renew_claim"], (claim.until, *key)).rowcount == 0:
                raise ClaimLost(f"another worker has claimed {claim.address} since; nothing was recorded")

    def _release(self) -> None:
        for claim in self._facts.writes.released:
            key = (self._names.find(text_of(claim.address)), claim.fence, claim.owner)
            self._connection.execute(SQL["release_claim"], key)

    def _found(self, paths: Sequence[tuple[Address, str]]) -> list[rows.Row]:
        texts = [(text_of(address), path) for address, path in paths]
        numbers = self._names.find_all([text for text, _ in texts])
        return [(numbers[text], path) for text, path in texts if text in numbers]

    def _append(self) -> None:
        if not self._events:
            return
        row = self._connection.execute(SQL["head"]).fetchone()
        if row is None:
            raise audit_chain.head_lost()
        links, head = audit_chain.extend(audit_chain.Head(row[0], row[1]), self._events)
        numbers = self._numbers
        self._many(
            "add_event",
            [(link.sequence, link.at, link.type, numbers[link.subject], link.data, link.hash) for link in links],
        )
        self._connection.execute(SQL["set_head"], (head.length, head.hash))
