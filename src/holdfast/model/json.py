"""The alias for values read from or written to JSON."""

from __future__ import annotations

from typing import Any

Json = Any
