"""One history: a project with secrets, a service that repeats them, people who edit, commands; then a search.

A seed makes a history, always the same. Nothing here knows how Holdfast keeps secrets: only its commands, its files and
what the README promises, that no byte of a secret is in a store, an output, an event, a log or an error.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import io
import json
import logging
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from tests.secrecy import commands
from tests.secrecy.needles import Haystack, Needle, made, spellings
from tests.secrecy.service import Service, State

FORMATS = ("json", "yaml", "markdown", "junit", "sarif", "html")
SAID = "said"  # where the service repeats what it was told
NAMES = ("user", "role", "note", "port", "zone", "size")


@dataclass(slots=True)
class History:
    """What one seed makes, and what came of it."""

    seed: int
    folder: Path
    service: Service
    chance: random.Random
    needles: list[Needle] = field(default_factory=list)
    live: list[Needle] = field(default_factory=list)  # put in by strangers
    environ: dict[str, str] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)  # values that Holdfast is given
    pile: Haystack = field(default_factory=Haystack)
    story: list[str] = field(default_factory=list)
    codes: list[tuple[str, int | str]] = field(default_factory=list)

    def needle(self, sort: str, *, odd: bool = True) -> str:
        found = made(self.chance, sort, odd=odd)
        self.needles.append(found)
        return found.value

    # -- what is declared

    def reference(self) -> dict[str, Any]:
        """Make a secret that the manifest only points at."""
        kind = self.chance.choice(("env", "env", "file", "connectionSecret"))
        name = f"SECRET_{len(self.known)}"
        value = self.needle("a declared secret")
        self.known.append(value)
        if kind == "file":
            (self.folder / "secrets" / name).write_text(value)
            return {"secretRef": {"file": f"../secrets/{name}"}}
        self.environ[name] = value
        return {"secretRef": {kind: name if kind == "env" else name.lower()}}

    def value(self, depth: int, *, secret: bool) -> Any:
        """Make a value; with `secret`, one that has secrets somewhere in it."""
        if depth <= 0:
            return self.reference() if secret else self.chance.choice(("on", "off", 3, True, "eu-west", None, "x y"))
        shape = self.chance.choice(("map", "map", "list", "list", "named", "scalars", "leaf"))
        if shape == "leaf":
            return self.value(0, secret=secret)
        if shape == "scalars":
            items: list[Any] = [
                self.chance.choice(("-v", "--all", "main", "5")) for _ in range(self.chance.randint(1, 3))
            ]
            if secret:
                items.insert(self.chance.randint(0, len(items)), self.reference())
            return items
        if shape == "map":
            return self.fields(depth, secret=secret)
        count = self.chance.randint(1, 3)
        chosen = {self.chance.randrange(count)} if self.chance.random() < 0.5 else set(range(count))
        fields = self.chance.sample(NAMES, 2)
        elements = [
            {name: self.value(depth - 2, secret=secret and place in chosen and name == fields[0]) for name in fields}
            for place in range(count)
        ]
        if shape == "named":
            key = self.chance.choice(("name", "key", "id"))
            elements = [{key: f"n{place}", **element} for place, element in enumerate(elements)]
        return elements

    def fields(self, depth: int, *, secret: bool) -> dict[str, Any]:
        names = self.chance.sample(NAMES, self.chance.randint(1, 3))
        carrier = self.chance.choice(names)
        return {name: self.value(depth - 1, secret=secret and name == carrier) for name in names}

    def declared(self, name: str) -> dict[str, Any]:
        document = {"name": name, "plain": "as declared", **self.fields(3, secret=False)}
        for place in range(self.chance.randint(1, 3)):
            document[f"part{place}"] = self.value(self.chance.randint(0, 4), secret=True)
        if self.chance.random() < 0.3:
            pin = self.needle("a value at a path that the profile calls secret", odd=self.chance.random() < 0.5)
            document["vault"] = {"pin": pin.replace("${", "$${")}  # a plain ${ in a manifest
        return document

    def write_project(self, names: list[str]) -> None:
        chance = self.chance
        token = self.needle("the token of the connection", odd=False)
        hook = self.needle("the secret of the webhook")
        self.known += [token, hook]
        self.environ |= {"TOKEN": token, "HOOK": hook}
        body = chance.choice(("merge", "merge", "desired", "whole"))
        manifests = []
        for name in names:
            spec: dict[str, Any] = {"connection": "api", "resource": self.declared(name)}
            if chance.random() < 0.5:
                spec["managedOptions"] = {"onDrift": chance.choice(("report", "correct"))}
            head = {"apiVersion": "http.holdfast.dev/v1", "kind": "Thing", "metadata": {"name": name}}
            manifests.append({**head, "spec": spec})
        if chance.random() < 0.3:
            content = {"name": "app", **self.fields(3, secret=True)}
            head = {"apiVersion": "file.holdfast.dev/v1", "kind": "Document", "metadata": {"name": "app"}}
            spec = {"connection": "files", "resource": {"path": "app.yaml", "content": content}}
            manifests.append({**head, "spec": spec})
        kind: dict[str, Any] = {
            "read": {"path": "/things/{id}"},
            "create": {"method": "POST", "path": "/things", "id": "/id"},
            "update": {"method": "PATCH" if body == "merge" else "PUT", "path": "/things/{id}", "body": body},
            "delete": {"path": "/things/{id}"},
            "profile": {"rules": [{"path": "/id", "class": "identity"}, {"path": "/vault/**", "class": "secret"}]},
        }
        if chance.random() < 0.7:
            kind["list"] = {"path": "/things", "items": "/items", "id": "/id"}
        if chance.random() < 0.5:
            kind["error"] = "/error/message"
        if chance.random() < 0.5:
            kind |= {"etag": "header", "conditional": False}
        secrets = {"token": {"env": "TOKEN"}}
        secrets |= {key.lower(): {"env": key} for key in self.environ if key.startswith("SECRET_")}
        project = {
            "connections": {
                "api": {
                    "provider": "http",
                    "base_url": self.service.url,
                    "timeout_seconds": 20,
                    "auth": {"type": "bearer"},
                    "secrets": secrets,
                    "kinds": {"Thing": kind},
                },
                "files": {"provider": "file", "root": "live", "secrets": secrets},
            },
            "notify": [
                {"file": "events.jsonl"},
                {"webhook": f"{self.service.url}/hook", "secret": {"env": "HOOK"}},
            ],
            "corrections": {"massDrift": {"share": "100%", "atLeast": 1000}},
        }
        (self.folder / "holdfast.yaml").write_text(yaml.safe_dump(project))
        self.manifest.write_text(yaml.safe_dump_all(manifests, allow_unicode=True))

    @property
    def manifest(self) -> Path:
        return self.folder / "infra" / "all.yaml"

    # -- what strangers do

    def rotated(self) -> str:
        found = made(self.chance, "a secret that somebody put in its place")
        self.live.append(found)
        return found.value

    def _fresh(self, value: Any) -> Any:
        """Return a value with other secrets in the places of the known ones."""
        if isinstance(value, dict):
            return {key: self._fresh(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._fresh(item) for item in value]
        return self.rotated() if isinstance(value, str) and self._is_secret(value) else value

    def _is_secret(self, value: Any) -> bool:
        return value in self.known or any(value == item.value for item in self.live)

    def _holds_secret(self, value: Any) -> bool:
        if isinstance(value, dict):
            return any(map(self._holds_secret, value.values()))
        return any(map(self._holds_secret, value)) if isinstance(value, list) else self._is_secret(value)

    def _lists(self, value: Any) -> Iterator[list[Any]]:
        if isinstance(value, list):
            if self._holds_secret(value):
                yield value
            for item in value:
                yield from self._lists(item)
        elif isinstance(value, dict):
            for item in value.values():
                yield from self._lists(item)

    def shift(self, document: dict[str, Any]) -> str:
        """Let a list with secrets in it grow, shrink or change its order."""
        lists = list(self._lists({key: item for key, item in document.items() if key != SAID}))
        if not lists:
            return self.rotate(document)
        chosen = self.chance.choice(lists)
        how = self.chance.choice(("prepends", "inserts", "appends", "removes", "reorders", "replaces"))
        source = copy.deepcopy(self.chance.choice([item for item in chosen if self._holds_secret(item)]))
        element = self._fresh(source)
        if isinstance(element, dict) and self.chance.random() < 0.7:
            element |= {key: f"m{self.chance.randrange(99)}" for key in ("name", "key", "id") if key in element}
        match how:
            case "prepends":
                chosen.insert(0, element)
            case "inserts":
                chosen.insert(self.chance.randint(0, len(chosen)), element)
            case "appends":
                chosen.append(element)
            case "removes":
                del chosen[self.chance.randrange(len(chosen))]
            case "reorders":
                self.chance.shuffle(chosen)
            case _:
                chosen[self.chance.randrange(len(chosen))] = element
        return f"somebody {how} an element"

    def rotate(self, document: dict[str, Any]) -> str:
        """Put another secret in the place of one."""
        document |= {
            key: self._fresh(item) for key, item in document.items() if key != SAID and self._holds_secret(item)
        }
        return "somebody rotates secrets"

    def echo(self, document: dict[str, Any]) -> str:
        """Let the service repeat a secret that Holdfast was given, or that it shows where it belongs."""
        shown = {key: item for key, item in document.items() if key != SAID}
        inside = [element.value for element in self.live if _mentions(shown, element.value)]
        value = self.chance.choice(self.known + inside)
        said = document.setdefault(SAID, {})
        spelt = self.chance.choice(("plain", "text", "key", "url", "base64", "json", "deep"))
        match spelt:
            case "plain":
                said["echo"] = value
            case "text":
                said["note"] = f"login with {value}, please"
            case "key":
                said["seen"] = {f"by {value}": 1}
            case "url":
                said["link"] = f"https://example.org/?t={quote(value, safe='')}&x=1"
            case "base64":
                said["header"] = "Basic " + base64.b64encode(value.encode()).decode()
            case "json":
                said["raw"] = json.dumps({"password": value})
            case _:
                said["deep"] = {"a": [{"b": [value]}, "x"]}
        return f"the service repeats a secret ({spelt})"

    def mislead(self, state: State) -> str:
        """Let errors, headers and garbage repeat a secret that Holdfast was given."""
        value = self.chance.choice(self.known)
        how = self.chance.choice(("error", "error", "etag", "header", "garbage", "hook"))
        match how:
            case "error":
                status = self.chance.choice((400, 401, 403, 409, 422, 500))
                methods = self.chance.choice((frozenset({"GET"}), frozenset({"PUT", "PATCH", "POST", "DELETE"})))
                state.error, state.error_on = (status, f"bad value {value!r} for token {value}"), methods
            case "etag":
                state.etag = value
            case "header":
                state.header = value
            case "garbage":
                state.garbage = f'{{"broken": "{value}'
            case _:
                state.hook_fails = True
        return f"the service misbehaves ({how})"

    # -- what people type

    def command(self, names: list[str]) -> list[str]:
        chance = self.chance
        address = f"api/Thing/{chance.choice(names)}"
        given = ["-f", "infra"]
        files = [word for name in FORMATS for word in ("--output-file", f"{name}=out.{name}")]
        return chance.choice(
            (
                ["check", *given, *files],
                ["check", *given, *files],
                ["check", *given, "-o", "json"],
                ["check", *given],
                ["plan", *given],
                ["check", *given, "-o", chance.choice(FORMATS)],
                ["plan", *given, "-o", chance.choice(FORMATS)],
                ["plan", *given, *files],
                ["plan", *given, "--out", "plan.json"],
                ["apply", "-y", *given],
                ["watch", "--rounds", "0", *given],
                ["explain", address, *given],
                ["explain", address, *given, "-o", "json"],
                ["accept", address, *given, "--dry-run"],
                ["accept", address, *given],
                ["baseline", address, *given, "--why", "ok"],
                ["revert", address, *given],
                ["status", "-o", chance.choice(("table", "json"))],
                ["history", "-o", chance.choice(("table", "json"))],
                ["events", "-o", chance.choice(("table", "json", "jsonl"))],
                ["corrections", "-o", chance.choice(("table", "json"))],
                ["discover", *given, "-o", chance.choice(("table", "json"))],
                ["discover", "--write", "found"],
                ["doctor", *given],
                ["write-stats"],
                ["contention"],
                ["audit", "verify"],
                ["metrics"],
                ["upgrade-check", *given],
                ["delete", "-y", *given],
            )
        )

    def run(self, arguments: list[str]) -> None:
        """Run a command, and keep all that it says."""
        if self.chance.random() < 0.3:
            os.environ["HOLDFAST_DEBUG"] = "1"
        else:
            os.environ.pop("HOLDFAST_DEBUG", None)
        code, out, err = commands.run(arguments)
        self.pile.add(f"what `{arguments[0]}` prints", out)
        self.pile.add(f"the errors of `{arguments[0]}`", err)
        self.codes.append((arguments[0], code))
        self.story.append(f"holdfast {' '.join(arguments)}  -> {code}")


def _mentions(value: Any, text: str) -> bool:
    if isinstance(value, dict):
        return any(_mentions(item, text) for item in value.values())
    return any(_mentions(item, text) for item in value) if isinstance(value, list) else value == text


def _disturb(history: History, names: list[str]) -> None:
    state = history.service.state
    present = [name for name in names if name in state.things]
    deeds = history.chance.choices(
        ("shift", "rotate", "echo", "mislead", "calm", "plain"),
        weights=(5, 2, 4, 3, 2, 1),
        k=history.chance.randint(1, 3),
    )
    for deed in deeds:
        if deed == "calm":
            state.error, state.etag, state.header, state.garbage, state.hook_fails = None, "", "", "", False
            history.story.append("the service behaves again")
        elif deed == "mislead":
            history.story.append(history.mislead(state))
        elif present:
            document = state.things[history.chance.choice(present)]
            if deed == "plain":
                document["plain"] = "moved"
                history.story.append("somebody edits a plain field")
            else:
                history.story.append(getattr(history, deed)(document))


def _forget(history: History) -> None:
    """Let the service repeat nothing that it does not hold any more: nobody could know that it was a secret."""
    for document in history.service.state.things.values():
        _forget_gone(history, document)


def _forget_gone(history: History, document: dict[str, Any]) -> None:
    shown = {key: item for key, item in document.items() if key != SAID}
    gone = [element.value for element in history.live if not _mentions(shown, element.value)]
    forms = [form for value in gone for form in spellings(value)]
    said = document.get(SAID, {})
    for key in [key for key, item in said.items() if any(form in json.dumps(item).encode() for form in forms)]:
        del said[key]


def _live_files(history: History) -> None:
    """Let somebody edit the file, too."""
    file = history.folder / "live" / "app.yaml"
    if not file.exists():
        return
    document = yaml.safe_load(file.read_text())
    before = copy.deepcopy(document)
    if history.chance.random() < 0.7:
        deed = history.chance.choice(("shift", "rotate", "echo"))
        history.story.append(f"in a file: {getattr(history, deed)(document)}")
    _forget_gone(history, document)
    if document != before:
        file.write_text(yaml.safe_dump(document, allow_unicode=True))


@contextlib.contextmanager
def _surroundings(history: History) -> Iterator[None]:
    """Give the process the environment, the folder and the log of a history."""
    before, folder = dict(os.environ), Path.cwd()
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    os.environ.update({**history.environ, "NO_COLOR": "1"})
    os.chdir(history.folder)
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
        root.removeHandler(handler)
        root.setLevel(level)
        history.pile.add("the log", log.getvalue())


def lived(seed: int, service: Service) -> tuple[History, list[str]]:
    """Live through one history; return it with the leaks that were found."""
    folder = Path(tempfile.mkdtemp(prefix="secrecy-"))
    try:
        for name in ("infra", "secrets", "live"):
            (folder / name).mkdir()
        history = History(seed, folder, service, random.Random(seed))
        service.state = State()
        names = [f"t{place}" for place in range(history.chance.randint(1, 2))]
        history.write_project(names)
        in_clear = history.manifest.read_bytes()
        with _surroundings(history):
            history.run(["apply", "-y", "-f", "infra"])
            assert history.codes == [("apply", 0)], "a history that does not begin proves nothing"
            for _ in range(history.chance.randint(2, 4)):
                _disturb(history, names)
                _live_files(history)
                _forget(history)
                history.run(history.command(names))
        for data in service.state.hooked:
            history.pile.add("what the webhook was sent", data)
        history.pile.add_files(folder, frozenset({folder / "secrets", folder / "live", folder / "infra"}))
        return history, [*history.pile.found([*history.needles, *history.live]), *_in_manifest(history, in_clear)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_manifest(history: History, before: bytes) -> list[str]:
    """Return what commands wrote into the manifests; what stood there in clear before is no news."""
    pile = Haystack()
    pile.add("a manifest", history.manifest.read_bytes())
    sought = [needle for needle in (*history.needles, *history.live) if needle.value.encode() not in before]
    return pile.found([item for item in sought if not item.sort.startswith("a value at a path")])
