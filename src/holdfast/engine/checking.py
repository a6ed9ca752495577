"""Checking: read, compare, decide, record. Written against World, which has no writers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.compare import diff, known_differences, paths, verdicts
from holdfast.compare.ruletree import RuleTree
from holdfast.engine import recording
from holdfast.engine.clock import Clock
from holdfast.engine.conditions import conditions_after_check
from holdfast.engine.looking import Lists, Looker
from holdfast.engine.opening import World
from holdfast.engine.prepared import Prepared, digest_of, document_bytes
from holdfast.engine.redaction import Fingerprint, redact
from holdfast.engine.retrying import Patience
from holdfast.errors import StoreError
from holdfast.model.absent import ABSENT
from holdfast.model.condition import merge
from holdfast.model.decision import Action, Decision
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.reading import Found, Gone, Reading, Unreadable
from holdfast.model.resource import ManagementPolicy
from holdfast.model.verdict import Status, Verdict
from holdfast.plan import due
from holdfast.plan.decide import Situation, decide
from holdfast.providers.base import Hint, Unchanged
from holdfast.store.base import DecisionRecord, Digest, Event, ResourceState, Store, Touch, Transaction

BATCH = 500


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check brought: the truth, what to do about it, and what to remember."""

    prepared: Prepared
    at: float
    reading: Reading | Unchanged
    observed: Json  # redacted; ABSENT if nothing was found
    tree: RuleTree | None
    verdict: Verdict
    decision: Decision
    situation: Situation | None
    state: ResourceState
    baseline: diff.Baseline | None = None
    secret_rules: Json = None
    observed_digest: Digest | None = None
    baseline_digest: Digest | None = None

    @property
    def is_fast(self) -> bool:
        """Tell whether nothing had to be parsed."""
        return isinstance(self.reading, Unchanged)


@dataclass(frozen=True, slots=True)
class _Judged:
    """What was concluded from a reading, before it is remembered."""

    prepared: Prepared
    at: float
    reading: Reading
    verdict: Verdict
    decision: Decision
    observed_digest: Digest | None
    baseline_digest: Digest | None


Progress = Callable[[Checked], None]


