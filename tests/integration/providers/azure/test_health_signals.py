"""Whether a resource is well: its last operation went well, went wrong, is under way, or nobody can tell."""

from __future__ import annotations

from dataclasses import replace

from holdfast.model.health import HealthSignal
from holdfast.providers.protocol import Target
from holdfast_emulators.azure import CATALOGUE, Failure, Fault, Wrong, alike
from tests.integration.providers.azure.estate import WIDGET, run, widget


async def health_signals(estate, thing) -> list[HealthSignal]:
    state = await estate.store.state(thing.address)
    target = Target(thing.address.kind, thing.address.name, state.provider_id, thing.desired)
    async with estate.world() as world:
        return list(await (await world.reader("azure")).health_signals(target, 0.0))


def test_a_resource_is_well_when_its_last_operation_went_well(estate):
    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        assert await health_signals(estate, thing) == [HealthSignal("provisioned", is_well=True)]
        estate.patience = replace(estate.patience, attempts=1)
        estate.arm.tune(WIDGET, operations=alike(CATALOGUE["async 200"]))
        estate.arm.failures.append(Failure("PUT", "*", code="QuotaExceeded", applied=True, times=1))
        await estate.sync(widget(weight=2))
        assert await health_signals(estate, thing) == [HealthSignal("provisioned", is_well=False)]

    run(scenario())


def test_an_answer_that_says_nothing_says_nothing_about_the_resource(estate):
    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        estate.arm.faults.append(Fault(Wrong.STATUS, "GET", status=503, times=None))
        assert await health_signals(estate, thing) == [HealthSignal("provisioned", None)]

    run(scenario())


def test_what_is_gone_is_not_well(estate):
    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        state = await estate.store.state(thing.address)
        estate.arm.console("alice").delete(state.provider_id)
        assert await health_signals(estate, thing) == [HealthSignal("provisioned", is_well=False)]

    run(scenario())
