"""Whether a thing of a REST API is well: settled, not settled, gone, or nobody can tell; where its description says."""

from __future__ import annotations

import pytest

from holdfast.model.health import HealthSignal
from holdfast.testing.rest_server import Fault, Wrong
from tests.integration.providers.rest import widget, with_server

STATES = {"status": {"unsettled": {"pointer": "/state", "values": ["creating"]}}}


def health_signals(document, *faults, kind=None):
    async def story(server, reader, _):
        if document is not None:
            server.collections["widgets"].put("w", document)
        server.faults.extend(faults)
        return list(await reader.health_signals(widget(), 0.0))

    return with_server(story, kind=STATES if kind is None else kind)


@pytest.mark.parametrize(
    "document, is_well",
    [({"name": "w", "state": "ready"}, True), ({"name": "w", "state": "creating"}, False), (None, False)],
)
def test_a_thing_is_well_when_it_is_settled(document, is_well):
    assert health_signals(document) == [HealthSignal("settled", is_well)]


def test_an_answer_that_says_nothing_says_nothing_about_the_thing():
    assert health_signals({"name": "w"}, Fault(Wrong.STATUS, status=500)) == [HealthSignal("settled", None)]


def test_a_kind_that_knows_no_states_has_no_health_signals():
    assert health_signals({"name": "w"}, kind={}) == []
