"""Why an assessment ended: one word, decided by a total function of what was and was not learnt.

The spelling is the seed's; later releases of the original write PascalCase, which is read but never written.
`full` says that everything asked for was measured; whether it helped is the score's to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final


class Reason(StrEnum):
    """The ways an assessment can end."""

    FULL = "full"
    PARTIAL = "partial"
    EXPIRED = "expired"
    NO_EXECUTION = "no_execution"
    METRICS_TIMED_OUT = "metrics_timed_out"
    SPEC_DRIFT = "spec_drift"
    ALERT_DECAY_TIMEOUT = "alert_decay_timeout"


_BY_NAME: Final = {reason.value: reason for reason in Reason}
_PREFIX: Final = re.compile(r"^Assessment(?=[A-Z])")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def parse(text: str) -> Reason | None:
    """Read either spelling, `spec_drift` or `SpecDrift`; None for a reason this release does not know."""
    spelled = _HUMP.sub("_", _PREFIX.sub("", text)).lower()
    return _BY_NAME.get(spelled)


class Progress(Enum):
    """How far a component has come; off means that nobody asked for it."""

    MISSING = "missing"
    DONE = "done"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Flags:
    """All that the reason depends on."""

    is_drifted: bool = False
    is_never_executed: bool = False
    is_execution_incomplete: bool = False  # begun, not finished, and the grace is over
    is_past_deadline: bool = False
    is_decaying: bool = False  # the alert fires on though all else is well
    is_hashed: bool = False
    health: Progress = Progress.MISSING
    alerts: Progress = Progress.MISSING
    metrics: Progress = Progress.MISSING

    @property
    def progress(self) -> tuple[Progress, Progress, Progress]:
        """The three components that can be measured."""
        return self.health, self.alerts, self.metrics


def decide(flags: Flags) -> Reason | None:
    """Return why the assessment ends now, or None if it goes on.

    Drift is first: whatever was measured, and whatever the clock says, was measured on something else.
    """
    if flags.is_drifted:
        return Reason.SPEC_DRIFT
    if flags.is_never_executed:
        return Reason.NO_EXECUTION
    if flags.is_execution_incomplete and flags.is_hashed and flags.health is not Progress.MISSING:
        return Reason.PARTIAL
    if flags.is_hashed and not flags.is_execution_incomplete and Progress.MISSING not in flags.progress:
        return Reason.FULL
    return _at_deadline(flags) if flags.is_past_deadline else None


def _at_deadline(flags: Flags) -> Reason:
    if flags.is_decaying and flags.alerts is Progress.MISSING:
        return Reason.ALERT_DECAY_TIMEOUT
    if Progress.DONE not in flags.progress:
        return Reason.EXPIRED  # a hash alone measures no effect
    only_metrics = flags.metrics is Progress.MISSING and Progress.MISSING not in (flags.health, flags.alerts)
    return Reason.METRICS_TIMED_OUT if only_metrics and flags.is_hashed else Reason.PARTIAL
