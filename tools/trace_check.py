"""Trace three commands on one file and print how much of Holdfast they run, as the table of docs/architecture.md.

usage: python tools/trace_check.py [--list] [ROOT] | python tools/replace_section.py docs/architecture.md trace

The commands are a check of an unchanged file, a check of a drifted file, and an apply that reverts the drift. A row has
the number of distinct functions that ran, the modules they are in, the Holdfast modules that were imported, and the
greatest number of Holdfast frames on the stack. Functions that run while a module is imported, lambdas and
comprehensions do not count. A further row leaves out the front end, which reads manifests. ROOT is the repository to
trace; by default the one of this script. `--list` prints the functions and the deepest stack of each command to
standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

BEFORE = {  # measured by this script at 159e92a
    "unchanged check": (377, 78, 246, 34),
    "drifted check": (582, 103, 257, 34),
    "correcting apply": (759, 120, 257, 35),
}
COMMANDS = {
    "unchanged check": ("check", "-f", "app.yaml"),
    "drifted check": ("check", "-f", "app.yaml"),
    "correcting apply": ("apply", "-f", "app.yaml", "--yes"),
}
MANIFEST = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec:
  resource:
    path: live.yaml
    content: {level: info, workers: 4}
"""
FRONT_END = ("manifests/", "schema/", "compare/yaml_reader.py")  # of manifests that were not read before
DRIFTED = "level: debug\nworkers: 4\n"


class Recorder:
    """Record the functions of one package that run, and the deepest stack."""

    def __init__(self, package: Path) -> None:
        self.prefix = f"{package}{os.sep}"
        self.functions: set[tuple[str, str]] = set()
        self.deepest: list[str] = []

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record one call; `sys.setprofile` calls this."""
        code = frame.f_code
        if event != "call" or not self._is_function(code):
            return
        stack = []
        caller: FrameType | None = frame
        while caller is not None:
            if caller.f_code.co_filename.startswith("<frozen importlib"):
                return
            if self._is_named(caller.f_code):
                stack.append(self._name(caller.f_code))
            caller = caller.f_back
        self.functions.add((code.co_filename.removeprefix(self.prefix), code.co_qualname))
        if len(stack) > len(self.deepest):
            self.deepest = stack

    def _is_named(self, code: CodeType) -> bool:
        return code.co_filename.startswith(self.prefix) and not code.co_name.startswith("<")

    def _is_function(self, code: CodeType) -> bool:
        return self._is_named(code) and bool(code.co_flags & 1)  # CO_OPTIMIZED: not the body of a class

    def _name(self, code: CodeType) -> str:
        return f"{code.co_filename.removeprefix(self.prefix)} {code.co_qualname}"


def trace(root: Path, arguments: list[str], report: Path) -> None:
    """Run one command under the recorder and write the result as JSON; runs in a process of its own."""
    recorder = Recorder(root / "src/holdfast")
    main = entry_point(root)
    sys.argv = ["holdfast", *arguments]
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        main()
    except SystemExit as end:
        code = end.code
    else:
        code = 0
    finally:
        sys.setprofile(None)
    imported = [name for name in sys.modules if name == "holdfast" or name.startswith("holdfast.")]
    functions = sorted(" ".join(names) for names in recorder.functions)
    modules = {file for file, _ in recorder.functions}
    counts = [len(functions), len(modules), len(imported), len(recorder.deepest)]
    later = [names for names in recorder.functions if not names[0].startswith(FRONT_END)]
    counts += [len(later), len({file for file, _ in later})]
    body = {"code": code, "counts": counts, "functions": functions, "deepest": recorder.deepest}
    report.write_text(json.dumps(body), encoding="utf-8")


def entry_point(root: Path) -> Callable[[], object]:
    """Return the function behind the command `holdfast` of a repository."""
    scripts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, name = scripts["holdfast"].partition(":")
    function: Callable[[], object] = getattr(importlib.import_module(module), name)
    return function


def measure(root: Path, *, is_listing: bool) -> dict[str, list[int]]:
    """Run the three commands in a new folder, each in a process of its own, and return the counts of each."""
    environ = {**os.environ, "PYTHONPATH": str(root / "src"), "NO_COLOR": "1"}
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "app.yaml").write_text(MANIFEST, encoding="utf-8")
        for arguments in (COMMANDS["correcting apply"], COMMANDS["unchanged check"]):
            subprocess.run(  # noqa: S603 - our own program
                [sys.executable, "-m", "holdfast", *arguments], cwd=folder, env=environ, check=True, capture_output=True
            )
        for scenario, arguments in COMMANDS.items():
            if scenario == "drifted check":
                (folder / "live.yaml").write_text(DRIFTED, encoding="utf-8")
            report = folder / "report.json"
            child = [sys.executable, __file__, "--trace", str(root), str(report), *arguments]
            subprocess.run(child, cwd=folder, env=environ, check=True, capture_output=True)  # noqa: S603 - this script
            result = json.loads(report.read_text(encoding="utf-8"))
            if result["code"] not in (0, None):
                raise SystemExit(f"{scenario}: holdfast {' '.join(arguments)} ended with {result['code']}")
            results[scenario] = result["counts"]
            if is_listing:
                print(f"{scenario}:", *result["functions"], "deepest:", *result["deepest"], sep="\n  ", file=sys.stderr)
    return results


def table(results: dict[str, list[int]]) -> str:
    """Return the counts of each command beside those at 159e92a as a Markdown table."""
    lines = ["| command | commit | functions | modules | imported modules | depth |", "|---|---|---:|---:|---:|---:|"]
    for scenario, counts in results.items():
        before = " | ".join(str(count) for count in BEFORE[scenario])
        after = " | ".join(str(count) for count in counts[:4])
        lines += [f"| {scenario} | 159e92a | {before} |", f"| | now | {after} |"]
        lines += [f"| | now, without the front end | {counts[4]} | {counts[5]} | | |"]
    return "\n".join(lines)


def main() -> None:
    """Print the table, or trace one command when called by itself."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--trace"]:
        trace(Path(arguments[1]), arguments[3:], Path(arguments[2]))
        return
    is_listing = "--list" in arguments
    roots = [argument for argument in arguments if argument != "--list"]
    root = Path(roots[0]).resolve() if roots else Path(__file__).resolve().parents[1]
    print(table(measure(root, is_listing=is_listing)))


if __name__ == "__main__":
    main()
