"""The records of an evaluation: the observation, the known facts, the evidence, and the evaluation itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from holdfast.compare import verdict_rules
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found, ReadResult
from holdfast.model.record import dataclass
from holdfast.model.verdict import Suppressed, SuppressionReason, Verdict
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.store.governance import AcceptedValue, Pause, Quarantine
from holdfast.store.state import DeclaredState, Digest, ResourceState

if TYPE_CHECKING:
    from holdfast.compare import diff
    from holdfast.compare.rule_tree import RuleTree
    from holdfast.policy.waivers import Waiver

Signature = Callable[[Json], str | None]  # who wrote a document; None: unknown
Habits = Callable[[Json, Json, float], Mapping[str, str]]  # desired, observed, time: paths that the platform changes


@dataclass(frozen=True, slots=True)
class Observation:
    """The reading of a resource, secrets redacted."""

    reading: ReadResult | Unchanged
    digest: Digest | None = None  # of the document; None: nothing was found

    @property
    def document(self) -> Json:
        """Return the document that was read, ABSENT if there is none."""
        return self.reading.document if isinstance(self.reading, Found) else ABSENT


@dataclass(frozen=True, slots=True)
class Known:
    """The facts known of a resource from our last write."""

    applied: Json = ABSENT
    baseline: diff.Baseline | None = None
    baseline_digest: Digest | None = None
    unresolved: frozenset[str] = frozenset()  # paths that our last write failed to revert
    pinned: frozenset[str] = frozenset()  # of these, the paths whose baseline value was sent without effect
    invalid: str = ""  # why the baseline does not count any more, as a sentence


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a resource. Each step returns a changed one, and the verdict is set last."""

    resource: ResolvedResource
    at: float
    observation: Observation
    known: Known = field(default_factory=Known)
    tree: RuleTree | None = None  # None: nothing was compared
    secret_rules: Json = None
    findings: tuple[Finding, ...] = ()  # that count
    suppressed: tuple[Suppressed, ...] = ()  # that are shown and do not count
    lapsed: str = ""  # expired waivers, or the reason why a create has an unknown outcome, as a sentence
    intent_moved: bool = False  # there is no baseline, and the declaration differs from what was applied
    carried_over: bool = False  # in sync by what the API shows in the version that the baseline was taken in
    platform: Mapping[str, str] = field(default_factory=dict)  # paths that the platform itself changed, and why
    verdict: Verdict = verdict_rules.UNCHANGED

    @property
    def is_unchanged(self) -> bool:
        """Return True if nothing changed since the last check, so that nothing was compared or decided."""
        return isinstance(self.observation.reading, Unchanged)

    @property
    def joined(self) -> list[Suppressed]:
        """Return the defaults that joined the baseline with this check."""
        return [suppressed for suppressed in self.suppressed if suppressed.because is SuppressionReason.LATE]

    @property
    def before(self) -> ResourceState:
        """Return the state before this check."""
        declaration = self.resource.declaration
        return self.resource.state or ResourceState(declaration.address, declared=DeclaredState(declaration.provider))


@dataclass(frozen=True, slots=True)
class Overrides:
    """The decisions of people that have not expired, for a whole run."""

    pauses: tuple[Pause, ...] = ()
    quarantines: Mapping[Address, Mapping[str, Quarantine]] = field(default_factory=dict)
    acceptances: Mapping[Address, Sequence[AcceptedValue]] = field(default_factory=dict)
    approved: frozenset[str] = frozenset()  # digests of plans
    unsure: Mapping[Address, str] = field(default_factory=dict)  # creates with an unknown result, and what to do


@dataclass(frozen=True, slots=True)
class EvaluationInput:
    """All that the steps look at beside the resource and the observation."""

    now: float
    documents: Mapping[Digest, Json] = field(default_factory=dict)
    overrides: Overrides = field(default_factory=Overrides)
    waivers: Sequence[Waiver] = ()
    signature: Signature | None = None
    touched: bool = False  # the provider says that another writer has written since we did
    habits: Habits | None = None
    newer: tuple[ResolvedResource, Observation] | None = None  # in the new API version, while the old one is evaluated
