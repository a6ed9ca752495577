"""The settings in force for a resource, and where each of them comes from.

One table holds them all: a new setting is a row of REGISTRY and a field of Settings, and every level, flag, environment
variable and explanation follows. A level is a mapping from a setting's name to what it was given there; the first level
that speaks about a setting wins, each setting by itself:

    resource -> strategy's kind override -> strategy's defaults -> flag -> environment -> holdfast.yaml -> built-in
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import orjson

from holdfast.compare import go_json, paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, OnDelete, OnDrift
from holdfast.policy import did_you_mean, durations, source_location
from holdfast.policy.decide import OnImmutable, ReconcileMode, Recreate

WATCH_PERIOD_SECONDS: Final = 600.0


class JitterShape(StrEnum):
    """On which side of the period chance may put the next check."""

    SYMMETRIC = "symmetric"
    POSITIVE = "positive"  # never before the period is over


class PathPolicy(StrEnum):
    """What to do about drift at a path; all but the last also decide what `onDrift` may say."""

    CORRECT = "correct"
    REPORT = "report"
    APPROVE = "approve"
    IGNORE = "ignore"  # neither compared nor written


class OnFailedVerify(StrEnum):
    """What to do when a correction did not take everywhere."""

    REPORT = "report"
    UNDO = "undo"  # revert what was there before


class Assess(StrEnum):
    """Which writes of ours are assessed afterwards: whether they held, and whether they helped."""

    OFF = "off"
    CORRECTIONS = "corrections"  # what puts the world back
    WRITES = "writes"  # what follows an edit of the declaration, too


@dataclass(frozen=True, slots=True)
class Settings:
    """Effective values, typed; `provenance` says for each, by name, which level gave it and where that is written."""

    resync_period: float = 0.0  # seconds; 0: no periodic check
    resync_jitter: float = 0.1
    resync_jitter_shape: JitterShape = JitterShape.SYMMETRIC
    on_drift: OnDrift = OnDrift.CORRECT
    on_drift_paths: Mapping[str, PathPolicy] = field(default_factory=dict)  # by pattern, the nearest level's first
    debounce_checks: int = 1  # consecutive checks that must see a drift before it is corrected
    debounce_time: float = 0.0  # seconds that a drift must last before it is corrected
    on_failed_verify: OnFailedVerify = OnFailedVerify.REPORT
    on_delete: OnDelete = OnDelete.DELETE
    on_immutable: OnImmutable = OnImmutable.BLOCK
    recreate: Recreate = Recreate.WHEN_RESYNC
    settle_window: float = 300.0  # seconds
    operation_timeout: float = 3600.0  # seconds
    state_hash: bool = True
    reconcile_mode: ReconcileMode = ReconcileMode.GET_PUT
    pin_baseline: bool = False
    assess: Assess = Assess.OFF
    undo_below: float = 0.0  # a correction whose assessment scores less is taken back; 0: never
    refuse_after: int = 0  # failures of a remediation on the same state, after which it is held; 0: never
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_resync_set(self) -> bool:
        """Whether anybody says how often to check; an explicit 0 means that nobody is to."""
        return not self.provenance.get("resync_period", Level.BUILT_IN).startswith(Level.BUILT_IN)

    @property
    def ignored_paths(self) -> tuple[str, ...]:
        """The patterns of paths that are neither compared nor written."""
        return tuple(path for path, policy in self.on_drift_paths.items() if policy is PathPolicy.IGNORE)


class Level(StrEnum):
    """Who may set a setting, the nearest to the resource first."""

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
    spelling: str  # in YAML
    doc: str
    parse: Callable[[Json], Any]
    builtin: Any
    from_text: Callable[[str], Json] = str  # flags and variables are text; most settings read text anyway
    show: Callable[[Any], str] = str
    env: str = ""
    flag: str = ""
    provider_env: Mapping[str, str] = field(default_factory=dict)  # by provider: a variable that its users know
    joins: bool = False  # every level adds to it, instead of the nearest hiding the others

    @property
    def variable(self) -> str:
        """The environment variable of this setting."""
        return self.env or f"HOLDFAST_{self.name.upper()}"

    @property
    def option(self) -> str:
        """The command-line option of this setting."""
        return self.flag or f"--{self.name.replace('_', '-')}"


def _choice(choices: type[StrEnum]) -> Callable[[Json], StrEnum]:
    def parse(value: Json) -> StrEnum:
        words = [choice.value for choice in choices]
        if not isinstance(value, str) or value not in words:
            guess = did_you_mean.hint(value, words) if isinstance(value, str) else ""
            raise InputError(f"one of {', '.join(words)} is needed here{guess}")
        return choices(value)

    return parse


def _fraction(value: Json) -> float:
    if isinstance(value, str) and value.endswith("%"):
        try:
            value = float(value[:-1]) / 100
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError("a fraction from 0 to 1 is needed here, such as 0.1 or 10%")
    return float(value)


def _number_in(text: str) -> Json:
    try:
        return float(text)
    except ValueError:
        return text


def _truth(value: Json) -> bool:
    if not isinstance(value, bool):
        raise InputError("true or false is needed here, without quotes")
    return value


def _truth_in(text: str) -> Json:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)


def _show_truth(value: bool) -> str:  # noqa: FBT001 - it is a value here, not a switch
    return "true" if value else "false"


def _path_policies(value: Json) -> dict[str, PathPolicy]:
    if not isinstance(value, dict):
        raise InputError("paths with what to do about drift there are needed here, such as {/size: report}")
    parse = _choice(PathPolicy)
    out = {}
    for pattern, policy in value.items():
        try:
            paths.parse_pattern(pattern)
            out[pattern] = PathPolicy(parse(policy))
        except InputError as error:
            raise InputError(f"{pattern}: {error.message}") from None
    return out


def _json_in(text: str) -> Json:
    try:
        return go_json.loads(text.encode())
    except InputError:
        return text


def _show_policies(value: Mapping[str, PathPolicy]) -> str:
    return orjson.dumps({pattern: policy.value for pattern, policy in value.items()}).decode()


def _count(value: Json) -> int:
    if type(value) is not int or value < 1:
        raise InputError("a whole number from 1 is needed here")
    return value


def _count_or_none(value: Json) -> int:
    if type(value) is not int or value < 0:
        raise InputError("a whole number is needed here; 0 means never")
    return value


def _count_in(text: str) -> Json:
    return int(text) if text.isdigit() else text


_DEFAULT: Final = Settings()

REGISTRY: Final[tuple[Setting, ...]] = (
    Setting(
        "resync_period",
        "resyncPeriod",
        "How long after a settled check the next one is due; 0 switches periodic checks off. Where nothing is set, "
        "`watch` checks every 10m.",
        durations.parse,
        _DEFAULT.resync_period,
        show=durations.format_seconds,
        env="HOLDFAST_DEFAULT_RESYNC_PERIOD",
        flag="--default-resync-period",
        provider_env={"azure": "AZURE_SYNC_PERIOD"},
    ),
    Setting(
        "resync_jitter",
        "resyncJitter",
        "By which fraction of the period chance may move a check, so that not all come at once.",
        _fraction,
        _DEFAULT.resync_jitter,
        _number_in,
    ),
    Setting(
        "resync_jitter_shape",
        "resyncJitterShape",
        "Whether chance moves a check to both sides of the period or only after it.",
        _choice(JitterShape),
        _DEFAULT.resync_jitter_shape,
    ),
    Setting(
        "on_drift",
        "onDrift",
        "What to do when changed outside Holdfast: correct it, only report it, or wait for approval.",
        _choice(OnDrift),
        _DEFAULT.on_drift,
    ),
    Setting(
        "on_drift_paths",
        "onDriftPaths",
        "What to do about drift at single paths: correct, report, approve or ignore; levels are joined.",
        _path_policies,
        _DEFAULT.on_drift_paths,
        _json_in,
        _show_policies,
        joins=True,
    ),
    Setting(
        "debounce_checks",
        "debounceChecks",
        "How many checks in a row must see a drift before it is corrected.",
        _count,
        _DEFAULT.debounce_checks,
        _count_in,
    ),
    Setting(
        "debounce_time",
        "debounceTime",
        "How long a drift must last before it is corrected.",
        durations.parse,
        _DEFAULT.debounce_time,
        show=durations.format_seconds,
    ),
    Setting(
        "on_failed_verify",
        "onFailedVerify",
        "What to do when a correction did not take everywhere: report it, or undo it.",
        _choice(OnFailedVerify),
        _DEFAULT.on_failed_verify,
    ),
    Setting(
        "on_delete",
        "onDelete",
        "What happens to the live thing when its declaration goes: it is deleted or left alone.",
        _choice(OnDelete),
        _DEFAULT.on_delete,
    ),
    Setting(
        "on_immutable",
        "onImmutable",
        "What to do when a field that is fixed at birth must change: stop, or delete and create anew.",
        _choice(OnImmutable),
        _DEFAULT.on_immutable,
    ),
    Setting(
        "recreate",
        "recreate",
        "Whether something we created and somebody deleted is created again; by when_resync unless resyncPeriod is 0.",
        _choice(Recreate),
        _DEFAULT.recreate,
    ),
    Setting(
        "settle_window",
        "settleWindow",
        "How long after our own write late defaults of the service may still join the baseline.",
        durations.parse,
        _DEFAULT.settle_window,
        show=durations.format_seconds,
    ),
    Setting(
        "operation_timeout",
        "operationTimeout",
        "How long a run follows an operation that the API has not ended; the next run asks again.",
        durations.parse,
        _DEFAULT.operation_timeout,
        show=durations.format_seconds,
    ),
    Setting(
        "state_hash",
        "stateHash",
        "Whether an observation with the same hash as the last one is taken as unchanged without a comparison.",
        _truth,
        _DEFAULT.state_hash,
        _truth_in,
        _show_truth,
    ),
    Setting(
        "reconcile_mode",
        "reconcileMode",
        "Whether to compare and write what differs (get_put), to write at every turn without comparing (put_only), to "
        "compare and write nothing (observe), or to compare and write all the same (shadow).",
        _choice(ReconcileMode),
        _DEFAULT.reconcile_mode,
    ),
    Setting(
        "pin_baseline",
        "pinBaseline",
        "Whether drift that nobody declared, and that a write of the declaration did not revert, is reverted by "
        "sending the value it had.",
        _truth,
        _DEFAULT.pin_baseline,
        _truth_in,
        _show_truth,
    ),
    Setting(
        "assess",
        "assess",
        "Which of our writes are assessed afterwards, whether they held and helped: off, corrections, or all writes.",
        _choice(Assess),
        _DEFAULT.assess,
    ),
    Setting(
        "undo_below",
        "undoBelow",
        "Under which score, from 0 to 1, a correction that was assessed is taken back; 0 means never.",
        _fraction,
        _DEFAULT.undo_below,
        _number_in,
    ),
    Setting(
        "refuse_after",
        "refuseAfter",
        "After how many failures on the same state a remediation is not tried again without a yes; 0 means never.",
        _count_or_none,
        _DEFAULT.refuse_after,
        _count_in,
    ),
)
BY_NAME: Final = {setting.name: setting for setting in REGISTRY}
BY_SPELLING: Final = {setting.spelling: setting for setting in REGISTRY}
BUILT_IN: Final[Layer] = {setting.name: Given(setting.builtin, Level.BUILT_IN) for setting in REGISTRY}


WATCHING: Final[Layer] = {  # what a watch goes by where nobody says otherwise
    "resync_period": Given(WATCH_PERIOD_SECONDS, Level.BUILT_IN, "watch"),
}


def parse_option(spelling: str, value: Json) -> tuple[Setting, Any]:
    """Read one option as YAML spells it; raise InputError if there is no such option or it cannot have that value."""
    setting = BY_SPELLING.get(spelling)
    if setting is None:
        raise InputError(f"there is no option {spelling!r}{did_you_mean.hint(spelling, BY_SPELLING)}")
    return setting, setting.parse(value)


def layer(options: Mapping[str, Json], level: Level, source: Callable[[str], str]) -> Layer:
    """Read a mapping of options; null means not given. `source` tells from a spelling where it is written."""
    out = {}
    for spelling, value in options.items():
        if value is not None:
            setting, parsed = parse_option(spelling, value)
            out[setting.name] = Given(parsed, level, source(spelling))
    return out


def of_resource(declaration: Declaration) -> Layer:
    """Return what the resource says itself, in its managedOptions."""
    if not declaration.options:
        return {}

    def source(spelling: str) -> str:
        return source_location.text(source_location.declared(declaration, ("spec", "managedOptions", spelling)))

    return layer(declaration.options, Level.RESOURCE, source)


def of_environment(environ: Mapping[str, str]) -> Layer:
    """Return what the environment says; an empty variable says nothing."""
    found = {setting.name: environ.get(setting.variable) for setting in REGISTRY}
    return _of_text(found, Level.ENVIRONMENT, lambda setting: setting.variable)


@dataclass(frozen=True, slots=True)
class Scoped:
    """A level that speaks only about the resources of one provider."""

    provider: str
    layer: Layer


def of_provider_variables(environ: Mapping[str, str]) -> list[Scoped]:
    """Return what variables say that the users of single providers know, such as AZURE_SYNC_PERIOD."""
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
    """Return what the command line says; keys are names of settings, None was not given."""
    return _of_text(flags, Level.FLAG, lambda setting: setting.option)


def _of_text(texts: Mapping[str, str | None], level: Level, source: Callable[[Setting], str]) -> Layer:
    out = {}
    for name, text in texts.items():
        if text:
            setting = BY_NAME[name]
            try:
                out[name] = Given(setting.parse(setting.from_text(text)), level, source(setting))
            except InputError as error:
                raise error.at(Location(field=source(setting))) from None
    return out


def resolve(layers: Iterable[Layer]) -> Settings:
    """Join levels, the nearest to the resource first; the built-in values need not be given."""
    chain = [*layers, BUILT_IN]
    values: dict[str, Any] = {}
    provenance: dict[str, str] = {}
    for name in BY_NAME:
        given = next(each[name] for each in chain if name in each)
        values[name], provenance[name] = given.value, str(given)
        if BY_NAME[name].joins:
            values[name] = _joined([each[name].value for each in chain if name in each])
    return Settings(**values, provenance=provenance)


def _joined(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join what the levels say, the nearest first: of two that speak about the same, the nearest is heard."""
    out: dict[str, Any] = {}
    for value in values:
        for key, each in value.items():
            out.setdefault(key, each)
    return out


def candidates(name: str, layers: Sequence[Layer]) -> list[Given]:
    """Return every level's say about one setting: the first is in force, the others are what it hides."""
    return [each[name] for each in (*layers, BUILT_IN) if name in each]
