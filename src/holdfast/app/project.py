"""One run of the command line: project, manifests, store and world, opened together and closed together."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from holdfast.app import template_groups, undeclared
from holdfast.cli import stdout, terminal_escape
from holdfast.compare import comparators, yaml_reader
from holdfast.errors import InputError, StoreError
from holdfast.manifests import file_discovery, loader, provider_validation, user_profiles, waivers
from holdfast.manifests import project as projects
from holdfast.manifests.secrets import Resolver
from holdfast.manifests.validation import raise_all
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.policy import selectors, settings
from holdfast.providers import registry
from holdfast.providers.protocol import Connection
from holdfast.reconcile import worker_identity
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import Checker
from holdfast.reconcile.clock import Clock, SystemClock
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.rate_limit import RateLimits
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.reconcile.undo import CorrectionUndo
from holdfast.reconcile.write import ResourceWriter
from holdfast.rollouts.core.template_groups import TemplateGroup
from holdfast.rollouts.core.templates import Template
from holdfast.store import audit_head_file, fingerprint_key
from holdfast.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from holdfast.store.protocol import Store
    from holdfast.store.state import ResourceState

GRACE_SECONDS: Final = 30.0  # for the writes in hand, after the first interrupt
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Options:
    """What the common options of the commands say."""

    files: tuple[str, ...] = ()
    project: str | None = None
    store: str | None = None
    targets: tuple[str, ...] = ()
    selector: str | None = None
    flags: Mapping[str, str | None] = field(default_factory=dict)
    watches: bool = False  # what sets no resyncPeriod is checked at that of a watch


_TAKEN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "files": click.option(
        "-f",
        "--file",
        "files",
        multiple=True,
        metavar="PATH",
        help="Manifests: a file, a folder, a glob, or - for standard input (may be repeated).",
    ),
    "place": click.option(
        "-f",
        "--file",
        "files",
        multiple=True,
        metavar="PATH",
        help="Manifests of the project that is meant; by default the project of this folder (may be repeated).",
    ),
    "project": click.option(
        "--project", metavar="FILE", help="The project file; holdfast.yaml beside or above the manifests by default."
    ),
    "store": click.option("--store", metavar="FILE", help="The store; .holdfast/holdfast.db by default."),
    "targets": click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="GLOB",
        help="Only addresses that match (connection/Kind/name); !GLOB leaves out (may be repeated).",
    ),
    "selector": click.option(
        "-l", "--selector", metavar="LABELS", help="Only resources with these labels: a=b,c!=d,e in (x,y)."
    ),
    "default_resync_period": click.option(
        "--default-resync-period",
        metavar="DURATION",
        help="Periodic checks for resources that do not say otherwise: 10m, 1h, 0 for none.",
    ),
}


def taking(*names: str) -> Callable[[Function], Function]:
    """Return a decorator that adds options of `Options`; a command takes those that it honours, and no others."""

    def decorate(function: Function) -> Function:
        for name in reversed(names):
            function = _TAKEN[name](function)
        return function

    return decorate


# What a command that looks at manifests takes: all of a fleet, a part of it, or one resource named by its address.
common = taking("files", "project", "store", "targets", "selector", "default_resync_period")
partly = taking("files", "project", "store", "targets", "selector")
singly = taking("files", "project", "store")
# What a command that only asks the store takes: all that is remembered, or a part of it.
remembered = taking("place", "project", "store")
remembered_partly = taking("place", "project", "store", "targets", "selector")


def options_of(arguments: dict[str, Any]) -> Options:
    """Take the options that `taking` adds out of a command's arguments."""
    return Options(
        arguments.pop("files", ()),
        arguments.pop("project", None),
        arguments.pop("store", None),
        arguments.pop("targets", ()),
        arguments.pop("selector", None),
        {"resync_period": arguments.pop("default_resync_period", None)},
    )


