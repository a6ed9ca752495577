"""What is true of a resource, from the world and the declarations alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.simulation.documents import at, leaves
from tests.simulation.fleet import Fleet, Resource
from tests.simulation.kinds import KindSpec
from tests.simulation.world import CLAIM, Thing, World

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_REFERENCE = re.compile(r"^\$\{(?P<kind>\w+)/(?P<name>[\w-]+)\.(?P<field>[\w/]+)\}$")
SETTLE = 300.0  # seconds after a write in which late defaults may join, by default


@dataclass
class Book:
    """What the oracle remembers of one resource."""

    versions: dict[str, list[Any]] = field(default_factory=dict)  # path -> declared values, oldest first
    imported: bool = False
    suppressed: set[str] = field(default_factory=set)  # paths that a person waived or baselined
    waived: set[str] = field(default_factory=set)
    accepted: dict[str, Any] = field(default_factory=dict)  # path -> the live value that a person made the baseline
    undone: set[str] = field(default_factory=set)
    contended: dict[str, int] = field(default_factory=dict)  # path -> corrections so far
    doubtful: set[str] = field(default_factory=set)  # paths of which nobody can say who moved them
    joined: dict[str, float] = field(default_factory=dict)  # keys that strangers added within the settle window
    was_there: bool = False
    creates: int = 0
    deletes: list[float] = field(default_factory=list)
    revision: int = 0
    undeclared_at: float | None = None
    policy_was: str = ""
    ineffective: set[str] = field(default_factory=set)
    may_go: bool = False  # a person deleted it
    asked: float | None = None


def bound(world: World, resource: Resource) -> Thing | None:
    """Return the thing that a resource is about: the live one of its name, else the last that was."""
    ident = str((resource.imports or {}).get("id", ""))
    found = [
        thing
        for thing in world.things
        if thing.api == resource.connection
        and thing.kind.name == resource.kind
        and (thing.ident == ident or thing.name == resource.name)
    ]
    alive = [item for item in found if item.deleted is None]
    return alive[0] if alive else (found[-1] if found else None)


def resolved(oracle: Oracle, resource: Resource) -> dict[str, Any]:
    """Return the declared leaves with references and secrets filled in; a reference that leads nowhere is left out."""
    out: dict[str, Any] = {}
    for path, value in leaves(_without_secrets(resource.spec, oracle.fleet)).items():
        found = _REFERENCE.match(value) if isinstance(value, str) else None
        if found is None:
            out[path] = value
            continue
        source = next((item for item in oracle.fleet.resources if item.name == found["name"]), None)
        referred = _referred(oracle, source, found["field"]) if source is not None else None
        if referred is not None:
            out[path] = referred
    for hidden in oracle.hidden(resource):
        out.pop(f"/{hidden}", None)
    return out


def references(resource: Resource) -> list[tuple[str, str, str]]:
    """Return (path, name, field) of every reference."""
    out = []
    for path, value in leaves(resource.spec).items():
        found = _REFERENCE.match(value) if isinstance(value, str) else None
        if found is not None:
            out.append((path, found["name"], found["field"]))
    return out


def lacks_source(oracle: Oracle, resource: Resource) -> bool:
    """Return True if a resource that this one refers to, itself or through others, is not there: then it is held."""
    pending, seen = [resource], {resource.name}
    while pending:
        for _, name, _ in references(pending.pop()):
            source = oracle.fleet.get(name)
            thing = bound(oracle.world, source) if source is not None else None
            if source is None or thing is None or thing.deleted is not None:
                return True
            if name not in seen:
                seen.add(name)
                pending.append(source)
    return False


def _referred(oracle: Oracle, source: Resource, name: str) -> Any:
    """A reference is to the declared value where there is one, else to what the service gave."""
    thing = bound(oracle.world, source)
    if name == "id":
        return thing.ident if thing is not None and thing.deleted is None else None
    declared = at(source.spec, f"/{name}") if source.policy != "unmanaged" else None
    if declared is not None:
        return declared
    return at(thing.own, f"/{name}") if thing is not None else None


def _without_secrets(value: Any, fleet: Fleet) -> Any:
    if isinstance(value, dict):
        reference = value.get("secretRef")
        if isinstance(reference, dict):
            return fleet.environment.get(str(reference.get("env")), "")
        return {key: _without_secrets(below, fleet) for key, below in value.items()}
    if isinstance(value, list):
        return [_without_secrets(below, fleet) for below in value]
    return value


def policy_of(fleet: Fleet, resource: Resource, path: str) -> str:
    """Return what is to be done about drift at a path: correct, report, approve or ignore."""
    by_path = dict(resource.options.get("onDriftPaths", {}))
    for pattern, word in by_path.items():
        if path == pattern or path.startswith(f"{pattern}/"):
            return str(word)
    return str(fleet.setting(resource, "onDrift", "correct"))


def moved_paths(oracle: Oracle, resource: Resource, thing: Thing) -> set[str]:
    """Return where changed outside Holdfast: strangers left something that is neither declared nor suppressed."""
    declared = resolved(oracle, resource)
    book = oracle.book(resource)
    return {
        path
        for path in thing.moved()
        if path not in book.suppressed
        and path not in ("/path", "/seen_by")
        and not is_accepted(book, thing, path)
        and policy_of(oracle.fleet, resource, path) != "ignore"
        and not (path in declared and declared[path] == at(thing.live, path))
    }


def intent_paths(oracle: Oracle, resource: Resource, thing: Thing) -> set[str]:
    """Return where the declaration moved and the world has not followed."""
    out = set()
    for path, value in resolved(oracle, resource).items():
        left_alone = path == "/path" or path in oracle.book(resource).suppressed
        if left_alone or policy_of(oracle.fleet, resource, path) == "ignore":
            continue
        was_ours = at(thing.own, path) == value and not is_accepted(oracle.book(resource), thing, path)
        if at(thing.live, path) != value and not was_ours:
            out.add(path)
    return out


def is_accepted(book: Book, thing: Thing, path: str) -> bool:
    """Return True if the live value is a baseline that a person chose: it has not moved since."""
    return path in book.accepted and book.accepted[path] == at(thing.live, path)


MOVED = frozenset({"pending", "drifted", "conflicted"})


def verdicts(oracle: Oracle, resource: Resource) -> set[str] | None:
    """Return the verdicts that are right now; None where nobody can say."""
    book, thing = oracle.book(resource), bound(oracle.world, resource)
    if resource.policy == "unmanaged" or not resource.declared:
        return None
    if thing is None:
        return {"pending", "missing"}
    if thing.made_by != "us" and not book.was_there:
        return None
    if thing.deleted is not None:
        return None if book.may_go else {"missing"}
    moved, intent = moved_paths(oracle, resource, thing), intent_paths(oracle, resource, thing)
    if resource.policy == "observed" and not intent:
        is_unclear = bool(book.policy_was or thing.kind.late)
        return {"in_sync", "drifted"} if is_unclear else {"drifted" if moved else "in_sync"}
    if _nobody_can_say(oracle, resource, thing, moved, intent):
        return None
    if (moved | intent) & book.undone or intent & book.ineffective or (intent and thing.made_by != "us"):
        return set(MOVED)
    return _of_sides(bool(moved), bool(intent), is_late=bool(thing.kind.late))


def _of_sides(moved: bool, intent: bool, *, is_late: bool) -> set[str]:
    """Return the verdict by who moved; a late default that was first seen after its time counts as the world's move."""
    right = {(False, False): "in_sync", (False, True): "pending", (True, False): "drifted", (True, True): "conflicted"}
    return {right[moved, intent], right[moved or is_late, intent]}


