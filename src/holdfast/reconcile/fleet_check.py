"""The check of a fleet, batch by batch: memory holds one batch, the writes that the limits must judge, and an index.

The index has the provider id and the digest of every resource of a kind that a list call serves. A result leaves as
soon as it is final. The result of a write that mass drift or a budget may hold is final after the last batch.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from holdfast.compare import verdict_rules
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status, Verdict
from holdfast.policy.decide import CORRECTED
from holdfast.reconcile import attribution, evaluate
from holdfast.reconcile.check import BATCH, MOVED, Checker, CheckResult, OverridesOnce
from holdfast.reconcile.listing import Listing
from holdfast.reconcile.observe import LIST_FROM, Lists
from holdfast.reconcile.report import RunReport, Sink, keep_all
from holdfast.reconcile.resolve import Blocked, ResourceResolver
from holdfast.reconcile.resolved_resource import ResolvedResource

RELISTED: Final = 5_000  # edited resources whose live documents one further list call brings, all in memory at once

Progress = Callable[[CheckResult | Blocked], None]
Filter = Callable[[Sequence[ResolvedResource]], Awaitable[list[ResolvedResource]]]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The final results of one batch, and the declarations that cannot be checked yet."""

    checks: list[CheckResult]
    waiting: list[Blocked]
    addresses: Sequence[Address]  # that were taken from the fleet for it


@dataclass(slots=True)
class FleetCheck:
    """One run of checks. `batches` yields results that are final, `deferred` collects those that limits must judge."""

    preparer: ResourceResolver
    checker: Checker
    progress: Progress | None = None
    record: bool = True
    ahead: bool = False  # for a plan: wait only for values that no manifest declares
    select: Filter | None = None  # drops resources that this run does not check
    deferred: list[CheckResult] = field(default_factory=list)
    moved: dict[Address, Verdict] = field(default_factory=dict)  # drifted or missing, deferred or not
    _sizes: Mapping[tuple[str, str], int] | None = None  # of the fleet, before this run recorded new resources
    _overrides: OverridesOnce | None = None

    async def batches(self, wanted: Sequence[Address]) -> AsyncGenerator[BatchResult, None]:
        """Check resources in this order, and yield the final results of each batch."""
        overrides = self._overrides = self._overrides or self.checker.overrides()
        if len(wanted) <= BATCH:
            ready, waiting = await self._prepared(wanted)
            yield BatchResult(await self._settled(await self.checker.check_alone(ready, overrides)), waiting, wanted)
            return
        lists = await self._list(wanted)
        edited: list[Address] = []
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            ready, waiting = await self._prepared(part)
            is_known = [evaluate.is_unchanged(item, item.state) for item in ready]
            is_edited = [
                not same and _is_listed_unchanged(item, lists) for item, same in zip(ready, is_known, strict=True)
            ]
            edited += [item.declaration.address for item, later in zip(ready, is_edited, strict=True) if later]
            if any(is_edited):
                is_known = [same for same, later in zip(is_known, is_edited, strict=True) if not later]
                ready = [item for item, later in zip(ready, is_edited, strict=True) if not later]
            checks = await self.checker.check_batch(ready, lists, overrides, is_known)
            yield BatchResult(await self._settled(checks), waiting, part)
            if len(edited) >= RELISTED:
                async for batch in self._relisted(edited):
                    yield batch
                edited = []
        async for batch in self._relisted(edited):
            yield batch

    async def _relisted(self, edited: Sequence[Address]) -> AsyncGenerator[BatchResult, None]:
        """Check edited resources, whose live documents are needed although these have not changed."""
        if not edited:
            return
        assert self._overrides is not None
        lists = await self._list(edited, is_any_needed=True)
        for start in range(0, len(edited), BATCH):
            ready, waiting = await self._prepared(edited[start : start + BATCH])
            is_known = [evaluate.is_unchanged(item, item.state) for item in ready]
            checks = await self.checker.check_batch(ready, lists, self._overrides, is_known)
            yield BatchResult(await self._settled(checks), waiting, ())

    async def _prepared(self, addresses: Sequence[Address]) -> tuple[list[ResolvedResource], list[Blocked]]:
        ready, waiting = await self.preparer.prepare(addresses, ahead=self.ahead)
        return (await self.select(ready) if self.select is not None else ready), waiting

    async def _list(self, wanted: Sequence[Address], *, is_any_needed: bool = False) -> Lists:
        """List the kinds of these resources, where that is possible and enough of them are known to the store."""
        families: dict[tuple[str, str], list[Address]] = {}
        for address in wanted:
            families.setdefault((address.connection, address.kind), []).append(address)
        digests: dict[tuple[str, str], dict[str, bytes | None]] = {}
        for family, addresses in families.items():
            kinds = (await self.checker.reader(family[0])).kinds
            kind = kinds.get(self.preparer.fleet.declarations[addresses[0]].type or "") or kinds.get(family[1])
            if len(addresses) < LIST_FROM or kind is None or not kind.lists:
                continue
            expected = digests.setdefault(family, {})
            for start in range(0, len(addresses), BATCH):
                known = await self.checker.listed_digests(addresses[start : start + BATCH])
                expected.update(dict.fromkeys(known) if is_any_needed else known)
        return await self.checker.list_kinds(digests)

    async def _settled(self, checks: list[CheckResult]) -> list[CheckResult]:
        """Return the results that are final, recorded; keep the others for `limited`."""
        final: list[CheckResult] = []
        for checked in checks:
            self.preparer.note(checked)
            if self.progress is not None:
                self.progress(checked)
            verdict = checked.evaluation.verdict
            if verdict.status in CORRECTED or verdict.status is Status.MISSING:
                self.moved[checked.address] = verdict
            (self.deferred if self.checker.needs_limit(checked) else final).append(checked)
        if not self.record or not final:
            return final
        if self._sizes is None and any(checked.decision.action.is_write for checked in final):
            self._sizes = await self.checker.count_resources()
        return await self.checker.record(final)  # at most a batch

    def foreseen(self, wanted: Iterable[Address]) -> dict[Address, Verdict]:
        """Return the verdicts of this run as far as mass drift is judged by them: in sync is as good as pending."""
        return dict.fromkeys(wanted, verdict_rules.UNCHANGED) | self.moved

    async def limited(self, foreseen: Mapping[Address, Verdict]) -> list[CheckResult]:
        """Apply the limits of the fleet to the deferred results, record them, and return them."""
        deferred, self.deferred = self.deferred, []
        return await self.checker.hold_back(deferred, foreseen, record=self.record, sizes=self._sizes)


