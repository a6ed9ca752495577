"""Judging what commands say: verdicts, exit codes, what is remembered, what is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.commands import USAGE, parsed
from tests.simulation.fleet import Resource
from tests.simulation.kernel import Process
from tests.simulation.kinds import KINDS
from tests.simulation.oracle import truth
from tests.simulation.world import Sent, Thing

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_JUDGED = frozenset({"in_sync", "pending", "drifted", "conflicted", "missing"})


def finished(oracle: Oracle, process: Process) -> None:
    """A command has ended: it must not have crashed, and it must have ended."""
    if process.is_dead:
        return
    if process.arguments[0] == "watch":
        _left_alone(oracle)
    if process.arguments[0] in ("apply", "check") and process.code is not None:
        for resource in oracle.fleet.declared:
            thing = oracle.bound(resource)
            if thing is not None and thing.deleted is None and not oracle.world.faults:
                oracle.book(resource).was_there = True
    if process.error is not None:
        said = f"{process.arguments[0]}: {type(process.error).__name__}: {str(process.error)[:200]}"
        oracle.holds("one-bad-object-stops-no-other", False, "", "an exit code", said)
        return
    oracle.holds("one-bad-object-stops-no-other", True)
    if not process.is_stopped:
        said = f"{' '.join(process.arguments)} still runs after {oracle.now - process.started:.0f} s"
        oracle.holds("commands-end", process.code is not None, "", "an end", said)


def _left_alone(oracle: Oracle) -> None:
    """A watch has ended: count what it had to leave alone, and did."""
    for resource in oracle.fleet.declared:
        thing = oracle.bound(resource)
        zero = oracle.fleet.setting(resource, "resyncPeriod", "not said") in ("0", 0)
        if zero and thing is not None and thing.deleted is None and thing.moved():
            oracle.holds("resync-zero-left-alone", True)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def checked(oracle: Oracle, process: Process, before: tuple[int, dict[str, set[str] | None]], *, quiet: bool) -> None:
    """Compare each verdict with the truth, as far as the answers of the services were true."""
    start, right_before = before
    body = parsed(process)
    if body is None or process.is_dead:
        return
    seen = {item["address"]: item for item in body.get("resources", [])}
    waiting = {item["address"] for item in body.get("waiting", [])}
    oracle.last_check = {address: item["status"] for address, item in seen.items()}
    alone = not any(item.is_running for item in oracle.life.kernel.processes)
    reads = [item for item in oracle.world.journal[start:] if item.process is process and not item.is_write]
    chosen = "--target" not in process.arguments and "-l" not in process.arguments
    for resource in oracle.fleet.declared:
        address = resource.address
        if address not in seen:
            if chosen and address not in waiting and resource.policy != "unmanaged" and process.code == 0:
                oracle.holds("verdict-right", False, address, "a verdict", "nothing said")
            continue
        said = seen[address]["status"]
        answers = _answers(oracle, resource, reads)
        if answers and not any(answer.truthful for answer in answers):
            _judge_unread(oracle, address, said, answers)
        elif (
            said == "unknown"
            and all(answer.truthful for answer in answers)
            and alone
            and not _was_faulted(oracle, process)
        ):
            right = truth.verdicts(oracle, resource)
            oracle.holds("verdict-right", right is None, address, f"one of {right}", said)
        elif alone and all(answer.truthful for answer in answers) and said != "unknown":
            right = truth.verdicts(oracle, resource)
            if right is not None and right == right_before.get(address):
                _judge_verdict(oracle, resource, said, right, seen[address])
    del quiet


def _answers(oracle: Oracle, resource: Resource, reads: list[Sent]) -> list[Sent]:
    """Return the answers from which a check could know about a resource."""
    thing = oracle.bound(resource)
    own = [
        read
        for read in reads
        if read.api == resource.connection
        and read.kind == resource.kind
        and read.ident is not None
        and thing is not None
        and read.ident == thing.ident
    ]
    if own:
        return own
    return [
        read for read in reads if read.api == resource.connection and read.kind == resource.kind and read.ident is None
    ]


def _was_faulted(oracle: Oracle, process: Process) -> bool:
    return any(item.process is process and not item.truthful for item in oracle.world.journal)


def _judge_unread(oracle: Oracle, address: str, said: str, answers: list[Sent]) -> None:
    lied = any(answer.status == 200 and answer.ident is not None for answer in answers)
    lagged = any(answer.lagged for answer in answers)
    if lagged:
        return
    promise = "not-the-object-is-unreadable" if lied else "unread-is-unknown"
    oracle.holds(promise, said == "unknown", address, "unknown", said)


def _judge_verdict(oracle: Oracle, resource: Resource, said: str, right: set[str], entry: dict[str, Any]) -> None:
    address, book = resource.address, oracle.book(resource)
    paths = [finding.get("path") for finding in entry.get("findings", [])]
    expected, told = f"one of {sorted(right)}", f"{said} {paths}"
    kept = said in right
    if book.ineffective and said == "in_sync" and "in_sync" not in right:
        oracle.holds("ineffective-is-said", kept, address, expected, told)
    elif resource.policy == "observed" and said == "pending":
        oracle.holds("pending-clears", kept, address, expected, told)
    else:
        oracle.holds("verdict-right", kept, address, expected, told)
    if book.ineffective:
        oracle.holds("ineffective-is-said", kept or said != "in_sync", address, expected, told)
    if resource.policy == "observed":
        oracle.holds("pending-clears", kept or said != "pending", address, expected, told)


def printed(oracle: Oracle, process: Process) -> None:
    """Judge what a person reads: what is no longer declared, and late defaults that joined."""
    if process.code is None or process.is_dead:
        return
    for resource in oracle.fleet.resources:
        book = oracle.book(resource)
        thing = oracle.bound(resource)
        if book.undeclared_at is not None and thing is not None and thing.deleted is None and thing.made_by == "us":
            shown = resource.name in process.text + process.error_text
            oracle.holds(
                "removed-never-fresh", shown, resource.address, f"named by {process.arguments[0]}", "not named"
            )


# --- what is remembered -----------------------------------------------------------------------------------------------


def status(oracle: Oracle, body: Any) -> None:
    """Judge what is remembered of every resource."""
    for entry in (body or {}).get("resources", []):
        resource = oracle.fleet.by_address(entry["address"])
        if resource is None:
            continue
        book = oracle.book(resource)
        revision = entry.get("revision") or 0
        oracle.holds(
            "memory-never-goes-back", revision >= book.revision, resource.address,
            f"revision {book.revision} or later", f"revision {revision}",
        )  # fmt: skip
        book.revision = max(book.revision, revision)
        thing = oracle.bound(resource)
        if (
            thing is not None
            and thing.deleted is None
            and thing.made_by == "us"
            and not resource.is_file
            and _is_known(oracle, thing)
        ):
            right = entry.get("id") == thing.ident and revision > 0
            oracle.holds(
                "memory-never-goes-back", right, resource.address,
                f"id {thing.ident}, revision 1 or later", f"id {entry.get('id')}, revision {revision}",
            )  # fmt: skip
        fresh = any(
            condition["type"] == "Fresh" and condition["status"] == "True" for condition in entry.get("conditions", [])
        )
        if book.undeclared_at is not None and oracle.life.looked_since(book.undeclared_at):
            oracle.holds("removed-never-fresh", not fresh, resource.address, "not fresh", f"{entry['status']}, Fresh")


def _is_known(oracle: Oracle, thing: Thing) -> bool:
    """Tell whether the process that made a thing lived to tell, and nobody is at work."""
    makers = [
        item.process for item in oracle.world.journal if item.effect == "create" and item.thing is thing and item.told
    ]
    idle = not any(process.is_running and process.arguments[0] != "status" for process in oracle.life.kernel.processes)
    return idle and bool(makers) and all(maker is not None and maker.code == 0 for maker in makers)


def contentions(oracle: Oracle, body: Any) -> None:
    """Contention that has cost three corrections must be named by now."""
    named = {(item["address"], item["path"]) for item in (body or {}).get("contention", [])}
    for address, book in oracle.books.items():
        for path, count in book.contended.items():
            if count >= 3 and oracle.life.contention_is_due(address, path):
                oracle.holds("contention-named", (address, path) in named, address, f"{path} named", "no word of it")


# --- people's decisions -----------------------------------------------------------------------------------------------


def paused(oracle: Oracle, process: Process, scope: str, extra: str) -> None:
    """A pause that was taken holds; one with options that are not honoured must be refused."""
    if process.code != 0:
        return
    oracle.holds("pause-holds-every-send", True)  # from now on every send is judged
    if "--target" in extra:
        target = _target(extra)
        wide = "everything is paused" in process.text
        oracle.holds("options-are-honoured", not wide, target, f"only {target} is paused", process.text.strip())
        if wide:
            oracle.pauses[""] = oracle.now
        else:
            oracle.pauses[target] = oracle.now
        return
    oracle.pauses[scope] = oracle.now


def resumed(oracle: Oracle, process: Process, scope: str, extra: str) -> None:
    """The end of a pause ends that pause and no other."""
    if "--target" in extra and "" in oracle.pauses:
        refused = process.code == USAGE or process.code != 0
        oracle.holds(
            "options-are-honoured", refused, _target(extra), "the pause of everything stays", process.text.strip()
        )
        if not refused:
            oracle.pauses.pop("", None)
        return
    if process.code == 0:
        oracle.pauses.pop(_target(extra) if "--target" in extra else scope, None)


def _target(extra: str) -> str:
    words = extra.split()
    return words[words.index("--target") + 1]


def undone(oracle: Oracle, resource: Resource, correction: dict[str, Any], process: Process) -> None:
    """An undo again, after one that was killed, must not be refused for what the dead one held."""
    del correction
    if process.is_dead:
        return
    text = process.error_text
    oracle.holds(
        "undo-finishes", not (process.code != 0 and "another worker" in text), resource.address,
        "undone, or told why not", text.strip()[:200],
    )  # fmt: skip


def deleted(oracle: Oracle, process: Process, names: list[str]) -> None:
    """What was named is gone, unless others need it; then that is said."""
    if process.is_dead or process.code is None:
        return
    for name in names:
        resource = oracle.fleet.get(name)
        thing = oracle.bound(resource) if resource is not None else None
        if resource is None or thing is None:
            continue
        needed = [
            item.name
            for item in oracle.fleet.declared
            if item.name not in names
            and any(source == name for _, source, _ in truth.references(item))
            and (other := oracle.bound(item)) is not None
            and other.deleted is None
        ]
        if needed and thing.deleted is not None:
            said = process.text + process.error_text
            told = any(item in said for item in needed)
            oracle.holds(
                "delete-only-the-named", told, resource.address,
                f"refused, or a word of {needed} that need it", "deleted without a word",
            )  # fmt: skip


# --- special looks ----------------------------------------------------------------------------------------------------


def joined(oracle: Oracle, resource: Resource, path: str, process: Process) -> None:
    """A stranger's key must be told of in the first check after it appeared."""
    thing = oracle.bound(resource)
    if thing is None or path not in thing.moved() or process.code is None or process.is_dead:
        return
    if resource.policy == "unmanaged" or truth.policy_of(oracle.fleet, resource, path) == "ignore":
        return
    shown = path in process.text or path.rpartition("/")[2] in process.text
    oracle.holds("strangers-key-is-seen", shown, resource.address, f"{path} told of", process.text.strip()[:200])


