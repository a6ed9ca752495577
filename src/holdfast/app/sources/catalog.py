"""The catalogue of a run: the declarations of its manifests, by the manifest index of the store.

A catalogue is only opened for manifests without mistakes. Everything else, and every failure of the index, returns
None: the manifests are then read one by one, which names the mistakes. A catalogue therefore never reports a mistake,
only that there is none.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from holdfast.app.sources import stored_graph
from holdfast.app.sources.declarations import StoredDeclarations
from holdfast.app.sources.entries import DamagedEntry, EntryCodec
from holdfast.app.sources.file_parts import PartReader
from holdfast.app.sources.index_update import IndexUpdate, NotIndexed
from holdfast.app.sources.stored_graph import StoredGraph
from holdfast.errors import HoldfastError, InputError, StoreError
from holdfast.manifests import file_discovery, loader
from holdfast.manifests.loader import Manifests
from holdfast.manifests.project import ProjectFile
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.policy.dependency_graph import Graph
from holdfast.store import fingerprint_key
from holdfast.store.manifest_index import ManifestSet
from holdfast.store.sqlite.manifest_index import SqliteManifestIndex

Result = TypeVar("Result")

SWITCH: Final = "HOLDFAST_MANIFEST_INDEX"  # environment; "off" reads all manifests in every run


@dataclass(slots=True)
class Catalog:
    """The declarations of a run, and their dependencies."""

    manifests: Manifests  # with declarations only where there are templates, which need all of them at hand
    declarations: StoredDeclarations
    graph: Graph
    key: bytes  # of the store; a new store takes it over
    _index: SqliteManifestIndex

    def undeclared(self) -> list[Address]:
        """Return the resources of the store that no manifest declares."""
        return list(map(Address.parse, self._index.undeclared()))

    def known(self) -> list[Address]:
        """Return the resources of the store."""
        return list(map(Address.parse, self._index.known()))

    def attach(self, store: Path, key: bytes) -> None:
        """Copy the index into a store that has just been created with this key."""
        if self._index.is_temporary and key == self.key:
            with contextlib.suppress(StoreError):
                self._index.copy_to(store)

    def close(self) -> None:
        """Keep the documents that the store has in clear, and release the index."""
        with contextlib.suppress(StoreError):
            self._index.keep_bodies()
        with contextlib.suppress(StoreError):
            self._index.close()


def open_catalog(files: Sequence[str], config: ProjectFile, store: Path, now: Callable[[], float]) -> Catalog | None:
    """Return the catalogue of some manifests; None if they must be read without the index."""
    return _with_index(files, config, store, now, _catalog)


def read_declared(
    files: Sequence[str], config: ProjectFile, store: Path, now: Callable[[], float], addresses: Iterable[str]
) -> Manifests | None:
    """Return some declarations of some files, with the strategies and templates there; None: read without the index.

    Mistakes between files are not searched for, because these are not all files.
    """

    def some(update: IndexUpdate, key: bytes) -> Manifests:  # noqa: ARG001
        reader, mistakes = PartReader(update.codec), list[InputError]()
        manifests = loader.join(update.project, update.others(reader), mistakes)
        if mistakes or update.index.has_clashes():
            raise NotIndexed
        stored = StoredDeclarations(update.index, update.codec, update.around, reader, ManifestSet(0, (), 0))
        found = {str(declaration.address): declaration for declaration in manifests.declarations}
        wanted = [Address.parse(address) for address in addresses]
        found |= {str(address): declaration for address, declaration in stored.many(wanted).items()}
        manifests = replace(manifests, declarations=tuple(found[address] for address in sorted(found)))
        update.index.close()
        return manifests

    return _with_index(files, config, store, now, some) if store.exists() else None


def _with_index(
    files: Sequence[str],
    config: ProjectFile,
    store: Path,
    now: Callable[[], float],
    use: Callable[[IndexUpdate, bytes], Result],
) -> Result | None:
    """Bring the index up to date and use it; None if it cannot be used."""
    if os.environ.get(SWITCH, "").lower() == "off" or not files or "-" in files:
        return None
    project = config.with_local(file_discovery.common_folder(files))
    if loader.has_cluster(project.connections):  # what an object needs is known when all objects are read
        return None
    sources, errors = file_discovery.find(files, project.profiles)
    if errors or not sources:
        return None
    index = update = None
    try:
        if store.exists():
            index, key = SqliteManifestIndex.open(store), fingerprint_key.key_in(store.parent)
        else:
            index, key = SqliteManifestIndex.temporary(), secrets.token_bytes(fingerprint_key.KEY_BYTES)
        update = IndexUpdate(index, EntryCodec(key), project, now)
        update.run(sources)
        return use(update, key)
    except (NotIndexed, HoldfastError, DamagedEntry, OSError) as error:
        with contextlib.suppress(StoreError):
            if index is not None and update is not None and isinstance(error, DamagedEntry):
                index.forget([file.row.id for file in update.files])  # the next run reads these files again
        with contextlib.suppress(StoreError):
            if index is not None:
                index.close()
        return None


def _catalog(update: IndexUpdate, key: bytes) -> Catalog:
    reader = PartReader(update.codec)
    mistakes: list[InputError] = []
    passed_over = tuple(file.source.name for file in update.files if file.row.form.startswith("passed:"))
    manifests = loader.join(update.project, update.others(reader), mistakes, tuple(sorted(passed_over)))
    if mistakes or len(passed_over) == len(update.files):
        raise NotIndexed
    files, graph = _fitting(update)
    declarations = StoredDeclarations(update.index, update.codec, update.around, reader, files)
    if manifests.templates:
        found = {str(declaration.address): declaration for declaration in manifests.declarations}
        for declaration in declarations.values():
            if found.setdefault(str(declaration.address), declaration) is not declaration:
                raise NotIndexed
        manifests = replace(manifests, declarations=tuple(found[address] for address in sorted(found)))
        mistakes += loader.template_mistakes(manifests)
    if mistakes or (manifests.declarations and not manifests.templates):
        raise NotIndexed
    return Catalog(manifests, declarations, graph, key, update.index)


def _fitting(update: IndexUpdate) -> tuple[ManifestSet, Graph]:
    """Return the stored set of files, or examine the files. Raise NotIndexed if the files do not fit together."""
    index, codec = update.index, update.codec
    rows = sorted((file.row.path, file.row.digest, file.row.form) for file in update.files)
    key = codec.seal(msgspec.json.encode((update.version, rows)))
    found = _sealed(update, key)
    if found is not None and found.declared == index.count():
        if not found.linked:
            return found, StoredGraph(index, key, 0).graph()
        linked_key = _key_with(update, key, index.known())
        if _sealed(update, linked_key) == found._replace(seal=_seal(update, linked_key, found)):
            return found, StoredGraph(index, linked_key, found.linked).graph()
    return _examine(update, key)


def _examine(update: IndexUpdate, key: bytes) -> tuple[ManifestSet, Graph]:
    index, now = update.index, update.now()
    if index.has_clashes():
        raise NotIndexed
    addresses: list[Address] = []
    types: dict[Address, str] = {}
    linked = []
    counts: Counter[str] = Counter()
    for page in index.pages():
        for row in page:
            entry = update.codec.entry(row)
            counts[entry.path] += 1
            addresses.append(entry.address)
            if entry.head.type is not None and "/" not in entry.head.type:
                types[entry.address] = entry.head.type
            if entry.links is not None:
                linked.append(entry)
    if any(counts[file.row.path] != file.row.entries for file in update.files):
        raise DamagedEntry
    connections = tuple(sorted({address.connection for address in addresses}))
    found = ManifestSet(len(addresses), connections, len(linked))
    found = found._replace(seal=_seal(update, key, found))
    rows: list[tuple[str, bytes]] = []
    graph = Graph()
    known = index.known() if linked else []
    if linked:
        graph = stored_graph.build(linked, [*addresses, *map(Address.parse, known)], types)
        try:
            rows = stored_graph.encode(graph)
        except ValueError:
            return found, replace(graph, addresses=stored_graph.StoredAddresses(index))
    with contextlib.suppress(StoreError):  # a store that cannot be written to
        if linked:
            linked_key = _key_with(update, key, known)
            index.keep_set(linked_key, found._replace(seal=_seal(update, linked_key, found)), rows, now)
        index.keep_set(key, found, (), now)
    return found, replace(graph, addresses=stored_graph.StoredAddresses(index))


def _key_with(update: IndexUpdate, key: bytes, known: Iterable[str]) -> bytes:
    """Return the key of a set of files with the resources of the store, to which references may lead too."""
    return update.codec.seal(key + "\n".join(known).encode("utf-8", "surrogatepass"))


def _seal(update: IndexUpdate, key: bytes, found: ManifestSet) -> bytes:
    return update.codec.seal(msgspec.json.encode((key, *found[:3])))


def _sealed(update: IndexUpdate, key: bytes) -> ManifestSet | None:
    """Return the stored set of files, or None if it is absent or damaged."""
    found = update.index.load_set(key)
    return found if found is not None and found.seal == _seal(update, key, found) else None
