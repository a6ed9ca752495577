"""The section `corrections` becomes rules, or mistakes with their places."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.manifests import correction_spec, project
from holdfast.model.decision import Action
from holdfast.policy import durations
from holdfast.policy.budgets import DESTRUCTIVE, BudgetRule, Each, Percent
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.mass_drift import MassDriftGuard
from holdfast.policy.windows import DAYS, EVERY_DAY, Hours, Mode, Window
from holdfast.policy.write_reasons import CORRECTIONS, EVERY, WriteReason
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.schema.document import InputErrors

BERLIN = ZoneInfo("Europe/Berlin")

FULL = """\
corrections:
  budgets:
    - {max: 10, per: 1h}
    - {max: 5%, per: 1d, kinds: [Network], each: connection}
    - {max: 1, per: 1h, actions: destructive}
    - {max: 50, per: 1h, reasons: [drift], each: kind}
  massDrift: {share: 40%, atLeast: 20, identical: 5}
  windows:
    - {freeze: {days: [fri, sat, sun], hours: "16:00-08:00"}, zone: Europe/Berlin, reason: weekend}
    - {allow: {days: mon-fri, hours: "09:00-17:00"}, zone: Europe/Berlin}
    - {freeze: {from: 2026-12-24T18:00, until: 2027-01-02T08:00}, zone: UTC, reason: holidays}
  contention: {reverts: 4, forgetAfter: 2h, backoff: 30s}