def requests_handled(oracle: Oracle, body: Any) -> None:
    """The last check that was asked for must be known, and done; tokens tell when they were given out.

    A slow disk may store the requests of processes that run at the same time in any order: each of them is the last.
    """
    asked = [process for process in oracle.life.kernel.processes if "--now" in process.arguments and process.code == 0]
    busy = any(process.is_running and process is not oracle.life.watch for process in oracle.life.kernel.processes)
    if busy or not asked or oracle.now - asked[-1].started < 100.0:
        return
    last = asked[-1]
    began = min(process.started for process in asked if process is last or (process.ended or 0.0) >= last.started)
    since = int((oracle.life.kernel.wall + began) * 1000)
    for entry in (body or {}).get("resources", []):
        token = str(entry.get("requested") or "")
        digits = int("".join(filter(str.isdigit, token)) or 0)
        done = token == str(entry.get("handled") or "") and digits >= since
        oracle.holds(
            "request-is-handled", done, entry["address"], f"the request of {since} handled",
            f"requested {token or None}, handled {entry.get('handled')}",
        )  # fmt: skip


def corrections_closed(oracle: Oracle, body: Any) -> None:
    """No correction may stay open once nobody is at it."""
    if any(process.is_running for process in oracle.life.kernel.processes):
        return
    for entry in body or []:
        oracle.holds(
            "undo-finishes", entry["outcome"] != "begun", entry["address"], "every correction closed",
            f"{entry['action']} {entry['reason']} is {entry['outcome']}",
        )  # fmt: skip


