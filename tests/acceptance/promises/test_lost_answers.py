"""A create whose answer was lost is never repeated blindly: it is looked for, or a person decides."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from holdfast.testing.rest_server import Fault, Wrong
from tests.acceptance.promises import serving
from tests.acceptance.promises.projects import Project, project, until

FINDING = serving.KINDS.replace("        list:", "        find: {by: [/name]}\n        list:")
UNLISTED = "\n".join(line for line in serving.KINDS.splitlines() if "list:" not in line) + "\n"
KEYED = serving.KINDS.replace("        list:", "        idempotency_header: Idempotency-Key\n        list:")


def names(here: Project) -> Counter[str]:
    return Counter(thing["name"] for thing in here.things().values())


def lose(here: Project, times: int = 1) -> None:
    here.server.faults.append(Fault(Wrong.RESET_AFTER, "POST", times=times))


@pytest.mark.parametrize("wrong", [Wrong.RESET_AFTER, Wrong.TRUNCATED])
def test_what_can_be_found_by_its_fields_is_found_and_not_made_again(tmp_path: Path, wrong: Wrong):
    with project(tmp_path, FINDING) as here:
        here.declare(3, size=1)
        here.server.faults.append(Fault(wrong, "POST"))
        said = here("apply", "-f", "m.yaml", "-y")
        assert names(here) == Counter(["s0", "s1", "s2"])
        assert "3 added" in said
        assert "3 in sync" in here("check", "-f", "m.yaml")


def test_what_was_looked_for_and_is_not_there_is_created_after_all(tmp_path: Path):
    with project(tmp_path, FINDING) as here:
        here.declare(1, size=1)
        here.server.faults.append(Fault(Wrong.STATUS, "POST", status=503))
        here("apply", "-f", "m.yaml", "-y")
        assert names(here) == Counter(["s0"])


def test_an_idempotency_key_makes_repeating_harmless(tmp_path: Path):
    with project(tmp_path, KEYED) as here:
        here.declare(1, size=1)
        lose(here)
        here("apply", "-f", "m.yaml", "-y")
        assert names(here) == Counter(["s0"])


@pytest.mark.parametrize("kinds", [serving.KINDS, UNLISTED], ids=["listed", "unlisted"])
def test_what_cannot_be_told_is_unknown_until_a_person_decides(tmp_path: Path, kinds: str):
    with project(tmp_path, kinds) as here:
        here.declare(1, size=1)
        lose(here)
        for _ in range(2):
            said = here("apply", "-f", "m.yaml", "-y", code=1)
            assert "unknown whether it was created" in said
            assert "1 unknown whether created" in said
            assert names(here) == Counter(["s0"])
        for command in (("plan", "-f", "m.yaml"), ("check", "-f", "m.yaml"), ("status", "shop/Server/s0")):
            said = here(*command, code=None)
            assert "unknown whether it was created" in said, said
            assert "holdfast import shop/Server/s0 ID" in said, said
        assert here.json("status")["unknownWhetherCreated"] == ["shop/Server/s0"]
        assert here.events("write.unsure") == ["shop/Server/s0"]
        here.declare(1, size=2)  # an edit answers nothing
        here("apply", "-f", "m.yaml", "-y", code=1)
        assert names(here) == Counter(["s0"])


def test_a_person_may_say_which_it_is(tmp_path: Path):
    with project(tmp_path) as here:
        here.declare(1, size=1)
        lose(here)
        said = here("apply", "-f", "m.yaml", "-y", code=1)
        (ident,) = here.things()
        assert ident in said
        here("import", "shop/Server/s0", ident, "-f", "m.yaml")
        assert "1 in sync" in here("check", "-f", "m.yaml")
        here("apply", "-f", "m.yaml", "-y")
        assert names(here) == Counter(["s0"])
        assert "no unfinished writes" in here("doctor", "-f", "m.yaml", code=None)


def test_a_person_may_say_that_it_is_to_be_created_again(tmp_path: Path):
    with project(tmp_path, UNLISTED) as here:
        here.declare(1, size=1)
        lose(here)
        here("apply", "-f", "m.yaml", "-y", code=1)
        (ident,) = here.things()
        here.server.collections["servers"].remove(ident)
        here("apply", "-f", "m.yaml", "-y", "--create-again")
        assert names(here) == Counter(["s0"])
        assert "1 in sync" in here("check", "-f", "m.yaml")


def test_a_create_that_was_killed_before_its_answer_is_not_repeated_blindly(tmp_path: Path):
    with project(tmp_path) as here:
        here.declare(1, size=1)
        here.killed_at("POST", 1, "apply", "-f", "m.yaml", "-y")
        until(lambda: bool(here.things()))
        said = here("apply", "-f", "m.yaml", "-y", code=1)
        assert "unknown whether it was created" in said
        assert names(here) == Counter(["s0"])


def test_what_is_unknown_is_not_deleted_as_if_it_were_not_there(tmp_path: Path):
    with project(tmp_path) as here:
        here.declare(1, size=1)
        lose(here)
        here("apply", "-f", "m.yaml", "-y", code=1)
        said = here("delete", "-f", "m.yaml", "-y", code=1)
        assert "unknown whether it was created" in said