def _nobody_can_say(oracle: Oracle, resource: Resource, thing: Thing, moved: set[str], intent: set[str]) -> bool:
    """Tell whether who moved cannot be told from what any reader could have seen."""
    book = oracle.book(resource)
    if _is_unfinished(oracle, thing):
        return True
    undeclared = any(path not in leaves(resource.spec) and at(thing.own, path) is not None for path in book.versions)
    may_have_joined = bool(moved) and not intent and not (moved - book.joined.keys())
    doubtful = bool((moved | intent) & book.doubtful) or _refers_to_doubt(oracle, resource)
    return undeclared or may_have_joined or doubtful or thing.api in oracle.world.echo or is_unsure(oracle, thing)


def _is_unfinished(oracle: Oracle, thing: Thing) -> bool:
    """Return True if the process that created a thing was killed before the answer, and no process has resumed it.

    A process on another machine can resume it only after the claim has expired, because the claimant may still live.
    """
    lost = [sent for sent in oracle.world.journal if sent.effect == "create" and sent.thing is thing]
    if not lost or lost[-1].delivered:
        return False
    create = lost[-1]
    return not any(
        process.started > create.at
        and process.code is not None
        and process.arguments[0] in ("apply", "watch")
        and (
            create.process is None or process.machine == create.process.machine or process.started >= create.at + CLAIM
        )
        for process in oracle.life.kernel.processes
    )


def can_be_looked_for(kind: KindSpec) -> bool:
    """Tell whether a create whose answer was lost can be found out about."""
    return kind.lists or kind.key or kind.by_name


def is_unsure(oracle: Oracle, thing: Thing) -> bool:
    """Tell whether nobody can know that a thing was made: the answer was lost, and it cannot be looked for."""
    if can_be_looked_for(thing.kind):
        return False
    return any(item.effect == "create" and item.thing is thing and not item.delivered for item in oracle.world.journal)


def _refers_to_doubt(oracle: Oracle, resource: Resource) -> bool:
    """Tell whether what a resource refers to has no declared value and may be moved, gone or not there yet."""
    for _, name, field_ in references(resource):
        source = oracle.fleet.get(name)
        if source is None:
            return True
        thing = bound(oracle.world, source)
        if thing is None or thing.deleted is not None:
            return True
        if field_ != "id" and at(source.spec, f"/{field_}") is None and f"/{field_}" in thing.moved():
            return True
    return False
