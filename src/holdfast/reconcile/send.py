"""One write through its connection's gate, with retries, and the limit on polling its operation.

Right before every send, first or repeated, its owner is asked whether it may still be made: the claim may be lost, or a
person may have stopped the run, while the write waited for its turn.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace

from holdfast.model.record import dataclass
from holdfast.model.write_result import InProgress, WriteError, WriteFailure, WriteResult
from holdfast.policy import durations
from holdfast.reconcile import storable_text
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.retry import RetryPolicy

Call = Callable[[], Awaitable[WriteResult]]


class HeldBack(Exception):  # noqa: N818 - an outcome, not a mistake
    """A limit holds a write back in the moment before it would be sent; `was_sent` if an earlier attempt went out."""

    def __init__(self, why: str, *, was_sent: bool = False) -> None:
        self.why = why
        self.was_sent = was_sent
        super().__init__(why)


class StillInProgress(Exception):  # noqa: N818 - an outcome, not a mistake
    """The API has not ended an operation; it is asked again by a later run."""


@dataclass(slots=True)
class PollLimit:
    """How long one operation is followed at a time."""

    clock: Clock
    stop: asyncio.Event | None
    seconds: float = math.inf
    _began: float | None = None

    async def wait(self, seconds: float) -> None:
        """Wait before the next request. Raise StillInProgress if that takes too long, or if the run is stopped."""
        now = self.clock.monotonic()
        self._began = now if self._began is None else self._began
        if now - self._began >= self.seconds:
            followed = durations.format_seconds(float(int(now - self._began)))
            raise StillInProgress(f"the API has not ended the operation after {followed}; the next run asks again")
        await self._sleep(seconds)
        if self.stop is not None and self.stop.is_set():
            raise StillInProgress("the API has not ended the operation; the next run asks again")

    async def _sleep(self, seconds: float) -> None:
        if self.stop is None:
            await self.clock.sleep(seconds)
            return
        waits = [asyncio.ensure_future(self.clock.sleep(seconds)), asyncio.ensure_future(self.stop.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


@dataclass(slots=True)
class Leave:
    """The permission for the sends of one write.

    `held` gets whether an earlier attempt went out, and returns the reason why it may not be sent now. `begin` records
    the write, once, and makes sure of the claim with it; `ensure` makes sure of the claim. Each may raise an exception
    that ends the write.
    """

    held: Callable[[bool], Awaitable[str | None]]
    begin: Callable[[], Awaitable[None]] | None  # None: it is recorded already
    ensure: Callable[[], Awaitable[None]]
    was_sent: bool = False

    async def ask(self) -> None:
        """Return if the next send may go out; raise HeldBack, ClaimLost or BudgetSpent if not."""
        why = await self.held(self.was_sent)
        if why is not None:
            raise HeldBack(why, was_sent=self.was_sent)
        begin, self.begin = self.begin, None
        await (begin or self.ensure)()
        self.was_sent = True


@dataclass(frozen=True, slots=True)
class Sender:
    """The one way a write goes out."""

    world: WritableConnections
    clock: Clock
    random01: Callable[[], float]
    patience: RetryPolicy

    async def turn(self, item: ResolvedResource, budget: CallKind) -> None:
        """Wait for a write's turn at the limits of its connection, before anything is claimed for it."""
        await self.world.gate(item.declaration.address.connection).token(budget, urgent=item.is_urgent)

    async def patiently(
        self,
        item: ResolvedResource,
        budget: CallKind,
        call: Call,
        leave: Leave | None = None,
        *,
        has_turn: bool = False,
        is_repeatable: bool = True,
    ) -> WriteResult:
        """Send through the gate. Retry transient failures, and slow the connection down if the service asks for it.

        A call that is not repeatable is sent again only if the answer proves that nothing was done.
        """
        gate = self.world.gate(item.declaration.address.connection)
        attempt = 0
        while True:
            attempt += 1
            if attempt > 1 or not has_turn:
                await self.turn(item, budget)
            async with gate.slot():
                if leave is not None:
                    await leave.ask()
                writing = storable_text.of_writing(await call())
            if not isinstance(writing, WriteFailure):
                return writing
            writing = replace(writing, message=self.world.known.hidden(writing.message))
            if attempt >= self.patience.attempts:
                return writing
            if writing.is_unsure and not is_repeatable:
                return writing
            if writing.refusal is WriteError.THROTTLED:
                gate.throttled(writing.retry_after_seconds)
            elif writing.refusal is WriteError.RETRYABLE:
                await self.clock.sleep(self.patience.delay(attempt, writing.retry_after_seconds, self.random01))
            else:
                return writing

    async def polled(self, item: ResolvedResource, writing: InProgress) -> WriteResult:
        """Ask once how an operation under way is doing."""
        writer = await self.world.writer(item.declaration.address.connection)
        return await self.patiently(item, CallKind.READ, lambda: writer.poll(item.target(), writing.token))
