"""Plans: the writes that a check announced, so that an apply makes exactly these or refuses."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from holdfast.app.options import ProjectOptions
from holdfast.compare import canonical, go_json
from holdfast.errors import HoldfastError, InputError, Location
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport, Sink
from holdfast.reconcile.resolved_resource import digest_of

if TYPE_CHECKING:
    from holdfast.reconcile.action_result import ActionResult

VERSION: Final = 2
_SHOWN: Final = 5


class PlanStale(HoldfastError):  # noqa: N818 - reads better
    """Live state or declarations changed since the plan was made; nothing was written."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions of a check. It holds digests of the readings, no values."""

    options: ProjectOptions
    resources: dict[str, Json]
    templates: dict[str, Json]
    report: RunReport | None = None  # the check; None for a plan that was loaded

    @classmethod
    def of(cls, report: RunReport, options: ProjectOptions) -> Self:
        """Return the plan of a check that kept all results, or gave them to `Entries`."""
        resources = (
            report.sink.entries
            if isinstance(report.sink, PlanEntries)
            else {str(checked.address): _entry(checked) for checked in report.checked}
        )
        return cls(options, resources, _templates(report), report)

    def require_report(self) -> RunReport:
        """Return the check that the plan was made by; a plan that was loaded has none."""
        assert self.report is not None
        return self.report

    @property
    def rolled_templates(self) -> frozenset[str]:
        """The templates with a rollout in the plan."""
        return frozenset(name for name, entry in self.templates.items() if entry["rolled"])

    @property
    def writes(self) -> dict[str, Action]:
        """The addresses that an apply would write, with the action on each."""
        actions = {address: Action(entry["action"]) for address, entry in self.resources.items()}
        return {address: action for address, action in actions.items() if action.is_write}

    def allows(self, checked: CheckResult) -> bool:
        """Return True if a decision is the one of the plan."""
        return bool(self.resources.get(str(checked.address)) == _entry(checked))

    def is_outdated_by(self, checked: CheckResult) -> bool:
        """Return True if the plan has a write to a resource that another decision replaced."""
        return str(checked.address) in self.writes and not self.allows(checked)

    def require_current(self, report: RunReport) -> None:
        """Raise PlanStale unless a new check gives the same plan."""
        now = Plan.of(report, self.options)
        addresses = self.resources.keys() | now.resources.keys()
        changed = sorted(a for a in addresses if self.resources.get(a) != now.resources.get(a))
        names = self.templates.keys() | now.templates.keys()
        changed += sorted(f"template {n}" for n in names if self.templates.get(n) != now.templates.get(n))
        if changed:
            more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            shown = ", ".join(changed[:_SHOWN]) + more
            raise PlanStale(f"the plan is outdated; nothing was written. Make a new plan. Changed since: {shown}")

    def save(self, file: Path) -> None:
        """Write the plan to a file."""
        options = dataclasses.asdict(self.options)
        body = {
            "holdfastPlan": VERSION,
            "options": {**options, "files": list(self.options.files), "targets": list(self.options.targets)},
            "resources": self.resources,
            "templates": self.templates,
        }
        body["digest"] = canonical.digest_bytes(canonical.canonical_bytes(body, lists="ordered"))
        try:
            file.write_bytes(canonical.canonical_bytes(body, lists="ordered") + b"\n")
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}", Location(str(file))) from None

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read a plan from a file; raise InputError if it is none, or was edited."""
        location = Location(str(file))
        try:
            body = go_json.loads(file.read_bytes())
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", location) from None
        except InputError as error:
            raise error.at(location) from None
        if not isinstance(body, dict) or body.get("holdfastPlan") != VERSION:
            raise InputError("not a plan saved by `holdfast plan --out` of this version", location)
        digest = body.pop("digest", None)
        if digest != canonical.digest_bytes(canonical.canonical_bytes(body, lists="ordered")):
            raise InputError("the plan was edited after it was saved; make a new one", location)
        given = body["options"]
        options = ProjectOptions(**{**given, "files": tuple(given["files"]), "targets": tuple(given["targets"])})
        return cls(options, body["resources"], body["templates"])


@dataclass(slots=True)
class PlanEntries:
    """Collects the entries of a plan from the results of a check, which go on to another sink."""

    following: Sink
    entries: dict[str, Json] = field(default_factory=dict)

    def __call__(self, result: CheckResult | ActionResult) -> bool:
        """Note the decision of a check."""
        if isinstance(result, CheckResult):
            self.entries[str(result.address)] = _entry(result)
        return self.following(result)


def _templates(report: RunReport) -> dict[str, Json]:
    """Return the parts of rollouts that must stay the same: the content of the children and how many are rolled."""
    if not report.groups:
        return {}
    from holdfast.rollouts import render

    checked_at = report.tally.last_check
    entries = {}
    for group in report.groups:
        content = {owner.template.name: owner.record.latest.content for owner in group.owners}
        preview = render.preview(group, checked_at)
        entries[group.template.name] = {"content": digest_of(content), "rolled": preview.rolled if preview else 0}
    return entries


def _entry(checked: CheckResult) -> Json:
    """Return the parts of a decision that must stay the same: desired and observed state, action and paths."""
    if checked.is_still:
        observed = checked.state.observed.document
    else:
        observed = digest_of(checked.observed) if checked.observed is not ABSENT else None
    return {
        "desired": checked.prepared.desired_digest,
        "observed": observed,
        "action": checked.decision.action.value,
        "paths": sorted(path for reason in checked.decision.reasons for path in reason.paths),
    }
