"""The contract of the manifest index: the declarations of each manifest when it was last read.

The index is a cache. Every row may be deleted at any time, and a file is always believed over its row. It holds no
value of a declared document, unless the store holds the same document in clear already, because a manifest may contain
a secret that only the rules of its kind mark as one. Digests of texts are keyed for the same reason.

Its calls do not wait for other calls of the store, and are made from one thread. They raise StoreError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol


class ManifestRow(NamedTuple):
    """A file that was read."""

    id: int  # 0: not stored yet
    path: str  # without symbolic links
    status: str  # size, times, inode and device
    digest: bytes  # keyed, of the content
    version: bytes  # of everything else that the entries depend on
    indexed_at: float
    form: str  # how the file was read
    entries: int  # how many there are
    others: bytes  # JSON: the parts of the file that are no plain declarations


class EntryRow(NamedTuple):
    """A declaration of a file, without its document."""

    address: str
    name: str
    identity: bytes | None  # keyed, of the live thing that is meant
    has_secrets: bool
    head: bytes  # JSON
    links: bytes | None  # JSON: references and explicit dependencies; None: there are none
    seal: bytes  # keyed, of all the above and the path


class FoundEntry(NamedTuple):
    """A declaration of the files of a run."""

    row: EntryRow
    file: str  # as messages call it
    path: str
    document: str | None  # the digest of the declared document, if its body is there
    body: bytes | None  # the document as it was written, sealed


class ManifestSet(NamedTuple):
    """Files that were found to fit together: no address, live thing or reference is wrong among them."""

    declared: int  # number of declarations
    connections: tuple[str, ...]
    linked: int  # declarations that refer to others
    seal: bytes = b""  # keyed, of all addresses and the above


Flag = Literal["links", "secrets"]


class ManifestIndex(Protocol):
    """Reads and writes the index; `choose` says which files a run is about, and all methods below are about these."""

    def files(self, paths: Sequence[str]) -> dict[str, ManifestRow]:
        """Return the rows of files by path, at least those of the given paths."""

    def write(self, files: Sequence[tuple[ManifestRow, Sequence[EntryRow]]], now: float) -> list[int]:
        """Store files with their entries in place of the rows of the same path; return the new ids.

        The replaced rows serve runs that began before for a day.
        """

    def choose(self, files: Iterable[tuple[int, str, str]]) -> None:
        """Begin a run about some files, each with its name in messages and its path."""

    def has_clashes(self) -> bool:
        """Return True if two entries have one address or mean one live thing."""

    def entries(self, addresses: Sequence[str]) -> list[FoundEntry]:
        """Return the entries of addresses."""

    def named(self, names: Sequence[str]) -> list[FoundEntry]:
        """Return the entries of names."""

    def pages(self, flag: Flag | None = None) -> Iterator[list[FoundEntry]]:
        """Iterate over all entries in address order, a page at a time; with a flag only over those that have it."""

    def addresses(self) -> list[str]:
        """Return all addresses in order."""

    def count(self) -> int:
        """Return the number of entries."""

    def undeclared(self) -> list[str]:
        """Return the resources of the store that have no entry."""

    def known(self) -> list[str]:
        """Return the resources of the store."""

    def load_set(self, key: bytes) -> ManifestSet | None:
        """Return the stored summary of a set of files, or None."""

    def keep_set(self, key: bytes, found: ManifestSet, bindings: Iterable[tuple[str, bytes]], now: float) -> None:
        """Store that files fit together, with the targets of their references."""

    def bindings(self, key: bytes, addresses: Sequence[str] | None) -> list[tuple[str, bytes]]:
        """Return the reference targets of some entries, or those of all."""


class IndexUpkeep(Protocol):
    """Keeps the index up to date."""

    def touch(self, files: Sequence[tuple[int, str, float]]) -> None:
        """Record the status of files whose content is the same, and when it was compared."""

    def forget(self, ids: Sequence[int]) -> None:
        """Delete files that do not exist any more."""

    def hold_bodies(self, bodies: Sequence[tuple[str, str, bytes]]) -> None:
        """Hold sealed bodies by address, each with the digest of its document, until the end of the run."""

    def keep_bodies(self) -> None:
        """Store the held bodies, as far as the store has the same documents in clear."""

    def close(self) -> None:
        """Release the database."""
