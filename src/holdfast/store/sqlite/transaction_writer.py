"""Write one transaction of facts to the SQLite tables.

Everything that can be computed without the database (encoding, compression, digests of documents) is computed before
the write lock is taken, so that other processes wait only for the disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from holdfast.compare.paths import format_path
from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.record import dataclass
from holdfast.store import audit_chain, blobs, governance_rows, rows
from holdfast.store.address_text import text_of
from holdfast.store.governance import BudgetSpent
from holdfast.store.records import REVISIONS_KEPT, AuditEvent, Claim, ClaimLost, DecisionRecord, VersionConflict
from holdfast.store.sqlite.address_ids import AddressIds
from holdfast.store.sqlite.statements import SQL, in_lists, sized
from holdfast.store.state import Digest, ResourceState
from holdfast.store.transaction import Transaction

Update = TypeVar("Update")

_FORGET: Final = (
    "forget_detail",
    "forget_resource",
    "forget_revisions",
    "remove_findings",
    "forget_quarantines",
    "forget_accepted_values",
    "forget_approvals",
)


class _StoredProgress(NamedTuple):
    """Columns of a resource that a state which was read earlier must not set back."""

    revision: int
    requested: str | None
    handled: str | None

    @property
    def done(self) -> str | None:
        """Return the token of the last request if that check was done."""
        return self.handled if self.handled == self.requested else None


class _Age(NamedTuple):
    """The age of a finding."""

    first_seen: float
    clean_at: float | None
    times: int


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A transaction with everything encoded that needs no lock."""

    facts: Transaction
    documents: list[tuple[bytes, bytes]]
    events: list[tuple[AuditEvent, bytes]]
    findings_at: Mapping[Address, float]


def prepare(connection: sqlite3.Connection, facts: Transaction) -> PreparedTransaction:
    """Encode events, and compress the documents that are not stored yet."""
    keys = {blobs.pack_digest(digest): digest for digest in facts.documents}
    stored = _stored(connection, list(keys)) if keys else set()
    new = [(key, _pack_document(facts, digest)) for key, digest in keys.items() if key not in stored]
    events = [(event, audit_chain.data_bytes(event)) for event in facts.events]
    return PreparedTransaction(facts, new, events, dict.fromkeys(facts.findings, facts.findings_at))


def _stored(connection: sqlite3.Connection, keys: list[bytes]) -> set[bytes]:
    return {key for chunk in in_lists(keys) for (key,) in connection.execute(sized("known_documents", chunk), chunk)}


def _pack_document(facts: Transaction, digest: Digest) -> bytes:
    data = facts.documents[digest]
    blobs.require_match(digest, data)
    return blobs.pack(data)


def _with_schedule(state: ResourceState, **changes: Any) -> ResourceState:  # noqa: ANN401 - fields of a schedule
    return replace(state, schedule=replace(state.schedule, **changes))


