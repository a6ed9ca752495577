"""Explanations of the classes of drift, for formats in which a tool explains its rules."""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast.model.finding import FindingClass
from holdfast.model.verdict import Status


class SarifRule(NamedTuple):
    """One rule; the level is that of a typical result, which may have another."""

    level: str
    title: str
    help: str


# The ids are the classes of findings, and statuses where there is no finding.
RULES: Final = {
    FindingClass.SPECIFIED.value: SarifRule(
        "error",
        "A declared value differs",
        "The live resource does not have the value that the manifest declares. "
        "Apply to revert it, or change the declaration if the live value is right.",
    ),
    FindingClass.DEFAULTED.value: SarifRule(
        "error",
        "A value that the service had filled in differs",
        "No manifest declares this field. The service had filled it in by the time of the last write, and it has "
        "changed since. Declare the value that you want.",
    ),
    FindingClass.UNDECLARED.value: SarifRule(
        "error",
        "Something undeclared appeared or disappeared",
        "This field is neither declared nor was it there after the last write. "
        "Declare it, or remove it from the live resource.",
    ),
    FindingClass.REMOVED.value: SarifRule(
        "error",
        "A field that is no longer declared is still there",
        "The declaration dropped this field, the live resource still has it. Apply to remove it.",
    ),
    FindingClass.ELEMENT.value: SarifRule(
        "error",
        "An element of a list was added or removed",
        "The live list does not have the elements that are declared. Apply to revert it, or declare the live ones.",
    ),
    FindingClass.SECRET.value: SarifRule(
        "error",
        "A secret differs",
        "The fingerprints of the declared and the live secret differ; the secrets themselves are not kept anywhere. "
        "Apply to set the declared one, or update where the declaration takes it from.",
    ),
    FindingClass.ORDER.value: SarifRule(
        "error",
        "The order of a list differs",
        "The elements are those declared, in another order, and for this list order matters.",
    ),
    Status.MISSING.value: SarifRule(
        "error",
        "The resource is missing",
        "It was deleted outside Holdfast. Apply to recreate it where that is allowed, or remove its manifest.",
    ),
    Status.PENDING.value: SarifRule(
        "note",
        "The declaration is not applied yet",
        "The resource is declared and not there, or waits for one that it refers to. Apply to make it.",
    ),
    Status.UNKNOWN.value: SarifRule(
        "warning",
        "The resource could not be read",
        "Nothing can be said about it, neither that it is in sync nor that it drifted. See the reason; check again.",
    ),
}
