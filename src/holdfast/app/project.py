"""A project: a store, connections, policy and declarations, opened together and closed together.

The only composition root. Must not be here: parsing of command lines, signals, rendering.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import holdfast.store
from holdfast.app import selection, store_location, undeclared
from holdfast.app.options import ProjectOptions, Reads
from holdfast.app.report import ApplyReport, CheckReport
from holdfast.app.sources.catalog import Catalog, open_catalog
from holdfast.app.sources.files import FileSource, find_config
from holdfast.app.wiring import Engine
from holdfast.errors import InputError, StoreError
from holdfast.manifests import file_discovery, loader, provider_validation, user_profiles
from holdfast.manifests import project as project_files
from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.policy import settings
from holdfast.policy.dependency_graph import Graph
from holdfast.providers import registry
from holdfast.providers.protocol import Connection
from holdfast.reconcile.check import Checker
from holdfast.reconcile.clock import Clock, SystemClock
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.rate_limit import RateLimits
from holdfast.reconcile.report import Sink, keep_all
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.schema.document import raise_all
from holdfast.store import audit_head_file

if TYPE_CHECKING:
    from holdfast.app.plan import Plan
    from holdfast.policy.waivers import Waiver
    from holdfast.reconcile.apply import Applier, Progress
    from holdfast.reconcile.report import RunReport
    from holdfast.reconcile.undo import CorrectionUndo, Undone
    from holdfast.rollouts.core.template_groups import TemplateGroup
    from holdfast.rollouts.core.templates import Template
    from holdfast.store.protocol import Store
    from holdfast.store.state import ResourceState


@dataclass(frozen=True, slots=True)
class Project:
    """An open project. It never changes: a method that learns something new returns another one."""

    options: ProjectOptions
    config: project_files.ProjectFile
    engine: Engine
    store_file: Path
    resources: ResourceSet
    selected: tuple[Address, ...]
    secrets: Resolver
    known_secrets: KnownSecrets  # never shown
    templates: tuple[Template, ...] = ()
    manual: tuple[Declaration, ...] = ()  # declared without the children of templates
    groups: tuple[TemplateGroup, ...] = ()  # templates with their children, as an apply would record them
    known: tuple[Address, ...] = ()  # of the store, and not declared: references may name them
    undeclared: tuple[ResourceState, ...] = ()  # of the store, and no longer in the manifests that were read
    opened_connections: frozenset[str] = frozenset()  # none: those of the declarations
    retries: bool = False  # a person asks: resources that stopped an earlier run are tried again

    @property
    def store(self) -> Store:
        """The store of the project."""
        return self.engine.store

    @property
    def clock(self) -> Clock:
        """The clock of the project."""
        return self.engine.clock

    def secrets_for(self, declaration: Declaration) -> Resolver:
        """Return the resolver of a declaration's secrets."""
        spec = self.config.connections[declaration.address.connection]
        folder = str(Path(declaration.location.file or ".").parent)
        return self.secrets.within(folder, spec.name, spec.secrets)

    def connections(self) -> Connections:
        """Return the connections, for reading only."""
        return Connections(*self._connection_arguments())

    def writable_connections(self) -> WritableConnections:
        """Return the connections, for reading and writing."""
        return WritableConnections(*self._connection_arguments())

    def _connection_arguments(self) -> tuple[Any, ...]:
        declared = self.resources.connections()
        connections, limits = {}, {}
        for name in self.opened_connections or declared or set(self.config.connections):
            spec = self.config.connections[name]
            fetched = spec.fetch_secrets(self.secrets) if spec.secrets else {}
            clear = {key: str(secret.reveal()) for key, secret in fetched.items()}
            connections[name] = Connection(name, spec.provider, spec.settings, clear, spec.base_dir)
            limits[name] = _limits(spec) if spec.limits != NO_LIMITS else RateLimits()
        providers = {spec.provider: registry.get(spec.provider) for spec in connections.values()}
        return connections, providers, limits, self.clock, self.known_secrets

    def resolver(self, connections: Connections, resources: ResourceSet | None = None) -> ResourceResolver:
        """Return the component that resolves references, secrets and settings of declarations."""
        resources = resources if resources is not None else self.resources
        return self.engine.resolver(connections, resources, self.secrets_for, retries=self.retries)

    def checker(self, connections: Connections) -> Checker:
        """Return the component that reads live state and reaches verdicts."""
        return self.engine.checker(connections)

    def applier(self, connections: WritableConnections, **arguments: Any) -> Applier:  # noqa: ANN401 - fields of Applier
        """Return the component that writes declarations to live state."""
        return self.engine.applier(connections, self.resolver(connections), **arguments)

    def undoer(self, connections: WritableConnections, checker: Checker) -> CorrectionUndo:
        """Return the component that undoes corrections."""
        return self.engine.undoer(connections, checker)

    # -- runs

    async def check(self) -> CheckReport:
        """Compare declared and live state of the selected resources; write nothing to live state."""
        return CheckReport(await self.run_check())

    async def run_check(
        self, progress: Progress | None = None, *, record: bool = True, sink: Sink = keep_all
    ) -> RunReport:
        """Run a check that shows its progress. Without `record` nothing is written to the store.

        `sink` receives each result as soon as it is final, and returns True if the report keeps it.
        """
        async with self.connections() as connections:
            project = self
            if self.templates:  # resources that they select and the store does not know are checked first
                from holdfast.app import template_groups

                project = await template_groups.survey(self, connections)
            resolver = self.engine.resolver(connections, project.resources, self.secrets_for, retries=self.retries)
            checker = self.engine.checker(connections)
            report = await check_resources(
                resolver, checker, project.selected, progress, record=record, attribute=record, sink=sink
            )
        report.groups = list(project.selected_groups()) if project.groups else []
        report.undeclared = list(self.undeclared)
        if record and self.undeclared:
            await self._record_undeclared()
        return report

    async def plan(self, progress: Progress | None = None, sink: Sink = keep_all) -> Plan:
        """Check the selected resources and return the writes that an apply would make."""
        from holdfast.app import plan

        entries = plan.PlanEntries(sink)
        return plan.Plan.of(await replace(self, retries=True).run_check(progress, sink=entries), self.options)

    async def apply(self, plan: Plan | None = None) -> ApplyReport:
        """Write the selected declarations to live state, within the limits of the project.

        With a plan, exactly its writes are made. Raise `PlanStale`, and write nothing, if they are not the same now.
        """
        return ApplyReport(await self.run_apply(plan))

    async def run_apply(
        self,
        plan: Plan | None = None,
        *,
        stop: asyncio.Event | None = None,
        progress: Progress | None = None,
        when_rolled: Callable[[RunReport], None] | None = None,
        **arguments: Any,  # noqa: ANN401 - fields of Applier
    ) -> RunReport:
        """Run an apply that shows its progress and can be stopped; see `apply`."""
        stop = stop if stop is not None else asyncio.Event()
        project = replace(self, retries=True)
        if plan is not None:
            from holdfast.app.plan import PlanEntries

            plan.require_current(await project.run_check(record=False, sink=PlanEntries(lambda _result: False)))
            arguments["only"] = plan.allows
        async with project.writable_connections() as connections:
            if not project.templates:
                applier = project.applier(connections, stop=stop, progress=progress, **arguments)
                report = await applier.apply(project.selected)
            else:
                from holdfast.app import template_groups

                project = await template_groups.settle(project, connections)
                applier = project.applier(connections, stop=stop, progress=progress, **arguments)
                report = await applier.apply(project.selected)
                names = None if plan is None else plan.rolled_templates
                rolled = await template_groups.roll(project, connections, stop, when_rolled, names)
                report = template_groups.merged(report, rolled)
        report.undeclared = list(self.undeclared)
        await self._record_undeclared()
        return report

    async def delete(self, addresses: Sequence[Address], *, stop: asyncio.Event | None = None) -> RunReport:
        """Delete or detach resources, dependents first."""
        async with self.writable_connections() as connections:
            report = await self.applier(connections, stop=stop or asyncio.Event()).delete(addresses)
        if self.templates or self.groups:
            from holdfast.app import template_groups

            await template_groups.forget(self, report)
        return report

    async def undo(self, correction: str, *, who: str, why: str = "") -> Undone:
        """Restore the values from before a correction; raise InputError if they changed since."""
        from holdfast.app import single_resource

        recorded = await self.store.correction(correction)
        if recorded is None:
            raise InputError(f"there is no correction {correction}")
        async with self.writable_connections() as connections:
            item = await single_resource.resolve(self, connections, recorded.address)
            return await self.undoer(connections, self.checker(connections)).undo(recorded, item, who, why)

    async def watch(
        self,
        when_checked: Callable[[CheckReport], None] | None = None,
        *,
        rounds: int | None = None,
        stop: asyncio.Event | None = None,
    ) -> None:
        """Check and correct continuously until `stop` is set, or for a number of rounds.

        `when_checked` gets every report. The watch opens the project again, and follows edits of its manifests.
        """
        from holdfast.app.watch import QuietOutput, Watch

        watched = replace(self.options, is_watch=True)
        await Watch(watched, QuietOutput(when_checked), stop or asyncio.Event(), self.known_secrets).run(rounds)

    async def _record_undeclared(self) -> None:
        if self.undeclared:
            from holdfast.reconcile import unchecked

            addresses = [state.address for state in self.undeclared]
            await unchecked.no_longer_declared(self.store, addresses, self.clock.now())

    def selected_groups(self) -> Iterable[TemplateGroup]:
        """Return template groups with a selected child. Groups without children are always included."""
        selected = set(self.selected)
        return (group for group in self.groups if not group.children or selected & group.children.keys())


