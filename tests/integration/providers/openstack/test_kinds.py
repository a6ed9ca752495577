"""Every kind on the real services: made, clean, damaged field by field and mended, edited, deleted, imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, Import
from holdfast.model.verdict import Status
from holdfast_emulators.openstack import Unwilling
from tests.integration.providers.openstack import samples
from tests.integration.providers.openstack.bench import Bench, named
from tests.integration.providers.openstack.sampling import Sample

A_DAY = 86_400.0  # seconds
EACH = pytest.mark.parametrize("sample", samples.ALL, ids=lambda sample: sample.label)
EACH_KIND = pytest.mark.parametrize("sample", samples.KINDS, ids=lambda sample: sample.label)
# What moves by itself, or is another after the same thing was recreated.
VOLATILE = {"updated_at", "revision_number", "created_at", "security_group_rules", "status", "password_expires_at"}
SERVER_VOLATILE = {"updated", "addresses", "OS-SRV-USG:launched_at", "progress", "security_groups", "hostId"}
RULE = ("direction", "ethertype", "protocol", "port_range_min", "port_range_max", "normalized_cidr", "description")


REFERENCE = re.compile(r"\$\{(\w+)/([^.}]+)\.")
ALL_OF_THEM = "all of them"


class Stage:
    """A sample declared, with what it refers to: in that shape, or in any that `also` speaks of."""

    def __init__(
        self, bench: Bench, sample: Sample, desired: Mapping[str, Json], also: Json = None, **options: Json
    ) -> None:
        self.bench, self.sample = bench, sample
        bench.plane.need(*sample.needs)
        self.it = bench.declare(sample.kind, f"{bench.tenant.name}-it", bench.filled(dict(desired)), **options)
        wanted = [self.it.desired, bench.filled(also)]
        if re.search("portId|networkIds", repr(wanted)):
            wanted += sample.unseen
        self.parents = needed(sample.parents(bench), wanted)

    @property
    def all(self) -> list[Declaration]:
        return [*self.parents, self.it]

    def edited(self, desired: Mapping[str, Json]) -> None:
        self.it = replace(self.it, desired=self.bench.filled(dict(desired)))

    def live(self) -> dict[str, Json]:
        return live(self.bench, self.sample, self.bench.id(self.it))

    def delete(self) -> None:
        delete(self.bench, self.sample, self.bench.id(self.it))


def needed(parents: list[Declaration], wanted: Json) -> list[Declaration]:
    """Return those of the parents that something refers to, and what they refer to."""
    if ALL_OF_THEM in wanted:
        return parents
    named = set(REFERENCE.findall(repr(wanted)))
    found = [parent for parent in parents if (parent.address.kind, parent.address.name) in named]
    more = [*wanted, *(item.desired for item in found)]
    return found if set(REFERENCE.findall(repr(more))) == named else needed(parents, more)


def live(bench: Bench, sample: Sample, ident: str) -> dict[str, Json]:
    """Return a thing as the vandal sees it, without what moves by itself, lists in an order."""
    path = f"{sample.path}/{ident}"
    options = {"microversion": sample.microversion} if sample.microversion else {}
    found = bench.drift_injector.get(sample.service, path, **options)
    body = dict(found[sample.one] if sample.one else found)
    rules = [{key: rule[key] or None for key in RULE} for rule in body.get("security_group_rules", ())]
    if sample.kind == "Router":
        ports = bench.drift_injector.get("network", f"/ports?device_id={ident}&device_owner=network:router_interface")[
            "ports"
        ]
        rules += [port["fixed_ips"][0]["subnet_id"] for port in ports]
        body["external_gateway_info"] = {**(body["external_gateway_info"] or {}), "external_fixed_ips": "any"}
    if sample.kind == "Server":
        ports = bench.drift_injector.get("network", f"/ports?device_id={ident}")["ports"]
        rules += sorted(port["id"] for port in ports)
        body = {key: value for key, value in body.items() if key not in SERVER_VOLATILE}
    for name in ("sub_ports", "tags"):
        body[name] = sorted(body.get(name) or (), key=str)
    return {**{key: value for key, value in body.items() if key not in VOLATILE}, "rules": sorted(rules, key=str)}


def delete(bench: Bench, sample: Sample, ident: str) -> None:
    options = {"microversion": sample.microversion} if sample.microversion else {}
    bench.drift_injector.delete(sample.service, f"{sample.path}/{ident}", **options)

    def is_gone() -> bool:
        try:
            bench.drift_injector.get(sample.service, f"{sample.path}/{ident}", **options)
        except Unwilling as no:
            return no.status == 404
        return False

    bench.until(is_gone, "it is gone")


@EACH
def test_create_minimal(bench: Bench, sample: Sample):
    """Only what is needed is declared; it is called what its manifest calls it; the second check is clean."""
    stage = Stage(bench, sample, sample.minimal)
    bench.made(*stage.all)
    bench.took(stage.it)
    seen = stage.live()
    assert stage.it.address.name in (seen.get("name"), seen.get("description"))
    bench.clean(*stage.all)


@EACH
def test_create_full(bench: Bench, sample: Sample):
    """Every field is declared and took; the second check is clean."""
    stage = Stage(bench, sample, sample.full)
    bench.made(*stage.all)
    bench.took(stage.it)
    bench.clean(*stage.all)


@EACH
def test_every_field_that_somebody_changes_is_named_and_put_back(bench: Bench, sample: Sample):
    stage = Stage(bench, sample, sample.full, ALL_OF_THEM)
    bench.made(*stage.all)
    before = stage.live()
    wrong: list[str] = []
    for drift in sample.drifts:
        bench.process.clock.advance(A_DAY)  # so that two changes of one field are no contention
        drift.act(Unique(bench), bench.id(stage.it))  # type: ignore[arg-type]
        (checked,) = bench.check(*stage.all, only=stage.it)
        found = named(checked)
        if checked.verdict.status is not Status.DRIFTED or not any(path.startswith(drift.path) for path in found):
            wrong.append(f"{drift.path}: the check says {checked.verdict.status.value} {found}")
            continue
        bench.made(*stage.all, only=stage.it)
        after = stage.live()
        moved = [name for name in before if before[name] != after.get(name)]
        if moved:
            wrong.append(f"{drift.path}: not as before at {moved}: {[(before[m], after.get(m)) for m in moved]}")
        bench.clean(*stage.all, only=stage.it)
    bench.clean(*stage.all)
    assert not wrong, "\n".join(wrong)


class Unique:
    """The bench, with names in bodies made unique."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.drift_injector = self
        self.tenant, self.until, self.filled = bench.tenant, bench.until, bench.filled

    def request(self, service: str, method: str, path: str, body: Json = None, **options: Json) -> Json:
        return self._bench.drift_injector.request(service, method, path, self._bench.filled(body), **options)

    def get(self, *arguments: Json, **options: Json) -> Json:
        return self._bench.drift_injector.get(*arguments, **options)

    def post(self, *arguments: Json, **options: Json) -> Json:
        return self._bench.drift_injector.post(*arguments, **options)

    def put(self, *arguments: Json, **options: Json) -> Json:
        return self._bench.drift_injector.put(*arguments, **options)

    def patch(self, *arguments: Json, **options: Json) -> Json:
        return self._bench.drift_injector.patch(*arguments, **options)

    def delete(self, *arguments: Json, **options: Json) -> Json:
        return self._bench.drift_injector.delete(*arguments, **options)


