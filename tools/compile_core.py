"""Compile the comparison with mypyc: a folder of extension modules, or a wheel that holds them.

python tools/compile_core.py FOLDER     a copy of the package with the compiled modules, for tests and benchmarks
HOLDFAST_COMPILE=1 pip wheel .          the same in a wheel for this platform; without the variable the wheel is pure

The sources are the ones that run uncompiled. Compiled modules are cached by the digest of the sources.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGE: Final = ROOT / "src" / "holdfast"
CACHE: Final = ROOT / "build" / "compiled_core"
VARIABLE: Final = "HOLDFAST_COMPILE"
TOOLS: Final = ("mypy", "setuptools")

MODULES: Final = (
    "compare/canonical.py",
    "compare/diff.py",
    "compare/diff_walk.py",
    "compare/element_identity.py",
    "compare/emptiness.py",
    "compare/list_matching.py",
    "compare/rule_tree.py",
    "compare/unchanged.py",
)
"""Hot, and typed well enough to gain. Others are imported by these as they are."""

_SETUP: Final = """
import sys
from mypyc.build import mypycify
from setuptools import setup

modules = mypycify(sys.argv.pop().split(), opt_level="3", debug_level="0", group_name="holdfast_core")
setup(name="holdfast-core", packages=[], ext_modules=modules)
"""
_MYPY: Final = """
[mypy]
strict = true
explicit_package_bases = true
follow_imports = silent
"""


class CompileError(Exception):
    """The modules cannot be compiled here; the message has the reason."""


def missing_tool() -> str | None:
    """Return the part of the toolchain that this machine lacks, or None."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        return f"a C compiler ({compiler})"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return f"the headers of Python ({sysconfig.get_path('include')}/Python.h)"
    return None


def compile_modules() -> Path:
    """Return the folder with the compiled modules of the sources as they are now."""
    folder = CACHE / _digest()
    if folder.is_dir():
        return folder
    missing = missing_tool()
    if missing is not None:
        raise CompileError(f"the comparison cannot be compiled: {missing} is missing; install it or build without it")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        work = Path(temporary)
        _run_mypyc(work / "work")
        for library in _libraries(work / "work"):
            place = work / "done" / library
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(work / "work" / library, place)
        try:
            (work / "done").rename(folder)
        except OSError:  # another process compiled the same sources meanwhile
            if not folder.is_dir():
                raise
    return folder


def copy_package(target: Path) -> None:
    """Write a copy of the package with its compiled modules into a folder, to be put on the path."""
    compiled = compile_modules()
    shutil.copytree(PACKAGE, target / "holdfast", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    for library in _libraries(compiled):
        shutil.copy2(compiled / library, target / library)


def _run_mypyc(work: Path) -> None:
    shutil.copytree(PACKAGE, work / "holdfast", ignore=shutil.ignore_patterns("__pycache__"))
    (work / "setup.py").write_text(_SETUP)
    (work / "mypy.ini").write_text(_MYPY)
    arguments = " ".join(["--config-file=mypy.ini", *(f"holdfast/{module}" for module in MODULES)])
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", arguments]
    # The path is left out: mypy must read the types of the copy, not those of an installed package.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    environment["MYPY_CACHE_DIR"] = str(CACHE / "mypy_cache")
    result = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if result.returncode:
        raise CompileError(f"mypyc failed:\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}")


def _libraries(folder: Path) -> list[Path]:
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    found = (path.relative_to(folder) for path in folder.rglob(f"*{suffix}"))
    return sorted(path for path in found if path.parts[0] != "build")


def _digest() -> str:
    """Return the digest of everything that decides what is compiled."""
    parts = [sys.version, sysconfig.get_platform(), *(importlib.metadata.version(tool) for tool in TOOLS)]
    content = hashlib.sha256("\n".join(parts).encode())
    sources = [Path(__file__), PACKAGE / "errors.py"]
    sources += [path for folder in ("compare", "model") for path in (PACKAGE / folder).rglob("*.py")]
    for source in sorted(sources):
        content.update(f"\n{source.relative_to(ROOT)}\n".encode() + source.read_bytes())
    return content.hexdigest()[:16]


class CompiledWheel(BuildHookInterface[Any]):
    """Adds the compiled modules to a wheel where HOLDFAST_COMPILE=1 asks for it."""

    def dependencies(self) -> list[str]:
        """Return the packages that building needs."""
        return list(TOOLS) if self._is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and include the results; an editable installation stays pure."""
        if version != "standard" or not self._is_wanted():
            return
        compiled = compile_modules()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update({str(compiled / path): str(path) for path in _libraries(compiled)})

    def _is_wanted(self) -> bool:
        value = os.environ.get(VARIABLE, "")
        if value not in ("", "0", "1"):
            raise CompileError(f"{VARIABLE} must be 1 or 0, not {value!r}")
        return value == "1" and self.target_name == "wheel"


def main() -> None:
    """Write the compiled package into the folder that is asked for."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    try:
        copy_package(Path(sys.argv[1]))
    except CompileError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
