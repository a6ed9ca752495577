"""Notification sinks and their topics: the section `notify` of the project file.

    notify:
      - {file: events.jsonl}
      - {command: [./page, --quiet], on: [drifted, missing]}
      - {webhook: https://hooks.example.org/drift, secret: {env: HOOK_SECRET}, group: 1, remind: 24h}

Each entry is one sink with one target. `on` lists its topics. `group` is the number of events of a kind from which on
they are sent as one. `remind` is the time after which an open event is sent again. The address of a webhook is often a
secret itself, so it may be a reference, and no message shows it.
"""

from __future__ import annotations

import hashlib
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from holdfast.errors import InputError, Location
from holdfast.manifests.secrets import (
    COMMAND,
    SECRET,
    FromCommand,
    FromConnection,
    FromEnvironment,
    FromFile,
    Reference,
)
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import durations
from holdfast.schema import fields
from holdfast.schema.document import DocumentPath
from holdfast.schema.fields import FieldType

GROUP_FROM: Final = 10  # a person reads ten messages, not a hundred
NEVER: Final = 2**31  # a file has room for all of them

_TARGETS = ("file", "command", "webhook")


class Topic(StrEnum):
    """The topics of a sink. The end of an event is sent to the sinks that received its beginning."""

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
class SinkSpec:
    """One place to send events to."""

    name: str  # what it is called in messages and in the audit trail; never a whole URL
    target: Target
    on: frozenset[Topic] = frozenset(Topic)
    group: int = GROUP_FROM
    remind: float = 0.0  # seconds; 0: tell once
    location: Location = field(default_factory=Location, compare=False)


def url(text: str) -> str:
    """Return a URL; raise InputError if it is none, or shows a password."""
    problem = url_trouble(text)
    if problem:
        raise InputError(f"the address {problem}")
    return text


def _address(value: Json, at: DocumentPath) -> str | Reference | fields.Invalid:
    return SECRET.read(value, at) if isinstance(value, dict) else URL.read(value, at)


def _sink(given: dict[str, Any], at: DocumentPath) -> SinkSpec | fields.Invalid:
    targets = [name for name in _TARGETS if name in given]
    if len(targets) != 1:
        raise InputError("expected one target: file, command or webhook")
    if "secret" in given and targets != ["webhook"]:
        at.fail("only a webhook has a secret to sign with", "secret")
    target: Target
    match targets[0]:
        case "file":
            target = ToFile(Path(at.folder, Path(given["file"]).expanduser()).absolute())
        case "command":
            target = ToCommand(given["command"], Path(at.folder))
        case _:
            target = ToWebhook(given["webhook"], given.get("secret"))
    group = given.get("group", NEVER if isinstance(target, ToFile) else GROUP_FROM)
    on = frozenset(given.get("on", Topic))
    return SinkSpec(given.get("name") or _name(target), target, on, group, given.get("remind", 0.0), at.location)


def _distinct(sinks: tuple[SinkSpec, ...], at: DocumentPath) -> tuple[SinkSpec, ...]:
    names: set[str] = set()
    for index, sink in enumerate(sinks):
        if sink.name in names:
            at.fail(f"two sinks are called {fields.shown(sink.name)}; give this one another name: ...", index)
        names.add(sink.name)
    return sinks


URL: Final = fields.STRING.then(url)
ADDRESS: Final[FieldType[str | Reference]] = FieldType(
    _address, lambda: {"anyOf": [URL.json_schema, SECRET.json_schema]}
)
_SINK: Final = fields.plain(
    {
        "file": fields.STRING,
        "command": COMMAND,
        "webhook": ADDRESS,
        "name": fields.STRING,
        "on": fields.one_or_many(fields.choice(Topic)),
        "group": fields.COUNT,
        "remind": durations.DURATION,
        "secret": SECRET,
    },
)
SECTION: Final = fields.list_of(_SINK.then_at(_sink)).then_at(_distinct)


def url_trouble(text: str, *, in_clear: bool = True) -> str:
    """Return the reason why a text cannot be the address of a webhook, without repeating it, or an empty string.

    A text that is `in_clear` in a file must not hold a password.
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
    """Return the default name of a sink: recognisable, the same in every run, and without a secret."""
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