class TransactionWriter:
    """Writes one prepared transaction; runs inside the caller's BEGIN and COMMIT."""

    def __init__(self, connection: sqlite3.Connection, names: AddressIds, prepared: PreparedTransaction) -> None:
        self._connection = connection
        self._names = names
        self._facts = prepared.facts
        self._documents = prepared.documents
        self._events = prepared.events
        self._findings_at = prepared.findings_at
        self._texts: dict[int, str] = {}  # by the identity of addresses, which the facts keep alive
        self._state_texts = [self._text(state.address) for state in prepared.facts.states]
        self._numbers: dict[str, int] = {}
        self._overtaken: set[int] = set()
        self._good_at: dict[int, float | None] = {}  # before this transaction

    def write(self) -> None:
        """Write all facts. Deletions run first so that one transaction can delete and recreate a resource."""
        self._require_fences()
        self._numbers = self._names.add_all(self._all_names())
        self._many("add_document", self._documents)
        facts = self._facts  # most transactions are small, and there are many: empty parts must cost nothing
        if facts.forgotten:
            self._forget()
        if facts.findings:
            self._good_at = self._good_times()
        if facts.states:
            self._put_states()
        if facts.updates.unchanged:
            self._put_unchanged()
        if facts.updates.rescheduled or facts.updates.requested:
            self._reschedule()
        if facts.updates.relinked:
            self._relink()
        if facts.updates.withdrawn:
            self._withdraw()
        if facts.updates.outdated or facts.updates.set_back:
            self._outdate()
        if facts.findings:
            self._put_findings()
        self._write_history()
        if self._events:
            self._append_events()
        if facts.writes.renewed or facts.writes.released:
            self._renew()
            self._release()

    def _write_history(self) -> None:
        """Write revisions, decisions, operations, what people decided, and records."""
        writes, governance, records = self._facts.writes, self._facts.governance, self._facts.records
        if self._facts.revisions:
            self._add_revisions()
        if self._facts.decisions:
            self._add_decisions()
        if writes.operations or writes.finished:
            self._put_operations()
        if governance.corrections:
            self._put_corrections()
        if governance.charges:
            self._charge_buckets()
        self._put_governance()
        if records.put or records.deleted:
            self._put_records()

    def _all_names(self) -> dict[str, None]:
        """Return every name once, in the order given, so that related resources share database pages."""
        facts = self._facts
        names = dict.fromkeys(self._state_texts)
        history = (facts.revisions, facts.decisions, facts.writes.operations, facts.governance.corrections)
        records = (*history, facts.governance.approvals, facts.governance.quarantines, facts.governance.accepted)
        names.update(dict.fromkeys([self._text(record.address) for group in records for record in group]))
        names.update(dict.fromkeys(map(self._text, facts.findings)))
        names.update(dict.fromkeys([event.subject for event in facts.events]))
        return names

    def _text(self, address: Address) -> str:
        text = self._texts.get(id(address))
        if text is None:
            text = self._texts[id(address)] = text_of(address)
        return text

    def _number(self, address: Address) -> int:
        return self._numbers[self._text(address)]

    def _many(self, statement: str, values: Collection[rows.Row | dict[str, Any]]) -> None:
        if values:
            self._connection.executemany(SQL[statement], values)

    def _require_fences(self) -> None:
        fences = self._facts.writes.fences
        if not fences:
            return
        texts = {address: self._text(address) for address in fences}
        numbers = self._names.find_all(texts.values())
        current = {
            number: fence
            for chunk in in_lists(list(numbers.values()))
            for number, fence in self._connection.execute(sized("fences", chunk), chunk)
        }
        for address, fence in fences.items():
            if fence != current.get(numbers.get(texts[address], 0), 0):
                raise ClaimLost(f"nothing was recorded: another worker has claimed {address}")

    def _forget(self) -> None:
        numbers = [(number,) for number in self._names.find_all(map(text_of, self._facts.forgotten)).values()]
        for statement in _FORGET:
            self._many(statement, numbers)

    def _put_states(self) -> None:
        # In the order of the table, so that every page is loaded once. The later of two states of one resource wins.
        states = {self._numbers[text]: state for text, state in zip(self._state_texts, self._facts.states, strict=True)}
        stored = self._stored_progress(states)
        self._overtaken = self._find_overtaken(states, stored)
        numbers = sorted(states.keys() - self._overtaken)
        states |= self._with_requests({number: states[number] for number in numbers}, stored)
        stored_marks = self._marks(numbers)
        marks = {number: rows.hash_detail(states[number]) for number in numbers}
        self._many("put_resource", [rows.resource_row(number, states[number], marks[number]) for number in numbers])
        new = [number for number in numbers if marks[number] is None or marks[number] != stored_marks.get(number)]
        self._many("put_detail", [rows.detail_row(number, states[number]) for number in new])

    def _stored_progress(self, states: dict[int, ResourceState]) -> dict[int, _StoredProgress]:
        """Return the stored revisions and requests of the known resources."""
        return {
            number: _StoredProgress(*columns)
            for chunk in in_lists(sorted(states))
            for number, *columns in self._connection.execute(sized("applied_revisions", chunk), chunk)
        }

    def _find_overtaken(self, states: dict[int, ResourceState], stored: dict[int, _StoredProgress]) -> set[int]:
        """Return the resources that were written to after the check that is being recorded began."""
        checked = self._facts.checked
        return {
            number
            for number, progress in stored.items()
            if progress.revision != states[number].applied.revision and states[number].address in checked
        }

    def _with_requests(
        self, states: dict[int, ResourceState], stored: dict[int, _StoredProgress]
    ) -> dict[int, ResourceState]:
        """Return the states whose stored request is newer or open; an open request keeps an earlier due time.

        A request that was handled after the state was read stays handled.
        """
        known = {number: progress for number, progress in stored.items() if number in states}
        changed = {
            number: _with_schedule(
                states[number], requested=progress.requested, handled=progress.done or states[number].schedule.handled
            )
            for number, progress in known.items()
            if progress.requested != states[number].schedule.requested
            or progress.done not in (None, states[number].schedule.handled)
        }
        waiting = [
            number
            for number, progress in known.items()
            if progress.requested is not None
            and progress.done is None
            and progress.requested != states[number].schedule.handled
        ]
        for chunk in in_lists(waiting):
            for number, due_at in self._connection.execute(sized("due_times", chunk), chunk):
                state = changed.get(number, states[number])
                times = [at for at in (state.schedule.due_at, due_at) if at is not None]
                changed[number] = _with_schedule(state, due_at=min(times, default=None))
        return changed

    def _marks(self, numbers: list[int]) -> dict[int, int | None]:
        return dict(
            row for chunk in in_lists(numbers) for row in self._connection.execute(sized("marks", chunk), chunk)
        )

    def _put_unchanged(self) -> None:
        checks = self._known_of([(text_of(check.address), check) for check in self._facts.updates.unchanged])
        checks.sort(key=itemgetter(0))
        (is_any_requested,) = self._connection.execute(SQL["any_request"]).fetchone()
        statement = "put_unchanged_unless_requested" if is_any_requested else "put_unchanged"
        self._many(statement, [rows.unchanged_row(number, check) for number, check in checks])
        self._many("put_tags", [rows.tags_row(number, check) for number, check in checks if rows.has_tags(check)])

    def _reschedule(self) -> None:
        updates = self._facts.updates
        moved = self._known_of([(text_of(address), due_at) for address, due_at in updates.rescheduled])
        requests = self._known_of([(text_of(request.address), request) for request in updates.requested])
        self._many("reschedule", [(due_at, number) for number, due_at in moved])
        self._many("request", [(request.token, number) for number, request in requests])
        self._many("reschedule", [(request.due_at, number) for number, request in requests])

    def _relink(self) -> None:
        relinks = self._known_of([(text_of(relink.address), relink) for relink in self._facts.updates.relinked])
        self._many("relink", [(relink.provider_id, number) for number, relink in relinks])

    def _withdraw(self) -> None:
        """Make verdicts unknown, except those of resources that were written since."""
        known = dict(self._known_of([(text_of(item.address), item) for item in self._facts.updates.withdrawn]))
        new = [
            rows.withdrawn_row(number, known[number], rest, has_request=bool(has_request))
            for chunk in in_lists(list(known))
            for number, revision, has_request, rest in self._connection.execute(sized("rests", chunk), chunk)
            if revision == known[number].revision
        ]
        self._many("withdraw_status", new)
        self._many("withdraw_reason", new)

    def _outdate(self) -> None:
        updates = self._facts.updates
        outdated = self._known_of([(text_of(address), due_at) for address, due_at in updates.outdated])
        self._many("outdate", [(number,) for number, _ in outdated])
        self._many("move_forward", [(due_at, number) for number, due_at in outdated])
        set_back = self._known_of([(text_of(address), due_at) for address, due_at in updates.set_back])
        self._many("set_back", [(due_at, number) for number, due_at in set_back])

    def _known_of(self, updates: Sequence[tuple[str, Update]]) -> list[tuple[int, Update]]:
        """Return the updates of known resources with their numbers."""
        numbers = self._names.find_all([text for text, _ in updates])
        return [(numbers[text], update) for text, update in updates if text in numbers]

    def _good_times(self) -> dict[int, float | None]:
        """Return the last successful checks of the resources with findings, which are few."""
        numbers = [self._number(address) for address, findings in self._facts.findings.items() if findings]
        return dict(
            row for chunk in in_lists(numbers) for row in self._connection.execute(sized("good_times", chunk), chunk)
        )

    def _put_findings(self) -> None:
        checked = self._facts.checked
        numbers = {address: self._number(address) for address in self._facts.findings}
        current = {address: number for address, number in numbers.items() if number not in self._overtaken}
        stored = self._ages(list(current.values()))
        self._many("remove_findings", [(number,) for number in stored])
        new: list[rows.Row] = []
        for address, number in current.items():
            if not self._facts.findings[address]:
                continue
            at = self._findings_at[address]
            ages, onset = stored.get(number, {}), _Age(at, self._good_at.get(number), 1)
            more = 1 if address in checked else 0
            for ordinal, finding in enumerate(self._facts.findings[address]):
                path, op = format_path(finding.path), finding.op.value
                age = ages.get((path, op))
                first_seen, clean_at, times = onset if age is None else age._replace(times=age.times + more)
                body = rows.finding_body(finding)
                new.append((number, ordinal, path, op, first_seen, at, clean_at, times, body))
        self._many("add_finding", new)

    def _ages(self, numbers: list[int]) -> dict[int, dict[tuple[str, str], _Age]]:
        """Return the ages of the open findings by resource; most resources have none."""
        ages: dict[int, dict[tuple[str, str], _Age]] = {}
        for chunk in in_lists(numbers):
            for number, path, op, *age in self._connection.execute(sized("ages", chunk), chunk):
                ages.setdefault(number, {})[path, op] = _Age(*age)
        return ages

    def _add_revisions(self) -> None:
        revisions = self._facts.revisions
        new = [rows.revision_row(self._number(revision.address), revision) for revision in revisions]
        if new and self._connection.executemany(SQL["add_revision"], new).rowcount < len(new):
            self._require_same_revisions(new)
        old = [(row[0], row[1] - REVISIONS_KEPT) for row in new if row[1] > REVISIONS_KEPT]
        self._many("prune_revisions", old)

    def _require_same_revisions(self, added: list[rows.Row]) -> None:
        """Raise StoreError if another revision has the number of one that was to be added."""
        for row, revision in zip(added, self._facts.revisions, strict=True):
            if self._connection.execute(SQL["revision"], row[:2]).fetchone() != row[2:4]:
                raise StoreError(
                    f"cannot store revision {revision.number} of {revision.address}: another one has this number"
                )

    def _add_decisions(self) -> None:
        for decision in self._facts.decisions:
            row = rows.decision_row(self._number(decision.address), decision)
            stored = self._connection.execute(SQL["decision"], (decision.id,)).fetchone()
            if stored is None:
                if not self._repeats(row[1], decision):
                    self._connection.execute(SQL["add_decision"], row)
            elif rows.decision_of(stored) != decision:
                raise StoreError(f"cannot store decision {decision.id}: another one has this id")

    def _repeats(self, number: int, decision: DecisionRecord) -> bool:
        if decision.is_news:
            return False
        last = self._connection.execute(SQL["decisions_of"], (number, 1)).fetchone()
        return last is not None and decision.repeats(rows.decision_of(last))

    def _put_operations(self) -> None:
        operations = self._facts.writes.operations
        self._many(
            "put_operation",
            [rows.operation_row(self._number(operation.address), operation) for operation in operations],
        )
        self._many("remove_operation", [(identity,) for identity in self._facts.writes.finished])

    def _put_corrections(self) -> None:
        corrections = self._facts.governance.corrections
        self._many(
            "put_correction", [governance_rows.correction_row(self._number(item.address), item) for item in corrections]
        )

    def _charge_buckets(self) -> None:
        """Charge the buckets; the write lock is held, so no other writer charges between counting and charging."""
        for identity, charges in self._facts.governance.charges.items():
            correction = self._connection.execute(SQL["chargeable"], (identity,)).fetchone()
            if correction is None:
                raise ValueError(f"cannot charge correction {identity}: it is neither stored nor in the transaction")
            for charge in charges:
                self._charge_bucket(charge, *correction)

    def _charge_bucket(self, charge: BudgetCharge, correction: int, at: float) -> None:
        if self._connection.execute(SQL["is_charged"], (correction, charge.bucket)).fetchone():
            return
        (count,) = self._connection.execute(SQL["count_charges"], (charge.bucket, charge.since)).fetchone()
        if count >= charge.limit:
            raise BudgetSpent(charge.bucket)
        self._connection.execute(SQL["add_charge"], (correction, charge.bucket, at))

    def _put_governance(self) -> None:
        """Write the decisions of people. Deletions run first so that one transaction can end and begin a pause."""
        changes, number = self._facts.governance, self._number
        self._many("remove_pause", [(scope,) for scope in changes.resumed])
        if changes.unquarantined:
            self._many("remove_quarantine", self._path_rows(changes.unquarantined))
        if changes.unaccepted:
            self._many("remove_accepted_value", self._path_rows(changes.unaccepted))
        self._many("put_pause", [governance_rows.pause_row(pause) for pause in changes.pauses])
        approvals, quarantines, accepted = changes.approvals, changes.quarantines, changes.accepted
        self._many("put_approval", [governance_rows.approval_row(number(item.address), item) for item in approvals])
        self._many(
            "put_quarantine", [governance_rows.quarantine_row(number(item.address), item) for item in quarantines]
        )
        self._many(
            "put_accepted_value", [governance_rows.accepted_value_row(number(item.address), item) for item in accepted]
        )

    def _path_rows(self, paths: Sequence[tuple[Address, str]]) -> list[rows.Row]:
        return [*self._known_of([(text_of(address), path) for address, path in paths])]

    def _put_records(self) -> None:
        """Write the next versions of records; the write lock is held, so no other writer comes between."""
        self._many("remove_record", self._facts.records.deleted)
        for record in self._facts.records.put:
            place = record.collection, record.key
            row = self._connection.execute(SQL["version_of_record"], place).fetchone()
            if record.version != (row[0] if row else 0) + 1:
                raise VersionConflict(*place)
            self._connection.execute(SQL["put_record"], rows.record_row(record))

    def _renew(self) -> None:
        renewed = self._facts.writes.renewed
        values = [(claim.until, *self._claim_key(claim)) for claim in renewed]
        if values and self._connection.executemany(SQL["renew_claim"], values).rowcount < len(values):
            lost = ", ".join(str(claim.address) for claim in renewed)
            raise ClaimLost(f"nothing was recorded: another worker has claimed {lost}")

    def _release(self) -> None:
        self._many("release_claim", [self._claim_key(claim) for claim in self._facts.writes.released])

    def _claim_key(self, claim: Claim) -> rows.Row:
        return self._names.find(self._text(claim.address)), claim.fence, claim.owner

    def _append_events(self) -> None:
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
