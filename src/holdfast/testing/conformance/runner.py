"""Running scenarios: each on a subject opened for it, each kind by itself, and whatever it made removed again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from holdfast.providers.protocol import Kind
from holdfast.testing.conformance import scenario_catalogue
from holdfast.testing.conformance.expectations import Disappointed, NotApplicable
from holdfast.testing.conformance.provider_under_test import Opening, Sample, Subject
from holdfast.testing.conformance.scenario_run import Trial
from holdfast.testing.conformance.scorecard import Outcome, Result, ScoreCard

_trials = itertools.count(1)  # names differ between trials, for worlds that remember what was once there


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario on all kinds of a subject; its name is what a test is called by."""

    name: str
    subject: Subject | Opening

    async def run(self) -> tuple[Result, ...]:
        """Open the subject and ask; a result for each kind."""
        async with _opened(self.subject) as subject:
            return tuple([await _examined(subject, sample, self.name) for sample in subject.samples])

    async def insist(self) -> tuple[Result, ...]:
        """Ask, and raise AssertionError with everything that failed: what a test calls."""
        results = await self.run()
        failed = [f"{result.kind}: {result.detail}" for result in results if result.outcome is Outcome.FAILED]
        if failed:
            raise AssertionError(f"{self.name}: " + "; ".join(failed))
        return results

    def __str__(self) -> str:
        return self.name


def scenarios(subject: Subject | Opening, only: Sequence[str] = ()) -> list[Case]:
    """Return every scenario as a case to parametrise a test with; nothing is opened by this."""
    unknown = [name for name in only if name not in scenario_catalogue.ALL]
    if unknown:
        raise ValueError(f"there is no scenario {unknown[0]!r}; there are {', '.join(scenario_catalogue.ALL)}")
    return [Case(name, subject) for name in scenario_catalogue.ALL if not only or name in only]


async def run(subject: Subject | Opening, only: Sequence[str] = ()) -> ScoreCard:
    """Run all scenarios, or some, and return the card."""
    async with _opened(subject) as opened:
        name = opened.provider.name
    results = [await case.run() for case in scenarios(subject, only)]
    return ScoreCard(name, tuple(itertools.chain.from_iterable(results)))


@asynccontextmanager
async def _opened(subject: Subject | Opening) -> AsyncIterator[Subject]:
    if isinstance(subject, Subject):
        yield subject
        return
    async with subject() as opened:
        yield opened


async def _examined(subject: Subject, sample: Sample, scenario: str) -> Result:
    """Run one scenario on one kind; whatever a provider raises is its failure, and not the kit's."""
    try:
        async with asyncio.timeout(subject.longest_seconds):
            outcome, detail = await _asked(subject, sample, scenario)
    except TimeoutError:
        outcome, detail = Outcome.FAILED, f"it did not end within {subject.longest_seconds:g} seconds"
    return Result(scenario, sample.label, outcome, detail)


async def _asked(subject: Subject, sample: Sample, scenario: str) -> tuple[Outcome, str]:
    excuse = sample.cannot.get(scenario)
    if excuse is not None:
        return Outcome.NOT_APPLICABLE, excuse
    known = frozenset(await subject.drift_injector.ids(sample.kind))
    try:
        trial = Trial(subject, sample, await _kind(subject, sample), f"{scenario}-{next(_trials)}", known)
        return Outcome.PASSED, await scenario_catalogue.ALL[scenario](trial)
    except NotApplicable as reason:
        return Outcome.NOT_APPLICABLE, str(reason)
    except Disappointed as error:
        return Outcome.FAILED, str(error)
    except TimeoutError:
        raise
    except Exception as error:  # noqa: BLE001 - the provider is strange code, and a card must come of it
        return Outcome.FAILED, f"raised {_root(error)}"
    finally:
        await _cleared(subject, sample.kind, known)


def _root(error: BaseException) -> str:
    """Name the error inside groups of one, as tasks make them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def _kind(subject: Subject, sample: Sample) -> Kind:
    """Return what the provider says of a kind; some know their kinds only once they are open."""
    async with subject.provider.reader(subject.connection) as reader:
        kind = reader.kinds.get(sample.kind)
    if kind is None:
        raise Disappointed(f"the provider has no kind {sample.kind!r}; it has {', '.join(sorted(reader.kinds))}")
    return kind


async def _cleared(subject: Subject, kind: str, known: frozenset[str]) -> None:
    """Remove what a scenario left, with the faults mended first: it may have ended in the middle of one."""
    if subject.faults is not None:
        subject.faults.mend()
    for ident in frozenset(await subject.drift_injector.ids(kind)) - known:
        await subject.drift_injector.delete(kind, ident)
