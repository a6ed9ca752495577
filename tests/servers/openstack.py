"""OpenStack for tests: one control plane a run, shared by all workers, stopped by the last; a project for each test.

    HOLDFAST_OPENSTACK_RUN=DIR    use the one in DIR; `python -m holdfast_emulators.openstack up DIR` starts it

Tests that stop a service want it for themselves: every test holds the control plane a little, those hold it whole.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from holdfast_emulators.openstack import ControlPlane, Tenant, Tenants, Unavailable, install

T = TypeVar("T")
RUN_VARIABLE = "HOLDFAST_OPENSTACK_RUN"
# Setting up may take minutes, the first time: it does not count against a test's own time.
PATIENT = pytest.mark.timeout(func_only=True)


@pytest.fixture(scope="session")
def openstack_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this run's control plane lives, whichever worker starts it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = Path(os.environ.get(RUN_VARIABLE) or shared / "openstack")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def openstack_installed(request: pytest.FixtureRequest, openstack_folder: Path) -> None:
    """The services' environment; skips, loudly, where it cannot be had."""
    attempt(openstack_folder, lambda: install.environment(partial(tell, request.config)))


@pytest.fixture(scope="session")
def openstack_plane(
    request: pytest.FixtureRequest, openstack_folder: Path, openstack_installed: None
) -> Iterator[ControlPlane]:
    """The control plane with Keystone, Neutron and Glance up; skips, loudly, where it cannot be had."""
    say = partial(tell, request.config)
    plane = attempt(openstack_folder, lambda: ControlPlane.open(openstack_folder, say=say))
    try:
        yield plane
    finally:
        plane.close()


def attempt(folder: Path, work: Callable[[], T]) -> T:
    """Do what may be impossible here; what one worker found so the others do not try again."""
    note = folder / "unavailable"
    with held(folder / "opening.lock", fcntl.LOCK_EX):
        if not note.exists():
            try:
                return work()
            except Unavailable as reason:
                note.write_text(str(reason), encoding="utf-8")
        pytest.skip(f"OpenStack's services cannot be had here: {note.read_text(encoding='utf-8')}")


def tell(config: pytest.Config, words: str) -> None:
    """Say on the terminal what takes so long, although pytest keeps what tests say to itself."""
    capturing = config.pluginmanager.getplugin("capturemanager")
    with capturing.global_and_fixture_disabled() if capturing else nullcontext():
        sys.stderr.write(f"openstack: {words}\n")
        sys.stderr.flush()


@pytest.fixture(scope="session")
def openstack_tenants(openstack_plane: ControlPlane) -> Iterator[Tenants]:
    """Makes projects."""
    tenants = Tenants(openstack_plane)
    yield tenants
    tenants.close()


@pytest.fixture
def openstack_tenant(openstack_tenants: Tenants, openstack_shared: None) -> Tenant:
    """A project of the test's own, with a user who may do everything."""
    return openstack_tenants.make("t", "admin", "service")  # the first implies member


@pytest.fixture
def openstack_shared(openstack_plane: ControlPlane) -> Iterator[None]:
    """Keep others from stopping services meanwhile."""
    with held(openstack_plane.layout.folder / "tests.lock", fcntl.LOCK_SH):
        yield


@pytest.fixture
def openstack_alone(openstack_plane: ControlPlane) -> Iterator[Callable[[], None]]:
    """Have the control plane to oneself; what was stopped is started again."""
    with held(openstack_plane.layout.folder / "tests.lock", fcntl.LOCK_EX):
        yield lambda: None
        openstack_plane.disturber.mend()
        openstack_plane.need("keystone", "neutron", "glance")


@contextmanager
def held(file: Path, how: int) -> Iterator[None]:
    with file.open("w") as stream:
        fcntl.flock(stream, how)
        yield
