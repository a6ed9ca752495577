"""Dependencies among the declarations of the manifest index, without their documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar, overload

import msgspec

from holdfast.app.sources.entries import DeclarationEntry
from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.address import Address
from holdfast.policy import dependency_graph
from holdfast.policy.dependency_graph import Edge, Graph
from holdfast.policy.references import Names, ReferenceTarget
from holdfast.store.sqlite.manifest_index import SqliteManifestIndex

Value = TypeVar("Value")


class Binding(msgspec.Struct, array_like=True, frozen=True):
    """The targets of the references of one declaration, and its dependencies."""

    fields: list[tuple[str, str, str, bool]]  # text, address, path, is_id
    needs: list[str]


_DECODER: Final = msgspec.json.Decoder(Binding)


def build(entries: Sequence[DeclarationEntry], addresses: Iterable[Address], types: Mapping[Address, str]) -> Graph:
    """Bind the references of entries to addresses; raise InputError for anything that is wrong."""
    errors: list[InputError] = []
    names = Names(addresses, types)
    edges, bindings = {}, {}
    for entry in entries:
        references = entry.links.references() if entry.links is not None else []
        bindings[entry.address], edges[entry.address] = dependency_graph.bind(entry.stub(), references, names, errors)
    graph = Graph((), edges, bindings)
    if errors or dependency_graph.cycles(graph):
        raise InputError("references lead nowhere or in a circle")
    return graph


def encode(graph: Graph) -> list[tuple[str, bytes]]:
    """Return the bindings of a graph by address; raise ValueError for a path that its text does not give back."""
    rows = []
    for address, fields in graph.bindings.items():
        written = []
        for text, field in fields.items():
            path = paths.format_path(field.path)
            if paths.parse_path(path) != field.path:
                raise ValueError(path)
            written.append((text, str(field.address), path, field.is_id))
        needs = [str(edge.target) for edge in graph.edges[address]]
        rows.append((str(address), msgspec.json.encode(Binding(written, needs))))
    return rows


class _Lookup(Mapping[Address, Value], Generic[Value]):
    """Values by address, each decoded when it is first asked for."""

    def __init__(self, graph: StoredGraph) -> None:
        self._graph = graph

    def _value(self, address: Address, binding: Binding) -> Value:
        raise NotImplementedError

    def __getitem__(self, address: Address) -> Value:
        binding = self._graph.binding(address)
        if binding is None:
            raise KeyError(address)
        return self._value(address, binding)

    def get(self, address: Address, default: Value | None = None) -> Value | None:  # type: ignore[override]
        """Return the value of an address."""
        binding = self._graph.binding(address)
        return default if binding is None else self._value(address, binding)

    def __iter__(self) -> Iterator[Address]:
        return iter(self._graph.load_all())

    def __len__(self) -> int:
        return self._graph.linked


class _Edges(_Lookup[tuple[Edge, ...]]):
    def _value(self, address: Address, binding: Binding) -> tuple[Edge, ...]:
        return tuple(Edge(address, Address.parse(text), Location()) for text in binding.needs)


class _Bindings(_Lookup[Mapping[str, ReferenceTarget]]):
    def _value(self, address: Address, binding: Binding) -> Mapping[str, ReferenceTarget]:  # noqa: ARG002
        return {
            text: ReferenceTarget(Address.parse(target), paths.parse_path(path), is_id)
            for text, target, path, is_id in binding.fields
        }


class StoredGraph:
    """The graph of a set of files, in the index."""

    def __init__(self, index: SqliteManifestIndex, key: bytes, linked: int) -> None:
        self._index = index
        self._key = key
        self.linked = linked
        self._known: dict[Address, Binding | None] = {}
        self._has_all = False

    def graph(self) -> Graph:
        """Return the graph. Its parts are read when they are needed."""
        return Graph(StoredAddresses(self._index), _Edges(self), _Bindings(self))

    def binding(self, address: Address) -> Binding | None:
        """Return the targets of the references of a declaration, or None if it has none."""
        if not self.linked or self._has_all:
            return self._known.get(address)
        if address not in self._known:
            found = self._index.bindings(self._key, [str(address)])
            self._known[address] = _DECODER.decode(found[0][1]) if found else None
            if len(self._known) > 1000:  # a flow over the whole fleet
                self.load_all()
        return self._known.get(address)

    def load_all(self) -> dict[Address, Binding]:
        """Read everything and return it by address."""
        if self.linked and not self._has_all:
            rows = self._index.bindings(self._key, None)
            self._known = {Address.parse(text): _DECODER.decode(body) for text, body in rows}
        self._has_all = True
        return {address: binding for address, binding in self._known.items() if binding is not None}


class StoredAddresses(Sequence[Address]):
    """All declared addresses in order, read when they are first needed."""

    def __init__(self, index: SqliteManifestIndex) -> None:
        self._index = index
        self._read: tuple[Address, ...] | None = None

    def _all(self) -> tuple[Address, ...]:
        if self._read is None:
            self._read = tuple(map(Address.parse, self._index.addresses()))
        return self._read

    @overload
    def __getitem__(self, position: int) -> Address: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Address, ...]: ...
    def __getitem__(self, position: int | slice) -> Address | tuple[Address, ...]:
        return self._all()[position]

    def __iter__(self) -> Iterator[Address]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, address: object) -> bool:
        return address in self._all()
