"""Whether a thing is well, in the words of its service: at work, in error, gone, or nobody can tell."""

from __future__ import annotations

from holdfast.model.health import Vital
from holdfast.providers.protocol import Target
from holdfast_emulators.openstack import Fault
from tests.integration.providers.openstack.bench import Bench


def vitals(bench: Bench, declaration) -> list[Vital]:
    target = Target(declaration.address.kind, declaration.address.name, bench.id(declaration), declaration.desired)
    return list(bench.run(bench.reader.vitals(target, 0.0)))  # type: ignore[attr-defined]


def test_a_volume_is_well_until_it_is_in_error_or_gone(bench):
    bench.plane.need("cinder")
    volume = bench.declare("Volume", "data", {"size": 1})
    bench.made(volume)
    assert vitals(bench, volume) == [Vital("status", is_well=True)]
    place = f"/volumes/{bench.id(volume)}"
    bench.vandal.post("block-storage", f"{place}/action", {"os-reset_status": {"status": "error"}})
    assert vitals(bench, volume) == [Vital("status", is_well=False)]
    bench.vandal.post("block-storage", f"{place}/action", {"os-reset_status": {"status": "available"}})
    bench.vandal.delete("block-storage", place)
    bench.until(lambda: vitals(bench, volume) == [Vital("status", is_well=False)], "the volume to be gone")


def test_a_network_is_well_and_nothing_is_said_of_what_has_no_such_word(bench):
    network, project = bench.declare("Network", "n"), bench.declare("Project", bench.word("p"))
    bench.made(network, project)
    assert vitals(bench, network) == [Vital("status", is_well=True)]
    assert vitals(bench, project) == []


def test_a_service_in_trouble_says_nothing_about_the_thing(bench):
    network = bench.declare("Network", "n")
    bench.made(network)
    bench.plane.disturber.fail(Fault(agent=f"connection/{bench.connection.name}", status=503))
    try:
        assert vitals(bench, network) == [Vital("status", None)]
    finally:
        bench.plane.disturber.mend()
