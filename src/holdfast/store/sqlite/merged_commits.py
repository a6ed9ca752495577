"""Commits of one round that are written as one: the writes of many claimed resources in a few statements.

An apply commits a few rows for each resource, many resources at a time. The commits of a round share one database
transaction anyway. Written together they also share their statements. Only commits about one claimed resource each are
merged, and only in the order they were asked for, so that the result is the same as one after the other. If a merged
commit fails, the database rolls it back, and every commit runs by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from holdfast.model.address import Address
from holdfast.store.sqlite.call_batching import CallResult
from holdfast.store.sqlite.transaction_writer import PreparedTransaction, TransactionWriter
from holdfast.store.transaction import GovernanceChanges, Transaction, WriteChanges

Work = Callable[[], Any]


class Commit:
    """A prepared commit, which can run alone or as part of a merged one."""

    def __init__(
        self, writer: Callable[[PreparedTransaction], TransactionWriter], prepared: PreparedTransaction
    ) -> None:
        self.writer = writer
        self.prepared = prepared

    def __call__(self) -> None:
        """Write it alone."""
        self.writer(self.prepared).write()


def merge_commits(works: Sequence[Work]) -> Callable[[], list[CallResult]] | None:
    """Return a function that runs all of them with neighbouring commits merged, or None if there are none to merge."""
    if len(works) < 2:
        return None
    steps: list[tuple[Work, int]] = []
    run: list[Commit] = []
    claimed: set[Address] = set()
    for work in works:
        about = _claimed(work.prepared.facts) if isinstance(work, Commit) else None
        if about is None or not isinstance(work, Commit):
            steps += [*_merged(run), (work, 1)]
            run, claimed = [], set()
            continue
        if about in claimed:
            steps += _merged(run)
            run, claimed = [], set()
        run.append(work)
        claimed.add(about)
    steps += _merged(run)
    if len(steps) == len(works):
        return None
    return lambda: [CallResult(value) for step, count in steps for value in [step()] * count]


def _merged(run: Sequence[Commit]) -> list[tuple[Work, int]]:
    if len(run) < 2:
        return [(commit, 1) for commit in run]
    prepared = _joined([commit.prepared for commit in run])
    return [(lambda: run[0].writer(prepared).write(), len(run))]


def _claimed(facts: Transaction) -> Address | None:
    """Return the only resource that a transaction is about, if it relies on its claim; None for any other."""
    if len(facts.writes.fences) != 1:
        return None
    (claimed,) = facts.writes.fences
    governance, updates, writes = facts.governance, facts.updates, facts.writes
    has_more = (
        facts.records.put or facts.records.deleted or governance.pauses or governance.resumed
        or governance.quarantines or governance.unquarantined or governance.accepted
        or updates.unchanged or updates.rescheduled or updates.requested or updates.relinked
        or updates.withdrawn or updates.outdated or updates.set_back
    )  # fmt: skip
    if has_more:
        return None
    records: Iterable[Any] = (
        *facts.states, *facts.revisions, *facts.decisions, *writes.operations, *writes.renewed, *writes.released,
        *governance.corrections, *governance.approvals,
    )  # fmt: skip
    for record in records:
        if record.address is not claimed and record.address != claimed:
            return None
    addresses = (*facts.forgotten, *facts.findings, *facts.checked, *[address for address, _ in governance.unaccepted])
    return claimed if all(address is claimed or address == claimed for address in addresses) else None


def _joined(parts: Sequence[PreparedTransaction]) -> PreparedTransaction:
    """Return one prepared transaction with the facts of all, in order."""
    facts = [part.facts for part in parts]
    joined = Transaction(
        states=[state for fact in facts for state in fact.states],
        forgotten=[address for fact in facts for address in fact.forgotten],
        findings={address: finding for fact in facts for address, finding in fact.findings.items()},
        checked={address for fact in facts for address in fact.checked},
        revisions=[revision for fact in facts for revision in fact.revisions],
        decisions=[decision for fact in facts for decision in fact.decisions],
        writes=WriteChanges(
            operations=[operation for fact in facts for operation in fact.writes.operations],
            finished=[identity for fact in facts for identity in fact.writes.finished],
            fences={address: fence for fact in facts for address, fence in fact.writes.fences.items()},
            renewed=[claim for fact in facts for claim in fact.writes.renewed],
            released=[claim for fact in facts for claim in fact.writes.released],
        ),
        governance=GovernanceChanges(
            corrections=[correction for fact in facts for correction in fact.governance.corrections],
            charges={identity: charges for fact in facts for identity, charges in fact.governance.charges.items()},
            approvals=[approval for fact in facts for approval in fact.governance.approvals],
            unaccepted=[path for fact in facts for path in fact.governance.unaccepted],
        ),
    )
    return PreparedTransaction(
        joined,
        [document for part in parts for document in part.documents],
        [event for part in parts for event in part.events],
        {address: at for part in parts for address, at in part.findings_at.items()},
    )
