"""Facts to keep: builders for plain tests, strategies for properties, and a way to run one test on every store."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st

from holdfast.compare.normalize import Digest as ValueDigest
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.condition import Condition, ConditionType, Truth
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.path import Step as PathStep
from holdfast.model.resource import Origin
from holdfast.model.verdict import Status
from holdfast.store import blobs
from holdfast.store.governance import (
    AcceptedValue,
    Approval,
    CorrectionOutcome,
    CorrectionRecord,
    PathCorrection,
    Pause,
    Quarantine,
)
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.protocol import Store
from holdfast.store.records import AppliedRevision, AuditEvent, DecisionRecord, OperationStep, WriteOperation
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import AppliedState, DeclaredState, Digest, ObservedState, ResourceState, ScheduleState
from tests import postgresql, strategies

Item = TypeVar("Item")

A = Address("prod", "Network", "a")
B = Address("prod", "Network", "b", "team")
C = Address("prod", "Subnet", "a")
D = Address("test", "Network", "a")


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Store]:
    """Open the store of a kind in a folder, and close it."""
    store = await open_store(kind, folder)
    try:
        yield store
    finally:
        await store.close()


async def open_store(kind: str, folder: Path) -> Store:
    """Open the store of a kind in a folder; a second call opens the same store again, unless it is in memory."""
    if kind == "memory":
        return SqliteStore.in_memory()
    if kind == "sqlite":
        return await SqliteStore.open(folder / ".holdfast/holdfast.db")
    url = postgresql.store_url(kind.removeprefix("postgres"), folder)
    await postgresql.create_schema(url)
    return await PostgresStore.open(url)


SHARED = [  # kinds of stores that two processes can open
    "sqlite",
    *(pytest.param(f"postgres{version}", marks=pytest.mark.server) for version in postgresql.versions()),
]
EVERY = ["memory", *SHARED]
on_shared_stores = pytest.mark.parametrize("kind", SHARED)


def on_every_store(test: Callable[[Store], Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test once on each kind of store."""

    @pytest.mark.parametrize("kind", EVERY)
    def run(kind: str, tmp_path: Path) -> None:
        async def whole() -> None:
            async with opened(kind, tmp_path) as store:
                await test(store)

        asyncio.run(whole())

    return run


async def listed(items: AsyncIterator[Item]) -> list[Item]:
    return [item async for item in items]


def digest(*content: object) -> Digest:
    """Return the digest of something nobody kept."""
    return Digest("sha256:" + hashlib.sha256(repr(content).encode()).hexdigest())


def kept(value: object) -> tuple[Digest, bytes]:
    return blobs.digest_of(value)


def condition(kind: ConditionType = ConditionType.DRIFTED, at: float = 5.5) -> Condition:
    return Condition(kind, Truth.UNKNOWN, "Reason", "a message with ünïcode", 7, at)


def full_state(address: Address = A, **changes: Any) -> ResourceState:
    """Return a state in which every field has a value of its own."""
    declared = DeclaredState(
        provider="openstack",
        generation=3,
        document=digest("desired"),
        labels={"tier": "1", "": "x"},
        options={"onDrift": "correct", "n": 1, "f": 1.0, "none": None, "deep": [{"a": []}]},
        depends_on=("prod/Subnet/a",),
        source="infra/a.yaml:3",
    )
    applied = AppliedState(
        document=digest("applied"),
        revision=2,
        baseline=digest("baseline"),
        known_differences=digest("known"),
        rules=digest("rules"),
        identity="born-1",
        api_version="2026-01-01",
        settle_until=30.0,
        origin=Origin.IMPORTED,
    )
    observed = ObservedState(
        document=digest("observed"),
        provider_id="0f1c",
        etag='W/"1"',
        raw_digest=str(digest("raw")),
        state_hash="spec-sha256/1:" + digest("state"),
        status=Status.CONFLICTED,
        reason="both changed",
        conditions=(condition(), condition(ConditionType.FRESH, 6.0)),
        suppressed=(("waived", "size", "until the move"), ("ignored", "tags", "")),
        missing_checks=3,
    )
    schedule = ScheduleState(
        checked_at=10.25,
        good_at=9.5,
        resync_seconds=3600.0,
        due_at=100.0,
        failures=4,
        terminal="quota",
        requested="token-1",
        handled="token-0",
    )
    return changed_state(ResourceState(address, declared, applied, observed, schedule), **changes)


def changed_state(state: ResourceState, **changes: Any) -> ResourceState:
    """Return a state with other values in some fields of its parts; `applied_document` names the field of one part."""
    for name, value in changes.items():
        part, leaf = next(
            (part, leaf)
            for part in ("declared", "applied", "observed", "schedule")
            for leaf in type(getattr(state, part)).__slots__
            if name in (f"{part}_{leaf}", leaf)
        )
        state = replace(state, **{part: replace(getattr(state, part), **{leaf: value})})
    return state


def finding(*path: PathStep, op: Op = Op.CHANGED, **values: Any) -> Finding:
    return Finding(path, op, FindingClass.SPECIFIED, ChangedBy.LIVE, **values)


def operation(name: str = "op-1", address: Address = A, **changes: Any) -> WriteOperation:
    fields: dict[str, Any] = {
        "action": "update",
        "step": OperationStep.SENT,
        "started_at": 4.0,
        "desired": digest("desired"),
        "pre_image": None,
        "drift": (finding("size", desired=1, observed=2),),
        "token": {"url": "https://x/1", "n": [1, 2.0, None]},
        "poll_at": 6.5,
        "attempts": 2,
        "decision": "d-1",
        "phase": "delete",
    }
    return WriteOperation(name, address, **(fields | changes))


