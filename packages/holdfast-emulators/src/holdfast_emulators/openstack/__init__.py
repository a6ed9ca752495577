"""A real OpenStack control plane on this machine: the upstream services, unmodified, for tests and for trying out.

    python -m holdfast_emulators.openstack up DIR        # about three minutes the first time, half a minute later
    OS_CLIENT_CONFIG_FILE=DIR/clouds.yaml openstack --os-cloud local network list
    python -m holdfast_emulators.openstack down DIR

No root, no container, no broker, no database server: the services' WSGI applications on loopback, SQLite files, a
hypervisor and a volume backend that do nothing. Real are validation, policy, quotas, revisions, scheduling, tokens.

Belongs here: installing, configuring, starting and disturbing the services. Must not be here: anything of the provider,
so that the two cannot agree on the same mistake.
"""

from __future__ import annotations

from holdfast_emulators.openstack.clients import Client, Unwilling
from holdfast_emulators.openstack.control_plane import ALL, NETWORKING, ControlPlane
from holdfast_emulators.openstack.fault_injection import Disturber, Fault, Request
from holdfast_emulators.openstack.install import Unavailable
from holdfast_emulators.openstack.tenants import Tenant, Tenants

__all__ = [
    "ALL",
    "NETWORKING",
    "Client",
    "ControlPlane",
    "Disturber",
    "Fault",
    "Request",
    "Tenant",
    "Tenants",
    "Unavailable",
    "Unwilling",
]
