"""Write merged transactions to the PostgreSQL tables, a few statements for all resources together.

Everything that is read here was locked before: resources by their names, other rows by their keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar

import asyncpg

from holdfast.compare.paths import format_path
from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.store import audit_chain, blobs, governance_rows, rows
from holdfast.store.address_text import text_of
from holdfast.store.governance import BudgetSpent
from holdfast.store.postgres.statements import PARAMETERS, SQL
from holdfast.store.postgres.texts import escape_all
from holdfast.store.postgres.write_plan import MergedTransaction
from holdfast.store.records import REVISIONS_KEPT, AuditEvent, Claim, ClaimLost, DecisionRecord, VersionConflict
from holdfast.store.state import ResourceState

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


class _StoredColumns(NamedTuple):
    """Columns of a resource that a state which was read earlier must not set back."""

    revision: int
    requested: str | None
    handled: str | None
    due_at: float | None
    mark: int | None

    @property
    def done(self) -> str | None:
        """Return the token of the last request if that check was done."""
        return self.handled if self.handled == self.requested else None


class _Age(NamedTuple):
    """The age of a finding."""

    first_seen: float
    clean_at: float | None
    times: int


class TransactionWriter:
    """Writes one merged transaction inside the caller's BEGIN and COMMIT; events and documents are the caller's."""

    def __init__(self, connection: asyncpg.Connection, ids: Mapping[str, int], merged: MergedTransaction) -> None:
        self._connection = connection
        self._ids = ids
        self._facts = merged.facts
        self._findings_at = merged.findings_at
        self._overtaken: set[int] = set()

    async def write(self) -> None:
        """Write all facts. Deletions run first so that one transaction can delete and recreate a resource."""
        facts = self._facts  # empty parts must cost nothing
        if facts.writes.fences:
            await self._require_fences()
        if facts.forgotten:
            await self._forget()
        good_at = await self._good_times() if facts.findings else {}
        if facts.states:
            await self._put_states()
        await self._put_unchanged()
        await self._put_updates()
        if facts.updates.withdrawn:
            await self._withdraw()
        await self._outdate()
        if facts.findings:
            await self._put_findings(good_at)
        if facts.revisions:
            await self._add_revisions()
        if facts.decisions:
            await self._add_decisions()
        await self._put_operations()
        await self._put_corrections()
        await self._put_governance()
        await self._put_records()
        await self._change_claims()

    def _id(self, address: Address) -> int:
        return self._ids[text_of(address)]

    def _known(self, updates: Iterable[tuple[Address, Update]]) -> list[tuple[int, Update]]:
        """Return the updates of known resources with their ids."""
        pairs = [(self._ids.get(text_of(address)), update) for address, update in updates]
        return [(number, update) for number, update in pairs if number is not None]

    async def _many(self, statement: str, values: Collection[Sequence[Any]]) -> None:
        if values:
            await self._connection.executemany(SQL[statement], values)

    async def _require_fences(self) -> None:
        fences = self._facts.writes.fences
        stored = dict(await self._connection.fetch(SQL["fences"], [self._id(address) for address in fences]))
        for address, fence in fences.items():
            if fence != stored.get(self._id(address), 0):
                raise _claim_lost(address)

    async def _forget(self) -> None:
        ids = [number for number, _ in self._known((address, None) for address in self._facts.forgotten)]
        for statement in _FORGET:
            await self._connection.execute(SQL[statement], ids)

    async def _put_states(self) -> None:
        # The later of two states of one resource wins.
        states = {self._id(state.address): state for state in self._facts.states}
        found = await self._connection.fetch(SQL["stored_columns"], list(states))
        stored = {number: _StoredColumns(*columns) for number, *columns in found}
        self._overtaken = {
            number
            for number, columns in stored.items()
            if columns.revision != states[number].applied.revision and states[number].address in self._facts.checked
        }
        kept = {
            number: _with_request(state, stored[number]) if number in stored else state
            for number, state in sorted(states.items())
            if number not in self._overtaken
        }
        marks = {number: rows.hash_detail(state) for number, state in kept.items()}
        await self._many("put_resource", [rows.resource_row(number, kept[number], marks[number]) for number in kept])
        changed = [
            number
            for number, mark in marks.items()
            if mark is None or number not in stored or mark != stored[number].mark
        ]
        await self._many("put_detail", [rows.detail_row(number, kept[number]) for number in changed])

    async def _put_unchanged(self) -> None:
        checks = self._known((check.address, check) for check in self._facts.updates.unchanged)
        await self._many("put_unchanged", [rows.unchanged_row(number, check) for number, check in checks])
        tagged = [(number, check) for number, check in checks if rows.has_tags(check)]
        await self._many("put_tags", [(check.etag, rows.packed(check.raw_digest), number) for number, check in tagged])
        await self._clear_marks(tagged)

    async def _put_updates(self) -> None:
        """Write due times, requests and provider ids, each by itself."""
        updates = self._facts.updates
        moved = self._known(updates.rescheduled)
        requests = self._known((request.address, request) for request in updates.requested)
        relinks = self._known((relink.address, relink) for relink in updates.relinked)
        await self._many("reschedule", [(due_at, number) for number, due_at in moved])
        await self._many("request", [(request.token, number) for number, request in requests])
        await self._many("reschedule", [(request.due_at, number) for number, request in requests])
        await self._many("relink", [(relink.provider_id, number) for number, relink in relinks])
        await self._clear_marks([*requests, *relinks])

    async def _withdraw(self) -> None:
        """Make verdicts unknown, except those of resources that were written since."""
        known = dict(self._known((item.address, item) for item in self._facts.updates.withdrawn))
        new = [
            rows.withdrawn_row(number, known[number], rest, has_request=has_request)
            for number, revision, has_request, rest in await self._connection.fetch(SQL["rests"], list(known))
            if revision == known[number].revision
        ]
        for statement in ("withdraw_status", "withdraw_reason"):
            await self._many(statement, [[row[name] for name in PARAMETERS[statement]] for row in new])
        await self._clear_marks([(row["id"], None) for row in new])

    async def _outdate(self) -> None:
        """Drop the tags, or the times, of readings that hold no longer."""
        outdated = self._known(self._facts.updates.outdated)
        await self._many("outdate", [(number,) for number, _ in outdated])
        await self._many("move_forward", [(due_at, number) for number, due_at in outdated])
        await self._clear_marks(outdated)
        set_back = self._known(self._facts.updates.set_back)
        await self._many("set_back", [(due_at, number) for number, due_at in set_back])

    async def _clear_marks(self, changed: Sequence[tuple[int, object]]) -> None:
        if changed:
            await self._connection.execute(SQL["clear_marks"], [number for number, _ in changed])

    async def _good_times(self) -> dict[int, float | None]:
        """Return the last successful checks of the resources with findings, which are few."""
        ids = [self._id(address) for address, findings in self._facts.findings.items() if findings]
        return dict(await self._connection.fetch(SQL["good_times"], ids)) if ids else {}

    async def _put_findings(self, good_at: Mapping[int, float | None]) -> None:
        numbers = {address: self._id(address) for address in self._facts.findings}
        current = {address: number for address, number in numbers.items() if number not in self._overtaken}
        stored: dict[int, dict[tuple[str, str], _Age]] = {}
        for number, path, op, *age in await self._connection.fetch(SQL["ages"], list(current.values())):
            stored.setdefault(number, {})[path, op] = _Age(*age)
        if stored:
            await self._connection.execute(SQL["remove_findings"], list(stored))
        new: list[rows.Row] = []
        for address, number in current.items():
            at, ages = self._findings_at[address], stored.get(number, {})
            onset, more = _Age(at, good_at.get(number), 1), 1 if address in self._facts.checked else 0
            for ordinal, finding in enumerate(self._facts.findings[address]):
                path, op = format_path(finding.path), finding.op.value
                age = ages.get((path, op))
                first_seen, clean_at, times = onset if age is None else age._replace(times=age.times + more)
                body = rows.finding_body(finding)
                new.append((number, ordinal, path, op, first_seen, at, clean_at, times, body))
        await self._many("add_finding", new)

    async def _add_revisions(self) -> None:
        given = [
            (revision, rows.revision_row(self._id(revision.address), revision)) for revision in self._facts.revisions
        ]
        keys = [row[0] for _, row in given], [row[1] for _, row in given]
        stored = {row[:2]: row[2:4] for row in map(tuple, await self._connection.fetch(SQL["stored_revisions"], *keys))}
        new: list[rows.Row] = []
        for revision, row in given:
            if row[:2] not in stored:
                stored[row[:2]] = row[2:4]
                new.append(row)
            elif stored[row[:2]] != row[2:4]:
                raise StoreError(
                    f"cannot store revision {revision.number} of {revision.address}: another one has this number"
                )
        await self._many("add_revision", new)
        old = [(row[0], row[1] - REVISIONS_KEPT) for row in new if row[1] > REVISIONS_KEPT]
        await self._many("prune_revisions", old)

    async def _add_decisions(self) -> None:
        decisions = self._facts.decisions
        ids = escape_all(decision.id for decision in decisions)
        found = await self._connection.fetch(SQL["decision"], ids)
        stored = {decision.id: decision for decision in map(rows.decision_of, found)}
        last = await self._last_decisions()
        new: list[rows.Row] = []
        for decision in decisions:
            known = stored.get(decision.id)
            if known is not None:
                if known != decision:
                    raise StoreError(f"cannot store decision {decision.id}: another one has this id")
                continue
            before = last.get(decision.address)
            if before is None or not decision.repeats(before):
                stored[decision.id] = last[decision.address] = decision
                new.append(rows.decision_row(self._id(decision.address), decision))
        await self._many("add_decision", new)

    async def _last_decisions(self) -> dict[Address, DecisionRecord]:
        """Return the last decisions on the resources with a decision that may be no news."""
        ids = [self._id(decision.address) for decision in self._facts.decisions if not decision.is_news]
        if not ids:
            return {}
        found = map(rows.decision_of, await self._connection.fetch(SQL["last_decisions"], ids))
        return {decision.address: decision for decision in found}

    async def _put_operations(self) -> None:
        writes = self._facts.writes
        await self._many(
            "put_operation", [rows.operation_row(self._id(item.address), item) for item in writes.operations]
        )
        if writes.finished:
            await self._connection.execute(SQL["remove_operations"], escape_all(writes.finished))

    async def _put_corrections(self) -> None:
        governance = self._facts.governance
        await self._many(
            "put_correction",
            [governance_rows.correction_row(self._id(item.address), item) for item in governance.corrections],
        )
        if governance.charges:
            await self._charge_buckets()

    async def _charge_buckets(self) -> None:
        """Charge the buckets; they are locked, so no other writer charges between counting and charging."""
        charges = self._facts.governance.charges
        found = await self._connection.fetch(SQL["chargeable"], escape_all(charges))
        corrections = {identity: (number, at) for identity, number, at in found}
        numbers = [number for number, _ in corrections.values()]
        charged = set(map(tuple, await self._connection.fetch(SQL["charged"], numbers)))
        wanted = list(dict.fromkeys((charge.bucket, charge.since) for group in charges.values() for charge in group))
        counts = dict(zip(wanted, await self.count_charges(self._connection, wanted), strict=True))
        new: list[tuple[int, str, float]] = []
        for identity, group in charges.items():
            if identity not in corrections:
                raise ValueError(f"cannot charge correction {identity}: it is neither stored nor in the transaction")
            number, at = corrections[identity]
            for charge in group:
                if (number, charge.bucket) in charged:
                    continue
                ours = sum(bucket == charge.bucket and time >= charge.since for _, bucket, time in new)
                if counts[charge.bucket, charge.since] + ours >= charge.limit:
                    raise BudgetSpent(charge.bucket)
                charged.add((number, charge.bucket))
                new.append((number, charge.bucket, at))
        await self._many("add_charge", new)

    @staticmethod
    async def count_charges(connection: asyncpg.Connection, buckets: Sequence[tuple[str, float]]) -> list[int]:
        """Return the number of charges of each bucket since its time, in the order given."""
        columns = escape_all(bucket for bucket, _ in buckets), [since for _, since in buckets]
        return [count for (count,) in await connection.fetch(SQL["count_charges"], *columns)]

    async def _put_governance(self) -> None:
        """Write the decisions of people. Deletions run first so that one transaction can end and begin a pause."""
        changes, number = self._facts.governance, self._id
        if changes.resumed:
            await self._connection.execute(SQL["remove_pauses"], escape_all(changes.resumed))
        await self._many("remove_quarantine", self._known(changes.unquarantined))
        await self._many("remove_accepted_value", self._known(changes.unaccepted))
        await self._many("put_pause", [governance_rows.pause_row(pause) for pause in changes.pauses])
        await self._many(
            "put_approval", [governance_rows.approval_row(number(item.address), item) for item in changes.approvals]
        )
        await self._many(
            "put_quarantine",
            [governance_rows.quarantine_row(number(item.address), item) for item in changes.quarantines],
        )
        await self._many(
            "put_accepted_value",
            [governance_rows.accepted_value_row(number(item.address), item) for item in changes.accepted],
        )

    async def _put_records(self) -> None:
        changes = self._facts.records
        await self._many("remove_record", changes.deleted)
        if not changes.put:
            return
        columns = [
            escape_all(names) for names in zip(*((item.collection, item.key) for item in changes.put), strict=True)
        ]
        found = await self._connection.fetch(SQL["versions_of_records"], *columns)
        versions = {(collection, key): version for collection, key, version in found}
        for record in changes.put:
            place = record.collection, record.key
            if record.version != versions.get(place, 0) + 1:
                raise VersionConflict(*place)
            versions[place] = record.version
        await self._many("put_record", [rows.record_row(record) for record in changes.put])

    async def _change_claims(self) -> None:
        for claim in self._facts.writes.renewed:
            if not await change_claim(self._connection, self._ids, "renew_claim", claim, claim.until):
                raise _claim_lost(claim.address)
        for claim in self._facts.writes.released:
            await change_claim(self._connection, self._ids, "release_claim", claim)


async def change_claim(
    connection: asyncpg.Connection, ids: Mapping[str, int], statement: str, claim: Claim, *values: float
) -> bool:
    """Renew or release a claim; return False if it was lost."""
    key = ids.get(text_of(claim.address)), claim.fence, claim.owner
    return await connection.fetchval(SQL[statement], *values, *key) is not None


async def add_documents(connection: asyncpg.Connection, documents: Mapping[bytes, bytes]) -> None:
    """Store packed documents once, in order of their digests."""
    if documents:
        await connection.execute(SQL["add_documents"], list(documents), list(documents.values()))


async def known_documents(connection: asyncpg.Connection, digests: Collection[bytes]) -> set[bytes]:
    """Return the digests that are stored."""
    if not digests:
        return set()
    return {digest for (digest,) in await connection.fetch(SQL["known_documents"], list(digests))}


def pack_all(documents: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return documents compressed."""
    return {digest: blobs.pack(data) for digest, data in documents.items()}


