"""What is needed comes first and goes last; circles and dead ends are told with their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import Location
from holdfast.model.address import Address
from holdfast.model.resource import Declaration
from holdfast.policy import dependency_graph
from holdfast.policy.references import ReferenceTarget
from tests import counting


def address(name):
    return Address("c", "K", name)


def declaration(name, *needs, explicit="", line=1):
    return Declaration(
        address(name),
        "p",
        "p.holdfast.dev/v1",
        {f"f{index}": f"${{{need}.id}}" for index, need in enumerate(needs)},
        annotations={dependency_graph.DEPENDS_ON: explicit} if explicit else {},
        location=Location(f"{name}.yaml", line),
        places={f"/spec/resource/f{index}": line + index for index in range(len(needs))},
    )


def named(layers):
    return [[item.name for item in layer] for layer in layers]


def test_layers_of_some_are_those_of_all_without_the_others():
    declared = [declaration("server", "port"), declaration("port", "net"), declaration("net"), declaration("key")]
    found, errors = dependency_graph.build(declared)
    assert not errors
    assert named(dependency_graph.layers(found, {address("server"), address("net")})) == [["net"], [], ["server"]]
    assert named(dependency_graph.layers(found, {address("key"), address("stranger")})) == [["key"]]
    everything = set(found.addresses)
    assert dependency_graph.layers(found, everything) == dependency_graph.layers(found)


def test_layers_go_from_what_is_needed_to_who_needs():
    found, errors = dependency_graph.build(
        [declaration("server", "port", "key"), declaration("port", "net"), declaration("net"), declaration("key")]
    )
    assert errors == []
    assert named(dependency_graph.layers(found)) == [["key", "net"], ["port"], ["server"]]
    assert named(dependency_graph.deletion_layers(found)) == [["server"], ["port"], ["key", "net"]]
    assert found.bindings[address("port")] == {"net.id": ReferenceTarget(address("net"), (), is_id=True)}
    assert found.needed_by([address("port")]) == {address("port"), address("net")}
    assert found.dependents()[address("net")] == (address("port"),)
    assert found.dependencies(address("server")) == (address("key"), address("port"))


def test_an_explicit_dependency_counts_like_a_reference():
    found, errors = dependency_graph.build(
        [declaration("a", explicit="K/b, c/K/c"), declaration("b"), declaration("c")]
    )
    assert errors == []
    assert named(dependency_graph.layers(found)) == [["b", "c"], ["a"]]


def test_what_only_the_store_knows_may_be_referred_to_and_is_not_ordered():
    found, errors = dependency_graph.build([declaration("a", "old")], [address("old")])
    assert errors == []
    assert named(dependency_graph.layers(found)) == [["a"]]
    assert found.dependencies(address("a")) == (address("old"),)


def test_dead_ends_are_told_with_place_and_guess():
    _, errors = dependency_graph.build(
        [declaration("a", "b", "cor", explicit="xyz", line=5), declaration("core"), declaration("b")]
    )
    assert [(str(error.location), error.message) for error in errors] == [
        ("a.yaml:6 (/spec/resource/f1)", "${cor.id}: there is no resource cor; did you mean core?"),
        ("a.yaml:5 (/metadata/annotations/holdfast.dev~1depends-on)", "depends on xyz: there is no resource xyz"),
    ]


def test_a_circle_is_named_whole_with_the_place_of_every_step():
    found, (error,) = dependency_graph.build(
        [
            declaration("c", "a", line=9),
            declaration("a", "b"),
            declaration("b", "c"),
            declaration("d", "a"),
            declaration("e"),
        ]
    )
    assert error.message == (
        "these resources need one another: c/K/a -> c/K/b -> c/K/c -> c/K/a "
        "(a needs b in a.yaml:1; b needs c in b.yaml:1; c needs a in c.yaml:9); break the circle"
    )
    assert error.location == Location("a.yaml", 1, field="/spec/resource/f0")
    with pytest.raises(ValueError, match="cycle"):
        dependency_graph.layers(found)


def test_a_resource_that_needs_itself_is_a_circle():
    _, (error,) = dependency_graph.build([declaration("a", "a")])
    assert error.message.startswith("these resources need one another: c/K/a -> c/K/a (a needs a in a.yaml:1)")


def test_two_circles_are_both_told():
    _, errors = dependency_graph.build(
        [declaration("a", "b"), declaration("b", "a"), declaration("x", "y", "a"), declaration("y", "x")]
    )
    assert len(errors) == 2


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20)


def fleet(pairs):
    needs = {str(index): sorted({str(target) for source, target in pairs if source == index}) for index in range(10)}
    return [declaration(name, *wanted) for name, wanted in needs.items()]


@given(edges.map(lambda pairs: [(max(pair), min(pair)) for pair in pairs if pair[0] != pair[1]]))
def test_every_edge_is_respected_both_ways(pairs):
    found, errors = dependency_graph.build(fleet(pairs))
    assert errors == []
    for layers, step in ((dependency_graph.layers(found), 1), (dependency_graph.deletion_layers(found), -1)):
        at = {item.name: number for number, layer in enumerate(layers) for item in layer}
        assert len(at) == 10
        for source, target in pairs:
            assert (at[str(source)] - at[str(target)]) * step > 0


@given(edges)
def test_a_circle_is_told_exactly_if_there_is_one(pairs):
    found, errors = dependency_graph.build(fleet(pairs))
    if not errors:
        assert sum(map(len, dependency_graph.layers(found))) == 10
    for cycle in dependency_graph.cycles(found):
        assert [edge.target for edge in cycle] == [edge.source for edge in (*cycle[1:], cycle[0])]
        assert all((int(edge.source.name), int(edge.target.name)) in pairs for edge in cycle)
    if errors:
        with pytest.raises(ValueError, match="cycle"):
            dependency_graph.layers(found)


@given(edges.flatmap(lambda pairs: st.tuples(st.just(fleet(pairs)), st.permutations(fleet(pairs)))))
def test_the_order_of_declarations_does_not_matter(two):
    (one, errors), (other, others) = dependency_graph.build(two[0]), dependency_graph.build(two[1])
    assert one == other
    assert list(map(str, errors)) == list(map(str, others))
    if not errors:
        assert dependency_graph.layers(one) == dependency_graph.layers(other)


def chain(length: int):
    return [declaration(f"n{i}", *([f"n{i - 1}"] if i else [])) for i in range(length)]


def ring(length: int):
    return [declaration(f"n{i}", f"n{(i + 1) % length}") for i in range(length)]


def test_a_chain_of_twenty_thousand_does_not_take_the_stack():
    found, errors = dependency_graph.build(chain(20_000))
    assert errors == []
    assert len(dependency_graph.layers(found)) == 20_000
    assert len(dependency_graph.build(ring(3000))[1]) == 1


@pytest.mark.parametrize("shape", [chain, ring])
def test_the_work_grows_with_the_number_of_declarations_and_not_with_its_square(shape):
    def work(length: int) -> int:
        declarations = shape(length)
        return counting.calls(lambda: dependency_graph.build(declarations))

    assert work(1600) < 3 * work(800)