NO_LIMITS: Final = project_files.ConnectionLimits()


def _limits(spec: project_files.ConnectionSpec) -> RateLimits:
    names = ("concurrency", "reads_per_second", "writes_per_second", "deletes_per_second")
    given = {name: value for name in names if (value := getattr(spec.limits, name)) is not None}
    return replace(RateLimits(), **given)


def _policy_rules(config: project_files.ProjectFile, now: float) -> PolicyRules:
    waived: tuple[Waiver, ...] = ()
    if any(file.exists() for file in config.waivers):
        from holdfast.manifests import waivers

        waived = waivers.load(config.waivers, now)
    return PolicyRules(config.corrections, waived, config.assessment.rules if config.assessment is not None else None)


def open_path(
    path: str | PathLike[str] = ".",
    *,
    project: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    targets: Sequence[str] = (),
    selector: str | None = None,
) -> AbstractAsyncContextManager[Project]:
    """Open the project of a manifest or a folder of manifests.

    `project` and `store` name files other than the usual ones. `targets` and `selector` choose resources, as the
    options --target and --selector do.
    """
    config, kept = (None if file is None else str(file) for file in (project, store))
    return open_project(ProjectOptions((str(path),), config, kept, tuple(targets), selector))


@asynccontextmanager
async def open_project(
    options: ProjectOptions,
    *,
    reads: Reads = "project",
    needs_store: bool = False,
    beside: Sequence[str] = (),
    known_secrets: KnownSecrets | None = None,
) -> AsyncIterator[Project]:
    """Open a project. All mistakes in its manifests are raised before a connection is opened.

    `needs_store` raises StoreError where there is no store, for commands that only read it. `beside` names manifests
    that are not read now but say where the connection `local` begins.
    """
    config = find_config(replace(options, files=options.files or tuple(beside)))
    files = FileSource.of(options, config).files if reads == "project" else options.files if reads == "named" else ()
    if beside:
        config = config.with_local(file_discovery.common_folder(beside))
    url = store_location.store_url(options.store, config)
    path = holdfast.store.file_of(url, config.store.parent)
    # The index is in the tables of a SQLite store. It also answers which resources the store knows.
    is_shared = holdfast.store.is_postgres(url)
    catalog = None if is_shared else open_catalog(files, config, path, SystemClock().now)
    if catalog is not None:
        manifests = catalog.manifests
    else:
        manifests = FileSource(files, config).read() if files else loader.Manifests(config)
    if needs_store:
        store_location.require_store(url)
    secrets = Resolver(os.environ)
    known_secrets = known_secrets if known_secrets is not None else KnownSecrets()
    known_secrets.add(*config.at_hand(secrets))
    store = await holdfast.store.open(url)
    try:
        new = catalog.key if catalog is not None else None
        engine = Engine(store, await store_location.key_of(store, path, new, is_shared=is_shared))
        if catalog is not None:
            catalog.attach(path, engine.key)
        rules = _policy_rules(config, engine.clock.now())
        project = await _declared(
            Project(
                options,
                config,
                replace(engine, rules=rules),
                path,
                ResourceSet({}, Graph()),
                (),
                secrets,
                known_secrets,
            ),
            manifests,
            files,
            None if manifests.templates else catalog,
        )
        yield project
        await audit_head_file.keep(store, path, engine.key)
    except InputError as error:
        raise _located(error, config) from error
    finally:
        if catalog is not None:
            catalog.close()
        await store.close()


