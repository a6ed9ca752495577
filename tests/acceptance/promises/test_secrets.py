"""No byte of a secret gets out: not where elements of lists move, nor where a service repeats what it was told."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.secrecy import commands
from tests.secrecy.needles import Haystack, Needle
from tests.secrecy.service import Service

TOKEN = "tok-4711-abcdef"
FIRST, SECOND, ROTATED = "first-pw-0815", "second-pw-0816", "rotated-pw-0817"
PROJECT = """\
connections:
  api:
    provider: http
    base_url: {url}
    auth: {{type: bearer}}
    secrets: {{token: {{env: TOKEN}}}}
    kinds:
      Thing:
        read: {{path: "/things/{{id}}"}}
        create: {{method: POST, path: /things, id: /id}}
        update: {{method: PATCH, path: "/things/{{id}}", body: merge}}
        delete: {{path: "/things/{{id}}"}}
        list: {{path: /things, items: /items, id: /id}}
        error: /error/message
        profile: {{rules: [{{path: /id, class: identity}}]}}
notify: [{{file: events.jsonl}}]
"""
MANIFEST = """\
apiVersion: http.holdfast.dev/v1
kind: Thing
metadata: {name: door}
spec:
  connection: api
  managedOptions: {onDrift: report}
  resource:
    name: door
    users:
      - {user: ann, pw: {secretRef: {env: FIRST}}}
      - {user: bob, pw: {secretRef: {env: SECOND}}}
    env:
      - {name: LEVEL, value: info}
      - {name: PASSWORD, value: {secretRef: {env: FIRST}}}
    args: [--password, {secretRef: {env: SECOND}}]
"""
FILES = [f"{name}=out.{name}" for name in ("json", "yaml", "markdown", "junit", "sarif", "html")]


class Case:
    """An applied project, its service, and everything that came out of it."""

    def __init__(self, folder: Path, service: Service) -> None:
        self.folder, self.service, self.pile = folder, service, Haystack()
        (folder / "infra").mkdir()
        (folder / "holdfast.yaml").write_text(PROJECT.format(url=service.url))
        (folder / "infra/door.yaml").write_text(MANIFEST)
        self("apply", "-y")

    @property
    def live(self) -> dict:
        return self.service.state.things["door"]

    def __call__(self, *words: str, code: int | None = 0) -> str:
        ended, out, err = commands.run([*words, "-f", "infra"])
        assert code is None or ended == code, out + err
        self.pile.add(words[0], out + err)
        return (out + err).decode()

    def look(self) -> None:
        files = [word for item in FILES for word in ("--output-file", item)]
        self("check", *files, code=None)
        self("plan", code=None)
        self("explain", "api/Thing/door", code=None)
        self("accept", "api/Thing/door", code=None)

    def leaks(self, *secrets: str) -> list[str]:
        self.pile.add_files(self.folder, frozenset())
        return self.pile.found([Needle(item, item) for item in (TOKEN, FIRST, SECOND, *secrets)])


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    monkeypatch.chdir(tmp_path)
    for name, value in {"TOKEN": TOKEN, "FIRST": FIRST, "SECOND": SECOND}.items():
        monkeypatch.setenv(name, value)
    with Service() as service:
        yield Case(tmp_path, service)


@pytest.mark.parametrize(
    "move",
    [
        lambda live: live["users"].insert(0, {"user": "eve", "pw": ROTATED}),
        lambda live: live["users"].append({"user": "eve", "pw": ROTATED}),
        lambda live: live["users"].reverse() or live["users"][0].update(pw=ROTATED),
        lambda live: live["users"].pop(0) and live["users"][0].update(pw={"value": [ROTATED]}),
        lambda live: live.update(users={"ann": {"user": "ann", "pw": ROTATED}}),
        lambda live: live.update(users=ROTATED),
        lambda live: live["env"].insert(0, {"name": "PASSWORD_2", "value": ROTATED}),
        lambda live: live["env"].append({"name": "PASSWORD", "value": ROTATED}),
        lambda live: live["env"].append({"value": ROTATED}),
        lambda live: live["args"].insert(0, ROTATED),
        lambda live: live["users"][0].update(pw=ROTATED) or live.update(dsn=f"db://ann:{ROTATED}@host"),
    ],
    ids=[
        "prepended", "appended", "reordered", "removed", "a map now", "a text now", "another name", "a name twice",
        "no name", "a list of texts", "repeated elsewhere",
    ],
)  # fmt: skip
def test_a_secret_in_a_list_is_secret_wherever_its_element_stands(case, move):
    move(case.live)
    case.look()
    assert case.leaks(ROTATED) == []


def test_what_an_element_shows_by_its_name_stays_readable(case):
    case.live["env"][0]["value"] = "debug"
    said = case("check", code=None)
    assert '"info"' in said
    assert '"debug"' in said


def test_drift_in_such_a_list_is_put_right_with_the_declared_secrets(case):
    case.live["users"].insert(0, {"user": "eve", "pw": ROTATED})
    case("revert", "api/Thing/door")
    assert case.live["users"] == [{"user": "ann", "pw": FIRST}, {"user": "bob", "pw": SECOND}]
    assert case("check").endswith("Checked 1: 1 in sync.\n")


@pytest.mark.parametrize("secret", [TOKEN, FIRST])
def test_a_secret_that_a_service_repeats_is_recognised_however_it_is_spelt(case, secret):
    case.live.update(
        echo=secret,
        text=f"Bearer {secret}!",
        link=f"https://x/?t={quote(secret, safe='')}",
        header="Basic " + base64.b64encode(f"me:{secret}".encode()).decode(),
        raw=json.dumps({"t": secret}),
        keys={secret: [{secret: 1}]},
    )
    case.look()
    assert case.leaks() == []


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_an_error_that_repeats_a_secret_is_told_without_it(case, method):
    case.live["users"].pop()
    case.service.state.error, case.service.state.error_on = (422, f"{TOKEN} {FIRST} is bad"), frozenset({method})
    case.look()
    case("revert", "api/Thing/door", code=None)
    assert case.leaks() == []


def test_no_fingerprint_is_ever_sent_in_place_of_a_secret(case):
    case.folder.joinpath("holdfast.yaml").write_text(
        PROJECT.format(url=case.service.url)
        .replace("method: PATCH", "method: PUT")
        .replace("body: merge", "body: desired")
    )
    case.live["name"] = "gate"
    case("revert", "api/Thing/door")
    assert case.live["name"] == "door"
    (done, *_) = json.loads(case("corrections", "-o", "json"))
    case("undo", done["id"], code=None)
    assert "hmac-sha256" not in json.dumps(case.live)


def test_a_map_or_list_can_be_taken_as_the_new_normal(case):
    case.live["name"] = {"a": [1]}
    case("baseline", "api/Thing/door", "/name", "--why", "changed on purpose")
    assert "1 in sync" in case("check")