def decisions(oracle: Oracle, body: Any) -> None:
    """The last decision of a resource that was left alone must not tell of a write."""
    last: dict[str, tuple[float, str]] = {}
    for entry in body or []:
        if str(entry["what"]).startswith("decision"):
            last[entry["address"]] = (entry["at"], str(entry["data"].get("summary")))
    writes = {
        oracle.resource_of(item.thing).address  # type: ignore[union-attr]
        for item in oracle.world.journal
        if item.effect and item.thing is not None and oracle.resource_of(item.thing) is not None
        and item.step >= oracle.life.number - 1
    }  # fmt: skip
    for address, (_, summary) in last.items():
        thing = oracle.bound(oracle.fleet.by_address(address))  # type: ignore[arg-type]
        if address in writes or thing is None or not thing.moved() or oracle.life.watched_since(oracle.life.number - 2):
            continue
        oracle.holds("decisions-are-final", ": update" not in summary, address, "held, as it was", summary)


def must_be_own(oracle: Oracle, resource: Resource, path: str) -> None:
    """A stranger's edit after a person's own edits is drift like any other, and revert."""
    thing = oracle.bound(resource)
    ran = oracle.life.kernel.processes[-1].arguments[0] in ("check", "watch")
    # What nobody declares is reverted by writing the whole document, or by nobody.
    declared = path in truth.resolved(oracle, resource) or (thing is not None and not thing.kind.patches)
    if ran and declared and thing is not None and thing.deleted is None and path not in oracle.book(resource).doubtful:
        moved = path in truth.moved_paths(oracle, resource, thing)
        oracle.holds("own-edits-are-no-contention", not moved, resource.address, f"{path} revert", "left as it was")


def nothing_open(oracle: Oracle, body: Any) -> None:
    """When everybody has rested nothing is begun and not ended, but for creates of which nobody can know."""
    for entry in body or []:
        resource = oracle.fleet.by_address(entry["address"])
        things = [
            thing for thing in oracle.world.things if resource is not None and oracle.resource_of(thing) is resource
        ]
        if resource is None or not resource.declared or any(truth.is_unsure(oracle, thing) for thing in things):
            continue
        spec = KINDS.get(resource.kind)
        if entry["action"] == "create" and not things and spec is not None and not truth.can_be_looked_for(spec):
            continue  # nothing was made, and nobody but the service can know that
        oracle.holds(
            "nothing-left-open", entry["outcome"] != "begun", entry["address"], "every correction closed",
            f"{entry['action']} {entry['reason']} is {entry['outcome']}",
        )  # fmt: skip