def revision(number: int, address: Address = A, content: object = "x", at: float = 1.0) -> AppliedRevision:
    return AppliedRevision(address, number, digest(content), f"ordered-sha256/1:{digest(content)}", at)


def decision(name: str, address: Address = A, **changes: Any) -> DecisionRecord:
    fields: dict[str, Any] = {"at": 1.0, "action": "update", "inputs": digest("in"), "output": digest("out")}
    return DecisionRecord(name, address, **({"summary": "will be updated"} | fields | changes))


def event(subject: Address | str = A, at: float = 1.0, kind: str = "check.finished", **data: Any) -> AuditEvent:
    return AuditEvent(at, kind, str(subject), data)


def correction(name: str, address: Address = A, **changes: Any) -> CorrectionRecord:
    fields: dict[str, Any] = {
        "at": 4.0,
        "action": "update",
        "reason": "drift",
        "outcome": CorrectionOutcome.DONE,
        "paths": (PathCorrection("size", 2, 1), PathCorrection("tags[name=x]", {"name": "x"}, took=False)),
        "pre_image": digest("before"),
        "post_image": digest("after"),
        "undoes": "c0",
        "who": "worker-1",
    }
    return CorrectionRecord(name, address, **(fields | changes))


def pause(scope: str, **changes: Any) -> Pause:
    fields: dict[str, Any] = {"who": "me", "why": "an incident", "at": 1.0, "until": 2.5}
    return Pause(scope, **(fields | changes))


def approval(plan: str, address: Address = A, **changes: Any) -> Approval:
    fields: dict[str, Any] = {"who": "me", "why": "looks fine", "at": 1.0}
    return Approval(plan, address, **(fields | changes))


def quarantine(path: str, address: Address = A, **changes: Any) -> Quarantine:
    fields: dict[str, Any] = {"cause": "contention", "since": 1.0, "data": {"period": 60.0, "values": [1, 2]}}
    return Quarantine(address, path, **(fields | changes))


def acceptance(path: str, address: Address = A, **changes: Any) -> AcceptedValue:
    fields: dict[str, Any] = {"value": {"a": [1]}, "who": "me", "why": "it is better so", "at": 1.0}
    return AcceptedValue(address, path, **(fields | changes))


# --- strategies -------------------------------------------------------------------------------------------------------

# Times are floats of ordinary size: what a clock gives.
times = st.floats(0, 2e9, allow_nan=False) | st.integers(0, 10).map(float)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
json_values = strategies.documents(strategies.scalars | st.integers() | st.floats(allow_nan=False) | texts)
odd_values = strategies.documents(
    strategies.scalars | st.just(ABSENT) | texts.map(ValueDigest) | st.just({"$": "absent"}) | st.just({"$": {"$": 1}})
)
digests = st.sampled_from([digest(n) for n in range(4)]) | st.just(Digest("md5:abc"))
tags = st.none() | st.sampled_from(
    ["", "x", str(digest("tag")), digest("tag")[7:], "raw/1:" + digest("tag"), "SHA:" + "A" * 64]
)

findings = st.builds(
    Finding,
    path=strategies.any_paths,
    op=st.sampled_from(Op),
    cls=st.sampled_from(FindingClass),
    changed_by=st.sampled_from(ChangedBy),
    desired=odd_values,
    baseline=odd_values,
    observed=odd_values,
    rule=texts,
    pointer=st.lists(texts | st.integers(0, 5), max_size=3).map(tuple),
)
conditions = st.builds(
    Condition, st.sampled_from(ConditionType), st.sampled_from(Truth), texts, texts, st.integers(0, 9), times
)


def states(addresses: st.SearchStrategy[Address] = st.just(A)) -> st.SearchStrategy[ResourceState]:  # noqa: B008
    some_digest = st.none() | digests
    some_time = st.none() | times
    some_text = st.none() | texts
    declared = st.builds(
        DeclaredState,
        texts,
        generation=st.integers(0, 5),
        document=some_digest,
        labels=st.dictionaries(texts, texts, max_size=2),
        options=st.dictionaries(texts, json_values, max_size=2),
        depends_on=st.lists(texts, max_size=2).map(tuple),
        source=some_text,
    )
    applied = st.builds(
        AppliedState,
        document=some_digest,
        revision=st.integers(0, 5),
        baseline=some_digest,
        known_differences=some_digest,
        rules=some_digest,
        identity=some_text.filter(_is_none_or_filled),
        api_version=some_text.filter(_is_none_or_filled),
        settle_until=some_time,
        origin=st.sampled_from(Origin),
    )
    observed = st.builds(
        ObservedState,
        document=some_digest,
        provider_id=some_text,
        etag=some_text,
        raw_digest=tags,
        state_hash=tags,
        status=st.none() | st.sampled_from(Status),
        reason=texts,
        conditions=st.lists(conditions, max_size=4).map(tuple),
        suppressed=st.lists(st.tuples(texts, texts, texts), max_size=2).map(tuple),
        missing_checks=st.integers(1, 5),
    )
    schedule = st.builds(
        ScheduleState,
        checked_at=some_time,
        good_at=some_time,
        resync_seconds=times,
        due_at=some_time,
        failures=st.integers(0, 3),
        terminal=some_text,
        requested=some_text,
        handled=some_text,
    )
    return st.builds(ResourceState, addresses, declared, applied, observed, schedule)


def _is_none_or_filled(text: str | None) -> bool:
    return text is None or bool(text)
