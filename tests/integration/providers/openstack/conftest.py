"""All of it needs the real services, hence `server`; a few minutes in all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast_emulators.openstack import ControlPlane, Tenant, Tenants
from tests.integration.providers.openstack.bench import Bench
from tests.servers.openstack import (  # noqa: F401 - fixtures
    PATIENT,
    openstack_alone,
    openstack_folder,
    openstack_installed,
    openstack_plane,
    openstack_shared,
    openstack_tenant,
    openstack_tenants,
)

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.server)
            item.add_marker(PATIENT)


@pytest.fixture
def bench(openstack_plane: ControlPlane, openstack_tenants: Tenants, openstack_tenant: Tenant) -> Iterator[Bench]:
    """The engine and the provider in a project of the test's own, and a vandal who is an administrator there."""
    with Bench.opened(openstack_plane, openstack_tenants, openstack_tenant) as opened:
        yield opened
