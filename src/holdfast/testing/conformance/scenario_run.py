"""The context of one scenario on one kind, and the expectations that most scenarios share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from holdfast.compare import apply_patch, diff, paths, profiles
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
from holdfast.testing.conformance.engine_process import EngineProcess
from holdfast.testing.conformance.expectations import NotApplicable, expect, expect_status, named_paths, the_only
from holdfast.testing.conformance.provider_under_test import CallType, Faults, ProviderUnderTest, Sample

MOST_POLLS = 1000


@dataclass(slots=True)
class ScenarioRun:
    """The context of a scenario; each resource has a new name, so that scenarios do not interfere."""

    subject: ProviderUnderTest
    sample: Sample
    kind: Kind
    prefix: str
    known: frozenset[str]  # ids that existed before
    _made: int = 0

    def name(self) -> str:
        """Return an unused name."""
        self._made += 1
        return f"{self.prefix}-{self._made}"

    def process(self, **environ: str) -> EngineProcess:
        """Return a process with an empty store."""
        return EngineProcess(self.subject, environ=environ)

    def rules(self, desired: Json, observed: Json) -> RuleTree:
        """Return the rules of the kind for two documents."""
        return profiles.stack(self.kind.profiles).tree(desired, observed)

    @asynccontextmanager
    async def halves(self) -> AsyncIterator[tuple[Reader, Writer]]:
        """Open the provider itself, for calls that the engine never makes."""
        provider, connection = self.subject.provider, self.subject.connection
        async with provider.reader(connection) as reader, provider.writer(connection) as writer:
            yield reader, writer

    # -- live resources

    async def new_ids(self) -> frozenset[str]:
        """Return the ids that appeared since the scenario began."""
        return frozenset(await self.subject.drift_injector.ids(self.sample.kind)) - self.known

    async def live(self, ident: str) -> Json:
        """Return a live resource; fail if it does not exist."""
        document = await self.subject.drift_injector.get(self.sample.kind, ident)
        expect(document is not None, f"there is no {self.sample.kind} {ident!r}, although the provider says so")
        return apply_patch.copied(document)

    async def expect_only(self, desired: Mapping[str, Json], when: str, before: frozenset[str] = frozenset()) -> None:
        """Expect exactly one new resource, as declared."""
        made = sorted(await self.new_ids() - before)
        expect(len(made) == 1, f"{when} there are {len(made)} resources, not one")
        await self.expect_live(made[0], desired, when)

    async def expect_live(self, ident: str, desired: Mapping[str, Json], when: str) -> None:
        """Expect that the live resource is as declared, as the drift injector reads it."""
        live = await self.live(ident)
        differing = diff.findings(desired, live, self.rules(desired, live))
        expect(not differing, f"{when} the live resource differs from the declaration: {named_paths(differing)}")

    # -- steps that most scenarios begin with

    async def made(self, process: EngineProcess, desired: Mapping[str, Json], name: str) -> tuple[Declaration, str]:
        """Declare and create a resource; return its declaration and its id."""
        declaration = process.declare(self.sample.kind, name, desired)
        before = await self.new_ids()
        expect_done(await process.apply([declaration]), Action.CREATE)
        after = await self.new_ids() - before
        expect(len(after) == 1, f"one resource was to be created, but {len(after)} appeared")
        (ident,) = after
        kept = (await process.state(declaration)).observed.provider_id
        expect(kept == ident, f"it was created as {ident!r}, but the provider returned {kept!r}")
        return declaration, ident

    async def expect_clean(self, process: EngineProcess, declaration: Declaration, when: str) -> None:
        """Expect that the next check is in sync, that nothing is written, and that no write is unfinished."""
        before = len(process.ledger.writes)
        expect_status(the_only(await process.check([declaration])), Status.IN_SYNC, when)
        report = await process.apply([declaration])
        expect(not report.acted, f"{when} there was still something to do: {_told(report)}")
        expect(len(process.ledger.writes) == before, f"{when} something was written again")
        expect(not await process.store.operations(), f"{when} a write is still recorded as unfinished")

    # -- faults

    def faults(self, call_type: CallType, trouble: ReadError | None = None) -> Faults:
        """Return the faults; raise NotApplicable if they do not support this one."""
        faults = self.subject.faults
        if faults is None:
            raise NotApplicable("no faults are given")
        able = any(does is call_type and trouble in (None, what) for does, what in faults.supported)
        if not able:
            how = f" ({trouble.value})" if trouble is not None else ""
            raise NotApplicable(f"the faults cannot make a {call_type.value} fail{how}")
        return faults


@contextmanager
def failing(faults: Faults, call_type: CallType, trouble: ReadError, times: int | None = None) -> Iterator[None]:
    """Let calls fail for a while."""
    faults.fail(call_type, trouble, times)
    try:
        yield
    finally:
        faults.clear()


def expect_done(report: RunReport, action: Action) -> None:
    """Expect that one action was taken and is done."""
    if not report.acted:
        checked = the_only(report)
        message = f"{action.value} was expected, but nothing was done: {checked.verdict.reason}"
        expect(holds=False, message=f"{message}; {checked.decision.reasons[0].message}")
    expect(len(report.acted) == 1, f"one action was expected: {_told(report)}")
    (acted,) = report.acted
    taken = acted.checked.decision.action
    expect(taken is action, f"{action.value} was expected, but {taken.value} was chosen: {acted.message}")
    expect(acted.result is ActionOutcome.DONE, f"{action.value} ended as {acted.result.value}: {acted.message}")
    stuck = f"{action.value} was done, but had no effect: {', '.join(acted.unresolved)}"
    expect(not acted.unresolved, stuck)


def _told(report: RunReport) -> str:
    return "; ".join(f"{a.checked.decision.action.value} {a.result.value}, {a.message}" for a in report.acted)


async def settled(writer: Writer, target: Target, writing: WriteResult) -> WriteResult:
    """Follow a write to its end."""
    for _ in range(MOST_POLLS):
        if not isinstance(writing, InProgress):
            return writing
        writing = await writer.poll(target, writing.token)
    expect(holds=False, message=f"an operation was still in progress after {MOST_POLLS} polls")
    return writing


def expect_accepted(writing: WriteResult, what: str) -> Done:
    """Expect that a write was done; return the result."""
    expect(isinstance(writing, Done), f"{what} was answered {writing!r}")
    assert isinstance(writing, Done)
    return writing


def path_text(path: str) -> str:
    """Return a path in its canonical spelling."""
    return paths.format_path(paths.parse_path(path))
