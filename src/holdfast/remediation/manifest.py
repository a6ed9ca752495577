"""The schema of the section `assessment` of the project file: how remediations are assessed.

    assessment:
      prometheus: {url: http://127.0.0.1:9090, token: {env: PROMETHEUS_TOKEN}, lookback: 30m, compared: 5m}
      alertmanager: {url: http://127.0.0.1:9093}
      windows: {stabilisation: 5m, validity: 30m, propagation: 0, alertDelay: 0, interval: 1m, retry: 5s}
      patience: 1h                             # for the end of a remediation that another program announced
      refuse: {sameState: 3, chained: 2, chainedWithin: 1h, total: 5, within: 4h}
      targets:
        - target: shop/Service/*               # a glob, as in --target; the first target with a value decides
          windows: {stabilisation: 30s}
          alert: {name: HighMemory, labels: {service: $name}}
          queries:                             # or {workload: {namespace: shop}}, {node: $name}, {volume: $name}
            - {name: memory, query: 'sum(memory_bytes{service="$name"})', better: lower}
          probes: [{http: "http://$name.shop.svc/healthz"}, {tcp: "db:5432"}, {command: [./well, $name]}]

With the section, corrections are assessed unless the option `assess` says otherwise. The address of a server may be a
reference to a secret, and no message shows it.
"""

from __future__ import annotations

from dataclasses import asdict, field
from typing import Any, Final

from holdfast.errors import InputError
from holdfast.manifests.notify_spec import ADDRESS, URL
from holdfast.manifests.secrets import COMMAND, SECRET, Reference, Resolver
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import durations, selectors
from holdfast.remediation.core import metrics
from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.metrics import Query
from holdfast.remediation.core.past_attempts import AttemptLimits
from holdfast.remediation.core.rules import AssessmentRules, CommandProbe, HttpProbe, ProbeSpec, TargetRule, TcpProbe
from holdfast.remediation.core.timing import Windows
from holdfast.schema import fields
from holdfast.schema.document import DocumentPath
from holdfast.schema.fields import FieldType

