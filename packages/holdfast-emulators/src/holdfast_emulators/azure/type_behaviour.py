"""The words in which the habits of a resource type are described; all of it data, so that packs can be YAML.

Pointers are JSON pointers into the document of a resource; `*` stands for any element or key. A condition (`when`)
maps pointers to the value that must be there, a list of values that may, null for nothing, or "*" for anything; a
pointer without a slash in front is looked up beside the field it decides about. Text values may hold `${name}`,
`${id}`, `${guid}`, `${now}` and the like; `Filling.expanded` says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from holdfast.model.json import Json

VERBS = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "POST")


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of the habits: immutable, and a misspelt field in a pack is an error."""


class Fill(_Data, frozen=True):
    """A value that the service fills in where nothing was sent."""

    at: str
    value: Json = None
    when: Mapping[str, Json] = {}
    phase: Literal["write", "create", "update"] = "write"
    overrides: bool = False  # what was sent is replaced too
    late_seconds: float = 0.0  # appears so long after the operation has ended
    choice: tuple[Json, ...] = ()  # one of these, chosen once in the life of the resource


class Computed(_Data, frozen=True):
    """A value that is the service's own: what is sent there is ignored."""

    at: str
    value: Json = None
    when: Mapping[str, Json] = {}
    renewed: Literal["never", "write", "read"] = "never"


class Rewrite(_Data, frozen=True):
    """A value that comes back in another spelling; `rewriting.WAYS` has the names."""

    at: str
    how: str
    by: Json = None
    keys: bool = False  # the keys of the mapping there are rewritten, not its value
    when: Mapping[str, Json] = {}


class Order(_Data, frozen=True):
    """A list that comes back in another order."""

    at: str
    how: Literal["sorted", "reversed", "shuffled"] = "sorted"
    by: str | None = None  # the field of the elements to sort by
    each_read: bool = False


class Element(_Data, frozen=True):
    """An element that the service adds to a list if it has none of that key."""

    at: str
    value: Json
    key: str | None = None  # None: the whole element
    first: bool = False
    when: Mapping[str, Json] = {}
    phase: Literal["write", "create", "update"] = "write"


class Secret(_Data, frozen=True):
    """A value that is accepted and not shown again; a PUT without it leaves it as it was."""

    at: str
    shown: Literal["absent", "null", "text"] = "absent"
    text: str = "********"


class Refused(_Data, frozen=True):
    """How a request is refused; `detail` becomes the code of an inner error."""

    status: int
    code: str
    message: str = "The request is not possible now."
    detail: str = ""
    retry_after: int | None = None


class Embedded(_Data, frozen=True):
    """A list in the parent that shows, and writes, children which are resources of their own."""

    at: str
    child: str  # the last segment of the child's type
    omitted: Literal["wipe", "keep"] = "wipe"  # what a PUT of the parent without the list does to the children
    unlisted: Literal["wipe", "keep"] = "wipe"  # and to those that are not in the list
    flat: bool = False  # elements are the child's properties beside its name


class Reference(_Data, frozen=True):
    """A field that holds the id of another resource, which must be there and be finished."""

    at: str
    missing: Refused | None = Refused(400, "InvalidResourceReference", "Resource ${target} was not found.")
    not_ready: Refused | None = Refused(
        429,
        "RetryableError",
        "A retryable error occurred.",
        "ReferencedResourceNotProvisioned",
    )


class Etag(_Data, frozen=True):
    """Where an etag is shown, and whether preconditions on it are honoured."""

    header: bool = False
    body: Literal["etag", "eTag", ""] = ""
    weak: bool = False
    bare: bool = False  # without quotes in the body
    honoured: bool = False  # If-Match and If-None-Match on writes
    not_modified: bool = False  # If-None-Match on reads
    moves: Literal["write", "change"] = "write"  # a PUT that changes nothing still moves it


class SoftDelete(_Data, frozen=True):
    """A deleted resource keeps its name for a while."""

    seconds: float = 90 * 86_400.0
    refused: Refused = Refused(409, "ConflictError", "A resource of this name exists in deleted state.")
    recover: Mapping[str, Json] = {}  # a PUT that has this brings the deleted resource back
    collection: str = ""  # deletedVaults: where the deleted ones are listed, shown and purged


