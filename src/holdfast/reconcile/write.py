"""One write from end to end: claim, recheck, intend, send, poll, settle, record.

`ResourceWriter.execute` is the only way that anything live is changed: apply, adopt, delete, resume, rollout and undo
are intents of it. An intent has the work of each phase (`write_decision`, `write_resume`, `undo`). The writer owns the
claim, the sends, and the polling. Every phase is recorded before the next begins, so a crash at any point leaves an
Operation with the progress of the write. A call that is not idempotent is never repeated without a read.

The turn at the connection's limits comes first, so that a write that waits holds no claim and has recorded nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import field, replace
from typing import Protocol, TypeVar

from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.read_result import Found, ReadResult
from holdfast.model.record import dataclass
from holdfast.model.write_result import InProgress, WriteResult
from holdfast.policy.write_reasons import WriteReason
from holdfast.providers.protocol import Change, Target, Unchanged
from holdfast.reconcile import worker_identity
from holdfast.reconcile.check import Checker, CheckResult
from holdfast.reconcile.claims import Keeper
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.retry import RetryPolicy
from holdfast.reconcile.send import Leave, PollLimit, Sender, StillInProgress
from holdfast.store.governance import CorrectionRecord
from holdfast.store.protocol import Store
from holdfast.store.records import AuditEvent, Claim, ClaimLost, OperationStep, WriteOperation
from holdfast.store.transaction import Transaction, WriteChanges

# Asked right before a write, and told whether an earlier attempt went out: why it is not to be made after all.
Guard = Callable[[CheckResult, bool], Awaitable[str | None]]
_LOST = "its claim was lost to another worker while it waited; nothing more was sent"


@dataclass(slots=True)
class Run:
    """One write under way; the phases move it on."""

    claim: Claim
    checked: CheckResult
    operation: WriteOperation
    reading: ReadResult | Unchanged  # the latest one: what is sent goes on from here
    begun: CorrectionRecord | None = None  # as it was recorded when the write began
    slot: AsyncExitStack | None = None  # given back with the answer: others are sent while this one settles

    @property
    def item(self) -> ResolvedResource:
        """The resource, as the check resolved it."""
        return self.checked.prepared

    @property
    def fences(self) -> dict[Address, int]:
        """The proof of the claim, for every transaction of the write."""
        return {self.claim.address: self.claim.fence}


R_co = TypeVar("R_co", covariant=True)


class Intent(Protocol[R_co]):
    """The intended write, and the work of each of its phases."""

    @property
    def address(self) -> Address:
        """The resource to claim."""

    @property
    def turn(self) -> tuple[ResolvedResource, CallKind] | None:
        """The limit whose turn is waited for before the claim; None: nothing is sent, or each send waits itself."""

    @property
    def takes_over(self) -> bool:
        """True if the claims of dead workers are released first, in case the resource is claimed."""

    async def perform(self, writer: ResourceWriter, claim: Claim, slot: AsyncExitStack) -> R_co:
        """Go through the phases under a claim."""

    def not_begun(self, message: str) -> R_co:
        """Return the result where another worker has the claim."""

    def unfinished(self, message: str) -> R_co:
        """Return the result where the API has not ended an operation; a later run asks again."""

    def lost(self, message: str) -> R_co:
        """Return the result where the claim was lost; the other worker finishes the write."""


@dataclass(slots=True)
class ResourceWriter:
    """Writes resources, one writer a resource."""

    store: Store
    world: WritableConnections
    checker: Checker
    clock: Clock
    random01: Callable[[], float]
    owner: str
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    guard: Guard | None = None  # of a rollout
    slots: AbstractAsyncContextManager[object] = field(default_factory=contextlib.nullcontext)  # how many at once
    stop: asyncio.Event | None = None  # set: operations are not polled any further
    poll_seconds: float = math.inf  # for how long an operation is polled at most, whatever its settings say
    sender: Sender = field(init=False)
    keeper: Keeper = field(init=False)
    _released: set[tuple[Address, int]] = field(default_factory=set, init=False)  # claims, with the end of a write

    def __post_init__(self) -> None:
        """Make the parts that every write goes through."""
        self.sender = Sender(self.world, self.clock, self.random01, self.patience)
        self.keeper = Keeper(self.store, self.clock, self.owner)

    # -- claim

    async def execute(self, intent: Intent[R_co]) -> R_co:
        """Write the change of an intent, or return the reason why it was not written."""
        async with AsyncExitStack() as slot:
            if intent.turn is not None:
                await slot.enter_async_context(self.slots)
                await self.sender.turn(*intent.turn)
            claim = await self.keeper.claim(intent.address)
            if claim is None and intent.takes_over and await worker_identity.bury(self.store):
                claim = await self.keeper.claim(intent.address)
            if claim is None:
                return intent.not_begun("another worker is writing this resource")
            try:
                with self.keeper.keeping(claim):
                    return await intent.perform(self, claim, slot)
            except StillInProgress as error:
                return intent.unfinished(str(error))
            except ClaimLost:
                data: dict[str, Json] = {"message": _LOST, "worker": self.owner}
                event = AuditEvent(self.clock.now(), "claim.lost", str(intent.address), data)
                await self.store.commit(Transaction(events=[event]))
                return intent.lost(_LOST)
            finally:
                if (claim.address, claim.fence) in self._released:
                    self._released.discard((claim.address, claim.fence))
                else:
                    await self.store.release(claim)

    # -- intend

    def new_id(self) -> str:
        """Return an id for a new operation."""
        return uuid.UUID(int=int(self.random01() * 2**62) << 64 | int(self.random01() * 2**62)).hex

    def event(self, kind: str, run: Run, data: Mapping[str, Json]) -> AuditEvent:
        """Return an event of this worker about a resource."""
        return AuditEvent(self.clock.now(), kind, str(run.claim.address), {**data, "worker": self.owner})

    def step(self, run: Run, event: str, more: Mapping[str, Json] | None = None) -> Transaction:
        """Return the transaction that records how far a write has come."""
        operation = run.operation
        data: dict[str, Json] = {"operation": operation.id, "action": operation.action, "phase": operation.phase}
        events = [self.event(event, run, {**data, **(more or {})})]
        return Transaction(events=events, writes=WriteChanges(operations=[operation], fences=run.fences))

    # -- send

    async def send(
        self,
        run: Run,
        change: Change | None,
        begin: Callable[[], Awaitable[None]] | None,
        write_reason: WriteReason | None = None,
    ) -> WriteResult:
        """Send the write of an operation: a change, a creation or a deletion.

        Every limit and the claim are asked right before each send. `begin` records the write right before the first
        one. It is None where that was done, by this process or another.
        """
        item, operation = run.item, run.operation
        writer = await self.world.writer(run.claim.address.connection)
        address, known = run.claim.address, item.state.observed.provider_id if item.state is not None else None
        if known is None and isinstance(run.reading, Found):
            known = run.reading.id  # there before us, and found by its name
        target = Target(address.kind, address.name, known, item.clear, address.namespace)  # written as declared
        etag = run.reading.etag if isinstance(run.reading, Found) and item.kind.conditional else None
        key = f"{operation.id}-{operation.phase}"  # the two writes of a replacement have one each

        async def held(was_sent: bool) -> str | None:  # noqa: FBT001 - as `Leave` asks
            stopped = await self.guard(run.checked, was_sent) if self.guard is not None else None
            return stopped or await self.checker.stopped(run.checked, write_reason)

        leave = Leave(held, begin, lambda: self.keeper.ensure(run.claim), was_sent=begin is None)
        has_turn = begin is not None and operation.phase != "undo"
        if change is not None:
            change = replace(change, etag=etag)
            return await self.sender.patiently(
                item, CallKind.WRITE, lambda: writer.update(target, change, key), leave, has_turn=has_turn
            )
        if operation.phase == "delete" or operation.action == Action.DELETE.value:
            return await self.sender.patiently(
                item, CallKind.DELETE, lambda: writer.delete(target, key, etag), leave, has_turn=has_turn
            )
        new, again = replace(target, id=None) if known is not None else target, item.kind.repeats_create
        return await self.sender.patiently(
            item, CallKind.WRITE, lambda: writer.create(new, key), leave, has_turn=has_turn, is_repeatable=again
        )

    # -- poll

    async def ask(self, run: Run, token: Mapping[str, Json]) -> WriteResult:
        """Ask once how an operation is doing that another process began to poll."""
        writer, target = await self.world.writer(run.claim.address.connection), run.item.target()
        return await self.sender.patiently(run.item, CallKind.READ, lambda: writer.poll(target, dict(token)))

    async def poll(self, run: Run, writing: WriteResult, under: str = "") -> WriteResult:
        """Poll a long-running operation to its end; its token is recorded, so that any process can go on.

        The token is the operation's own, or stands in it `under` a name. Only the first kind has events.
        """
        seconds = min(self.poll_seconds, run.item.settings.operation_timeout)
        limit = PollLimit(self.clock, self.stop, seconds)
        while isinstance(writing, InProgress):
            token = {**run.operation.token, under: dict(writing.token)} if under else dict(writing.token)
            poll_at = None if under else self.clock.now() + writing.poll_after_seconds
            run.operation = replace(run.operation, step=OperationStep.SENT, token=token, poll_at=poll_at)
            transaction = self.step(run, "write.sent")
            if under:
                transaction.events.clear()
            await self.store.commit(transaction)
            await limit.wait(writing.poll_after_seconds)
            await self.keeper.ensure(run.claim)
            writing = await self.sender.polled(run.item, writing)
        return writing

    # -- record

    async def conclude(self, run: Run, transaction: Transaction) -> None:
        """Record the end of a write, and give its claim back with it."""
        transaction.writes.released.append(run.claim)
        await self.store.commit(transaction)
        self._released.add((run.claim.address, run.claim.fence))

    async def correction(self, run: Run) -> CorrectionRecord | None:
        """Return the correction of a write as it was begun, by this process or another one."""
        if run.begun is None:
            run.begun = await self.store.correction(run.operation.id)
        return run.begun
