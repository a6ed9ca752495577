"""What every test on the emulated Azure has: an estate, and an ear at the engine's log."""

from __future__ import annotations

import logging

import pytest

from tests.integration.providers.azure.estate import Estate


@pytest.fixture
def estate():
    return Estate()


@pytest.fixture(autouse=True)
def _listening(caplog):
    caplog.set_level(logging.INFO, "holdfast.engine")