class Checker:
    """Checks prepared resources and records what it finds."""

    def __init__(
        self,
        store: Store,
        world: World,
        clock: Clock,
        random01: Callable[[], float],
        fingerprint: Fingerprint,
        patience: Patience | None = None,
    ) -> None:
        self._store = store
        self._looker = Looker(world, clock, random01, patience or Patience())
        self._clock = clock
        self._random01 = random01
        self._fingerprint = fingerprint
        self._patience = patience or Patience()

    def now(self) -> float:
        """Return the present, as the clock of this checker has it."""
        return self._clock.now()

    async def read(self, item: Prepared, hint: Hint | None) -> Reading | Unchanged:
        """Read one thing, with patience for passing troubles."""
        return await self._looker.read(item, hint)

    async def check_all(
        self,
        prepared: Sequence[Prepared],
        progress: Progress | None = None,
        *,
        record: bool = True,
        fresh: bool = False,
    ) -> list[Checked]:
        """Check many, batch by batch; what a batch found is recorded in one transaction before the next begins.

        With `fresh` everything is read and compared, even what has not moved.
        """
        out: list[Checked] = []
        listed = await self._looker.lists(prepared, fresh=fresh)
        for start in range(0, len(prepared), BATCH):
            batch = prepared[start : start + BATCH]
            done = await self._check_batch(batch, listed, progress, fresh=fresh)
            if record:
                await self.record(done)
            out += done
        return out

    async def _check_batch(
        self, batch: Sequence[Prepared], listed: Lists, progress: Progress | None, *, fresh: bool
    ) -> list[Checked]:

        readings = await self._looker.read_all(batch, listed, fresh=fresh)
        seen = [_observed_digest(item, reading) for item, reading in zip(batch, readings, strict=True)]
        documents = await self._prefetch(
            item
            for item, digest in zip(batch, seen, strict=True)
            if digest is not None and not _is_baseline(item, digest)
        )
        out: list[Checked] = []
        for item, reading, digest in zip(batch, readings, seen, strict=True):
            checked = self.conclude(item, reading, documents, digest)
            if progress is not None:
                progress(checked)
            out.append(checked)
        return out

    async def _prefetch(self, batch: Iterable[Prepared]) -> dict[Digest, Json]:
        wanted = {
            digest
            for item in batch
            if item.state is not None
            for digest in (item.state.applied, item.state.baseline, item.state.known)
            if digest is not None
        }
        return await self._store.documents(sorted(wanted))

    # -- concluding

    def conclude(
        self, item: Prepared, reading: Reading | Unchanged, documents: Mapping[Digest, Json], seen: Digest | None
    ) -> Checked:
        """Judge a reading and decide; nothing is written here."""
        now = self._clock.now()
        state = item.state or ResourceState(item.declaration.address, item.declaration.provider)
        if isinstance(reading, Unchanged):
            return self._unchanged(item, reading, state, now)
        applied, baseline = self._remembered_documents(item, reading, documents, seen)
        baseline_digest = state.baseline if state.applied is not None and isinstance(reading, Found) else None
        raw_observed = reading.document if isinstance(reading, Found) else ABSENT
        tree, secret_rules = item.rules_for(raw_observed)
        if isinstance(reading, Found):
            shown = redact(reading.document, tree, self._fingerprint, item.secret_values())
            if shown is not reading.document:
                reading = replace(reading, document=shown)
                seen = digest_of(shown)
        observed = reading.document if isinstance(reading, Found) else ABSENT
        if item.declaration.policy is ManagementPolicy.UNMANAGED:
            verdict = _presence_only(reading)
        elif seen is not None and _is_baseline(item, seen):
            verdict = verdicts.conclude(())  # neither side moved, so there is nothing to compare
        else:
            verdict = verdicts.judge(reading, item.desired, tree, applied=applied, baseline=baseline)
            verdict, settled = self._absorb_late(verdict, baseline, state, now)
            if settled is not baseline:
                baseline, baseline_digest = settled, digest_of(settled.observed) if settled else None
        situation = self._situation(item, state, verdict, tree, documents)
        decision = decide(verdict, situation)
        judged = _Judged(item, now, reading, verdict, decision, seen, baseline_digest)
        remembered = self._remembered(judged, state)
        return Checked(
            item,
            now,
            reading,
            observed,
            tree,
            verdict,
            decision,
            situation,
            remembered,
            baseline,
            secret_rules,
            seen,
            baseline_digest,
        )

    def _remembered_documents(
        self, item: Prepared, reading: Reading | Unchanged, documents: Mapping[Digest, Json], seen: Digest | None
    ) -> tuple[Json, diff.Baseline | None]:
        """Return what was applied and the baseline, as far as the verdict can depend on their contents."""
        state = item.state
        if state is None or state.applied is None:
            return ABSENT, None
        # One and the same object where nothing was edited, which the comparison sees at a glance.
        same = state.applied == item.desired_digest
        if not isinstance(reading, Found):
            return item.desired, None
        applied = item.desired if same else _kept(documents, state.applied, item)
        if state.baseline is None:
            return applied, None
        if seen is not None and _is_baseline(item, seen):  # the very document that was just read
            return applied, diff.Baseline(applied, reading.document)
        return applied, diff.Baseline(applied, _kept(documents, state.baseline, item))

    def _unchanged(self, item: Prepared, reading: Unchanged, state: ResourceState, now: float) -> Checked:
        verdict = Verdict(Status.IN_SYNC, "nothing moved since the last check")
        decision = decide(verdict, Situation(applied=True))
        remembered = replace(
            state,
            checked_at=now,
            good_at=now,
            etag=reading.etag,
            raw_digest=reading.raw_digest,
            due_at=self._next_due(item, now),
            failures=0,
            handled=state.requested,
        )
        return Checked(item, now, reading, ABSENT, None, verdict, decision, None, remembered)

    def _absorb_late(
        self, verdict: Verdict, baseline: diff.Baseline | None, state: ResourceState, now: float
    ) -> tuple[Verdict, diff.Baseline | None]:
        if baseline is None or not verdict.findings or state.settle_until is None:
            return verdict, baseline
        after, rest = known_differences.absorb_late(
            baseline, verdict.findings, window_open=now < state.settle_until, touched_by_other=False
        )
        return (verdicts.conclude(rest), after) if after is not baseline else (verdict, baseline)

    def _situation(
        self, item: Prepared, state: ResourceState, verdict: Verdict, tree: RuleTree, documents: Mapping[Digest, Json]
    ) -> Situation:
        settings = item.settings
        fixed = frozenset(paths.format_path(finding.path) for finding in verdict.findings if _is_fixed(finding, tree))
        known = documents.get(state.known) if state.known is not None else None
        edited = state.desired != item.desired_digest
        return Situation(
            policy=item.declaration.policy,
            origin=state.origin,
            on_drift=settings.on_drift,
            on_immutable=settings.on_immutable,
            recreate=settings.recreate,
            resyncs=settings.resync_period > 0,
            applied=state.applied is not None,
            imports=item.declaration.import_from is not None,
            whole_writes=not item.kind.patches,
            immutable=fixed,
            declared_lists=frozenset(
                paths.format_path(f.path) for f in verdict.findings if _is_in_list(f, item.desired)
            ),
            unresolved=frozenset() if edited or not known else frozenset(known.get("unresolved", ())),
            terminal=None if edited else state.terminal,
        )

    def _next_due(self, item: Prepared, now: float) -> float | None:
        period, jitter, shape = (
            item.settings.resync_period,
            item.settings.resync_jitter,
            item.settings.resync_jitter_shape,
        )
        return due.next_due(now, period, jitter, self._random01(), shape) if period > 0 else None

    def _remembered(self, judged: _Judged, state: ResourceState) -> ResourceState:
        """Return the state after a check; a failed read changes only what is known about failing."""
        item, now = judged.prepared, judged.at
        edited = state.desired != item.desired_digest
        generation = state.generation + 1 if edited and state.desired is not None else state.generation
        told = conditions_after_check(generation, judged.verdict, judged.decision, now)
        return replace(
            state,
            provider=item.declaration.provider,
            generation=generation,
            desired=item.desired_digest,
            labels=item.declaration.labels,
            options=item.options,
            resync_seconds=item.settings.resync_period,
            depends_on=item.depends_on,
            source=str(item.declaration.location) or None,
            checked_at=now,
            status=judged.verdict.status,
            reason=judged.verdict.reason,
            terminal=_terminal(judged, state),
            handled=state.requested,
            conditions=tuple(merge({c.type: c for c in state.conditions}, told).values()),
            **self._seen(judged, state),
        )

    def _seen(self, judged: _Judged, state: ResourceState) -> dict[str, Any]:
        """Return what a reading changes: times and tags if it succeeded, the count of failures if not."""
        item, now, reading = judged.prepared, judged.at, judged.reading
        due_at = self._next_due(item, now)
        if isinstance(reading, Unreadable):
            failures = state.failures + 1
            retry = now + self._patience.delay(min(failures, 20), reading.retry_after_seconds, self._random01)
            return {"failures": failures, "due_at": None if due_at is None else min(due_at, retry)}
        found = reading if isinstance(reading, Found) else None
        return {
            "failures": 0,
            "due_at": due_at,
            "good_at": now,
            "etag": found.etag if found else None,
            "raw_digest": found.raw_digest if found else None,
            "observed": judged.observed_digest,
            "baseline": judged.baseline_digest or state.baseline,
        }

    # -- recording

    async def record(self, checks: Sequence[Checked]) -> None:
        """Make what was found true in the store, in one transaction."""
        transaction = Transaction(findings_at=self._clock.now())
        for checked in checks:
            self.add(transaction, checked)
        await self._store.commit(transaction)

    def add(self, transaction: Transaction, checked: Checked) -> str | None:
        """Add a check to a transaction; return the id of its decision if it is one worth keeping."""
        state = checked.state
        if checked.is_fast:
            transaction.touched.append(Touch(state.address, checked.at, state.due_at, state.etag, state.raw_digest))
            return None
        item = checked.prepared
        kept = item.state
        known = () if kept is None else (kept.desired, kept.observed, kept.baseline)
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
        transaction.states.append(state)
        transaction.looked_at.add(state.address)
        transaction.findings[state.address] = checked.verdict.findings
        before = item.state.status if item.state is not None else None
        if before is not state.status:
            data = {"status": state.status.value if state.status else None, "was": before.value if before else None}
            transaction.events.append(
                Event(
                    checked.at,
                    "check.status_changed",
                    str(state.address),
                    {**data, "reason": state.reason, "paths": recording.finding_paths(checked.verdict.findings)},
                )
            )
        if checked.decision.action is Action.NONE and before is state.status:
            return None
        return self._add_decision(transaction, checked)

    def _add_decision(self, transaction: Transaction, checked: Checked) -> str:
        item = checked.prepared
        before = item.state
        assert checked.situation is not None
        assert not isinstance(checked.reading, Unchanged)
        inputs = recording.keep(
            transaction,
            {
                "desired": item.desired_digest,
                "applied": before.applied if before is not None else None,
                "baseline": checked.baseline_digest if checked.baseline else None,
                "rules": recording.keep(transaction, item.rules_document),
                "secret_rules": checked.secret_rules,
                "reading": recording.reading_as_json(checked.reading, checked.observed_digest),
                "situation": recording.situation_as_json(checked.situation),
            },
        )
        output = recording.keep(transaction, recording.outcome_as_json(checked.verdict, checked.decision))
        chance = f"{int(self._random01() * 16**6):06x}"  # two processes may decide the same in the same millisecond
        ident = f"{int(checked.at * 1000):x}-{inputs[7:13]}{chance}"
        summary = (
            f"{checked.verdict.status.value}: {checked.decision.action.value}, {checked.decision.reasons[0].message}"
        )
        transaction.decisions.append(
            DecisionRecord(
                ident, item.declaration.address, checked.at, checked.decision.action.value, inputs, output, summary
            )
        )
        return ident


