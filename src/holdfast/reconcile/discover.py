"""Discovery of live resources without a declaration, by connection and kind. It only reads and stores nothing.

Coverage counts only kinds that were listed. A kind that cannot be listed is reported as not listed, and a kind whose
list failed is reported as failed. Neither is ever shown as covered. A live resource counts as declared if a declaration
is known to refer to it: by the id in the store, by the id or filter of an import, or by a read of the declaration.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from holdfast.compare.profile import Profile
from holdfast.compare.profiles import stack
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration, ManagementPolicy
from holdfast.providers.protocol import Kind, Reader, ReadFailed, Target, Unchanged
from holdfast.reconcile import generate_manifest, observe
from holdfast.reconcile.check import BATCH
from holdfast.reconcile.generate_manifest import CannotDraft
from holdfast.reconcile.observe import Observer
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.resolve import ResourceResolver
from holdfast.reconcile.retry import RETRIED


class KindListing(StrEnum):
    """Outcome of listing a kind."""

    LISTED = "listed"
    NOT_LISTED = "not listed"  # the provider has no way to list it
    FAILED = "failed"  # the list failed, or it is unknown which resources are declared


@dataclass(frozen=True, slots=True)
class Stranger:
    """A live resource without a declaration."""

    id: str
    raw: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Survey:
    """Result of the survey of one kind of one connection."""

    connection: str
    provider: str
    kind: str
    listing: KindListing
    reason: str = ""
    live: int = 0
    strangers: tuple[Stranger, ...] = ()

    @property
    def declared(self) -> int:
        """The number of live resources that are declared."""
        return self.live - len(self.strangers)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Share of the live resources that are declared, over the kinds that were listed."""

    live: int
    declared: int

    @property
    def share(self) -> float | None:
        """The declared share, or None if no resource is live."""
        return self.declared / self.live if self.live else None

    def __str__(self) -> str:
        if self.share is None:
            return "nothing is live in what was listed"
        return f"{self.declared} of {self.live} live things are declared: {100 * self.share:.1f} %"


def coverage(surveys: Iterable[Survey]) -> Coverage:
    """Return the coverage over the kinds that were listed, and no others."""
    listed = [survey for survey in surveys if survey.listing is KindListing.LISTED]
    return Coverage(sum(item.live for item in listed), sum(item.declared for item in listed))


@dataclass(frozen=True, slots=True)
class Drafted:
    """A live resource with the manifest that imports it, or with the reason why there is none."""

    kind: str
    id: str
    address: Address | None = None
    manifest: Json = None
    left_out: tuple[tuple[str, str], ...] = ()
    trouble: str = ""


@dataclass(slots=True)
class _Placed:
    """Declared ids of a connection by pool, and the pools in which they are not known for sure."""

    ids: dict[str, set[str]] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)

    def add(self, pool: str, *idents: str) -> None:
        self.ids.setdefault(pool, set()).update(idents)

    def doubt(self, pool: str, address: Address, why: str) -> None:
        self.doubts.setdefault(pool, f"{address} is declared, and which live thing it is could not be told: {why}")


