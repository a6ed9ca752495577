"""Flash's state: its ids and stamps are read, and nothing in it is run."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InputError
from holdfast.model.decision import Action
from holdfast.providers.runpod import CpuLoadBalancerSlsResource, LoadBalancerSlsResource, NetworkVolume, flash_state
from holdfast.providers.runpod.flash.state import Left
from tests.unit.api.desk import at_desk, balancer

WRITTEN_BY_FLASH = Path(__file__).resolve().parents[3] / "data/flash/resources.pkl"


def test_what_flash_1_21_wrote_is_read_with_its_stamps():
    found = flash_state.read(WRITTEN_BY_FLASH)
    own = balancer(env={"A": "1"})
    other = LoadBalancerSlsResource(
        name="g", imageName="user/image:1.0", networkVolume=NetworkVolume(name="v", size=50)
    )
    assert found == {
        own.get_resource_key(): Left(own.get_resource_key(), "abc123", own.flash_hash),
        other.get_resource_key(): Left(other.get_resource_key(), "def", other.flash_hash),
    }
    assert own.has_stamp(found[own.get_resource_key()].stamp or "")
    assert own.has_stamp(f"flash-md5/1:md5:{own.flash_hash}")
    assert own.has_stamp(own.config_hash)
    assert not balancer(env={"A": "2"}).has_stamp(own.flash_hash)


class Bomb:
    """Does harm when it is unpickled."""

    armed: list[str] = []  # noqa: RUF012 - shared on purpose

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import os; os.environ['HOLDFAST_BOMB'] = 'went off'",)


class Stateful:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def test_nothing_in_the_file_is_run(tmp_path, monkeypatch):
    monkeypatch.delenv("HOLDFAST_BOMB", raising=False)
    file = tmp_path / "resources.pkl"
    file.write_bytes(pickle.dumps(({"X:a": Stateful(name="a", id="1", bomb=Bomb()), "X:b": Bomb()}, {"X:a": "h"})))
    assert flash_state.read(file) == {"X:a": Left("X:a", "1", "h"), "X:b": Left("X:b", None, None)}
    import os

    assert "HOLDFAST_BOMB" not in os.environ


def test_old_keys_are_read_as_what_they_mean(tmp_path):
    file = tmp_path / "resources.pkl"
    file.write_bytes(pickle.dumps({"Stateful_d41d8cd98f00b204e9800998ecf8427e": Stateful(name="a", id="1")}))
    assert flash_state.read(file) == {"Stateful:a": Left("Stateful:a", "1", None)}


@pytest.mark.parametrize(
    "data",
    [b"", b"nothing", pickle.dumps([1, 2]), pickle.dumps(({}, 3)), pickle.dumps({"a": 1})[:-3], b"\x80\x05Pabc\n."],
)
def test_what_is_no_state_of_flashs_is_refused(tmp_path, data):
    file = tmp_path / "resources.pkl"
    file.write_bytes(data)
    with pytest.raises(InputError, match="no state of Flash's"):
        flash_state.read(file)


def test_a_file_that_is_not_there_or_far_too_large_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="cannot be read"):
        flash_state.read(tmp_path / "nowhere.pkl")
    monkeypatch.setattr(flash_state, "LONGEST", 10)
    with pytest.raises(InputError, match="larger than"):
        flash_state.read(WRITTEN_BY_FLASH)


# -- taking over


def test_an_endpoint_of_flashs_is_taken_over_under_its_id(tmp_path):
    async def story(desk):
        made = await desk.manager().deploy(balancer())
        other = desk.folder / "elsewhere"
        other.mkdir()
        desk.folder = other  # where nothing is known of it
        desk.server.console().edit(made.id, workersMax=50)
        left = Left(balancer().get_resource_key(), made.id, balancer().flash_hash)
        taken = await desk.manager().adopt(balancer(), left.id, left.stamp)
        return made.id, taken, desk.live(made.id)["workersMax"], len(desk.names())

    ident, taken, workers, count = at_desk(tmp_path, story)
    assert (taken.id, taken.action, workers, count) == (ident, Action.UPDATE, 5, 1)


def test_one_that_is_as_declared_is_taken_over_without_a_write(tmp_path):
    async def story(desk):
        made = await desk.manager().deploy(balancer())
        (desk.folder / "elsewhere").mkdir()
        desk.folder /= "elsewhere"
        desk.quiet()
        taken = await desk.manager().adopt(balancer(), made.id)
        return taken.action, desk.server.writes()

    assert at_desk(tmp_path, story) == (Action.ADOPT, [])


def test_a_stamp_of_another_configuration_is_refused_and_so_is_another_id(tmp_path):
    async def story(desk):
        with pytest.raises(InputError, match="the stamp is of another configuration"):
            await desk.manager().adopt(balancer(), "abc", balancer(workersMax=6).flash_hash)
        made = await desk.manager().deploy(balancer())
        with pytest.raises(InputError, match=f"is {made.id}, not abc"):
            await desk.manager().adopt(balancer(), "abc")
        return isinstance(made.resource, CpuLoadBalancerSlsResource)

    assert at_desk(tmp_path, story)
