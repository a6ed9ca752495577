"""The requests in order, for tests that limit the number of PUTs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from holdfast.model.json import Json

POLL = "poll"
TOKEN = "token"  # noqa: S105 - the name of a kind of request


@dataclass(frozen=True, slots=True)
class Entry:
    """One request. `kind` is read, write, delete, poll or token; `changed` is known of accepted writes only."""

    at: float
    method: str
    path: str
    type: str
    status: int
    kind: str = "read"
    code: str = ""
    principal: str = ""
    api_version: str = ""
    changed: bool | None = None
    correlation: str = ""
    body: Json = field(default=None, repr=False, compare=False)

    @property
    def accepted(self) -> bool:
        """Return True if it was not refused."""
        return 0 < self.status < 400

    def is_like(self, method: str = "*", type_: str = "*", path: str = "*") -> bool:
        """Return True if it fits; globs, whatever the case."""
        return (
            fnmatchcase(self.method, method)
            and fnmatchcase(self.type.casefold(), type_.casefold())
            and fnmatchcase(self.path.casefold(), path.casefold())
        )


@dataclass(slots=True)
class Journal:
    """All entries, oldest first. `keep_bodies` off saves memory on long runs."""

    entries: list[Entry] = field(default_factory=list)
    keep_bodies: bool = True

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def append(self, entry: Entry) -> None:
        """Note a request."""
        self.entries.append(entry)

    def clear(self) -> None:
        """Forget everything, so that a test can count from here."""
        self.entries.clear()

    def find(self, method: str = "*", type: str = "*", path: str = "*") -> list[Entry]:  # noqa: A002 - ARM's word
        """Return the entries that fit; globs, whatever the case. Polls and tokens are in it."""
        return [entry for entry in self.entries if entry.is_like(method, type, path)]

    def count(self, method: str = "*", type: str = "*", path: str = "*") -> int:  # noqa: A002 - ARM's word
        """Count the requests that were accepted and fit, polls not among them."""
        return sum(1 for e in self.find(method, type, path) if e.accepted and e.kind not in (POLL, TOKEN))

    def counts(self) -> Counter[tuple[str, str]]:
        """Count what was accepted by method and type; polls are of method POLL."""
        return Counter(("POLL" if e.kind == POLL else e.method, e.type) for e in self.entries if e.accepted)

    def writes(self) -> list[Entry]:
        """Return the PUTs, PATCHes and DELETEs that were accepted."""
        return [e for e in self.entries if e.kind in ("write", "delete") and e.method != "POST" and e.accepted]

    def needless(self) -> list[Entry]:
        """Return the accepted writes that changed nothing anybody could have declared."""
        return [entry for entry in self.writes() if entry.changed is False]

    def throttled(self) -> list[Entry]:
        """Return the requests that were refused with 429."""
        return [entry for entry in self.entries if entry.status == 429]
