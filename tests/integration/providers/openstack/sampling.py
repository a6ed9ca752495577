"""What a sample is: a kind, and what is done to it behind our back.

Bodies of the vandal are in the API's own words, so that they do not pass through the provider's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from tests.integration.providers.openstack.bench import Bench

Act = Callable[[Bench, str], None]  # from the bench and the id of the thing
Parents = Callable[[Bench], list[Declaration]]


@dataclass(frozen=True, slots=True)
class Drift:
    """One change behind our back: what the check must name, and what was done."""

    path: str  # or the beginning of it, for lists
    act: Act


@dataclass(frozen=True, slots=True)
class Sample:
    """One kind."""

    kind: str
    service: str
    path: str
    one: str
    minimal: Mapping[str, Json]
    full: Mapping[str, Json]
    drifts: tuple[Drift, ...]
    parents: Parents = lambda _bench: []
    immutable: tuple[str, Json] | None = None  # a field fixed at birth, and another value for it
    later: Mapping[str, Json] = field(default_factory=dict)  # other values for all that an edit may change
    needs: tuple[str, ...] = ()  # services besides Keystone, Neutron and Glance
    kept: tuple[str, ...] = ()  # of the API: what the service keeps when a declaration lets go of it
    microversion: str | None = None
    variant: str = ""
    unseen: tuple[str, ...] = ()  # what must be there to be plugged in anywhere, though nothing names it

    @property
    def label(self) -> str:
        return f"{self.kind}{'-' + self.variant if self.variant else ''}"


def changed(sample_path: str, one: str, body: Mapping[str, Json], service: str = "network", method: str = "PUT") -> Act:
    """Change fields with one request."""

    def act(bench: Bench, ident: str) -> None:
        bench.drift_injector.request(service, method, f"{sample_path}/{ident}", {one: dict(body)})

    return act


def tagged(kind_path: str, tags: list[str]) -> Drift:
    def act(bench: Bench, ident: str) -> None:
        bench.drift_injector.put("network", f"{kind_path}/{ident}/tags", {"tags": tags})

    return Drift("/tags", act)
