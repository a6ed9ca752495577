"""The decision that follows from a verdict, always with reasons."""

from __future__ import annotations

from enum import StrEnum

from holdfast.model.record import dataclass


class Action(StrEnum):
    """The closed set of decisions; the symbol is what a plan prints."""

    NONE = "none"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    RECREATE = "recreate"
    ADOPT = "adopt"
    DELETE = "delete"
    REPORT = "report"
    HOLD = "hold"
    BLOCK = "block"

    @property
    def symbol(self) -> str:
        """Return the plan symbol, as in Terraform."""
        return _SYMBOLS[self]

    @property
    def is_write(self) -> bool:
        """Return True if the action changes live state."""
        return self in _WRITES


_SYMBOLS = {
    Action.NONE: " ",
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.REPLACE: "-/+",
    Action.RECREATE: "+/+",
    Action.ADOPT: "<=",
    Action.DELETE: "-",
    Action.REPORT: "!",
    Action.HOLD: "=",
    Action.BLOCK: "x",
}
_WRITES = frozenset({Action.CREATE, Action.UPDATE, Action.REPLACE, Action.RECREATE, Action.DELETE})


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: a stable code for programs, a sentence for people, and the paths that caused it."""

    code: str
    message: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """An action with the reasons for it; a write without a named path or absence is a programming error."""

    action: Action
    reasons: tuple[Reason, ...]
    held: Action | None = None  # for a hold: the action without the hold

    def __post_init__(self) -> None:
        if not self.reasons:
            message = "a decision needs at least one reason"
            raise ValueError(message)
