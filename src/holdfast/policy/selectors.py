"""Choosing resources: by their labels, and by globs on their addresses.

Label selectors are those of Kubernetes (`a=b, c!=d, e in (x, y), !f`), also in their structured form (`matchLabels`,
`matchExpressions`), because strategies and people should not need two notations.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.schema import did_you_mean


class Operator(StrEnum):
    """The operator of a requirement on one label, spelt as in matchExpressions."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return True if the labels meet the requirement. An absent label is in no set."""
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels

    def __str__(self) -> str:
        values = ",".join(sorted(self.values))
        return {
            Operator.IN: f"{self.key} in ({values})",
            Operator.NOT_IN: f"{self.key} notin ({values})",
            Operator.EXISTS: self.key,
            Operator.DOES_NOT_EXIST: f"!{self.key}",
        }[self.operator]


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold; without any, everything is selected."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return True if the labels meet every requirement."""
        return all(requirement.holds(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = LabelSelector()

_WORD = r"[^\s,()!=]+"
_VALUE = r"[^\s,()!=]*"
_SET = re.compile(rf"({_WORD})\s+(in|notin)\s*\(\s*({_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)")
_EQUAL = re.compile(rf"({_WORD})\s*(==|=|!=)\s*({_VALUE})")
_PRESENT = re.compile(rf"(!?)\s*({_WORD})")
_COMMA = re.compile(r"\s*(?:,\s*|$)")
_HELP = "write a=b, a!=b, a in (x, y), a notin (x, y), a or !a, with commas between"


def parse_labels(text: str) -> LabelSelector:
    """Read a label selector; raise InputError that shows where it stops making sense."""
    out = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        requirement, position = _requirement(text, position)
        comma = _COMMA.match(text, position)
        if comma is None or (comma.end() == len(text) and "," in comma[0]):
            raise InputError(f"the selector cannot be read from {text[position:][:40]!r} on; {_HELP}")
        out.append(requirement)
        position = comma.end()
    return LabelSelector(tuple(out))


def _requirement(text: str, position: int) -> tuple[Requirement, int]:
    if match := _SET.match(text, position):
        values = frozenset(value.strip() for value in match[3].split(","))
        return Requirement(match[1], Operator.IN if match[2] == "in" else Operator.NOT_IN, values), match.end()
    if match := _EQUAL.match(text, position):
        operator = Operator.NOT_IN if match[2] == "!=" else Operator.IN
        return Requirement(match[1], operator, frozenset({match[3]})), match.end()
    if match := _PRESENT.match(text, position):
        return Requirement(match[2], Operator.DOES_NOT_EXIST if match[1] else Operator.EXISTS), match.end()
    raise InputError(f"the selector cannot be read from {text[position:][:40]!r} on; {_HELP}")


@dataclass(frozen=True, slots=True)
class AddressPattern:
    """A glob on addresses; each part of the address is matched by itself, so a star never crosses a slash.

    Parts that are omitted on the left may be anything: `web-*` is any resource of such a name, `Network/*` every
    network. `**` stands for any number of parts.
    """

    text: str
    parts: tuple[str, ...]

    def matches(self, address: Address) -> bool:
        """Return True if the glob covers the address, with or without its namespace."""
        full = str(address).split("/")
        short = [address.connection, address.kind, address.name]
        return _covers(("**", *self.parts), full) or (full != short and _covers(("**", *self.parts), short))


def _covers(parts: Sequence[str], names: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_covers(parts[1:], names[skip:]) for skip in range(len(names) + 1))
    return bool(names) and fnmatch.fnmatchcase(names[0], parts[0]) and _covers(parts[1:], names[1:])


@dataclass(frozen=True, slots=True)
class Targets:
    """The selection of `--target`: the included addresses, by default all, without those excluded by a leading `!`."""

    included: tuple[AddressPattern, ...] = ()
    excluded: tuple[AddressPattern, ...] = ()

    def matches(self, address: Address) -> bool:
        """Return True if the address is selected. An exclusion always wins, whatever the order."""
        wanted = not self.included or any(target.matches(address) for target in self.included)
        return wanted and not any(target.matches(address) for target in self.excluded)


def parse_targets(texts: Iterable[str]) -> Targets:
    """Read the values of `--target`."""
    included: list[AddressPattern] = []
    excluded: list[AddressPattern] = []
    for text in texts:
        glob = text.removeprefix("!")
        parts = tuple(glob.split("/"))
        if not all(parts) or len([part for part in parts if part != "**"]) > 4:
            message = f"{text!r} is not a target; write a name, Kind/name or connection/Kind/name, with * where needed"
            raise InputError(message)
        (excluded if text.startswith("!") else included).append(AddressPattern(text, parts))
    return Targets(tuple(included), tuple(excluded))


def unmatched(targets: Targets, addresses: Sequence[Address]) -> list[InputError]:
    """Return an error for each target that covers nothing, because a mistyped target must not look like success."""
    out = []
    for target in (*targets.included, *targets.excluded):
        if not any(target.matches(address) for address in addresses):
            # Compared with the same number of parts of each address, so that `Network/cor` finds `Network/core`.
            endings = ("/".join(str(address).split("/")[-len(target.parts) :]) for address in addresses)
            guess = did_you_mean.hint(target.text.removeprefix("!"), endings)
            out.append(InputError(f"the target {target.text!r} matches no resource{guess}"))
    return out
