"""Holdfast compares declared and live infrastructure, and corrects drift within limits.

Everything in `__all__` is imported when it is first used, so `import holdfast` is quick.
"""

from __future__ import annotations

import importlib
import typing

if typing.TYPE_CHECKING:
    from holdfast.app.plan import Plan, PlanStale
    from holdfast.app.project import Project
    from holdfast.app.project import open_path as open  # noqa: A004 - `holdfast.open`
    from holdfast.app.report import ApplyReport, CheckReport
    from holdfast.compare.documents import Comparison, compare
    from holdfast.errors import HoldfastError, InputError, StoreError
    from holdfast.model.finding import Finding
    from holdfast.model.verdict import Status, Verdict

__version__ = "0.1.0"

__all__ = [
    "ApplyReport",
    "CheckReport",
    "Comparison",
    "Finding",
    "HoldfastError",
    "InputError",
    "Plan",
    "PlanStale",
    "Project",
    "Status",
    "StoreError",
    "Verdict",
    "__version__",
    "compare",
    "open",
]

_HOME = {  # name -> module and name in it
    "ApplyReport": "holdfast.app.report:ApplyReport",
    "CheckReport": "holdfast.app.report:CheckReport",
    "Comparison": "holdfast.compare.documents:Comparison",
    "Finding": "holdfast.model.finding:Finding",
    "HoldfastError": "holdfast.errors:HoldfastError",
    "InputError": "holdfast.errors:InputError",
    "Plan": "holdfast.app.plan:Plan",
    "PlanStale": "holdfast.app.plan:PlanStale",
    "Project": "holdfast.app.project:Project",
    "Status": "holdfast.model.verdict:Status",
    "StoreError": "holdfast.errors:StoreError",
    "Verdict": "holdfast.model.verdict:Verdict",
    "open": "holdfast.app.project:open_path",
}


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401 - one of __all__
    if name == "compare":  # the package, which can be called
        return importlib.import_module("holdfast.compare")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value
