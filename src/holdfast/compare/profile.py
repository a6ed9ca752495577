"""A profile as data: its name, the kinds it applies to, and its rules as they are written.

`compare.profiles` turns the data into rules. A check of an unchanged resource needs no rules, only their digest, and
imports nothing more than this.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from holdfast.model.json import Json
from holdfast.model.record import dataclass

if TYPE_CHECKING:
    from holdfast.compare.comparators import Comparator
    from holdfast.compare.rules import Presence, Rule


@dataclass(frozen=True, slots=True)
class ProfileRules:
    """The rules of a profile, with the defaults that hold where none of them speaks."""

    rules: tuple[Rule, ...]
    presence: Presence | None
    keys: Comparator | None


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules for the kinds it applies to; `name@version` is what a stored decision remembers.

    The rules are read from `raw` when they are first asked for: an unchanged resource needs only their digest.
    """

    name: str
    version: int
    provider: str
    kinds: tuple[str, ...]
    is_schema: bool  # published by the service, so that no guess is needed
    raw: Mapping[str, Json] = field(repr=False)  # as written, so that it can be kept and read again
    _read: list[ProfileRules] = field(default_factory=list, repr=False, compare=False)

    @property
    def id(self) -> str:
        """Name and version, as written into decisions."""
        return f"{self.name}@{self.version}"

    @property
    def content(self) -> ProfileRules:
        """The rules, with the defaults that hold where none of them speaks."""
        if not self._read:
            from holdfast.compare import profiles  # noqa: PLC0415

            self._read.append(profiles.build(self.raw).content)
        return self._read[0]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, the earlier winning."""
        return self.content.rules

    def applies_to(self, provider: str, kind: str) -> bool:
        """Return True if this profile applies to a kind."""
        if self.provider not in ("*", provider):
            return False
        return any(fnmatch.fnmatchcase(kind.lower(), glob.lower()) for glob in self.kinds)


def load(raw: Mapping[str, Json], rules: ProfileRules | None = None) -> Profile:
    """Return a profile from its value, which was validated before: when its rules were read, or when it was shipped."""
    applies = raw.get("applies") or {}
    kinds = applies.get("kinds") or ("*",)
    return Profile(
        raw["profile"],
        raw["version"],
        applies.get("provider") or "*",
        (kinds,) if isinstance(kinds, str) else tuple(kinds),
        bool(raw.get("schema")),
        raw,
        [] if rules is None else [rules],
    )
