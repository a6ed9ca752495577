"""Judging every write at the moment it reaches an API."""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import TYPE_CHECKING, Any

from tests.simulation.documents import at, leaves
from tests.simulation.fleet import Resource
from tests.simulation.kernel import START
from tests.simulation.oracle import truth
from tests.simulation.world import Sent, Thing

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

IN_FLIGHT = 0.2  # seconds: what was on its way already
_LOOKING = frozenset({"check", "plan", "status", "contention", "corrections", "history", "events", "audit", "approve"})
_BY_A_PERSON = frozenset({"undo", "delete", "revert"})


def note_stranger(oracle: Oracle, resource: Resource, thing: Thing, path: str) -> None:
    """Remember what cannot be told apart: an edit before our own write was read back, and keys that may join."""
    book = oracle.book(resource)
    writes = [item for item in oracle.world.journal if item.is_write and item.thing is thing and item.effect]
    if not writes:
        return
    last = writes[-1]
    if thing.api != "files":
        settled = [
            item
            for item in oracle.world.journal
            if not item.is_write and item.thing is thing and item.truthful and item.at > last.at
        ]
        busy = last.process is not None and last.process.is_running and last.process.arguments[0] != "watch"
        if not settled or busy:
            book.doubtful.add(path)
        appeared = path not in leaves(thing.own)
        was_clean = not (truth.moved_paths(oracle, resource, thing) - {path} - book.joined.keys())
        if appeared and was_clean and oracle.now - last.at <= truth.SETTLE + 60.0:
            book.joined[path] = oracle.now


def judge(oracle: Oracle, sent: Sent) -> None:
    """Judge one write."""
    process = sent.process
    if process is None:
        return
    command = process.arguments[0]
    thing = sent.thing
    resource = oracle.resource_of(thing) if thing is not None else _by_body(oracle, sent)
    address = resource.address if resource is not None else f"{sent.api}/{sent.kind}/{sent.ident}"
    oracle.life.story.sent(sent, address)
    oracle.holds("looking-cannot-write", command not in _LOOKING, address, "no write", f"{sent.method} by {command}")
    _judge_pause(oracle, sent, address, command)
    _judge_spread(oracle, sent, address, command)
    if resource is None:
        if sent.effect:
            oracle.holds("unmanaged-untouched", False, address, "untouched", sent.effect)
        return
    if sent.effect == "create":
        _judge_create(oracle, sent, resource)
    elif sent.effect in ("update", "ignored"):
        _judge_update(oracle, sent, resource, command)
    elif sent.method == "DELETE":
        _judge_delete(oracle, sent, resource)


def _by_body(oracle: Oracle, sent: Sent) -> Resource | None:
    for resource in oracle.fleet.resources:
        if resource.connection == sent.api and resource.kind == sent.kind:
            if isinstance(sent.body, dict) and sent.body.get("name") == resource.name:
                return resource
            if sent.ident is not None and any(
                thing.ident == sent.ident and thing.name == resource.name for thing in oracle.world.things
            ):
                return resource
    return None


# --- limits -----------------------------------------------------------------------------------------------------------


def _judge_pause(oracle: Oracle, sent: Sent, address: str, command: str) -> None:
    if command in ("undo", "delete"):
        return
    for scope, since in oracle.pauses.items():
        if scope in ("", address) or address.startswith(f"{scope}/"):
            kept = sent.left <= since + IN_FLIGHT
            said = f"{sent.method} sent {sent.at - since:.1f} s after the pause of {scope or 'everything'}"
            oracle.holds("pause-holds-every-send", kept, address, "nothing sent", said)


def frozen_since(oracle: Oracle, now: float) -> float | None:
    """Return since when a freeze is on, None if there is none."""
    for window in oracle.fleet.project.get("corrections", {}).get("windows", []):
        freeze = window.get("freeze", {})
        if "from" in freeze and "until" in freeze:
            start, end = (_elapsed(freeze[item]) for item in ("from", "until"))
            if start <= now < end:
                return start
    return None


def _elapsed(text: str) -> float:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp() - START


