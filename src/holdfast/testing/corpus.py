"""Scoring the comparison on labelled recordings: how often it cries wolf, how often it sleeps.

A corpus is gzipped or plain JSON Lines, one case a line (the format is described in docs/accuracy.md). Scoring is
strict: drift counts as found only if the untouched read of the same case, under the same baseline, is silent. The
observations of a case are judged in their order, and what the service filled in late joins the baseline, as it does
from one check to the next. The comparison sees a case's documents, kind and (unless withheld) schema, never its id.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

from holdfast.compare import diff, go_json, known_differences, paths, profiles, verdict_rules
from holdfast.compare.profile import Profile
from holdfast.compare.rules import FieldClass, ListKind, ListRule, Rule
from holdfast.errors import DocumentError, InputError, Location
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.read_result import Found, NotFound
from holdfast.model.verdict import Status, Verdict

IN_SYNC, DRIFT = EXPECTED = "in_sync", "drift"
BASELINES = ("settled", "first", "none")


@dataclass(frozen=True, slots=True)
class LabelledRead:
    """One labelled look at a resource."""

    observed: Json
    expect: str
    cls: str
    path: str | None
    baseline: str
    note: str


@dataclass(frozen=True, slots=True)
class CorpusCase:
    """One resource: its declaration, the first read after it, and labelled reads."""

    id: str
    provider: str
    kind: str
    version: str | None
    schema: Mapping[str, Json] | None
    desired: Json
    settled: Json
    observations: tuple[LabelledRead, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the score: for in_sync rows `wrong` counts false positives, for drift rows strict misses."""

    provider: str
    cls: str
    expect: str
    baseline: str
    n: int
    wrong: int
    misplaced: int = 0  # found, but at a path that is neither equal to, above nor below the labelled one


