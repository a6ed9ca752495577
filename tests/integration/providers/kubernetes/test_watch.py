"""Watching on a real API server: an edit is found within seconds though the period is ten hours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from typing import Any

from holdfast.manifests.project import STORE
from holdfast.model.read_result import ReadError
from holdfast.providers.protocol import ChangeSignal, Interrupted, PositionReached
from holdfast.store.records import VersionedRecord
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.transaction import RecordChanges, Transaction
from holdfast.watch.kind_watch import POSITIONS
from tests.acceptance.promises import watching
from tests.integration.providers.kubernetes import objects
from tests.integration.providers.kubernetes.conftest import Project
from tests.integration.providers.kubernetes.test_reading import compact, reading, target


@contextmanager
def watch(project: Project) -> Iterator[None]:
    with watching.watch(project.folder, "-f", "k8s", "--default-resync-period", "10h"):
        yield


def shop(project: Project) -> None:
    """Apply a ConfigMap with some fields; each is edited once, because a field that is edited again is contended."""
    project.write(objects.config_map(project.namespace, **dict.fromkeys("abcd", "as declared")))
    project.apply()


def edit_and_wait(project: Project, key: str) -> None:
    """Edit a field, and wait until the edit is reverted, long before the period ends."""
    path = project.path("configmaps", "settings")
    project.server.merge(path, {"data": {key: "edited"}}, "kubectl-edit")
    watching.until(
        lambda: project.server("GET", path)["data"][key] == "as declared", project.folder, f"/data/{key} is reverted"
    )


def restart(project: Project) -> None:
    project.server.stop("kube-apiserver")
    project.server.start_api()


def position(project: Project) -> str | None:
    async def read() -> str | None:
        store = await SqliteStore.open(project.folder / STORE)
        record = await store.record(POSITIONS, "cluster/ConfigMap")
        await store.close()
        return None if record is None else record.data["position"]

    return asyncio.run(read())


def test_edits_are_found_within_seconds_and_a_restart_continues(project: Project):
    shop(project)
    with watch(project):
        for key in "ab":
            edit_and_wait(project, key)
    stored = position(project)
    assert stored is not None
    with watch(project):
        for key in "cd":  # the first pass may find the first edit
            edit_and_wait(project, key)
    assert int(position(project) or 0) > int(stored)


def test_a_restarted_server_is_watched_again(project: Project):
    shop(project)
    with watch(project):
        edit_and_wait(project, "a")
        restart(project)
        for key in "bc":
            edit_and_wait(project, key)
    assert "missing" not in watching.said(project.folder)


def test_a_position_that_the_server_no_longer_knows_is_replaced(project: Project):
    """The server forgets positions with the history of etcd, and with its own cache when it restarts."""
    shop(project)
    collection = project.path("configmaps", "x").rpartition("/")[0]
    made = project.server("POST", collection, objects.config_map(project.namespace, "last"))
    compact(project, made["metadata"]["resourceVersion"])
    restart(project)

    async def expired(reader: Any) -> None:
        (event,) = await collect(reader, "1", lambda event: isinstance(event, Interrupted))
        assert event.is_position_lost

    reading(project, expired)

    async def store_position() -> None:
        store = await SqliteStore.open(project.folder / STORE)
        record = VersionedRecord(POSITIONS, "cluster/ConfigMap", {"position": "1"})
        await store.commit(Transaction(records=RecordChanges(put=[record])))
        await store.close()

    asyncio.run(store_position())
    with watch(project):
        for key in "ab":
            edit_and_wait(project, key)
    stored = position(project)
    assert stored is not None
    assert int(stored) > 1


def test_a_watch_without_permission_is_named_and_polled(project: Project):
    shop(project)
    project.connect(kubeconfig=str(project.server.kubeconfig_of("reader-token")))
    with watch(project):
        watching.until(
            lambda: "list configmaps in all namespaces is forbidden" in watching.said(project.folder),
            project.folder,
            "the missing permission is named",
        )
    assert watching.said(project.folder).count("is not watched") == 1


# -- the reader


async def collect(reader: Any, position: str | None, until: Any, *edits: Any) -> list[Any]:
    """Return the events up to one that `until` accepts; do one edit after each position."""
    events, left = [], list(edits)
    async with asyncio.timeout(60), aclosing(reader.watch("ConfigMap", position)) as stream:
        async for event in stream:
            events.append(event)
            if until(event):
                break
            if isinstance(event, PositionReached) and left:
                await asyncio.to_thread(left.pop(0))
    return events


def test_signals_carry_the_versions_of_reads_and_a_later_watch_continues(project: Project):
    wanted = objects.config_map(project.namespace)
    collection = project.path("configmaps", "x").rpartition("/")[0]
    path, ident = project.path("configmaps", "settings"), f"{project.namespace}/settings"

    async def work(reader: Any) -> None:
        events = await collect(
            reader,
            None,
            lambda event: isinstance(event, ChangeSignal) and event.id == ident,
            lambda: project.server("POST", collection, wanted),
        )
        begun = events[0]
        assert isinstance(begun, PositionReached)
        assert events[-1].version == (await reader.read(target(wanted))).raw_digest
        project.server.merge(path, {"data": {"color": "red"}}, "kubectl-edit")
        edited = (await reader.read(target(wanted))).raw_digest
        project.server("DELETE", path)
        again = await collect(reader, begun.position, lambda event: event == ChangeSignal(ident, None))
        mine = [event.version for event in again if isinstance(event, ChangeSignal) and event.id == ident]
        assert mine == [events[-1].version, edited, None]

    reading(project, work)


def test_a_forbidden_watch_names_verb_and_kind(project: Project):
    async def work(reader: Any) -> None:
        for position in (None, "1"):
            (event,) = await collect(reader, position, lambda event: isinstance(event, Interrupted))
            assert event.failure.trouble is ReadError.UNAUTHORISED
            verb = "list" if position is None else "watch"
            assert f"{verb} configmaps in all namespaces is forbidden" in event.failure.detail

    reading(project, work, kubeconfig=str(project.server.kubeconfig_of("reader-token")))