@dataclass(slots=True)
class Session:
    """Everything a command works with."""

    project: projects.Project
    store: Store
    fleet: ResourceSet
    chosen: list[Address]
    clock: Clock
    random01: Callable[[], float]
    key: bytes
    resolver: Resolver
    owner: str
    rules: PolicyRules = field(default_factory=PolicyRules)
    used: frozenset[str] = frozenset()  # connections to open; none: those of what is declared
    templates: tuple[Template, ...] = ()
    by_hand: tuple[Declaration, ...] = ()  # what is declared without the children of templates
    groups: list[TemplateGroup] = field(default_factory=list)  # as they would be once settled
    known: tuple[Address, ...] = ()  # what the store knows, and references may mean
    store_file: Path = Path()
    undeclared: tuple[ResourceState, ...] = ()  # of the store, and no longer in the manifests that were read
    retries: bool = False  # a person plans or applies: what stopped an earlier run is tried again
    known_secrets: KnownSecrets = field(default_factory=KnownSecrets)  # what nobody may see

    def fingerprint(self, value: Json) -> str:
        """Return the keyed fingerprint of a secret."""
        return comparators.fingerprint(value, self.key)

    def secrets_for(self, declaration: Declaration) -> Resolver:
        """Return what fetches the secrets of a declaration."""
        spec = self.project.connections[declaration.address.connection]
        folder = str(Path(declaration.location.file or ".").parent)
        return self.resolver.within(folder, spec.name, spec.secrets)

    def _connections(self) -> dict[str, Connection]:
        declared = {address.connection for address in self.fleet.declarations}
        used = self.used or declared or set(self.project.connections)
        out = {}
        for name in used:
            spec = self.project.connections[name]
            clear = {key: str(secret.reveal()) for key, secret in spec.fetch_secrets(self.resolver).items()}
            out[name] = Connection(name, spec.provider, spec.settings, clear, spec.base_dir)
        return out

    def _limits(self) -> dict[str, RateLimits]:
        out = {}
        for name, spec in self.project.connections.items():
            given = {
                f: getattr(spec.limits, f)
                for f in ("concurrency", "reads_per_second", "writes_per_second", "deletes_per_second")
            }
            out[name] = replace(RateLimits(), **{k: v for k, v in given.items() if v is not None})
        return out

    def world(self) -> Connections:
        """Return the world for looking at."""
        connections = self._connections()
        return Connections(connections, _providers(connections), self._limits(), self.clock, self.known_secrets)

    def writable_world(self) -> WritableConnections:
        """Return the world for changing."""
        connections = self._connections()
        return WritableConnections(connections, _providers(connections), self._limits(), self.clock, self.known_secrets)

    def preparer(self, world: Connections) -> ResourceResolver:
        """Return what makes declarations ready."""
        return ResourceResolver(self.store, world, self.fleet, self.fingerprint, self.secrets_for, self.retries)

    def checker(self, world: Connections) -> Checker:
        """Return what looks and concludes."""
        return Checker(self.store, world, self.clock, self.random01, self.fingerprint, rules=self.rules)

    def applier(self, world: WritableConnections, **arguments: Any) -> Applier:  # noqa: ANN401 - fields of Applier
        """Return what brings the fleet to what is declared."""
        checker = self.checker(world)
        writer = ResourceWriter(self.store, world, checker, self.clock, self.random01, self.owner)
        return Applier(self.store, self.preparer(world), checker, writer, **arguments)

    def undoer(self, world: WritableConnections, checker: Checker) -> CorrectionUndo:
        """Return what takes corrections back."""
        return CorrectionUndo(ResourceWriter(self.store, world, checker, self.clock, self.random01, self.owner))


def _providers(connections: Mapping[str, Connection]) -> dict[str, Any]:
    return {each.provider: registry.get(each.provider) for each in connections.values()}


def require_store(path: Path) -> None:
    """Raise StoreError if there is no store."""
    if not path.exists():
        message = (
            f"there is no store at {path}; name the manifests with -f, because it is beside these or their "
            "holdfast.yaml; `holdfast check` or `apply` makes one, --store names another"
        )
        raise StoreError(message)


