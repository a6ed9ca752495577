"""Declarations as the manifest index holds them: their encoding and decoding."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import orjson

from holdfast.compare import quick_scan
from holdfast.errors import Location, UnhashableError
from holdfast.manifests.secrets import SECRET_REF
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration, Import, ManagementPolicy
from holdfast.policy import dependency_graph, references, source_location
from holdfast.policy.references import Reference
from holdfast.store import blobs
from holdfast.store.manifest_index import EntryRow, FoundEntry

SEAL_BYTES: Final = 16
PACK_AT: Final = 1024  # bytes of a document; a shorter one is read in less time than it takes to unpack it


class FilePart(msgspec.Struct, array_like=True, frozen=True):
    """The part of a file that holds a document."""

    offset: int
    length: int
    line: int  # in which it begins
    item: int  # the position of the document among those of the part
    is_json: bool
    seal: bytes  # keyed, of the text


class DeclarationHead(msgspec.Struct, array_like=True, frozen=True):
    """A declaration without its document."""

    provider: str
    api_version: str
    line: int | None
    labels: dict[str, str]
    policy: ManagementPolicy
    options: dict[str, Any]
    type: str | None
    import_id: str | None
    depends_on: str
    is_whole: bool  # head and document are all of it
    part: FilePart


class Links(msgspec.Struct, array_like=True, frozen=True):
    """The references of a declaration, and the lines of them and of explicit dependencies."""

    found: list[tuple[str, list[str | int]]]
    places: dict[str, int]

    def references(self) -> list[Reference]:
        """Return the references as they were found in the document."""
        return [Reference(text, tuple(pointer)) for text, pointer in self.found]


_HEAD = msgspec.json.Decoder(DeclarationHead)
_LINKS = msgspec.json.Decoder(Links)
_PARTS = msgspec.json.Decoder(list[FilePart])
_dumps = msgspec.json.encode


class DamagedEntry(Exception):  # noqa: N818 - handled beside the place where it is raised
    """A row of the index that is not as it was written."""


@dataclass(frozen=True, slots=True)
class DeclarationEntry:
    """A declaration of the index; its document is read when it is needed."""

    address: Address
    file: str
    path: str
    head: DeclarationHead
    links: Links | None
    document: str | None  # the digest of the document, if the body is there
    body: bytes | None

    def stub(self) -> Declaration:
        """Return the declaration without its document, with the lines of its references."""
        return self.declaration({}, self.links.places if self.links is not None else {})

    def declaration(self, desired: Mapping[str, Json], places: Mapping[str, int]) -> Declaration:
        """Return the declaration with its document."""
        head = self.head
        return Declaration(
            self.address,
            head.provider,
            head.api_version,
            desired,
            head.labels,
            {dependency_graph.DEPENDS_ON: head.depends_on} if head.depends_on else {},
            head.policy,
            head.options,
            Import(head.import_id) if head.import_id is not None else None,
            head.type,
            Location(self.file, head.line),
            places,
        )


@dataclass(frozen=True, slots=True)
class EntryCodec:
    """Writes and reads rows of the index with seals that only this store makes."""

    key: bytes

    def seal(self, data: bytes) -> bytes:
        """Return the keyed digest of a text."""
        return hashlib.blake2b(data, digest_size=SEAL_BYTES, key=self.key).digest()

    def row(self, declaration: Declaration, part: FilePart, path: str, identity: str | None) -> EntryRow:
        """Return the row of a declaration."""
        wanted, annotations = declaration.import_from, declaration.annotations
        desired = dict(declaration.desired)
        head = DeclarationHead(
            declaration.provider,
            declaration.api_version,
            declaration.location.line,
            dict(declaration.labels),
            declaration.policy,
            dict(declaration.options),
            declaration.type,
            wanted.id if wanted is not None else None,
            annotations.get(dependency_graph.DEPENDS_ON, ""),
            not annotations.keys() - {dependency_graph.DEPENDS_ON} and (wanted is None or wanted.id is not None),
            part,
        )
        links = _links_of(declaration)
        address = str(declaration.address)
        row = EntryRow(
            address,
            declaration.address.name,
            self.seal(identity.encode("utf-8", "surrogatepass")) if identity is not None else None,
            quick_scan.may_mention(desired, SECRET_REF),
            _dumps(head),
            _dumps(links) if links is not None else None,
            b"",
        )
        return row._replace(seal=self._seal_of(row, path))

    def _seal_of(self, row: EntryRow, path: str) -> bytes:
        address, name, identity, has_secrets, head, links, _ = row
        return self.seal(_dumps((address, name, identity, int(has_secrets), head, links, path)))

    def entry(self, found: FoundEntry) -> DeclarationEntry:
        """Return the entry of a row; raise DamagedEntry if it is not as it was written."""
        row = found.row
        if self._seal_of(row, found.path) != row.seal:
            raise DamagedEntry(row.address)
        return DeclarationEntry(
            Address.parse(row.address),
            found.file,
            found.path,
            _HEAD.decode(row.head),
            _LINKS.decode(row.links) if row.links is not None else None,
            found.document,
            found.body,
        )

    def body(self, declaration: Declaration) -> tuple[str, str, bytes] | None:
        """Return address, digest and sealed body of a document; None for one that JSON cannot hold."""
        try:
            written = orjson.dumps(dict(declaration.desired))
            digest, _ = blobs.digest_of(dict(declaration.desired))
        except (TypeError, orjson.JSONEncodeError, UnhashableError, UnicodeError):
            return None
        address = str(declaration.address)
        return address, digest, self.seal(_dumps((address, digest, written))) + blobs.pack(written, PACK_AT)

    def desired(self, entry: DeclarationEntry) -> dict[str, Json] | None:
        """Return the document in the body of an entry; None if there is none, or a damaged one."""
        if entry.body is None or entry.document is None or not entry.head.is_whole:
            return None
        try:
            written = blobs.unpack(entry.body[SEAL_BYTES:])
            seal = self.seal(_dumps((str(entry.address), entry.document, written)))
            value = orjson.loads(written) if seal == entry.body[:SEAL_BYTES] else None
        except (ValueError, TypeError, blobs.Damaged):
            return None
        return value if isinstance(value, dict) else None

    def parts(self, parts: list[FilePart]) -> bytes:
        """Return the text of several parts, sealed."""
        text = _dumps(parts)
        return self.seal(text) + text

    def read_parts(self, text: bytes) -> list[FilePart]:
        """Return the parts of a text; raise DamagedEntry if it is not as it was written."""
        if self.seal(text[SEAL_BYTES:]) != text[:SEAL_BYTES]:
            raise DamagedEntry
        return _PARTS.decode(text[SEAL_BYTES:])


def _links_of(declaration: Declaration) -> Links | None:
    """Return the references of a declaration and their lines; None if it refers to nothing."""
    found, _ = references.find(declaration)
    needs = dependency_graph.DEPENDS_ON in declaration.annotations
    if not found and not needs:
        return None
    return Links(
        [(reference.text, list(reference.pointer)) for reference in found],
        dict(_places(declaration, found)),
    )


def _places(declaration: Declaration, found: list[Reference]) -> Iterator[tuple[str, int]]:
    wanted: list[tuple[str | int, ...]] = [("spec", "resource", *reference.pointer) for reference in found]
    wanted.append(("metadata", "annotations", dependency_graph.DEPENDS_ON))
    for path in wanted:
        location = source_location.declared(declaration, path)
        if location.field is not None and location.line is not None:
            yield location.field, location.line
    for path_text, line in declaration.places.items():
        if path_text.startswith("/spec/dependsOn/"):
            yield path_text, line
