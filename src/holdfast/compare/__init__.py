"""Pure comparison: canonical form, schemes, profiles, comparators, differences, known differences, verdicts.

Belongs here: functions of their arguments. Must not be here: asyncio, HTTP, SQL, files, a clock, randomness.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """Makes `holdfast.compare(...)` a call, though `holdfast.compare` is also this package."""

    def __call__(self, *documents: Any, **options: Any) -> Any:  # noqa: ANN401 - see compare.documents.compare
        from holdfast.compare import documents as module  # noqa: PLC0415 - the package itself stays light

        return module.compare(*documents, **options)


sys.modules[__name__].__class__ = _Callable
