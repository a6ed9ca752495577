"""Other actors: a person at the portal, another controller, the platform. Their changes take effect at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import delete as deleting
from holdfast_emulators.azure import long_running, pointers, write
from holdfast_emulators.azure.ids import ArmId, parse
from holdfast_emulators.azure.state import Resource, Stamp, State
from holdfast_emulators.azure.type_behaviour import Embedded


@dataclass(frozen=True, slots=True)
class Console:
    """One actor. What it does is on record in systemData, unless it is `silent`, as the platform itself is."""

    state: State
    actor: str
    kind: str = "User"
    silent: bool = False

    def edit(self, ident: str, changes: Mapping[str, Json] | Callable[[dict[str, Json]], object]) -> None:
        """Change a resource: values by pointer, or a function that changes the document in place.

        Pointers go through embedded children to the children themselves; `/properties/subnets/name=a/properties/x` and
        `/properties/subnets/0/...` both work, and `/-` at the end adds an element. Nothing is filled in or respelled.
        """
        with self._at(ident) as resource:
            if callable(changes):
                changes(resource.body)
                self._touch(resource)
                return
            for pointer, value in changes.items():
                self._set(resource, pointer, value)

    def put(self, ident: str, document: Mapping[str, Json]) -> None:
        """Make or replace a resource as a PUT by this actor would, at once, whatever the type's operation."""
        with self.state.lock:
            self.state.catch_up()
            write.write(self.state, _parsed(ident), document, self._stamp())

    def delete(self, ident: str) -> None:
        """Delete a resource and what is below it, at once."""
        with self._at(ident) as resource:
            deleting.remove(self.state, resource)

    def recreate(self, ident: str) -> None:
        """Delete a resource and make it again as it was, children too: its id is the same, it is another one."""
        with self._at(ident) as resource:
            family = [item.snapshot() for item in (resource, *self.state.below(resource.id))]
            self.state.remove(resource.id)
            for was in family:
                write.write(self.state, was.id, was.body, self._stamp(), partial=True)

    def keep_busy(self, ident: str, seconds: float, word: str = "Updating") -> None:
        """Run an operation of another actor on a resource for a while."""
        with self._at(ident) as resource:
            long_running.keep_busy(self.state, resource.id, seconds, word)

    def mark(self, ident: str, word: str) -> None:
        """Leave a resource in a provisioning state: Failed, Updating, or none for done."""
        with self._at(ident) as resource:
            resource.state = word
            resource.cache.clear()

    # -- inside

    @contextmanager
    def _at(self, ident: str) -> Iterator[Resource]:
        with self.state.lock:
            self.state.catch_up()
            yield self.state.resources[_parsed(ident).key]

    def _stamp(self) -> Stamp:
        return self.state.stamp(self.actor, self.kind)

    def _touch(self, resource: Resource) -> None:
        self.state.touch(resource, None if self.silent else self._stamp())

    def _set(self, resource: Resource, pointer: str, value: Json) -> None:
        for rule in self.state.habits_of(resource.id.type).embedded:
            if pointer.startswith(f"{rule.at}/"):
                self._set_child(resource, rule, pointer, value)
                return
        if not pointers.put(resource.body, pointer, copy.deepcopy(value)) and value is not ABSENT:
            raise KeyError(pointer)
        self._touch(resource)

    def _set_child(self, resource: Resource, rule: Embedded, pointer: str, value: Json) -> None:
        """Change a child through the list in its parent."""
        step, _, rest = pointer[len(rule.at) + 1 :].partition("/")
        if step == "-":
            name = value["name"]
            body = {"properties": {k: v for k, v in value.items() if k != "name"}} if rule.flat else value
            write.write(self.state, resource.id.child(rule.child, name), body, self._stamp())
            return
        children = self.state.in_collection(resource.id.child(rule.child, "").collection())
        wanted = step.removeprefix("name=").casefold()
        found = [child for at, child in enumerate(children) if wanted in (str(at), child.id.name.casefold())]
        if not found:
            raise KeyError(pointer)
        if not rest:
            self.state.remove(found[0].id)
        else:
            self._set(found[0], f"/properties/{rest}" if rule.flat else f"/{rest}", value)


def _parsed(ident: str) -> ArmId:
    found = parse(ident)
    if found is None or found.is_collection:
        raise KeyError(ident)
    return found
