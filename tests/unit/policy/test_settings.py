"""Every setting takes its value from the nearest level that gives one, and says which that was."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError, Location
from holdfast.model.address import Address
from holdfast.model.resource import Declaration, OnDelete, OnDrift
from holdfast.policy import settings, strategies
from holdfast.policy.decide import OnImmutable, ReconcileMode, Recreate
from holdfast.policy.settings import (
    BY_NAME,
    REGISTRY,
    Assess,
    Given,
    JitterShape,
    Layer,
    Level,
    OnFailedVerify,
    PathPolicy,
    Scoped,
    Settings,
)

SPELLINGS = {setting.name: setting.spelling for setting in REGISTRY}
# For each setting two values in YAML that differ from one another, with what they become.
VALUES: dict[str, list[tuple[Any, Any]]] = {
    "resync_period": [("1h", 3600.0), ("never", 0.0)],
    "resync_jitter": [(0.2, 0.2), ("50%", 0.5)],
    "resync_jitter_shape": [("positive", JitterShape.POSITIVE), ("symmetric", JitterShape.SYMMETRIC)],
    "on_drift": [("report", OnDrift.REPORT), ("approve", OnDrift.APPROVE)],
    "on_drift_paths": [
        ({"/size": "report"}, {"/size": PathPolicy.REPORT}),
        ({"/tags/**": "ignore"}, {"/tags/**": PathPolicy.IGNORE}),
    ],
    "debounce_checks": [(2, 2), (3, 3)],
    "debounce_time": [("30s", 30.0), ("2m", 120.0)],
    "on_failed_verify": [("undo", OnFailedVerify.UNDO), ("report", OnFailedVerify.REPORT)],
    "on_delete": [("detach", OnDelete.DETACH), ("delete", OnDelete.DELETE)],
    "on_immutable": [("replace", OnImmutable.REPLACE), ("block", OnImmutable.BLOCK)],
    "recreate": [("always", Recreate.ALWAYS), ("never", Recreate.NEVER)],
    "settle_window": [("10s", 10.0), ("1m", 60.0)],
    "operation_timeout": [("2h", 7200.0), ("90s", 90.0)],
    "state_hash": [(False, False), (True, True)],
    "reconcile_mode": [("put_only", ReconcileMode.PUT_ONLY), ("shadow", ReconcileMode.SHADOW)],
    "pin_baseline": [(True, True), (False, False)],
    "assess": [("corrections", Assess.CORRECTIONS), ("writes", Assess.WRITES)],
    "undo_below": [(0.4, 0.4), ("70%", 0.7)],
    "refuse_after": [(3, 3), (0, 0)],
}


def declaration(options=None, places=None, kind="Network", labels=None):
    return Declaration(
        Address("prod", kind, "core"),
        "cloud",
        "cloud.holdfast.dev/v1",
        {},
        labels=labels or {},
        options=options or {},
        location=Location("net.yaml", 3),
        places=places or {},
    )


def test_the_table_and_the_type_name_the_same_settings():
    values = {field.name: getattr(Settings(), field.name) for field in dataclasses.fields(Settings)}
    groups = {name: value for name, value in values.items() if dataclasses.is_dataclass(value)}
    inside = [(name, field.name) for name, value in groups.items() for field in dataclasses.fields(value)]
    plain = [("", name) for name in values if name not in groups and name != "provenance"]
    settings_ = [(setting.group, setting.name.removeprefix(f"{setting.group}_")) for setting in REGISTRY]
    assert sorted(inside + plain) == sorted(settings_)
    assert set(BY_NAME) == set(VALUES)


def test_every_name_spelling_flag_and_variable_stands_for_one_setting():
    for names in ([s.spelling for s in REGISTRY], [s.option for s in REGISTRY], [s.variable for s in REGISTRY]):
        assert len(set(names)) == len(REGISTRY)
    assert all(setting.doc.endswith(".") for setting in REGISTRY)


def test_the_built_in_values_are_those_of_the_seed():
    found = settings.resolve([])
    assert found == dataclasses.replace(Settings(), provenance=dict.fromkeys(BY_NAME, "built-in"))
    assert (found.resync.period, found.resync.jitter, found.recreate) == (0.0, 0.1, Recreate.WHEN_RESYNC)


@pytest.mark.parametrize("name", VALUES)
def test_a_setting_is_read_the_same_from_yaml_flag_and_environment(name):
    setting = BY_NAME[name]
    for written, value in VALUES[name]:
        text = json.dumps(written) if isinstance(written, bool | dict) else str(written)
        layers = [
            settings.layer({setting.spelling: written}, Level.RESOURCE, lambda _: "a.yaml:1"),
            settings.of_flags({name: text}),
            settings.of_environment({setting.variable: text}),
        ]
        assert [layer[name].value for layer in layers] == [value] * 3
        assert setting.parse(setting.from_text(setting.show(value))) == value


@pytest.mark.parametrize(
    "spelling, value, message",
    [
        ("resyncperiod", "1h", "unknown field `resyncperiod`; did you mean `resyncPeriod`?"),
        ("resync_period", "1h", "unknown field `resync_period`; did you mean `resyncPeriod`?"),
        ("resyncPeriod", 60, "60 has no unit; write 60s, 60m or 60h"),
        ("resyncJitter", 2, "expected a fraction from 0 to 1, such as 0.1 or 10%"),
        ("resyncJitter", "x%", "expected a fraction from 0 to 1, such as 0.1 or 10%"),
        ("resyncJitter", True, "expected a fraction from 0 to 1, such as 0.1 or 10%"),
        ("onDrift", "corect", "expected one of correct, report, approve, got 'corect'; did you mean correct?"),
        ("onDrift", ["report"], "expected one of correct, report, approve, got a list"),
        ("stateHash", "true", "expected a boolean, got a string"),
    ],
)
def test_a_wrong_option_says_what_is_right(spelling, value, message):
    with pytest.raises(InputError) as caught:
        settings.layer({spelling: value}, Level.RESOURCE, str)
    assert caught.value.message == message
    assert caught.value.location.field == f"/{spelling}"


def test_an_unknown_option_names_the_known_ones():
    with pytest.raises(InputError, match="unknown field `colour`; known here: resyncPeriod, "):
        settings.layer({"colour": "red"}, Level.RESOURCE, str)


def test_a_wrong_variable_is_named():
    with pytest.raises(InputError) as caught:
        settings.of_environment({"HOLDFAST_DEFAULT_RESYNC_PERIOD": "60"})
    assert str(caught.value) == "HOLDFAST_DEFAULT_RESYNC_PERIOD: 60 has no unit; write 60s, 60m or 60h"
    with pytest.raises(InputError, match=r"^--on-drift: expected one of"):
        settings.of_flags({"on_drift": "x", "recreate": None})


def test_an_empty_variable_says_nothing():
    assert settings.of_environment({"HOLDFAST_ON_DRIFT": "", "HOME": "/root"}) == {}


def test_explicit_off_hides_what_is_on_further_out():
    resource = declaration({"resyncPeriod": 0})
    found = strategies.settings_for(resource, [], [settings.of_flags({"resync_period": "10h"})])
    assert found.resync.period == 0
    assert found.provenance["resync_period"] == "resource (net.yaml:3)"


def test_policies_of_single_paths_are_joined_and_the_nearest_is_heard():
    strategy = settings.layer({"onDriftPaths": {"/a": "ignore", "/b": "report"}}, Level.STRATEGY, lambda _: "s.yaml:1")
    resource = settings.layer({"onDriftPaths": {"/b": "correct"}}, Level.RESOURCE, lambda _: "r.yaml:1")
    found = settings.resolve([resource, strategy])
    assert found.on_drift_paths == {"/b": PathPolicy.CORRECT, "/a": PathPolicy.IGNORE}
    assert found.ignored_paths == ("/a",)


def test_null_means_not_given():
    found = strategies.settings_for(declaration({"resyncPeriod": None}), [])
    assert found.provenance["resync_period"] == "built-in"


def test_all_levels_are_shown_in_their_order():
    resource = declaration({"resyncPeriod": "1m"}, {"/spec/managedOptions/resyncPeriod": 9})
    outer = [
        settings.of_flags({"resync_period": "2m"}),
        settings.of_environment({"HOLDFAST_DEFAULT_RESYNC_PERIOD": "3m"}),
    ]
    said = settings.candidates("resync_period", [settings.of_resource(resource), *outer])
    assert [(given.value, str(given)) for given in said] == [
        (60.0, "resource (net.yaml:9)"),
        (120.0, "flag (--default-resync-period)"),
        (180.0, "environment (HOLDFAST_DEFAULT_RESYNC_PERIOD)"),
        (0.0, "built-in"),
    ]


LEVELS = (Level.RESOURCE, Level.STRATEGY_KIND, Level.STRATEGY, Level.FLAG, Level.ENVIRONMENT, Level.PROJECT)
presence = st.fixed_dictionaries(
    {level: st.dictionaries(st.sampled_from(sorted(VALUES)), st.sampled_from([0, 1])) for level in LEVELS}
)


@given(presence)
def test_whatever_is_given_where_the_nearest_level_wins_and_is_named(given_where):
    def layer(level):
        return {
            name: Given(VALUES[name][which][1], level, f"{level}:{name}") for name, which in given_where[level].items()
        }

    resource = declaration(
        {SPELLINGS[name]: VALUES[name][which][0] for name, which in given_where[Level.RESOURCE].items()},
        {f"/spec/managedOptions/{SPELLINGS[name]}": line for line, name in enumerate(VALUES)},
    )
    strategy = strategies.Strategy(
        "s", defaults=layer(Level.STRATEGY), kinds={"Network": layer(Level.STRATEGY_KIND), "Other": layer(Level.FLAG)}
    )
    outer = [layer(level) for level in LEVELS[3:]]
    found = strategies.settings_for(resource, [strategy], outer)
    for line, name in enumerate(VALUES):
        level = next((level for level in LEVELS if name in given_where[level]), Level.BUILT_IN)
        if level is Level.BUILT_IN:
            value, said = BY_NAME[name].value_in(Settings()), "built-in"
        else:
            value = VALUES[name][given_where[level][name]][1]
            said = f"resource (net.yaml:{line})" if level is Level.RESOURCE else f"{level} ({level}:{name})"
        shown = BY_NAME[name].value_in(found)
        assert value.items() <= shown.items() if BY_NAME[name].joins else shown == value
        assert found.provenance[name] == said


def test_a_providers_own_variable_speaks_for_its_resources_only_and_a_flag_is_stronger():
    azure = dataclasses.replace(declaration(), provider="azure")
    outer: list[Layer | Scoped] = [*settings.of_provider_variables({"AZURE_SYNC_PERIOD": "15m"}), {}]
    assert strategies.settings_for(azure, [], outer).resync.period == 900
    assert strategies.settings_for(declaration(), [], outer).resync.period == 0
    flag = settings.of_flags({"resync_period": "1h"})
    assert strategies.settings_for(azure, [], [flag, *outer]).resync.period == 3600
    off = settings.of_provider_variables({"AZURE_SYNC_PERIOD": "never"})
    assert strategies.settings_for(azure, [], off).provenance["resync_period"] == "environment (AZURE_SYNC_PERIOD)"
    with pytest.raises(InputError, match="AZURE_SYNC_PERIOD"):
        settings.of_provider_variables({"AZURE_SYNC_PERIOD": "often"})


def test_a_strategy_may_name_a_kind_as_the_provider_does():
    typed = dataclasses.replace(declaration(), type="Microsoft.Network/virtualNetworks")
    put_only = settings.layer({"reconcileMode": "put_only"}, Level.STRATEGY_KIND, str)
    strategy = strategies.Strategy("migrating", kinds={"Microsoft.Network/*": put_only})
    assert strategies.settings_for(typed, [strategy]).reconcile_mode is ReconcileMode.PUT_ONLY
    assert strategies.settings_for(declaration(), [strategy]).reconcile_mode is ReconcileMode.GET_PUT
