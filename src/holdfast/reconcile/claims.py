"""Claims of one worker: taken late, renewed while their writes wait, and confirmed right before every send.

A claim expires after some minutes, so that another worker takes over the work of a killed worker. A worker that only
waits (for a rate limit, a retry, an operation) must not lose its claims. A worker that was suspended and resumed must
notice that it lost them. The store decides: the worker with the newest fence is the writer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Final

from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.reconcile.clock import Clock
from holdfast.store.protocol import ClaimStore
from holdfast.store.records import Claim, ClaimLost
from holdfast.store.transaction import Transaction

CLAIM_SECONDS: Final = 300.0
_RENEW_SECONDS: Final = CLAIM_SECONDS / 3


@dataclass(slots=True)
class Keeper:
    """Component that takes claims and renews them."""

    store: ClaimStore
    clock: Clock
    owner: str
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep  # runs beside the writes, so it must not move a fake clock
    _kept: dict[Address, Claim] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    async def claim(self, address: Address) -> Claim | None:
        """Claim a resource for writing and return the claim, or None if another worker holds it."""
        now = self.clock.now()
        return await self.store.claim(address, self.owner, now, now + CLAIM_SECONDS)

    @contextmanager
    def keeping(self, claim: Claim) -> Iterator[None]:
        """Renew a claim in the background while the context is open. The caller releases the claim."""
        self._kept[claim.address] = claim
        if self._task is None:
            self._task = asyncio.create_task(self._renew_all(), name="renew claims")
        try:
            yield
        finally:
            del self._kept[claim.address]
            if not self._kept:
                self._task.cancel()
                self._task = None

    async def commit(self, transaction: Transaction, claim: Claim) -> None:
        """Commit facts together with the renewal of their claim, or raise ClaimLost if the claim is not ours."""
        asked = self.clock.now()
        transaction.writes.renewed.append(Claim(claim.address, claim.owner, claim.fence, asked + CLAIM_SECONDS))
        await self.store.commit(transaction)
        if abs(self.clock.now() - asked) >= _RENEW_SECONDS:  # the process was suspended during the commit
            await self.ensure(claim)

    async def ensure(self, claim: Claim) -> None:
        """Renew a claim right before a send, or raise ClaimLost if it is no longer ours.

        If the process was suspended during the renewal, it renews again because the answer may be outdated.
        """
        while True:
            asked = self.clock.now()
            if await self.store.renew(claim, asked + CLAIM_SECONDS) is None:
                raise ClaimLost(f"another worker has claimed {claim.address} since")
            if abs(self.clock.now() - asked) < _RENEW_SECONDS:
                return

    async def _renew_all(self) -> None:
        while True:
            await self.wait(_RENEW_SECONDS)
            until = self.clock.now() + CLAIM_SECONDS
            await asyncio.gather(*[self.store.renew(claim, until) for claim in list(self._kept.values())])
