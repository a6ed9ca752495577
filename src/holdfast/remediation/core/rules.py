"""Assessment rules of a project: windows, alerts and metrics of a target, probes, limits.

Rules are chosen by globs on addresses. Texts may name the target as `$name`, `$namespace`, `$kind` and `$connection`.
In a query such a value is escaped as a label value, so it can never become syntax.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import field

from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.policy.selectors import AddressPattern
from holdfast.remediation.core import metrics
from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.metrics import Query
from holdfast.remediation.core.past_attempts import AttemptLimits
from holdfast.remediation.core.timing import Windows


@dataclass(frozen=True, slots=True)
class HttpProbe:
    """A GET that must answer with a status."""

    name: str
    url: str
    status: int = 200
    timeout: float = 5.0


@dataclass(frozen=True, slots=True)
class TcpProbe:
    """A port that must accept a connection."""

    name: str
    host: str
    port: int
    timeout: float = 5.0


@dataclass(frozen=True, slots=True)
class CommandProbe:
    """A program that must leave with 0; there is no shell."""

    name: str
    words: tuple[str, ...]
    folder: str = "."
    timeout: float = 30.0


ProbeSpec = HttpProbe | TcpProbe | CommandProbe


@dataclass(frozen=True, slots=True)
class TargetRule:
    """The rules for the targets of a glob. None where a rule does not set a value."""

    target: AddressPattern
    windows: Windows | None = None
    alert: Signal | None = None
    queries: tuple[Query, ...] | None = None
    probes: tuple[ProbeSpec, ...] | None = None


@dataclass(frozen=True, slots=True)
class AssessmentRules:
    """The section `assessment` of the project file, or what holds without one."""

    windows: Windows = field(default_factory=Windows)
    targets: tuple[TargetRule, ...] = ()  # of several that cover a target the first that says something is heard
    lookback: float = 1800.0  # seconds before the remediation from which on metrics are fetched
    compared: float = 300.0  # seconds of samples on either side of the remediation
    step: float | None = None  # seconds between samples; None: as fine as Prometheus answers
    patience: float = 3600.0  # seconds after which a remediation without a reported end is assessed as it is
    refusal: AttemptLimits | None = None  # None: no attempt is refused
    has_prometheus: bool = False
    has_alertmanager: bool = False

    def windows_for(self, address: Address) -> Windows:
        """Return the windows for a target."""
        found = (rule.windows for rule in self._for(address))
        return next((windows for windows in found if windows is not None), self.windows)

    def alert_for(self, address: Address) -> Signal:
        """Return the alert that tells about what alerted; without a name there is none."""
        found = (rule.alert for rule in self._for(address))
        signal = next((item for item in found if item is not None), Signal(""))
        words = _words(address)
        return Signal(signal.name, {name: _filled(value, words) for name, value in signal.labels.items()})

    def queries_for(self, address: Address) -> tuple[Query, ...]:
        """Return the metrics that tell about what alerted."""
        found = (rule.queries for rule in self._for(address))
        chosen = next((pair for pair in found if pair is not None), ())
        words = {name: metrics.quoted(value)[1:-1] for name, value in _words(address).items()}
        return tuple(Query(query.name, _filled(query.expression, words), query.lower_is_better) for query in chosen)

    def probes_for(self, address: Address) -> tuple[ProbeSpec, ...]:
        """Return the generic probes of a target."""
        found = (rule.probes for rule in self._for(address))
        chosen = next((pair for pair in found if pair is not None), ())
        return tuple(_probe(item, _words(address)) for item in chosen)

    def _for(self, address: Address) -> tuple[TargetRule, ...]:
        return tuple(rule for rule in self.targets if rule.target.matches(address))


def _words(address: Address) -> dict[str, str]:
    return {
        "name": address.name,
        "namespace": address.namespace or "",
        "kind": address.kind,
        "connection": address.connection,
    }


def _filled(text: str, words: Mapping[str, str]) -> str:
    return string.Template(text).safe_substitute(words)


def _probe(spec: ProbeSpec, words: Mapping[str, str]) -> ProbeSpec:
    match spec:
        case HttpProbe(name, url, status, timeout):
            return HttpProbe(name, _filled(url, words), status, timeout)
        case TcpProbe(name, host, port, timeout):
            return TcpProbe(name, _filled(host, words), port, timeout)
        case CommandProbe(name, command, folder, timeout):
            return CommandProbe(name, tuple(_filled(word, words) for word in command), folder, timeout)
