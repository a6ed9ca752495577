"""How remediations are assessed: the section `assessment` of the project file.

    assessment:
      prometheus: {url: http://127.0.0.1:9090, token: {env: PROMETHEUS_TOKEN}, lookback: 30m, compared: 5m}
      alertmanager: {url: http://127.0.0.1:9093}
      windows: {stabilisation: 5m, validity: 30m, propagation: 0, alertDelay: 0, interval: 1m, retry: 5s}
      patience: 1h                             # for the end of a remediation that somebody announced
      refuse: {sameState: 3, chained: 2, chainedWithin: 1h, total: 5, within: 4h}
      targets:
        - target: shop/Service/*               # a glob, as --target takes it; the first that says something is heard
          windows: {stabilisation: 30s}
          alert: {name: HighMemory, labels: {service: $name}}
          queries:                             # or {workload: {namespace: shop}}, {node: $name}, {volume: $name}
            - {name: memory, query: 'sum(memory_bytes{service="$name"})', better: lower}
          probes: [{http: "http://$name.shop.svc/healthz"}, {tcp: "db:5432"}, {command: [./well, $name]}]

With the section, corrections are assessed unless the option `assess` says otherwise. The address of a server may be a
reference to a secret, and no message shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from holdfast.errors import InputError
from holdfast.manifests import probe_spec
from holdfast.manifests.correction_spec import items
from holdfast.manifests.notify_spec import url_trouble
from holdfast.manifests.secrets import IN_PROJECT, Reference, Resolver, parse_reference
from holdfast.manifests.validation import Sheet, named
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import durations, selectors, source_location
from holdfast.policy.settings import Assess, Given, Layer, Level
from holdfast.remediation.core import metrics
from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.metrics import Query
from holdfast.remediation.core.past_attempts import AttemptLimits
from holdfast.remediation.core.rules import AssessmentRules, TargetRule
from holdfast.remediation.core.timing import Windows

SECTION: Final = "assessment"

_TOP = ("prometheus", "alertmanager", "windows", "patience", "refuse", "targets")
_SERVER = ("url", "token", "timeout")
_RANGES = ("lookback", "compared", "step")
_WINDOWS = {
    "stabilisation": "stabilisation",
    "validity": "validity",
    "propagation": "hash_delay",
    "alertDelay": "alert_delay",
    "interval": "interval",
    "retry": "error_interval",
}
_REFUSE = ("sameState", "chained", "chainedWithin", "total", "within")
_TARGET = ("target", "windows", "alert", "queries", "probes")
_PRESETS = ("workload", "node", "volume")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A server as declared: what is secret is still a reference."""

    url: str | Reference = field(repr=False)
    token: Reference | None = None
    timeout: float = 10.0

    def fetched(self, resolver: Resolver) -> tuple[str, str | None]:
        """Return the address and the token in clear."""
        url = self.url if isinstance(self.url, str) else str(resolver.fetch(self.url).reveal())
        return url, None if self.token is None else str(resolver.fetch(self.token).reveal())


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the section says, or what holds without one."""

    rules: AssessmentRules = field(default_factory=AssessmentRules)
    prometheus: ServerSpec | None = None
    alertmanager: ServerSpec | None = None


def read(sheet: Sheet, value: Json, folder: Path) -> Assessment:
    """Return the section, noting everything that is wrong with it."""
    return _Reader(sheet, folder).section(value)


def with_default(sheet: Sheet, top: Mapping[str, Json], defaults: Layer) -> Layer:
    """Return the project's defaults: whoever writes the section wants corrections assessed, unless they say not."""
    if SECTION not in top or "assess" in defaults:
        return defaults
    where = source_location.text(sheet.written.location((SECTION,)))
    return {**defaults, "assess": Given(Assess.CORRECTIONS, Level.PROJECT, where)}


