"""The project file, holdfast.yaml: connections, where the store is, profiles, defaults. All of it is optional.

    connections:
      prod-cloud:
        provider: http
        url: https://api.example.org            # settings are the provider's business
        secrets:
          token: {env: PROD_TOKEN}              # or {file: path}, or {command: [program, argument]}
        limits: {concurrency: 8, reads_per_second: 20}
    store: .holdfast/holdfast.db
    profiles: [profiles]
    defaults: {connection: prod-cloud, resyncPeriod: 10h}
    corrections: {budgets: [{max: 10, per: 1h}]}    # see manifests.corrections
    waivers: [waivers.yaml]                     # see manifests.waivers
    notify: [{file: events.jsonl}]              # see manifests.notifications
    assessment: {prometheus: {url: ...}}        # see manifests.assessments
    rollouts: {atOnce: 5%}                      # slots at work at once over all templates: a number, or a share

Relative paths begin at the folder of the file. Secrets are only pointed at here; they are fetched when a connection is
opened.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from holdfast.compare import yaml_reader
from holdfast.errors import InputError, Location
from holdfast.manifests import assessment_spec, correction_spec, file_discovery, notify_spec, options, rollout_spec
from holdfast.manifests.secrets import (
    IN_PROJECT,
    FromEnvironment,
    FromFile,
    Reference,
    Resolver,
    Secret,
    parse_reference,
)
from holdfast.manifests.validation import Sheet, Written, name_trouble, raise_all, shown
from holdfast.model.json import Json
from holdfast.policy import did_you_mean
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.settings import Layer, Level
from holdfast.rollouts.core.rollout_limits import Amount

FILE: Final = file_discovery.PROJECT_FILE
STORE: Final = ".holdfast/holdfast.db"
WAIVERS: Final = "waivers.yaml"
LOCAL: Final = "local"
LOCAL_PROVIDER: Final = "file"

_TOP = (
    *("connections", "store", "profiles", "defaults", "waivers", "allowedCode"),
    *(correction_spec.SECTION, notify_spec.SECTION, assessment_spec.SECTION, rollout_spec.SECTION),
)
_RATES = ("reads_per_second", "writes_per_second", "deletes_per_second")
_IN_CLEAR = frozenset(
    {"password", "token", "secret", "api_key", "apikey", "access_key", "client_secret", "private_key"}
)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What the project allows a connection to use; None where it does not say."""

    concurrency: int | None = None
    reads_per_second: float | None = None
    writes_per_second: float | None = None
    deletes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class ConnectionSpec:
    """A named way to one account or endpoint, as declared: secrets are still references."""

    name: str
    provider: str
    settings: Mapping[str, Json] = field(default_factory=dict)
    secrets: Mapping[str, Reference] = field(default_factory=dict)
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    base_dir: str = "."
    location: Location = field(default_factory=Location, compare=False)

    def fetch_secrets(self, resolver: Resolver) -> dict[str, Secret]:
        """Fetch every secret of the connection; raise InputError that names what is missing."""
        out = {}
        for key, reference in self.secrets.items():
            try:
                out[key] = resolver.fetch(reference)
            except InputError as error:
                where = replace(self.location, field=f"/connections/{self.name}/secrets/{key}")
                raise error.at(where) from None
        return out


@dataclass(frozen=True, slots=True)
class Project:
    """What the project file says, or what holds without one."""

    folder: Path
    file: Path | None = None
    connections: Mapping[str, ConnectionSpec] = field(default_factory=dict)
    store: Path = Path(STORE)
    profiles: tuple[Path, ...] = ()
    defaults: Layer = field(default_factory=dict)
    default_connection: str | None = None
    warnings: tuple[InputError, ...] = ()
    corrections: CorrectionRules = field(default_factory=CorrectionRules)
    waivers: tuple[Path, ...] = ()  # files; the usual one need not exist
    notify: tuple[notify_spec.Sink, ...] = ()
    assessment: assessment_spec.Assessment = field(default_factory=assessment_spec.Assessment)
    allowed_code: tuple[str, ...] = ()  # entry points that rules may compare with
    rollouts_at_once: Amount | None = None  # slots at work over all templates; None: as many as each allows

    def at_hand(self, resolver: Resolver) -> Iterator[Json]:
        """Go through the secrets of the file that are had without running anything; what is missing is left out.

        They are known before anything is read, so that they are recognised wherever they turn up.
        """
        references = [each for spec in self.connections.values() for each in spec.secrets.values()]
        hooks = [sink.target for sink in self.notify if isinstance(sink.target, notify_spec.ToWebhook)]
        servers = [each for each in (self.assessment.prometheus, self.assessment.alertmanager) if each is not None]
        for reference in (
            *references,
            *(each for hook in hooks for each in (hook.url, hook.secret)),
            *(each for server in servers for each in (server.url, server.token)),
        ):
            if isinstance(reference, FromEnvironment | FromFile):
                with contextlib.suppress(InputError):
                    yield resolver.fetch(reference).reveal()

    def with_local(self, folder: Path) -> Project:
        """Return the project with the connection `local` to the files in a folder, unless it has one of that name."""
        if LOCAL in self.connections:
            return self
        local = ConnectionSpec(LOCAL, LOCAL_PROVIDER, {"root": str(folder)}, base_dir=str(folder))
        return replace(self, connections={**self.connections, LOCAL: local})


