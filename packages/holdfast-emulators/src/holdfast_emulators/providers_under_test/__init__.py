"""The shipped providers in the conformance kit.

`python -m holdfast.testing.conformance holdfast_emulators.providers_under_test:file` prints a score card; so do `http`,
`memory` and, with the packages of Azure, `azure`.
"""

from __future__ import annotations

from typing import Any

from holdfast_emulators.providers_under_test.files import file
from holdfast_emulators.providers_under_test.memory import memory
from holdfast_emulators.providers_under_test.rest import http

__all__ = ["file", "http", "memory"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a function that opens a provider under test
    if name == "azure":
        from holdfast_emulators.azure import provider_under_test  # noqa: PLC0415 - it needs packages that the core does not

        return provider_under_test.azure
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
