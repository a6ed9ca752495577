"""Probes as people write them: `{http: URL}`, `{tcp: "host:port"}`, `{command: [program, argument]}`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.errors import InputError
from holdfast.manifests.correction_spec import items
from holdfast.manifests.notify_spec import url_trouble
from holdfast.manifests.validation import Sheet, named
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import durations
from holdfast.remediation.core.rules import CommandProbe, HttpProbe, ProbeSpec, TcpProbe

_KINDS: Final = ("http", "tcp", "command")
_SECONDS: Final = {"http": 5.0, "tcp": 5.0, "command": 30.0}


def read(sheet: Sheet, value: Json, pointer: Pointer, folder: Path) -> tuple[ProbeSpec, ...]:
    """Return the probes, noting everything that is wrong with them."""
    found = [_probe(sheet, item, place, folder) for place, item in items(sheet, value, pointer)]
    probes = [probe for probe in found if probe is not None]
    twice = {probe.name for probe in probes if sum(each.name == probe.name for each in probes) > 1}
    if twice:
        sheet.fail(f"two probes are called {min(twice)}; give one of them a name: ...", pointer)
    return tuple(probes)


def _probe(sheet: Sheet, value: Json, pointer: Pointer, folder: Path) -> ProbeSpec | None:
    before = len(sheet.errors)
    body = sheet.mapping(value, pointer, (*_KINDS, "name", "status", "timeout"))
    given = [kind for kind in _KINDS if kind in body]
    if len(given) != 1:
        if len(sheet.errors) == before:
            sheet.fail("a probe is one of http: URL, tcp: host:port and command: [program, argument]", pointer)
        return None
    (kind,) = given
    timeout = _timeout(sheet, body, pointer, _SECONDS[kind])
    name = sheet.text(body, "name", pointer) or kind
    if "status" in body and kind != "http":
        sheet.fail("only an http probe has a status", (*pointer, "status"))
    match kind:
        case "http":
            return _http(sheet, body, pointer, name, timeout)
        case "tcp":
            return _tcp(sheet, body, pointer, name, timeout)
        case _:
            return _command(sheet, body, pointer, CommandProbe(name, (), str(folder), timeout))


def _timeout(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer, default: float) -> float:
    try:
        return durations.parse(body["timeout"]) or default if "timeout" in body else default
    except InputError as error:
        sheet.note(error, (*pointer, "timeout"))
        return default


def _http(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer, name: str, timeout: float) -> HttpProbe | None:
    url, status = body["http"], body.get("status", 200)
    trouble = url_trouble(url) if isinstance(url, str) else f"needs a URL, not {named(url)}"
    if trouble:
        sheet.fail(f"http {trouble}", (*pointer, "http"))
        return None
    if type(status) is not int or not 100 <= status <= 599:
        sheet.fail("status is a number such as 200", (*pointer, "status"))
        return None
    return HttpProbe(name, url, status, timeout)


def _tcp(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer, name: str, timeout: float) -> TcpProbe | None:
    text = body["tcp"]
    host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        sheet.fail('tcp needs a host and a port, such as "db:5432"', (*pointer, "tcp"))
        return None
    return TcpProbe(name, host.strip("[]"), int(port), timeout)


def _command(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer, probe: CommandProbe) -> CommandProbe | None:
    words = body["command"]
    if not isinstance(words, list) or not words or not all(isinstance(w, str) and w and "\0" not in w for w in words):
        sheet.fail("command needs a list of words: [program, argument, ...]; there is no shell", (*pointer, "command"))
        return None
    return CommandProbe(probe.name, tuple(words), probe.folder, probe.timeout)
