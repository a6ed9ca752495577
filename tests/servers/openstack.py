"""OpenStack for tests: one control plane a run, shared by all workers, stopped by the last; a project for each test.

    HOLDFAST_OPENSTACK_RUN=DIR    use the control plane in DIR, left up by `python -m holdfast.testing.openstack up DIR`

Tests that stop a service want it for themselves: every test holds the control plane a little, those hold it whole.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.testing.openstack import ControlPlane, Tenant, Tenants, Unavailable

RUN_VARIABLE = "HOLDFAST_OPENSTACK_RUN"


@pytest.fixture(scope="session")
def openstack_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane with Keystone, Neutron and Glance up; skips, loudly, where it cannot be had."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = Path(os.environ.get(RUN_VARIABLE) or shared / "openstack")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        plane = ControlPlane.open(folder)
    except Unavailable as reason:
        pytest.skip(f"OpenStack's services cannot be had here: {reason}")
    try:
        yield plane
    finally:
        plane.close()


@pytest.fixture(scope="session")
def openstack_tenants(openstack_plane: ControlPlane) -> Iterator[Tenants]:
    """Makes projects."""
    tenants = Tenants(openstack_plane)
    yield tenants
    tenants.close()


@pytest.fixture
def openstack_tenant(openstack_tenants: Tenants, openstack_shared: None) -> Tenant:
    """A project of the test's own, with a user who may do everything."""
    return openstack_tenants.make("t", "admin", "member")


@pytest.fixture
def openstack_shared(openstack_plane: ControlPlane) -> Iterator[None]:
    """Keep others from stopping services meanwhile."""
    with held(openstack_plane, fcntl.LOCK_SH):
        yield


@pytest.fixture
def openstack_alone(openstack_plane: ControlPlane) -> Iterator[Callable[[], None]]:
    """Have the control plane to oneself; what was stopped is started again."""
    with held(openstack_plane, fcntl.LOCK_EX):
        yield lambda: None
        openstack_plane.disturber.mend()
        openstack_plane.need("keystone", "neutron", "glance")


@contextmanager
def held(plane: ControlPlane, how: int) -> Iterator[None]:
    with (plane.layout.folder / "tests.lock").open("w") as stream:
        fcntl.flock(stream, how)
        yield
