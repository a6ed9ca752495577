"""Values of references: the declared value if there is one, else the live value, and whether it can be relied on.

A reference to a declared field takes the declared value, so that a change made outside Holdfast is never copied into
other resources. A reference to an undeclared field (an id, a default of the service) takes the live value. While that
is changed outside Holdfast, missing or unreadable at its source, the previous value is used and the resource that
refers to it is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding, Op
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer, Selector, Step
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status
from holdfast.policy.references import HeldReference, ReferenceTarget, Resolution, Unresolved
from holdfast.reconcile.redact import FINGERPRINT
from holdfast.store.state import Digest, ResourceState

if TYPE_CHECKING:
    from holdfast.reconcile.check import CheckResult

MOVED = frozenset({Status.DRIFTED, Status.CONFLICTED})
_ELEMENTS = frozenset({Op.ELEMENT_ADDED, Op.ELEMENT_MISSING, Op.REORDERED})


@dataclass(slots=True)
class Sources:
    """The known facts about the resources that some declarations refer to."""

    states: Mapping[Address, ResourceState]
    documents: dict[Digest, Json]
    findings: dict[Address, Sequence[Finding]]
    ahead: bool = False  # look ahead: what is declared is known before it is there
    declared: dict[Address, Resolution] = field(default_factory=dict)  # of those whose declaration is at hand

    def look_up(self, wanted: ReferenceTarget) -> Json | Unresolved | HeldReference:
        """Return the value of a referenced field, why there is none yet, or why it cannot be relied on now."""
        state = self.states.get(wanted.address)
        if state is None or (state.observed.document is None and state.applied.document is None):
            declared = self._declared(wanted, None) if self.ahead and not wanted.is_id else ABSENT
            return Unresolved(f"known after {wanted.address} is applied") if declared is ABSENT else declared
        if wanted.is_id:
            return self._id(wanted, state)
        declared = self._declared(wanted, state)
        return self._live(wanted, state) if declared is ABSENT else declared

    def add(self, checked: CheckResult) -> None:
        """Take a check of this run into account: the store may not have it yet."""
        self.findings[checked.address] = checked.verdict.findings
        seen, known = checked.evaluation.observation, checked.evaluation.known
        if seen.digest is not None:
            self.documents[seen.digest] = seen.document
        if known.baseline is not None and known.baseline_digest is not None:
            self.documents[known.baseline_digest] = known.baseline.observed

    @staticmethod
    def _id(wanted: ReferenceTarget, state: ResourceState) -> Json | Unresolved | HeldReference:
        if state.observed.provider_id is None:
            return Unresolved("it has no id yet")
        if state.observed.status is Status.MISSING:
            return HeldReference(state.observed.provider_id, f"{wanted.address} is missing")
        return state.observed.provider_id

    def _declared(self, wanted: ReferenceTarget, state: ResourceState | None) -> Json | Unresolved | HeldReference:
        """Return the declared value of a field, or ABSENT."""
        resolution = self.declared.get(wanted.address)
        if resolution is None:  # its declaration is not at hand: as it was last seen, secrets as fingerprints
            desired = None if state is None else state.declared.document
            value = ABSENT if desired is None else paths.resolve(self.documents.get(desired, ABSENT), wanted.path)
            return value if value is ABSENT else _readable(wanted, value)
        for pending in resolution.pending:
            if touches(pending.pointer, wanted.path):
                return Unresolved(f"{wanted.address} waits for ${{{pending.text}}}: {pending.reason}")
        value = paths.resolve(resolution.document, wanted.path)
        held = next((item for item in resolution.held if touches(item.pointer, wanted.path)), None)
        return value if held is None or value is ABSENT else HeldReference(value, held.reason)

    def _live(self, wanted: ReferenceTarget, state: ResourceState) -> Json | Unresolved | HeldReference:
        observed = (
            self.documents.get(state.observed.document, ABSENT) if state.observed.document is not None else ABSENT
        )
        why = self._unreliable(wanted, state)
        baseline = (
            self.documents.get(state.applied.baseline, ABSENT) if why and state.applied.baseline is not None else ABSENT
        )
        value = paths.resolve(observed if baseline is ABSENT else baseline, wanted.path)
        if value is ABSENT:
            return Unresolved(why or f"{wanted.address} has no field {paths.format_path(wanted.path)}")
        readable = _readable(wanted, value)
        return readable if isinstance(readable, Unresolved) or not why else HeldReference(readable, why)

    def _unreliable(self, wanted: ReferenceTarget, state: ResourceState) -> str:
        """Return the reason why the live value of a field cannot be relied on now, or an empty string."""
        if state.observed.status is Status.MISSING:
            return f"{wanted.address} is missing"
        if state.observed.status is Status.UNKNOWN:
            return f"{wanted.address} is unknown: {state.observed.reason}"
        if state.observed.status in MOVED:
            for finding in self.findings.get(wanted.address, ()):
                if finding.changed_by is not ChangedBy.DECLARED and touches(_place(finding), wanted.path):
                    return f"{wanted.address} was changed outside Holdfast at {paths.format_path(finding.path)}"
        return ""


def _readable(wanted: ReferenceTarget, value: Json) -> Json | Unresolved:
    """Return a stored value, unless it is a secret of which only the fingerprint was kept."""
    if _has_fingerprint(value):
        place = paths.format_path(wanted.path)
        return Unresolved(f"{wanted.address} has a secret at {place}, which is not stored; read its manifest, too")
    return value


def _has_fingerprint(value: Json) -> bool:
    if isinstance(value, str):
        return value.startswith(FINGERPRINT)
    if isinstance(value, Mapping):
        return any(map(_has_fingerprint, value.values()))
    return isinstance(value, list) and any(map(_has_fingerprint, value))


def _place(finding: Finding) -> Path:
    """Return where a finding may move values: an element that comes or goes moves the others of its list."""
    return finding.path[:-1] if finding.op in _ELEMENTS and finding.path else finding.path


def touches(one: Path | Pointer, other: Path | Pointer) -> bool:
    """Return True if one path may be equal to, above or below the other; an element may be named in several ways."""
    return all(_may_be_same(a, b) for a, b in zip(one, other, strict=False))


def _may_be_same(one: Step, other: Step) -> bool:
    if isinstance(one, Selector) and isinstance(other, Selector):
        mine, theirs = dict(one.fields), dict(other.fields)
        return all(theirs[name] == value for name, value in mine.items() if name in theirs)
    if isinstance(one, Selector) or isinstance(other, Selector):
        rest = other if isinstance(one, Selector) else one
        return str(rest).isdigit()
    return str(one) == str(other)
