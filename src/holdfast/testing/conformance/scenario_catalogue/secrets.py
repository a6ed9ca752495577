"""A secret goes to the world and nowhere else: searched for in everything that is kept, said or shown."""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.compare import apply_patch, paths
from holdfast.model.json import Json
from holdfast.model.read_result import ReadError
from holdfast.model.verdict import Status
from holdfast.reconcile.report import RunReport
from holdfast.store.protocol import Store
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.conformance.engine_process import Process
from holdfast.testing.conformance.expectations import NotApplicable, expect, expect_status, the_only
from holdfast.testing.conformance.provider_under_test import Doing
from holdfast.testing.conformance.scenario_run import Trial, failing

VARIABLE = "HOLDFAST_CONFORMANCE_SECRET"
FIRST, SECOND = "S3cr3t-one-of-the-kit", "S3cr3t-two-of-the-kit"


@dataclass(slots=True)
class _Heard:
    """Everything that was said while a story was told."""

    out: io.StringIO = field(default_factory=io.StringIO)
    reports: list[RunReport] = field(default_factory=list)

    def text(self) -> str:
        return self.out.getvalue() + repr(self.reports)


async def secret(trial: Trial) -> str:
    """Create with a secret, rotate it, let writes fail with it; it must arrive, and must be found nowhere else."""
    if trial.sample.secret is None:
        raise NotApplicable("the sample names no field that may hold a secret")
    heard = _Heard()
    with tempfile.TemporaryDirectory(prefix="holdfast-conformance-") as folder, _listening(heard.out):
        store = await SqliteStore.open(Path(folder) / "store.db")
        try:
            await _told(trial, store, heard)
            kept = await _shown(store)
        finally:
            await store.close()
        files = _files(Path(folder))
    for value in (FIRST, SECOND):
        leaky = [name for name, data in files.items() if value.encode() in data]
        expect(not leaky, f"the secret stands in the store ({', '.join(leaky)})")
        expect(value not in kept, "the secret stands in a state, event, finding or decision")
        expect(value not in heard.text(), "the secret was said: in a log, an output, a message or a repr")
    return "created, rotated; not in store, events, findings, logs, reprs"


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def _told(trial: Trial, store: Store, heard: _Heard) -> None:
    name = trial.name()
    where = paths.parse_path(trial.sample.secret or "")
    desired = apply_patch.put(
        apply_patch.copied(dict(trial.sample.full(name))), where, {"secretRef": {"env": VARIABLE}}
    )
    process = Process(trial.subject, store, environ={VARIABLE: FIRST})
    declaration = process.declare(trial.sample.kind, name, desired)
    before = await trial.new_ids()
    await _unlucky(trial, process, desired, heard)
    for value in (FIRST, SECOND):
        process.environ = {VARIABLE: value}
        heard.reports.append(await process.apply([declaration]))
        made = await trial.new_ids() - before
        expect(len(made) == 1, f"{len(made)} things were made of one declaration with a secret")
        arrived = paths.resolve(await trial.live(min(made)), where)
        expect(arrived == value, "the secret did not arrive where it was declared")
        heard.reports.append(await process.check([declaration]))
        expect_status(the_only(heard.reports[-1]), Status.IN_SYNC, "after the secret was written")


async def _unlucky(trial: Trial, process: Process, desired: Json, heard: _Heard) -> None:
    """Let a write with the secret fail in each way that can be provoked, for the messages that come of it."""
    for doing, trouble in trial.subject.faults.provokes if trial.subject.faults is not None else ():
        if doing is Doing.WRITE:
            faults = trial.faults(doing, trouble)
            before = await trial.new_ids()
            declaration = process.declare(trial.sample.kind, trial.name(), desired)
            with failing(faults, doing, ReadError(trouble)):
                heard.reports.append(await process.apply([declaration]))
            for ident in await trial.new_ids() - before:  # it may have failed after it was done
                await trial.subject.drift_injector.delete(trial.sample.kind, ident)


@contextlib.contextmanager
def _listening(out: io.StringIO) -> Iterator[None]:
    """Listen to standard output, standard error and every log, down to the finest."""
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
    """Return everything that the store gives out."""
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
