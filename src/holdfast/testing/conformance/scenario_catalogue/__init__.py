"""The scenarios: one function each, which returns a summary or raises what was wrong.

Belongs here: scenarios, in the order of the card. Must not be here: anything about one provider.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from holdfast.testing.conformance.scenario_catalogue import (
    adoption,
    change_signals,
    crash_recovery,
    failures,
    field_drift,
    idempotency,
    lifecycle,
    secrets,
)
from holdfast.testing.conformance.scenario_run import ScenarioRun

Scenario = Callable[[ScenarioRun], Awaitable[str]]

ALL: Final[Mapping[str, Scenario]] = {
    "create": lifecycle.create,
    "second-check-clean": lifecycle.second_check_clean,
    "mutate-every-field": field_drift.mutate_every_field,
    "external-delete": lifecycle.external_delete,
    "list": lifecycle.list_everything,
    "watch": change_signals.watch,
    "import-by-id": adoption.by_id,
    "import-by-filter": adoption.by_filter,
    "unreadable": failures.unreadable,
    "not-the-thing": failures.not_the_thing,
    "throttle": failures.throttle,
    "crash": crash_recovery.crash,
    "secret": secrets.secret,
    "repeat-create": idempotency.create,
    "repeat-update": idempotency.update,
    "repeat-delete": idempotency.delete,
    "precondition": idempotency.precondition,
}
