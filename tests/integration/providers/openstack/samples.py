"""One of each kind, at its least and at its fullest, and every way somebody can change it behind our back."""

from __future__ import annotations

from tests.integration.providers.openstack import samples_network, samples_others
from tests.integration.providers.openstack.sampling import Sample

ALL: tuple[Sample, ...] = (
    samples_network.NETWORK,
    samples_network.SUBNET,
    samples_network.SUBNET_V6,
    samples_network.ADDRESS_SCOPE,
    samples_network.ROUTER,
    samples_network.PORT,
    samples_network.PORT_BOUND,
    samples_network.SECURITY_GROUP,
    samples_network.FLOATING_IP,
    samples_network.TRUNK,
    samples_others.PROJECT,
    samples_others.USER,
    samples_others.IMAGE,
    samples_others.FLAVOR,
    samples_others.KEY_PAIR,
    samples_others.SERVER_GROUP,
    samples_others.VOLUME_TYPE,
    samples_others.VOLUME,
    samples_others.SERVER,
    samples_others.SERVER_FROM_VOLUME,
)
KINDS: tuple[Sample, ...] = tuple(sample for sample in ALL if not sample.variant)
