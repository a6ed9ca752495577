"""The rules of a profile for a path: class, comparator, container semantics and presence.

A rule is data. `compare.profiles` parses rules; `compare.rule_tree` finds them while a document is walked.
"""

from __future__ import annotations

from enum import StrEnum

from holdfast.compare.comparators import Comparator
from holdfast.compare.paths import Pattern
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.record import dataclass


class FieldClass(StrEnum):
    """The role of a field, which decides if it is compared, written and shown."""

    RUNTIME = "runtime"  # changes while the service runs; not compared or written unless declared
    READ_ONLY = "read_only"  # returned, never accepted; never compared or written
    IDENTITY = "identity"  # names the resource; not configuration
    WRITE_ONLY = "write_only"  # accepted, never returned in clear; its fingerprint is compared with the applied one
    CREATE_ONLY = "create_only"  # fixed at creation, maybe never returned; a change needs a replacement
    BEHAVIOURAL = "behavioural"  # controls the client, not the resource; a difference is not drift
    SECRET = "secret"  # noqa: S105 - compared, shown only as a fingerprint
    FILLED_IN = "filled_in"  # the service fills it in at some time; a first value is not drift, a later change is
    OWNED_ELSEWHERE = "owned_elsewhere"  # belongs to another object; only declared parts are compared
    IGNORE = "ignore"  # excluded by a person
    COMPARED = "compared"  # overrules a broader rule that hides the field


HIDDEN = frozenset({FieldClass.READ_ONLY, FieldClass.IDENTITY, FieldClass.BEHAVIOURAL, FieldClass.IGNORE})
HIDDEN_UNLESS_DECLARED = frozenset({FieldClass.RUNTIME, FieldClass.OWNED_ELSEWHERE})


class Presence(StrEnum):
    """Which spellings of "nothing" mean the same at a path."""

    STRICT = "strict"  # absent, null and empty differ
    EMPTY_LIST = "empty_list"  # absent = null = []; an empty mapping is a value
    EMPTY = "empty"  # absent = null = {} = []
    BLANK = "blank"  # and = ""
    ZERO = "zero"  # and = 0 = false (protocol buffers' JSON)


class ListKind(StrEnum):
    """The identity of the elements of a list."""

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
    whole: bool = False  # declared as a whole even if its elements are mappings: any other element is a difference
    keys_filled_in: bool = False  # the service fills in parts of a key, so that an element may lack some of them


@dataclass(frozen=True, slots=True)
class MapRule:
    """How to read a mapping: key spelling, and if undeclared entries are compared."""

    keys: Comparator | None = None
    subset: bool = False
    whole: bool = False  # declared as a whole: any other entry is a difference


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """Holds when the value at `path` (in the declaration, else in the observed document) is one of `values`.

    With `present` the value does not matter, only that there is one, or that there is none.
    """

    path: Pattern
    values: tuple[Json, ...]
    negated: bool = False
    present: bool | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a profile; an aspect that is None is left to other rules."""

    path: Pattern
    cls: FieldClass | None = None
    comparator: Comparator | None = None
    list_rule: ListRule | None = None
    map_rule: MapRule | None = None
    presence: Presence | None = None
    default: Json = ABSENT
    adopt: tuple[Comparator, ...] = ()  # further spellings to accept while there is no baseline
    adopt_list: ListRule | None = None  # how to read a list while there is no baseline
    adopt_presence: Presence | None = None
    adopt_missing: bool = False  # declared values may be missing while there is no baseline
    when: RuleCondition | None = None
    guess: bool = False  # based on a name or convention; void if the schema of the kind is known
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
