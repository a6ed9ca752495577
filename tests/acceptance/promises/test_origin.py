"""What was imported stays imported: our writes to it do not make it ours to recreate."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.model.decision import Action
from holdfast.model.resource import Import, Origin
from tests.acceptance.folders import Folder
from tests.unit.reconcile.fixtures import Bench, declare

IMPORTED = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec:
  connection: fleet
  managedOptions: {resyncPeriod: 10m}
  import: {id: app.yaml}
  resource:
    path: app.yaml
    content: {log: info}
"""


def test_an_imported_file_that_needed_a_correction_is_not_recreated_after_its_deletion(tmp_path: Path):
    folder = Folder(tmp_path)
    folder.write(IMPORTED)
    (tmp_path / "fleet/app.yaml").write_text("log: debug\n")
    folder("apply", "-y")
    assert folder.files()["app"] == {"log": "info"}
    (tmp_path / "fleet/app.yaml").unlink()
    said = folder("apply", "-y", code=None)
    assert folder.files() == {}
    assert "imported resources are not recreated" in said


@pytest.mark.parametrize("live", [{"color": "red"}, {"color": "blue"}])
@pytest.mark.parametrize("edit", [None, "green", "no import"])
def test_origin_survives_corrections_edits_and_takeovers(live, edit):
    async def story():
        bench = Bench()
        bench.live.things["Thing", "id-x"] = {**live, "name": "a"}
        thing = declare("a", {"color": "red"}, import_from=Import(id="id-x"), resyncPeriod="10m")
        await bench.apply([thing])
        if edit == "green":  # edited, and changed by hand to the same: taken over without a write
            thing = replace(thing, desired={"color": "green"})
            bench.live.things["Thing", "id-x"]["color"] = "green"
            await bench.apply([thing])
        if edit == "no import":
            thing = replace(thing, import_from=None, desired={"color": "green"})
            await bench.apply([thing])
        state = await bench.store.state(thing.address)
        assert state is not None
        assert state.applied.origin is Origin.IMPORTED
        bench.live.things.clear()
        (checked,) = (await bench.apply([thing])).checked
        assert (checked.decision.action, checked.decision.reasons[0].code) == (Action.BLOCK, "imported_deleted")
        assert bench.live.things == {}

    asyncio.run(story())


def test_what_we_made_stays_ours_when_an_import_is_declared_later():
    async def story():
        bench = Bench()
        thing = declare("a", {"color": "red"}, resyncPeriod="10m")
        await bench.apply([thing])
        later = replace(thing, desired={"color": "green"}, import_from=Import(id=bench.id_of("a")))
        bench.live_thing("a")["color"] = "green"
        await bench.apply([later])
        state = await bench.store.state(thing.address)
        assert state is not None
        assert state.applied.origin is Origin.CREATED

    asyncio.run(story())
