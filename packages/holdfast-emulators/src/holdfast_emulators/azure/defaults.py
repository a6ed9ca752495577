"""Additions of a service to a request: defaults, values of its own, elements of lists; and values that it keeps.

All functions change a document in place. The writer and the time are variables, chance is an argument.
"""

from __future__ import annotations

import copy
import json
import random
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import pointers
from holdfast_emulators.azure.type_behaviour import Computed, Element, Fill, Habits, Order

_VARIABLE = re.compile(r"\$\{([^}]+)\}")


def guid(chance: random.Random) -> str:
    """Make up a GUID."""
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


@dataclass(slots=True)
class Filling:
    """One write, or one read, that fills something in. `before` is the document it replaces, if there was one."""

    chance: random.Random
    variables: Mapping[str, Json] = field(default_factory=dict)
    before: Mapping[str, Json] | None = None
    late: list[Fill] = field(default_factory=list)  # what is to appear later, with its value made

    @property
    def creates(self) -> bool:
        """Return True if there was nothing before."""
        return self.before is None

    def expanded(self, value: Json, document: Json = None, holder: Json = None) -> Json:
        """Replace the variables in a value; a text that is nothing but one variable takes its type.

        `${/properties/x}` is what the document has there, `${element}` the name of the element of a list that is
        being filled; the others are in `State.filling`, or made up on the spot.
        """
        if isinstance(value, str) and "${" in value:
            whole = _VARIABLE.fullmatch(value)
            if whole:
                return self._variable(whole[1], document, holder)
            return _VARIABLE.sub(lambda found: str(self._variable(found[1], document, holder)), value)
        if isinstance(value, Mapping):
            return {key: self.expanded(item, document, holder) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.expanded(item, document, holder) for item in value]
        return value

    def _variable(self, name: str, document: Json, holder: Json) -> Json:
        if name.startswith("/"):
            found = pointers.get(document, name)
            return None if found is ABSENT else found
        if name == "element":
            return _name(holder)
        made: Mapping[str, Callable[[], Json]] = {
            "guid": lambda: guid(self.chance),
            "ip": lambda: (
                f"20.{self.chance.randrange(256)}.{self.chance.randrange(256)}.{self.chance.randrange(1, 255)}"
            ),
            "random": lambda: f"{self.chance.getrandbits(32):08x}",
            "number": lambda: self.chance.randrange(1_000_000),
        }
        return made[name]() if name in made else self.variables[name]

    def _is_for(self, phase: str) -> bool:
        return phase == "write" or (phase == "create") is self.creates

    # -- defaults

    def fill(self, document: dict[str, Json], rules: tuple[Fill, ...]) -> None:
        """Fill in defaults; what comes late goes into `late`, unless it was there before."""
        for rule in rules:
            if self._is_for(rule.phase):
                self._fill(document, rule)

    def _fill(self, document: dict[str, Json], rule: Fill) -> None:
        earlier = pointers.get(self.before, rule.at) if self.before is not None else ABSENT
        if rule.late_seconds and earlier is ABSENT:
            if pointers.holds(document, rule.when):
                self.late.append(Fill(rule.at, self._value(rule, ABSENT, document), late_seconds=rule.late_seconds))
            return
        for spot in _open(document, rule.at, rule.when):
            if rule.overrides or spot.value() in (ABSENT, None):
                spot.put(self._value(rule, earlier, document, spot.holder))

    def _value(self, rule: Fill, earlier: Json, document: Json, holder: Json = None) -> Json:
        if not rule.choice:
            return copy.deepcopy(self.expanded(rule.value, document, holder))
        return self.chance.choice(rule.choice) if earlier is ABSENT else earlier

    # -- values of the service's own

    def compute(self, document: dict[str, Json], rules: tuple[Computed, ...]) -> None:
        """Fill in the read-only values of the service: kept from before, or computed again."""
        for rule in rules:
            if rule.renewed != "read":
                self._compute(document, rule)

    def _compute(self, document: dict[str, Json], rule: Computed) -> None:
        earlier = pointers.get(self.before, rule.at) if self.before is not None and "*" not in rule.at else ABSENT
        for spot in _open(document, rule.at, rule.when):
            kept = rule.renewed == "never" and earlier is not ABSENT
            spot.put(copy.deepcopy(earlier) if kept else self.expanded(rule.value, document, spot.holder))

    def refresh(self, document: dict[str, Json], rules: tuple[Computed, ...]) -> None:
        """Put in what is another value on each read."""
        for rule in rules:
            if rule.renewed == "read" and pointers.holds(document, rule.when):
                pointers.put(document, rule.at, self.expanded(rule.value, document))

    # -- elements

    def add_elements(self, document: dict[str, Json], rules: tuple[Element, ...]) -> None:
        """Add the elements that lists of this type always have."""
        for rule in rules:
            for spot in _open(document, rule.at, rule.when) if self._is_for(rule.phase) else ():
                self._add(spot, rule)

    def _add(self, spot: pointers.Spot, rule: Element) -> None:
        found = spot.value()
        items = list(found) if isinstance(found, list) else []
        value = copy.deepcopy(self.expanded(rule.value))
        if not any(_key(item, rule.key) == _key(value, rule.key) for item in items):
            items.insert(0 if rule.first else len(items), value)
        spot.put(items)


