"""One resource of a project, named by its address: declared, and checked now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.app.selection import parse_addresses
from holdfast.errors import InputError
from holdfast.model.verdict import Status

if TYPE_CHECKING:
    from holdfast.app.project import Project
    from holdfast.model.address import Address
    from holdfast.reconcile.check import CheckResult
    from holdfast.reconcile.connections import Connections
    from holdfast.reconcile.resolved_resource import ResolvedResource


def require_declared(project: Project, text: str) -> Address:
    """Return the address of a declared resource; raise InputError for any other."""
    address = parse_addresses([text])[0]
    if address not in project.resources.declarations:
        raise InputError(f"{text} is not declared in the manifests given with -f")
    return address


async def resolve(project: Project, connections: Connections, address: Address) -> ResolvedResource:
    """Return a resource with references and settings filled in; raise InputError if these are not known yet."""
    ready, waiting = await project.resolver(connections).prepare([address])
    if not ready:
        raise InputError(f"{address} cannot be checked now: {waiting[0].reason}")
    return ready[0]


async def check(project: Project, connections: Connections, address: Address) -> CheckResult:
    """Read a resource and return its result; nothing is recorded. Raise InputError if it cannot be read."""
    item = await resolve(project, connections, address)
    (checked,) = await project.checker(connections).check_all([item], record=False, fresh=True)
    if checked.verdict.status is Status.UNKNOWN:
        raise InputError(f"{address} cannot be evaluated now: {checked.verdict.reason}")
    return checked
