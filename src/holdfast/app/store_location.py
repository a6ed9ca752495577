"""Where the store of a project is, and the key of its fingerprints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import holdfast.store
from holdfast.errors import StoreError
from holdfast.store import fingerprint_key

if TYPE_CHECKING:
    from holdfast.manifests import project as project_files
    from holdfast.store.protocol import Store


def store_url(option: str | None, config: project_files.ProjectFile) -> str | Path:
    """Return the URL or path of a project's store: of the option, of the environment, or of the project file."""
    return option or os.environ.get(holdfast.store.VARIABLE) or config.store


def require_store(url: str | Path) -> None:
    """Raise StoreError if there is no file of a store; a database on a server is checked when it is opened."""
    if holdfast.store.is_postgres(url):
        return
    path = Path(holdfast.store.sqlite_path(url))
    if not path.exists():
        message = (
            f"there is no store at {path}; name the manifests with -f, because the store is beside them or their "
            "holdfast.yaml; `holdfast check` or `apply` creates one, --store names another"
        )
        raise StoreError(message)


async def key_of(store: Store, path: Path, new: bytes | None, *, is_shared: bool) -> bytes:
    """Return the key of fingerprints, created as `new` if that is given and there is none.

    Raise StoreError if other machines use another key with this store.
    """
    if not is_shared:
        return fingerprint_key.key_in(path.parent, new)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = fingerprint_key.key_in(path.parent)
    await fingerprint_key.require_same(store, key, path.parent)
    return key