async def _declared(
    project: Project, manifests: loader.Manifests, files: Sequence[str], catalog: Catalog | None = None
) -> Project:
    """Return the project with the declarations of its manifests."""
    if catalog is not None:
        return await _cataloged(project, catalog, files)
    manual, path = manifests.declarations, project.store_file
    groups: tuple[TemplateGroup, ...] = ()
    if manifests.templates:
        from holdfast.app import template_groups

        groups = tuple(await template_groups.look(project.store, project.clock, manifests))
        manifests = template_groups.with_children(manifests, groups)
    require_same_local(
        manifests, path.parent, {declaration.address.connection for declaration in manifests.declarations}
    )
    connections = manifests.project.connections
    raise_all(provider_validation.mistakes(manifests.declarations, connections, registry.get))
    known: list[Address] = []
    missed: list[Address] = []
    if files:
        declared = {declaration.address for declaration in manifests.declarations}
        reach: undeclared.Reach | None = None
        async for address, source in project.engine.store.sources():
            if address not in declared:
                known.append(address)
                reach = reach or undeclared.reach_of(files, project.config, path)
                if undeclared.is_missed(address, source, declared, groups, reach):
                    missed.append(address)
    states = await project.store.states(missed) if missed else {}
    resources = resources_of(manifests, known, project.options)
    return replace(
        project,
        config=manifests.project,
        resources=resources,
        selected=tuple(selection.with_needed(resources, project.options)) if files else (),
        templates=manifests.templates,
        manual=manual,
        groups=groups,
        known=tuple(known),
        undeclared=tuple(states[address] for address in missed if address in states),
    )


