"""Preparing a fleet: everything declared, with its settings, references, secrets and rules, ready to be looked at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from holdfast.compare import paths, quick_scan
from holdfast.compare.profile import Profile
from holdfast.errors import InputError
from holdfast.manifests.secrets import SECRET_REF, Resolver, resolve_secrets
from holdfast.manifests.secrets import find as find_secrets
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration, Import, ManagementPolicy, Origin
from holdfast.policy import dependency_graph, references, settings, source_location, strategies
from holdfast.policy.dependency_graph import Graph
from holdfast.policy.references import Resolution
from holdfast.policy.settings import Layer, Scoped, Settings
from holdfast.policy.strategies import Strategy
from holdfast.providers.protocol import Draft, Kind, ReadFailed
from holdfast.reconcile import reference_values
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.known_secrets import SHORTEST, Fingerprint
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.redact import RedactionContext, guarded, redact, split
from holdfast.reconcile.reference_values import Sources
from holdfast.reconcile.resolved_resource import (
    POLICY,
    ResolvedResource,
    RulesInForce,
    SecretPaths,
    digest_of,
    origin_of,
    rules_of,
)
from holdfast.store.protocol import Store
from holdfast.store.state import DeclaredState, ResourceState

if TYPE_CHECKING:
    from holdfast.reconcile.check import CheckResult

BATCH: Final = 500  # read from the store at a time
NO_SECRETS: Final = SecretPaths()


@runtime_checkable
class IndexedDeclarations(Protocol):
    """Declarations that an index answers questions about, so that not all of them are decoded."""

    def with_secrets(self) -> Iterable[Declaration]:
        """Iterate over the declarations that may refer to secrets."""

    def connections(self) -> set[str]:
        """Return the connections that declarations use."""

    def many(self, addresses: Sequence[Address]) -> Mapping[Address, Declaration]:
        """Return the declarations of some addresses, read together."""


@dataclass(frozen=True, slots=True)
class ResourceSet:
    """The declarations, and the settings that govern them."""

    declarations: Mapping[Address, Declaration]
    graph: Graph
    strategies: Sequence[Strategy] = ()
    outer: Sequence[Layer | Scoped] = ()  # flag, environment, project file
    profiles: Sequence[Profile] = ()  # the user's own, before the shipped ones

    def connections(self) -> set[str]:
        """Return the connections that declarations use."""
        if isinstance(self.declarations, IndexedDeclarations):
            return self.declarations.connections()
        return {address.connection for address in self.declarations}

    def many(self, addresses: Sequence[Address]) -> Mapping[Address, Declaration]:
        """Return the declarations of at least some addresses, read together where they are in an index."""
        return (
            self.declarations.many(addresses)
            if isinstance(self.declarations, IndexedDeclarations)
            else self.declarations
        )

    def with_secrets(self) -> Iterable[Declaration]:
        """Iterate over the declarations that may refer to secrets."""
        if isinstance(self.declarations, IndexedDeclarations):
            return self.declarations.with_secrets()
        declared = self.declarations.values()
        return (
            declaration for declaration in declared if quick_scan.may_mention(dict(declaration.desired), SECRET_REF)
        )


@dataclass(frozen=True, slots=True)
class Blocked:
    """A declaration that cannot be looked at yet, and why."""

    declaration: Declaration
    reason: str
    is_error: bool = False


@dataclass(slots=True)
class ResourceResolver:
    """Turns declarations into resolved resources, as far as their references have values."""

    store: Store
    world: Connections
    fleet: ResourceSet
    fingerprint: Fingerprint
    secrets: Callable[[Declaration], Resolver]
    retries: bool = False  # for a person who asks: what stopped an earlier run is tried again
    _rules: dict[tuple[str, ...], RulesInForce] = field(default_factory=dict)
    _knows_all: bool = False  # every secret of the fleet is among the known ones
    _settings: dict[tuple[Json, ...], tuple[Settings, Mapping[str, Json]]] = field(default_factory=dict)
    _watched: set[Address] = field(default_factory=set)  # of which others take live values
    _looked: dict[Address, CheckResult] = field(default_factory=dict)  # of these, as this run found them

    async def prepare(
        self, addresses: Iterable[Address], *, ahead: bool = False
    ) -> tuple[list[ResolvedResource], list[Blocked]]:
        """Resolve some resources of the fleet. A resource with a reference that has no value yet is blocked.

        With `ahead`, for a plan, a resource is blocked only by values that no manifest declares.
        """
        self._know_all()
        ready: list[ResolvedResource] = []
        waiting: list[Blocked] = []
        wanted = list(addresses)
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            sources = await self._sources(batch, ahead=ahead)
            declared = self.fleet.many(batch)
            for address in batch:
                resource = await self._one(declared[address], sources)
                (ready if isinstance(resource, ResolvedResource) else waiting).append(resource)  # type: ignore[arg-type]
        return ready, waiting

    def _know_all(self) -> None:
        """Learn every secret of the fleet before anything is read, because other resources may show it.

        A secret that cannot be fetched is reported when its resource is resolved.
        """
        if self._knows_all:
            return
        self._knows_all = True
        for declaration in self.fleet.with_secrets():
            resolver = self.secrets(declaration)
            for _, reference in find_secrets(dict(declaration.desired)):
                if not isinstance(reference, InputError):
                    with contextlib.suppress(InputError):
                        self.world.known.add(resolver.fetch(reference).reveal())

    async def _sources(self, wanted: Sequence[Address], *, ahead: bool) -> Sources:
        """Return the known facts about all direct and indirect dependencies of some declarations."""
        graph = self.fleet.graph
        if not graph.edges or (not graph.bindings and not any(map(graph.dependencies, wanted))):
            return Sources(dict(await self.store.states(wanted)), {}, {}, ahead)
        reached = graph.needed_by(wanted)
        needed = {target for address in reached for target in graph.dependencies(address)}
        states = dict(await self.store.states([*wanted, *(needed - set(wanted))]))
        fresh = {address: self._looked[address] for address in needed if address in self._looked}
        states |= {address: checked.state for address, checked in fresh.items()}
        known = [states[address] for address in needed if address in states]
        kept = {
            digest
            for state in known
            for digest in (state.observed.document, state.applied.baseline, state.declared.document)
            if digest
        }
        moved = [
            state.address
            for state in known
            if state.observed.status in reference_values.MOVED and state.address not in fresh
        ]
        records = await self.store.findings_of(moved) if moved else {}
        findings: dict[Address, Sequence[Finding]] = {
            address: [record.finding for record in item] for address, item in records.items()
        }
        sources = Sources(states, await self.store.documents(sorted(kept)), findings, ahead)
        for checked in fresh.values():
            sources.add(checked)
        await self._declare(sources, reached)
        return sources

    def in_turn(self, wanted: Sequence[Address]) -> list[list[Address]]:
        """Split the resources into layers, so that the sources of live values are checked before their dependents."""
        if not self.fleet.graph.bindings:
            return [list(wanted)]
        among = set(wanted)
        needs = {address: live & among for address in wanted if (live := self._live_sources(address))}
        self._watched = {source for sources in needs.values() for source in sources}
        if not self._watched:
            return [list(wanted)]
        layers = dependency_graph.layers_of({address: needs.get(address, ()) for address in wanted})
        places = {address: place for place, address in enumerate(wanted)}
        return [sorted(layer, key=places.__getitem__) for layer in layers]

    def _live_sources(self, address: Address) -> set[Address]:
        """Return the resources from which a declaration takes undeclared values."""
        bound = self.fleet.graph.bindings.get(address, {}).values()
        return {field.address for field in bound if field.is_id or not self._is_declared(field)}

    def _is_declared(self, wanted: references.ReferenceTarget) -> bool:
        declaration = self.fleet.declarations.get(wanted.address)
        return declaration is not None and paths.resolve(declaration.desired, wanted.path) is not ABSENT

    def note(self, checked: CheckResult) -> None:
        """Remember a check of this run for the dependents that take live values from the resource."""
        if self._watched and checked.address in self._watched:
            self._looked[checked.address] = checked

    async def _declare(self, sources: Sources, reached: Iterable[Address]) -> None:
        """Resolve the declarations that are referred to by fields, each after its own dependencies."""
        bindings, declared = self.fleet.graph.bindings, self.fleet.declarations
        fields = (binding for address in reached for binding in bindings.get(address, {}).values())
        wanted = {field.address for field in fields if not field.is_id and field.address in declared}
        for layer in dependency_graph.layers_of({item: self.fleet.graph.dependencies(item) for item in wanted}):
            for address in layer:
                declaration = declared[address]
                resolution = self._resolved(declaration, sources)
                kind = await self._kind(declaration)
                document = resolution.document
                if not resolution.pending:
                    document = _completed(declaration, kind, document, sources.states.get(address))
                ignored = self._settings_for(declaration)[0].ignored_paths
                rules = self._rules_for(declaration, kind, document, ignored)
                if rules.has_secrets:
                    document = guarded(document, rules.stacked.tree(document, ABSENT))
                sources.declared[address] = replace(resolution, document=document)

    def _resolved(self, declaration: Declaration, sources: Sources) -> Resolution:
        desired: Json = dict(declaration.desired)
        if not quick_scan.may_mention(desired, references.MARK, SECRET_REF):
            return Resolution(desired)
        # Secrets before references: the value of a reference comes from live state, and must not be read as a
        # request to fetch a secret and send it somewhere.
        bindings = self.fleet.graph.bindings.get(declaration.address, {})
        return references.resolve(self._with_secrets(declaration, desired), bindings, sources.look_up)

    async def _kind(self, declaration: Declaration) -> Kind:
        address = declaration.address
        reader = await self.world.reader(address.connection)
        kind = reader.kinds.get(declaration.type or address.kind) or reader.kinds.get(address.kind)
        if kind is None:
            known = ", ".join(sorted(reader.kinds)) or "none"
            message = f"connection {address.connection!r} has no kind {address.kind!r}; it has {known}"
            raise InputError(message, declaration.location)
        return kind

    async def _one(self, declaration: Declaration, sources: Sources) -> ResolvedResource | Blocked:
        address = declaration.address
        resolution: Resolution | None = None
        desired: Json = dict(declaration.desired)
        written = quick_scan.write(desired)
        if quick_scan.mentions(written, references.MARK, SECRET_REF):
            resolution, written = self._resolved(declaration, sources), None
            if resolution.pending:
                first = resolution.pending[0]
                return Blocked(declaration, f"${{{first.text}}} at {paths.format_path(first.pointer)}: {first.reason}")
            desired = resolution.document
        kind = await self._kind(declaration)
        state = sources.states.get(address)
        if declaration.import_from is not None and not _is_bound(declaration.import_from, state):
            bindings = self.fleet.graph.bindings.get(address, {})
            criteria = references.resolve(declaration.import_from.filter or {}, bindings, sources.look_up)
            if criteria.pending or criteria.held:
                first = (*criteria.pending, *criteria.held)[0]
                return Blocked(declaration, f"${{{first.text}}} in the import filter: {first.reason}")
            found = await self._import(declaration, state, criteria.document)
            if isinstance(found, Blocked):
                return found
            state = found
        if kind.complete is not None:
            desired, written = _completed(declaration, kind, desired, state), None
        chosen, options = self._settings_for(declaration)
        rules = self._rules_for(declaration, kind, desired, chosen.ignored_paths)
        if rules.has_secrets:
            desired, written = guarded(desired, rules.stacked.tree(desired, ABSENT)), None
        clear, redacted = desired, desired
        where: Sequence[Path] = ()
        if written is None and not quick_scan.is_plain(desired):
            clear, redacted, where = split(desired, self.fingerprint)
        secrets = NO_SECRETS
        if where:
            from holdfast.reconcile import secret_paths  # noqa: PLC0415

            places = secret_paths.of(desired)
            secrets = SecretPaths(tuple(where), places, secret_paths.patterns(where, desired, places))
        known = self.world.known
        if where or (not known.is_empty and (known or known.met(str(address)))):
            redacted = self._redacted(str(address), redacted, clear, secrets)
        return ResolvedResource(
            declaration,
            chosen,
            kind,
            clear,
            redacted,
            digest_of(redacted),
            secrets,
            rules,
            state,
            tuple(str(target) for target in self.fleet.graph.dependencies(address)),
            options,
            held=_held_because(resolution) if resolution is not None and resolution.held else "",
            is_retried=self.retries,
        )

    def _redacted(self, address: str, redacted: Json, clear: Json, secrets: SecretPaths) -> Json:
        """Return a declaration as observations of it will be redacted, so that the two can be compared."""
        known = self.world.known
        found = (paths.resolve(clear, path) for path in secrets.paths)
        texts = [value for value in found if isinstance(value, str) and len(value) >= SHORTEST]
        known.meet(texts, "")
        own = tuple(value for value in texts if not known.knows(value))
        return redact(redacted, secrets.places, None, RedactionContext(self.fingerprint, known, address, own))

    def _settings_for(self, declaration: Declaration) -> tuple[Settings, Mapping[str, Json]]:
        """Return the settings in force, and as they are remembered; shared by all that say nothing themselves."""
        address = declaration.address
        key = (declaration.provider, address.kind, declaration.type, *sorted(declaration.labels.items()))
        found = None if declaration.options else self._settings.get(key)
        if found is None:
            chosen = strategies.settings_for(declaration, self.fleet.strategies, self.fleet.outer)
            found = chosen, settings.as_json(chosen)
            if not declaration.options:
                self._settings[key] = found
        return found

    def _with_secrets(self, declaration: Declaration, desired: Json) -> Json:
        try:
            return resolve_secrets(desired, self.secrets(declaration))
        except InputError as error:
            raise error.at(declaration.location) from None

    def _rules_for(
        self, declaration: Declaration, kind: Kind, desired: Mapping[str, Json], ignored: tuple[str, ...]
    ) -> RulesInForce:
        names = [declaration.address.kind, *([declaration.type] if declaration.type else ())]
        version = kind.version_of(desired) if kind.versions is not None else ""
        key = (declaration.address.connection, version, *names, "", *ignored)
        found = self._rules.get(key)
        if found is None:
            about = (p for p in self.fleet.profiles if any(p.applies_to(declaration.provider, name) for name in names))
            users = list(about)
            policy = _ignoring(ignored) if ignored else []
            shipped = kind.profiles if kind.versions is None else kind.profiles_in(version)
            found = self._rules[key] = rules_of([*policy, *users, *shipped])
        return found

    async def _import(
        self, declaration: Declaration, state: ResourceState | None, criteria: Mapping[str, Json]
    ) -> ResourceState | Blocked:
        """Find the resource to import: by its id, or by a filter that must match exactly one."""
        wanted = declaration.import_from
        assert wanted is not None
        base = state or ResourceState(declaration.address, declared=DeclaredState(declaration.provider))
        origin = base.applied.origin if base.applied.document is not None else Origin.IMPORTED
        if wanted.id is not None:
            return replace(
                base,
                observed=replace(base.observed, provider_id=wanted.id),
                applied=replace(base.applied, origin=origin),
            )
        connection = declaration.address.connection
        reader = await self.world.reader(connection)
        try:
            async with self.world.gate(connection).turn(CallKind.READ):
                found = await reader.find(declaration.address.kind, criteria)
        except ReadFailed as error:
            return Blocked(declaration, self.world.known.hidden(f"what to import could not be looked up: {error}"))
        if len(found) == 1:
            return replace(
                base,
                observed=replace(base.observed, provider_id=found[0]),
                applied=replace(base.applied, origin=origin),
            )
        if not found:
            return Blocked(declaration, "nothing to import matches the filter yet")
        shown = ", ".join(sorted(found)[:4])
        return Blocked(
            declaration, f"{len(found)} things match the import filter, one is needed: {shown}", is_error=True
        )


def _is_bound(wanted: Import, state: ResourceState | None) -> bool:
    """Return True if the live resource is known. An id that was not found gives way to another one."""
    if state is None or state.observed.provider_id is None:
        return False
    return state.applied.document is not None or wanted.id is None or wanted.id == state.observed.provider_id


def _completed(declaration: Declaration, kind: Kind, desired: Json, state: ResourceState | None) -> Json:
    """Return the declaration completed by the provider with the fields that it leaves out."""
    if kind.complete is None:
        return desired
    address = declaration.address
    is_ours = declaration.policy is ManagementPolicy.MANAGED and origin_of(declaration, state) is Origin.CREATED
    try:
        return dict(kind.complete(Draft(address.name, address.namespace, desired, is_ours)))
    except InputError as error:
        place = paths.parse_path(error.location.field or "")
        raise InputError(error.message).at(source_location.desired(declaration, tuple(map(str, place)))) from None


def _ignoring(patterns: Sequence[str]) -> list[Profile]:
    """Return the rules that keep paths out of comparison and write, where policy asks for that."""
    from holdfast.compare import profiles  # noqa: PLC0415

    rules = [{"path": pattern, "class": "ignore", "why": "onDriftPaths says ignore"} for pattern in patterns]
    return [profiles.build({"profile": POLICY, "version": 1, "rules": rules})]


def _held_because(resolution: Resolution) -> str:
    """Return a message with the first reference that cannot be relied on now, and its reason."""
    first = resolution.held[0]
    return f"${{{first.text}}} at {paths.format_path(first.pointer)}: {first.reason}"
