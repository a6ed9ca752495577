"""What becomes of a write: operations that fail, reads that lag, answers that are lost, types that need more words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.model.verdict import Status
from holdfast_emulators.azure import CATALOGUE, Etag, Failure, Fault, Fill, Policy, Wrong, alike
from tests.integration.providers.azure.estate import WIDGET, declare, logged, run, widget


@pytest.mark.parametrize(
    "shape", ["async 201", "both 202", "location 202", "state 201", "async, forgotten", "self location, 202"]
)
@pytest.mark.parametrize("word", ["Failed", "Canceled"])
def test_an_operation_that_fails_is_tried_again_at_the_next_sync(estate, shape, word):
    estate.arm.tune(WIDGET, operations=alike(CATALOGUE[shape]))
    estate.arm.failures.append(Failure("PUT", "*", code="QuotaExceeded", word=word, times=1))
    estate.patience = replace(estate.patience, attempts=1)

    async def scenario():
        thing = widget(weight=1)
        report = await estate.apply([thing])
        assert [item.result.value for item in report.acted] == ["failed"]
        assert await estate.status(thing) is not Status.IN_SYNC
        await estate.sync(thing, times=3)
        assert estate.puts() == 2
        assert await estate.status(thing) is Status.IN_SYNC
        assert [reason for reason, _ in await estate.caused()][1:] in (["failed"], ["create"])

    run(scenario())


def test_an_update_that_fails_is_not_taken_for_done_because_its_values_show(estate):
    async def scenario():
        await estate.apply([widget(weight=1)])
        estate.patience = replace(estate.patience, attempts=1)
        estate.arm.tune(WIDGET, operations=alike(CATALOGUE["async 200"]))
        estate.arm.failures.append(Failure("PUT", "*", code="QuotaExceeded", applied=True, times=1))
        heavier = widget(weight=2)
        await estate.sync(heavier)
        assert estate.shown()["properties"]["provisioningState"] == "Failed"
        await estate.sync(heavier, times=2)
        assert estate.puts() == 3
        assert (await estate.caused())[-1] == ("failed", ())

    run(scenario())


@pytest.mark.parametrize("mode", ["get_put", "shadow"])
def test_what_was_made_and_is_as_declared_makes_no_more_progress(estate, mode):
    async def scenario():
        thing = declare("w", {"location": "westus2", "properties": {"weight": 1}}, reconcileMode=mode)
        await estate.apply([thing])
        state = await estate.store.state(thing.address)
        told = {
            condition.type.value: (condition.status.value, condition.message) for condition in state.observed.conditions
        }
        assert told["Progressing"] == ("False", "as declared")  # not "taken over": it is ours from the start

    run(scenario())


@pytest.mark.parametrize("lag", [{"lag_reads": 2}, {"lag_reads": 3}])
def test_a_read_that_lags_behind_our_write_is_not_learnt_from(estate, lag):
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        await estate.apply([widget(weight=1)])
        estate.arm.tune(WIDGET, **lag)
        heavier = widget(weight=2)
        await estate.sync(heavier, times=3)
        assert estate.puts() == 2
        assert set(await estate.known(heavier)) == {"/properties/colour"}  # not the old weight as an override
        estate.arm.tune(WIDGET, lag_reads=0)
        estate.edit({"/properties/weight": 1})
        await estate.sync(heavier, times=2)
        assert estate.puts() == 3

    run(scenario())


def test_a_new_resource_that_is_not_shown_yet_is_waited_for(estate):
    estate.arm.tune(WIDGET, lag_reads=3)

    async def scenario():
        report = await estate.apply([widget(weight=1)])
        assert [item.result.value for item in report.acted] == ["done"]
        assert estate.puts() == 1

    run(scenario())


@pytest.mark.parametrize("wrong", [Wrong.RESET, Wrong.RESET_AFTER, Wrong.HANG, Wrong.TRUNCATED, Wrong.HTML])
@pytest.mark.parametrize("etag", [False, True])
def test_an_answer_that_is_lost_leads_to_no_second_thing(estate, wrong, etag):
    if etag:
        estate.arm.tune(WIDGET, etag=Etag(header=True, honoured=True))
        habits = [{"types": WIDGET, "conditional": True}]
        estate.connection = replace(estate.connection, settings={**estate.connection.settings, "habits": habits})
    estate.arm.faults.append(Fault(wrong, "PUT", status=503))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        await estate.sync(thing, times=2)
        assert await estate.status(thing) is Status.IN_SYNC
        assert len(estate.arm.ids(WIDGET)) == 1
        assert estate.puts() <= 2

    run(scenario())


STORAGE = "Microsoft.Storage/storageAccounts"


def account(**properties):
    body = {"location": "westus2", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "properties": properties}
    return declare("logs", body, "StorageAccount")


def test_a_list_that_is_not_declared_any_more_is_emptied_where_leaving_it_out_would_not(estate):
    """Storage: what a PUT omits stays; only [] clears."""

    async def scenario():
        rules = {"networkAcls": {"defaultAction": "Deny", "ipRules": [{"value": "1.2.3.4"}]}}
        await estate.apply([account(**rules)])
        assert len(estate.shown("logs", STORAGE)["properties"]["networkAcls"]["ipRules"]) == 1
        without = account(networkAcls={"defaultAction": "Deny"})
        await estate.sync(without, times=3)
        assert estate.puts() == 2
        assert estate.shown("logs", STORAGE)["properties"]["networkAcls"]["ipRules"] == []
        assert await estate.status(without) is Status.IN_SYNC

    run(scenario())


def test_a_policy_that_denies_is_quoted_by_its_code_and_nothing_that_was_sent(estate):
    estate.arm.policies.append(Policy("no-widgets", deny=True, types=WIDGET))

    async def scenario():
        report = await estate.apply([widget(weight=1, token="not-for-the-log")])
        assert "RequestDisallowedByPolicy" in report.acted[0].message
        assert "not-for-the-log" not in report.acted[0].message

    run(scenario())


def test_what_policy_adds_at_our_write_is_known_and_what_it_adds_later_is_drift(estate, caplog):
    tagging = Policy("tagging", add={"/tags/costCenter": "42"})
    estate.arm.policies.append(tagging)

    async def scenario():
        thing = declare("w", {"location": "westus2", "tags": {"a": "1"}, "properties": {}})
        await estate.apply([thing])
        await estate.sync(thing, times=3)
        assert estate.puts() == 1
        assert "/tags/costCenter" in await estate.known(thing)

    run(scenario())
    assert not [line for line in logged(caplog) if "drift" in line]


def test_an_identity_without_the_right_to_write_is_told_so(estate):
    async def scenario():
        estate.arm.revoke(estate.arm.token)
        report = await estate.apply([widget(weight=1)])
        assert report.checked[0].verdict.status is Status.UNKNOWN
        assert "unauthorised" in report.checked[0].verdict.reason
        assert estate.puts() == 0

    run(scenario())