async def _cataloged(project: Project, catalog: Catalog, files: Sequence[str]) -> Project:
    """Return the project with the declarations of its catalogue, which were found to have no mistakes."""
    manifests, path = catalog.manifests, project.store_file
    require_same_local(manifests, path.parent, catalog.declarations.connections())
    candidates = catalog.undeclared()
    missed: list[ResourceState] = []
    if candidates:
        reach = undeclared.reach_of(files, project.config, path)
        states = await project.store.states(candidates)
        missed = [
            states[address]
            for address in candidates
            if address in states and undeclared.is_missed(address, states[address].declared.source, (), (), reach)
        ]
    resources = governed(catalog.declarations, catalog.graph, manifests, project.options)
    return replace(
        project,
        config=manifests.project,
        resources=resources,
        selected=tuple(selection.with_needed(resources, project.options)),
        undeclared=tuple(missed),
    )


def resources_of(manifests: loader.Manifests, known: Iterable[Address], options: ProjectOptions) -> ResourceSet:
    """Return the declarations of manifests, with the settings and profiles that govern them."""
    declarations = {declaration.address: declaration for declaration in manifests.declarations}
    return governed(declarations, loader.graph(manifests, known), manifests, options)


def governed(
    declarations: Mapping[Address, Declaration], graph: Graph, manifests: loader.Manifests, options: ProjectOptions
) -> ResourceSet:
    """Return declarations with the settings and profiles that govern them."""
    config = manifests.project
    return ResourceSet(
        declarations,
        graph,
        manifests.strategies,
        [
            settings.of_flags(options.flags),
            *settings.of_provider_variables(os.environ),
            settings.of_environment(os.environ),
            config.defaults,
            *([settings.WATCHING] if options.is_watch else []),
        ],
        user_profiles.load(config),
    )


def _located(error: InputError, config: project_files.ProjectFile) -> InputError:
    """Add the line of the project file to an error that a provider raises about a connection."""
    if config.file is None:
        return error
    from holdfast.compare import yaml_reader

    documents = yaml_reader.documents(Path(config.file).read_bytes(), str(config.file))
    return registry.located(error, documents[0], str(config.file))


def require_same_local(manifests: loader.Manifests, folder: Path, connections: Collection[str]) -> None:
    """Raise InputError if the implied connection `local` begins in another folder than when the store was created.

    Its folder follows from -f. With another -f every resource would seem deleted, and be recreated in another folder.
    """
    local = manifests.project.connections.get(project_files.LOCAL)
    if (
        local is None or project_files.LOCAL not in connections or local.location.file is not None
    ):  # written in the project file
        return
    root, record = str(local.settings["root"]), folder / "local"
    try:
        before = record.read_text().strip()
    except FileNotFoundError:
        record.write_text(f"{root}\n")
        return
    except OSError as error:
        raise StoreError(f"{record} cannot be read: {error.strerror}") from None
    if before != root:
        message = (
            f"connection `local` now resolves to {root}, but this store was created with {before}; pass the original "
            f"-f paths, or set `connections.local.root` in holdfast.yaml (if the folder was moved, edit {record})"
        )
        raise InputError(message)
