"""Runs inside Neutron: a driver that binds every port on any host at once, so that no agent is needed."""

from __future__ import annotations

from typing import Any

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class BindAll(api.MechanismDriver):  # type: ignore[misc]
    """Says yes to every binding."""

    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self) -> None:
        """Need nothing."""

    def bind_port(self, context: Any) -> None:
        """Bind a port to the first segment."""
        segment = context.segments_to_bind[0][api.ID]
        details = {portbindings.CAP_PORT_FILTER: False}
        context.set_binding(segment, portbindings.VIF_TYPE_OVS, details, status=constants.PORT_STATUS_ACTIVE)
