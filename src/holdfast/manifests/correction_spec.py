"""The schema of the section `corrections` of the project file: budgets, mass drift, windows, contention.

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

A percentage counts the resources of a budget, rounded down, but at least one. Times are local to the zone unless they
name an offset.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from typing import Any, Final

from holdfast.errors import InputError
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import durations, time_parsing
from holdfast.policy.budgets import DESTRUCTIVE, BudgetRule, Each, Percent
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.mass_drift import MassDriftGuard
from holdfast.policy.windows import ALL_DAY, DAYS, EVERY_DAY, MIDNIGHT, Hours, Mode, Window
from holdfast.policy.write_reasons import CORRECTIONS, EVERY, WriteReason
from holdfast.schema import did_you_mean, fields
from holdfast.schema.document import DocumentPath
from holdfast.schema.fields import shown

_WRITES = tuple(action.value for action in Action if action.is_write)
_FULL_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})\s*-\s*([0-9]{1,2}):([0-9]{2})")


# --- budgets


def _amount(value: Json) -> int | Percent:
    if type(value) is int and value >= 0:
        return value
    percent = fields.percentage(value)
    if percent == 0:
        raise InputError("0% is still at least one; write 0 for none")
    if percent is None or percent > 100:
        raise InputError("expected a whole number such as 10, or a percentage such as 5%")
    return Percent(percent)


def _actions(words: tuple[str, ...]) -> frozenset[Action] | None:
    if "all" in words:
        return None
    chosen = frozenset(Action(word) for word in words if word != "destructive")
    return chosen | DESTRUCTIVE if "destructive" in words else chosen


def _reasons(words: tuple[str, ...]) -> frozenset[WriteReason]:
    if "all" in words:
        return EVERY
    chosen = frozenset(WriteReason(word) for word in words if word != "corrections")
    return chosen | CORRECTIONS if "corrections" in words else chosen


def _not_zero(limit: int | Percent) -> int | Percent:
    if limit == 0:
        raise InputError("0 lets no rollout proceed; write a number >= 1, or a percentage such as 10%")
    return limit


AMOUNT: Final = fields.parsed(_amount, type=["integer", "string"])
SOME: Final = AMOUNT.then(_not_zero)  # a limit of 0 would stop all rollouts without a message
REASONS: Final = fields.one_or_many(fields.word(("all", "corrections", *WriteReason))).then(_reasons)
_BUDGET: Final = fields.record(
    BudgetRule,
    {
        "max": fields.required(AMOUNT, "write a number such as 10, or a percentage such as 5%"),
        "per": fields.required(durations.POSITIVE, "write a duration such as 1h"),
        "connections": fields.one_or_many(fields.STRING),
        "kinds": fields.one_or_many(fields.STRING),
        "actions": fields.one_or_many(fields.word(("all", "destructive", *_WRITES))).then(_actions),
        "reasons": REASONS,
        "each": fields.choice(Each),
    },
)


# --- windows


@dataclass(frozen=True, slots=True)
class _Times:
    """The body of a window: weekly by days and hours, or once by two instants."""

    days: frozenset[int] | None = None
    hours: Hours | None = None
    begin: Json = None
    end: Json = None

    def __post_init__(self) -> None:
        is_weekly = self.days is not None or self.hours is not None
        is_once = self.begin is not None or self.end is not None
        if not is_weekly and not is_once:
            raise InputError("say when: days and hours for every week, or from and until for once")
        if is_weekly and is_once:
            raise InputError("days and hours are for every week, from and until for once; write two windows")


def _days(text: str) -> frozenset[int]:
    return frozenset().union(*(_day_range(part.strip()) for part in text.split(",")))


def _day_range(text: str) -> frozenset[int]:
    if text in ("all", "*"):
        return EVERY_DAY
    first, dash, last = text.partition("-")
    start = _day(first)
    end = _day(last) if dash else start
    return frozenset((start + ahead) % 7 for ahead in range((end - start) % 7 + 1))


def _day(text: str) -> int:
    word = text.strip().lower()
    if word in DAYS or word in _FULL_DAYS:
        return DAYS.index(word[:3])
    hint = did_you_mean.hint(word, DAYS) or "; write mon, tue, ... or mon-fri"
    raise InputError(f"there is no day {shown(text)}{hint}")


def _hours(value: Json) -> Hours:
    match = _HOURS.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise InputError('expected hours such as "09:00-17:00"')
    numbers = [int(part) for part in match.groups()]
    start, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
    if start >= MIDNIGHT or end > MIDNIGHT or max(numbers[1], numbers[3]) > 59:
        raise InputError("hours go from 00:00 to 24:00")
    return Hours(start, end)


def _zone(name: str) -> dt.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(f"there is no time zone {shown(name)}{_zone_hint(name)}") from None


def _zone_hint(name: str) -> str:
    known = sorted(zoneinfo.available_timezones())
    if not known:
        return "; this machine has no list of time zones: install the package tzdata"
    cities = {zone.rpartition("/")[2]: zone for zone in reversed(known)}
    city = cities.get(name) or cities.get(did_you_mean.closest(name, cities) or "")
    guess = did_you_mean.closest(name, known) or city
    return f"; did you mean {guess}?" if guess else "; write it as in Europe/Berlin"


def _moment(value: Json) -> Json:
    time_parsing.begin(value)  # the zone is known only to the window
    return value


def _window(given: dict[str, Any], at: DocumentPath) -> Window | fields.Invalid:
    modes = [mode for mode in Mode if mode in given]
    if len(modes) != 1:
        at.fail("expected either `freeze` or `allow`, with days, hours, from or until below it")
        return fields.INVALID
    times: _Times = given[modes[0]]
    zone = given.get("zone", dt.UTC)
    start = None if times.begin is None else time_parsing.begin(times.begin, zone)
    end = None if times.end is None else time_parsing.end(times.end, zone)
    if start is not None and end is not None and end <= start:
        at.fail("`until` must be after `from`", modes[0].value, "until")
    weekly = (times.days or EVERY_DAY, times.hours or ALL_DAY)
    return Window(modes[0], zone, *weekly, start, end, given.get("reason", ""), given.get("reasons", CORRECTIONS))


_MOMENT = fields.parsed(_moment, type="string")
_TIMES: Final = fields.record(
    _Times,
    {
        "days": fields.one_or_many(fields.STRING.then(_days)).then(lambda days: frozenset().union(*days)),
        "hours": fields.parsed(_hours, type="string"),
        "from": fields.renamed(_MOMENT, "begin"),
        "until": fields.renamed(_MOMENT, "end"),
    },
)
WINDOW: Final = fields.plain(
    {
        "freeze": fields.Field(_TIMES, keeps_null=True),
        "allow": fields.Field(_TIMES, keeps_null=True),
        "zone": fields.STRING.then(_zone),
        "reason": fields.STRING,
        "reasons": REASONS,
    },
).then_at(_window)


# --- mass drift and contention


def _share(value: Json) -> float:
    share = fields.fraction(value)
    if share == 0:
        raise InputError("expected a fraction > 0, such as 30% or 0.3; massDrift: off switches the guard off")
    return share


_MASS_DRIFT: Final = fields.record(
    MassDriftGuard,
    {
        "share": fields.parsed(_share, type=["number", "string"]),
        "atLeast": fields.COUNT,
        "identical": fields.COUNT,
    },
)
SECTION: Final = fields.record(
    CorrectionRules,
    {
        "budgets": fields.list_of(_BUDGET),
        "windows": fields.list_of(WINDOW),
        "massDrift": fields.either({False: None, "off": None}, _MASS_DRIFT),
        "contention": fields.record(
            ContentionRules,
            {"reverts": fields.COUNT, "forgetAfter": durations.POSITIVE, "backoff": durations.DURATION},
        ),
    },
)
