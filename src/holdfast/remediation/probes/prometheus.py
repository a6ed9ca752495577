"""Prometheus, as far as we ask it: range queries, and whether it is there at all."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.remediation.core.metrics import Range, Series
from holdfast.remediation.probes import http_query
from holdfast.remediation.probes.http_query import Server


@dataclass(frozen=True, slots=True)
class Prometheus:
    """One server."""

    server: Server

    async def is_ready(self) -> bool:
        """Return True if it answers; a Prometheus that does not sends no alerts either."""
        return (await http_query.get(self.server, "/-/ready")).is_ok

    async def query_range(self, expression: str, asked: Range) -> tuple[Series, ...] | None:
        """Return the series of an expression; none is an answer too, None is not."""
        params = [
            ("query", expression),
            ("start", _number(asked.start)),
            ("end", _number(asked.end)),
            ("step", _number(asked.step)),
        ]
        answer = await http_query.get(self.server, "/api/v1/query_range", params)
        return _series(answer.body) if answer.is_ok else None


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _series(body: Json) -> tuple[Series, ...] | None:
    """Read an answer; one that is not of the agreed shape is no answer."""
    if not isinstance(body, dict) or body.get("status") != "success":
        return None
    data = body.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "matrix" or not isinstance(data.get("result"), list):
        return None
    try:
        return tuple(Series(dict(item.get("metric", {})), _samples(item["values"])) for item in data["result"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _samples(values: Sequence[Sequence[Json]]) -> tuple[tuple[float, float], ...]:
    return tuple((float(at), float(value)) for at, value in values)  # "NaN" and "+Inf" are numbers to Python as well
