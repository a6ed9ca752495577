"""The settings in force for a resource, and where each of them comes from.

One table holds them all: a new setting is a row of REGISTRY and a field of Settings, and every level, flag, environment
variable and explanation follows. A level is a mapping from a setting's name to its value there. The first level that
has a setting wins, each setting by itself:

    resource -> strategy's kind override -> strategy's defaults -> flag -> environment -> holdfast.yaml -> built-in
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Final

import orjson

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration, OnDelete, OnDrift
from holdfast.policy import durations, source_location
from holdfast.policy.decide import OnImmutable, ReconcileMode, Recreate
from holdfast.schema import fields
from holdfast.schema.document import Document, DocumentPath
from holdfast.schema.fields import FieldType

WATCH_PERIOD_SECONDS: Final = 600.0


class JitterShape(StrEnum):
    """On which side of the period chance may put the next check."""

    SYMMETRIC = "symmetric"
    POSITIVE = "positive"  # never before the period is over


class PathPolicy(StrEnum):
    """The policy for drift at a path. All but the last are also values of `onDrift`."""

    CORRECT = "correct"
    REPORT = "report"
    APPROVE = "approve"
    IGNORE = "ignore"  # neither compared nor written


class OnFailedVerify(StrEnum):
    """The policy for a correction that had no effect at some paths."""

    REPORT = "report"
    UNDO = "undo"  # revert what was there before


class Assess(StrEnum):
    """Which writes of ours are assessed afterwards: whether they held, and whether they helped."""

    OFF = "off"
    CORRECTIONS = "corrections"  # writes that revert live state
    WRITES = "writes"  # what follows an edit of the declaration, too


@dataclass(frozen=True, slots=True)
class Resync:
    """When a resource is checked again."""

    period: float = 0.0  # seconds; 0: no periodic check
    jitter: float = 0.1
    jitter_shape: JitterShape = JitterShape.SYMMETRIC


@dataclass(frozen=True, slots=True)
class Debounce:
    """How certain a drift must be before it is corrected."""

    checks: int = 1  # consecutive checks that must see it
    time: float = 0.0  # seconds that it must last


@dataclass(frozen=True, slots=True)
class Assessing:
    """The writes that are assessed, and the consequences of a bad assessment."""

    assess: Assess = Assess.OFF
    undo_below: float = 0.0  # a correction whose assessment scores less is taken back; 0: never
    refuse_after: int = 0  # failures of a remediation on the same state, after which it is held; 0: never


@dataclass(frozen=True, slots=True)
class Settings:
    """Effective values, typed; `provenance` says for each, by name, which level gave it and where that is written."""

    resync: Resync = Resync()
    debounce: Debounce = Debounce()
    assessing: Assessing = Assessing()
    on_drift: OnDrift = OnDrift.CORRECT
    on_drift_paths: Mapping[str, PathPolicy] = field(default_factory=dict)  # by pattern, the nearest level's first
    on_failed_verify: OnFailedVerify = OnFailedVerify.REPORT
    on_delete: OnDelete = OnDelete.DELETE
    on_immutable: OnImmutable = OnImmutable.BLOCK
    recreate: Recreate = Recreate.WHEN_RESYNC
    settle_window: float = 300.0  # seconds
    operation_timeout: float = 3600.0  # seconds
    state_hash: bool = True
    reconcile_mode: ReconcileMode = ReconcileMode.GET_PUT
    pin_baseline: bool = False
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_resync_set(self) -> bool:
        """True if a layer other than the built-in ones sets the resync period. An explicit 0 turns checks off."""
        return not self.provenance.get("resync_period", Level.BUILT_IN).startswith(Level.BUILT_IN)

    @property
    def ignored_paths(self) -> tuple[str, ...]:
        """The patterns of paths that are neither compared nor written."""
        if not self.on_drift_paths:
            return ()
        return tuple(path for path, policy in self.on_drift_paths.items() if policy is PathPolicy.IGNORE)


class Level(StrEnum):
    """The levels that may set a setting, the nearest to the resource first."""

    RESOURCE = "resource"
    STRATEGY_KIND = "strategy, kind override"
    STRATEGY = "strategy"
    FLAG = "flag"
    ENVIRONMENT = "environment"
    PROJECT = "project file"
    BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True)
class Given:
    """One value as one level gives it."""

    value: Any
    level: Level
    source: str = ""  # file:line, the flag, or the variable

    def __str__(self) -> str:
        return f"{self.level} ({self.source})" if self.source else str(self.level)


Layer = Mapping[str, Given]  # by the name of the setting


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: how a setting is called everywhere, read, and shown."""

    name: str
    doc: str
    type: FieldType[Any]
    from_text: Callable[[str], Json] = str  # flags and variables are text; most settings read text anyway
    show: Callable[[Any], str] = str
    env: str = ""
    flag: str = ""
    provider_env: Mapping[str, str] = field(default_factory=dict)  # by provider: a variable that its users know
    joins: bool = False  # every level adds to it, instead of the nearest hiding the others

    group: str = ""  # the field of Settings that holds it
    spelling: str = field(init=False)  # the name in YAML
    variable: str = field(init=False)  # the environment variable of this setting

    def __post_init__(self) -> None:
        first, *others = self.name.split("_")
        object.__setattr__(self, "spelling", first + "".join(word.capitalize() for word in others))
        object.__setattr__(self, "variable", self.env or f"HOLDFAST_{self.name.upper()}")

    @property
    def option(self) -> str:
        """The command-line option of this setting."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    def value_in(self, settings: Settings) -> Any:  # noqa: ANN401 - each setting has its own type
        """Return the value of this setting."""
        holder = getattr(settings, self.group) if self.group else settings
        return getattr(holder, self.name.removeprefix(f"{self.group}_"))

    def parse(self, value: Json) -> Any:  # noqa: ANN401 - each setting has its own type
        """Return a value as YAML has it; raise InputError if the setting cannot have it."""
        return fields.read(self.type, Document(value))


def _number_in(text: str) -> Json:
    try:
        return float(text)
    except ValueError:
        return text


def _boolean_in(text: str) -> Json:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)


def _show_boolean(value: bool) -> str:  # noqa: FBT001 - it is a value here, not a switch
    return "true" if value else "false"


def _json_in(text: str) -> Json:
    from holdfast.compare import go_json  # noqa: PLC0415

    try:
        return go_json.loads(text.encode())
    except InputError:
        return text


def _show_policies(value: Mapping[str, PathPolicy]) -> str:
    return orjson.dumps({pattern: policy.value for pattern, policy in value.items()}).decode()


def _count_in(text: str) -> Json:
    return int(text) if text.isdigit() else text


def _check_pattern(text: str) -> None:
    paths.parse_pattern(text)


def _duration(name: str, doc: str, **more: Any) -> Setting:  # noqa: ANN401 - fields of Setting
    return Setting(name, doc, durations.DURATION, show=durations.format_seconds, **more)


def _boolean(name: str, doc: str) -> Setting:
    return Setting(name, doc, fields.BOOLEAN, _boolean_in, _show_boolean)


def _choice(name: str, choices: type[StrEnum], doc: str, group: str = "") -> Setting:
    return Setting(name, doc, fields.choice(choices), group=group)


REGISTRY: Final[tuple[Setting, ...]] = (
    _duration(
        "resync_period",
        "How long after a settled check the next one is due; 0 switches periodic checks off. Where nothing is set, "
        "`watch` checks every 10m.",
        env="HOLDFAST_DEFAULT_RESYNC_PERIOD",
        flag="--default-resync-period",
        provider_env={"azure": "AZURE_SYNC_PERIOD"},
        group="resync",
    ),
    Setting(
        "resync_jitter",
        "The fraction of the period by which a check is moved at random, so that not all come at once.",
        fields.FRACTION,
        _number_in,
        group="resync",
    ),
    _choice(
        "resync_jitter_shape",
        JitterShape,
        "Whether a check is moved to both sides of the period or only after it.",
        "resync",
    ),
    _choice(
        "on_drift",
        OnDrift,
        "What to do about drift, which is a change outside Holdfast: correct it, only report it, or wait for approval.",
    ),
    Setting(
        "on_drift_paths",
        "What to do about drift at single paths: correct, report, approve or ignore; levels are joined.",
        fields.mapping_of(fields.choice(PathPolicy), _check_pattern),
        _json_in,
        _show_policies,
        joins=True,
    ),
    Setting(
        "debounce_checks",
        "How many checks in a row must see a drift before it is corrected.",
        fields.COUNT,
        _count_in,
        group="debounce",
    ),
    _duration("debounce_time", "How long a drift must last before it is corrected.", group="debounce"),
    _choice(
        "on_failed_verify",
        OnFailedVerify,
        "What to do when a correction did not take effect everywhere: report it, or undo it.",
    ),
    _choice("on_delete", OnDelete, "Whether a resource is deleted or detached when its declaration is removed."),
    _choice(
        "on_immutable",
        OnImmutable,
        "What to do when a field that cannot be updated must change: block, or replace the resource.",
    ),
    _choice(
        "recreate",
        Recreate,
        "Whether a resource that was deleted outside Holdfast is recreated; by when_resync unless resyncPeriod is 0.",
    ),
    _duration("settle_window", "How long after a write late defaults of the service may still join the baseline."),
    _duration(
        "operation_timeout", "How long a run follows an operation that the API has not ended; the next run asks again."
    ),
    _boolean(
        "state_hash",
        "Whether an observation with the same hash as the last one is taken as unchanged without a comparison.",
    ),
    _choice(
        "reconcile_mode",
        ReconcileMode,
        "Whether to compare and write what differs (get_put), to write at every turn without comparing (put_only), to "
        "compare and write nothing (observe), or to compare and write all the same (shadow).",
    ),
    _boolean(
        "pin_baseline",
        "Whether drift of an undeclared field, which a write of the declaration did not revert, is reverted by sending "
        "the value of the baseline.",
    ),
    _choice("assess", Assess, "Which writes are assessed afterwards: off, corrections, or all writes.", "assessing"),
    Setting(
        "undo_below",
        "The score, from 0 to 1, below which an assessed correction is undone; 0 means never.",
        fields.FRACTION,
        _number_in,
        group="assessing",
    ),
    Setting(
        "refuse_after",
        "After how many failures on the same state a remediation waits for approval; 0 means never.",
        fields.whole(0),
        _count_in,
        group="assessing",
    ),
)
BY_NAME: Final = {setting.name: setting for setting in REGISTRY}
BY_SPELLING: Final = {setting.spelling: setting for setting in REGISTRY}
OPTIONS: Final = fields.plain({setting.spelling: setting.type for setting in REGISTRY})  # as people write them
BUILT_IN: Final[Layer] = {setting.name: Given(setting.value_in(Settings()), Level.BUILT_IN) for setting in REGISTRY}


WATCHING: Final[Layer] = {  # the built-in values of a watch
    "resync_period": Given(WATCH_PERIOD_SECONDS, Level.BUILT_IN, "watch"),
}


def layer(options: Mapping[str, Json], level: Level, source: Callable[[str], str]) -> Layer:
    """Return a level from options as YAML spells them; `source` returns the place of a spelling.

    Raise InputError or InputErrors for unknown options and values that cannot be.
    """
    values = fields.read(OPTIONS, Document(dict(options)))
    return {name: Given(value, level, source(BY_NAME[name].spelling)) for name, value in values.items()}


def written_layer(values: Mapping[str, Any], at: DocumentPath, level: Level, owner: str = "") -> dict[str, Given]:
    """Return a level from options that were read with `OPTIONS` at a place of a document."""
    out = {}
    for name, value in values.items():
        place = source_location.text(at.below(BY_NAME[name].spelling).location)
        out[name] = Given(value, level, f"{owner} {place}" if owner else place)
    return out


def of_resource(declaration: Declaration) -> Layer:
    """Return the settings that the resource gives itself, in its managedOptions."""
    if not declaration.options:
        return {}

    def source(spelling: str) -> str:
        return source_location.text(source_location.declared(declaration, ("spec", "managedOptions", spelling)))

    return layer(declaration.options, Level.RESOURCE, source)


def of_environment(environ: Mapping[str, str]) -> Layer:
    """Return the settings of environment variables. An empty variable counts as unset."""
    found = {setting.name: text for setting in REGISTRY if (text := environ.get(setting.variable))}
    return _of_text(found, Level.ENVIRONMENT, lambda setting: setting.variable) if found else {}


@dataclass(frozen=True, slots=True)
class Scoped:
    """A level that speaks only about the resources of one provider."""

    provider: str
    layer: Layer


def of_provider_variables(environ: Mapping[str, str]) -> list[Scoped]:
    """Return the settings of variables that the users of single providers know, such as AZURE_SYNC_PERIOD."""
    out = []
    for setting in REGISTRY:
        for provider, variable in setting.provider_env.items():
            text = environ.get(variable)
            if text:
                try:
                    value = setting.parse(setting.from_text(text))
                except InputError as error:
                    raise error.at(Location(field=variable)) from None
                out.append(Scoped(provider, {setting.name: Given(value, Level.ENVIRONMENT, variable)}))
    return out


def of_flags(flags: Mapping[str, str | None]) -> Layer:
    """Return the settings of the command line by name. None means that the flag was not given."""
    given = {name: text for name, text in flags.items() if text}
    return _of_text(given, Level.FLAG, lambda setting: setting.option) if given else {}


def _of_text(texts: Mapping[str, str], level: Level, source: Callable[[Setting], str]) -> Layer:
    layer = {}
    for name, text in texts.items():
        setting = BY_NAME[name]
        try:
            layer[name] = Given(setting.parse(setting.from_text(text)), level, source(setting))
        except InputError as error:
            raise error.at(Location(field=source(setting))) from None
    return layer


def resolve(layers: Iterable[Layer]) -> Settings:
    """Join levels, the nearest to the resource first; the built-in values need not be given."""
    given_layers = [layer for layer in layers if layer]
    return _joined_settings([*given_layers, BUILT_IN]) if given_layers else USUAL


def as_json(settings: Settings) -> Mapping[str, Json]:
    """Return the settings in force, each with where it comes from."""
    return _USUAL_AS_JSON if settings is USUAL else _shown(settings)


def _shown(settings: Settings) -> dict[str, Json]:
    return {
        setting.spelling: {
            "value": setting.show(setting.value_in(settings)),
            "from": settings.provenance.get(setting.name, ""),
        }
        for setting in REGISTRY
    }


def _joined_settings(chain: Sequence[Layer]) -> Settings:
    values: dict[str, dict[str, Any]] = {"": {}}
    provenance: dict[str, str] = {}
    for name, setting in BY_NAME.items():
        given = next(layer[name] for layer in chain if name in layer)
        provenance[name] = str(given)
        value = _joined([layer[name].value for layer in chain if name in layer]) if setting.joins else given.value
        values.setdefault(setting.group, {})[name.removeprefix(f"{setting.group}_")] = value
    return Settings(
        Resync(**values["resync"]),
        Debounce(**values["debounce"]),
        Assessing(**values["assessing"]),
        **values[""],
        provenance=provenance,
    )


def _joined(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join the values of the levels, the nearest first. For a key of several levels the nearest one counts."""
    out: dict[str, Any] = {}
    for value in values:
        for key, item in value.items():
            out.setdefault(key, item)
    return out


def candidates(name: str, layers: Sequence[Layer]) -> list[Given]:
    """Return the values of every level for one setting. The first is in force and hides the others."""
    return [layer[name] for layer in (*layers, BUILT_IN) if name in layer]


USUAL: Final = _joined_settings([BUILT_IN])  # of a resource that no level says anything about
_USUAL_AS_JSON: Final = _shown(USUAL)
