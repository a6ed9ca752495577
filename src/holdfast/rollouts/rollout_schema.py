"""The schema of the section `rollout` of a template, and of the predicates in it and beside it.

rollout:
  method: replace-before-remove        # or remove-first, rewrite
  canary: 1                            # a number of slots, or their names; 0: none
  waves: true                          # 1, 2, 4, ... after the canary
  partition: 0                         # so many slots, the last ones, stay
  maxSurge: 10%                        # rounded down; at least one of two or more
  maxUnavailable: 10%
  perZone: 1                           # slots of one zone in progress at once, or a percentage of the zone's
  budgets: {spec: 5%, dynamic: 1, "*": 10%}
  windows: [{allow: {days: mon-fri, hours: "09:00-17:00"}, zone: Europe/Berlin}]
  gates: [{name: errors, resource: api/Metric/errors, path: /value, operator: Lt, values: [5]}]
  minReady: 10s
  soak: 5m
  progressDeadline: 30m
  haltOnFailures: 3                    # or a percentage, or never
  onHalt: stay                         # or roll-back
  holds: {web-3: true, web-4: 2h}
  holdDeadline: 1d
  retry: {base: 1m, max: 10m}
  spreadBy: zone                       # a label of selected children
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Final

from holdfast.compare import paths
from holdfast.errors import InputError
from holdfast.manifests import correction_spec
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import durations
from holdfast.policy.write_reasons import EVERY
from holdfast.rollouts.core.requirements import AT_ONCE, WITH_VALUES, Asks, Predicate, RequirementDebounce, Supply
from holdfast.rollouts.core.rollout_limits import HaltRules, OnHalt, RolloutLimits, Waves
from holdfast.rollouts.core.template_schemes import Keys
from holdfast.rollouts.core.templates import HealthGate, Method
from holdfast.schema import fields
from holdfast.schema.document import DocumentPath
from holdfast.schema.fields import shown


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """The section as read."""

    method: Method
    limits: RolloutLimits
    gates: tuple[HealthGate, ...] = ()
    holds: Mapping[str, float] = field(default_factory=dict)
    spread_by: str = ""


# --- single values


def keys_of(value: Json) -> Keys:
    """Return a path by names alone, because templates do not look into lists."""
    path = fields.field_path(value)
    if not path or not all(isinstance(step, str) for step in path):
        raise InputError(f"expected a path to a field, such as /content/level, got {value!r}")
    return tuple(str(step) for step in path)


def _address(text: str) -> Address:
    try:
        return Address.parse(text)
    except ValueError as error:
        raise InputError(str(error)) from None


def _canary(value: Json) -> tuple[int, frozenset[str]]:
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return len(value), frozenset(value)
    if type(value) is int and value >= 0:
        return value, frozenset()
    raise InputError("expected a number of slots such as 1, 0 for none, or a list of their names")


def _hold(value: Json) -> float:
    if isinstance(value, bool):
        return math.inf if value else 0.0
    return durations.parse(value)


KEYS: Final = fields.parsed(keys_of, type="string", pattern="^/")
KEY_SET: Final = fields.list_of(KEYS).then(frozenset)
_ADDRESS = fields.STRING.then(_address)
_DEADLINE = durations.DURATION.then(lambda seconds: seconds or None)


# --- predicates


def _predicate(given: dict[str, Any]) -> Predicate:
    path, values = given["path"], given.get("values", ())
    offer = Supply(given["offered_by"], given.get("at", ())) if "offered_by" in given else None
    test = given.get("operator", Asks.OFFERED if offer else Asks.EXISTS)
    if bool(values) != (test in WITH_VALUES):
        raise InputError(f"the operator {test} {'needs values' if test in WITH_VALUES else 'takes no values'}")
    if (test is Asks.OFFERED) != (offer is not None):
        raise InputError("Offered goes with offeredBy: the address of the resource with the offers, and at: their path")
    name = given.get("name") or f"{paths.format_path(path)} {test}"
    return Predicate(name, path, test, values, offer, given.get("debounce", AT_ONCE))


def _gate(given: dict[str, Any]) -> HealthGate:
    predicate = _predicate(given)
    return HealthGate(predicate.name, replace(predicate, offer=Supply(given["resource"], ())))


def _distinct(requirements: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    names = [requirement.name for requirement in requirements]
    for name in sorted({requirement.name for requirement in requirements if requirement.debounce != AT_ONCE}):
        if names.count(name) > 1:
            raise InputError(f"two requirements are named {shown(name)}; one with a debounce needs a name of its own")
    return requirements


_TEST: Final[fields.Table] = {
    "name": fields.STRING,
    "path": fields.required(fields.PATH, "name the field to look at, such as path: /zone"),
    "operator": fields.choice(Asks),
    "values": fields.list_of(fields.ANY),
}
_PREDICATE: Final[fields.Table] = {**_TEST, "offeredBy": _ADDRESS, "at": fields.PATH}
_DEBOUNCE = fields.record(
    RequirementDebounce, {"checks": fields.COUNT, "time": fields.renamed(durations.DURATION, "seconds")}
)
PREDICATES: Final = fields.list_of(fields.plain(_PREDICATE).then(_predicate))
REQUIREMENTS: Final = fields.list_of(fields.plain({**_PREDICATE, "debounce": _DEBOUNCE}).then(_predicate)).then(
    _distinct
)


# --- the section

_GATE = fields.plain({"resource": fields.required(_ADDRESS, "name the resource of the gate"), **_TEST})
SECTION: Final = fields.plain(
    {
        "method": fields.choice(Method),
        "canary": fields.parsed(_canary, type=["integer", "array"]),
        "waves": fields.renamed(fields.BOOLEAN, "is_doubling"),
        "partition": fields.whole(0),
        "maxSurge": correction_spec.AMOUNT,
        "maxUnavailable": correction_spec.AMOUNT,
        "perZone": correction_spec.SOME,
        "budgets": fields.mapping_of(correction_spec.AMOUNT),
        "windows": fields.list_of(correction_spec.WINDOW.then(lambda window: replace(window, reasons=EVERY))),
        "gates": fields.list_of(
            fields.plain({"resource": fields.required(_ADDRESS, "name the resource of the gate"), **_TEST}).then(_gate)
        ),
        "minReady": durations.DURATION,
        "soak": durations.DURATION,
        "progressDeadline": _DEADLINE,
        "haltOnFailures": fields.renamed(fields.either({"never": None}, correction_spec.AMOUNT), "halt_after"),
        "onHalt": fields.choice(OnHalt),
        "holds": fields.mapping_of(fields.parsed(_hold, type=["boolean", "string", "integer"])),
        "holdDeadline": _DEADLINE,
        "retry": fields.plain({"base": durations.DURATION, "max": durations.DURATION}),
        "spreadBy": fields.STRING,
    },
)


_WAVES: Final = ("canary", "canary_slots", "is_doubling", "partition", "soak")
_HALT: Final = {"halt_after": "after", "on_halt": "action", "progress_deadline": "progress_deadline"}


def settings_of(given: Mapping[str, Any], default: Method, at: DocumentPath) -> RolloutSettings:
    """Return the settings of a section as read; limits that would stop every rollout are noted."""
    values = dict(given)
    method = values.pop("method", default)
    others = {name: values.pop(name) for name in ("gates", "spread_by") if name in values}
    holds = {slot: seconds for slot, seconds in values.pop("holds", {}).items() if seconds}
    retry = {f"retry_{name}": seconds for name, seconds in values.pop("retry", {}).items()}
    if "canary" in values:
        values["canary"], values["canary_slots"] = values["canary"]
    waves = Waves(**{name: values.pop(name) for name in _WAVES if name in values})
    halt = HaltRules(**{_HALT[name]: values.pop(name) for name in _HALT if name in values})
    limits = RolloutLimits(waves=waves, halt=halt, **values, **retry)
    name, limit = (
        ("maxSurge", limits.max_surge)
        if method is Method.REPLACE_BEFORE_REMOVE
        else ("maxUnavailable", limits.max_unavailable)
    )
    if limit == 0:
        at.fail(f"{name}: 0 with method {method} lets no rollout proceed", name)
    return RolloutSettings(method, limits, holds=holds, **others)
