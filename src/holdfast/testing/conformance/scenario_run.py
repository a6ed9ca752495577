"""One scenario on one kind: what it works with, and the questions that most of them ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from holdfast.compare import diff, paths, profiles
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.read_result import ReadError
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.model.write_result import Done, InProgress, WriteResult
from holdfast.providers.protocol import Kind, Reader, Target, Writer
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.report import RunReport
from holdfast.testing.conformance.engine_process import Process
from holdfast.testing.conformance.expectations import NotApplicable, expect, expect_status, named_paths, the_only
from holdfast.testing.conformance.provider_under_test import Doing, Faults, Sample, Subject

MOST_POLLS = 1000


@dataclass(slots=True)
class Trial:
    """The stage of a scenario; names are new for each thing, so that no two scenarios meet."""

    subject: Subject
    sample: Sample
    kind: Kind
    prefix: str
    known: frozenset[str]  # ids that were there before
    _made: int = 0

    def name(self) -> str:
        """Return a name that was not used yet."""
        self._made += 1
        return f"{self.prefix}-{self._made}"

    def process(self, **environ: str) -> Process:
        """Return a process that remembers nothing."""
        return Process(self.subject, environ=environ)

    def rules(self, desired: Json, observed: Json) -> RuleTree:
        """Return the rules of the kind for two documents."""
        return profiles.stack(self.kind.profiles).tree(desired, observed)

    @asynccontextmanager
    async def halves(self) -> AsyncIterator[tuple[Reader, Writer]]:
        """Open the provider itself, for questions that the engine never asks."""
        provider, connection = self.subject.provider, self.subject.connection
        async with provider.reader(connection) as reader, provider.writer(connection) as writer:
            yield reader, writer

    # -- what is there

    async def new_ids(self) -> frozenset[str]:
        """Return the ids of what appeared since the trial began."""
        return frozenset(await self.subject.drift_injector.ids(self.sample.kind)) - self.known

    async def live(self, ident: str) -> Json:
        """Return a thing as it really is; fail if it is not there."""
        found = await self.subject.drift_injector.get(self.sample.kind, ident)
        expect(found is not None, f"there is no {self.sample.kind} {ident!r}, though the provider says so")
        return found

    async def expect_only(self, desired: Mapping[str, Json], when: str, before: frozenset[str] = frozenset()) -> None:
        """Expect that one thing appeared, no more and no less, and that it is as it was declared."""
        made = sorted(await self.new_ids() - before)
        expect(len(made) == 1, f"{when} there are {len(made)} things, not one")
        await self.expect_live(made[0], desired, when)

    async def expect_live(self, ident: str, desired: Mapping[str, Json], when: str) -> None:
        """Expect that a thing is as it was declared, by the vandal's eyes."""
        live = await self.live(ident)
        differing = diff.findings(desired, live, self.rules(desired, live))
        expect(not differing, f"{when} what is really there differs from what was declared: {named_paths(differing)}")

    # -- steps that most scenarios begin with

    async def made(self, process: Process, desired: Mapping[str, Json], name: str) -> tuple[Declaration, str]:
        """Declare and create a thing; return its declaration and its id."""
        declaration = process.declare(self.sample.kind, name, desired)
        before = await self.new_ids()
        expect_done(await process.apply([declaration]), Action.CREATE)
        after = await self.new_ids() - before
        expect(len(after) == 1, f"one thing was to be created, and {len(after)} appeared")
        (ident,) = after
        kept = (await process.state(declaration)).observed.provider_id
        expect(kept == ident, f"it was created as {ident!r}, and the provider says {kept!r}")
        return declaration, ident

    async def expect_clean(self, process: Process, declaration: Declaration, when: str) -> None:
        """Expect that the next check finds everything in sync and writes nothing, and that nothing is left undone."""
        before = len(process.ledger.writes)
        expect_status(the_only(await process.check([declaration])), Status.IN_SYNC, when)
        report = await process.apply([declaration])
        expect(not report.acted, f"{when} there was still something to do: {_told(report)}")
        expect(len(process.ledger.writes) == before, f"{when} something was written again")
        expect(not await process.store.operations(), f"{when} a write is still on record as unfinished")

    # -- faults

    def faults(self, doing: Doing, trouble: ReadError | None = None) -> Faults:
        """Return what makes calls fail; the scenario does not apply if it cannot."""
        faults = self.subject.faults
        if faults is None:
            raise NotApplicable("the subject brings nothing that makes calls fail")
        able = any(does is doing and trouble in (None, what) for does, what in faults.provokes)
        if not able:
            how = f" ({trouble.value})" if trouble is not None else ""
            raise NotApplicable(f"the subject's faults cannot make a {doing.value} fail{how}")
        return faults


@contextmanager
def failing(faults: Faults, doing: Doing, trouble: ReadError, times: int | None = None) -> Iterator[None]:
    """Let calls fail for a while."""
    faults.fail(doing, trouble, times)
    try:
        yield
    finally:
        faults.mend()


def expect_done(report: RunReport, action: Action) -> None:
    """Expect that one action was taken, and done."""
    if not report.acted:
        checked = the_only(report)
        message = f"{action.value} was expected, and nothing was done: {checked.verdict.reason}"
        expect(holds=False, message=f"{message}; {checked.decision.reasons[0].message}")
    expect(len(report.acted) == 1, f"one action was expected: {_told(report)}")
    (acted,) = report.acted
    taken = acted.checked.decision.action
    expect(taken is action, f"{action.value} was expected, and {taken.value} was chosen: {acted.message}")
    expect(acted.result is ActionOutcome.DONE, f"{action.value} ended as {acted.result.value}: {acted.message}")
    stuck = f"{action.value} was done, and it did not take: {', '.join(acted.unresolved)}"
    expect(not acted.unresolved, stuck)


def _told(report: RunReport) -> str:
    return "; ".join(f"{a.checked.decision.action.value} {a.result.value}, {a.message}" for a in report.acted)


async def settled(writer: Writer, target: Target, writing: WriteResult) -> WriteResult:
    """Follow a write to its end."""
    for _ in range(MOST_POLLS):
        if not isinstance(writing, InProgress):
            return writing
        writing = await writer.poll(target, writing.token)
    expect(holds=False, message=f"an operation was still under way after {MOST_POLLS} polls")
    return writing


def expect_accepted(writing: WriteResult, what: str) -> Done:
    """Expect that a write was done; return how."""
    expect(isinstance(writing, Done), f"{what} was answered {writing!r}")
    assert isinstance(writing, Done)
    return writing


def path_text(path: str) -> str:
    """Return a path in its one spelling."""
    return paths.format_path(paths.parse_path(path))
