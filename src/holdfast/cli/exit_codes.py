"""Exit codes. With --detailed-exitcode they are a sum of flags, so that a script can test single ones.

0   clean, or no --detailed-exitcode
1   an error: nothing can be concluded
2   pending: the declaration changed
4   drifted: changed outside Holdfast (6: both)
8   coverage was incomplete: something could not be read
16  blocked: something is held or refused
64  wrong usage          130, 143  interrupted
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from holdfast.model.verdict import Status

PENDING: Final = 2
DRIFTED: Final = 4
INCOMPLETE: Final = 8
BLOCKED: Final = 16

_FLAG: Final = {
    Status.IN_SYNC: 0,
    Status.PENDING: PENDING,
    Status.DRIFTED: DRIFTED,
    Status.MISSING: DRIFTED,
    Status.CONFLICTED: PENDING | DRIFTED,
    Status.UNKNOWN: INCOMPLETE,
}


def exit_code(statuses: Iterable[Status], *, detailed: bool, blocked: bool = False) -> int:
    """Return the exit code for a run; without `detailed` only incomplete coverage is an error."""
    flags = BLOCKED if blocked else 0
    for status in statuses:
        flags |= _FLAG[status]
    if detailed:
        return flags
    return 1 if flags & INCOMPLETE else 0
