"""A declaration made ready for a check: settings resolved, references filled in, secrets split off, rules chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from holdfast.compare import canonical, paths
from holdfast.compare.profile import Profile
from holdfast.model.condition import ConditionType
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration, ManagementPolicy, Origin
from holdfast.model.verdict import Status, Suppressed, SuppressionReason
from holdfast.policy.settings import Level, Settings
from holdfast.providers.protocol import Kind, Target
from holdfast.reconcile.known_secrets import SHORTEST
from holdfast.reconcile.redact import RedactionContext, redact, revealed, secret_profile
from holdfast.store.state import DeclaredState, Digest, ResourceState

if TYPE_CHECKING:
    from holdfast.compare.profiles import RuleSet
    from holdfast.compare.rule_tree import RuleTree
    from holdfast.reconcile.secret_paths import SecretPlace

NOT_DECLARED: Final = "NotDeclared"  # the reason of the condition Fresh of what is declared nowhere any more
POLICY = "policy/ignored"  # the profile that a policy of ignoring becomes
_SECRET_CLASSES: Final = ("secret", "write_only")  # of `FieldClass`


@dataclass(frozen=True, slots=True)
class RuleMigration:
    """How the rules of now took over from others; see `succeeding`."""

    suppressed: tuple[Suppressed, ...] = ()  # what differs by the new rules alone, and so does not count
    documents: Mapping[Digest, Json] = field(default_factory=dict)  # to be kept with the check
    unreadable: str = ""  # why nothing can be said

    def paths(self, because: SuppressionReason) -> tuple[str, ...]:
        """Return where something of a sort was suppressed."""
        return tuple(suppressed.path for suppressed in self.suppressed if suppressed.because is because)


@dataclass(frozen=True, slots=True)
class RulesInForce:
    """The rules of a resource, with the document that they can be rebuilt from."""

    profiles: tuple[Profile, ...]
    document: Json
    digest: Digest
    data: bytes  # the document as it is stored
    has_secrets: bool  # they call something secret
    _stacked: list[RuleSet] = field(default_factory=list, repr=False, compare=False)

    @property
    def stacked(self) -> RuleSet:
        """The rules, compiled when they are first asked for: an unchanged resource needs only their digest."""
        if not self._stacked:
            from holdfast.compare import profiles  # noqa: PLC0415

            self._stacked.append(profiles.stack(self.profiles))
        return self._stacked[0]


@dataclass(frozen=True, slots=True)
class SecretPaths:
    """Where the secrets of a declaration stand."""

    paths: tuple[Path, ...] = ()
    places: SecretPlace | None = None  # where they may stand in a live document
    patterns: tuple[str, ...] = ()  # the same as paths with wildcards, for rules


@dataclass(frozen=True, slots=True)
class ResolvedResource:
    """Everything about a resource that is known before its live state is read."""

    declaration: Declaration
    settings: Settings
    kind: Kind
    clear: Json = field(repr=False)  # with secrets; for the writer only
    desired: Json  # secrets as fingerprints
    desired_digest: Digest
    secrets: SecretPaths
    rules: RulesInForce
    state: ResourceState | None
    depends_on: tuple[str, ...] = ()
    options: Mapping[str, Json] = field(default_factory=dict)  # the settings in force, as they are remembered
    migration: RuleMigration | None = None  # what took over from the rules that it was judged by before
    held: str = ""  # which reference cannot be relied on now, and why; nothing is written meanwhile
    version: str | None = None  # of the API to read in, while what is known was learnt in another than the usual one
    is_retried: bool = False  # a person asks: what stopped an earlier run is tried again

    def secret_values(self) -> tuple[str, ...]:
        """Return the secrets in clear that are long enough to be recognised inside other texts."""
        found = (paths.resolve(self.clear, path) for path in self.secrets.paths)
        return tuple(value for value in found if isinstance(value, str) and len(value) >= SHORTEST)

    def redacted(self, observed: Json, means: RedactionContext) -> Json:
        """Return the observed document with fingerprints for its secrets. It is the same object if it has none."""
        rules = self.rules.stacked.tree(self.desired, observed) if self.rules.has_secrets else None
        if self.secrets.paths:
            own = tuple(value for value in self.secret_values() if not means.known.knows(value))
            means = replace(means, own=own, desired=self.desired)
        elif rules is not None:
            means = replace(means, desired=self.desired)
        return redact(observed, self.secrets.places, rules, means)

    def revealed(self, document: Json) -> Json:
        """Return a redacted document with the declared secrets in the places of their fingerprints, for the writer."""
        found = {paths.resolve(self.desired, path): paths.resolve(self.clear, path) for path in self.secrets.paths}
        return revealed(document, found) if found else document

    def target(self) -> Target:
        """Name the live thing for the provider."""
        address = self.declaration.address
        provider_id = self.state.observed.provider_id if self.state is not None else None
        return Target(address.kind, address.name, provider_id, self.clear, address.namespace, self.version)

    @property
    def is_only_seen(self) -> bool:
        """True for an observed resource that was never written: it has no baseline."""
        if self.declaration.policy is not ManagementPolicy.OBSERVED:
            return False
        return self.state is None or (self.state.applied.document, self.state.applied.baseline) == (None, None)

    @property
    def is_under_other_rules(self) -> bool:
        """True if the last evaluation used other rules than those in force now."""
        state = self.state
        if state is None or state.applied.rules is None or state.applied.rules == self.rules.digest:
            return False
        if None in (state.observed.document, state.declared.document):
            return False
        return self.is_only_seen or None not in (state.applied.document, state.applied.baseline)

    @property
    def is_urgent(self) -> bool:
        """True if a person waits for the check: the declaration was edited, or a check was requested."""
        state = self.state
        return (
            state is None
            or state.applied.document != self.desired_digest
            or state.schedule.requested != state.schedule.handled
        )

    @property
    def resync_seconds(self) -> float:
        """The time from a check to the next one. Without a setting it is the period that a watch has stored."""
        if self.settings.resync.period > 0 or self.settings.is_resync_set or self.state is None:
            return self.settings.resync.period
        before = self.state.declared.options.get("resyncPeriod", {}).get("from", "")
        return self.state.schedule.resync_seconds if str(before).startswith(Level.BUILT_IN) else 0.0

    @property
    def is_left_alone(self) -> bool:
        """True if only a person triggers a check: there are no periodic checks, and the declaration was not edited."""
        state = self.state
        if state is None or self.settings.resync.period > 0 or not self.settings.is_resync_set:
            return False
        is_settled = (
            state.observed.status not in (None, Status.PENDING) and state.schedule.requested == state.schedule.handled
        )
        is_same = state.declared.document == self.desired_digest and state.applied.document in (
            None,
            self.desired_digest,
        )
        return is_settled and is_same and not is_no_longer_declared(state)

    def as_declared(self) -> ResourceState | None:
        """Return the state with the present settings of the declaration. It is the same object if nothing changed."""
        state = self.state
        if state is None:
            return None
        said = replace(
            state,
            declared=replace(
                state.declared,
                options=self.options,
                labels=self.declaration.labels,
                depends_on=self.depends_on,
                source=str(self.declaration.location) or None,
            ),
            schedule=replace(
                state.schedule,
                resync_seconds=self.resync_seconds,
                due_at=None if self.resync_seconds <= 0 else state.schedule.due_at,
            ),
        )
        return state if said == state else said

    def without_id(self) -> ResolvedResource:
        """Return the resource without its id, because that one was deleted: the resource with its name is meant now."""
        return self.with_state(
            replace(self.state, observed=replace(self.state.observed, provider_id=None))
            if self.state is not None
            else None
        )

    def with_id(self, provider_id: str | None) -> ResolvedResource:
        """Return the resource with the id that our write returned, in the usual version of the API."""
        state = self.state or ResourceState(self.declaration.address, DeclaredState(self.declaration.provider))
        return replace(
            self, state=replace(state, observed=replace(state.observed, provider_id=provider_id)), version=None
        )

    def rules_for(self, observed: Json) -> tuple[RuleTree, Json]:
        """Return the rules in force for an observation, and the part of them that the secrets brought in."""
        stacked = self.rules.stacked
        if not self.secrets.paths:
            return stacked.tree(self.desired, observed), None
        from holdfast.compare.profiles import build  # noqa: PLC0415

        raw = secret_profile(self.secrets.patterns, observed, stacked.tree(self.desired, observed))
        return stacked.preceded_by(build(raw)).tree(self.desired, observed), raw

    def with_state(self, state: ResourceState | None) -> ResolvedResource:
        """Return the same with another memory."""
        return replace(self, state=state)


def is_no_longer_declared(state: ResourceState) -> bool:
    """Return True if a resource was found to be declared nowhere any more."""
    return any(
        condition.type is ConditionType.FRESH and condition.reason == NOT_DECLARED
        for condition in state.observed.conditions
    )


def rules_of(profiles: Sequence[Profile]) -> RulesInForce:
    """Return the rules of profiles with a document from which they can be rebuilt."""
    document = [profile.raw for profile in profiles]
    is_known = any(profile.is_schema for profile in profiles)  # then guesses do not count
    rules = (rule for raw in document for rule in raw.get("rules") or () if not (is_known and rule.get("guess")))
    has_secrets = any(rule.get("class") in _SECRET_CLASSES for rule in rules)
    data = document_bytes(document)
    return RulesInForce(tuple(profiles), document, Digest(canonical.digest_bytes(data)), data, has_secrets)


def document_bytes(document: Json) -> bytes:
    """Return the bytes under which a document is kept."""
    return canonical.canonical_bytes(document, lists="ordered")


def digest_of(document: Json) -> Digest:
    """Return the digest under which a document is kept."""
    return Digest(canonical.digest_bytes(canonical.canonical_bytes(document, lists="ordered")))


def origin_of(declaration: Declaration, state: ResourceState | None) -> Origin:
    """Return how a resource comes to us: said once, when it is first written or taken over, and never changed."""
    if state is not None and (state.applied.document is not None or state.applied.origin is Origin.IMPORTED):
        return state.applied.origin
    return Origin.IMPORTED if declaration.import_from is not None else Origin.CREATED