def find(start: Path) -> Path | None:
    """Look for the project file in a folder and above it, as far as the top of its git repository."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        if (folder / ".git").exists():
            return None
    return None


def locate(given: Sequence[str], cwd: Path) -> Path | None:
    """Return the project file beside or above the manifests a person named; without any, the one of `cwd`.

    Where manifests are named it does not depend on `cwd`. Raise InputError if the manifests are of several projects, or
    of none while `cwd` is in one, because its limits would silently not hold for them.
    """
    if not given:
        return find(cwd)
    found = {text: find(file_discovery.folder_of(text, cwd)) for text in given}
    files = sorted({str(file) for file in found.values() if file is not None})
    if len(files) > 1:
        owners = ", ".join(f"{text} to {file or 'none'}" for text, file in found.items())
        raise InputError(f"the manifests belong to several projects: {owners}; name them apart, or one with --project")
    if files:
        return Path(files[0])
    here = find(cwd)
    if here is not None:
        message = (
            f"there is no {FILE} beside or above {', '.join(given)}, and {here} of the working folder does not hold "
            f"for it; to use that one say --project {_shown_path(here, cwd)}"
        )
        raise InputError(message)
    return None


def load(file: Path | None, cwd: Path, providers: Collection[str] | None = None, given: Sequence[str] = ()) -> Project:
    """Read the project file that is named, else the one of the manifests (see `locate`), else return an empty project.

    `providers` are the known ones; None lets any pass. Raise InputError or InputErrors with everything that is wrong.
    Without a project file the store is in the folder of the manifests.
    """
    path = file or locate(given, cwd)
    if path is None:
        folder = file_discovery.common_folder(given, cwd) if given else cwd
        return Project(folder, store=folder / STORE, waivers=(folder / WAIVERS,))
    data = file_discovery.load(file_discovery.Source(_shown_path(path, cwd), path, was_named=True), None)
    return parse(data, path, _shown_path(path, cwd), providers)


def _shown_path(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def parse(data: bytes, path: Path, name: str, providers: Collection[str] | None = None) -> Project:
    """Read the text of a project file."""
    found = yaml_reader.documents(data, name)
    if len(found) > 1:
        raise InputError("a project file is one document; put everything into it", Location(name, found[1].line))
    folder = path.resolve().parent
    if not found:
        return Project(folder, path, store=folder / STORE, waivers=(folder / WAIVERS,))
    errors: list[InputError] = []
    written = Written(found[0].value, name, found[0].line, found[0].places)
    project = _Reader(Sheet(written, errors), folder, providers).project(path)
    raise_all(errors)
    return project


class _Reader:
    """Turns the document into a Project, noting everything that keeps it from being one."""

    def __init__(self, sheet: Sheet, folder: Path, providers: Collection[str] | None) -> None:
        self._sheet = sheet
        self._folder = folder
        self._providers = providers
        self._warnings: list[InputError] = []

    def project(self, path: Path) -> Project:
        top = self._sheet.mapping(self._sheet.written.value, (), _TOP)
        declared = self._sheet.mapping(top.get("connections"), ("connections",))
        connections = {name: self._connection(name, value) for name, value in declared.items()}
        defaults, connection = self._defaults(top, connections)
        store = self._sheet.text(top, "store", ()) or STORE
        return Project(
            self._folder,
            path,
            connections,
            (self._folder / store).absolute(),
            self._beside("profiles", top.get("profiles"), "folder", Path.is_dir),
            defaults,
            connection,
            tuple(self._warnings),
            corrections=correction_spec.read(self._sheet, top.get(correction_spec.SECTION)),
            allowed_code=self._allowed_code(top.get("allowedCode")),
            waivers=self._beside("waivers", top.get("waivers"), "file", Path.is_file) or (self._folder / WAIVERS,),
            notify=notify_spec.read(self._sheet, top.get(notify_spec.SECTION), self._folder),
            assessment=assessment_spec.read(self._sheet, top.get(assessment_spec.SECTION), self._folder),
            rollouts_at_once=rollout_spec.at_once(self._sheet, top.get(rollout_spec.SECTION)),
        )

    def _allowed_code(self, value: Json) -> tuple[str, ...]:
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(each, str) and each for each in value):
            return tuple(value)
        self._sheet.fail(
            "allowedCode is a list of names of installed entry points, such as [my_length]", ("allowedCode",)
        )
        return ()

    def _connection(self, name: str, value: Json) -> ConnectionSpec:
        pointer = ("connections", name)
        trouble = name_trouble(name)
        if trouble:
            self._sheet.fail(f"the name {shown(name)} {trouble}", pointer)
        body = self._sheet.mapping(value, pointer)
        needed = "write provider: file, http or another" if value is None or isinstance(value, dict) else ""
        provider = self._sheet.text(body, "provider", pointer, needed) or ""
        if provider and self._providers is not None and provider not in self._providers:
            guess = did_you_mean.hint(provider, self._providers) or f"; known: {', '.join(sorted(self._providers))}"
            self._sheet.fail(f"there is no provider {shown(provider)}{guess}", (*pointer, "provider"))
        own = {key: item for key, item in body.items() if key not in ("provider", "secrets", "limits")}
        self._warn_of_secrets(name, own)
        return ConnectionSpec(
            name,
            provider,
            own,
            self._secrets(name, body.get("secrets")),
            self._limits(name, body.get("limits")),
            str(self._folder),
            self._sheet.written.location(pointer),
        )

    def _warn_of_secrets(self, name: str, own: Mapping[str, Json]) -> None:
        for key, item in own.items():
            if key.lower() in _IN_CLEAR and isinstance(item, str):
                message = f"{key} looks like a secret in clear; move it below secrets: as {key}: {{env: NAME}}"
                self._warnings.append(InputError(message, self._sheet.written.location(("connections", name, key))))

    def _secrets(self, name: str, value: Json) -> dict[str, Reference]:
        pointer = ("connections", name, "secrets")
        out = {}
        for key, item in self._sheet.mapping(value, pointer).items():
            try:
                out[key] = parse_reference(item, IN_PROJECT, str(self._folder))
            except InputError as error:
                self._sheet.note(error, (*pointer, key))
        return out

    def _limits(self, name: str, value: Json) -> ConnectionLimits:
        pointer = ("connections", name, "limits")
        body = self._sheet.mapping(value, pointer, ("concurrency", *_RATES))
        concurrency = body.get("concurrency")
        if concurrency is not None and (type(concurrency) is not int or concurrency < 1):
            self._sheet.fail("concurrency must be a whole number from 1 up", (*pointer, "concurrency"))
            concurrency = None
        rates: dict[str, float] = {}
        for key in _RATES:
            rate = body.get(key)
            if isinstance(rate, int | float) and not isinstance(rate, bool) and rate > 0:
                rates[key] = float(rate)
            elif rate is not None:
                self._sheet.fail(f"{key} must be a number above 0; leave it out for no limit", (*pointer, key))
        return ConnectionLimits(concurrency, **rates)

    def _beside(self, key: str, value: Json, noun: str, is_there: Callable[[Path], bool]) -> tuple[Path, ...]:
        """Read one name or several of files or folders, which must be there."""
        names: Sequence[Json] = value if isinstance(value, list) else [] if value is None else [value]
        out = []
        for index, name in enumerate(names):
            pointer = (key, index) if isinstance(value, list) else (key,)
            if not isinstance(name, str) or not name:
                self._sheet.fail(f"a {noun} of {key} is needed here", pointer)
            elif not is_there(self._folder / name):
                self._sheet.fail(f"there is no {noun} {shown(name)} beside the project file", pointer)
            else:
                out.append((self._folder / name).absolute())
        return tuple(out)

    def _defaults(self, top: Mapping[str, Json], connections: Collection[str]) -> tuple[Layer, str | None]:
        body = self._sheet.mapping(top.get("defaults"), ("defaults",))
        connection = self._sheet.text(body, "connection", ("defaults",))
        if connection is not None and connection not in (*connections, LOCAL):
            guess = did_you_mean.hint(connection, connections)
            self._sheet.fail(f"there is no connection {shown(connection)}{guess}", ("defaults", "connection"))
        given = {spelling: value for spelling, value in body.items() if spelling != "connection"}
        layer = options.read(self._sheet, given, ("defaults",), Level.PROJECT)
        return assessment_spec.with_default(self._sheet, top, layer), connection
