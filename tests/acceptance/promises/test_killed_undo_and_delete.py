"""An undo or a deletion that was killed is finished like every other write, and nothing is sent twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.promises.projects import Project, project, until


def corrected(here: Project) -> str:
    """Leave one server that was drifted and corrected; return the correction."""
    here.declare(1, size=1)
    here("apply", "-f", "m.yaml", "-y")
    here.drift(size=9)
    here("apply", "-f", "m.yaml", "-y")
    here.server.journal.clear()
    return str(here.json("corrections")[0]["id"])


def sizes(here: Project) -> set[int]:
    return {thing["size"] for thing in here.things().values()}


def begun(here: Project) -> list[str]:
    return [item["id"] for item in here.json("corrections") if item["outcome"] == "begun"]


@pytest.mark.parametrize("finisher", ["undo", "apply"])
def test_a_killed_undo_is_finished_by_the_next(tmp_path: Path, finisher: str):
    with project(tmp_path) as here:
        correction = corrected(here)
        here.killed_at("PATCH", 1, "undo", correction, "-f", "m.yaml")
        until(lambda: sizes(here) == {9})
        assert begun(here)
        if finisher == "undo":
            here("undo", correction, "-f", "m.yaml")
        else:
            here("apply", "-f", "m.yaml", "-y", code=None)
        assert sizes(here) == {9}
        assert begun(here) == []
        assert [item["outcome"] for item in here.json("corrections")][:2] == ["done", "undone"]
        assert len(here.requests("PATCH")) == 1
        assert "no unfinished writes" in here("doctor", "-f", "m.yaml", code=None)


def test_an_undo_that_was_killed_before_its_write_is_sent_by_the_next(tmp_path: Path):
    with project(tmp_path) as here:
        correction = corrected(here)
        here.killed_at("PATCH", 1, "undo", correction, "-f", "m.yaml")
        until(lambda: bool(here.requests("PATCH")))
        here.drift(size=1)  # as if the request had never come
        here("undo", correction, "-f", "m.yaml")
        assert sizes(here) == {9}
        assert begun(here) == []


def test_an_edit_of_the_declared_value_ends_what_an_undo_left_to_a_person(tmp_path: Path):
    with project(tmp_path) as here:
        correction = corrected(here)
        here("undo", correction, "-f", "m.yaml")
        here("apply", "-f", "m.yaml", "-y", code=None)
        assert sizes(here) == {9}
        here.declare(1, size=2)
        here("apply", "-f", "m.yaml", "-y")
        assert sizes(here) == {2}


def test_a_killed_deletion_is_not_sent_for_what_is_gone(tmp_path: Path):
    with project(tmp_path) as here:
        here.declare(3, size=1)
        here("apply", "-f", "m.yaml", "-y")
        here.killed_at("DELETE", 2, "delete", "-f", "m.yaml", "-y")
        until(lambda: len(here.things()) == 1)
        here("delete", "-f", "m.yaml", "-y")
        assert here.things() == {}
        sent = here.requests("DELETE")
        assert len(sent) == len(set(sent)) == 3
        assert begun(here) == []
