"""The one alias for values that came from, or go to, JSON."""

from __future__ import annotations

from typing import Any

Json = Any
