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
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import InputError, Location
from holdfast.manifests import file_discovery
from holdfast.manifests.secrets import SECRET, FromEnvironment, FromFile, Reference, Resolver, Secret
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import settings, source_location
from holdfast.policy.settings import Assess, Given, Layer, Level
from holdfast.schema import did_you_mean, fields
from holdfast.schema.document import Document, DocumentPath, raise_all
from holdfast.schema.fields import FieldType, shown

if TYPE_CHECKING:
    from holdfast.manifests.notify_spec import SinkSpec, ToWebhook
    from holdfast.policy.budgets import Percent
    from holdfast.policy.correction_limits import CorrectionRules
    from holdfast.remediation.manifest import Assessment

FILE: Final = file_discovery.PROJECT_FILE
STORE: Final = ".holdfast/holdfast.db"
WAIVERS: Final = "waivers.yaml"
LOCAL: Final = "local"
LOCAL_PROVIDER: Final = "file"

_IN_CLEAR = frozenset(
    {"password", "token", "secret", "api_key", "apikey", "access_key", "client_secret", "private_key"}
)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits that the project sets for a connection. None where it sets none."""

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
        """Fetch every secret of the connection; raise InputError that names the missing one."""
        out = {}
        for key, reference in self.secrets.items():
            try:
                out[key] = resolver.fetch(reference)
            except InputError as error:
                where = replace(self.location, field=f"/connections/{self.name}/secrets/{key}")
                raise error.at(where) from None
        return out


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The content of the project file, or the defaults without one."""

    folder: Path
    file: Path | None = None
    connections: Mapping[str, ConnectionSpec] = field(default_factory=dict)
    store: Path = Path(STORE)
    profiles: tuple[Path, ...] = ()
    defaults: Layer = field(default_factory=dict)
    default_connection: str | None = None
    warnings: tuple[InputError, ...] = ()
    corrections: CorrectionRules | None = None  # None: the file has no such section
    waivers: tuple[Path, ...] = ()  # files; the usual one need not exist
    notify: tuple[SinkSpec, ...] = ()
    assessment: Assessment | None = None  # None: the file has no such section
    allowed_code: tuple[str, ...] = ()  # entry points that rules may compare with
    rollouts_at_once: int | Percent | None = None  # slots at work over all templates; None: as many as each allows

    def at_hand(self, resolver: Resolver) -> Iterator[Json]:
        """Yield the secrets of the file that need no command. Missing ones are left out.

        They are known before anything is read, so that they are recognised wherever they turn up.
        """
        references = [secret for spec in self.connections.values() for secret in spec.secrets.values()]
        hooks: list[ToWebhook] = []
        if self.notify:
            from holdfast.manifests import notify_spec  # noqa: PLC0415

            hooks = [sink.target for sink in self.notify if isinstance(sink.target, notify_spec.ToWebhook)]
        section = self.assessment
        servers = (
            [prometheu for prometheu in (section.prometheus, section.alertmanager) if prometheu is not None]
            if section
            else []
        )
        for reference in (
            *references,
            *(item for hook in hooks for item in (hook.url, hook.secret)),
            *(item for server in servers for item in (server.url, server.token)),
        ):
            if isinstance(reference, FromEnvironment | FromFile):
                with contextlib.suppress(InputError):
                    yield resolver.fetch(reference).reveal()

    def with_local(self, folder: Path) -> ProjectFile:
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


def load(
    file: Path | None, cwd: Path, providers: Collection[str] | None = None, given: Sequence[str] = ()
) -> ProjectFile:
    """Read the project file that is named, else the one of the manifests (see `locate`), else return an empty project.

    `providers` are the known ones; None lets any pass. Raise InputError or InputErrors with everything that is wrong.
    Without a project file the store is in the folder of the manifests.
    """
    path = file or locate(given, cwd)
    if path is None:
        folder = file_discovery.common_folder(given, cwd) if given else cwd
        return ProjectFile(folder, store=folder / STORE, waivers=(folder / WAIVERS,))
    data = file_discovery.load(file_discovery.Source(_shown_path(path, cwd), path, was_named=True), None)
    return parse(data, path, _shown_path(path, cwd), providers)


