"""Bringing the manifest index up to date with the files of a run.

A file with a trusted status is not opened. A file with the same content is not parsed. Any other file is read,
validated and indexed. Whatever is wrong anywhere raises `NotIndexed`: the manifests are then read without the index,
which names every mistake.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from holdfast.app.sources import file_parts, file_status, front_end_version
from holdfast.app.sources.entries import DamagedEntry, EntryCodec, FilePart
from holdfast.errors import HoldfastError
from holdfast.manifests import file_discovery, loader, provider_validation
from holdfast.manifests.file_discovery import Source
from holdfast.manifests.loader import DocumentOrigin, FileReading
from holdfast.manifests.project import ProjectFile
from holdfast.manifests.resources import Surroundings
from holdfast.providers import registry
from holdfast.store.manifest_index import EntryRow, ManifestRow
from holdfast.store.sqlite.manifest_index import SqliteManifestIndex

WRITTEN_TOGETHER: Final = 1000  # entries in one transaction, so that no other process waits long
_PASSED: Final = "passed"  # no manifest, unless it is named
_FOUND: Final = "found"  # documents of other programs were left out, because it was not named
_NAMED: Final = "named"  # would be passed over, if it was not named
_ANY: Final = "any"  # read in the same way whether it is named or not


class NotIndexed(Exception):  # noqa: N818 - not an error
    """The manifests cannot be used by the index now."""


class IndexedFile(NamedTuple):
    """A file of the run with its row."""

    source: Source
    row: ManifestRow


@dataclass(slots=True)
class IndexUpdate:
    """One pass over the files of a run."""

    index: SqliteManifestIndex
    codec: EntryCodec
    project: ProjectFile
    now: Callable[[], float]
    version: bytes = b""
    around: Surroundings = field(default_factory=Surroundings)
    files: list[IndexedFile] = field(default_factory=list)
    _pending: list[tuple[Source, ManifestRow, list[EntryRow]]] = field(default_factory=list)
    _bodies: list[tuple[str, str, bytes]] = field(default_factory=list)
    _touched: list[tuple[int, str, float]] = field(default_factory=list)

    def run(self, sources: Sequence[Source]) -> None:
        """Bring the rows of all sources up to date and choose them; raise NotIndexed or StoreError."""
        self.version = front_end_version.of(self.project)
        self.around = Surroundings(self.project.connections, self.project.default_connection)
        rows = self.index.files([source.key for source in sources])
        is_changed = False
        for source in sources:
            if source.path is None:
                raise NotIndexed  # standard input is read once
            row = rows.get(source.key)
            kept = self._trusted(source, row)
            if kept is not None:
                self.files.append(IndexedFile(source, kept))
                continue
            is_changed = True
            self._read(source, row)
        self._flush()
        if self._touched:
            self.index.touch(self._touched)
        if is_changed:
            paths = {source.key for source in sources}
            self.index.forget([row.id for path, row in rows.items() if path not in paths and not os.path.lexists(path)])
        self.index.choose((file.row.id, file.source.name, file.source.key) for file in self.files)

    def _trusted(self, source: Source, row: ManifestRow | None) -> ManifestRow | None:
        """Return the row of a file whose status proves that it was not edited."""
        if row is None or not self._is_usable(source, row):
            return None
        try:
            status = file_status.of(os.stat(source.path or ""))  # noqa: PTH116 - of every file of a fleet
        except OSError:
            return None
        return row if file_status.is_trusted(status, row.status, row.indexed_at, self.now()) else None

    def _is_usable(self, source: Source, row: ManifestRow) -> bool:
        how, _, suffix = row.form.partition(":")
        forms = (_ANY, _NAMED) if source.was_named else (_ANY, _FOUND, _PASSED)
        return row.version == self.version and how in forms and suffix == _suffix(source.name)

    def _read(self, source: Source, row: ManifestRow | None) -> None:
        """Read a file; index it if its content is new."""
        began = self.now()
        try:
            text = file_status.read(source)
            status = text.status.text if text.status is not None else ""
            digest = self.codec.seal(text.data)
            if row is not None and self._is_usable(source, row) and row.digest == digest:
                self.files.append(IndexedFile(source, row))
                self._touched.append((row.id, status, began))
                return
            reading = loader.read_file(source, text.data, self.around)
            is_json = loader.is_json(source.name, text.data)
            part_of = file_parts.locator(text.data, reading.begins, self.codec, is_json=is_json)
            entries = self._entries(source, reading, part_of)
        except (HoldfastError, ValueError, TypeError, OverflowError) as error:
            raise NotIndexed from error
        how = _PASSED if reading.is_passed_over else _FOUND if reading.has_foreign else _ANY
        if source.was_named and not file_discovery.may_be_manifest(text.data):
            how = _NAMED
        others = self.codec.parts([part_of(origin) for origin in reading.others]) if reading.others else b""
        form = f"{how}:{_suffix(source.name)}"
        new = ManifestRow(0, source.key, status, digest, self.version, began, form, len(entries), others)
        self._pending.append((source, new, entries))
        if sum(len(rows) for _, _, rows in self._pending) >= WRITTEN_TOGETHER or len(self._pending) >= WRITTEN_TOGETHER:
            self._flush()

    def _entries(
        self, source: Source, reading: FileReading, part_of: Callable[[DocumentOrigin], FilePart]
    ) -> list[EntryRow]:
        if reading.errors:
            raise NotIndexed
        rows: dict[str, EntryRow] = {}
        plain = [declaration for declaration, _ in reading.plain]
        examined = provider_validation.examine(plain, self.project.connections, registry.get)
        for (_, origin), (declaration, wrong, identity) in zip(reading.plain, examined, strict=True):
            meant = None if identity is None else "\0".join(identity)
            row = self.codec.row(declaration, part_of(origin), source.key, meant)
            if wrong or row.address in rows:
                raise NotIndexed
            rows[row.address] = row
            body = self.codec.body(declaration)
            if body is not None:
                self._bodies.append(body)
        return list(rows.values())

    def _flush(self) -> None:
        if self._pending:
            ids = self.index.write([(row, entries) for _, row, entries in self._pending], self.now())
            for number, (source, row, _) in zip(ids, self._pending, strict=True):
                self.files.append(IndexedFile(source, row._replace(id=number)))
        if self._bodies:
            self.index.hold_bodies(self._bodies)
        self._pending, self._bodies = [], []

    def others(self, reader: file_parts.PartReader) -> list[FileReading]:
        """Read the documents that are no plain declarations, such as strategies; raise NotIndexed if one is wrong."""
        readings = []
        for source, row in self.files:
            if not row.others:
                continue
            reading = FileReading()
            try:
                for part in self.codec.read_parts(row.others):
                    document = reader.read(source.key, source.name, part)
                    loader.read_document(DocumentOrigin(document, part.item), self.around, reading)
            except (HoldfastError, DamagedEntry, ValueError, IndexError) as error:
                raise NotIndexed from error
            if reading.errors:
                raise NotIndexed
            readings.append(reading)
        return readings


def _suffix(name: str) -> str:
    """Return the suffix that says how a file is read; other names are guessed from the content."""
    lower = name.lower()
    return next((suffix for suffix in file_discovery.SUFFIXES if lower.endswith(suffix)), "")