def _correction(oracle: Oracle, sent: Sent, resource: Resource, command: str) -> None:
    """A write that puts the world back has gone out: was it allowed to?"""
    address, now = resource.address, sent.at
    if command in _BY_A_PERSON:
        return
    if not oracle.jumps:
        since = frozen_since(oracle, now)
        if oracle.fleet.project.get("corrections", {}).get("windows"):
            kept = since is None or sent.left <= since + IN_FLIGHT
            oracle.holds("freeze-holds-every-send", kept, address, "held by the freeze", f"{sent.method} sent")
    drifted_at = _drifted_at(sent)
    oracle.corrections.append((now, address, drifted_at))
    _judge_budget(oracle, address, now)
    judge_mass(oracle, address, drifted_at)


def _drifted_at(sent: Sent) -> float:
    thing = sent.thing
    if thing is None or not thing.touched:
        return sent.at
    return min(when for _, when in thing.touched.values())


def _judge_budget(oracle: Oracle, address: str, now: float) -> None:
    for rule in oracle.fleet.project.get("corrections", {}).get("budgets", []):
        per = {"h": 3600.0, "m": 60.0, "d": 86400.0}[rule["per"][-1]] * int(rule["per"][:-1])
        spent = [correction for correction in oracle.corrections if now - per < correction[0] <= now]
        oracle.holds(
            "budget-never-exceeded", len(spent) <= rule["max"] or bool(oracle.jumps), address,
            f"at most {rule['max']} in {rule['per']}", f"{len(spent)} corrections",
        )  # fmt: skip


def judge_mass(oracle: Oracle, address: str, drifted_at: float) -> None:
    """Of what drifted at once nothing is reverted without a yes."""
    guard = oracle.fleet.project.get("corrections", {}).get("massDrift", {})
    if guard in ("off", False):
        return
    share = float(str(guard.get("share", "30%")).rstrip("%")) / 100
    total = len(oracle.fleet.declared)
    limit = max(guard.get("atLeast", 10), math.ceil(share * total))
    together = {correction for _, correction, when in oracle.corrections if abs(when - drifted_at) < 1.0}
    drifted = {address for address, when in oracle.life.mass.items() if abs(when - drifted_at) < 1.0}
    if len(drifted) < limit or oracle.approved_at >= drifted_at:
        return
    oracle.holds(
        "mass-drift-held", not together, address,
        f"{len(drifted)} of {total} drifted at once: held", f"{len(together)} corrected without a yes",
    )  # fmt: skip


# --- what is written --------------------------------------------------------------------------------------------------


def _judge_spread(oracle: Oracle, sent: Sent, address: str, command: str) -> None:
    if sent.body is None or not oracle.tokens or command == "undo":
        return
    text = json.dumps(sent.body)
    foreign = [token for token, origin in oracle.tokens.items() if origin != address and f'"{token}"' in text]
    said = f"{foreign[0]!r}, which a stranger wrote into {oracle.tokens[foreign[0]]}" if foreign else ""
    oracle.holds("no-drift-spread", not foreign, address, "no value of another's drift", said)


def _judge_create(oracle: Oracle, sent: Sent, resource: Resource) -> None:
    book, thing = oracle.book(resource), sent.thing
    assert thing is not None
    same = [item for item in oracle.world.by_name(sent.api, sent.kind, thing.name) if item is not thing]
    oracle.holds(
        "created-once", not same or resource.is_file, resource.address,
        "one thing", f"{len(same) + 1} live things named {thing.name}",
    )  # fmt: skip
    earlier = [
        item for item in oracle.world.things
        if item is not thing and item.api == thing.api and item.kind is thing.kind and item.name == thing.name
    ]  # fmt: skip
    by_stranger = [item for item in earlier if item.deleted_by == "stranger"]
    person = sent.process is not None and "--recreate" in sent.process.arguments
    if by_stranger and not person and not same:
        period = oracle.fleet.setting(resource, "resyncPeriod", "not said")
        recreate = oracle.fleet.setting(resource, "recreate", "when_resync")
        must_not = book.imported or recreate == "never" or (recreate == "when_resync" and period in ("0", 0))
        why = "imported" if book.imported else f"resyncPeriod {period}, recreate {recreate}"
        oracle.holds("never-recreated", not must_not, resource.address, f"not recreated ({why})", "recreated")
        if sent.process is not None:
            _correction(oracle, sent, resource, sent.process.arguments[0])
    oracle.holds(
        "unmanaged-untouched",
        resource.policy == "managed",
        resource.address,
        f"untouched: {resource.policy}",
        "created",
    )
    book.was_there = True
    book.creates += 1
    book.doubtful.clear()
    _judge_newer(oracle, sent, resource, leaves(thing.live))


