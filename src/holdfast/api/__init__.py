"""The Python API: objects in a program are the declarations.

Belongs here: turning objects that describe themselves (`model.resource_spec`) into declarations, calling the engine,
and returning its results. Must not be here: code for a single provider, or any decision.
"""

from __future__ import annotations

import importlib
import typing

if typing.TYPE_CHECKING:
    from holdfast.api.manager import ResourceManager
    from holdfast.api.remediations import Remediations
    from holdfast.errors import DeployError

__all__ = ["DeployError", "Remediations", "ResourceManager"]

_HOME = {
    "DeployError": "holdfast.errors",
    "Remediations": "holdfast.api.remediations",
    "ResourceManager": "holdfast.api.manager",
}


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401 - one of __all__, imported when it is first used
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
