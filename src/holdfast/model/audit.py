"""The head of an audit trail: its length and the hash of its last event."""

from __future__ import annotations

import re

from holdfast.model.record import dataclass

_TEXT = re.compile(r"([0-9]{1,18}):(sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The end of a trail at one moment. A trail that still contains it was not cut or rewritten before it."""

    length: int
    hash: str

    def __str__(self) -> str:
        return f"{self.length}:{self.hash}"

    @staticmethod
    def parse(text: str) -> AuditHead | None:
        """Parse the printed form; return None if the text is not a head."""
        match = _TEXT.fullmatch(text.strip())
        return None if match is None else AuditHead(int(match[1]), match[2])
