"""The parts of a report that every rendering needs: order, counts, coverage, words, and source locations.

Knows nothing of any format.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from holdfast.compare import paths
from holdfast.errors import PathError
from holdfast.manifests.file_discovery import STDIN
from holdfast.model import path as model
from holdfast.model.absent import ABSENT
from holdfast.model.finding import ChangedBy, Finding, Op
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status, Suppressed, SuppressionReason
from holdfast.policy import source_location
from holdfast.reconcile import display_value
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport

LONGEST_VALUE: Final = 4_096  # characters of JSON; what is longer is shown by its beginning

ORDER: Final = (
    Status.MISSING,
    Status.CONFLICTED,
    Status.DRIFTED,
    Status.UNKNOWN,
    Status.PENDING,
    Status.IN_SYNC,
)
WHO: Final = {
    ChangedBy.DECLARED: "declaration changed",
    ChangedBy.LIVE: "changed outside Holdfast",
    ChangedBy.BOTH: "both changed",
    ChangedBy.UNKNOWN: "differs from the declaration",
}
HOW: Final = {
    Op.CHANGED: "changed",
    Op.ADDED: "added",
    Op.MISSING: "removed",
    Op.ELEMENT_ADDED: "element added",
    Op.ELEMENT_MISSING: "element removed",
    Op.REORDERED: "reordered",
}


@dataclass(frozen=True, slots=True)
class Around:
    """The inputs of a rendering in addition to the report, because a renderer has no clock and reads no file."""

    version: str
    root: Path  # the top of the repository, from which files are named
    cwd: Path  # where the names of manifests begin
    at: str  # when the report was made, RFC 3339
    command: str = "check"  # or plan: then the decisions matter, too


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The place of a declaration. `uri` is a path below the root, or an absolute path outside of it."""

    uri: str
    line: int
    is_below_root: bool

    def __str__(self) -> str:
        return f"{self.uri}:{self.line}"


# -- order and counts


def by_weight(report: RunReport) -> list[CheckResult]:
    """Return the checked resources, the worst first, then by address."""
    weight = {status: place for place, status in enumerate(ORDER)}
    return sorted(report.checked, key=lambda one: (weight[one.verdict.status], str(one.address)))


def by_address(report: RunReport) -> list[CheckResult]:
    """Return the checked resources by address."""
    return sorted(report.checked, key=lambda one: str(one.address))


def counts(report: RunReport) -> dict[Status, int]:
    """Return the number of resources by status, the worst first, without zeros."""
    found = Counter(result.verdict.status for result in report.checked)
    return {status: found[status] for status in ORDER if found[status]}


def words(status: Status) -> str:
    """Return a status as people say it."""
    return status.value.replace("_", " ")


def headline(report: RunReport) -> str:
    """Return the summary of a report in a few words."""
    said = [f"{number} {words(status)}" for status, number in counts(report).items()]
    return ", ".join(said) or "nothing was checked"


@dataclass(frozen=True, slots=True)
class JudgedCount:
    """The number of declared resources that could be judged, and the numbers of the others by reason."""

    total: int
    judged: int
    unread: int  # the read failed, or what to import could not be told
    waiting: int  # refers to something that is not there yet
    not_reached: int

    @property
    def is_complete(self) -> bool:
        """True if no finding means no difference. A resource that waits for an apply is no gap."""
        return not self.unread and not self.not_reached

    def __str__(self) -> str:
        parts = [f"Checked {self.judged} of {self.total}"]
        if self.unread:
            parts.append(f"{self.unread} could not be read")
        if self.waiting:
            parts.append(f"{self.waiting} {'waits' if self.waiting == 1 else 'wait'} for what is not there yet")
        if self.not_reached:
            parts.append(f"{self.not_reached} not reached")
        return "; ".join(parts) + "."


