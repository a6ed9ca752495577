"""An answer that cannot be the object is unknown: never drift, never written over, and never the end of the others."""

from __future__ import annotations

import functools
import json

import pytest

from tests.acceptance.promises.widgets import Api, Project, Reply, ok

COUNT = 5
BY_ID = {"list": None, "create": {"path": "/widgets", "id": "/name"}}
BY_NAME = {"list": None}
THING = {"name": "w0", "color": "red", "size": 9}
ANSWERS = {
    "an empty object": ok({}),
    "an error object": ok({"error": {"code": 17, "message": "try again"}}),
    "a list": ok([THING]),
    "a page of the list": ok({"items": [THING], "next": None}),
    "no object": ok("maintenance"),
    "a message of the day": ok({"motd": "hello"}),
    "a part": (206, {"Content-Range": "bytes 0-9/99"}, json.dumps(THING).encode()),
    "a redirect to another thing": (302, {"Location": "/widgets/other"}, b""),
    "a redirect to a page": (302, {"Location": "/login"}, b""),
}
WITH_AN_ID = {"another id": ok({**THING, "name": "other"}), "no id": ok({"color": "red", "size": 9})}


@pytest.mark.parametrize(
    "kind, answers", [(BY_ID, {**ANSWERS, **WITH_AN_ID}), (BY_NAME, ANSWERS)], ids=["by id", "by name"]
)
def test_a_success_that_is_not_the_object_is_unknown_and_nothing_is_written(tmp_path, kind, answers):
    with Api() as api:
        project = Project(tmp_path, api, COUNT, **kind)
        api.things["other"] = {"name": "other", "color": "red", "size": 9}
        project("apply", "-y")
        api.writes.clear()
        for what, answer in answers.items():
            api.answer = functools.partial(_instead, answer)
            assert project.statuses() == dict.fromkeys(project.names, "unknown"), what
            if answer[0] != 302:
                project("apply", "-y", code=None)
        assert api.writes == []
        api.answer = lambda _path: None
        assert project.statuses() == dict.fromkeys(project.names, "in_sync")


def _instead(answer: Reply, path: str) -> Reply | None:
    if path == "/login":
        return ok({"motd": "log in"})
    return None if path == "/widgets/other" else answer


def test_an_id_that_a_list_shows_twice_and_not_alike_is_asked_for_by_itself(tmp_path):
    with Api() as api:
        project = Project(tmp_path, api, COUNT)
        project("apply", "-y")
        api.writes.clear()
        double = [*api.things.values(), *({**thing, "color": "red"} for thing in api.things.values())]
        api.answer = lambda path: ok({"items": double}) if path == "/widgets" else None
        assert project.statuses() == dict.fromkeys(project.names, "in_sync")
        api.answer = lambda path: ok({"items": double}) if path == "/widgets" else ok({})
        assert project.statuses() == dict.fromkeys(project.names, "unknown")
        project("apply", "-y", code=None)
        assert api.writes == []


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


BROKEN = {
    "60,000 levels": '{"name": "w0", "color": "blue", "size": 3, "x": ' + nested(60_000) + "}",
    "60,000 maps": '{"x": ' + '{"a":' * 60_000 + "1" + "}" * 60_000 + ', "name": "w0", "color": "blue", "size": 3}',
    "no id": '{"color": "red", "size": 3}',
    "no object": '["w0"]',
}


@pytest.mark.parametrize("item", BROKEN.values(), ids=list(BROKEN))
def test_one_broken_item_of_a_list_is_unknown_and_the_others_are_checked(tmp_path, item):
    with Api() as api:
        project = Project(tmp_path, api, COUNT)
        project("apply", "-y")
        api.writes.clear()
        api.things["w1"]["color"] = "red"
        others = ", ".join(json.dumps(api.things[name]) for name in project.names[1:])
        bodies = {"/widgets": f'{{"items": [{item}, {others}]}}', "/widgets/w0": item}
        api.answer = lambda path: (200, {}, bodies[path].encode()) if path in bodies else None
        expected = {**dict.fromkeys(project.names, "in_sync"), "w0": "unknown", "w1": "drifted"}
        assert project.statuses() == expected
        bodies["/widgets"] = f'{{"items": [{item}, {json.dumps(api.things["w1"])}, {others}]}}'
        project("watch", "--rounds", "0", code=None)
        assert api.writes == [("PATCH", "w1")]
        assert api.things["w1"]["color"] == "blue"


@pytest.mark.parametrize("levels", [240, 2_000, 9_990])
def test_an_object_nested_as_deep_as_can_be_read_is_judged_or_unknown(tmp_path, levels):
    with Api() as api:
        project = Project(tmp_path, api, COUNT)
        project("apply", "-y")
        api.writes.clear()
        deep = '{"name": "w0", "color": ' + nested(levels) + ', "size": 3}'
        others = ", ".join(json.dumps(api.things[name]) for name in project.names[1:])
        bodies = {"/widgets": f'{{"items": [{deep}, {others}]}}', "/widgets/w0": deep}
        api.answer = lambda path: (200, {}, bodies[path].encode()) if path in bodies else None
        told = project.statuses()
        assert told.pop("w0") in ("drifted", "unknown")
        assert set(told.values()) == {"in_sync"}
        for command in (("plan",), ("explain", "api/Widget/w0"), ("check", "-o", "html")):
            project(*command, code=None)
