"""Putting files in place, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.errors import InputError, Location


def put(file: Path, data: bytes) -> None:
    """Replace the bytes of a file and keep its permissions. A concurrent reader sees the old file or the new one."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if file.exists() and not file.is_file():  # /dev/stderr and the like
            file.write_bytes(data)
            return
        target = file.resolve()  # a link stays a link
        part = target.with_name(f".{target.name}.{os.getpid()}")
        part.write_bytes(data)
        if target.exists():
            part.chmod(target.stat().st_mode & 0o7777)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        message = f"cannot be written: {error.strerror or error}"
        raise InputError(message, Location(str(file))) from None
