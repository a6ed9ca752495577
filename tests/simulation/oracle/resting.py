"""Judging what needs time: that drift is found, that all converges, and what is left when everybody rests."""

from __future__ import annotations

import sqlite3
import zlib
from typing import TYPE_CHECKING, Any

from tests.simulation.documents import at
from tests.simulation.fleet import Resource
from tests.simulation.kernel import START, Process
from tests.simulation.oracle import sends, truth
from tests.simulation.world import Thing

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

SLACK = 150.0  # seconds beyond a period and its jitter: spreading, backoff, the work itself
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: Any) -> float:
    """Read a duration such as 10h or 30m."""
    text = str(text)
    return float(text) if text.replace(".", "").isdigit() else float(text[:-1]) * _UNITS[text[-1]]


def must_be_found(oracle: Oracle, resource: Resource, thing: Thing) -> None:
    """A stranger has been at a resource under a running watch: within its period watch must look at it."""
    watch = oracle.life.watch
    period = seconds(oracle.fleet.setting(resource, "resyncPeriod", "0"))
    if watch is None or not watch.is_running or watch.is_stopped or period <= 0 or resource.policy == "unmanaged":
        return
    when = oracle.now
    deadline = period * 1.1 + SLACK
    oracle.life.kernel.loop.call_later(deadline, _was_found, oracle, resource, thing, watch, when)


def _was_found(oracle: Oracle, resource: Resource, thing: Thing, watch: Process, when: float) -> None:
    same = oracle.life.watch is watch and watch.is_running and not watch.is_stopped
    if oracle.is_resting or not resource.declared or watch.is_dead or watch.was_stopped:
        return
    if not same and watch.error is None:
        return
    if oracle.world.was_sick(resource.connection, resource.kind, resource.name, when):
        return
    if resource.is_file:
        found = not truth.moved_paths(oracle, resource, thing) or resource.address not in oracle.life.correctable()
    else:
        found = any(
            item.at > when and not item.is_write and item.api == resource.connection and item.kind == resource.kind
            and (item.ident is None or item.ident == thing.ident)
            for item in reversed(oracle.world.journal)
        )  # fmt: skip
    oracle.holds(
        "drift-found-in-period", found, resource.address,
        f"looked at within {oracle.now - when:.0f} s of the drift", "not looked at",
    )  # fmt: skip


# --- at rest ----------------------------------------------------------------------------------------------------------


def rested(oracle: Oracle) -> None:
    """What may be corrected is as declared, and nothing is left open."""
    for resource in oracle.fleet.declared:
        thing, book = oracle.bound(resource), oracle.book(resource)
        if not may_converge(oracle, resource, thing):
            continue
        assert thing is not None
        wrong = {
            path: at(thing.live, path)
            for path, value in truth.resolved(oracle, resource).items()
            if at(thing.live, path) != value
            and path != "/path"
            and path not in book.suppressed | book.undone | book.doubtful | book.contended.keys() | book.ineffective
            and truth.policy_of(oracle.fleet, resource, path) == "correct"
        }
        promise = "own-edits-are-no-contention" if oracle.life.has_own_edits(resource) else "converges"
        oracle.holds(promise, not wrong, resource.address, "as declared", str(wrong))


def may_converge(oracle: Oracle, resource: Resource, thing: Thing | None) -> bool:
    """Tell whether a resource has to be as declared when everybody rests."""
    book = oracle.book(resource)
    if resource.policy != "managed" or thing is None or book.may_go or oracle.fleet.broken:
        return False
    if truth.is_unsure(oracle, thing) or truth.lacks_source(oracle, resource):
        return False
    if thing.deleted is not None or oracle.fleet.setting(resource, "onDrift", "correct") != "correct":
        return False
    return not resource.options.get("debounceChecks") and not oracle.life.is_blocked(resource)


def idle(oracle: Oracle, process: Process) -> None:
    """At rest a further run writes nothing."""
    if process.is_running or oracle.life.is_unsettled():
        return
    written = [item for item in oracle.world.journal if item.process is process and item.is_write]
    said = f"{written[0].method} {written[0].kind}/{written[0].ident} {written[0].body}" if written else ""
    oracle.holds("quiet-at-rest", not written, "", "no write", said)