@asynccontextmanager
async def opened(
    options: Options,
    *,
    needs_files: bool = True,
    needs_store: bool = False,
    beside: Sequence[str] = (),
    reads_files: bool = True,
) -> AsyncIterator[Session]:
    """Open a session; what is wrong with the manifests is said before anything is touched.

    `needs_store` is for what only tells what is remembered: of a store that is not there nothing can be said, least of
    all that it is in order. `beside` names manifests that are not read now, but where the connection `local` begins.
    Without `reads_files` manifests only say which project is meant.
    """
    project = project_of(replace(options, files=options.files or tuple(beside)))
    files = named_files(options, project) if needs_files else options.files if reads_files else ()
    if beside:
        project = project.with_local(file_discovery.common_folder(beside))
    manifests = loader.read(files, project) if files else loader.Manifests(project)
    path = Path(options.store) if options.store else project.store
    clock = SystemClock()
    if needs_store:
        require_store(path)
    resolver, known_secrets = Resolver(os.environ), KnownSecrets()
    known_secrets.add(*project.at_hand(resolver))
    terminal_escape.hide_with(known_secrets.hidden)
    store = await SqliteStore.open(path)
    try:
        key = fingerprint_key.key_in(path.parent)
        by_hand, groups = manifests.declarations, await template_groups.look(store, clock, manifests)
        manifests = template_groups.with_children(manifests, groups)
        _require_same_local(manifests, path.parent)
        connections = manifests.project.connections
        raise_all(provider_validation.mistakes(manifests.declarations, connections, registry.get))
        reach = undeclared.reach_of(files, project, path)
        known, missed = await _known(store, manifests, groups, reach) if files else ([], [])
        fleet = fleet_of(manifests, known, options)
        yield Session(
            manifests.project,
            store,
            fleet,
            chosen(fleet, options) if files else [],
            clock,
            random.random,
            key,
            resolver,
            worker_identity.name(),
            PolicyRules(project.corrections, waivers.load(project.waivers, clock.now()), project.assessment.rules),
            templates=manifests.templates,
            by_hand=by_hand,
            groups=groups,
            known=tuple(known),
            store_file=path,
            undeclared=tuple(missed),
            known_secrets=known_secrets,
        )
        await audit_head_file.keep(store, path, key)
    except InputError as error:
        raise _located(error, project) from error
    finally:
        await store.close()


async def _known(
    store: Store, manifests: loader.Manifests, groups: Sequence[TemplateGroup], reach: undeclared.Reach
) -> tuple[list[Address], list[ResourceState]]:
    """Return what the store knows, and what of that is no longer declared in the manifests that were read."""
    declared = {each.address for each in manifests.declarations}
    known: list[Address] = []
    missed: list[ResourceState] = []
    async for state in store.all_states():
        known.append(state.address)
        if undeclared.is_missed(state, declared, groups, reach):
            missed.append(state)
    return known, missed


def _located(error: InputError, project: projects.Project) -> InputError:
    """Add the line of the project file to what a provider says about a connection."""
    if project.file is None or error.location.file or not (error.location.field or "").startswith("/connections/"):
        return error
    documents = yaml_reader.documents(Path(project.file).read_bytes(), str(project.file))
    return registry.located(error, documents[0], str(project.file))


def _require_same_local(manifests: loader.Manifests, folder: Path) -> None:
    """Refuse manifests for which the implied connection `local` begins elsewhere than before.

    Where it begins follows from -f. Another -f would make everything look gone, and be recreated in another place.
    """
    local = manifests.project.connections.get(projects.LOCAL)
    used = any(each.address.connection == projects.LOCAL for each in manifests.declarations)
    if local is None or not used or local.location.file is not None:  # written down: it begins where that says
        return
    root, kept = str(local.settings["root"]), folder / "local"
    try:
        before = kept.read_text().strip()
    except FileNotFoundError:
        kept.write_text(f"{root}\n")
        return
    except OSError as error:
        raise StoreError(f"{kept} cannot be read: {error.strerror}") from None
    if before != root:
        message = (
            f"with these -f the connection `local` would begin at {root}, and it began at {before} before; "
            f"name the same manifests, or give `local` a root in holdfast.yaml (if it was moved, edit {kept})"
        )
        raise InputError(message)


