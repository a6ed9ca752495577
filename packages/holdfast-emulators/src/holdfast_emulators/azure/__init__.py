"""An Azure Resource Manager of our own: a local one with scriptable habits, for the real azure-core client stack.

Belongs here: what ARM does (`world` and below it), the doors to it (`server` over TLS, `transport` without sockets),
and what tests need to disturb it. Must not be here: anything of the Azure provider, so that the two cannot agree on the
same mistake.

**Over TLS, on an event loop or on a thread**::

    world = World(clock=FakeClock())
    async with ArmServer(world) as server:               # or: with running(ArmServer(world)) as server:
        server.url                                       # https://localhost:<port>, the endpoint and the authority
        server.ca_bundle                                 # a file for connection_verify=, made at start-up
        server.environ                                   # AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET, ...

**Without sockets, for virtual time**::

    from holdfast_emulators.azure.transport import ArmTransport, StaticCredential
    client = AsyncARMPipelineClient("https://management.azure.com", policies=[...], transport=ArmTransport(world))

The whole pipeline of azure-core is real, only its last step calls `World.answer` instead of a socket. That, and not an
aiohttp application on a pair of pipes, because real sockets make the loop wait for the machine while virtual time
stands still or races ahead: a client that sleeps on a FakeClock must never really wait for anything. `transport` is the
one module here that needs azure-core. `server` needs cryptography for its certificate. `World` needs neither.

**Who one is.** `world.token` is a bearer token that opens everything, as `world.principal`, whose name is what
systemData shows of our own writes. `world.add_principal(Principal("ops-app", forbidden=("PUT *",)))` returns the token
of another actor; `world.revoke(token)` makes it a 401. `StaticCredential(world.token)` and azure-identity's
ClientSecretCredential (`authority=server.url`, or `transport=ArmTransport(world)`) both work: the token endpoint is
/<tenant>/oauth2/v2.0/token, for `world.tenant`, `world.client_id` and `world.client_secret`.

**Where things go.** Only `world.subscription` is there at first, and no resource group: `world.add_group("rg")`, or PUT
one. `world.add_subscription(...)` opens another.

**Habits of types are data**, in YAML under `packs/` or given here; pointers are JSON pointers, `*` is any element::

    world.tune("Microsoft.Storage/storageAccounts", lag_seconds=5)
    world.tune("Contoso.Test/widgets",
        defaults=(Fill("/properties/colour", "red"),
                  Fill("/properties/iops", 2300, when={"/sku/name": "Premium"}),
                  Fill("/properties/late", 1, late_seconds=30)),
        rewrites=(Rewrite("/location", "region_display"), Rewrite("/properties/subnetId", "lower")),
        secrets=(Secret("/properties/password"),),
        operations=Operations(create=Operation("async", 201, seconds=60, retry_after=15)))

A type without a description is a plain one: a PUT is stored as it is, at once. Types are compared without case.
`Habits` lists everything a type can have; `CATALOGUE` has every shape of a long-running operation by name, to be used
as `operations=alike(CATALOGUE["both 202"])`. `world.teach(type, *rules)` adds rules to what a type has.

**What others do**, on the record in systemData (lastModifiedBy, -At, -ByType) unless it is silent::

    alice = world.console("alice@example.com")
    alice.edit(id, {"/properties/minimumTlsVersion": "TLS1_0", "/tags/x": ABSENT})   # ABSENT takes it out
    alice.put(id, body); alice.delete(id); alice.recreate(id); alice.keep_busy(id, seconds=600)
    world.console("aks-autoscaler", "Application").edit(id, {"/properties/count": 5})
    world.later(3_600, lambda: alice.edit(...))                   # at a time of the clock
    world.scripts.append(Script(lambda: alice.edit(...), "PUT", "*/storageAccounts/*"))      # just before a request
    world.policies.append(Policy("tagging", add={"/tags/costCenter": "42"}))   # at each write; world.remediate(it): now
    world.policies.append(Policy("no-vms", deny=True, types="Microsoft.Compute/*"))
    world.roll_out("Microsoft.Storage/storageAccounts", Fill("/properties/newFlag", False))  # a new release

**What goes wrong**::

    world.faults.append(Fault(Wrong.STATUS, "PUT", "*/vaults/*", 429, code="TooManyRequests", retry_after=None))
    world.faults.append(Fault(Wrong.HTML, "GET", status=503))
    world.failures.append(Failure("PUT", "*/managedClusters/*", code="QuotaExceeded"))      # accepted, and then Failed
    world.limits = Limits.hourly(reads=12_000, writes=1_200)          # or Limits.buckets(), or Limits() for none
    world.limits.providers["Microsoft.Compute"] = lambda: Bucket(20, 0.5)                    # a provider's own

**What was asked**: `world.journal`, with `world.journal.count("PUT", type="*/storageAccounts")`, `.writes()`,
`.needless()` (PUTs that changed nothing), `.throttled()`, `.counts()` by method and type. `world.stored(id)` is a
resource with its secrets, `world.shown(id)` as GET shows it.

`python -m holdfast_emulators.azure --port 8943` runs it as a process of its own; it prints its address, CA bundle and
credentials as a line of JSON, and is steered through /_control/.
"""

from __future__ import annotations

from holdfast.model.absent import ABSENT
from holdfast.testing.socket_server import running
from holdfast_emulators.azure.faults import Failure, Fault, Script, Wrong
from holdfast_emulators.azure.journal import Entry, Journal
from holdfast_emulators.azure.limits import Bucket, Limits, Window
from holdfast_emulators.azure.messages import Headers, Request, Response
from holdfast_emulators.azure.operation_shapes import CATALOGUE, alike
from holdfast_emulators.azure.policies import Policy
from holdfast_emulators.azure.portal import Console
from holdfast_emulators.azure.principals import Principal
from holdfast_emulators.azure.server import ArmServer
from holdfast_emulators.azure.service import World
from holdfast_emulators.azure.type_behaviour import (
    Action,
    Computed,
    Element,
    Embedded,
    Etag,
    Fill,
    Habits,
    Operation,
    Operations,
    Order,
    Reference,
    Refused,
    Rewrite,
    Secret,
    SoftDelete,
)

__all__ = [
    "ABSENT",
    "CATALOGUE",
    "Action",
    "ArmServer",
    "Bucket",
    "Computed",
    "Console",
    "Element",
    "Embedded",
    "Entry",
    "Etag",
    "Failure",
    "Fault",
    "Fill",
    "Habits",
    "Headers",
    "Journal",
    "Limits",
    "Operation",
    "Operations",
    "Order",
    "Policy",
    "Principal",
    "Reference",
    "Refused",
    "Request",
    "Response",
    "Rewrite",
    "Script",
    "Secret",
    "SoftDelete",
    "Window",
    "World",
    "Wrong",
    "alike",
    "running",
]
