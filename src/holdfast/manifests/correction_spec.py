"""The section `corrections` of the project file: budgets, mass drift, windows, contention.

    corrections:
      budgets:
        - {max: 10, per: 1h}
        - {max: 5%, per: 1d, kinds: [Network], each: connection}
        - {max: 1, per: 1h, actions: destructive}
        - {max: 50, per: 1h, reasons: [drift], each: kind}
      massDrift: {share: 30%, atLeast: 10, identical: 10}      # or massDrift: off
      windows:
        - {freeze: {days: [fri, sat, sun], hours: "16:00-08:00"}, zone: Europe/Berlin, reason: weekend}
        - {allow: {days: mon-fri, hours: "09:00-17:00"}, zone: Europe/Berlin}
        - {freeze: {from: 2026-12-24T18:00, until: 2027-01-02T08:00}, zone: UTC, reason: holidays}
      contention: {reverts: 3, forgetAfter: 30d, backoff: 10s}

A percentage is of the resources that a bucket is for, rounded down, but at least one. Times are those of the zone's
clocks unless they name an offset.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from holdfast.errors import InputError
from holdfast.manifests import window_spec
from holdfast.manifests.validation import Sheet, named, shown
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import did_you_mean, durations
from holdfast.policy.budgets import ANYTHING, DESTRUCTIVE, BudgetRule, Each, Percent
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.mass_drift import MassDriftGuard
from holdfast.policy.write_reasons import CORRECTIONS, EVERY, WriteReason

SECTION: Final = "corrections"

_TOP = ("budgets", "massDrift", "windows", "contention")
_BUDGET = ("max", "per", "connections", "kinds", "actions", "reasons", "each")
_WRITES = tuple(action.value for action in Action if action.is_write)
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%")
_Value = TypeVar("_Value")


def read(sheet: Sheet, value: Json) -> CorrectionRules:
    """Return the rules of the section, noting everything that is wrong with it; without one the defaults."""
    top = sheet.mapping(value, (SECTION,), _TOP)
    return CorrectionRules(
        tuple(_budget(sheet, item, at) for at, item in items(sheet, top.get("budgets"), (SECTION, "budgets"))),
        tuple(
            window
            for at, item in items(sheet, top.get("windows"), (SECTION, "windows"))
            if (window := window_spec.read(sheet, item, at, reasons)) is not None
        ),
        _mass_drift(sheet, top.get("massDrift")),
        _contentions(sheet, top.get("contention")),
    )


def items(sheet: Sheet, value: Json, pointer: Pointer) -> list[tuple[Pointer, Json]]:
    """Return the entries of a list with their places."""
    if value is None:
        return []
    if not isinstance(value, list):
        sheet.fail(f"a list is needed here, not {named(value)}", pointer)
        return []
    return [((*pointer, index), item) for index, item in enumerate(value)]


def _parsed(
    sheet: Sheet, body: Mapping[str, Json], place: tuple[Pointer, str], parse: Callable[[Json], _Value], default: _Value
) -> _Value:
    """Read one field; what cannot be read is noted and has the default."""
    pointer, key = place
    if key not in body:
        return default
    try:
        return parse(body[key])
    except InputError as error:
        sheet.note(error, (*pointer, key))
        return default


# -- budgets


def _budget(sheet: Sheet, value: Json, pointer: Pointer) -> BudgetRule:
    body = sheet.mapping(value, pointer, _BUDGET)
    if isinstance(value, dict):
        for key, needed in (("max", "a number such as 10, or a share such as 5%"), ("per", "a duration such as 1h")):
            if key not in body:
                sheet.missing(key, pointer, needed)
    elif value is None:
        sheet.fail("a budget is needed here, such as {max: 10, per: 1h}", pointer)
    nothing: int | Percent = 0
    return BudgetRule(
        _parsed(sheet, body, (pointer, "max"), _amount, nothing),
        _parsed(sheet, body, (pointer, "per"), _length, 1.0),
        _words(sheet, body, pointer, "connections") or ANYTHING,
        _words(sheet, body, pointer, "kinds") or ANYTHING,
        _actions(sheet, body, pointer),
        reasons(sheet, body, pointer),
        sheet.choice(body, "each", pointer, Each.FLEET),
    )


def _amount(value: Json) -> int | Percent:
    if type(value) is int and value >= 0:
        return value
    percent = _percent(value)
    if percent == 0:
        raise InputError("0% of anything is still one; write 0 for none at all")
    if percent is None or not 0 < percent <= 100:
        raise InputError("max is a whole number such as 10, or a share of the resources such as 5%")
    return Percent(percent)


def _percent(value: Json) -> float | None:
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return float(match[1]) if match is not None else None


def _length(value: Json) -> float:
    seconds = durations.parse(value)
    if seconds == 0:
        raise InputError("a length of time is needed here, such as 1h")
    return seconds


def _words(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer, key: str) -> tuple[str, ...]:
    """Read a word or a list of words."""
    value = body.get(key)
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if (value is not None and not listed) or not all(isinstance(word, str) and word for word in listed):
        sheet.fail(f"{key} needs a word or a list of words", (*pointer, key))
        return ()
    return tuple(listed)


def _chosen(
    sheet: Sheet, body: Mapping[str, Json], place: tuple[Pointer, str], known: Collection[str]
) -> tuple[str, ...]:
    """Read words of a closed set."""
    pointer, key = place
    words = _words(sheet, body, pointer, key)
    for word in words:
        if word not in known:
            guess = did_you_mean.hint(word, known) or f"; known: {', '.join(known)}"
            sheet.fail(f"{key} has no {shown(word)}{guess}", (*pointer, key))
    return tuple(word for word in words if word in known)


def _actions(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer) -> frozenset[Action] | None:
    words = _chosen(sheet, body, (pointer, "actions"), ("all", "destructive", *_WRITES))
    if not words or "all" in words:
        return None
    named_ones = frozenset(Action(word) for word in words if word != "destructive")
    return named_ones | DESTRUCTIVE if "destructive" in words else named_ones


def reasons(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer) -> frozenset[WriteReason]:
    """Read for which reasons a write is meant; those of corrections unless others are named."""
    words = _chosen(sheet, body, (pointer, "reasons"), ("all", "corrections", *WriteReason))
    if "all" in words:
        return EVERY
    named_ones = frozenset(WriteReason(word) for word in words if word != "corrections")
    return named_ones | CORRECTIONS if "corrections" in words or not words else named_ones


# -- mass drift and contention


def _mass_drift(sheet: Sheet, value: Json) -> MassDriftGuard | None:
    if value is False or value == "off":
        return None
    pointer = (SECTION, "massDrift")
    if isinstance(value, str):
        sheet.fail("write off, or such as {share: 30%, atLeast: 10, identical: 10}", pointer)
        return None
    body = sheet.mapping(value, pointer, ("share", "atLeast", "identical"))
    default = MassDriftGuard()
    return MassDriftGuard(
        _parsed(sheet, body, (pointer, "share"), _share, default.share),
        _parsed(sheet, body, (pointer, "atLeast"), _count, default.at_least),
        _parsed(sheet, body, (pointer, "identical"), _count, default.identical),
    )


def _share(value: Json) -> float:
    percent = _percent(value)
    if percent is not None:
        value = percent / 100
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError("a share above 0 is needed here, such as 30% or 0.3; massDrift: off switches the guard off")
    return float(value)


def _count(value: Json) -> int:
    if type(value) is not int or value < 1:
        raise InputError("a whole number from 1 up is needed here")
    return value


def _contentions(sheet: Sheet, value: Json) -> ContentionRules:
    pointer = (SECTION, "contention")
    body = sheet.mapping(value, pointer, ("reverts", "forgetAfter", "backoff"))
    default = ContentionRules()
    return ContentionRules(
        _parsed(sheet, body, (pointer, "reverts"), _count, default.reverts),
        _parsed(sheet, body, (pointer, "forgetAfter"), _length, default.forget_after),
        _parsed(sheet, body, (pointer, "backoff"), durations.parse, default.backoff),
    )