@pytest.mark.parametrize("sample", [item for item in samples.KINDS if item.later], ids=lambda sample: sample.label)
def test_update(bench: Bench, sample: Sample):
    """From the least to everything that an edit may change, and back: then it is what it was at the start."""
    stage = Stage(bench, sample, sample.minimal, dict(sample.later))
    bench.made(*stage.all)
    start = stage.live()
    stage.edited({**sample.minimal, **sample.later})
    bench.made(*stage.all)
    bench.took(stage.it)
    bench.clean(*stage.all)
    stage.edited(sample.minimal)
    bench.made(*stage.all)
    bench.clean(*stage.all)
    after = stage.live()
    assert {name: after[name] for name in start if name not in sample.kept} == {
        name: value for name, value in start.items() if name not in sample.kept
    }


@EACH_KIND
def test_external_deletion(bench: Bench, sample: Sample):
    """What was made by us and somebody deleted is recreated, under another id."""
    stage = Stage(bench, sample, sample.minimal)
    bench.made(*stage.all)
    first = bench.id(stage.it)
    stage.delete()
    (checked,) = bench.check(*stage.all, only=stage.it)
    assert (checked.verdict.status, checked.decision.action) == (Status.MISSING, Action.RECREATE)
    bench.made(*stage.all)
    assert bench.id(stage.it) != first or sample.kind == "KeyPair"  # which is known by its name
    bench.clean(*stage.all)


