"""Whom to tell, and of what: the section `notify` of the project file.

    notify:
      - {file: events.jsonl}
      - {command: [./page, --quiet], on: [drifted, missing]}
      - {webhook: https://hooks.example.org/drift, secret: {env: HOOK_SECRET}, group: 1, remind: 24h}

Each entry is one sink with one target. `on` says what it wants to hear of, `group` from how many events of a kind on
they are sent as one, `remind` after how long it hears again of what is still so. The address of a webhook is often a
secret itself, so it may be a reference, and no message shows it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from holdfast.errors import InputError, Location
from holdfast.manifests.secrets import IN_PROJECT, FromCommand, FromConnection, FromEnvironment, FromFile, Reference
from holdfast.manifests.secrets import parse_reference as parse_secret
from holdfast.manifests.validation import Sheet, named, shown
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import did_you_mean, durations

SECTION: Final = "notify"
GROUP_FROM: Final = 10  # a person reads ten messages, not a hundred
NEVER: Final = 2**31  # a file has room for all of them

_TARGETS = ("file", "command", "webhook")
_FIELDS = (*_TARGETS, "name", "on", "group", "remind", "secret")


class Topic(StrEnum):
    """What a sink can hear of; the end of something is told to whoever was told of its beginning."""

    DRIFTED = "drifted"
    CONFLICTED = "conflicted"
    MISSING = "missing"
    UNKNOWN = "unknown"
    CORRECTED = "corrected"
    HELD = "held"
    CONTENTION = "contention"
    MASS_DRIFT = "massDrift"
    WAIVER = "waiver"


@dataclass(frozen=True, slots=True)
class ToFile:
    """Append a line of JSON an event."""

    path: Path


@dataclass(frozen=True, slots=True)
class ToCommand:
    """Run a program with the event on its standard input, in the folder of the project file."""

    words: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, slots=True)
class ToWebhook:
    """POST the event, signed if there is a secret."""

    url: str | Reference = field(repr=False)
    secret: Reference | None = None


Target = ToFile | ToCommand | ToWebhook


@dataclass(frozen=True, slots=True)
class Sink:
    """One place to send events to."""

    name: str  # what it is called in messages and in the audit trail; never a whole URL
    target: Target
    on: frozenset[Topic] = frozenset(Topic)
    group: int = GROUP_FROM
    remind: float = 0.0  # seconds; 0: tell once
    location: Location = field(default_factory=Location, compare=False)


def read(sheet: Sheet, value: Json, folder: Path) -> tuple[Sink, ...]:
    """Return the sinks, noting everything that is wrong with them."""
    if value is None:
        return ()
    if not isinstance(value, list):
        sheet.fail(f"{SECTION} needs a list, such as - {{file: events.jsonl}}; this is {named(value)}", (SECTION,))
        return ()
    found = [_Entry(sheet, item, (SECTION, index), folder).sink() for index, item in enumerate(value)]
    out: dict[str, Sink] = {}
    for index, sink in enumerate(found):
        if sink is not None and sink.name in out:
            message = f"two sinks are called {shown(sink.name)}; give this one another name: ..."
            sheet.fail(message, (SECTION, index))
        elif sink is not None:
            out[sink.name] = sink
    return tuple(out.values())


class _Entry:
    """One entry of the list."""

    def __init__(self, sheet: Sheet, value: Json, pointer: Pointer, folder: Path) -> None:
        self._sheet = sheet
        self._pointer = pointer
        self._folder = folder
        self._before = len(sheet.errors)
        self._body: Mapping[str, Json] = sheet.mapping(value, pointer, _FIELDS)

    def sink(self) -> Sink | None:
        target = self._target()
        name = self._sheet.text(self._body, "name", self._pointer)
        if not isinstance(target, ToWebhook) and "secret" in self._body:
            self._fail("only a webhook has a secret to sign with", "secret")
        on, group, remind = self._on(), self._group(target), self._remind()
        if target is None or len(self._sheet.errors) > self._before:
            return None
        return Sink(name or _name(target), target, on, group, remind, self._sheet.written.location(self._pointer))

    def _fail(self, message: str, *below: str | int) -> None:
        self._sheet.fail(message, (*self._pointer, *below))

    def _target(self) -> Target | None:
        given = [key for key in _TARGETS if key in self._body]
        if len(given) != 1:
            if len(self._sheet.errors) == self._before:  # a misspelt one has been noted already
                self._fail(f"name one target: {', '.join(_TARGETS[:-1])} or {_TARGETS[-1]}")
            return None
        match given[0]:
            case "file":
                path = self._sheet.text(self._body, "file", self._pointer)
                return ToFile((self._folder / Path(path).expanduser()).absolute()) if path else None
            case "command":
                return self._command(self._body["command"])
            case _:
                return self._webhook(self._body["webhook"])

    def _command(self, value: Json) -> ToCommand | None:
        if isinstance(value, list) and value and all(_is_word(word) for word in value):
            return ToCommand(tuple(value), self._folder)
        self._fail("command needs a list of words: [program, argument, ...]; there is no shell", "command")
        return None

    def _webhook(self, value: Json) -> ToWebhook | None:
        secret = self._reference(self._body["secret"], "secret") if "secret" in self._body else None
        if isinstance(value, dict):
            reference = self._reference(value, "webhook")
            return ToWebhook(reference, secret) if reference is not None else None
        trouble = url_trouble(value) if isinstance(value, str) else f"needs a URL, not {named(value)}"
        if trouble:
            self._fail(f"webhook {trouble}", "webhook")
            return None
        return ToWebhook(value, secret)

    def _reference(self, value: Json, key: str) -> Reference | None:
        try:
            return parse_secret(value, IN_PROJECT, str(self._folder))
        except InputError as error:
            self._sheet.note(error, (*self._pointer, key))
            return None

    def _on(self) -> frozenset[Topic]:
        value = self._body.get("on")
        if value is None:
            return frozenset(Topic)
        topics = value if isinstance(value, list) else [value]
        known = [topic.value for topic in Topic]
        out = set()
        for index, topic in enumerate(topics):
            if isinstance(topic, str) and topic in known:
                out.add(Topic(topic))
                continue
            what = shown(topic) if isinstance(topic, str) else named(topic)
            guess = did_you_mean.hint(topic, known) if isinstance(topic, str) else ""
            place = ("on", index) if isinstance(value, list) else ("on",)
            self._fail(f"on takes {', '.join(known)}, not {what}{guess}", *place)
        if not topics:
            self._fail("on is empty, so nothing would be told; leave it out to hear of everything", "on")
        return frozenset(out)

    def _group(self, target: Target | None) -> int:
        value = self._body.get("group")
        if value is None:
            return NEVER if isinstance(target, ToFile) else GROUP_FROM
        if type(value) is not int or value < 1:
            self._fail(
                "group must be a whole number from 1 up: more events of a kind than that are sent as one", "group"
            )
            return GROUP_FROM
        return value

    def _remind(self) -> float:
        try:
            return durations.parse(self._body["remind"]) if "remind" in self._body else 0.0
        except InputError as error:
            self._sheet.note(error, (*self._pointer, "remind"))
            return 0.0


def _is_word(value: Json) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def url_trouble(text: str, *, in_clear: bool = True) -> str:
    """Say why a text cannot be the address of a webhook, without repeating it, or nothing.

    What stands `in_clear` in a file must not hold a password.
    """
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is not a URL; write https://host/path"
    if parts.scheme not in ("http", "https") or not host:
        return "is not a URL; write https://host/path"
    if in_clear and (parts.username is not None or parts.password is not None):
        return "has a user or password in clear; write {env: NAME} and keep the whole address there"
    return ""


def _name(target: Target) -> str:
    """Name a sink nobody named: recognisable, the same in every run, and without a secret."""
    match target:
        case ToFile(path):
            return f"file {path.name}"
        case ToCommand(words):
            return f"command {Path(words[0]).name}"
        case ToWebhook(url):
            return f"webhook {url_name(url) if isinstance(url, str) else _place(url)}"


def url_name(url: str) -> str:
    """Name an address by its host, and by a digest that tells two paths of one host apart."""
    return f"{urlsplit(url).hostname} ({hashlib.sha256(url.encode()).hexdigest()[:6]})"


def _place(reference: Reference) -> str:
    match reference:
        case FromEnvironment(name):
            return f"env {name}"
        case FromFile(path):
            return f"file {path}"
        case FromCommand(words):
            return f"command {words[0]}"
        case FromConnection(key):
            return f"connection secret {key}"