async def check_resources(  # noqa: PLR0913 - every caller sets few of them
    preparer: ResourceResolver,
    checker: Checker,
    addresses: Iterable[Address] | None = None,
    progress: Progress | None = None,
    *,
    record: bool = True,
    attribute: bool = False,
    sink: Sink = keep_all,
) -> RunReport:
    """Check all or some declared resources and return the report. Live state is not changed.

    With `attribute` the providers are also asked for the likely actors, once for each resource that changed. `sink`
    receives each result as soon as it is final, and returns True if the report keeps it.
    """
    report = RunReport(sink=sink)
    run = FleetCheck(preparer, checker, progress, record=record, ahead=True)
    wanted = list(addresses) if addresses is not None else preparer.fleet.graph.addresses
    asked = 0

    async def add(checks: list[CheckResult]) -> None:
        nonlocal asked
        if attribute and asked < attribution.MOST:
            drifted = sum(checked.verdict.status in MOVED for checked in checks)
            checks = await checker.attributed(checks, attribution.MOST - asked)
            asked += drifted
        report.add_checked(checks)

    for part in preparer.in_turn(wanted):
        async for batch in run.batches(part):
            report.waiting += batch.waiting
            await add(batch.checks)
    if run.deferred:
        unseen = {waiting.declaration.address for waiting in report.waiting}
        await add(await run.limited(run.foreseen(address for address in wanted if address not in unseen)))
    if len(report.checked) > 1:
        places = {address: place for place, address in enumerate(wanted)}
        report.checked.sort(key=lambda checked: places[checked.address])
    return report


def _is_listed_unchanged(item: ResolvedResource, lists: Lists) -> bool:
    """Return True if the live document is the last one by its digest, so that the list kept no bytes of it."""
    address, state = item.declaration.address, item.state
    if state is None or state.observed.provider_id is None:
        return False
    listing = lists.get((address.connection, address.kind))
    return isinstance(listing, Listing) and listing.has_unchanged(state.observed.provider_id)