def project_of(options: Options) -> projects.Project:
    """Return the project that the options mean: the named one, or the one that the manifests or this folder are in."""
    named = Path(options.project) if options.project else None
    return projects.load(named, Path.cwd(), registry.names(), options.files)


def named_files(options: Options, project: projects.Project) -> tuple[str, ...]:
    """Return what to read manifests from: what the user named, else the folder of the project file."""
    files = options.files or ((str(project.folder),) if project.file is not None else ())
    if not files:
        message = "nothing to look at: give manifests with -f, or put a holdfast.yaml beside them"
        raise InputError(message)
    return files


def fleet_of(manifests: loader.Manifests, known: Iterable[Address], options: Options) -> ResourceSet:
    """Return what the manifests declare, with everything that governs it."""
    project = manifests.project
    return ResourceSet(
        {each.address: each for each in manifests.declarations},
        loader.graph(manifests, known),
        manifests.strategies,
        [
            settings.of_flags(options.flags),
            *settings.of_provider_variables(os.environ),
            settings.of_environment(os.environ),
            project.defaults,
            *([settings.WATCHING] if options.watches else []),
        ],
        user_profiles.load(project),
    )


def chosen(fleet: ResourceSet, options: Options, *, strict: bool = True) -> list[Address]:
    """Return the addresses that --target and --selector leave, with everything they need.

    A target that matches nothing is a mistake, unless the fleet is only part of what was declared.
    """
    if not options.targets and not options.selector:
        return list(fleet.graph.addresses)
    needed = fleet.graph.needed_by(meant(fleet, options, strict=strict))
    return [address for address in fleet.graph.addresses if address in needed]


def meant(fleet: ResourceSet, options: Options, *, strict: bool = True) -> list[Address]:
    """Return the addresses that --target and --selector leave, and nothing besides."""
    targets = selectors.parse_targets(options.targets)
    mistaken = selectors.unmatched(targets, fleet.graph.addresses)
    if mistaken and strict:
        raise mistaken[0]
    labels = selectors.parse_labels(options.selector or "")
    return [a for a in fleet.graph.addresses if targets.matches(a) and labels.matches(fleet.declarations[a].labels)]


def tune_collector() -> None:
    """Let the garbage collector rest: a run makes many objects and few cycles, and a full collection walks them all."""
    gc.set_threshold(100_000, 50, 100)


def run(main: Callable[[asyncio.Event], Awaitable[int]]) -> int:
    """Run a command; the first interrupt asks it to finish what is in hand, the second stops it now."""
    tune_collector()

    async def guarded() -> int:
        stop = asyncio.Event()
        received: list[int] = []
        stdout.when_broken(stop.set)
        task = asyncio.ensure_future(main(stop))
        loop = asyncio.get_running_loop()

        def interrupt(number: int) -> None:
            received.append(number)
            if stop.is_set():
                task.cancel()
                return
            stop.set()
            loop.call_later(GRACE_SECONDS, task.cancel)  # what waits for an API must not keep it from ending
            print("stopping after the writes in hand; once more to stop now", file=sys.stderr)  # noqa: T201

        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, ValueError):
                loop.add_signal_handler(number, interrupt, number)
        try:
            code = await task
        except asyncio.CancelledError:
            return 128 + (received[0] if received else signal.SIGINT)
        return 128 + received[0] if received else code

    try:
        import uvloop  # noqa: PLC0415 - an extra

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(guarded())
    except ImportError:
        return asyncio.run(guarded())


def addresses_of(texts: Sequence[str]) -> list[Address]:
    """Read addresses from arguments."""
    try:
        return [Address.parse(text) for text in texts]
    except ValueError as error:
        raise InputError(str(error)) from None


async def known_documents(session: Session) -> dict[Address, list[Json]]:
    """Return what is known of every resource: what is declared, and what was last seen."""
    out: dict[Address, list[Json]] = {a: [dict(d.desired)] for a, d in session.fleet.declarations.items()}
    states = {
        state.address: state.observed.document async for state in session.store.all_states() if state.observed.document
    }
    documents = await session.store.documents(sorted(set(states.values())))
    for address, digest in states.items():
        if digest in documents:
            out.setdefault(address, []).append(documents[digest])
    return out