class Action(_Data, frozen=True):
    """A POST on the resource, such as listKeys: what it answers."""

    name: str
    value: Json = None
    shows: str = ""  # the stored value there, in clear, instead of `value`


class Operation(_Data, frozen=True):
    """How a write is answered, and how one learns that it has ended."""

    style: Literal["sync", "async", "location", "both", "state", "self"] = "sync"
    status: int = 0  # 0: the usual one of the style
    seconds: float = 0.0  # on the clock of the emulator
    polls: int = 0  # and at least so many looks
    retry_after: float | None = None
    retry_as_date: bool = False
    relative: bool = False  # polling addresses without scheme and host
    host: str = ""  # the provider's own host in polling addresses
    body: Literal["resource", "empty", "null"] = "resource"
    words: tuple[str, ...] = ("InProgress",)  # what it says meanwhile, one after the other
    done: str = "Succeeded"
    final: Literal["resource", "empty", "result"] = "resource"  # what Location brings in the end
    moving: bool = False  # each poll of Location brings another one
    forgotten_seconds: float | None = None  # polling addresses are 404 so long after the end
    hidden: bool = False  # a new resource is 404 until the end
    state: str = ""  # provisioningState meanwhile; empty: Creating, Updating or Deleting


class Operations(_Data, frozen=True):
    """The operations of a type; PATCH is an update unless it has its own."""

    create: Operation = Operation()
    update: Operation = Operation()
    delete: Operation = Operation()
    patch: Operation | None = None


BUSY = Refused(409, "AnotherOperationInProgress", "Another operation on this or dependent resource is in progress.")


class Habits(_Data, frozen=True):
    """Everything about a type that is not the same for all."""

    type: str
    api_versions: tuple[str, ...] = ()  # none: any that is well written
    verbs: tuple[str, ...] = VERBS
    location: Literal["required", "optional", "none"] = "optional"
    required: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    defaults: tuple[Fill, ...] = ()
    computed: tuple[Computed, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    orders: tuple[Order, ...] = ()
    elements: tuple[Element, ...] = ()
    secrets: tuple[Secret, ...] = ()
    put: Literal["replace", "merge"] = "replace"  # merge: all that a PUT omits stays
    whole: tuple[str, ...] = ("/tags",)  # but this is replaced as a whole if it is sent
    keeps: tuple[str, ...] = ()  # or, of a PUT that replaces, only this stays
    null_keeps: bool = False  # null is the same as nothing: only [] or {} clears
    embedded: tuple[Embedded, ...] = ()
    etag: Etag = Etag()
    references: tuple[Reference, ...] = ()
    in_use: Refused | None = None  # cannot be deleted while another resource refers to it
    operations: Operations = Operations()
    state_at: str = "/properties/provisioningState"  # empty: the type has no such field
    state_done: str = "Succeeded"
    busy: Refused | None = BUSY  # None: writes are accepted while one is under way
    parent_busy: Refused | None = None  # while the parent is not finished
    lag_reads: int = 0  # so many reads after a write still show what was before
    lag_seconds: float = 0.0
    soft_delete: SoftDelete | None = None
    global_name: Refused | None = None  # the name is taken if anybody has it
    implied: tuple[str, ...] = ()  # children of these names come with the parent
    actions: tuple[Action, ...] = ()
    since: Mapping[str, str] = {}  # fields that only api-versions from this one on show
    page_size: int = 1_000
    listed: Literal["all", "group", "none"] = "all"  # none: a list is 405
    list_hides: tuple[str, ...] = ()  # fields that lists leave out
    system_data: bool = True
    id_style: Literal["preserve", "lower", "lower_groups", "upper_group", "requested"] = "preserve"
    type_shown: str = ""  # another spelling of the type in answers
    error_shape: Literal["arm", "bare", "capital", "message", "problem", "numeric"] = "arm"


RULES: Mapping[type[_Data], str] = {
    Fill: "defaults",
    Computed: "computed",
    Rewrite: "rewrites",
    Order: "orders",
    Element: "elements",
    Secret: "secrets",
    Embedded: "embedded",
    Reference: "references",
    Action: "actions",
}


def taught(habits: Habits, *rules: _Data) -> Habits:
    """Return the habits with more rules, each at the end of its list."""
    for rule in rules:
        name = RULES[type(rule)]
        habits = msgspec.structs.replace(habits, **{name: (*getattr(habits, name), rule)})
    return habits
