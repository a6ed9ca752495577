"""Whether a correction held and helped is assessed on a real API server as on every other provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.providers import registry
from holdfast.providers.protocol import Connection
from holdfast_emulators.kubernetes import ApiServer
from tests.acceptance.promises import test_assessments_everywhere as everywhere

PATH = "/apis/scheduling.k8s.io/v1/priorityclasses/a"
DESIRED = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "a"},
    "value": 10,
    "description": "ours",
}
STORIES = [
    value
    for name, value in vars(everywhere).items()
    if name.startswith("test_") and "name" in value.__code__.co_varnames[:1]
]


@pytest.fixture
def place(kubernetes: ApiServer, monkeypatch: pytest.MonkeyPatch):
    @asynccontextmanager
    async def opened(_patch: pytest.MonkeyPatch) -> AsyncIterator[everywhere.Place]:
        async def get() -> Any:
            return kubernetes("GET", PATH)["description"]

        async def put(value: Any) -> None:
            kubernetes.merge(PATH, {"description": value}, "stranger")

        connection = Connection("cluster", "kubernetes", {"kubeconfig": str(kubernetes.kubeconfig)})
        values = ("a stranger's", "another's")
        yield everywhere.Place(
            registry.get("kubernetes"), connection, "PriorityClass", DESIRED, "/description", values, get, put
        )

    monkeypatch.setitem(everywhere.PLACES, "kubernetes", opened)
    yield
    if kubernetes.get(PATH) is not None:
        kubernetes("DELETE", PATH)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__.removeprefix("test_"))
def test_a_correction_on_a_cluster_is_assessed(story, place, monkeypatch):
    story("kubernetes", monkeypatch)