@dataclass(slots=True)
class Discoverer:
    """Component that lists live resources and compares them with the declarations."""

    preparer: ResourceResolver
    looker: Observer
    keeps_raw: bool = False  # keep the raw bytes of undeclared resources, for drafts

    async def survey(self, connection: str, wanted: Callable[[str], bool] = lambda _kind: True) -> list[Survey]:
        """Return a survey of each kind of a connection, in the order of their names."""
        reader = await self.preparer.world.reader(connection)
        kinds = [reader.kinds[name] for name in sorted(reader.kinds) if wanted(name)]
        placed = await self._placed(connection, reader, {_pool(kind) for kind in kinds if _can_list(kind)})
        return [await self._kind(connection, reader, kind, placed) for kind in kinds]

    async def _kind(self, connection: str, reader: Reader, kind: Kind, placed: _Placed) -> Survey:
        provider = self.preparer.world.connections[connection].provider
        if not _can_list(kind):
            return Survey(connection, provider, kind.name, KindListing.NOT_LISTED, "the provider cannot list this kind")
        listed = await self._list(connection, reader, kind.name, placed.ids.get(_pool(kind), set()))
        if isinstance(listed, ReadFailure):
            reason = f"could not be listed ({listed.trouble.value}){': ' + listed.detail if listed.detail else ''}"
            return Survey(connection, provider, kind.name, KindListing.FAILED, reason)
        doubt = placed.doubts.get(_pool(kind))
        if doubt is not None:
            return Survey(connection, provider, kind.name, KindListing.FAILED, doubt)
        live, strangers = listed
        return Survey(connection, provider, kind.name, KindListing.LISTED, "", live, tuple(strangers))

    async def _list(
        self, connection: str, reader: Reader, kind: str, declared: Collection[str]
    ) -> tuple[int, list[Stranger]] | ReadFailure:
        """List a kind through the rate limiter of its connection; return the count and the undeclared resources.

        Transient failures are retried. A partial list counts as a failure. Nothing is kept of declared resources.
        """
        gate, looker = self.preparer.world.gate(connection), self.looker
        attempt = 0
        while True:
            attempt += 1
            live, strangers = 0, list[Stranger]()
            try:
                async with gate.turn(CallKind.READ):
                    async for item in reader.list(kind):
                        live += 1
                        if item.id not in declared:
                            strangers.append(Stranger(item.id, item.raw if self.keeps_raw else b""))
                return live, strangers
            except ReadFailed as error:
                failure = observe.hidden(_unreadable(error.reading), self.preparer.world.known)
            if failure.trouble is ReadError.THROTTLED:
                gate.throttled(failure.retry_after_seconds)
            if failure.trouble not in RETRIED or attempt >= looker.patience.attempts:
                return failure
            if failure.trouble is not ReadError.THROTTLED:
                delay = looker.patience.delay(attempt, failure.retry_after_seconds, looker.random01)
                await looker.clock.sleep(delay)

    # -- live resources that the declarations refer to

    async def _placed(self, connection: str, reader: Reader, pools: set[str]) -> _Placed:
        placed = _Placed()
        declared = self.preparer.fleet.declarations
        mine = [
            address
            for address in declared
            if address.connection == connection and _pool_of(reader, address.kind) in pools
        ]
        for start in range(0, len(mine), BATCH):
            batch = mine[start : start + BATCH]
            states = await self.preparer.store.states(batch)
            unknown: list[Address] = []
            for address in batch:
                state, pool = states.get(address), _pool_of(reader, address.kind)
                if state is not None and state.observed.provider_id is not None:
                    placed.add(pool, state.observed.provider_id)
                elif (imported := declared[address].import_from) is None:
                    unknown.append(address)
                elif imported.id is not None:
                    placed.add(pool, imported.id)
                else:
                    await self._find(reader, declared[address], placed)
            await self._read(reader, unknown, placed)
        return placed

    async def _find(self, reader: Reader, declaration: Declaration, placed: _Placed) -> None:
        """Add the ids that match the import filter of a declaration.

        Several matches are left to the user. No match means that the resource is new.
        """
        address, wanted = declaration.address, declaration.import_from
        pool = _pool_of(reader, address.kind)
        try:
            async with self.preparer.world.gate(address.connection).turn(CallKind.READ):
                found = await reader.find(address.kind, (wanted.filter if wanted is not None else None) or {})
        except ReadFailed as error:
            why = self.preparer.world.known.hidden(_said(error.reading))
            placed.doubt(pool, address, f"what it imports could not be looked up ({why})")
        else:
            placed.add(pool, *found)

    async def _read(self, reader: Reader, addresses: Sequence[Address], placed: _Placed) -> None:
        """Add the ids of declarations that were never applied, by reading the resources that they identify.

        A declaration that waits for a dependency has no live resource yet.
        """
        ready, _waiting = await self.preparer.prepare(addresses)
        readings = await self.looker.read_all(ready, {}, [False] * len(ready))
        for item, reading in zip(ready, readings, strict=True):
            address = item.declaration.address
            pool = _pool_of(reader, address.kind)
            match reading:
                case Found(id=ident):
                    placed.add(pool, ident if ident is not None else address.name)
                case ReadFailure():
                    placed.doubt(pool, address, _said(reading))
                case NotFound() | Unchanged():
                    pass

    # -- drafting manifests

    async def drafts(self, survey: Survey, policy: ManagementPolicy) -> AsyncIterator[Drafted]:
        """Yield a drafted manifest for every undeclared resource of a survey."""
        reader = await self.preparer.world.reader(survey.connection)
        kind = reader.kinds[survey.kind]
        declared = self.preparer.fleet.declarations
        taken = {a.name for a in declared if (a.connection, a.kind) == (survey.connection, survey.kind)}
        for stranger in sorted(survey.strangers, key=lambda each: each.id):
            try:
                document = await self._document(reader, survey, kind, stranger)
                rules = stack(self._profiles(survey, kind)).tree(document, document)
                found = generate_manifest.draft(document, rules, self.preparer.world.known)
            except CannotDraft as why:
                yield Drafted(survey.kind, stranger.id, trouble=str(why))
                continue
            address = Address(survey.connection, survey.kind, generate_manifest.name_for(stranger.id, document, taken))
            taken.add(address.name)
            written = generate_manifest.manifest(address, survey.provider, stranger.id, found, policy)
            yield Drafted(survey.kind, stranger.id, address, written, found.left_out)

    def _profiles(self, survey: Survey, kind: Kind) -> list[Profile]:
        own = [profile for profile in self.preparer.fleet.profiles if profile.applies_to(survey.provider, kind.name)]
        return [*own, *kind.profiles]

    async def _document(self, reader: Reader, survey: Survey, kind: Kind, stranger: Stranger) -> Json:
        """Return the document of an undeclared resource, from the list if it equals a read, else from a read."""
        if kind.lists:
            try:
                return reader.parse(kind.name, stranger.raw)
            except ReadFailed as error:
                raise CannotDraft(self.preparer.world.known.hidden(_said(error.reading))) from None
        async with self.preparer.world.gate(survey.connection).turn(CallKind.READ):
            reading = await reader.read(Target(kind.name, "", stranger.id, _nothing()))
        if not isinstance(reading, Found):
            raise CannotDraft(self.preparer.world.known.hidden(_said(reading)))
        return reading.document


def _nothing() -> Mapping[str, Json]:
    return {}


def _can_list(kind: Kind) -> bool:
    return kind.lists or kind.discovers


def _pool(kind: Kind) -> str:
    """Return the scope in which the ids of a kind are unique. A pool never collides with a kind of the same name."""
    return f"pool {kind.pool}" if kind.pool else f"kind {kind.name}"


def _pool_of(reader: Reader, kind: str) -> str:
    found = reader.kinds.get(kind)
    return _pool(found) if found is not None else f"kind {kind}"


def _unreadable(reading: ReadResult) -> ReadFailure:
    return reading if isinstance(reading, ReadFailure) else ReadFailure(ReadError.OTHER, "the list could not be read")


def _said(reading: ReadResult | Unchanged) -> str:
    match reading:
        case ReadFailure(trouble=trouble, detail=detail):
            return detail or trouble.value
        case NotFound():
            return "it was deleted in the meantime"
        case _:
            return "it could not be read"
