"""Whether a thing is well, in the words of its service: at work, in error, gone, or nobody can tell."""

from __future__ import annotations

from holdfast.model.health import HealthSignal
from holdfast.providers.protocol import Target
from holdfast_emulators.openstack import Fault
from tests.integration.providers.openstack.bench import Bench


def health_signals(bench: Bench, declaration) -> list[HealthSignal]:
    target = Target(declaration.address.kind, declaration.address.name, bench.id(declaration), declaration.desired)
    return list(bench.run(bench.reader.health_signals(target, 0.0)))  # type: ignore[attr-defined]


def test_a_volume_is_well_until_it_is_in_error_or_gone(bench):
    bench.plane.need("cinder")
    volume = bench.declare("Volume", "data", {"size": 1})
    bench.made(volume)
    assert health_signals(bench, volume) == [HealthSignal("status", is_well=True)]
    place = f"/volumes/{bench.id(volume)}"
    bench.drift_injector.post("block-storage", f"{place}/action", {"os-reset_status": {"status": "error"}})
    assert health_signals(bench, volume) == [HealthSignal("status", is_well=False)]
    bench.drift_injector.post("block-storage", f"{place}/action", {"os-reset_status": {"status": "available"}})
    bench.drift_injector.delete("block-storage", place)
    bench.until(
        lambda: health_signals(bench, volume) == [HealthSignal("status", is_well=False)], "the volume to be gone"
    )


def test_a_network_is_well_and_nothing_is_said_of_what_has_no_such_word(bench):
    network, project = bench.declare("Network", "n"), bench.declare("Project", bench.word("p"))
    bench.made(network, project)
    assert health_signals(bench, network) == [HealthSignal("status", is_well=True)]
    assert health_signals(bench, project) == []


def test_a_service_in_trouble_says_nothing_about_the_thing(bench):
    network = bench.declare("Network", "n")
    bench.made(network)
    bench.plane.disturber.fail(Fault(agent=f"connection/{bench.connection.name}", status=503))
    try:
        assert health_signals(bench, network) == [HealthSignal("status", None)]
    finally:
        bench.plane.disturber.mend()