def _open(document: dict[str, Json], pointer: str, when: Mapping[str, Json]) -> list[pointers.Spot]:
    """List the places of a pointer where the condition is met; objects are made on the way to them, and to no other."""
    beside = {item: wanted for item, wanted in when.items() if not item.startswith("/")}
    if not pointers.holds(document, {item: wanted for item, wanted in when.items() if item not in beside}):
        return []
    found = pointers.spots(document, pointer, make=not beside)
    return [spot for spot in found if pointers.holds(document, beside, spot.holder)]


def _name(element: Json) -> str:
    if not isinstance(element, Mapping):
        return ""
    return str(element.get("name") or str(element.get("locationName", "")).replace(" ", "").lower())


def _key(item: Json, key: str | None) -> Json:
    found = item.get(key) if key is not None and isinstance(item, Mapping) else item
    return found.casefold() if isinstance(found, str) else found


def reorder(document: dict[str, Json], rules: tuple[Order, ...], chance: random.Random, *, reading: bool) -> None:
    """Put lists into the order in which the service shows them."""
    for rule in rules:
        if rule.each_read is not reading:
            continue
        for spot in pointers.spots(document, rule.at):
            if isinstance(found := spot.value(), list):
                spot.put(_ordered(list(found), rule, chance))


def _ordered(items: list[Json], rule: Order, chance: random.Random) -> list[Json]:
    if rule.how == "shuffled":
        chance.shuffle(items)
        return items
    if rule.how == "reversed":
        return items[::-1]
    return sorted(items, key=lambda item: json.dumps(_key(item, rule.by), sort_keys=True))


# -- what a PUT leaves as it was


def kept(before: Mapping[str, Json] | None, sent: Mapping[str, Json], habits: Habits) -> dict[str, Json]:
    """Return the document to store after a PUT: the sent fields, and those that their omission does not clear."""
    document: dict[str, Json] = copy.deepcopy(dict(sent))
    if habits.null_keeps:
        document = _without_nulls(document)
    if before is None:
        return document
    if habits.put == "merge":
        document = over(before, document)
        for pointer in habits.whole:
            if pointers.get(sent, pointer) not in (ABSENT, None):
                pointers.put(document, pointer, copy.deepcopy(pointers.get(sent, pointer)))
    for pointer in (*habits.keeps, *(secret.at for secret in habits.secrets if "*" not in secret.at)):
        was = pointers.get(before, pointer)
        if was is not ABSENT and pointers.get(document, pointer) is ABSENT:
            pointers.put(document, pointer, copy.deepcopy(was))
    return document


def over(below: Mapping[str, Json], above: Mapping[str, Json]) -> dict[str, Json]:
    """Lay one document over another; lists are replaced, null takes out what it covers, and {} empties it.

    All but `properties`: that is a wrapper, and one with nothing in it says nothing.
    """
    out = copy.deepcopy(dict(below))
    for key, value in above.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, Mapping) and (value or key == "properties") and isinstance(out.get(key), Mapping):
            out[key] = over(out[key], value)
        else:
            out[key] = copy.deepcopy(value)
    return out


def _without_nulls(document: dict[str, Json]) -> dict[str, Json]:
    """Take out nulls, and objects that held nothing else; what was empty from the beginning stays."""
    out: dict[str, Json] = {}
    for key, value in document.items():
        found = _without_nulls(value) if isinstance(value, dict) else value
        if found is not None and (found != {} or value == {}):
            out[key] = found
    return out


def place(document: dict[str, Json], pointer: str, value: Json) -> bool:
    """Fill in a value where there is none. Return True if there was a place for it."""
    placed = False
    for spot in list(pointers.spots(document, pointer, make=True)):
        if spot.value() in (ABSENT, None):
            spot.put(copy.deepcopy(value))
            placed = True
    return placed
