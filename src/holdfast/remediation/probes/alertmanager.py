"""Alertmanager, as far as we ask it: which alerts with these labels it lists."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.remediation.core import alerts
from holdfast.remediation.core.alerts import Alert, Signal
from holdfast.remediation.probes import http_query
from holdfast.remediation.probes.http_query import Server


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """One server."""

    server: Server

    async def alerts(self, signal: Signal) -> Sequence[Alert] | None:
        """Return the alerts of a signal, silenced ones too; resolved ones are not listed. None: no answer."""
        params = [("filter", matcher) for matcher in alerts.filters(signal)]
        answer = await http_query.get(self.server, "/api/v2/alerts", params)
        return _alerts(answer.body) if answer.is_ok else None


def _alerts(body: Json) -> tuple[Alert, ...] | None:
    if not isinstance(body, list):
        return None
    try:
        return tuple(Alert(dict(item["labels"]), str(item.get("status", {}).get("state", "active"))) for item in body)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