def changed_paths(sent: Sent) -> set[str]:
    """Return the leaves that a write changed."""
    before, after = leaves(sent.before or {}), leaves(sent.after or {})
    missing = object()
    return {path for path in before.keys() | after.keys() if before.get(path, missing) != after.get(path, missing)}


def _judge_update(oracle: Oracle, sent: Sent, resource: Resource, command: str) -> None:
    address, book = resource.address, oracle.book(resource)
    kept = resource.policy == "managed" and resource.declared
    oracle.holds("unmanaged-untouched", kept, address, f"untouched: {resource.policy}", "updated")
    if sent.effect == "ignored":
        wanted = leaves(dict(sent.body or {}))
        book.ineffective |= {path for path, value in wanted.items() if at(sent.after, path) != value}
        return
    changed = changed_paths(sent)
    book.ineffective -= changed
    if command == "undo":
        return
    own, before = sent.own_before or {}, sent.before or {}
    drifted = {path for path in changed if at(own, path) != at(before, path)}
    declared = truth.resolved(oracle, resource)
    for path in sorted(drifted):
        word = truth.policy_of(oracle.fleet, resource, path)
        is_intent = path in declared and declared[path] not in (at(own, path), at(before, path))
        allowed = word == "correct" or command == "revert" or is_intent
        allowed = allowed or (word == "approve" and oracle.approved_at >= 0) or path in book.doubtful
        oracle.holds("written-within-policy", allowed, address, f"{path} is to {word}", "written over")
    for path in sorted(changed):
        default = sent.thing.kind.defaults.get(path[1:]) if sent.thing is not None else None
        values = [*book.versions.get(path, []), at(own, path), declared.get(path), default]
        value = at(sent.after, path)
        removed = value in (None, {}) and path not in declared
        fine = value in values or removed or path in book.doubtful or path == "/path" or _is_reference(resource, path)
        oracle.holds("only-declared-values", fine, address, f"{path}: one of {values}", repr(value))
    _judge_newer(oracle, sent, resource, {path: at(sent.after, path) for path in changed})
    if drifted:
        _correction(oracle, sent, resource, command)
    for path in sorted(drifted & book.contended.keys()):
        book.contended[path] += 1
        if command in ("watch", "apply"):
            count = book.contended[path]
            oracle.holds(
                "contention-named", count <= 3, address, f"{path} corrected 3 times, then named", f"{count} times"
            )
    zero = oracle.fleet.setting(resource, "resyncPeriod", "not said") in ("0", 0)
    if drifted and command == "watch" and zero:
        oracle.holds("resync-zero-left-alone", False, address, "left alone by watch", f"corrected {sorted(drifted)}")


def _is_reference(resource: Resource, path: str) -> bool:
    return any(path == place for place, _, _ in truth.references(resource))


def _judge_newer(oracle: Oracle, sent: Sent, resource: Resource, written: dict[str, Any]) -> None:
    """A value of an older declaration must not take the place of one of a newer that was applied."""
    book = oracle.book(resource)
    for path, value in written.items():
        versions = book.versions.get(path, [])
        before = at(sent.before, path)
        if len(versions) > 1 and before in versions and value in versions:
            kept = _last(versions, value) >= _last(versions, before)
            oracle.holds("newer-never-overwritten", kept, resource.address, f"{path} stays {before!r}", f"{value!r}")


def _last(values: list[Any], value: Any) -> int:
    return len(values) - 1 - values[::-1].index(value)


def _judge_delete(oracle: Oracle, sent: Sent, resource: Resource) -> None:
    book = oracle.book(resource)
    if sent.effect == "delete":
        named = resource.name in oracle.allowed_deletes
        oracle.holds("delete-only-the-named", named, resource.address, "kept: it was not named", "deleted")
        book.deletes.append(sent.at)
        oracle.holds("deleted-once", True)
        book.may_go = True
        return
    ours = [
        item for item in oracle.world.journal
        if item.effect == "delete" and item.ident == sent.ident and item.api == sent.api and item.kind == sent.kind
        and item.process is not sent.process
    ]  # fmt: skip
    oracle.holds(
        "deleted-once", not ours, resource.address, "one DELETE", "a DELETE for what our own DELETE had removed"
    )