_PROBES: Final = ("http", "tcp", "command")
_SERVER: Final[fields.Table] = {
    "url": fields.required(ADDRESS, "write url: http://host:9090, or url: {env: NAME}"),
    "token": SECRET,
    "timeout": durations.DURATION,
}


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A server as declared: its secrets are still references."""

    url: str | Reference = field(repr=False)
    token: Reference | None = None
    timeout: float = 10.0

    def fetched(self, resolver: Resolver) -> tuple[str, str | None]:
        """Return the address and the token in clear."""
        url = self.url if isinstance(self.url, str) else str(resolver.fetch(self.url).reveal())
        return url, None if self.token is None else str(resolver.fetch(self.token).reveal())


@dataclass(frozen=True, slots=True)
class Assessment:
    """The section as read, or the defaults without one."""

    rules: AssessmentRules = field(default_factory=AssessmentRules)
    prometheus: ServerSpec | None = None
    alertmanager: ServerSpec | None = None


# --- targets


def _target(glob: str) -> selectors.AddressPattern:
    targets = selectors.parse_targets([glob])
    if targets.excluded:
        raise InputError("a target here excludes nothing; remove the !")
    return targets.included[0]


def _matchers(given: dict[str, str]) -> dict[str, str]:
    metrics.matchers(given)
    return given


_LABELS = fields.LABELS.then(_matchers)
_QUERY: Final = fields.record(
    lambda name, query, better="lower": Query(name, query, better != "higher"),
    {
        "name": fields.required(fields.STRING, "write the name of the metric, such as memory"),
        "query": fields.required(fields.STRING, "write PromQL that gives one series, such as sum(...)"),
        "better": fields.word(("lower", "higher")),
    },
)


def _preset(
    workload: dict[str, str] | None = None, node: str | None = None, volume: str | None = None
) -> tuple[Query, ...]:
    if [workload, node, volume].count(None) != 2:
        raise InputError("write a list of queries, or one of workload, node and volume")
    if workload is not None:
        return metrics.for_workload(workload)
    return metrics.for_volume(volume) if volume is not None else metrics.for_node(node or "")


_PRESET = fields.record(_preset, {"workload": _LABELS, "node": fields.STRING, "volume": fields.STRING})
_QUERY_LIST = fields.list_of(_QUERY)
_QUERIES: Final[FieldType[tuple[Query, ...]]] = FieldType(
    lambda value, at: (_PRESET if isinstance(value, dict) else _QUERY_LIST).read(value, at),
    lambda: {"anyOf": [_QUERY_LIST.json_schema, _PRESET.json_schema]},
)


# --- probes


def _host_and_port(value: Json) -> tuple[str, int]:
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise InputError('expected a host and a port, such as "db:5432"')
    return host.strip("[]"), int(port)


def _probe(given: dict[str, Any], at: DocumentPath) -> ProbeSpec:
    kinds = [kind for kind in _PROBES if kind in given]
    if len(kinds) != 1:
        raise InputError("a probe is one of http: URL, tcp: host:port and command: [program, argument]")
    (kind,) = kinds
    if "status" in given and kind != "http":
        at.fail("only an http probe has a status", "status")
    name, value = given.get("name", kind), given[kind]
    timeout: dict[str, float] = {"timeout": given["timeout"]} if given.get("timeout") else {}
    match kind:
        case "http":
            return HttpProbe(name, value, given.get("status", 200), **timeout)
        case "tcp":
            host, port = value
            return TcpProbe(name, host, port, **timeout)
        case _:
            return CommandProbe(name, value, at.folder, **timeout)


def _distinct(probes: tuple[ProbeSpec, ...]) -> tuple[ProbeSpec, ...]:
    names = [probe.name for probe in probes]
    repeated = sorted(name for name in set(names) if names.count(name) > 1)
    if repeated:
        raise InputError(f"two probes are called {repeated[0]}; give one of them a name: ...")
    return probes


_PROBE: Final[FieldType[ProbeSpec]] = fields.plain(
    {
        "http": URL,
        "tcp": fields.parsed(_host_and_port, type="string"),
        "command": COMMAND,
        "name": fields.STRING,
        "status": fields.whole(100, 599),
        "timeout": durations.DURATION,
    },
).then_at(_probe)


# --- the section

_WINDOWS: Final = fields.plain(
    {
        "stabilisation": durations.DURATION,
        "validity": durations.DURATION,
        "propagation": fields.renamed(durations.DURATION, "hash_delay"),
        "alertDelay": durations.DURATION,
        "interval": durations.DURATION,
        "retry": fields.renamed(durations.DURATION, "error_interval"),
    },
)
_TARGET: Final = fields.plain(
    {
        "target": fields.required(fields.STRING.then(_target), "write a glob such as shop/Service/*"),
        "windows": _WINDOWS,
        "alert": fields.short_for(
            fields.record(
                Signal,
                {
                    "name": fields.required(fields.STRING, "write the name of the alert, such as HighMemory"),
                    "labels": _LABELS,
                },
            ),
            "name",
        ),
        "queries": _QUERIES,
        "probes": fields.list_of(_PROBE).then(_distinct),
    },
)


def _windows(base: Windows, given: dict[str, float], at: DocumentPath) -> Windows:
    try:
        return Windows(**{**asdict(base), **given})
    except InputError as error:
        at.note(error)
        return base


def _assessment(given: dict[str, Any], at: DocumentPath) -> Assessment:
    prometheus, alertmanager = dict(given.pop("prometheus", {})), given.pop("alertmanager", None)
    windows = _windows(Windows(), given.pop("windows", {}), at.below("windows"))
    targets = []
    for index, target in enumerate(given.pop("targets", ())):
        own = (
            _windows(windows, target["windows"], at.below("targets", index, "windows")) if "windows" in target else None
        )
        targets.append(TargetRule(**{**target, "windows": own}))
    ranges = {name: prometheus.pop(name) for name in ("lookback", "compared", "step") if name in prometheus}
    ranges["step"] = ranges.get("step") or None
    rules = AssessmentRules(
        windows,
        tuple(targets),
        **ranges,
        **given,
        has_prometheus=bool(prometheus),
        has_alertmanager=alertmanager is not None,
    )
    return Assessment(rules, ServerSpec(**prometheus) if prometheus else None, alertmanager)


SECTION: Final = fields.plain(
    {
        "prometheus": fields.plain(
            {
                **_SERVER,
                "lookback": durations.DURATION,
                "compared": durations.DURATION,
                "step": durations.DURATION,
            },
        ),
        "alertmanager": fields.record(ServerSpec, _SERVER),
        "windows": _WINDOWS,
        "patience": durations.DURATION,
        "refuse": fields.renamed(
            fields.record(
                AttemptLimits,
                {
                    "sameState": fields.COUNT,
                    "chained": fields.COUNT,
                    "chainedWithin": durations.DURATION,
                    "total": fields.COUNT,
                    "within": durations.DURATION,
                },
            ),
            "refusal",
        ),
        "targets": fields.list_of(_TARGET),
    },
).then_at(_assessment)
