"""PUT and PATCH: what is stored, what becomes of children, and who is on record for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import admission, defaults, long_running, policies, soft_delete, stored_form
from holdfast_emulators.azure.calls import Call
from holdfast_emulators.azure.errors import not_found
from holdfast_emulators.azure.ids import ArmId
from holdfast_emulators.azure.messages import Response
from holdfast_emulators.azure.state import Resource, Stale, Stamp, State
from holdfast_emulators.azure.type_behaviour import Embedded, Habits


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a write. `before` is a copy of the previous resource, None if there was none."""

    resource: Resource
    before: Resource | None
    changed: bool


def put(call: Call) -> Response:
    """Make or replace a resource, or promise to."""
    sent = call.sent()
    existing = call.state.find(call.id)
    call.check_preconditions(existing)
    admission.check_place(call)
    admission.check_free(call, existing)
    if existing is None:
        admission.check_name(call)
        recovered = soft_delete.recover(call, sent)
        if recovered is not None:
            return _answered(call, Written(recovered, None, changed=True), "create")
    return _accepted(call, existing, sent, "create" if existing is None else "update")


def patch(call: Call) -> Response:
    """Change a resource by an RFC 7396 patch; fields the patch does not have stay."""
    sent = call.sent()
    existing = call.state.find(call.id)
    if existing is None:
        raise not_found(call.id.type, call.id.name, call.id.group)
    call.check_preconditions(existing)
    admission.check_free(call, existing)
    whole = defaults.over(existing.body, sent)
    return _accepted(call, existing, whole, "patch")


def _accepted(call: Call, existing: Resource | None, sent: dict[str, Json], kind: str) -> Response:
    admission.check_location(call, existing, sent)
    sent = policies.enforce(call.state.policies, call.id, sent)
    if kind != "patch":
        admission.check_required(call, sent)
    admission.check_references(call, sent)
    written = write(call.state, call.id, sent, call.who, partial=kind == "patch")
    return _answered(call, written, kind)


def _answered(call: Call, written: Written, kind: str) -> Response:
    how = getattr(call.habits.operations, kind) or call.habits.operations.update
    _lag(call.state, written, how.seconds)
    response = long_running.begin(call, written.resource, written.before, kind, how)
    response.changed = written.changed
    return response


def write(state: State, id_: ArmId, sent: Mapping[str, Json], who: Stamp, *, partial: bool = False) -> Written:
    """Store a document at once, as the type does it; a partial one does not touch children it does not name."""
    existing = state.find(id_)
    habits = state.habits_of(id_.type)
    before = existing.snapshot() if existing is not None else None
    draft = Resource(id_, {**(before.body if before else {}), **sent}, who, who, before.revision + 1 if before else 1)
    shaped = stored_form.shape(state, draft, before.body if before is not None else None, sent, partial=partial)
    resource = existing or Resource(id_, {}, who, who)
    moved = before is None or stored_form.settable(before.body, habits) != stored_form.settable(shaped.body, habits)
    resource.body = shaped.body
    if existing is None:
        state.add(resource)
    resource.state = ""
    listed = [(rule, items) for rule, items in shaped.children if items is not ABSENT or not partial]
    moved_children = [_write_children(state, resource, rule, items, who) for rule, items in listed]
    state.touch(resource, who, changed=moved)
    _expect(state, resource, shaped, habits)
    if existing is None:
        _imply(state, resource, who)
    return Written(resource, before, moved or any(moved_children))


def _write_children(state: State, resource: Resource, rule: Embedded, listed: Json, who: Stamp) -> bool:
    """Write the children that a parent's list names, and remove those it does not, as far as the type does that."""
    there = {element.id.key: element for element in state.in_collection(resource.id.child(rule.child, "").collection())}
    if not isinstance(listed, list):
        doomed = list(there.values()) if rule.omitted == "wipe" else []
        named = {}
    else:
        named = {
            resource.id.child(rule.child, str(item.get("name"))): item for item in listed if isinstance(item, dict)
        }
        keys = {id_.key for id_ in named}
        doomed = [element for key, element in there.items() if key not in keys] if rule.unlisted == "wipe" else []
    changed = bool(doomed)
    for child in doomed:
        state.remove(child.id)
    for id_, item in named.items():
        body = {"properties": {key: value for key, value in item.items() if key != "name"}} if rule.flat else item
        existing = there.get(id_.key)
        changed |= write(state, existing.id if existing else id_, body, who).changed
    return changed


def _expect(state: State, resource: Resource, shaped: stored_form.Shaped, habits: Habits) -> None:
    """Have late defaults appear when their time comes."""
    seconds = (habits.operations.create if resource.revision == 1 else habits.operations.update).seconds
    for rule in shaped.late:

        def appear(at: str = rule.at, value: Json = rule.value) -> None:
            if state.find(resource.id) is resource and defaults.place(resource.body, at, value):
                state.touch(resource, None)

        state.schedule(state.now() + (seconds + rule.late_seconds) * state.pace, appear)


def _imply(state: State, resource: Resource, who: Stamp) -> None:
    """Make the children that come with a new parent."""
    above = resource.id.type.casefold()
    for habits in list(state.habits.values()):
        if habits.implied and habits.type.casefold().rpartition("/")[0] == above:
            for name in habits.implied:
                child = resource.id.child(habits.type.rpartition("/")[2], name)
                if state.find(child) is None:
                    write(state, child, {}, who)


def _lag(state: State, written: Written, seconds: float) -> None:
    """Let reads lag behind, where the type's do."""
    habits = state.habits_of(written.resource.id.type)
    if habits.lag_reads or habits.lag_seconds:
        ends_at = state.now() + seconds * state.pace
        until = ends_at + habits.lag_seconds if habits.lag_seconds else float("inf")
        reads = habits.lag_reads or -1
        written.resource.stale = Stale(written.before, until, reads)
