"""Trying a sink without sending: whether its secrets can be had, its file written, its program or host reached."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from holdfast.manifests import notify_spec
from holdfast.manifests.notify_spec import ToCommand, ToFile, ToWebhook
from holdfast.notify.sinks import SinkContext, Undelivered, open_sink

SECONDS: Final = 10.0


async def trouble(spec: notify_spec.SinkSpec, means: SinkContext) -> str | None:
    """Return the reason why an event would not arrive, as far as it can be known without sending one."""
    try:
        open_sink(spec, means)
    except Undelivered as error:
        return str(error)
    match spec.target:
        case ToFile(path):
            return _file(path)
        case ToCommand(words, folder):
            return _program(words[0], folder)
        case ToWebhook() as target:
            url = target.url if isinstance(target.url, str) else str(means.resolver.fetch(target.url).reveal())
            return await _host(url)


def _file(path: Path) -> str | None:
    if path.is_dir():
        return f"{path} is a folder"
    if path.exists():
        return None if os.access(path, os.W_OK) else f"{path} may not be written"
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    return None if os.access(folder, os.W_OK) else f"{folder} may not be written"


def _program(word: str, folder: Path) -> str | None:
    """Look for a program as running it would: names by PATH, paths from the folder of the project file."""
    found = shutil.which(str(folder / word) if os.sep in word else word)
    return None if found is not None else f"there is no program {word} that may be run"


async def _host(url: str) -> str | None:
    """Connect to the host and hang up; the address may be a secret, so it is not shown."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except TimeoutError:
        return f"its host did not answer within {SECONDS:g} seconds"
    except OSError as error:
        return f"its host cannot be reached: {error.strerror or type(error).__name__}"
    writer.close()
    return None
