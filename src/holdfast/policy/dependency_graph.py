"""The order of resources: dependencies are created before a resource and deleted after it.

The resources of one layer can be handled in parallel, because all dependencies of a resource are in earlier layers. The
order depends on the declarations only, never on the order of files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from holdfast.errors import InputError, Location
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.policy import references as refs
from holdfast.policy import source_location
from holdfast.policy.references import Names, ReferenceTarget

DEPENDS_ON: Final = "holdfast.dev/depends-on"  # annotation; addresses with commas between


@dataclass(frozen=True, slots=True)
class Edge:
    """One resource needs another, and this is where it says so."""

    source: Address
    target: Address
    location: Location = field(compare=False)


@dataclass(frozen=True, slots=True)
class Graph:
    """The dependencies of resources, and the meaning of each reference."""

    addresses: Sequence[Address] = ()
    edges: Mapping[Address, tuple[Edge, ...]] = field(default_factory=dict)  # by the one that needs
    bindings: Mapping[Address, Mapping[str, ReferenceTarget]] = field(default_factory=dict)

    def dependencies(self, address: Address) -> tuple[Address, ...]:
        """Return the direct dependencies of a resource in order, including resources that only the store knows."""
        edges = self.edges.get(address)
        return tuple(sorted({edge.target for edge in edges}, key=str)) if edges else ()

    def needed_by(self, addresses: Iterable[Address]) -> set[Address]:
        """Return the addresses with all direct and indirect dependencies, which `--target` includes."""
        seen: set[Address] = set()
        pending = list(addresses)
        while pending:
            address = pending.pop()
            if address not in seen:
                seen.add(address)
                pending.extend(edge.target for edge in self.edges.get(address, ()))
        return seen

    def needing(self, addresses: Iterable[Address]) -> set[Address]:
        """Return the addresses with all direct and indirect dependents, which must be deleted with them."""
        dependents = self.dependents()
        seen: set[Address] = set()
        pending = list(addresses)
        while pending:
            address = pending.pop()
            if address not in seen:
                seen.add(address)
                pending.extend(dependents.get(address, ()))
        return seen

    def dependents(self) -> dict[Address, tuple[Address, ...]]:
        """Return the direct dependents of each resource: they are checked again when it gets a new id."""
        out: dict[Address, set[Address]] = {}
        for address, edges in self.edges.items():
            for edge in edges:
                out.setdefault(edge.target, set()).add(address)
        return {target: tuple(sorted(sources, key=str)) for target, sources in out.items()}


def build(declarations: Sequence[Declaration], known: Iterable[Address] = ()) -> tuple[Graph, list[InputError]]:
    """Bind every reference and explicit dependency; return the graph and everything that is wrong, cycles included.

    `known` are resources that are not among the declarations but may be referred to, such as those in the store.
    """
    names: Names | None = None
    errors: list[InputError] = []
    edges: dict[Address, tuple[Edge, ...]] = {}
    bindings: dict[Address, dict[str, ReferenceTarget]] = {}
    for declaration in sorted(declarations, key=lambda each: str(each.address)):
        found, malformed = refs.find(declaration)
        errors += malformed
        if not found and DEPENDS_ON not in declaration.annotations:
            continue
        if names is None:  # most fleets have few references; the index is made for the first
            types = {item.address: item.type for item in declarations if item.type is not None and "/" not in item.type}
            names = Names([*(item.address for item in declarations), *known], types)
        bindings[declaration.address], edges[declaration.address] = bind(declaration, found, names, errors)
    graph = Graph(tuple(sorted((item.address for item in declarations), key=str)), edges, bindings)
    errors += [_cycle_error(cycle) for cycle in cycles(graph)]
    return graph, errors


def bind(
    declaration: Declaration, found: Iterable[refs.Reference], names: Names, errors: list[InputError]
) -> tuple[dict[str, ReferenceTarget], tuple[Edge, ...]]:
    """Return the meanings of a declaration's references, and its edges; mistakes are added to the errors."""
    binder = _Binder(declaration, names, errors)
    return binder.bind(found), (*binder.edges, *binder.explicit())


class _Binder:
    """Finds the targets of the references of one declaration."""

    def __init__(self, declaration: Declaration, names: Names, errors: list[InputError]) -> None:
        self._declaration = declaration
        self._names = names
        self._errors = errors
        self.edges: list[Edge] = []

    def bind(self, found: Iterable[refs.Reference]) -> dict[str, ReferenceTarget]:
        out: dict[str, ReferenceTarget] = {}
        own = self._declaration.address
        for reference in found:
            location = source_location.desired(self._declaration, reference.pointer)
            try:
                bound = self._names.field(reference.text, own)
            except InputError as error:
                self._errors.append(InputError(f"${{{reference.text}}}: {error.message}", location))
                continue
            out[reference.text] = bound
            self.edges.append(Edge(own, bound.address, location))
        return out

    def explicit(self) -> Iterator[Edge]:
        own = self._declaration.address
        entries = [text.strip() for text in self._declaration.annotations.get(DEPENDS_ON, "").split(",")]
        for index, name in enumerate(entries):
            if not name:
                continue
            location = self._explicit_place(index)
            try:
                yield Edge(own, self._names.address(name, own), location)
            except InputError as error:
                self._errors.append(InputError(f"depends on {name}: {error.message}", location))

    def _explicit_place(self, index: int) -> Location:
        listed = ("spec", "dependsOn", index)
        if f"/spec/dependsOn/{index}" in self._declaration.places:
            return source_location.declared(self._declaration, listed)
        return source_location.declared(self._declaration, ("metadata", "annotations", DEPENDS_ON))