async def append_events(
    connection: asyncpg.Connection, ids: Mapping[str, int], events: Sequence[tuple[AuditEvent, bytes]]
) -> None:
    """Chain events onto the audit trail; its end stays locked, so this comes last in a transaction."""
    if not events:
        return
    row = await connection.fetchrow(SQL["lock_chain"])
    if row is None:
        raise audit_chain.head_lost()
    links, head = audit_chain.extend(audit_chain.Head(*row), events)
    values = [(link.sequence, link.at, link.type, ids[link.subject], link.data, link.hash) for link in links]
    await connection.executemany(SQL["add_event"], values)
    await connection.execute(SQL["set_head"], head.length, head.hash)


def _with_request(state: ResourceState, stored: _StoredColumns) -> ResourceState:
    """Return a state with the stored request if that is newer or open; an open request keeps an earlier due time.

    A request that was handled after the state was read stays handled.
    """
    handled = stored.done or state.schedule.handled
    due_at = state.schedule.due_at
    if stored.requested is not None and stored.done is None and stored.requested != state.schedule.handled:
        due_at = min((at for at in (due_at, stored.due_at) if at is not None), default=None)
    if (stored.requested, handled, due_at) == (state.schedule.requested, state.schedule.handled, state.schedule.due_at):
        return state
    return replace(state, schedule=replace(state.schedule, requested=stored.requested, handled=handled, due_at=due_at))


def _claim_lost(address: Address) -> ClaimLost:
    return ClaimLost(f"nothing was recorded: another worker has claimed {address}")
