"""The declarations of a run as a mapping over the manifest index: each is decoded when it is asked for.

A declaration is taken from its stored body, else read from its part of the file. Nothing is kept in memory but the last
few. For a bulk flow: `heads` gives addresses, labels, settings and document digests without any document, `many` the
declarations of a batch, `batches` all of them.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import Final

from holdfast.app.sources.entries import DamagedEntry, DeclarationEntry, EntryCodec
from holdfast.app.sources.file_parts import PartReader
from holdfast.errors import InputError, Location
from holdfast.manifests import file_discovery, loader, resources
from holdfast.manifests.file_discovery import Source
from holdfast.manifests.loader import FileReading
from holdfast.manifests.resources import Surroundings
from holdfast.model.address import Address
from holdfast.model.resource import Declaration
from holdfast.schema.document import DocumentPath
from holdfast.store.manifest_index import Flag, FoundEntry, ManifestSet
from holdfast.store.sqlite.manifest_index import SqliteManifestIndex

BATCH: Final = 500


class StoredDeclarations(Mapping[Address, Declaration]):
    """The declarations of the files that an index was told to choose."""

    def __init__(
        self,
        index: SqliteManifestIndex,
        codec: EntryCodec,
        around: Surroundings,
        reader: PartReader,
        files: ManifestSet,
    ) -> None:
        self._index = index
        self._codec = codec
        self._around = around
        self._reader = reader
        self._files = files
        self._recent: dict[Address, Declaration] = {}

    def __len__(self) -> int:
        return self._files.declared

    def __iter__(self) -> Iterator[Address]:
        return map(Address.parse, self._index.addresses())

    def __contains__(self, address: object) -> bool:
        return isinstance(address, Address) and (address in self._recent or bool(self._index.entries([str(address)])))

    def __getitem__(self, address: Address) -> Declaration:
        declaration = self._recent.get(address)
        if declaration is None:
            found = self._index.entries([str(address)])
            if not found:
                raise KeyError(address)
            declaration = self._declaration(found[0])
            if len(self._recent) >= BATCH:
                self._recent.clear()
            self._recent[address] = declaration
        return declaration

    # Mapping's own would look up every address by itself.

    def values(self) -> ValuesView[Declaration]:
        """Return the declarations in address order."""
        return _Values(self)

    def items(self) -> ItemsView[Address, Declaration]:
        """Return addresses and declarations in address order."""
        return _Items(self)

    def many(self, addresses: Sequence[Address]) -> dict[Address, Declaration]:
        """Return the declarations of a batch of addresses, in one query."""
        found = map(self._declaration, self._index.entries([str(address) for address in addresses]))
        return {declaration.address: declaration for declaration in found}

    def batches(self, flag: Flag | None = None) -> Iterator[list[Declaration]]:
        """Iterate over the declarations in address order, a batch at a time; with a flag over those that have it."""
        for page in self._index.pages(flag):
            yield list(map(self._declaration, page))

    def heads(self, addresses: Sequence[Address] | None = None) -> Iterator[DeclarationEntry]:
        """Iterate over entries, of some addresses or of all; no document is read."""
        if addresses is not None:
            yield from map(self._entry, self._index.entries([str(address) for address in addresses]))
            return
        for page in self._index.pages():
            yield from map(self._entry, page)

    def named(self, names: Sequence[str]) -> list[Address]:
        """Return the addresses of resources with one of these names."""
        return [Address.parse(pair.row.address) for pair in self._index.named(names)]

    def with_secrets(self) -> Iterator[Declaration]:
        """Iterate over the declarations that may refer to secrets."""
        return (declaration for batch in self.batches("secrets") for declaration in batch)

    def connections(self) -> set[str]:
        """Return the connections that declarations use."""
        return set(self._files.connections)

    def _entry(self, found: FoundEntry) -> DeclarationEntry:
        try:
            return self._codec.entry(found)
        except (DamagedEntry, ValueError) as error:
            message = "the index of the manifests is damaged; edit or touch this file so that it is read again"
            raise InputError(message, Location(found.file)) from error

    def _declaration(self, found: FoundEntry) -> Declaration:
        try:
            entry = self._codec.entry(found)
        except (DamagedEntry, ValueError):
            return self._from_file(found)
        desired = self._codec.desired(entry)
        if desired is not None:
            return entry.declaration(desired, StoredPlaces(self, entry))
        declaration = self.read_part(entry)
        body = self._codec.body(declaration)
        if body is not None:
            self._index.hold_bodies([body])
        return declaration

    def read_part(self, entry: DeclarationEntry) -> Declaration:
        """Read a declaration from its part of the file; raise InputError if it was edited during the run."""
        document = self._reader.read(entry.path, entry.file, entry.head.part)
        reading = FileReading()
        place = DocumentPath(document, reading.errors)
        declaration = resources.read(place, entry.head.provider, self._around)
        if declaration is None or declaration.address != entry.address:
            raise InputError("the file was edited during this run; run the command again", Location(entry.file))
        return declaration

    def _from_file(self, found: FoundEntry) -> Declaration:
        """Read the whole file of a damaged entry."""
        source = Source(found.file, found.path, was_named=False, key=found.path)
        reading = loader.read_file(source, file_discovery.load(source, None), self._around)
        for declaration in reading.declarations:
            if str(declaration.address) == found.row.address:
                return declaration
        raise InputError(f"{found.row.address} is no longer declared here; run the command again", Location(found.file))


class _Values(ValuesView[Declaration]):
    """The declarations, a batch at a time."""

    def __init__(self, declarations: StoredDeclarations) -> None:
        super().__init__(declarations)
        self._declarations = declarations

    def __iter__(self) -> Iterator[Declaration]:
        return (declaration for batch in self._declarations.batches() for declaration in batch)


class _Items(ItemsView[Address, Declaration]):
    """Addresses and declarations, a batch at a time."""

    def __init__(self, declarations: StoredDeclarations) -> None:
        super().__init__(declarations)
        self._declarations = declarations

    def __iter__(self) -> Iterator[tuple[Address, Declaration]]:
        return ((declaration.address, declaration) for declaration in self._declarations.values())


class StoredPlaces(Mapping[str, int]):
    """The lines of the fields of a declaration, read from its file when a message needs them."""

    def __init__(self, declarations: StoredDeclarations, entry: DeclarationEntry) -> None:
        self._declarations = declarations
        self._entry = entry
        self._places: Mapping[str, int] | None = None

    def _read(self) -> Mapping[str, int]:
        if self._places is None:
            try:
                self._places = self._declarations.read_part(self._entry).places
            except InputError:  # edited since: the line of the document is all that is known
                self._places = {}
        return self._places

    def __getitem__(self, path: str) -> int:
        return self._read()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())
