"""What every test on the emulated Azure has: an estate, and an ear at the engine's log.

A test that carries the number of a scenario (`test_07_...`) must have asked how many PUTs there were and because of
what, or it fails: that is what the scenarios are for.
"""

from __future__ import annotations

import logging
import re

import pytest

from tests.integration.providers.azure import estate as estates
from tests.integration.providers.azure.estate import Estate

NUMBERED = re.compile(r"test_\d\d_")


class _Ear(logging.Handler):
    """Hears what is decided."""

    def emit(self, record: logging.LogRecord) -> None:
        facts = getattr(record, "holdfast", {})
        if "action" in facts:
            estates.HEARD.append((facts["address"], facts["action"], facts["reason"], tuple(facts["paths"])))


@pytest.fixture
def estate():
    return Estate()


@pytest.fixture(autouse=True)
def _listening(caplog, request):
    caplog.set_level(logging.INFO, "holdfast.reconcile")
    estates.HEARD.clear()
    estates.ASKED.clear()
    ear = _Ear()
    logging.getLogger("holdfast.reconcile").addHandler(ear)
    yield
    logging.getLogger("holdfast.reconcile").removeHandler(ear)
    if NUMBERED.match(request.node.name):
        assert {"puts", "reasons"} == estates.ASKED, "a scenario asserts the number of PUTs and the logged reason"
