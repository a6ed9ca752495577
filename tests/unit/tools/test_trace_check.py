"""The trace of a command counts functions, modules and frames of one package, and its table names both commits."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "tools" / "trace_check.py"
spec = importlib.util.spec_from_file_location("trace_check", SCRIPT)
assert spec is not None
assert spec.loader is not None
trace_check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(trace_check)

MODULE = """
class Thing:
    def outer(self):
        return [inner(number) for number in range(2)]

def inner(number):
    return (lambda value: value)(number)

def unused():
    return None
"""


def test_functions_of_the_package_and_the_deepest_stack_are_recorded(tmp_path):
    file = tmp_path / "module.py"
    space: dict[str, object] = {}
    exec(compile(MODULE, str(file), "exec"), space)
    recorder = trace_check.Recorder(tmp_path)
    sys.setprofile(recorder)
    try:
        exec("Thing().outer()", space)
    finally:
        sys.setprofile(None)
    assert recorder.functions == {("module.py", "Thing.outer"), ("module.py", "inner")}
    assert recorder.deepest == ["module.py inner", "module.py Thing.outer"]


def test_the_table_has_the_counts_of_both_commits():
    text = trace_check.table({"drifted check": [1, 2, 3, 4, 5, 6]})
    assert text.splitlines()[2:] == [
        "| drifted check | 159e92a | 582 | 103 | 257 | 34 |",
        "| | now | 1 | 2 | 3 | 4 |",
        "| | now, without the front end | 5 | 6 | | |",
    ]


def test_the_entry_point_is_that_of_the_repository():
    assert trace_check.entry_point(SCRIPT.parents[1]).__module__.startswith("holdfast")