def audited(oracle: Oracle, process: Process) -> None:
    """The chain must be whole."""
    oracle.holds("audit-complete", process.code == 0, "", "verified", process.text + process.error_text)


# --- at the end -------------------------------------------------------------------------------------------------------


def before_rest(oracle: Oracle) -> None:
    """Judge what must not have happened before anybody said yes to all that is held."""
    for address, when in {when: (address, when) for address, when in oracle.life.mass.items()}.values():
        sends.judge_mass(oracle, address, when)


def at_end(oracle: Oracle) -> None:
    """Judge what was written down, and whether a secret got out."""
    _judge_trail(oracle)
    _judge_secrets(oracle)


def _judge_trail(oracle: Oracle) -> None:
    events = oracle.life.events()
    if events is None:
        return
    steps: dict[str, list[Any]] = {}  # operation -> its events; a worker is a process, or process/part of a watch
    for event in events:
        steps.setdefault(event["data"].get("operation", ""), []).append(event)
    done = [item for item in events if item["type"] == "write.done"]
    for event in done:
        resource = oracle.fleet.by_address(event["subject"])
        if resource is None or resource.is_file:
            continue
        thing_writes = [
            item for item in oracle.world.journal
            if item.effect == "update" and item.thing is not None and oracle.resource_of(item.thing) is resource
            and item.at + START <= event["at"] + 1.0
        ]  # fmt: skip
        paths = event["data"].get("paths")
        if not thing_writes or not isinstance(paths, list) or oracle.jumps or event["data"].get("action") != "update":
            continue
        operation = steps[event["data"]["operation"]]
        workers = {str(item["data"].get("worker")).partition("/")[0] for item in operation}
        begun = min(item["at"] for item in operation)
        touched = {
            path
            for write in thing_writes
            if write.process is not None and write.process.name in workers and write.at + START >= begun
            for path in sends.changed_paths(write)
        }
        plain = [path.partition("[")[0] for path in paths]
        wrong = [
            path for path in plain if path != "/seen_by"
            if not any(path == item or item.startswith(f"{path}/") or path.startswith(f"{item}/") for item in touched)
        ]  # fmt: skip
        oracle.holds(
            "audit-complete", not wrong, resource.address, f"write.done names {sorted(touched)}", f"it names {paths}"
        )
    intended: dict[str, int] = {}
    for event in events:
        if event["type"] in ("write.intended", "write.sent", "write.retried", "undo.intended"):
            intended[event["subject"]] = intended.get(event["subject"], 0) + 1
    for resource in oracle.fleet.resources:
        effects = [
            item for item in oracle.world.journal
            if item.effect in ("create", "update", "delete") and item.thing is not None
            and oracle.resource_of(item.thing) is resource
        ]  # fmt: skip
        if effects:
            known = intended.get(resource.address, 0)
            oracle.holds("audit-complete", known > 0, resource.address, "every write in the trail", "none is")


def _judge_secrets(oracle: Oracle) -> None:
    if not oracle.needles:
        return
    texts: list[tuple[str, bytes]] = [
        (f"output of {' '.join(process.arguments)}", (process.text + process.error_text).encode())
        for process in oracle.life.kernel.processes
    ]
    texts += [("a webhook", webhook) for webhook in oracle.world.webhooks]
    for path in sorted(oracle.life.folder.rglob("*")):
        if path.is_file() and "live" not in path.parts and path.suffix not in (".db-wal", ".db-shm"):
            texts.append((path.name, path.read_bytes()))
    texts += [("the store", cell) for cell in _cells(oracle)]
    for needle, what in oracle.needles.items():
        where = next((name for name, text in texts if needle.encode() in text), "")
        oracle.holds("secrets-never-out", not where, "", f"{what} nowhere", f"{what} in {where}")


def _cells(oracle: Oracle) -> list[bytes]:
    path = oracle.life.folder / ".holdfast" / "holdfast.db"
    if not path.exists():
        return []
    out: list[bytes] = []
    connection = sqlite3.connect(path)
    try:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                out += [_unpacked(cell) for cell in row if isinstance(cell, str | bytes)]
    finally:
        connection.close()
    return out


def _unpacked(cell: str | bytes) -> bytes:
    data = cell.encode() if isinstance(cell, str) else cell
    try:
        return zlib.decompress(data)
    except zlib.error:
        return data