def _shown_path(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def parse(data: bytes, path: Path, name: str, providers: Collection[str] | None = None) -> ProjectFile:
    """Return the project that the text of a project file declares."""
    from holdfast.compare import yaml_reader  # noqa: PLC0415

    documents = yaml_reader.documents(data, name)
    if len(documents) > 1:
        raise InputError("a project file is one document; join them", Location(name, documents[1].line))
    folder = path.resolve().parent
    if not documents:
        return ProjectFile(folder, path, store=folder / STORE, waivers=(folder / WAIVERS,))
    errors: list[InputError] = []
    at = DocumentPath(
        Document(documents[0].value, name, documents[0].line, documents[0].places), errors, folder=str(folder)
    )
    given = SCHEMA.read_fields(at.document.value, at)
    connections: dict[str, ConnectionSpec] = given.get("connections", {})
    _check_providers(connections, providers, at)
    defaults = given.get("defaults", _Defaults())
    _check_default_connection(defaults.connection, connections, at)
    if "assessment" in given and "assess" not in defaults.layer:  # a project with this section wants assessments
        source = source_location.text(at.below("assessment").location)
        defaults.layer["assess"] = Given(Assess.CORRECTIONS, Level.PROJECT, source)
    raise_all(errors)
    return ProjectFile(
        folder,
        path,
        connections,
        (folder / given.get("store", STORE)).absolute(),
        given.get("profiles", ()),
        defaults.layer,
        defaults.connection,
        tuple(_secrets_in_clear(connections, at)),
        given.get("corrections"),
        given.get("waivers") or (folder / WAIVERS,),
        given.get("notify", ()),
        given.get("assessment"),
        given.get("allowed_code", ()),
        given.get("rollouts"),
    )


# --- the schema


@dataclass(frozen=True, slots=True)
class _Defaults:
    connection: str | None = None
    layer: dict[str, Given] = field(default_factory=dict)


def _connection(given: dict[str, Any], at: DocumentPath) -> ConnectionSpec:
    name = str(at.pointer[-1])
    limits = given.get("limits", ConnectionLimits())
    others = {key: item for key, item in given["others"].items() if item is not None}
    return ConnectionSpec(name, given["provider"], others, given.get("secrets", {}), limits, at.folder, at.location)


def _check_name(name: str) -> None:
    problem = fields.name_problem(name)
    if problem:
        raise InputError(f"the name {shown(name)} {problem}")


def _beside(noun: str, is_there: Callable[[Path], bool]) -> FieldType[tuple[Path, ...]]:
    """Return the type of files or folders that must exist, relative to the project file."""

    def find_one(name: str, at: DocumentPath) -> Path:
        path = Path(at.folder, name)
        if not is_there(path):
            raise InputError(f"there is no {noun} {shown(name)} beside the project file")
        return path.absolute()

    one = fields.STRING.then_at(find_one)
    many = fields.list_of(one)
    single = one.then(lambda path: (path,))
    return FieldType(
        lambda value, at: (many if isinstance(value, list) else single).read(value, at),
        lambda: {"anyOf": [one.json_schema, many.json_schema]},
    )


def _defaults(given: dict[str, Any], at: DocumentPath) -> _Defaults:
    return _Defaults(given.pop("connection", None), settings.written_layer(given, at, Level.PROJECT))


def _corrections() -> FieldType[CorrectionRules]:
    from holdfast.manifests import correction_spec  # noqa: PLC0415

    return correction_spec.SECTION


def _notify() -> FieldType[tuple[SinkSpec, ...]]:
    from holdfast.manifests import notify_spec  # noqa: PLC0415

    return notify_spec.SECTION


def _assessment() -> FieldType[Assessment]:
    from holdfast.remediation import manifest  # noqa: PLC0415 - imported only for projects with the section

    return manifest.SECTION


def _some() -> FieldType[int | Percent]:
    from holdfast.manifests import correction_spec  # noqa: PLC0415

    return correction_spec.SOME


CONNECTION: Final = fields.plain(
    {
        "provider": fields.required(fields.STRING, "write provider: file, http or another"),
        "secrets": fields.mapping_of(SECRET),
        "limits": fields.record(
            ConnectionLimits,
            {
                "concurrency": fields.COUNT,
                "reads_per_second": fields.POSITIVE,
                "writes_per_second": fields.POSITIVE,
                "deletes_per_second": fields.POSITIVE,
            },
        ),
    },
    is_open=True,
)
SCHEMA: Final = fields.plain(
    {
        "connections": fields.mapping_of(CONNECTION.then_at(_connection), _check_name),
        "store": fields.STRING,
        "profiles": _beside("folder", Path.is_dir),
        "defaults": fields.plain({"connection": fields.STRING, **settings.OPTIONS.table}).then_at(_defaults),
        "waivers": _beside("file", Path.is_file),
        "allowedCode": fields.STRINGS,
        "corrections": fields.lazy(_corrections),
        "notify": fields.lazy(_notify),
        "assessment": fields.lazy(_assessment),
        "rollouts": fields.record(
            lambda at_once=None: at_once,
            {"atOnce": fields.lazy(_some)},
        ),
    },
)


# --- checks that need the whole file


def _check_providers(
    connections: Mapping[str, ConnectionSpec], providers: Collection[str] | None, at: DocumentPath
) -> None:
    for name, spec in connections.items():
        if providers is not None and spec.provider not in providers:
            hint = did_you_mean.hint(spec.provider, providers) or f"; known: {', '.join(sorted(providers))}"
            at.fail(f"there is no provider {shown(spec.provider)}{hint}", "connections", name, "provider")


def _check_default_connection(name: str | None, connections: Collection[str], at: DocumentPath) -> None:
    if name is not None and name not in (*connections, LOCAL):
        hint = did_you_mean.hint(name, connections)
        at.fail(f"there is no connection {shown(name)}{hint}", "defaults", "connection")


def _secrets_in_clear(connections: Mapping[str, ConnectionSpec], at: DocumentPath) -> Iterator[InputError]:
    """Yield a warning for each setting that looks like a secret in clear."""
    for name, spec in connections.items():
        for key, item in spec.settings.items():
            if key.lower() in _IN_CLEAR and isinstance(item, str):
                message = f"{key} looks like a secret in clear; move it below secrets: as {key}: {{env: NAME}}"
                yield InputError(message, at.below("connections", name, key).location)