def layers(graph: Graph, wanted: Collection[Address] | None = None) -> list[list[Address]]:
    """Return the order of creating and updating; raise ValueError if there is a cycle (`build` has reported it).

    With `wanted` it has only these, in the order of the whole graph. Resources that they do not need are not visited.
    """
    if wanted is None:
        return layers_of({address: graph.dependencies(address) for address in graph.addresses})
    reached = graph.needed_by(wanted).intersection(graph.addresses)
    whole = layers_of({address: graph.dependencies(address) for address in reached})
    return [[address for address in layer if address in wanted] for layer in whole]


@dataclass(frozen=True, slots=True)
class Group:
    """Resources of one layer that need the same connections, and the groups that must be done before it."""

    addresses: tuple[Address, ...]
    needs: frozenset[int]  # places of groups


def groups(graph: Graph, wanted: Collection[Address] | None = None) -> list[Group]:
    """Split the layers by the connections that resources need, directly or indirectly.

    A resource waits for the groups of its dependencies and for nothing else, so a connection that hangs delays only its
    own resources and their dependents.
    """
    reached: dict[Address, frozenset[str]] = {}
    place_of: dict[Address, int] = {}
    out: list[Group] = []
    for layer in layers(graph, wanted):
        parts: dict[frozenset[str], list[Address]] = {}
        for address in layer:
            needs = [need for need in graph.dependencies(address) if need in reached]
            reached[address] = frozenset({address.connection}).union(*(reached[need] for need in needs))
            parts.setdefault(reached[address], []).append(address)
        for part in parts.values():
            needed = {place_of[need] for item in part for need in graph.dependencies(item) if need in place_of}
            place_of |= dict.fromkeys(part, len(out))
            out.append(Group(tuple(part), frozenset(needed)))
    return out


def deletion_layers(graph: Graph) -> list[list[Address]]:
    """Return the order of deletion: a resource is deleted before its dependencies."""
    return layers(graph)[::-1]


def layers_of(dependencies: Mapping[Address, Iterable[Address]]) -> list[list[Address]]:
    """Return the layers of resources with their dependencies. Dependencies that are not among them do not count."""
    waiting = {address: len(_inside(needs, dependencies)) for address, needs in dependencies.items()}
    dependents: dict[Address, list[Address]] = {}
    for address, needs in dependencies.items():
        for need in _inside(needs, dependencies):
            dependents.setdefault(need, []).append(address)
    out: list[list[Address]] = []
    layer = sorted((address for address, count in waiting.items() if count == 0), key=str)
    while layer:
        out.append(layer)
        following = []
        for address in layer:
            for dependent in dependents.get(address, ()):
                waiting[dependent] -= 1
                if waiting[dependent] == 0:
                    following.append(dependent)
        layer = sorted(following, key=str)
    if sum(map(len, out)) != len(dependencies):
        raise ValueError("there is a cycle among the dependencies")
    return out


def _inside(needs: Iterable[Address], dependencies: Mapping[Address, object]) -> set[Address]:
    return {need for need in needs if need in dependencies}


def cycles(graph: Graph) -> list[tuple[Edge, ...]]:
    """Return cycles, no two with a resource in common, each beginning at its first resource; enough to break them."""
    remaining = {address: list(edges) for address, edges in graph.edges.items()}
    out: list[tuple[Edge, ...]] = []
    _trim(remaining)
    starts = sorted(remaining, key=str)
    for start in starts:
        if start in remaining:
            cycle = _walk(start, remaining)
            out.append(cycle)
            for edge in cycle:
                del remaining[edge.source]
            _trim(remaining)
    return out


def _trim(remaining: dict[Address, list[Edge]]) -> None:
    """Remove resources without remaining dependencies until none is found. The rest leads into a cycle."""
    dependents: dict[Address, set[Address]] = {}
    open_edges: dict[Address, int] = {}
    for address, edges in remaining.items():
        targets = {edge.target for edge in edges if edge.target in remaining}
        open_edges[address] = len(targets)
        for target in targets:
            dependents.setdefault(target, set()).add(address)
    done = [address for address, count in open_edges.items() if count == 0]
    while done:
        address = done.pop()
        del remaining[address]
        for dependent in dependents.get(address, ()):
            open_edges[dependent] -= 1
            if open_edges[dependent] == 0:
                done.append(dependent)


def _walk(start: Address, remaining: Mapping[Address, Sequence[Edge]]) -> tuple[Edge, ...]:
    """Follow the first edge from each resource until one comes round again."""
    trail: list[Edge] = []
    visited: dict[Address, int] = {}
    here = start
    while here not in visited:
        visited[here] = len(trail)
        edge = min((item for item in remaining[here] if item.target in remaining), key=lambda each: str(each.target))
        trail.append(edge)
        here = edge.target
    cycle = trail[visited[here] :]
    first = min(range(len(cycle)), key=lambda index: str(cycle[index].source))
    return (*cycle[first:], *cycle[:first])


def _cycle_error(cycle: Sequence[Edge]) -> InputError:
    trail = " -> ".join(str(address) for address in (*(edge.source for edge in cycle), cycle[0].source))
    where = "; ".join(
        f"{edge.source.name} needs {edge.target.name} in {source_location.text(edge.location)}" for edge in cycle
    )
    return InputError(f"these resources need one another: {trail} ({where}); break the circle", cycle[0].location)
