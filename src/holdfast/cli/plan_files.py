"""Saved plans: what was shown, so that apply can do exactly that or refuse."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from holdfast.app.project import Options
from holdfast.cli.render import reports, rollouts
from holdfast.compare import canonical, go_json
from holdfast.errors import HoldfastError, InputError, Location
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolved_resource import digest_of

VERSION = 2


class PlanStale(HoldfastError):  # noqa: N818 - reads better
    """The world or the declarations moved since the plan was saved; nothing was done."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A plan as saved."""

    options: Options
    resources: dict[str, Json]
    templates: dict[str, Json]

    @property
    def rolled(self) -> frozenset[str]:
        """The templates whose rollout the plan showed."""
        return frozenset(name for name, entry in self.templates.items() if entry["rolled"])

    def allows(self, checked: CheckResult) -> bool:
        """Tell whether a decision is the one that was shown."""
        return bool(self.resources.get(str(checked.prepared.declaration.address)) == _entry(checked))

    def writes(self, checked: CheckResult) -> bool:
        """Tell whether the plan showed a write to a resource; what only follows from one is for another plan."""
        entry = self.resources.get(str(checked.address))
        return entry is not None and Action(entry["action"]).is_write


def save(file: Path, report: RunReport, options: Options) -> None:
    """Write a plan; only digests of what was seen, no values."""
    body = {
        "holdfastPlan": VERSION,
        "options": {**dataclasses.asdict(options), "files": list(options.files), "targets": list(options.targets)},
        "resources": {str(one.prepared.declaration.address): _entry(one) for one in report.checked},
        "templates": _templates(report),
    }
    body["digest"] = canonical.digest_bytes(canonical.canonical_bytes(body, lists="ordered"))
    try:
        file.write_bytes(canonical.canonical_bytes(body, lists="ordered") + b"\n")
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        raise InputError(message, Location(str(file))) from None


def load(file: Path) -> Saved:
    """Read a plan, and make sure nobody edited it."""
    location = Location(str(file))
    try:
        body = go_json.loads(file.read_bytes())
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise InputError(message, location) from None
    except InputError as error:
        raise error.at(location) from None
    if not isinstance(body, dict) or body.get("holdfastPlan") != VERSION:
        message = "not a plan saved by `holdfast plan --out` of this version"
        raise InputError(message, location)
    digest = body.pop("digest", None)
    if digest != canonical.digest_bytes(canonical.canonical_bytes(body, lists="ordered")):
        message = "the plan was edited after it was saved; make a new one"
        raise InputError(message, location)
    options = body["options"]
    return Saved(
        Options(
            tuple(options["files"]),
            options["project"],
            options["store"],
            tuple(options["targets"]),
            options["selector"],
            options["flags"],
        ),
        body["resources"],
        body["templates"],
    )


def insist(saved: Saved, report: RunReport) -> None:
    """Refuse unless everything is as it was when the plan was shown."""
    now = {str(one.prepared.declaration.address): _entry(one) for one in report.checked}
    moved = sorted(
        address for address in saved.resources.keys() | now.keys() if saved.resources.get(address) != now.get(address)
    )
    rolls = _templates(report)
    moved += sorted(f"template {name}" for name in saved.templates if saved.templates[name] != rolls.get(name))
    moved += sorted(f"template {name}" for name in rolls.keys() - saved.templates.keys())
    if moved:
        shown = ", ".join(moved[:5]) + (f" and {len(moved) - 5} more" if len(moved) > 5 else "")
        message = f"the plan no longer holds, nothing was done; make a new one. Moved since: {shown}"
        raise PlanStale(message)


def _templates(report: RunReport) -> dict[str, Json]:
    """Return what of rollouts must stay the same: what the children are to become, and how many of them roll."""
    now = reports.looked_at(report)
    return {
        each.template.name: {
            "content": digest_of({owner.template.name: owner.record.latest.content for owner in each.owners}),
            "rolled": found.rolled if (found := rollouts.preview(each, now)) is not None else 0,
        }
        for each in report.groups
    }


def _entry(checked: CheckResult) -> Json:
    """Return what of a decision must stay the same: what is wanted, what was seen, and what follows."""
    still = checked.is_still
    return {
        "desired": checked.prepared.desired_digest,
        "observed": checked.state.observed.document
        if still
        else digest_of(checked.observed)
        if checked.observed is not ABSENT
        else None,
        "action": checked.decision.action.value,
        "paths": sorted(path for reason in checked.decision.reasons for path in reason.paths),
    }
