"""The version of the front end: everything but its text that the declarations of a file depend on."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import Final

import orjson

import holdfast
from holdfast.manifests.project import ProjectFile
from holdfast.providers import registry

FORMAT: Final = 1  # of the rows
_PACKAGES: Final = ("compare", "manifests", "model", "policy", "providers", "rollouts", "schema", "app/sources")


def of(project: ProjectFile) -> bytes:
    """Return the digest of the release, its files, the interpreter and the connections of a project."""
    connections = {
        name: [spec.provider, spec.settings, sorted(spec.secrets), spec.base_dir, _plugin(spec.provider)]
        for name, spec in project.connections.items()
    }
    parts = [_release(), connections, project.default_connection, os.environ.get("HOME", "")]
    text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(text).digest()


@cache
def _release() -> str:
    """Return the release with the status of its files, because a checkout is edited without a new release."""
    root = Path(holdfast.__file__).parent
    digest = hashlib.sha256(f"{FORMAT} {holdfast.__version__} {sys.version} {root}".encode())
    for package in _PACKAGES:
        _add_folder(str(root / package), digest)
    return digest.hexdigest()


def _add_folder(folder: str, digest: hashlib._Hash) -> None:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # not on disk, or without this part
        return
    for entry in entries:
        if entry.is_dir():
            if entry.name != "__pycache__":
                _add_folder(entry.path, digest)
        elif entry.name.endswith((".py", ".so", ".yaml", ".json")):
            stat = entry.stat()
            digest.update(f"{entry.name} {stat.st_size} {stat.st_mtime_ns}\n".encode())


def _plugin(provider: str) -> str:
    """Return the release and file of a provider that is not part of Holdfast."""
    if registry.is_built_in(provider):
        return ""
    loaded = registry.get(provider)
    module = sys.modules.get(type(loaded).__module__)
    file = getattr(module, "__file__", None)
    if file is None:
        return ""
    stat = os.stat(file)  # noqa: PTH116
    return f"{file} {stat.st_size} {stat.st_mtime_ns}"