def _kept(documents: Mapping[Digest, Json], digest: Digest, item: Prepared) -> Json:
    """Return a remembered document; one that is lost must stop the check, for the world is no substitute for it."""
    try:
        return documents[digest]
    except KeyError:
        message = f"the store has lost document {digest} of {item.declaration.address}; restore it from a backup"
        raise StoreError(message) from None


def _presence_only(reading: Reading) -> Verdict:
    match reading:
        case Found():
            return Verdict(Status.IN_SYNC, "there; unmanaged resources are not compared")
        case Gone():
            return Verdict(Status.MISSING, "unmanaged, and not there")
        case Unreadable(trouble=trouble, detail=detail):
            return Verdict(Status.UNKNOWN, f"could not be read ({trouble.value}){': ' + detail if detail else ''}")


def _is_fixed(finding: Finding, tree: RuleTree) -> bool:
    return finding.desired is not ABSENT and known_differences.node_at(tree, finding.path).create_only


def _observed_digest(item: Prepared, reading: Reading | Unchanged) -> Digest | None:
    """Return the digest of what was found; the last one holds if not even the raw bytes moved."""
    if not isinstance(reading, Found):
        return None
    state = item.state
    if state is None or state.rules != item.rules_digest or item.secrets or reading.raw_digest is None:
        return digest_of(reading.document)
    same = reading.raw_digest == state.raw_digest and state.observed is not None
    return state.observed if same else digest_of(reading.document)


def _is_baseline(item: Prepared, seen: Digest) -> bool:
    """Tell by hashes alone that neither side moved; `stateHash: false` has everything compared instead."""
    state = item.state
    if state is None or item.secrets or not item.settings.state_hash:
        return False
    return state.applied == item.desired_digest and state.baseline == seen


def _is_in_list(finding: Finding, desired: Json) -> bool:
    """Tell whether a finding is an element, or inside one, of a list that the declaration has."""
    place = next((place for place, step in enumerate(finding.path) if not isinstance(step, str)), None)
    return place is not None and isinstance(paths.resolve(desired, finding.path[:place]), list)


def _terminal(judged: _Judged, state: ResourceState) -> str | None:
    """Say why nothing more is to be tried: a block holds until the user edits, an unknown verdict changes nothing."""
    if judged.verdict.status is Status.UNKNOWN:
        return state.terminal
    reason = judged.decision.reasons[0]
    if judged.decision.action is not Action.BLOCK:
        return None
    return state.terminal if reason.code == "terminal" else reason.message
