"""Every interleaving of edits, reads, writes, crashes, spawns and changes of the binary, for the code that ships.

The checker drives `regimes` itself and compares with an oracle that is told what happened, not what was stored. What it
proves is the order of the writes, the crash points and the storage; that the rule is the right rule is a choice.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cache

import pytest

from holdfast.compare import hash_schemes
from holdfast.rollouts.core import hash_epochs, template_schemes
from holdfast.rollouts.core.revisions import ChildOrigin, LiveTemplate, ParentRecord
from holdfast.rollouts.core.template_schemes import TemplateScheme

FIELDS = {1: "xg", 2: "xf", 3: "xfg"}  # x is seen by all, f is new in 2, g is dropped in 2 and comes back in 3
UID = "owner"
Bits = tuple[int, int, int]


def content(bits: Bits) -> dict[str, int]:
    return dict(zip("xfg", bits, strict=True))


def seen(version: int, bits: Bits) -> tuple[int, ...]:
    return tuple(content(bits)[name] for name in FIELDS[version])


@cache
def _digest(version: int, bits: Bits) -> str:
    counted = {name: content(bits)[name] for name in FIELDS[version]}
    return hash_schemes.ORDERED.digest(counted)


def bits_of(value) -> Bits:
    return (value["x"], value["f"], value["g"])


def _scheme(version: int) -> TemplateScheme:
    return TemplateScheme(f"t/{version}", lambda value, _schema: _digest(version, bits_of(value)))


SCHEMES = {version: _scheme(version) for version in FIELDS}


def build(version: int, knows_newer: bool):
    """Return what a build knows: every older scheme, and newer ones only where the test says so."""
    return template_schemes.registry(*(s for v, s in SCHEMES.items() if v <= version or knows_newer))


@dataclass(frozen=True)
class Ghost:
    """What happened, for the oracle: the epochs of binaries that have written, and what the last look saw."""

    epochs: tuple[tuple[int, Bits], ...] = ()
    looked: Bits = (0, 0, 0)

    def wrote(self, version: int) -> Ghost:
        if self.epochs and self.epochs[-1][0] == version:
            return self
        return replace(self, epochs=(*self.epochs, (version, self.looked)))


@dataclass(frozen=True)
class World:
    live: Bits
    place: int  # in the sequence of binaries
    record: ParentRecord | None
    children: tuple[tuple[ChildOrigin, Bits, int], ...]  # with what it is made of, and the epoch it was born in
    pending: tuple[hash_epochs.RecordStep, Bits] | None
    edits: int
    spawns: int
    ghost: Ghost

    @property
    def key(self):
        return (
            self.live, self.place, shape(self.record), self.children, self.edits, self.spawns, self.ghost,
            None if self.pending is None else (shape(self.pending[0].record), self.pending[1]),
        )  # fmt: skip


def shape(record: ParentRecord | None):
    if record is None:
        return None
    revisions = tuple((r.ordinal, bits_of(r.content), tuple(sorted(r.digests))) for r in record.revisions)
    return (revisions, record.regimes, record.current)


def wanted(ghost: Ghost, child: tuple[ChildOrigin, Bits, int], live: Bits) -> bool:
    """Return the verdict by what happened."""
    _, birth, born = child

    def rule(epoch: int, bits: Bits) -> bool:
        version, base = ghost.epochs[epoch]
        if seen(version, birth) == seen(version, bits):
            return True
        return born < epoch and seen(version, base) == seen(version, bits) and rule(epoch - 1, base)

    return rule(len(ghost.epochs) - 1, live)


@dataclass(frozen=True)
class Checker:
    binaries: tuple[int, ...]
    knows_newer: bool

    def known(self, world: World):
        return build(self.binaries[world.place], self.knows_newer)

    def scheme(self, world: World) -> int:
        return self.binaries[world.place]

    def first(self, edits: int) -> World:
        """Begin with an owner that was recorded, and two children made from it."""
        known = build(self.binaries[0], self.knows_newer)
        zero = (0, 0, 0)
        record = hash_epochs.settled(None, LiveTemplate(UID, content(zero)), f"t/{self.binaries[0]}", known)
        children = tuple((ChildOrigin(name, UID, 1, 0), zero, 0) for name in ("one", "two"))
        ghost = Ghost(((self.binaries[0], zero),), zero)
        return World(zero, 0, record, children, None, edits, 1, ghost)

    def look(self, world: World) -> World:
        """Read the live template; if there is nothing to write, that is what was looked at."""
        step = hash_epochs.reconcile(
            world.record, LiveTemplate(UID, content(world.live)), f"t/{self.scheme(world)}", self.known(world)
        )
        if step is None:
            return replace(world, pending=None, ghost=replace(world.ghost, looked=world.live))
        return replace(world, pending=(step, world.live))

    def write(self, world: World) -> World:
        """Make the pending write: its content may be older than what is live by now."""
        assert world.pending is not None
        step, bits = world.pending
        assert world.record is not None
        assert step.expected == world.record.version
        ghost = world.ghost.wrote(self.scheme(world))
        if step.change is hash_epochs.RecordChange.RECORD:
            ghost = replace(ghost, looked=bits)
        return replace(world, record=step.record, pending=None, ghost=ghost)

    def spawn(self, world: World) -> World:
        record = world.record
        assert record is not None
        child = ChildOrigin("new", UID, record.current, record.regimes[-1].index)
        made = (child, bits_of(record.latest.content), len(world.ghost.epochs) - 1)
        return replace(world, children=(*world.children, made), spawns=0)

    def moves(self, world: World):
        if world.edits:
            for field in range(3):
                x, f, g = (bit ^ (place == field) for place, bit in enumerate(world.live))
                yield replace(world, live=(x, f, g), edits=world.edits - 1)
        if world.pending is None:
            yield self.look(world)
        else:
            yield self.write(world)
            yield replace(world, pending=None)  # a crash between the read and the write
        if world.spawns:
            yield self.spawn(world)
        if world.place + 1 < len(self.binaries):
            yield replace(world, place=world.place + 1, pending=None)  # stopped anywhere, another one starts

    def faults(self, world: World) -> list[str]:
        """Let everything come to rest, and compare."""
        world = replace(world, pending=None)
        while (world := self.look(world)).pending is not None:
            world = self.write(world)
        assert world.record is not None
        out = []
        for child in world.children:
            verdict = hash_epochs.in_sync(world.record, child[0], self.known(world))
            if verdict is not wanted(world.ghost, child, world.live):
                out.append(f"{child[0].name}: {verdict}")
        return out

    def run(self, edits: int, stop_at: int | None = None) -> tuple[int, int]:
        """Return how many states there are and how many end wrong."""
        start = self.first(edits)
        known = {start.key}
        queue = deque([start])
        wrong = 0
        while queue:
            world = queue.popleft()
            wrong += bool(self.faults(world))
            if stop_at is not None and wrong >= stop_at:
                break
            for after in self.moves(world):
                if (key := after.key) not in known:
                    known.add(key)
                    queue.append(after)
        return len(known), wrong


SEQUENCES = [(1, 2), (2, 1), (1, 3), (1, 2, 3), (3, 2, 1), (1, 2, 1, 2)]


@pytest.mark.parametrize("knows_newer", [True, False], ids=["all-schemes", "rolled-back-builds-know-fewer"])
@pytest.mark.parametrize("binaries", SEQUENCES, ids=lambda each: "-".join(map(str, each)))
def test_no_interleaving_ends_wrong(binaries, knows_newer):
    states, wrong = Checker(binaries, knows_newer).run(edits=3 if len(binaries) == 2 else 2)
    assert wrong == 0
    assert states > 1000


@pytest.mark.slow
@pytest.mark.parametrize("binaries", SEQUENCES[3:], ids=lambda each: "-".join(map(str, each)))
def test_no_interleaving_with_three_edits_ends_wrong(binaries):
    states, wrong = Checker(binaries, knows_newer=False).run(edits=3)
    assert wrong == 0
    assert states > 10_000


def _recorded_by_digest(latest, live, known, scheme_id):
    scheme = known[scheme_id]
    return latest.digests_by(scheme_id, known) == scheme.digests(live.content, live.schema)


MUTANTS = {
    "a: the live template is recorded before the regime begins": (
        "_STEPS",
        (hash_epochs._record, hash_epochs._activate),
    ),
    "b: children born in the regime are excused too": ("_judges", lambda _regime, _born: True),
    "c: a revision is recorded when the digest changes": ("_is_recorded", _recorded_by_digest),
}


@pytest.mark.parametrize("binaries", [(1, 2), (1, 2, 3), (1, 2, 1, 2)], ids=lambda each: "-".join(map(str, each)))
@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_checker_catches_each_of_the_three_broken_variants(monkeypatch, mutant, binaries):
    monkeypatch.setattr(hash_epochs, *MUTANTS[mutant])
    _, wrong = Checker(binaries, knows_newer=True).run(edits=3, stop_at=5)
    assert wrong == 5
