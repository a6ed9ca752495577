"""Sending: one write through its connection's gate, with patience for what may pass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from holdfast.engine.clock import Clock
from holdfast.engine.gates import Budget
from holdfast.engine.opening import WritableWorld
from holdfast.engine.prepared import Prepared
from holdfast.engine.retrying import Patience
from holdfast.model.writing import Refusal, Refused, UnderWay, Writing


@dataclass(frozen=True, slots=True)
class Sender:
    """The one way a write goes out."""

    world: WritableWorld
    clock: Clock
    random01: Callable[[], float]
    patience: Patience

    async def patiently(self, item: Prepared, budget: Budget, call: Callable[[], Awaitable[Writing]]) -> Writing:
        """Send through the gate; retry what may pass, slow the connection when told to."""
        gate = self.world.gate(item.declaration.address.connection)
        attempt = 0
        while True:
            attempt += 1
            async with gate.turn(budget, urgent=item.is_urgent):
                writing = await call()
            if not isinstance(writing, Refused):
                return writing
            writing = replace(writing, message=self.world.known.hidden(writing.message))
            if attempt >= self.patience.attempts:
                return writing
            if writing.refusal is Refusal.THROTTLED:
                gate.throttled(writing.retry_after_seconds)
            elif writing.refusal is Refusal.RETRYABLE:
                await self.clock.sleep(self.patience.delay(attempt, writing.retry_after_seconds, self.random01))
            else:
                return writing

    async def polled(self, item: Prepared, writing: UnderWay) -> Writing:
        """Ask once how an operation under way is doing."""
        writer = await self.world.writer(item.declaration.address.connection)
        return await self.patiently(item, Budget.READ, lambda: writer.poll(item.target(), writing.token))