"""


def load(tmp_path, text):
    (tmp_path / "holdfast.yaml").write_text(text)
    return PolicyRules(project.load(None, tmp_path).corrections).corrections


def moment(text, zone=dt.UTC):
    return dt.datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def test_every_part_of_the_section_is_read(tmp_path):
    assert load(tmp_path, FULL) == CorrectionRules(
        budgets=(
            BudgetRule(10, 3600.0),
            BudgetRule(Percent(5.0), 86_400.0, kinds=("Network",), each=Each.CONNECTION),
            BudgetRule(1, 3600.0, actions=DESTRUCTIVE),
            BudgetRule(50, 3600.0, reasons=frozenset({WriteReason.DRIFT}), each=Each.KIND),
        ),
        windows=(
            Window(Mode.FREEZE, BERLIN, frozenset({4, 5, 6}), Hours(960, 480), reason="weekend"),
            Window(Mode.ALLOW, BERLIN, frozenset(range(5)), Hours(540, 1020)),
            Window(
                Mode.FREEZE,
                ZoneInfo("UTC"),
                start=moment("2026-12-24T18:00"),
                end=moment("2027-01-02T08:00"),
                reason="holidays",
            ),
        ),
        mass_drift=MassDriftGuard(0.4, 20, 5),
        contention=ContentionRules(4, 7200.0, 30.0),
    )


@pytest.mark.parametrize("text", ["", "store: x\n", "corrections:\n", "corrections: {budgets: [], windows: }\n"])
def test_without_the_section_there_are_no_budgets_and_no_windows_but_guards(tmp_path, text):
    assert load(tmp_path, text) == CorrectionRules(
        (), (), MassDriftGuard(0.3, 10, 10), ContentionRules(3, 30 * 86_400.0, 10.0)
    )


@pytest.mark.parametrize("word", ["off", "false"])
def test_the_guard_against_mass_drifts_can_be_switched_off(tmp_path, word):
    assert load(tmp_path, f"corrections: {{massDrift: {word}}}").mass_drift is None


@pytest.mark.parametrize(
    "given_rule, expected",
    [
        ("max: 0, per: 1h", BudgetRule(0, 3600.0)),
        ("max: 0.5%, per: 90s", BudgetRule(Percent(0.5), 90.0)),
        ('max: "12.5 %", per: 1h', BudgetRule(Percent(12.5), 3600.0)),
        ("max: 1, per: 1h, kinds: Net*", BudgetRule(1, 3600.0, kinds=("Net*",))),
        ("max: 1, per: 1h, connections: [a, b-*]", BudgetRule(1, 3600.0, connections=("a", "b-*"))),
        ("max: 1, per: 1h, actions: all", BudgetRule(1, 3600.0)),
        ("max: 1, per: 1h, actions: [update]", BudgetRule(1, 3600.0, actions=frozenset({Action.UPDATE}))),
        (
            "max: 1, per: 1h, actions: [create, destructive]",
            BudgetRule(1, 3600.0, actions=DESTRUCTIVE | {Action.CREATE}),
        ),
        ("max: 1, per: 1h, reasons: all", BudgetRule(1, 3600.0, reasons=EVERY)),
        ("max: 1, per: 1h, reasons: corrections", BudgetRule(1, 3600.0)),
        ("max: 1, per: 1h, reasons: [corrections, intent]", BudgetRule(1, 3600.0, reasons=EVERY)),
        ("max: 1, per: 1h, each: resource", BudgetRule(1, 3600.0, each=Each.RESOURCE)),
    ],
)
def test_a_budget_may_be_written_in_several_ways(tmp_path, given_rule, expected):
    assert load(tmp_path, f"corrections: {{budgets: [{{{given_rule}}}]}}").budgets == (expected,)


@pytest.mark.parametrize(
    "given_window, expected",
    [
        ("freeze: {days: all}", Window(Mode.FREEZE)),
        ("freeze: {days: [mon, wed-fri]}", Window(Mode.FREEZE, days=frozenset({0, 2, 3, 4}))),
        ('freeze: {days: "mon, Wednesday"}', Window(Mode.FREEZE, days=frozenset({0, 2}))),
        ("freeze: {days: sat-mon}", Window(Mode.FREEZE, days=frozenset({5, 6, 0}))),
        ("freeze: {days: fri}", Window(Mode.FREEZE, days=frozenset({4}))),
        ("freeze: {hours: 22:00-6:00}", Window(Mode.FREEZE, hours=Hours(1320, 360))),
        ('allow: {hours: "00:00 - 24:00"}', Window(Mode.ALLOW, hours=Hours(0, 1440))),
        ("freeze: {days: all}, reasons: all", Window(Mode.FREEZE, reasons=EVERY)),
        ("freeze: {from: 2026-12-24}", Window(Mode.FREEZE, start=moment("2026-12-24"))),
        ("freeze: {until: 2026-12-24}", Window(Mode.FREEZE, end=moment("2026-12-25"))),
        (
            "freeze: {from: 2026-12-24T18:00+02:00}, zone: Europe/Berlin",
            Window(Mode.FREEZE, BERLIN, start=moment("2026-12-24T16:00")),
        ),
        (
            "freeze: {until: 2026-07-01T12:00:30}, zone: Europe/Berlin",
            Window(Mode.FREEZE, BERLIN, end=moment("2026-07-01T10:00:30")),
        ),
    ],
)
def test_a_window_may_be_written_in_several_ways(tmp_path, given_window, expected):
    assert load(tmp_path, f"corrections: {{windows: [{{{given_window}}}]}}").windows == (expected,)


SOME = "expected either `freeze` or `allow`, with days, hours, from or until below it"
WHEN = "say when: days and hours for every week, or from and until for once"
TIME = "expected a day or a time, such as 2026-12-24 or 2026-12-24T18:00"
MAX = "expected a whole number such as 10, or a percentage such as 5%"
WRITES = "all, destructive, create, update, replace, recreate, delete"
SHARE = "expected a fraction > 0, such as 30% or 0.3; massDrift: off switches the guard off"


@pytest.mark.parametrize(
    "section, field, message",
    [
        ("[]", "", "expected a mapping, got a list"),
        ("{budget: []}", "/budget", "unknown field `budget`; did you mean `budgets`?"),
        ("{budgets: {max: 1}}", "/budgets", "expected a list, got a mapping"),
        ("{budgets: [5]}", "/budgets/0", "expected a mapping, got a number"),
        ("{budgets: [null]}", "/budgets/0", "expected a mapping, got null"),
        (
            "{budgets: [{per: 1h}]}",
            "/budgets/0",
            "`max` is missing; write a number such as 10, or a percentage such as 5%",
        ),
        ("{budgets: [{max: 1}]}", "/budgets/0", "`per` is missing; write a duration such as 1h"),
        ("{budgets: [{max: -1, per: 1h}]}", "/budgets/0/max", MAX),
        ("{budgets: [{max: 1.5, per: 1h}]}", "/budgets/0/max", MAX),
        ("{budgets: [{max: true, per: 1h}]}", "/budgets/0/max", MAX),
        ("{budgets: [{max: 101%, per: 1h}]}", "/budgets/0/max", MAX),
        ("{budgets: [{max: x%, per: 1h}]}", "/budgets/0/max", MAX),
        (
            "{budgets: [{max: 0%, per: 1h}]}",
            "/budgets/0/max",
            "0% is still at least one; write 0 for none",
        ),
        ("{budgets: [{max: 1, per: 5}]}", "/budgets/0/per", "5 has no unit; write 5s, 5m or 5h"),
        ("{budgets: [{max: 1, per: 0}]}", "/budgets/0/per", "expected a duration > 0, such as 1h"),
        (
            "{budgets: [{max: 1, per: 1h, kinds: []}]}",
            "/budgets/0/kinds",
            "expected a list that is not empty; leave the field out for the default",
        ),
        (
            "{budgets: [{max: 1, per: 1h, actions: destructiv}]}",
            "/budgets/0/actions",
            f"expected one of {WRITES}, got 'destructiv'; did you mean destructive?",
        ),
        (
            "{budgets: [{max: 1, per: 1h, reasons: [qqqqqqqqq]}]}",
            "/budgets/0/reasons/0",
            "expected one of all, corrections, drift, missing, conflict, intent, got 'qqqqqqqqq'",
        ),
        (
            "{budgets: [{max: 1, per: 1h, each: kinds}]}",
            "/budgets/0/each",
            "expected one of fleet, connection, kind, resource, got 'kinds'; did you mean kind?",
        ),
        ("{massDrift: on}", "/massDrift", "expected a mapping, got a string"),
        ("{massDrift: {atleast: 1}}", "/massDrift/atleast", "unknown field `atleast`; did you mean `atLeast`?"),
        ("{massDrift: {share: 30}}", "/massDrift/share", "expected a fraction from 0 to 1, such as 0.1 or 10%"),
        ("{massDrift: {share: 0%}}", "/massDrift/share", SHARE),
        ("{massDrift: {identical: 0}}", "/massDrift/identical", "expected a whole number >= 1"),
        ("{contention: {reverts: 0}}", "/contention/reverts", "expected a whole number >= 1"),
        ("{contention: {forgetAfter: 0}}", "/contention/forgetAfter", "expected a duration > 0, such as 1h"),
        ("{windows: [{}]}", "/windows/0", SOME),
        ("{windows: [{freeze: {days: fri}, allow: {days: mon}}]}", "/windows/0", SOME),
        ("{windows: [{freez: {days: fri}}]}", "/windows/0/freez", "unknown field `freez`; did you mean `freeze`?"),
        ("{windows: [{freeze: null}]}", "/windows/0/freeze", "expected a mapping, got null"),
        ("{windows: [{freeze: {}}]}", "/windows/0/freeze", WHEN),
        (
            "{windows: [{freeze: {days: fri, until: 2026-01-01}}]}",
            "/windows/0/freeze",
            "days and hours are for every week, from and until for once; write two windows",
        ),
        ("{windows: [{freeze: {days: frei}}]}", "/windows/0/freeze/days", "there is no day 'frei'; did you mean fri?"),
        (
            "{windows: [{freeze: {days: mon-xyz}}]}",
            "/windows/0/freeze/days",
            "there is no day 'xyz'; write mon, tue, ... or mon-fri",
        ),
        (
            "{windows: [{freeze: {days: [5]}}]}",
            "/windows/0/freeze/days/0",
            "expected a string, got a number; write it in quotes: '5'",
        ),
        (
            "{windows: [{freeze: {days: []}}]}",
            "/windows/0/freeze/days",
            "expected a list that is not empty; leave the field out for the default",
        ),
        ("{windows: [{freeze: {hours: 9-17}}]}", "/windows/0/freeze/hours", 'expected hours such as "09:00-17:00"'),
        ("{windows: [{freeze: {hours: 24:00-25:00}}]}", "/windows/0/freeze/hours", "hours go from 00:00 to 24:00"),
        ("{windows: [{freeze: {hours: 09:60-10:00}}]}", "/windows/0/freeze/hours", "hours go from 00:00 to 24:00"),
        ("{windows: [{freeze: {from: 24.12.2026}}]}", "/windows/0/freeze/from", TIME),
        ("{windows: [{freeze: {from: 20261224}}]}", "/windows/0/freeze/from", TIME),
        ("{windows: [{freeze: {from: 2026-02-30}}]}", "/windows/0/freeze/from", "2026-02-30 is not in the calendar"),
        ("{windows: [{freeze: {from: 9999-12-31}}]}", "/windows/0/freeze/from", "9999-12-31 is too far away"),
        (
            "{windows: [{freeze: {from: 2026-02-02, until: 2026-02-01}}]}",
            "/windows/0/freeze/until",
            "`until` must be after `from`",
        ),
        (
            "{windows: [{freeze: {days: fri}, zone: Europe/Berln}]}",
            "/windows/0/zone",
            "there is no time zone 'Europe/Berln'; did you mean Europe/Berlin?",
        ),
        (
            "{windows: [{freeze: {days: fri}, zone: Berlin}]}",
            "/windows/0/zone",
            "there is no time zone 'Berlin'; did you mean Europe/Berlin?",
        ),
        (
            "{windows: [{freeze: {days: fri}, zone: ../../etc/passwd}]}",
            "/windows/0/zone",
            "there is no time zone '../../etc/passwd'; write it as in Europe/Berlin",
        ),
        (
            "{windows: [{freeze: {days: fri}, zone: 1}]}",
            "/windows/0/zone",
            "expected a string, got a number; write it in quotes: zone: '1'",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, section, field, message):
    with pytest.raises(InputError) as caught:
        load(tmp_path, f"store: x\ncorrections: {section}")
    where = caught.value.location
    assert caught.value.message == message
    assert (where.file, where.line, where.field) == ("holdfast.yaml", 2, f"/corrections{field}")


def test_a_machine_without_time_zones_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(zoneinfo, "available_timezones", set)
    assert correction_spec._zone_hint("Europe/Berlin").endswith("install the package tzdata")


def test_all_mistakes_come_together(tmp_path):
    with pytest.raises(InputErrors) as caught:
        load(
            tmp_path, "corrections: {budgets: [{}], mass drift: x, windows: [{}], contention: {reverts: x}, waivers: x}"
        )
    assert len(caught.value.errors) == 6


reasons = st.frozensets(st.sampled_from(WriteReason), min_size=1)
budgets = st.builds(
    BudgetRule,
    st.integers(0, 99) | st.builds(Percent, st.integers(1, 100).map(float)),
    st.sampled_from([60.0, 3600.0, 86_400.0]),
    kinds=st.sampled_from([("*",), ("A", "B*")]),
    actions=st.none() | st.just(DESTRUCTIVE) | st.just(frozenset({Action.UPDATE})),
    reasons=reasons | st.just(CORRECTIONS),
    each=st.sampled_from(Each),
)
weekly = st.builds(
    Window,
    st.sampled_from(Mode),
    st.sampled_from([BERLIN, ZoneInfo("America/New_York")]),
    st.frozensets(st.integers(0, 6), min_size=1) | st.just(EVERY_DAY),
    st.builds(Hours, st.integers(0, 1439), st.integers(0, 1440)),
    reason=st.sampled_from(["", "because"]),
    reasons=reasons,
)


def budget_text(rule):
    actions = ["all"] if rule.actions is None else [action.value for action in rule.actions]
    return (
        f"{{max: {rule.max}, per: {durations.format_seconds(rule.per)}, kinds: {list(rule.kinds)}, "
        f"actions: {actions}, reasons: {[reason.value for reason in rule.reasons]}, each: {rule.each}}}"
    )


def window_text(window):
    days = [DAYS[day] for day in window.days]
    reason = f"reason: {window.reason}, " if window.reason else ""
    return (
        f"{{{window.mode}: {{days: {days}, hours: '{window.hours}'}}, zone: {window.zone}, "
        f"{reason}reasons: {[item.value for item in window.reasons]}}}"
    )


@given(st.lists(budgets, max_size=3), st.lists(weekly, max_size=3))
def test_rules_are_read_back_as_they_are_written(tmp_path_factory, given_budgets, given_windows):
    lines = ["corrections:", "  budgets:", *(f"    - {budget_text(rule)}" for rule in given_budgets)]
    lines += ["  windows:", *(f"    - {window_text(window)}" for window in given_windows)]
    found = load(tmp_path_factory.mktemp("rules"), "\n".join(lines))
    assert found == CorrectionRules(tuple(given_budgets), tuple(given_windows))
