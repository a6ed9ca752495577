"""The metric families. Labels take few values: only one optional family has an address, and none has a path.

Metrics contain times and never ages, because a file that is no longer updated would show the same age for ever.
"""

from __future__ import annotations

from typing import Final

from holdfast.metrics.families import Meter, MetricType

_WHERE: Final = ("connection", "kind")

# -- the command itself

BUILD: Final = Meter("holdfast_build_info", "The release that wrote the metrics.", ("version",), MetricType.INFO)
GATHERED: Final = Meter("holdfast_gathered_timestamp_seconds", "When the metrics were collected.")

# -- resources

RESOURCES: Final = Meter(
    "holdfast_resources", "Resources by their last verdict; unchecked: none yet.", (*_WHERE, "status")
)
STALE: Final = Meter(
    "holdfast_stale_resources",
    "Resources without a current verdict: never read, not readable, or not read for two resync periods.",
    _WHERE,
)
OLDEST_GOOD_CHECK: Final = Meter(
    "holdfast_oldest_good_check_timestamp_seconds",
    "The oldest of the last successful checks; 0 if a resource never had one.",
    _WHERE,
)
OVERDUE: Final = Meter("holdfast_overdue_resources", "Resources whose check is overdue.", _WHERE)
FAILING: Final = Meter("holdfast_failing_resources", "Resources whose last attempts failed and that back off.", _WHERE)
BLOCKED: Final = Meter(
    "holdfast_blocked_resources",
    "Resources that are not corrected, by cause: a limit, or terminal (stopped until the declaration is edited).",
    (*_WHERE, "cause"),
)
FINDINGS: Final = Meter(
    "holdfast_findings", "Open findings, by class and by who changed the field.", (*_WHERE, "class", "changed_by")
)
OLDEST_FINDING: Final = Meter(
    "holdfast_oldest_finding_timestamp_seconds", "When the oldest open finding was first seen.", _WHERE
)
SUPPRESSED: Final = Meter("holdfast_suppressed_differences", "Suppressed differences, by reason.", (*_WHERE, "reason"))
RESOURCE_STATUS: Final = Meter(
    "holdfast_resource_status",
    "1 for the last verdict of each resource; only with --per-resource.",
    ("address", "status"),
)

# -- work and limits

OPERATIONS: Final = Meter("holdfast_unfinished_operations", "Unfinished writes, by step.", ("step",))
OLDEST_OPERATION: Final = Meter(
    "holdfast_oldest_operation_timestamp_seconds", "When the oldest unfinished write began."
)
CLAIMS: Final = Meter("holdfast_claims", "Claims that were not released: held, or lapsed.", ("state",))
PAUSES: Final = Meter("holdfast_paused_scopes", "Pauses in force, by scope.", ("scope",))
QUARANTINES: Final = Meter("holdfast_quarantined_paths", "Quarantined paths, by cause.", ("cause",))
APPROVALS: Final = Meter("holdfast_unused_approvals", "Approved plans that were not applied yet.")

# -- the audit trail

EVENTS: Final = Meter("holdfast_events_total", "Events of the audit trail.", ("type",), MetricType.COUNTER)
CORRECTIONS: Final = Meter("holdfast_corrections_total", "Our writes, by outcome.", ("outcome",), MetricType.COUNTER)
HALTS: Final = Meter(
    "holdfast_rollout_halts_total", "Rollouts that halted because of failures.", ("template",), MetricType.COUNTER
)
ACTIVATIONS: Final = Meter(
    "holdfast_scheme_activations_total",
    "Hash schemes that took effect for an owner; this touches no child.",
    ("owner",),
    MetricType.COUNTER,
)

# -- templates

_TEMPLATE: Final = ("template",)
CHILDREN: Final = Meter("holdfast_template_children", "Children by state.", ("template", "state"))
UP_TO_DATE: Final = Meter(
    "holdfast_template_up_to_date_children", "Children that are ready and match the template.", _TEMPLATE
)
REVISIONS: Final = Meter("holdfast_template_revision", "The current revision of an owner.", ("owner",))
MADE_FROM: Final = Meter(
    "holdfast_template_revision_children",
    "Children by the revision of each owner that they were created from.",
    ("template", "owner", "revision"),
)
TEMPLATE_FINDINGS: Final = Meter(
    "holdfast_template_findings",
    "Findings of owners about children, by class and reason.",
    ("template", "owner", "class", "reason"),
)
RESTAMPED: Final = Meter(
    "holdfast_template_restamped_children",
    "Children whose stamp differs from their revision: must be 0, except with `compatibility: option1`.",
    _TEMPLATE,
)

# -- rollouts

PHASE: Final = Meter(
    "holdfast_rollout_phase", "1 for the phase of the newest rollout, 0 for the others.", ("template", "phase")
)
WAVE: Final = Meter("holdfast_rollout_wave", "The wave of the newest rollout; 0 is the canary.", _TEMPLATE)
FAILURES: Final = Meter(
    "holdfast_rollout_failures", "Failed replacements since the newest rollout began or was resumed.", _TEMPLATE
)
PROGRESSED: Final = Meter(
    "holdfast_rollout_progress_timestamp_seconds", "When the newest rollout last made progress.", _TEMPLATE
)
SLOTS: Final = Meter(
    "holdfast_rollout_slots", "Slots of an unfinished rollout: done, working, left.", ("template", "state")
)
BACKING_OFF: Final = Meter(
    "holdfast_rollout_backing_off_slots", "Slots whose replacement failed and will be retried.", _TEMPLATE
)
ROLLOUT_BLOCKED: Final = Meter(
    "holdfast_rollout_blocked",
    "1 for each cause that blocks a rollout; gates, holds and limits only with -f.",
    ("template", "cause"),
)
BUDGET_USED: Final = Meter(
    "holdfast_rollout_budget_used", "Slots that an unfinished rollout takes from a limit.", ("template", "budget")
)
BUDGET_ALLOWED: Final = Meter(
    "holdfast_rollout_budget_allowed",
    "Slots that the limit allows; only with -f, because limits are in the manifests.",
    ("template", "budget"),
)

ALL: Final = (
    BUILD,
    GATHERED,
    RESOURCES,
    STALE,
    OLDEST_GOOD_CHECK,
    OVERDUE,
    FAILING,
    BLOCKED,
    FINDINGS,
    OLDEST_FINDING,
    SUPPRESSED,
    RESOURCE_STATUS,
    OPERATIONS,
    OLDEST_OPERATION,
    CLAIMS,
    PAUSES,
    QUARANTINES,
    APPROVALS,
    EVENTS,
    CORRECTIONS,
    HALTS,
    ACTIVATIONS,
    CHILDREN,
    UP_TO_DATE,
    REVISIONS,
    MADE_FROM,
    TEMPLATE_FINDINGS,
    RESTAMPED,
    PHASE,
    WAVE,
    FAILURES,
    PROGRESSED,
    SLOTS,
    BACKING_OFF,
    ROLLOUT_BLOCKED,
    BUDGET_USED,
    BUDGET_ALLOWED,
)
