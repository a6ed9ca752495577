"""The meaning of a path of ARM: a resource, a list of them, or an action on one.

Ids are compared without case and shown as they were written, as ARM promises. Types that keep the promise badly declare
that in their habits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import unquote

GROUP_TYPE = "Microsoft.Resources/resourceGroups"
SUBSCRIPTION_TYPE = "Microsoft.Resources/subscriptions"
_BUILT_IN = {"subscriptions": SUBSCRIPTION_TYPE, "resourcegroups": GROUP_TYPE}


@dataclass(frozen=True)
class ArmId:
    """A path, taken apart: `scope` is what stands before the last /providers/, types and names alternate after it.

    With one type more than names it is a collection, or an action. Groups and subscriptions have no namespace.
    """

    scope: str
    namespace: str
    types: tuple[str, ...]
    names: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """The path, without a slash at the end."""
        pairs = [part for pair in zip(self.types, self.names, strict=False) for part in pair]
        if self.is_collection:
            pairs.append(self.types[-1])
        head = [f"{self.scope}/providers", self.namespace] if self.namespace else [self.scope]
        return "/".join([*head, *pairs])

    @cached_property
    def key(self) -> str:
        """The key of the resource: its id in one case."""
        return self.text.casefold()

    @cached_property
    def type(self) -> str:
        """The full type, as the path spells it."""
        if self.namespace:
            return "/".join([self.namespace, *self.types])
        return _BUILT_IN.get(self.types[-1].casefold(), self.types[-1])

    @property
    def is_collection(self) -> bool:
        """Return True if a list, or an action, is meant."""
        return len(self.types) > len(self.names)

    @property
    def name(self) -> str:
        """The last name."""
        return self.names[-1]

    @cached_property
    def subscription(self) -> str | None:
        """The subscription it lies in."""
        return _after(self.text, "subscriptions")

    @cached_property
    def group(self) -> str | None:
        """The resource group it lies in."""
        return _after(self.text, "resourcegroups")

    @cached_property
    def parent(self) -> ArmId | None:
        """The resource it is a child of or extends, or its group; None if there is nothing above it."""
        if not self.namespace:
            return parse(self.scope) if self.scope else None
        if len(self.types) > 1:
            return ArmId(self.scope, self.namespace, self.types[:-1], self.names[: len(self.types) - 1])
        return parse(self.scope) if self.scope else None

    @property
    def is_child(self) -> bool:
        """Return True if it is a child by its type, rather than an extension or a thing in a group."""
        return len(self.types) > 1

    def child(self, kind: str, name: str) -> ArmId:
        """Return the id of a child."""
        return ArmId(self.scope, self.namespace, (*self.types, kind), (*self.names, name))

    def collection(self) -> ArmId:
        """Return the list it is in."""
        return ArmId(self.scope, self.namespace, self.types, self.names[:-1])

    def is_within(self, other: ArmId) -> bool:
        """Return True if it lies below another."""
        return self.key.startswith(other.key + "/")


@lru_cache(maxsize=20_000)
def parse(path: str) -> ArmId | None:
    """Take a path apart; None if ARM would not know what it is."""
    segments = [unquote(part) for part in path.split("/") if part]
    folded = [part.casefold() for part in segments]
    if "providers" in folded:
        at = len(folded) - 1 - folded[::-1].index("providers")
        rest = segments[at + 1 :]
        if len(rest) < 2:
            return None
        scope = "".join(f"/{part}" for part in segments[:at])
        return ArmId(scope, rest[0], tuple(rest[1::2]), tuple(rest[2::2]))
    if folded[:1] != ["subscriptions"] or len(segments) > 4 or (len(segments) > 2 and folded[2] not in _BUILT_IN):
        return None
    start = 2 if len(segments) > 2 else 0
    scope = "".join(f"/{part}" for part in segments[:start])
    last = segments[start:]
    return ArmId(scope, "", (last[0],), tuple(last[1:]))


def _after(path: str, word: str) -> str | None:
    parts = path.split("/")
    folded = [part.casefold() for part in parts]
    if word not in folded or folded.index(word) + 1 >= len(parts):
        return None
    return parts[folded.index(word) + 1]
