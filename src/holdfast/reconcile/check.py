"""Checking: read, compare, decide, record. Written against World, which has no writers."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.attribution import Suspect
from holdfast.model.budget_charge import Charge
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.json import Json
from holdfast.model.read_result import Found, Reading
from holdfast.model.verdict import Aside, SetAside, Status, Verdict
from holdfast.policy import write_reasons
from holdfast.policy.contention_rules import Fight
from holdfast.policy.decide import Situation, decide, hold
from holdfast.policy.fleet_limits import Allowed
from holdfast.policy.write_reasons import Motive
from holdfast.providers.protocol import Habitual, Hint, Listed, Reader, Signed, Unchanged
from holdfast.reconcile import (
    api_version_migration,
    attribution,
    conditions,
    decision_inputs,
    decision_log,
    evaluate,
    fault_isolation,
    observe,
    rule_migration,
    serialize,
)
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import World
from holdfast.reconcile.evaluate import Judged
from holdfast.reconcile.known_secrets import Fingerprint
from holdfast.reconcile.next_state import Memory
from holdfast.reconcile.observe import Lists, Looker
from holdfast.reconcile.policy_evaluation import FIGHT, Governor, Past, Rules, Standing
from holdfast.reconcile.resolved_resource import Prepared, document_bytes
from holdfast.reconcile.retry import Patience
from holdfast.store.protocol import DecisionRecord, Demotion, Digest, Event, ResourceState, Store, Touch, Transaction

BATCH = 500
MOVED = frozenset({Status.DRIFTED, Status.CONFLICTED})  # somebody did it
_NOTHING = decide(evaluate.STILL, Situation(applied=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Judged):
    """What a check brought: the truth, what to do about it, and what to remember."""

    decision: Decision
    situation: Situation | None  # None: nothing had to be decided
    state: ResourceState
    asked: bool = False  # a person asked for exactly this
    plan: str = ""  # what an approval must name
    charges: tuple[Charge, ...] = ()  # what carrying it out takes from the budgets
    fights: tuple[Fight, ...] = ()  # all that are under way
    new_fights: tuple[Fight, ...] = ()
    suspects: tuple[Suspect, ...] = ()  # who may have moved it, where that was asked
    limit: Reason | None = None  # why a limit of the fleet holds it back, where one does

    @property
    def wanted_write(self) -> bool:
        """Whether something was to be written, before the limits of the fleet were asked."""
        return self.decision.action.is_write or self.limit is not None

    @property
    def address(self) -> Address:
        """Return whom it is about."""
        return self.prepared.declaration.address


Progress = Callable[[Checked], None]


class Checker:
    """Checks prepared resources and records what it finds."""

    def __init__(  # noqa: PLR0913, PLR0917 - everything it looks through
        self,
        store: Store,
        world: World,
        clock: Clock,
        random01: Callable[[], float],
        fingerprint: Fingerprint,
        patience: Patience | None = None,
        rules: Rules | None = None,
    ) -> None:
        self._store = store
        self._governor = Governor(store, rules or Rules())
        self._looker = Looker(world, clock, random01, patience or Patience(), fingerprint)
        self._clock = clock
        self._random01 = random01
        self._memory = Memory(random01, patience or Patience())

    def now(self) -> float:
        """Return the present, as the clock of this checker has it."""
        return self._clock.now()

    @property
    def rules(self) -> Rules:
        """What the project says about correcting, and about assessing what was corrected."""
        return self._governor.rules

    def foresee(self, checks: Iterable[Checked]) -> None:
        """Count with these where a storm is judged, though nothing is done about them yet."""
        self._governor.foreseen = {checked.address: checked.verdict for checked in checks}

    def foresee_also(self, checks: Iterable[Checked]) -> None:
        """Count with these as well."""
        self._governor.foreseen |= {checked.address: checked.verdict for checked in checks}

    @property
    def foreseen(self) -> set[Address]:
        """What is counted with already."""
        return set(self._governor.foreseen)

    async def is_storm(self, checks: Sequence[Checked]) -> bool:
        """Tell whether these are mass drift, with everything that is known of the rest."""
        return await self._governor.is_storm(checks, self._clock.now())

    async def reader(self, connection: str) -> Reader:
        """Return the reader of a connection."""
        return await self._looker.world.reader(connection)

    async def read(self, item: Prepared, hint: Hint | None) -> Reading | Unchanged:
        """Read one thing, with patience for passing troubles."""
        return await self._looker.read(item, hint)

    async def parsed(self, item: Prepared, entry: Listed) -> Reading | Unchanged:
        """Return a listed item as a read of it would be."""
        return await self._looker.parsed(item, entry)

    async def check_all(
        self,
        prepared: Sequence[Prepared],
        progress: Progress | None = None,
        *,
        record: bool = True,
        fresh: bool = False,
        meet: Callable[[Sequence[Checked]], Awaitable[None]] | None = None,
    ) -> list[Checked]:
        """Check many, batch by batch; what a batch found is recorded in one transaction before the next begins.

        What asks for a write is recorded last, once the limits of the fleet have said what becomes of it. With `fresh`
        everything is read and compared, even what has not moved. `meet` is told what was found before the limits are
        asked, and may wait for others.
        """
        found = await self._looked(prepared, progress, record=record, fresh=fresh)
        if meet is not None:
            await meet(found)
        return await self._held_back(found, record=record)

    async def pause(self, seconds: float) -> None:
        """Wait, by the clock of this checker."""
        await self._clock.sleep(seconds)

    async def check_in_turn(
        self, turns: AsyncIterable[Sequence[Prepared]], progress: Progress | None = None, *, record: bool = True
    ) -> list[Checked]:
        """Check several parts of a fleet, one after the other, under limits that see them as a whole."""
        found = [one async for part in turns for one in await self._looked(part, progress, record=record, fresh=False)]
        return await self._held_back(found, record=record)

    async def _looked(
        self, prepared: Sequence[Prepared], progress: Progress | None, *, record: bool, fresh: bool
    ) -> list[Checked]:
        out: list[Checked] = []
        listed = await self._looker.lists(prepared, fresh=fresh)
        standing = await self._governor.standing()
        for start in range(0, len(prepared), BATCH):
            judged = await self._judge_batch(prepared[start : start + BATCH], listed, standing, fresh=fresh)
            done = await self._decide_batch(judged, standing, progress)
            out += await self._recorded(done, lambda one: not one.decision.action.is_write) if record else done
        return out

    async def _judge_batch(
        self, batch: Sequence[Prepared], listed: Lists, standing: Standing, *, fresh: bool
    ) -> list[Judged]:
        hints = [None if fresh else observe.own_hint(item) for item in batch]
        readings = await self._looker.read_all(batch, listed, hints)
        pairs = await api_version_migration.in_old_version(self._looker, batch, readings)
        seen: list[Digest | None] = []
        for place, (item, reading) in enumerate(pairs):
            contained, digest = evaluate.digested(item, reading)
            pairs[place] = item, contained
            seen.append(digest)
        for place, (item, reading) in enumerate(pairs):
            if hints[place] is not None and item.declaration.address not in standing.acceptances:
                pairs[place] = item, evaluate.unmoved(item, reading, seen[place])
        documents = await self._prefetch(
            item
            for (item, reading), digest in zip(pairs, seen, strict=True)
            if isinstance(reading, Found)
            and digest is not None
            and (rule_migration.is_due(item) or not evaluate.is_baseline(item, digest))
        )
        means = evaluate.Means(documents, self._clock.now())
        return [
            evaluate.judge(*pair, digest, means)
            if isinstance(pair[1], Unchanged)
            else await self._judged_alone(pair, digest, means, (item, reading))
            for pair, digest, item, reading in zip(pairs, seen, batch, readings, strict=True)
        ]

    async def _judged_alone(
        self,
        pair: tuple[Prepared, Reading | Unchanged],
        digest: Digest | None,
        means: evaluate.Means,
        first: tuple[Prepared, Reading | Unchanged],
    ) -> Judged:
        """Judge one; an object that nobody can deal with is unknown, and stops no other."""
        try:
            return api_version_migration.carried_over(await self._judged(pair, digest, means), *first)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            reading = fault_isolation.unreadable(error, pair[0].declaration.address)
            return evaluate.judge(pair[0], reading, None, means)

    async def _judged(
        self, pair: tuple[Prepared, Reading | Unchanged], digest: Digest | None, means: evaluate.Means
    ) -> Judged:
        original, reading = pair
        item = rule_migration.succeeded(original, means.documents) if digest is not None else original
        if item.succession is not None:
            means = replace(means, documents={**means.documents, **item.succession.documents})
        if isinstance(reading, Found) and evaluate.is_settling(item, means.now):
            means = replace(means, signature=await self._signature(item))
        judged = evaluate.judge(item, reading, digest, means)
        if judged.joined and await attribution.is_of_another(self._looker.world, judged):
            judged = evaluate.judge(item, reading, digest, replace(means, touched=True))
        return _concluded(judged)

    async def _decide_batch(
        self, batch: Iterable[Judged], standing: Standing, progress: Progress | None
    ) -> list[Checked]:
        judged = [self._governor.set_aside(each, standing) for each in await self._with_habits(batch)]
        past = await self._governor.past(judged, self._clock.now())
        out: list[Checked] = []
        for each in judged:
            checked = self._decided(self._governor.unresolved(each, past), standing, past)
            if progress is not None:
                progress(checked)
            out.append(checked)
        return out

    async def _signature(self, item: Prepared) -> evaluate.Signature | None:
        """Return what tells who wrote a document: what others add just after our write is theirs."""
        address = item.declaration.address
        reader = await self._looker.world.reader(address.connection)
        return functools.partial(reader.signature, address.kind) if isinstance(reader, Signed) else None

    async def _with_habits(self, batch: Iterable[Judged]) -> list[Judged]:
        """Add what the platform itself seems to have moved, where its reader knows its habits."""
        return [await self._with_habit(each) if each.verdict.findings else each for each in batch]

    async def _with_habit(self, judged: Judged) -> Judged:
        address, desired = judged.prepared.declaration.address, judged.prepared.desired
        reader = await self._looker.world.reader(address.connection)
        if not isinstance(reader, Habitual):
            return judged
        platform = reader.habits(address.kind, desired, judged.observed, judged.at)
        return replace(judged, platform=platform) if platform else judged

    async def _prefetch(self, batch: Iterable[Prepared]) -> dict[Digest, Json]:
        wanted = {
            digest
            for item in batch
            if item.state is not None
            for digest in (
                item.state.applied.document,
                item.state.applied.baseline,
                item.state.applied.known_differences,
                *rule_migration.wanted(item),
            )
            if digest is not None
        }
        return await self._store.documents(sorted(wanted))

    # -- deciding

    def _decided(self, judged: Judged, standing: Standing, past: Past) -> Checked:
        if judged.is_still:
            return self._unchanged(judged)
        governed = self._governor.govern(judged, decision_inputs.situation_of(judged), standing, past)
        return Checked(
            **{name: getattr(judged, name) for name in Judged.__slots__},
            decision=governed.decision,
            situation=governed.situation,
            state=self._memory.after_check(judged, governed),
            plan=governed.plan,
            fights=governed.fights,
            new_fights=governed.new_fights,
        )

    def _unchanged(self, judged: Judged) -> Checked:
        return Checked(
            judged.prepared,
            judged.at,
            judged.reading,
            judged.observed,
            judged.tree,
            judged.verdict,
            decision=_NOTHING,
            situation=None,
            state=self._memory.after_glance(judged),
        )

    # -- holding back

    async def paused(self, address: Address) -> str | None:
        """Say who paused a resource, and why, if somebody did."""
        return self._governor.paused(address, await self._governor.standing(), self._clock.now())

    async def stopped(self, checked: Checked, motive: Motive | None = None) -> str | None:
        """Say what holds back a write in the moment before it is sent: a pause, or a window for its motive."""
        motive = motive or _motive(checked)
        return await self._governor.stopped(checked.address, motive, self._clock.now())

    async def limited(self, checked: Checked) -> Checked:
        """Hold back a decision that a person made, such as a deletion, where a pause or a budget says so."""
        paused = await self.paused(checked.address)
        if paused is not None:
            return replace(checked, decision=hold(checked.decision, Reason("paused", paused)))
        frozen = await self.stopped(checked)
        if frozen is not None:
            return replace(checked, decision=hold(checked.decision, Reason("frozen", frozen)))
        (only,) = await self._held_back([checked], record=False)
        return only

    async def _held_back(self, checks: list[Checked], *, record: bool) -> list[Checked]:
        """Hold back what a storm or an empty budget stops; only what is left of a decision then is recorded."""
        held = await self._governor.held_back(checks, self._clock.now())
        if not held.changed and not record:
            return checks
        allowed = held.allowed or [Allowed(checked.decision) for checked in checks]
        out = [self._with(checked, each) for checked, each in zip(checks, allowed, strict=True)]
        if not record:
            return out
        if held.storm is not None and any(one.limit is not None and _is_news(one) for one in out):
            data = {"count": held.storm.count, "total": held.storm.total, "message": str(held.storm)}
            event = Event(self._clock.now(), "storm.held", "", data)
            return await self._recorded(out, lambda one: one.wanted_write, [event])
        return await self._recorded(out, lambda one: one.wanted_write)

    def _with(self, checked: Checked, allowed: Allowed) -> Checked:
        if allowed.decision is checked.decision:
            return replace(checked, charges=allowed.charges) if allowed.charges else checked
        state = checked.state
        outcome = conditions.Outcome(
            state.declared.generation, checked.verdict, allowed.decision, checked.at, checked.situation
        )
        state = replace(
            state, observed=replace(state.observed, conditions=conditions.after(state.observed.conditions, outcome))
        )
        return replace(checked, decision=allowed.decision, state=state, charges=(), limit=allowed.decision.reasons[0])

    # -- recording

    async def record(self, checks: Sequence[Checked], events: Sequence[Event] = ()) -> list[Checked]:
        """Make what was found true in the store, in one transaction; return it with the rivals of new fights named."""
        named = await asyncio.gather(*[self._named(each) for each in checks if each.new_fights])
        rivals = {each.address: each for each in named}
        out = [rivals.get(each.address, each) for each in checks] if rivals else list(checks)
        transaction = Transaction(findings_at=self._clock.now(), events=list(events))
        for checked in out:
            self.add(transaction, checked)
        await self._store.commit(transaction)
        for checked in out:
            decision_log.decided(checked)
        return out

    async def _recorded(
        self, checks: Sequence[Checked], chosen: Callable[[Checked], bool], events: Sequence[Event] = ()
    ) -> list[Checked]:
        """Record some of the checks, batch by batch; return all of them, in the same order."""
        places = [place for place, checked in enumerate(checks) if chosen(checked)]
        out = list(checks)
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            done = await self.record([checks[place] for place in batch], events if start == 0 else ())
            for place, checked in zip(batch, done, strict=True):
                out[place] = checked
        return out

    async def _named(self, checked: Checked) -> Checked:
        return replace(checked, suspects=await attribution.rivals(self._looker.world, checked))

    async def attributed(self, checks: Sequence[Checked]) -> list[Checked]:
        """Return the checks with who may have moved what; asks the provider once about each that the world moved."""
        unnamed = [each for each in checks if each.verdict.status in MOVED and not each.suspects]
        named = await asyncio.gather(*[self._named(each) for each in unnamed[: attribution.MOST]])
        about = {each.address: attribution.about(each) for each in named}
        return (
            [replace(each, suspects=about.get(each.address, each.suspects)) for each in checks] if about else [*checks]
        )

    def add(self, transaction: Transaction, checked: Checked) -> str | None:
        """Add a check to a transaction; return the id of its decision if it is one worth keeping."""
        state = checked.state
        if checked.is_still:
            transaction.updates.unchanged.append(
                Touch(state.address, checked.at, state.schedule.due_at, state.observed.etag, state.observed.raw_digest)
            )
            return None
        item = checked.prepared
        kept = item.state
        known = () if kept is None else (kept.declared.document, kept.observed.document, kept.applied.baseline)
        if item.desired_digest not in known:
            transaction.documents[item.desired_digest] = document_bytes(item.desired)
        if checked.observed_digest is not None and checked.observed_digest not in known:
            transaction.documents[checked.observed_digest] = document_bytes(checked.observed)
        if (
            checked.baseline is not None
            and checked.baseline_digest is not None
            and checked.baseline_digest not in known
        ):
            transaction.documents[checked.baseline_digest] = document_bytes(checked.baseline.observed)
        if item.rules_digest not in transaction.documents:  # once for all of a kind
            transaction.documents[item.rules_digest] = document_bytes(item.rules_document)
        if item.succession is not None:
            kept_ones = item.succession.documents.items()
            transaction.documents.update({digest: document_bytes(each) for digest, each in kept_ones})
            told: dict[str, Json] = {
                "latent": list(item.succession.paths(SetAside.LATENT)),
                "defaults_changed": list(item.succession.paths(SetAside.DEFAULTS_CHANGED)),
                "why": item.succession.unreadable,
            }
            transaction.events.append(Event(checked.at, "rules.took_over", str(state.address), told))
        transaction.states.append(state)
        transaction.checked.add(state.address)
        if checked.verdict.status is not Status.UNKNOWN:  # what could not be read has not gone away
            transaction.findings[state.address] = checked.verdict.findings
        before = item.state.observed.status if item.state is not None else None
        if before is not state.observed.status:
            data = {
                "status": state.observed.status.value if state.observed.status else None,
                "was": before.value if before else None,
            }
            transaction.events.append(
                Event(
                    checked.at,
                    "check.status_changed",
                    str(state.address),
                    {
                        **data,
                        "reason": state.observed.reason,
                        "paths": serialize.finding_paths(checked.verdict.findings),
                    },
                )
            )
        if checked.invalid:
            why: dict[str, Json] = {"why": checked.invalid, "carried_over": checked.carried_over}
            transaction.events.append(Event(checked.at, "baseline.invalid", str(state.address), why))
        if checked.joined:
            joined = [{"path": each.path, **_observed(each)} for each in checked.joined]
            transaction.events.append(Event(checked.at, "baseline.joined", str(state.address), {"defaults": joined}))
        self._add_fights(transaction, checked)
        if checked.decision.action is Action.NONE and before is state.observed.status:
            return None
        return self._add_decision(transaction, checked)

    def _add_fights(self, transaction: Transaction, checked: Checked) -> None:
        """Leave what is fought over to a person, from now on."""
        for fight in checked.new_fights:
            data: dict[str, Json] = {
                "times": fight.times,
                "period": fight.period,
                "since": fight.first,
                "ours": _plain(fight.ours),
                "theirs": [_plain(value) for value in fight.theirs],
                **attribution.as_data(checked.suspects),
            }
            transaction.governance.quarantines.append(Demotion(checked.address, fight.path, FIGHT, checked.at, data))
            event = {"path": fight.path, "message": str(fight), **data}
            transaction.events.append(Event(checked.at, "fight.detected", str(checked.address), event))

    def _add_decision(self, transaction: Transaction, checked: Checked) -> str:
        item = checked.prepared
        before = item.state
        assert checked.situation is not None
        assert not isinstance(checked.reading, Unchanged)
        inputs = serialize.keep(
            transaction,
            {
                "desired": item.desired_digest,
                "applied": before.applied.document if before is not None else None,
                "baseline": checked.baseline_digest if checked.baseline else None,
                "rules": serialize.keep(transaction, item.rules_document),
                "secret_rules": checked.secret_rules,
                "reading": serialize.reading_as_json(checked.reading, checked.observed_digest),
                "situation": serialize.situation_as_json(checked.situation),
                "aside": [[each.because.value, each.path, each.note] for each in checked.verdict.aside],
                "lapsed": checked.lapsed,
                **({"carried_over": True} if checked.carried_over else {}),
                **(
                    {"unreadable": item.succession.unreadable} if item.succession and item.succession.unreadable else {}
                ),
                "held": serialize.reason_as_json(checked.limit) if checked.limit is not None else None,
            },
        )
        output = serialize.keep(transaction, serialize.outcome_as_json(checked.verdict, checked.decision))
        chance = f"{int(self._random01() * 16**12):012x}"  # thousands may be decided alike in the same millisecond
        ident = f"{int(checked.at * 1000):x}-{inputs[7:13]}{chance}"
        summary = (
            f"{checked.verdict.status.value}: {checked.decision.action.value}, {checked.decision.reasons[0].message}"
        )
        transaction.decisions.append(
            DecisionRecord(
                ident,
                item.declaration.address,
                checked.at,
                checked.decision.action.value,
                inputs,
                output,
                summary,
                is_news=before is None or before.observed.status is not checked.state.observed.status,
            )
        )
        return ident


def _is_news(checked: Checked) -> bool:
    """Tell whether a check tells anything that was not known of the resource."""
    before = checked.prepared.state
    return before is None or before.observed.conditions != checked.state.observed.conditions


def _motive(checked: Checked) -> Motive:
    """Return what a write is for; a deletion is asked for, whatever the live state is."""
    return (
        Motive.INTENT if checked.decision.action is Action.DELETE else write_reasons.of_status(checked.verdict.status)
    )


def _concluded(judged: Judged) -> Judged:
    """Say nothing about what was judged before by rules that cannot be read here."""
    succession = judged.prepared.succession
    if succession is None or not succession.unreadable:
        return judged
    return replace(judged, verdict=Verdict(Status.UNKNOWN, succession.unreadable))


def _observed(aside: Aside) -> dict[str, Json]:
    return {} if aside.finding is None else {"value": _plain(aside.finding.observed)}


def _plain(value: Json) -> Json:
    """Return a value as events keep it: what is absent is null."""
    return None if value is ABSENT else value
