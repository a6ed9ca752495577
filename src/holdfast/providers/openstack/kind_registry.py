"""All kinds, by name, with their profiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Final

from holdfast.providers import builtin_profiles
from holdfast.providers.openstack import defaults
from holdfast.providers.openstack.kind_definition import KindDefinition
from holdfast.providers.openstack.kinds import (
    flavors,
    identity,
    images,
    networks,
    ports,
    routers,
    servers,
    volumes,
)
from holdfast.providers.protocol import Kind

THINGS: Final[tuple[KindDefinition, ...]] = (
    networks.NETWORK,
    networks.SUBNET,
    networks.ADDRESS_SCOPE,
    routers.ROUTER,
    routers.FLOATING_IP,
    ports.PORT,
    ports.TRUNK,
    ports.SECURITY_GROUP,
    identity.PROJECT,
    identity.USER,
    images.IMAGE,
    flavors.FLAVOR,
    flavors.KEY_PAIR,
    flavors.SERVER_GROUP,
    servers.SERVER,
    volumes.VOLUME_TYPE,
    volumes.VOLUME,
)
BY_KIND: Final[Mapping[str, KindDefinition]] = {thing.kind: thing for thing in THINGS}


@cache
def kinds() -> Mapping[str, Kind]:
    """Return the kinds; their profiles are read once."""
    rules = builtin_profiles.shipped_with("openstack")
    return {
        thing.kind: Kind(
            thing.kind,
            patches=True,
            lists=True,
            conditional=thing.revision is not None,
            profiles=tuple(profile for profile in rules if profile.applies_to("openstack", thing.kind)),
            complete=partial(defaults.complete, thing),
        )
        for thing in THINGS
    }