def coverage(report: RunReport) -> JudgedCount:
    """Count the resources that could be judged."""
    unknown = sum(result.verdict.status is Status.UNKNOWN for result in report.checked)
    lost = sum(blocked.is_error for blocked in report.waiting)
    return JudgedCount(
        len(report.checked) + len(report.waiting) + len(report.not_reached),
        len(report.checked) - unknown,
        unknown + lost,
        len(report.waiting) - lost,
        len(report.not_reached),
    )


def suppressions(report: RunReport) -> Iterator[tuple[CheckResult, Suppressed]]:
    """Yield the suppressed findings by address."""
    for result in by_address(report):
        for suppressed in result.verdict.suppressed:
            yield result, suppressed


def suppressed_line(report: RunReport) -> str:
    """Return a line with the number of suppressed findings by reason, or an empty string."""
    found = Counter(suppressed.because for _, suppressed in suppressions(report))
    said = [f"{found[why]} {why.value}" for why in SuppressionReason if found[why]]
    return f"Suppressed: {', '.join(said)}." if said else ""


# -- places


def place_of(declaration: Declaration, around: Around, path: model.Path | None = None) -> SourcePlace | None:
    """Return where a resource, or the field at a path of it, is declared; None if that is no file."""
    file = declaration.location.file
    if not file or file == STDIN:
        return None
    line = declaration.location.line or 1 if path is None else line_of(declaration, path)
    for full in (os.path.normpath(around.cwd / file), os.path.realpath(around.cwd / file)):
        for root in (around.root, Path(os.path.realpath(around.root))):
            if Path(full).is_relative_to(root):
                return SourcePlace(Path(full).relative_to(root).as_posix(), line, is_below_root=True)
    return SourcePlace(Path(os.path.normpath(around.cwd / file)).as_posix(), line, is_below_root=False)


def line_of(declaration: Declaration, path: model.Path) -> int:
    """Return the line of the key that declares the field at a path, or of the nearest one above it."""
    here: Json = declaration.desired
    pointer: model.Pointer = source_location.resource_pointer(declaration)
    for step in path:
        key = _key(here, step)
        if key is None:
            break
        here, pointer = here[key], (*pointer, key)
    for length in range(len(pointer), 0, -1):
        line = declaration.places.get(paths.format_path(pointer[:length]))
        if line is not None:
            return line
    return declaration.location.line or 1


def _key(here: Json, step: model.Step) -> str | int | None:
    """Return the key or index that a step means in a declaration, None if nothing is declared there."""
    if isinstance(here, dict):
        return str(step) if not isinstance(step, model.Selector) and str(step) in here else None
    if not isinstance(here, list):
        return None
    if isinstance(step, model.Selector):
        return next((index for index, item in enumerate(here) if paths.selects(step, item)), None)
    index = int(step) if isinstance(step, int) or step.isdecimal() else -1
    return index if 0 <= index < len(here) else None


def path_of(suppressed: Suppressed) -> model.Path | None:
    """Return the path of something suppressed; None if it is a pattern rather than one place."""
    if suppressed.finding is not None:
        return suppressed.finding.path
    try:
        return paths.parse_path(suppressed.path)
    except PathError:
        return None


# -- values


def path_text(path: model.Path) -> str:
    """Write a path; the whole document has a name, too."""
    return paths.format_path(path) or "(document)"


def for_programs(value: Json) -> Json:
    """Return a value for a property bag: as it is, unless it is too large or was not kept."""
    return display_value.bounded(value, LONGEST_VALUE)


def is_write(around: Around) -> bool:
    """Return True if the rendering is about planned writes, rather than about drift."""
    return around.command == "plan"


def before_and_after(finding: Finding, *, write: bool) -> tuple[Json, Json]:
    """Return the two sides of a diff: drift goes from declared to live, a write from live to declared.

    An undeclared field is compared with the baseline.
    """
    declared = finding.desired if finding.desired is not ABSENT else finding.baseline
    return (finding.observed, declared) if write else (declared, finding.observed)


def sides(*, write: bool) -> tuple[str, str]:
    """Name the two sides of a diff."""
    return ("live", "declared") if write else ("declared", "live")
