"""Secrets go to the provider only: every kept, printed or shown text is searched for them."""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import holdfast.store
from holdfast.compare import apply_patch, paths
from holdfast.model.json import Json
from holdfast.model.read_result import ReadError
from holdfast.model.verdict import Status
from holdfast.reconcile.report import RunReport
from holdfast.store.protocol import Store
from holdfast.testing.conformance.engine_process import EngineProcess
from holdfast.testing.conformance.expectations import NotApplicable, expect, expect_status, the_only
from holdfast.testing.conformance.provider_under_test import CallType
from holdfast.testing.conformance.scenario_run import ScenarioRun, failing

VARIABLE = "HOLDFAST_CONFORMANCE_SECRET"
FIRST, SECOND = "S3cr3t-one-of-the-kit", "S3cr3t-two-of-the-kit"


@dataclass(slots=True)
class _Heard:
    """The output and the reports of a run."""

    out: io.StringIO = field(default_factory=io.StringIO)
    reports: list[RunReport] = field(default_factory=list)

    def text(self) -> str:
        return self.out.getvalue() + repr(self.reports)


async def secret(run: ScenarioRun) -> str:
    """Create with a secret, rotate it, let writes fail with it; expect it in the resource and nowhere else."""
    if run.sample.sensitive_path is None:
        raise NotApplicable("the sample has no sensitive path")
    heard = _Heard()
    with tempfile.TemporaryDirectory(prefix="holdfast-conformance-") as folder, _listening(heard.out):
        store = await holdfast.store.open(Path(folder) / "store.db")
        try:
            await _told(run, store, heard)
            kept = await _shown(store)
        finally:
            await store.close()
        files = _files(Path(folder))
    for value in (FIRST, SECOND):
        leaky = [name for name, data in files.items() if value.encode() in data]
        expect(not leaky, f"the secret is in the store ({', '.join(leaky)})")
        expect(value not in kept, "the secret is in a state, event, finding or decision")
        expect(value not in heard.text(), "the secret is in a log, an output, a message or a repr")
    return "created, rotated; not in store, events, findings, logs, reprs"


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def _told(run: ScenarioRun, store: Store, heard: _Heard) -> None:
    name = run.name()
    where = paths.parse_path(run.sample.sensitive_path or "")
    desired = apply_patch.put(apply_patch.copied(dict(run.sample.full(name))), where, {"secretRef": {"env": VARIABLE}})
    process = EngineProcess(run.subject, store, environ={VARIABLE: FIRST})
    declaration = process.declare(run.sample.kind, name, desired)
    before = await run.new_ids()
    await _unlucky(run, process, desired, heard)
    for value in (FIRST, SECOND):
        process.environ = {VARIABLE: value}
        heard.reports.append(await process.apply([declaration]))
        made = await run.new_ids() - before
        expect(len(made) == 1, f"{len(made)} resources were created for one declaration with a secret")
        arrived = paths.resolve(await run.live(min(made)), where)
        expect(arrived == value, "the secret did not arrive where it was declared")
        heard.reports.append(await process.check([declaration]))
        expect_status(the_only(heard.reports[-1]), Status.IN_SYNC, "after the secret was written")


async def _unlucky(run: ScenarioRun, process: EngineProcess, desired: Json, heard: _Heard) -> None:
    """Let a write with the secret fail in every supported way, for its messages."""
    for call_type, trouble in run.subject.faults.supported if run.subject.faults is not None else ():
        if call_type is CallType.WRITE:
            faults = run.faults(call_type, trouble)
            before = await run.new_ids()
            declaration = process.declare(run.sample.kind, run.name(), desired)
            with failing(faults, call_type, ReadError(trouble)):
                heard.reports.append(await process.apply([declaration]))
            for ident in await run.new_ids() - before:  # it may have failed after it succeeded
                await run.subject.drift_injector.delete(run.sample.kind, ident)


@contextlib.contextmanager
def _listening(out: io.StringIO) -> Iterator[None]:
    """Capture standard output, standard error and every log record."""
    handler, root = logging.StreamHandler(out), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


async def _shown(store: Store) -> str:
    """Return all records of the store as text."""
    states = [state async for state in store.all_states()]
    told: list[object] = [states, [event async for event in store.events()], await store.findings()]
    for record in await store.decisions(None, 1000):
        told += [record, await store.document(record.inputs), await store.document(record.output)]
    for state in states:
        for digest in (
            state.declared.document,
            state.applied.document,
            state.applied.baseline,
            state.applied.known_differences,
            state.observed.document,
        ):
            if digest is not None:
                told.append(await store.document(digest))
    return repr(told)
