"""The section `rollout` of a template, and the predicates it and its neighbours are made of.

rollout:
  method: replace-before-remove        # or remove-first, rewrite
  canary: 1                            # a number of slots, or their names; 0: none
  waves: true                          # 1, 2, 4, ... after the canary
  partition: 0                         # so many slots, the last ones, stay
  maxSurge: 10%                        # rounded down; at least one of two or more
  maxUnavailable: 10%
  perZone: 1                           # slots of one zone at work at once, or a share of the zone's
  budgets: {spec: 5%, dynamic: 1, "*": 10%}
  windows: [{allow: {days: mon-fri, hours: "09:00-17:00"}, zone: Europe/Berlin}]
  gates: [{name: errors, resource: api/Metric/errors, path: /value, operator: Lt, values: [5]}]
  minReady: 10s
  soak: 5m
  progressDeadline: 30m
  haltOnFailures: 3                    # or a share, or never
  onHalt: stay                         # or roll-back
  holds: {web-3: true, web-4: 2h}
  holdDeadline: 1d
  retry: {base: 1m, max: 10m}
  spreadBy: zone                       # a label of selected children
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.compare import paths
from holdfast.errors import InputError
from holdfast.manifests import field_reader, window_spec
from holdfast.manifests.field_reader import Fields
from holdfast.manifests.validation import Sheet, named, shown
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer
from holdfast.policy.windows import Window
from holdfast.policy.write_reasons import EVERY, WriteReason
from holdfast.rollouts.core.requirements import AT_ONCE, WITH_VALUES, Asks, Debounce, Predicate, Supply
from holdfast.rollouts.core.rollout_limits import Amount, OnHalt, RolloutLimits
from holdfast.rollouts.core.templates import HealthGate, Method

SECTION: Final = "rollouts"  # of the project file: what holds over all templates
_ROLLOUT = (
    "method", "canary", "waves", "partition", "maxSurge", "maxUnavailable", "perZone", "budgets", "windows", "gates",
    "minReady", "soak", "progressDeadline", "haltOnFailures", "onHalt", "holds", "holdDeadline", "retry", "spreadBy",
)  # fmt: skip
_NOWHERE: Path = ()
_PREDICATE = ("name", "path", "operator", "values", "offeredBy", "at")


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """What the section says."""

    method: Method
    limits: RolloutLimits
    gates: tuple[HealthGate, ...] = ()
    holds: Mapping[str, float] = field(default_factory=dict)
    spread_by: str = ""


def read(sheet: Sheet, value: Json, pointer: Pointer, default: Method) -> RolloutSettings:
    """Return the settings of a rollout, noting everything that is wrong with them."""
    fields = Fields(sheet, value, pointer, _ROLLOUT)
    plain = RolloutLimits()
    retry = fields.mapping("retry", ("base", "max"))
    canary, named_ones = fields.read("canary", _canary, (plain.canary, frozenset[str]()))
    limits = RolloutLimits(
        max_unavailable=fields.read("maxUnavailable", field_reader.amount, plain.max_unavailable),
        max_surge=fields.read("maxSurge", field_reader.amount, plain.max_surge),
        budgets=fields.read("budgets", field_reader.amounts, {}),
        per_zone=fields.read("perZone", some, None),
        canary=canary,
        canary_slots=named_ones,
        has_waves=fields.read("waves", field_reader.truth, default=True),
        partition=fields.read("partition", field_reader.count(0), 0),
        windows=_windows(fields),
        min_ready=fields.read("minReady", field_reader.seconds, 0.0),
        soak=fields.read("soak", field_reader.seconds, 0.0),
        progress_deadline=_off(fields.read("progressDeadline", field_reader.seconds, 0.0)),
        halt_after=fields.read("haltOnFailures", _failures, plain.halt_after),
        on_halt=sheet.choice(fields.body, "onHalt", pointer, OnHalt.STAY),
        hold_deadline=_off(fields.read("holdDeadline", field_reader.seconds, 0.0)),
        retry_base=retry.read("base", field_reader.seconds, plain.retry_base),
        retry_max=retry.read("max", field_reader.seconds, plain.retry_max),
    )
    method = sheet.choice(fields.body, "method", pointer, default)
    _usable(fields, limits, method)
    gates = (_gate(sheet, item, place) for place, item in fields.items("gates"))
    return RolloutSettings(
        method,
        limits,
        tuple(gate for gate in gates if gate is not None),
        fields.read("holds", _holds, {}),
        sheet.text(fields.body, "spreadBy", pointer) or "",
    )


def _usable(fields: Fields, limits: RolloutLimits, method: Method) -> None:
    """Note limits that would stop every rollout without saying so."""
    key, limit = (
        ("maxSurge", limits.max_surge)
        if method is Method.REPLACE_BEFORE_REMOVE
        else ("maxUnavailable", limits.max_unavailable)
    )
    if limit == 0:
        fields.sheet.fail(f"{key}: 0 with method {method} lets nothing be rolled", (*fields.pointer, key))


def at_once(sheet: Sheet, value: Json) -> Amount | None:
    """Return how many slots may be at work over all templates, from the section of the project file."""
    return Fields(sheet, value, (SECTION,), ("atOnce",)).read("atOnce", some, None)


def some(value: Json) -> Amount | None:
    """Return an amount that is not none: a limit that lets nothing through stops rollouts without saying so."""
    if type(value) is int and value < 1:
        raise InputError(f"{value} lets nothing be rolled; write a number from 1 up, or a share such as 10%")
    try:
        return field_reader.amount(value)
    except InputError:
        raise InputError("a whole number from 1 up is needed here, or a share such as 10%") from None


def _off(value: float) -> float | None:
    return value or None


def _canary(value: Json) -> tuple[int, frozenset[str]]:
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return len(value), frozenset(value)
    if type(value) is int and value >= 0:
        return value, frozenset()
    raise InputError("canary is a number of slots such as 1, 0 for none, or a list of their names")


def _failures(value: Json) -> Amount | None:
    return None if value == "never" else field_reader.amount(value)


def _holds(value: Json) -> Mapping[str, float]:
    if not isinstance(value, dict):
        raise InputError(f"holds needs slots with true or a duration, such as {{web-3: true}}, not {named(value)}")
    wanted = {slot: item for slot, item in value.items() if item is not False and item is not None}
    return {slot: math.inf if item is True else field_reader.seconds(item) for slot, item in wanted.items()}


def _windows(fields: Fields) -> tuple[Window, ...]:
    def reasons(_sheet: Sheet, _body: Mapping[str, Json], _pointer: Pointer) -> frozenset[WriteReason]:
        return EVERY

    read_ones = (window_spec.read(fields.sheet, item, place, reasons) for place, item in fields.items("windows"))
    return tuple(window for window in read_ones if window is not None)


def _gate(sheet: Sheet, value: Json, pointer: Pointer) -> HealthGate | None:
    fields = Fields(sheet, value, pointer, ("resource", *_PREDICATE[:4]))
    text = sheet.text(fields.body, "resource", pointer, "name the resource that the gate looks at")
    rest = {key: item for key, item in fields.body.items() if key != "resource"}
    found = predicate(sheet, rest, pointer)
    address = None if text is None else fields.read("resource", _address, None)
    if found is None or address is None:
        return None
    return HealthGate(found.name, Predicate(found.name, found.path, found.test, found.values, Supply(address, ())))


def predicates(fields: Fields, key: str) -> tuple[Predicate, ...]:
    """Return the predicates of a list."""
    found = (predicate(fields.sheet, item, place) for place, item in fields.items(key))
    return tuple(each for each in found if each is not None)


def requirements(fields: Fields) -> tuple[Predicate, ...]:
    """Return the predicates that a child has to satisfy, which may have to be broken for a while before they count."""
    allowed = (*_PREDICATE, "debounce")
    found = (predicate(fields.sheet, item, place, allowed) for place, item in fields.items("requirements"))
    out = [each for each in found if each is not None]
    for name in sorted({each.name for each in out if each.debounce != AT_ONCE}):
        if sum(each.name == name for each in out) > 1:
            message = f"two requirements are named {shown(name)}; one with a debounce needs a name of its own"
            fields.sheet.fail(message, (*fields.pointer, "requirements"))
    return tuple(out)


def predicate(sheet: Sheet, value: Json, pointer: Pointer, allowed: tuple[str, ...] = _PREDICATE) -> Predicate | None:
    """Return one predicate, or None if a mistake was noted."""
    before = len(sheet.errors)
    fields = Fields(sheet, value, pointer, allowed)
    if "path" not in fields.body:
        sheet.missing("path", pointer, "say which field is looked at, such as path: /zone")
    path = fields.read("path", field_reader.path_of, _NOWHERE)
    offer = _offer(fields)
    test = sheet.choice(fields.body, "operator", pointer, Asks.OFFERED if offer else Asks.EXISTS)
    values = tuple(item for _, item in fields.items("values"))
    if bool(values) != (test in WITH_VALUES):
        sheet.fail(f"the operator {test} {'needs values' if test in WITH_VALUES else 'takes no values'}", pointer)
    if (test is Asks.OFFERED) != (offer is not None):
        sheet.fail("Offered goes with offeredBy: the address of what shows the offers, and at: the path in it", pointer)
    debounce = _debounce(fields.mapping("debounce", ("checks", "time"))) if "debounce" in allowed else AT_ONCE
    if len(sheet.errors) > before:
        return None
    name = sheet.text(fields.body, "name", pointer) or f"{paths.format_path(path)} {test}"
    return Predicate(name, path, test, values, offer, debounce)


def _debounce(fields: Fields) -> Debounce:
    checks = fields.read("checks", field_reader.count(1), 1)
    return Debounce(checks, fields.read("time", field_reader.seconds, 0.0))


def _offer(fields: Fields) -> Supply | None:
    if "offeredBy" not in fields.body:
        return None
    address = fields.read("offeredBy", _address, None)
    path = fields.read("at", field_reader.path_of, _NOWHERE)
    return None if address is None else Supply(address, path)


def _address(value: Json) -> Address | None:
    try:
        return Address.parse(value if isinstance(value, str) else "")
    except ValueError as error:
        raise InputError(str(error)) from None
