"""The comparison of two documents, for Python programs: `holdfast.compare`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from holdfast.compare import diff, profiles, verdict_rules
from holdfast.compare.profile import Profile
from holdfast.errors import InputError, Location
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.model.record import dataclass
from holdfast.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict on two documents, and the differences behind it."""

    findings: tuple[Finding, ...]
    verdict: Verdict


def compare(
    desired: Json, live: Json, *, profile: str | PathLike[str] | None = None, baseline: Json | None = None
) -> Comparison:
    """Compare a declaration with live state.

    `profile` is a file with the rules of the kind. With `baseline`, the live state after the last write, a finding also
    says whether the declaration or the live state changed.
    """
    rules = profiles.stack(_profiles(profile)).tree(desired, live)
    known = None if baseline is None else diff.Baseline(desired, baseline)
    verdict = verdict_rules.judge(Found(live), desired, rules, applied=desired, baseline=known)
    return Comparison(tuple(verdict.findings), verdict)


def _profiles(file: str | PathLike[str] | None) -> list[Profile]:
    if file is None:
        return []
    try:
        return profiles.parse(Path(file).read_bytes(), str(file))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", Location(str(file))) from None