class _Reader:
    """Turns the section into rules."""

    def __init__(self, sheet: Sheet, folder: Path) -> None:
        self._sheet = sheet
        self._folder = folder

    def section(self, value: Json) -> Assessment:
        top = self._sheet.mapping(value, (SECTION,), _TOP)
        prometheus = self._server(top, "prometheus", _RANGES)
        alertmanager = self._server(top, "alertmanager")
        ranges = self._sheet.mapping(top.get("prometheus"), ()) if isinstance(top.get("prometheus"), dict) else {}
        default = AssessmentRules()
        windows = self._windows(top.get("windows"), (SECTION, "windows"), Windows())
        place = (SECTION, "prometheus")
        return Assessment(
            AssessmentRules(
                windows,
                self._targets(top.get("targets"), windows),
                self._length(ranges, place, "lookback", default.lookback),
                self._length(ranges, place, "compared", default.compared),
                self._length(ranges, place, "step", 0.0) or None,
                self._length(top, (SECTION,), "patience", default.patience),
                self._refuse(top.get("refuse")),
                has_prometheus=prometheus is not None,
                has_alertmanager=alertmanager is not None,
            ),
            prometheus,
            alertmanager,
        )

    # -- servers

    def _server(self, top: Mapping[str, Json], name: str, more: tuple[str, ...] = ()) -> ServerSpec | None:
        if top.get(name) is None:
            return None
        pointer = (SECTION, name)
        body = self._sheet.mapping(top[name], pointer, (*_SERVER, *more))
        url = body.get("url")
        if url is None:
            if isinstance(top[name], dict):
                self._sheet.missing("url", pointer, "write url: http://host:9090, or url: {env: NAME}")
            return None
        token = self._reference(body["token"], (*pointer, "token")) if "token" in body else None
        timeout = self._length(body, pointer, "timeout", 10.0)
        if isinstance(url, dict):
            reference = self._reference(url, (*pointer, "url"))
            return None if reference is None else ServerSpec(reference, token, timeout)
        trouble = url_trouble(url) if isinstance(url, str) else f"needs a URL, not {named(url)}"
        if trouble:
            self._sheet.fail(f"url {trouble}", (*pointer, "url"))
            return None
        return ServerSpec(url, token, timeout)

    def _reference(self, value: Json, pointer: Pointer) -> Reference | None:
        try:
            return parse_reference(value, IN_PROJECT, str(self._folder))
        except InputError as error:
            self._sheet.note(error, pointer)
            return None

    # -- lengths and counts

    def _parsed(
        self, body: Mapping[str, Json], pointer: Pointer, key: str, parse: Callable[[Json], _Value]
    ) -> _Value | None:
        if key not in body:
            return None
        try:
            return parse(body[key])
        except InputError as error:
            self._sheet.note(error, (*pointer, key))
            return None

    def _length(self, body: Mapping[str, Json], pointer: Pointer, key: str, default: float) -> float:
        found = self._parsed(body, pointer, key, durations.parse)
        return default if found is None else found

    def _windows(self, value: Json, pointer: Pointer, default: Windows) -> Windows:
        body = self._sheet.mapping(value, pointer, tuple(_WINDOWS))
        lengths = {name: self._length(body, pointer, key, getattr(default, name)) for key, name in _WINDOWS.items()}
        try:
            return Windows(**lengths)
        except InputError as error:
            self._sheet.note(error, pointer)
            return default

    def _refuse(self, value: Json) -> AttemptLimits | None:
        if value is None:
            return None
        pointer = (SECTION, "refuse")
        body = self._sheet.mapping(value, pointer, _REFUSE)
        default = AttemptLimits()
        return AttemptLimits(
            self._count(body, pointer, "sameState", default.same_state),
            self._count(body, pointer, "chained", default.chained),
            self._length(body, pointer, "chainedWithin", default.chained_within),
            self._count(body, pointer, "total", default.total),
            self._length(body, pointer, "within", default.within),
        )

    def _count(self, body: Mapping[str, Json], pointer: Pointer, key: str, default: int) -> int:
        count = body.get(key, default)
        if type(count) is int and count >= 1:
            return count
        self._sheet.fail(f"{key} must be a whole number from 1 up", (*pointer, key))
        return default

    # -- targets

    def _targets(self, value: Json, windows: Windows) -> tuple[TargetRule, ...]:
        listed = items(self._sheet, value, (SECTION, "targets"))
        found = (self._target(item, pointer, windows) for pointer, item in listed)
        return tuple(rule for rule in found if rule is not None)

    def _target(self, value: Json, pointer: Pointer, windows: Windows) -> TargetRule | None:
        body = self._sheet.mapping(value, pointer, _TARGET)
        glob = self._sheet.text(body, "target", pointer, "write which, such as shop/Service/*")
        try:
            (chosen,) = selectors.parse_targets([glob]).included if glob else (None,)
        except (InputError, ValueError) as error:
            message = error.message if isinstance(error, InputError) else "a target here leaves nothing out; drop the !"
            self._sheet.fail(message, (*pointer, "target"))
            chosen = None
        rule = TargetRule(
            chosen or selectors.Target("", ()),
            self._windows(body["windows"], (*pointer, "windows"), windows) if "windows" in body else None,
            self._alert(body["alert"], (*pointer, "alert")) if "alert" in body else None,
            self._queries(body["queries"], (*pointer, "queries")) if "queries" in body else None,
            probe_spec.read(self._sheet, body["probes"], (*pointer, "probes"), self._folder)
            if "probes" in body
            else None,
        )
        return rule if chosen is not None else None

    def _alert(self, value: Json, pointer: Pointer) -> Signal:
        if isinstance(value, str) and value:
            return Signal(value)
        body = self._sheet.mapping(value, pointer, ("name", "labels"))
        name = self._sheet.text(body, "name", pointer, "write the alert's name, such as HighMemory")
        return Signal(name or "", self._labels(body.get("labels"), (*pointer, "labels")))

    def _labels(self, value: Json, pointer: Pointer) -> dict[str, str]:
        found = self._sheet.texts(value, pointer)
        try:
            metrics.matchers(found)
        except InputError as error:
            self._sheet.note(error, pointer)
        return found

    def _queries(self, value: Json, pointer: Pointer) -> tuple[Query, ...]:
        if isinstance(value, dict):
            return self._preset(value, pointer)
        listed = items(self._sheet, value, pointer)
        return tuple(query for place, item in listed if (query := self._query(item, place)) is not None)

    def _preset(self, value: Mapping[str, Json], pointer: Pointer) -> tuple[Query, ...]:
        body = self._sheet.mapping(value, pointer, _PRESETS)
        if len(body) != 1:
            self._sheet.fail("write a list of queries, or one of workload, node and volume", pointer)
            return ()
        if "workload" in body:
            return metrics.for_workload(self._labels(body["workload"], (*pointer, "workload")))
        ((kind, _),) = body.items()
        name = self._sheet.text(body, kind, pointer) or ""
        return metrics.for_node(name) if kind == "node" else metrics.for_volume(name)

    def _query(self, value: Json, pointer: Pointer) -> Query | None:
        body = self._sheet.mapping(value, pointer, ("name", "query", "better"))
        name = self._sheet.text(body, "name", pointer, "write what the metric is called, such as memory")
        expression = self._sheet.text(body, "query", pointer, "write PromQL that gives one series, such as sum(...)")
        better = body.get("better", "lower")
        if better not in ("lower", "higher"):
            self._sheet.fail("better is lower or higher", (*pointer, "better"))
        return Query(name, expression, better != "higher") if name and expression else None
