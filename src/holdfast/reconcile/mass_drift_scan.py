"""The scan for mass drift: before a revert, the other resources of the kind are checked.

A run that meets one resource after the other would correct many before the guard knows that all of them drifted. So the
first correction of a kind waits for one list of that kind. If a kind cannot be listed, a sample of the others is read,
and more of them only if the sample has drifted as well. Nothing is scanned while there is nothing to correct.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import field
from typing import Final, Protocol

from holdfast.errors import HoldfastError
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status
from holdfast.policy import mass_drift
from holdfast.policy.decide import CORRECTED
from holdfast.reconcile.check import Checker, CheckResult
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.policy_evaluation import Foreseen, is_approved
from holdfast.reconcile.resolve import ResourceResolver
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.store.protocol import StateStore
from holdfast.store.transaction import PartialUpdates, Transaction
from holdfast.watch.list_scan import ListScanner

AGAIN_SECONDS: Final = 60.0  # for which a watch does not look at a kind again
TOGETHER: Final = 3  # read at a time where there is no list; fewer than are worth one
MOST_READ: Final = 300  # of a kind that cannot be listed, though all of them have moved

Family = tuple[str, str]  # connection and kind
Look = Callable[[Sequence[Address]], Awaitable[Sequence[CheckResult]]]


class Others(Protocol):
    """The resources of a kind beside those in hand."""

    def is_known(self, family: Family) -> bool:
        """Return True if the kind was scanned recently."""

    async def moved(self, family: Family, without: Collection[Address]) -> list[Address] | None:
        """Return those that may have moved, at the price of a list; None where there is none."""

    async def unlooked(self, family: Family, without: Collection[Address]) -> list[Address]:
        """Return those that were not looked at a moment ago."""

    async def look(self, addresses: Sequence[Address]) -> Sequence[CheckResult]:
        """Look at some of them without acting."""

    async def hasten(self, addresses: Sequence[Address]) -> None:
        """See to it that these, which are not at rest and no mass drift, do not wait for longer than without a look."""


@dataclass(slots=True)
class Surveyor:
    """Looks at the others of a kind before anything of it is reverted."""

    store: StateStore
    checker: Checker
    others: Others
    foreseen: Foreseen = field(default_factory=dict)  # of this run, and of resources that it has yet to come to

    async def survey(self, found: Sequence[CheckResult]) -> None:
        """Foresee the others of whatever is to be corrected, until it is mass drift or is not."""
        guard = self.checker.rules.corrections.mass_drift
        families = sorted(
            {(result.address.connection, result.address.kind) for result in found if _is_correction(result)}
        )
        if guard is None or not families:
            return
        sizes = await self.store.count_resources()
        for family in families:
            if sizes.get(family, 0) < min(guard.at_least, guard.identical) or self.others.is_known(family):
                continue
            if await self.checker.is_mass_drift(found, self.foreseen):
                return
            without = {result.address for result in found} | self.foreseen.keys()
            moved: list[Address] = []
            async for checks in self._looked(family, without, guard.share):
                self.foreseen |= {checked.address: checked.verdict for checked in checks}
                if await self.checker.is_mass_drift(found, self.foreseen):
                    return
                moved += [check.address for check in checks if check.decision.action.is_write]
            await self.others.hasten(moved)

    async def _looked(
        self, family: Family, without: Collection[Address], share: float
    ) -> AsyncIterator[Sequence[CheckResult]]:
        moved = await self.others.moved(family, without)
        if moved is not None:
            found = await _contained(self.others.look, moved)
            if not found or any(result.verdict.status is not Status.UNKNOWN for result in found):
                yield found
                return
        left = _mixed(await self.others.unlooked(family, without), self.checker.now())
        seen = hits = 0
        for start in range(0, min(len(left), MOST_READ), TOGETHER):
            checks = await _contained(self.others.look, left[start : start + TOGETHER])
            seen += len(checks)
            hits += sum(check.verdict.status in CORRECTED for check in checks)
            yield checks
            if not mass_drift.is_worth_a_closer_look(hits, seen, share):
                return


@dataclass(slots=True)
class DeclaredNeighbours:
    """The others of a run whose declarations are all loaded. Their checks are not recorded."""

    store: StateStore
    preparer: ResourceResolver
    checker: Checker
    is_left_alone: Callable[[ResolvedResource], bool]
    _known: set[Family] = field(default_factory=set)

    def is_known(self, family: Family) -> bool:
        """Once in a run."""
        known = family in self._known
        self._known.add(family)
        return known

    async def moved(self, family: Family, without: Collection[Address]) -> list[Address] | None:
        """Return all of them, where one list shows which have moved."""
        connection, kind = family
        known = (await self.checker.reader(connection)).kinds.get(kind)
        return await self.unlooked(family, without) if known is not None and known.lists else None

    async def unlooked(self, family: Family, without: Collection[Address]) -> list[Address]:
        """Return those that are known to be there."""
        declared = [
            address
            for address in self.preparer.fleet.declarations
            if (address.connection, address.kind) == family and address not in without
        ]
        return list(await self.store.states(declared))

    async def look(self, addresses: Sequence[Address]) -> Sequence[CheckResult]:
        """Compare them with their declarations."""
        ready, _ = await self.preparer.prepare(addresses)
        return await self.checker.check_all([item for item in ready if not self.is_left_alone(item)], record=False)

    async def hasten(self, addresses: Sequence[Address]) -> None:
        """Do nothing: their schedule is as it was."""


@dataclass(slots=True)
class Scheduled:
    """The others of a watch: those on the schedule, whose declarations are read again if they may have moved."""

    sweeper: ListScanner
    look: Look  # what it finds is recorded
    clock: Clock
    _known_at: dict[Family, float] = field(default_factory=dict)

    def is_known(self, family: Family) -> bool:
        """Once a minute; a sweep shows as much."""
        now = self.clock.now()
        last = max(
            (entry[family] for entry in (self._known_at, self.sweeper.swept_at) if family in entry), default=None
        )
        if last is not None and abs(now - last) < AGAIN_SECONDS:
            return True
        self._known_at[family] = now
        return False

    async def moved(self, family: Family, without: Collection[Address]) -> list[Address] | None:
        """Return the resources that a list scan did not confirm and that are not known to have drifted."""
        reader = await self.sweeper.world.reader(family[0])
        if family[1] not in reader.kinds or not reader.kinds[family[1]].lists:
            return None
        swept = await self.sweeper.sweep(*family)
        if swept.failure is not None:
            return None
        closer = [item async for batch in self.sweeper.closer(*family, swept) for item in batch if item not in without]
        states = await self.sweeper.store.states(closer)
        return [address for address, state in states.items() if state.observed.status not in CORRECTED]

    async def unlooked(self, family: Family, without: Collection[Address]) -> list[Address]:
        """Return those that were not checked within the last minute."""
        now = self.clock.now()
        every = self.sweeper.store.unchecked(*family, now - AGAIN_SECONDS, now)
        return [address async for address in every if address not in without]

    async def hasten(self, addresses: Sequence[Address]) -> None:
        """Make them due: they were checked just now, and their next turn would be a period away."""
        if addresses:
            now = self.clock.now()
            await self.sweeper.store.commit(
                Transaction(updates=PartialUpdates(rescheduled=[(address, now) for address in addresses]))
            )


def _is_correction(checked: CheckResult) -> bool:
    """Return True if the guard decides about the write. An approved one passes without it."""
    is_correction = checked.decision.action.is_write and checked.verdict.status in CORRECTED
    return is_correction and not is_approved(checked)


def _mixed(addresses: Sequence[Address], now: float) -> list[Address]:
    """Return them in an order that has nothing to do with their names, another one each time."""
    return sorted(addresses, key=lambda each: zlib.crc32(f"{each} {now}".encode()))


async def _contained(look: Look, addresses: Sequence[Address]) -> list[CheckResult]:
    """Check some resources. A mistake in one declaration does not keep the others from being checked."""
    if not addresses:
        return []
    try:
        return list(await look(addresses))
    except HoldfastError:
        half = len(addresses) // 2
        return [*await _contained(look, addresses[:half]), *await _contained(look, addresses[half:])] if half else []
