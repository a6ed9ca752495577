"""Faults that were mended, each behind a switch that puts it back; the simulator must notice every one of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import click

from holdfast.app import project, selection, undeclared, watch
from holdfast.cli.commands import delete, pause, resume
from holdfast.compare import known_differences, verdict_rules
from holdfast.manifests import loader
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy
from holdfast.model.resource import Origin
from holdfast.policy import contention_rules, write_history
from holdfast.providers import registry
from holdfast.providers.http import response_identity
from holdfast.providers.protocol import Kind
from holdfast.reconcile import evaluate, fault_isolation, serialize, settle, settled_read, write, write_resume
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import Checker
from holdfast.reconcile.claims import Keeper
from holdfast.reconcile.fleet_check import FleetCheck
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.reconcile.mass_drift_scan import Surveyor
from holdfast.reconcile.reference_values import Sources
from holdfast.reconcile.secret_paths import SecretPlace
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.sqlite.transaction_writer import TransactionWriter
from holdfast.store.transaction import Transaction
from holdfast.watch import loop
from holdfast.watch.loop import ResyncLoop

Patch = tuple[Any, str, Any]  # whose attribute, and what takes its place


@dataclass(frozen=True)
class Mutant:
    """One fault."""

    item: str  # of the list of faults
    text: str
    scenarios: tuple[str, ...]  # where it shows
    promises: frozenset[str]  # which it breaks
    patches: Callable[[], list[Patch]]


@contextlib.contextmanager
def planted(name: str) -> Iterator[None]:
    """Put a fault back for a while."""
    with contextlib.ExitStack() as stack:
        registry.get.cache_clear()  # no provider that was made before, or is made meanwhile, may outlive it
        stack.callback(registry.get.cache_clear)
        for target, attribute, value in MUTANTS[name].patches():
            stack.enter_context(mock.patch.object(target, attribute, value))
        yield


async def _nothing(*_: Any, **__: Any) -> None:
    return None


async def _none_found(*_: Any, **__: Any) -> list[Any]:
    return []


def _always() -> property:
    """Stand for a field that is true whatever it is set to."""
    return property(lambda _: True, lambda *_: None)


def _live_references() -> list[Patch]:
    return [(Sources, "_declared", lambda *_: ABSENT), (Sources, "_unreliable", lambda *_: "")]


def _silent_joining() -> list[Patch]:
    absorb = evaluate.absorb_late_defaults

    def silent(evaluation: Any, evidence: Any) -> Any:
        return replace(absorb(evaluation, evidence), suppressed=evaluation.suppressed)

    return [(evaluate, "STEPS", tuple(silent if step is absorb else step for step in evaluate.STEPS))]


def _deleting_needs() -> list[Patch]:
    selected = selection.selected

    def _with_needed(resources: Any, options: Any, *, strict: bool = True) -> Any:
        needed = resources.graph.needed_by(selected(resources, options, strict=strict))
        return [address for address in resources.graph.addresses if address in needed]

    return [(selection, "selected", _with_needed), (delete, "_require_no_dependents", _nothing)]


def _ignored_options() -> list[Patch]:
    target = click.Option(["--target"], expose_value=False)
    return [(item, "params", [*item.params, target]) for item in (pause.pause_command, resume.resume_command)]


def _rereading_one_file() -> list[Patch]:
    async def resources_for(opened: Any, _source: Any, addresses: Any, _templates: Any) -> Any:
        states = await opened.store.states(list(addresses))
        sources = [state.declared.source for state in states.values()]
        files = {source.rpartition(":")[0] for source in sources if source}
        known = [Address.parse(text) for state in states.values() for text in state.declared.depends_on]
        manifests = loader.read(sorted(filter(os.path.exists, files)), opened.config, whole=False)
        strategies = tuple(opened.resources.strategies)
        return project.resources_of(replace(manifests, strategies=strategies), known, opened.options)

    return [(watch, "resources_for", resources_for)]


def _forgotten_origin() -> list[Patch]:
    return [
        (
            settle,
            "origin_of",
            lambda _, state: state.applied.origin if state.applied.document is not None else Origin.CREATED,
        )
    ]


def _removed_is_fresh() -> list[Patch]:
    async def nobody(*_: Any) -> set[Address]:
        return set()

    return [
        (undeclared, "is_missed", lambda *_: False),
        (undeclared, "edited_away", nobody),
        (undeclared, "in_whole_store", nobody),
    ]


def _whole_states() -> list[Patch]:
    async def request(store: Any, addresses: Any, token: str, now: float) -> int:
        states = await store.states(addresses)
        if states:
            schedules = {a: replace(state.schedule, requested=token, due_at=now) for a, state in states.items()}
            written = [replace(state, schedule=schedules[a]) for a, state in states.items()]
            await store.commit(Transaction(states=written))
        return len(states)

    return [(loop, "request", request)]


def _decided_too_soon() -> list[Patch]:
    recorded, held_back, settled = Checker.record_some, Checker.hold_back, FleetCheck._settled

    async def all_recorded(self: Checker, checks: Any, _chosen: Any, events: Any = ()) -> Any:
        return await recorded(self, checks, lambda _: True, events)

    async def unrecorded(self: Checker, checks: Any, foreseen: Any, *, record: bool, sizes: Any = None) -> Any:
        return await held_back(self, checks, foreseen, record=False, sizes=sizes)

    async def all_settled(self: FleetCheck, checks: Any) -> Any:
        final = await settled(self, checks)
        self.deferred = await self.checker.record_some(self.deferred, lambda _: True) if self.record else self.deferred
        return final

    return [
        (Checker, "record_some", all_recorded),
        (Checker, "hold_back", unrecorded),
        (FleetCheck, "_settled", all_settled),
    ]


def _all_paths_done() -> list[Patch]:
    return [(settled_read, "_written", lambda operation, _: tuple(serialize.finding_paths(operation.drift)))]


def _secrets_by_place() -> list[Patch]:
    def inside(self: SecretPlace, values: list[Any]) -> list[SecretPlace | None]:
        return [self.elements if place == 0 else None for place in range(len(values))]

    return [(SecretPlace, "inside", inside)]


def _one_queue() -> list[Patch]:
    begin = ResyncLoop._begin

    async def together(self: ResyncLoop) -> bool:
        worked = await begin(self)
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))
        return worked

    return [(ResyncLoop, "_begin", together)]


def _deleted_again() -> list[Patch]:
    async def unmoved(*_: Any) -> bool:
        return True

    return [(write_resume, "_is_deletion", lambda _: False), (write_resume, "is_unmoved", unmoved)]


def _uncontained() -> list[Patch]:
    def raised(error: Exception, *_: Any) -> Any:
        raise error

    return [(fault_isolation, "unreadable", raised), (fault_isolation, "shallow", lambda seen: seen)]


def _learnt_untaken() -> list[Patch]:
    unchanged = known_differences._unchanged

    def only_drift(*arguments: Any) -> Any:
        return [item for item in unchanged(*arguments) if item.changed_by in (ChangedBy.LIVE, ChangedBy.BOTH)]

    return [(known_differences, "_unchanged", only_drift)]


def _mutant(item: str, text: str, scenarios: str, promises: str, patches: Callable[[], list[Patch]]) -> Mutant:
    return Mutant(item, text, tuple(scenarios.split()), frozenset(promises.split()), patches)


MUTANTS: Final[dict[str, Mutant]] = {
    "references-take-live-values": _mutant(
        "1", "a reference takes the live value, drifted or not", "references", "no-drift-spread verdict-right",
        _live_references,
    ),
    "files-fill-in": _mutant(
        "2", "keys that others add to a file after our write join the baseline", "joining",
        "strangers-key-is-seen verdict-right", lambda: [(Kind, "fills_in", _always())],
    ),
    "late-defaults-in-silence": _mutant(
        "2", "a late default joins without a report", "joining", "strangers-key-is-seen", _silent_joining
    ),
    "delete-takes-what-is-needed": _mutant(
        "3", "delete removes dependencies of the selection that others need", "deleting", "delete-only-the-named",
        _deleting_needs,
    ),
    "pause-ignores-target": _mutant(
        "4", "pause and resume accept --target and ignore it", "options", "options-are-honoured", _ignored_options
    ),
    "watch-reads-one-file": _mutant(
        "5", "watch rereads one file, and fails at references to other files", "neighbours",
        "drift-found-in-period", _rereading_one_file,
    ),
    "imports-become-ours": _mutant(
        "6", "an imported resource counts as created after our first write", "importing", "never-recreated",
        _forgotten_origin,
    ),
    "contention-within-an-hour": _mutant(
        "7", "contention is detected within one hour only", "contention", "contention-named",
        lambda: [(contention_rules.ContentionRules, "forgotten_after", lambda *_: 3600.0)],
    ),
    "own-edits-count": _mutant(
        "7", "a person's own edits count as contention", "own_edits", "own-edits-are-no-contention verdict-right",
        lambda: [(write_history, "_is_asked", lambda _: False)],
    ),
    "watch-corrects-zero": _mutant(
        "8", "watch corrects a resource with resyncPeriod 0", "zero", "resync-zero-left-alone",
        lambda: [(Applier, "_is_left_alone", lambda *_: False)],
    ),
    "removed-stays-fresh": _mutant(
        "9", "a resource that is no longer declared stays fresh, unreported", "removing", "removed-never-fresh",
        _removed_is_fresh,
    ),
    "observed-stays-pending": _mutant(
        "11", "an observed resource is pending because of a removed field", "observing",
        "pending-clears verdict-right", lambda: [(verdict_rules, "counted", lambda findings: findings)],
    ),
    "requests-write-whole-states": _mutant(
        "12", "a request for a check overwrites newer state with older state", "overtaken",
        "memory-never-goes-back created-once", _whole_states,
    ),
    "requests-are-swallowed": _mutant(
        "12", "a running check loses a request", "requests", "request-is-handled",
        lambda: [(TransactionWriter, "_with_requests", lambda *_: {})],
    ),
    "decided-before-limits": _mutant(
        "14", "decisions are recorded before fleet limits apply", "mass budgets", "decisions-are-final",
        _decided_too_soon,
    ),
    "done-names-every-path": _mutant(
        "14", "write.done names paths that were not written", "approvals", "audit-complete", _all_paths_done
    ),
    "mass-drift-by-batch": _mutant(
        "14, 28", "mass drift is judged by one batch", "mass", "mass-drift-held",
        lambda: [(SqliteStore, "reverts", _none_found), (Surveyor, "survey", _nothing)],
    ),
    "secrets-by-index": _mutant(
        "24", "a secret in a list is identified by its index", "secrets", "secrets-never-out", _secrets_by_place
    ),
    "known-secrets-are-shown": _mutant(
        "24", "a token that the API repeats is stored and printed", "secrets", "secrets-never-out",
        lambda: [(KnownSecrets, "add", lambda *_: None)],
    ),
    "lost-claims-send": _mutant(
        "25", "a claim is neither renewed nor checked before a retry", "fenced",
        "created-once newer-never-overwritten",
        lambda: [(Keeper, "ensure", _nothing), (Keeper, "_renew_all", _nothing)],
    ),
    "creates-are-repeated": _mutant(
        "26", "a create whose response was lost is repeated blindly", "lost", "created-once",
        lambda: [(Kind, "repeats_create", _always())],
    ),
    "limits-asked-once": _mutant(
        "27", "pauses and freezes are checked only at the start of a run", "pausing",
        "pause-holds-every-send freeze-holds-every-send", lambda: [(Checker, "stopped", _nothing)],
    ),
    "one-queue-for-all": _mutant(
        "29", "connections share a queue", "sick", "drift-found-in-period", _one_queue
    ),
    "dead-undo-keeps-its-claim": _mutant(
        "30", "the claim of a killed undo blocks the next undo", "undoing", "undo-finishes",
        lambda: [(write, "worker_identity", SimpleNamespace(bury=_nothing))],
    ),
    "deletes-are-sent-again": _mutant(
        "30", "a killed delete is sent again without a read", "deletions", "deleted-once", _deleted_again
    ),
    "any-answer-is-the-object": _mutant(
        "31", "any 200 response is taken for the object", "unreadable", "not-the-object-is-unreadable",
        lambda: [(response_identity, "doubt", lambda *_, **__: "")],
    ),
    "one-object-stops-all": _mutant(
        "31", "an unusable object ends the command", "unreadable", "one-bad-object-stops-no-other",
        _uncontained,
    ),
    "untaken-is-learnt": _mutant(
        "33", "an edit without effect becomes the baseline", "ineffective", "ineffective-is-said verdict-right",
        _learnt_untaken,
    ),
    "due-times-are-believed": _mutant(
        "35", "due times from before a clock change are trusted", "clocks", "drift-found-in-period",
        lambda: [(ResyncLoop, "mend_schedule", _nothing)],
    ),
}  # fmt: skip
