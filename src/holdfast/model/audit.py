"""The head of an audit trail: how long it is, and the hash of its last event, which stands for all before it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TEXT = re.compile(r"([0-9]{1,18}):(sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class AuditHead:
    """Where a trail ended at some moment; a trail that still has it was not cut or rewritten before that."""

    length: int
    hash: str

    def __str__(self) -> str:
        return f"{self.length}:{self.hash}"

    @staticmethod
    def parse(text: str) -> AuditHead | None:
        """Read a head as it is printed; None if it is none."""
        match = _TEXT.fullmatch(text.strip())
        return None if match is None else AuditHead(int(match[1]), match[2])
