"""A failure stops nothing for a person: applying or importing again tries again."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.promises import shop as shops
from tests.acceptance.test_commands import run


@pytest.fixture
def shop():
    with shops.served() as served:
        yield served


@pytest.fixture
def folder(tmp_path, shop):
    shops.project(tmp_path, shop)
    (tmp_path / "m.yaml").write_text(shops.network("main", mtu=1500))
    return tmp_path


def holdfast(folder, *arguments, token="right"):
    return run(*arguments, cwd=folder, SHOP_TOKEN=token)


def test_a_wrong_token_is_forgotten_with_the_right_one(folder, shop):
    shop.token = "other"
    failed = holdfast(folder, "apply", "-y")
    assert failed.returncode == 1
    assert "401" in failed.stdout
    shop.token = "right"
    done = holdfast(folder, "apply", "-y")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(shop.networks) == 1


@pytest.mark.parametrize("status", [401, 403, 422])
def test_what_the_api_refused_is_tried_again_by_a_person(folder, shop, status):
    shop.refusal = status
    assert holdfast(folder, "apply", "-y").returncode == 1
    shop.refusal = None
    planned = holdfast(folder, "plan")
    assert "1 to add" in planned.stdout
    done = holdfast(folder, "apply", "-y")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(shop.networks) == 1


@pytest.mark.parametrize("status, tries", [(422, 1), (403, 2)], ids=["invalid", "permission"])
def test_watch_stops_at_what_only_an_edit_can_mend_and_goes_on_after_a_permission_is_given(folder, shop, status, tries):
    shop.refusal = status
    arguments = ("watch", "--rounds", "0")
    holdfast(folder, *arguments)
    holdfast(folder, *arguments)
    assert shop.calls.count("POST /networks") == tries
    terminal = json.loads(holdfast(folder, "status", "-o", "json").stdout)["resources"][0]["terminal"]
    assert (terminal is not None) == (status == 422)


def test_a_plan_of_another_try_does_not_set_watch_going(folder, shop):
    shop.refusal = 422
    holdfast(folder, "watch", "--rounds", "0")
    holdfast(folder, "plan")
    holdfast(folder, "watch", "--rounds", "0")
    assert shop.calls.count("POST /networks") == 1


def test_a_mistyped_id_of_an_import_gives_way_to_the_right_one(folder, shop):
    shop.networks["net-7"] = {"id": "net-7", "name": "main", "mtu": 1500}
    wrong = holdfast(folder, "import", "shop/Network/main", "nope")
    assert wrong.returncode == 1
    right = holdfast(folder, "import", "shop/Network/main", "net-7")
    assert right.returncode == 0, right.stdout + right.stderr
    assert holdfast(folder, "check", "--detailed-exitcode").returncode == 0
    assert list(shop.networks) == ["net-7"]


def test_a_folder_that_became_writable_is_written_to(tmp_path):
    (tmp_path / "m.yaml").write_text(
        "apiVersion: file.holdfast.dev/v1\nkind: Document\nmetadata: {name: app}\n"
        "spec: {resource: {path: live/app.yaml, content: {a: 1}}}\n"
    )
    (tmp_path / "live").write_text("a file where a folder is needed")
    assert run("apply", "-f", "m.yaml", "-y", cwd=tmp_path).returncode == 1
    (tmp_path / "live").unlink()
    assert run("apply", "-f", "m.yaml", "-y", cwd=tmp_path).returncode == 0
    assert (tmp_path / "live/app.yaml").exists()
