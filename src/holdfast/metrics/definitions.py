"""The meters there are. Labels take few values: none is an address or a path, but for one that has to be asked for.

Times are given as such and never as ages: a file that nobody writes any more would stand still at a young age.
"""

from __future__ import annotations

from typing import Final

from holdfast.metrics.families import Meter, MetricType

_WHERE: Final = ("connection", "kind")

# -- the command itself

BUILD: Final = Meter("holdfast_build_info", "The release that counted.", ("version",), MetricType.INFO)
GATHERED: Final = Meter("holdfast_gathered_timestamp_seconds", "When all of this was counted.")

# -- resources

RESOURCES: Final = Meter(
    "holdfast_resources", "Resources by their last verdict; unchecked: none yet.", (*_WHERE, "status")
)
STALE: Final = Meter(
    "holdfast_stale_resources",
    "Resources whose verdict is not to be believed: never read, not readable, or not read for two resync periods.",
    _WHERE,
)
OLDEST_GOOD_CHECK: Final = Meter(
    "holdfast_oldest_good_check_timestamp_seconds",
    "The last successful check of the resource for which that is longest ago; 0 if one never had any.",
    _WHERE,
)
OVERDUE: Final = Meter("holdfast_overdue_resources", "Resources whose check is due and was not made yet.", _WHERE)
FAILING: Final = Meter(
    "holdfast_failing_resources", "Resources whose last attempts failed and that wait longer each time.", _WHERE
)
BLOCKED: Final = Meter(
    "holdfast_blocked_resources",
    "Resources that are not corrected, by cause: held back, or terminal (stopped until their declaration is edited).",
    (*_WHERE, "cause"),
)
FINDINGS: Final = Meter(
    "holdfast_findings", "Open findings, by what moved and on whose side.", (*_WHERE, "class", "changed_by")
)
OLDEST_FINDING: Final = Meter(
    "holdfast_oldest_finding_timestamp_seconds", "When the oldest open finding was first seen.", _WHERE
)
SUPPRESSED: Final = Meter(
    "holdfast_suppressed_differences", "Differences that are there and do not count, by why.", (*_WHERE, "reason")
)
RESOURCE_STATUS: Final = Meter(
    "holdfast_resource_status",
    "1 for the last verdict of each resource; only with --per-resource.",
    ("address", "status"),
)

# -- work, and what people said

OPERATIONS: Final = Meter("holdfast_unfinished_operations", "Writes that were begun and not ended, by step.", ("step",))
OLDEST_OPERATION: Final = Meter("holdfast_oldest_operation_timestamp_seconds", "When the oldest of these was begun.")
CLAIMS: Final = Meter("holdfast_claims", "Claims that were not given back: held, or lapsed.", ("state",))
PAUSES: Final = Meter("holdfast_paused_scopes", "Pauses in force, by what they cover.", ("scope",))
QUARANTINES: Final = Meter(
    "holdfast_quarantined_paths", "Fields that wait for a person's decision, by cause.", ("cause",)
)
APPROVALS: Final = Meter("holdfast_unused_approvals", "Plans that somebody said yes to and that were not done yet.")

# -- the audit trail

EVENTS: Final = Meter("holdfast_events_total", "Events of the audit trail.", ("type",), MetricType.COUNTER)
CORRECTIONS: Final = Meter(
    "holdfast_corrections_total", "Our writes, by how they ended.", ("outcome",), MetricType.COUNTER
)
HALTS: Final = Meter(
    "holdfast_rollout_halts_total", "Rollouts that stopped because it went wrong.", ("template",), MetricType.COUNTER
)
ACTIVATIONS: Final = Meter(
    "holdfast_scheme_activations_total",
    "Schemes that took over at an owner; no child is touched by that.",
    ("owner",),
    MetricType.COUNTER,
)

# -- templates

_TEMPLATE: Final = ("template",)
CHILDREN: Final = Meter("holdfast_template_children", "Children by what they are doing.", ("template", "state"))
UP_TO_DATE: Final = Meter(
    "holdfast_template_up_to_date_children", "Children that are ready and what the template asks for.", _TEMPLATE
)
REVISIONS: Final = Meter("holdfast_template_revision", "The current revision of an owner.", ("owner",))
MADE_FROM: Final = Meter(
    "holdfast_template_revision_children",
    "Children by the revision of each owner that they were made from.",
    ("template", "owner", "revision"),
)
TEMPLATE_FINDINGS: Final = Meter(
    "holdfast_template_findings",
    "What owners find about children, by class and reason.",
    ("template", "owner", "class", "reason"),
)
RESTAMPED: Final = Meter(
    "holdfast_template_restamped_children",
    "Children with another stamp than that of what they were made from: must be 0, but for `compatibility: option1`.",
    _TEMPLATE,
)

# -- rollouts

PHASE: Final = Meter(
    "holdfast_rollout_phase", "1 for the phase of the newest rollout, 0 for the others.", ("template", "phase")
)
WAVE: Final = Meter("holdfast_rollout_wave", "The wave of the newest rollout; 0 is the canary.", _TEMPLATE)
FAILURES: Final = Meter(
    "holdfast_rollout_failures", "Replacements that failed since the newest rollout was begun or resumed.", _TEMPLATE
)
PROGRESSED: Final = Meter(
    "holdfast_rollout_progress_timestamp_seconds", "When the newest rollout last came further.", _TEMPLATE
)
SLOTS: Final = Meter(
    "holdfast_rollout_slots", "Slots of a rollout that is not over: done, working, left.", ("template", "state")
)
BACKING_OFF: Final = Meter(
    "holdfast_rollout_backing_off_slots", "Slots whose replacement failed and is to be tried again.", _TEMPLATE
)
ROLLOUT_BLOCKED: Final = Meter(
    "holdfast_rollout_blocked",
    "1 for each thing that a rollout waits for; gates, holds and limits only with -f.",
    ("template", "cause"),
)
BUDGET_USED: Final = Meter(
    "holdfast_rollout_budget_used", "Slots that a rollout which is not over takes from a limit.", ("template", "budget")
)
BUDGET_ALLOWED: Final = Meter(
    "holdfast_rollout_budget_allowed",
    "How many it may take; only with -f, because limits are in the manifests.",
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
