"""The shipped providers as subjects of the conformance kit; also what to copy from for a provider of one's own.

`python -m holdfast.testing.conformance holdfast_emulators.providers_under_test:file` prints a score card; so it does for
`http`, `memory` and, where Azure's packages are installed, `azure`.
"""

from __future__ import annotations

from typing import Any

from holdfast_emulators.providers_under_test.files import file
from holdfast_emulators.providers_under_test.memory import memory
from holdfast_emulators.providers_under_test.rest import http

__all__ = ["file", "http", "memory"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the opening of a subject
    if name == "azure":
        from holdfast_emulators.azure import provider_under_test  # noqa: PLC0415 - it needs packages that the core does not

        return provider_under_test.azure
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
