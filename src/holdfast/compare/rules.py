"""What a profile may say about a path: its class, its comparator, its container semantics, its presence.

A rule is data. How rules are written down is `compare.profiles`; how they are found while walking a document is
`compare.ruletree`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.compare.comparators import Comparator
from holdfast.compare.paths import Pattern
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json


class FieldClass(StrEnum):
    """What part a field plays; decides whether it is compared, written, shown."""

    RUNTIME = "runtime"  # moves by itself while the service runs; not compared or written unless declared
    READ_ONLY = "read_only"  # returned, never accepted; never compared or written
    IDENTITY = "identity"  # names the thing itself; not configuration
    WRITE_ONLY = "write_only"  # accepted, never returned in clear; compared by fingerprint with what was applied
    CREATE_ONLY = "create_only"  # fixed at birth, maybe never returned; a change needs a replacement
    BEHAVIOURAL = "behavioural"  # governs how we act, not what is there; a difference is not drift
    SECRET = "secret"  # noqa: S105 - compared, shown only as a fingerprint
    OWNED_ELSEWHERE = "owned_elsewhere"  # another object's; ignored unless declared, then only what is declared
    IGNORE = "ignore"  # a person does not care
    COMPARED = "compared"  # overrules a broader rule that hides the field


HIDDEN = frozenset({FieldClass.READ_ONLY, FieldClass.IDENTITY, FieldClass.BEHAVIOURAL, FieldClass.IGNORE})
HIDDEN_UNLESS_DECLARED = frozenset({FieldClass.RUNTIME, FieldClass.OWNED_ELSEWHERE})


class Presence(StrEnum):
    """Which spellings of "nothing" mean the same at a path."""

    STRICT = "strict"  # absent, null and empty are three things
    EMPTY = "empty"  # absent = null = {} = []
    BLANK = "blank"  # and = ""
    ZERO = "zero"  # and = 0 = false (protocol buffers' JSON)


class ListKind(StrEnum):
    """How the elements of a list are told apart."""

    ORDERED = "ordered"
    SET = "set"
    MULTISET = "multiset"
    KEYED = "keyed"


@dataclass(frozen=True, slots=True)
class ListRule:
    """How to read a list; `key` names the fields of a keyed one, with a comparator each where spelling varies."""

    kind: ListKind
    key: tuple[str, ...] = ()
    normalise: tuple[tuple[str, Comparator], ...] = ()
    one_or_many: bool = False  # a lone value stands for a list of one
    whole: bool = False  # declared as a whole even if its elements are maps: what else is there, is too many


@dataclass(frozen=True, slots=True)
class MapRule:
    """How to read a map: key spelling, and whether entries nobody declared may come and go."""

    keys: Comparator | None = None
    subset: bool = False
    whole: bool = False  # a declared map is declared as a whole: what else is in it, is too many


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """Holds when the value at `path` (in the declaration, else in the observed document) is one of `values`."""

    path: Pattern
    values: tuple[Json, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a profile; aspects left None are not this rule's business."""

    path: Pattern
    cls: FieldClass | None = None
    comparator: Comparator | None = None
    list_rule: ListRule | None = None
    map_rule: MapRule | None = None
    presence: Presence | None = None
    default: Json = ABSENT
    adopt: tuple[Comparator, ...] = ()  # further spellings to accept while there is only the declaration to go by
    adopt_list: ListRule | None = None  # how to read a list while there is only the declaration to go by
    adopt_presence: Presence | None = None
    adopt_missing: bool = False  # what is declared may be missing from the answer while there is no baseline
    when: RuleCondition | None = None
    guess: bool = False  # goes by a name or habit; void where the kind's schema is known
    why: str = ""
    source: str = ""

    @property
    def label(self) -> str:
        """How findings name this rule."""
        says = [
            self.cls and self.cls.value,
            self.comparator and self.comparator.name,
            self.list_rule and self.list_rule.kind.value,
            self.map_rule and "map",
            self.presence and f"presence {self.presence.value}",
            "default" if self.default is not ABSENT else None,
            "adopt" if self.adopt or self.adopt_list or self.adopt_presence or self.adopt_missing else None,
            "guess" if self.guess else None,
        ]
        text = f"{self.path.text or '(root)'} {', '.join(say for say in says if say)}"
        return f"{self.source}: {text}" if self.source else text
