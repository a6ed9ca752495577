"""Run scenarios: each on a provider opened for it, each kind by itself, and delete what it created."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from holdfast.providers.protocol import Kind
from holdfast.testing.conformance import scenario_catalogue
from holdfast.testing.conformance.expectations import ExpectationFailed, NotApplicable
from holdfast.testing.conformance.provider_under_test import OpenProvider, ProviderUnderTest, Sample
from holdfast.testing.conformance.scenario_run import ScenarioRun
from holdfast.testing.conformance.scorecard import Outcome, Result, ScoreCard

_trials = itertools.count(1)  # names differ between runs, for services that remember deleted resources


@dataclass(frozen=True, slots=True)
class ScenarioCase:
    """One scenario on all kinds of a provider under test; its name is the id of a test."""

    name: str
    subject: ProviderUnderTest | OpenProvider

    async def run(self) -> tuple[Result, ...]:
        """Run the scenario; return a result for each kind."""
        async with _opened(self.subject) as subject:
            return tuple([await _examined(subject, sample, self.name) for sample in subject.samples])

    async def assert_passes(self) -> tuple[Result, ...]:
        """Run the scenario; raise AssertionError with all failures."""
        results = await self.run()
        failed = [f"{result.kind}: {result.detail}" for result in results if result.outcome is Outcome.FAILED]
        if failed:
            raise AssertionError(f"{self.name}: " + "; ".join(failed))
        return results

    def __str__(self) -> str:
        return self.name


def scenarios(subject: ProviderUnderTest | OpenProvider, only: Sequence[str] = ()) -> list[ScenarioCase]:
    """Return the scenarios as cases to parametrise a test with; opens nothing."""
    unknown = [name for name in only if name not in scenario_catalogue.ALL]
    if unknown:
        raise ValueError(f"there is no scenario {unknown[0]!r}; there are {', '.join(scenario_catalogue.ALL)}")
    return [ScenarioCase(name, subject) for name in scenario_catalogue.ALL if not only or name in only]


async def run(subject: ProviderUnderTest | OpenProvider, only: Sequence[str] = ()) -> ScoreCard:
    """Run all scenarios, or some, and return the card."""
    async with _opened(subject) as opened:
        name = opened.provider.name
    results = [await case.run() for case in scenarios(subject, only)]
    return ScoreCard(name, tuple(itertools.chain.from_iterable(results)))


@asynccontextmanager
async def _opened(subject: ProviderUnderTest | OpenProvider) -> AsyncIterator[ProviderUnderTest]:
    if isinstance(subject, ProviderUnderTest):
        yield subject
        return
    async with subject() as opened:
        yield opened


async def _examined(subject: ProviderUnderTest, sample: Sample, scenario: str) -> Result:
    """Run one scenario on one kind; an exception of the provider is a failure of the provider."""
    try:
        async with asyncio.timeout(subject.longest_seconds):
            outcome, detail = await _asked(subject, sample, scenario)
    except TimeoutError:
        outcome, detail = Outcome.FAILED, f"it did not end within {subject.longest_seconds:g} seconds"
    return Result(scenario, sample.label, outcome, detail)


async def _asked(subject: ProviderUnderTest, sample: Sample, scenario: str) -> tuple[Outcome, str]:
    excuse = sample.not_applicable.get(scenario)
    if excuse is not None:
        return Outcome.NOT_APPLICABLE, excuse
    known = frozenset(await subject.drift_injector.ids(sample.kind))
    try:
        run = ScenarioRun(subject, sample, await _kind(subject, sample), f"{scenario}-{next(_trials)}", known)
        return Outcome.PASSED, await scenario_catalogue.ALL[scenario](run)
    except NotApplicable as reason:
        return Outcome.NOT_APPLICABLE, str(reason)
    except ExpectationFailed as error:
        return Outcome.FAILED, str(error)
    except TimeoutError:
        raise
    except Exception as error:  # noqa: BLE001 - the provider is foreign code, and the card reports its errors
        return Outcome.FAILED, f"raised {_root(error)}"
    finally:
        await _cleared(subject, sample.kind, known)


def _root(error: BaseException) -> str:
    """Return the error inside exception groups of one, as text."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def _kind(subject: ProviderUnderTest, sample: Sample) -> Kind:
    """Return the Kind of a sample; some providers know their kinds only once they are open."""
    async with subject.provider.reader(subject.connection) as reader:
        kind = reader.kinds.get(sample.kind)
    if kind is None:
        raise ExpectationFailed(f"the provider has no kind {sample.kind!r}; it has {', '.join(sorted(reader.kinds))}")
    return kind


async def _cleared(subject: ProviderUnderTest, kind: str, known: frozenset[str]) -> None:
    """Delete what a scenario left; clear the faults first, because it may have ended in the middle of one."""
    if subject.faults is not None:
        subject.faults.clear()
    for ident in frozenset(await subject.drift_injector.ids(kind)) - known:
        await subject.drift_injector.delete(kind, ident)