@EACH_KIND
def test_external_deletion_import(bench: Bench, sample: Sample):
    """What was imported and somebody deleted is an error that stays, and nothing is written."""
    stage = Stage(bench, sample, sample.minimal)
    bench.made(*stage.all)
    ident = bench.id(stage.it)
    imported = bench.declare(sample.kind, "imported", import_from=Import(id=ident))
    bench.made(*stage.parents, imported)
    bench.clean(*stage.parents, imported)
    stage.delete()
    before = bench.mark()
    report = bench.apply(*stage.parents, imported)
    (checked,) = [item for item in report.checked if item.address == imported.address]
    assert (checked.verdict.status, checked.decision.action) == (Status.MISSING, Action.BLOCK)
    assert checked.decision.reasons[0].code == "imported_deleted"
    assert bench.state(imported).schedule.terminal
    assert not [request for request in bench.requests(before) if request.is_write]


@EACH_KIND
def test_external_deletion_without_resync(bench: Bench, sample: Sample):
    """Where periodic checks are off, what somebody deleted is an error that stays, and nothing is written."""
    stage = Stage(bench, sample, sample.minimal, resyncPeriod="0")
    bench.made(*stage.all)
    stage.delete()
    before = bench.mark()
    report = bench.apply(*stage.all)
    (checked,) = [item for item in report.checked if item.address == stage.it.address]
    assert (checked.verdict.status, checked.decision.action) == (Status.MISSING, Action.BLOCK)
    assert bench.state(stage.it).schedule.terminal
    assert not [request for request in bench.requests(before) if request.is_write]


@pytest.mark.parametrize("sample", [item for item in samples.KINDS if item.immutable], ids=lambda sample: sample.label)
def test_what_is_fixed_at_birth_blocks_with_its_name_or_is_replaced(bench: Bench, sample: Sample):
    assert sample.immutable is not None
    name, value = sample.immutable
    stage = Stage(bench, sample, sample.full, value)
    if sample.kind == "Port":
        stage.parents.append(bench.declare("Network", "net2"))
    bench.made(*stage.all)
    first = bench.id(stage.it)
    other = {**sample.full, name: value}
    if sample.kind == "Network":
        del other["physicalNetwork"], other["segmentationId"]
    if sample.kind == "Subnet":
        other = {**sample.minimal, name: value}
    if sample.kind == "Port":
        other.pop("fixedIps")
    if sample.kind == "Trunk":
        other["subPorts"] = []
    stage.edited(other)
    (checked,) = bench.check(*stage.all, only=stage.it)
    assert checked.decision.action is Action.BLOCK
    assert any(path.startswith(f"/{name}") for path in checked.decision.reasons[0].paths)
    before = bench.mark()
    bench.apply(*stage.all, only=stage.it)
    assert not [request for request in bench.requests(before) if request.is_write]
    assert bench.state(stage.it).schedule.terminal
    # What blocked stays blocked until somebody does what they were told to.
    stage.it = replace(stage.it, options={**stage.it.options, "onImmutable": "replace"})
    bench.made(*stage.all)
    assert bench.id(stage.it) != first or sample.kind == "KeyPair"
    bench.clean(*stage.all)


@EACH_KIND
def test_import(bench: Bench, sample: Sample):
    """What exists is taken over without a write, by its id or by a filter, and held to what is declared of it.

    A filter takes nothing whose name is only longer, or fits as a pattern.
    """
    stage = Stage(bench, sample, sample.full)
    bench.made(*stage.all)
    ident, before = bench.id(stage.it), bench.mark()
    field = "name" if "name" in stage.it.desired else "description"
    name = str(stage.it.desired[field])

    def found(text: str) -> list[str]:
        return list(bench.run(bench.reader.find(sample.kind, {field: text})))

    assert ident in found(name)
    for other in (name[:-1], name[1:], f"{name[:-1]}.", f"{name[:-1]}*", ".*", f"^{name}$", name.upper()):
        assert ident not in found(other), other
    by_id = bench.declare(sample.kind, "by-id", import_from=Import(id=ident))
    criteria = {field: name, **({"projectId": bench.tenant.project_id} if "projectId" in stage.it.desired else {})}
    by_filter = bench.declare(sample.kind, "by-filter", import_from=Import(filter=criteria))
    bench.made(*stage.parents, by_id)
    assert bench.id(by_id) == ident
    bench.made(*stage.parents, by_filter)
    assert bench.id(by_filter) == ident
    bench.clean(*stage.parents, by_id)
    assert not [request for request in bench.requests(before) if request.is_write]
