"""The shipped providers as subjects of the conformance kit; also what to copy from for a provider of one's own.

`python -m holdfast.testing.conformance holdfast.testing.subjects:file` prints a score card; so it does for `http` and
`memory`.
"""

from __future__ import annotations

from holdfast.testing.subjects.files import file
from holdfast.testing.subjects.memory import memory
from holdfast.testing.subjects.rest import http

__all__ = ["file", "http", "memory"]