@dataclass(frozen=True, slots=True)
class Offender:
    """One observation judged wrongly, with the finding and rule that decided or the silence that did."""

    case: str
    kind: str
    cls: str
    label: str | None
    status: str
    paths: tuple[str, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The score of a run and everything that went wrong in it."""

    rows: tuple[Row, ...]
    false_positives: tuple[Offender, ...]
    false_negatives: tuple[Offender, ...]


def read(file: FilePath) -> Iterator[CorpusCase]:
    """Read the cases of a corpus file; raise DocumentError with the line at the first malformed one."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _case(line, Location(str(file), number))
    except (OSError, EOFError, zlib.error) as error:
        message = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise DocumentError(message, Location(str(file))) from None


def _case(line: bytes, location: Location) -> CorpusCase:
    try:
        body = go_json.loads(line)
        observations = tuple(
            LabelledRead(
                o["observed"],
                _word(o["expect"], EXPECTED),
                o["class"],
                o.get("path"),
                _word(o["baseline"], BASELINES),
                o.get("note", ""),
            )
            for o in body["observations"]
        )
        return CorpusCase(
            body["id"],
            body["provider"],
            body["kind"],
            body.get("version"),
            body.get("schema"),
            body["desired"],
            body.get("settled"),
            observations,
        )
    except InputError as error:  # it knows its place in the line, not the line
        raise DocumentError(error.message, Location(location.file, location.line, error.location.column)) from None
    except (KeyError, TypeError, ValueError) as error:
        message = f"not a corpus case: {error} (the format is in docs/accuracy.md)"
        raise DocumentError(message, location) from None


def _word(word: Json, allowed: Sequence[str]) -> str:
    if word not in allowed:
        message = f"{word!r} is not one of {', '.join(allowed)}"
        raise ValueError(message)
    return str(word)


def rules_of_schema(schema: Mapping[str, Json] | None) -> list[Rule] | None:
    """Turn a case's schema into rules; None where there is no schema."""
    if schema is None:
        return None
    out: list[Rule] = []
    for word, cls in (
        ("read_only", FieldClass.READ_ONLY),
        ("write_only", FieldClass.WRITE_ONLY),
        ("create_only", FieldClass.CREATE_ONLY),
    ):
        out += [Rule(paths.parse_pattern(text), cls=cls, source="schema") for text in schema.get(word) or ()]
    for text in schema.get("unordered") or ():
        out.append(Rule(paths.parse_pattern(text), list_rule=ListRule(ListKind.MULTISET), source="schema"))
    for text, fields in (schema.get("keyed") or {}).items():
        out.append(Rule(paths.parse_pattern(text), list_rule=ListRule(ListKind.KEYED, tuple(fields)), source="schema"))
    for text, value in (schema.get("defaults") or {}).items():
        out.append(Rule(paths.parse_pattern(text), default=value, source="schema"))
    return out


@dataclass(frozen=True, slots=True)
class Lens:
    """How a provider sees its own traffic: what it makes of an answer, and which rules it has for a kind."""

    convert: Callable[[Json], Json]
    profiles: Callable[[str, str | None], Sequence[Profile]]  # by kind and API version

    def seen(self, case: CorpusCase) -> CorpusCase:
        """Return a case as the provider would hand it to the comparison."""
        looks = tuple(
            replace(observation, observed=self._one(observation.observed)) for observation in case.observations
        )
        return replace(case, settled=self._one(case.settled), observations=looks)

    def _one(self, document: Json) -> Json:
        return self.convert(document) if isinstance(document, dict) else document


class Scorer:
    """Judges cases and keeps the score; cases of a provider that has a lens are seen through it."""

    def __init__(
        self,
        shipped: Sequence[Profile],
        *,
        use_schema: bool = True,
        lenses: Mapping[str, Lens] | None = None,
    ) -> None:
        self._shipped = shipped
        self._use_schema = use_schema
        self._lenses = lenses or {}
        self._rows: dict[tuple[str, str, str, str], list[int]] = {}
        self._false_positives: list[Offender] = []
        self._false_negatives: list[Offender] = []

    def add(self, case: CorpusCase) -> None:
        """Judge every observation of a case."""
        lens = self._lenses.get(case.provider)
        if lens is None:
            chosen = [profile for profile in self._shipped if profile.applies_to(case.provider, case.kind)]
        else:
            case, chosen = lens.seen(case), list(lens.profiles(case.kind, case.version))
        rules = profiles.stack(chosen, schema=rules_of_schema(case.schema) if self._use_schema else None)
        silent: dict[str, bool] = {}
        memory = {how: remembered(case, how) for how in BASELINES}
        for observation in case.observations:
            how = observation.baseline
            if observation.expect == DRIFT and how not in silent:
                silent[how] = self._is_silent_untouched(case, how, rules)
            verdict = judge(case, observation.observed, memory[how], rules)
            self._score(case, observation, verdict, silent)
            memory[how] = _with_filled_in(case, observation.observed, memory[how], rules, verdict)

    def _is_silent_untouched(self, case: CorpusCase, baseline: str, rules: profiles.RuleSet) -> bool:
        """Judge the untouched read; a case whose only read is the drifted one has none, so there is nothing to ask."""
        if case.settled is None and case.observations[0].expect == DRIFT:
            return True
        untouched = case.observations[0].observed if case.settled is None else case.settled
        return judge(case, untouched, remembered(case, baseline), rules).status is Status.IN_SYNC

    def _score(self, case: CorpusCase, observation: LabelledRead, verdict: Verdict, silent: Mapping[str, bool]) -> None:
        flagged = verdict.status is not Status.IN_SYNC
        key = (case.provider, observation.cls, observation.expect, observation.baseline)
        row = self._rows.setdefault(key, [0, 0, 0])
        row[0] += 1
        if observation.expect == IN_SYNC:
            if flagged:
                row[1] += 1
                self._false_positives.append(_offender(case, observation, verdict))
        elif not flagged or not silent[observation.baseline]:
            row[1] += 1
            self._false_negatives.append(_offender(case, observation, verdict))
        elif observation.path is not None and not is_placed(verdict.findings, observation.path):
            row[2] += 1

    def report(self) -> Report:
        """Return the score so far, rows in a stable order."""
        rows = tuple(Row(*key, *counts) for key, counts in sorted(self._rows.items()))
        return Report(rows, tuple(self._false_positives), tuple(self._false_negatives))


def score(
    cases: Iterable[CorpusCase],
    shipped: Sequence[Profile],
    *,
    use_schema: bool = True,
    lenses: Mapping[str, Lens] | None = None,
) -> Report:
    """Judge all cases with the shipped profiles, or through a provider's own lens."""
    scorer = Scorer(shipped, use_schema=use_schema, lenses=lenses)
    for case in cases:
        scorer.add(case)
    return scorer.report()


def remembered(case: CorpusCase, baseline: str) -> diff.Baseline | None:
    """Return the baseline that an observation lets a detector remember."""
    document = {"settled": case.settled, "first": case.observations[0].observed}.get(baseline, ABSENT)
    return None if document is ABSENT else diff.Baseline(case.desired, document)


def _with_filled_in(
    case: CorpusCase, observed: Json, known: diff.Baseline | None, rules: profiles.RuleSet, verdict: Verdict
) -> diff.Baseline | None:
    """Return the baseline with what the service filled in late, as a check that finds no drift leaves it behind."""
    if known is None or observed is None or verdict.status is not Status.IN_SYNC:
        return known
    if not any(rule.cls is FieldClass.FILLED_IN for rule in rules.rules):
        return known
    tree = rules.tree(case.desired, observed)
    findings = diff.findings(case.desired, observed, tree, known)
    return known_differences.absorb_filled_in(known, findings, tree)[0]


def judge(case: CorpusCase, observed: Json, known: diff.Baseline | None, rules: profiles.RuleSet) -> Verdict:
    """Give the verdict on one observation with what a detector remembers of the resource."""
    reading = NotFound() if observed is None else Found(observed)
    tree = rules.tree(case.desired, observed)
    return verdict_rules.judge(reading, case.desired, tree, applied=case.desired, baseline=known)


def is_placed(findings: Sequence[Finding], label: str) -> bool:
    """Return True if a finding is at, above or below the labelled pointer. A deleted resource has no path."""
    target: Pointer = tuple(str(step) for step in paths.parse_path(label))
    return not findings or any(paths.overlaps(finding.pointer, target) for finding in findings)


def _offender(case: CorpusCase, observation: LabelledRead, verdict: Verdict) -> Offender:
    return Offender(
        case.id,
        case.kind,
        observation.cls,
        observation.path,
        verdict.status.value,
        tuple(paths.format_path(finding.path) for finding in verdict.findings),
        tuple(finding.rule for finding in verdict.findings),
    )
