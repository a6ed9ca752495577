"""Measuring: finding out what an assessment wants to know, and turning answers into scores.

Hash, drift and health are about the target; alerts and metrics about what alerted, which may be something else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from holdfast.model.address import Address
from holdfast.model.health import Workload
from holdfast.model.read_result import Found
from holdfast.model.record import dataclass
from holdfast.providers.protocol import SupportsHealth
from holdfast.reconcile.check import Checker
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.remediation import repository, target_state
from holdfast.remediation.core import alerts, health, metrics, scoring
from holdfast.remediation.core.alerts import Alert, AlertListing, Signal
from holdfast.remediation.core.health import Probe, ProbeAnswer
from holdfast.remediation.core.metrics import ComparedSpan, MetricChange, Query, Range, Series, Skipped
from holdfast.remediation.core.records import RemediationRecord
from holdfast.remediation.core.rules import AssessmentRules
from holdfast.remediation.core.scoring import Measurement
from holdfast.remediation.core.state import Execution
from holdfast.remediation.core.state_hash import StateReading, StateUnknown
from holdfast.remediation.core.state_machine import Ask, AssessmentFacts
from holdfast.remediation.probes import health_probe
from holdfast.store.protocol import Store


class MetricSource(Protocol):
    """A source of metrics, such as `probes.prometheus`."""

    async def is_ready(self) -> bool:
        """Return True if it answers."""

    async def query_range(self, expression: str, asked: Range) -> Sequence[Series] | None:
        """Return the series of an expression; None: no answer."""


class AlertSource(Protocol):
    """A source of alerts, such as `probes.alertmanager`."""

    async def alerts(self, signal: Signal) -> Sequence[Alert] | None:
        """Return the firing alerts of a signal. None: no answer."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """The sources of alerts and metrics."""

    prometheus: MetricSource | None = None
    alertmanager: AlertSource | None = None


@dataclass(slots=True)
class MeasurementSubject:
    """The targets of a pass and their sources."""

    store: Store
    checker: Checker
    item: ResolvedResource | str  # why it cannot be looked at
    rules: AssessmentRules
    instruments: Instruments
    clock: Clock
    failed: str = field(default="")  # what the service calls it that its last operation went wrong

    async def look(self) -> StateReading:
        """Read the target, like for any check."""
        if isinstance(self.item, str):
            return StateUnknown(self.item)
        reading = await self.checker.read(self.item, None)
        self.failed = reading.failed if isinstance(reading, Found) else ""
        seen = target_state.of_reading(self.item, reading)
        return await repository.stamped(self.store, self.item.declaration.address, seen)

    async def health_signals(self, since: float) -> Sequence[Probe] | Workload:
        """Return the provider's own health signal. None if the provider has no such signal."""
        if isinstance(self.item, str):
            return [Probe("target", ProbeAnswer.UNKNOWN)]
        if self.failed:
            return [Probe(self.failed, ProbeAnswer.FAILED)]
        reader = await self.checker.reader(self.item.declaration.address.connection)
        told = await reader.health_signals(self.item.target(), since) if isinstance(reader, SupportsHealth) else ()
        if isinstance(told, Workload):
            return told
        answers = {True: ProbeAnswer.PASSED, False: ProbeAnswer.FAILED, None: ProbeAnswer.UNKNOWN}
        return [Probe(health_signal.name, answers[health_signal.is_well]) for health_signal in told]


async def find_out(asks: Sequence[Ask], record: RemediationRecord, subject: MeasurementSubject) -> AssessmentFacts:
    """Answer what an assessment wants to know now."""
    measured = [ask for ask in asks if ask in _MEASURED]
    found = dict(
        zip(measured, await asyncio.gather(*[_MEASURED[ask](record, subject) for ask in measured]), strict=True)
    )
    return AssessmentFacts(
        execution=_execution(record) if Ask.EXECUTION in asks else None,
        target=await subject.look() if Ask.TARGET in asks else None,
        health=found.get(Ask.HEALTH),
        alerts=found.get(Ask.ALERTS),
        metrics=found.get(Ask.METRICS),
    )


def _execution(record: RemediationRecord) -> Execution:
    return Execution.STARTED if record.ending is None else record.ending.execution


async def _health(record: RemediationRecord, subject: MeasurementSubject) -> Measurement:
    specs = subject.rules.probes_for(Address.parse(record.target))
    told, probed = await asyncio.gather(subject.health_signals(record.started_at), health_probe.run_all(specs))
    if not isinstance(told, Workload):
        return health.assess_probes([*told, *probed])
    return health.together(health.assess(told), health.assess_probes(probed))


async def _alerts(record: RemediationRecord, subject: MeasurementSubject) -> Measurement:
    source, prometheus = subject.instruments.alertmanager, subject.instruments.prometheus
    if source is None:
        return scoring.unanswered("no Alertmanager is configured")
    listed = await source.alerts(record.signal)
    is_alive = True
    pods: frozenset[str] | None = None
    if listed and not record.alerting and any("pod" in alert.labels for alert in listed):
        told = await subject.health_signals(record.started_at)
        pods = told.pods if isinstance(told, Workload) else None
    if listed is not None and not listed and prometheus is not None:  # the alerts of a dead Prometheus run out
        is_alive = await prometheus.is_ready()
    since = max(subject.clock.now() - record.started_at, 0.0)
    return alerts.assess(record.signal, AlertListing(listed, is_alive, pods), since)


async def _metrics(record: RemediationRecord, subject: MeasurementSubject) -> Measurement:
    source, state = subject.instruments.prometheus, record.assessment
    if source is None or state is None:
        return scoring.unanswered("no Prometheus is configured")
    wanted = subject.rules.queries_for(Address.parse(record.alerting or record.target))
    now = subject.clock.now()
    span = ComparedSpan(record.started_at, state.timing.check_after, now, subject.rules.compared)
    asked = metrics.time_range(record.started_at, now, subject.rules.lookback, subject.rules.step)

    async def one(query: Query) -> MetricChange | Skipped:
        answer = await source.query_range(query.expression, asked)
        return metrics.compare(query.name, answer, span, lower_is_better=query.lower_is_better)

    return metrics.assess(await asyncio.gather(*[one(query) for query in wanted]))


_MEASURED = {Ask.HEALTH: _health, Ask.ALERTS: _alerts, Ask.METRICS: _metrics}
