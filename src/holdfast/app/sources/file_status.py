"""When a file can be trusted to have the content that was read, without reading it again."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from holdfast.errors import InputError, Location
from holdfast.manifests import file_discovery
from holdfast.manifests.file_discovery import Source

# A file that was changed so shortly before it was read may be changed again without a new time: clocks of file systems
# tick in steps, of up to two seconds.
RACY_SECONDS: Final = 2.0


class FileStatus(NamedTuple):
    """The facts about a file that any edit changes, apart from one in the same tick of the clock."""

    text: str
    changed_at: float  # the later of both times


def of(stat: os.stat_result) -> FileStatus:
    """Return the status of a file."""
    parts = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev)
    return FileStatus(" ".join(map(str, parts)), max(stat.st_mtime, stat.st_ctime))


def is_trusted(status: FileStatus, recorded: str, read_at: float, now: float) -> bool:
    """Return True if a file has the content that it had when its status was recorded.

    It is read again if its status differs, if it had been changed just before it was read or seems to be changed later,
    and if the clock was set back since.
    """
    return status.text == recorded and status.changed_at + RACY_SECONDS < read_at <= now


class FileText(NamedTuple):
    """The content of a file, and its status where it did not change while it was read."""

    data: bytes
    status: FileStatus | None


def read(source: Source) -> FileText:
    """Read a file; raise InputError if it cannot be read."""
    try:
        assert source.path is not None
        before = of(os.stat(source.path))  # noqa: PTH116
        data = file_discovery.load(source, None)
        after = of(os.stat(source.path))  # noqa: PTH116
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", Location(source.name)) from None
    is_same = before == after and len(data) == int(before.text.partition(" ")[0])
    return FileText(data, before if is_same else None)
