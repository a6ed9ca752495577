"""Quick checks: two hashes show that neither the program nor live state changed a resource, so no full check is needed.

The store keeps the stamp of a deployed object. While the stamp is the same, so is the document made from the object.
Listing a kind returns the digest of each live resource. If stamp and digest are those of the last settled check, the
verdict is the same too. All other resources are prepared, read and compared in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from holdfast.api.object_declarations import ObjectDeclarations
from holdfast.api.workbench import Workbench
from holdfast.compare import verdict_rules
from holdfast.model.address import Address
from holdfast.model.attribution import LikelyActor
from holdfast.model.decision import Decision
from holdfast.model.read_result import ReadFailure
from holdfast.model.resource_spec import Outline, ResourceSpec
from holdfast.model.verdict import Verdict
from holdfast.policy.decide import NOTHING_TO_DO
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile import evaluate
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.observe import LIST_FROM, Observer
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.store import blobs
from holdfast.store.state import ResourceState

R = TypeVar("R", bound=ResourceSpec)

UNMOVED: Final[tuple[Verdict, Decision, tuple[LikelyActor, ...]]] = (verdict_rules.UNCHANGED, NOTHING_TO_DO, ())
"""What is true of whatever a glance suffices for."""

Sketch = tuple[Address, Outline, R]
_Group = tuple[str, str]  # the kind, and the options as a string


async def unmoved(
    bench: Workbench,
    world: Connections,
    draft: ObjectDeclarations,
    sketches: Sequence[Sketch[R]],
    states: Mapping[Address, ResourceState],
) -> set[Address]:
    """Return the resources that a quick check shows unchanged. A kind with only a few resources is not listed."""
    groups: dict[_Group, list[tuple[Sketch[R], ResourceState]]] = {}
    for sketch in sketches:
        address, outline, _ = sketch
        state = states.get(address)
        if state is not None and not outline.refers and state.declared.labels == draft.labels(outline):
            groups.setdefault((outline.kind, repr(outline.options)), []).append((sketch, state))
    found: set[Address] = set()
    for members in groups.values():
        if len(members) >= LIST_FROM:
            found |= await _of_group(bench, world, draft, members)
    return found


async def _of_group(
    bench: Workbench, world: Connections, draft: ObjectDeclarations, members: Sequence[tuple[Sketch[R], ResourceState]]
) -> set[Address]:
    """Check resources of one kind and equal options quickly. One resolved sample decides for all of them."""
    (first, _, config), state = members[0]
    sample = await _prepared(bench, world, draft, config)
    if sample is None or sample.desired_digest != state.declared.document:
        return (
            set()
        )  # the same object gives another document now, because a newer Holdfast release converts it differently
    expected = {
        member.observed.provider_id: blobs.pack_digest(member.observed.raw_digest)
        if member.observed.raw_digest
        else None
        for _, member in members
        if member.observed.provider_id is not None and evaluate.is_unchanged(sample, member)
    }
    looker = Observer(world, bench.clock, bench.random01, bench.patience, bench.engine.fingerprint)
    items = await looker.listed(first.connection, first.kind, expected)
    if isinstance(items, ReadFailure):
        return set()
    return {
        address
        for (address, _, _), member in members
        if member.observed.provider_id is not None and isinstance(items.get(member.observed.provider_id), Unchanged)
    }


async def _prepared(
    bench: Workbench, world: Connections, draft: ObjectDeclarations, config: ResourceSpec
) -> ResolvedResource | None:
    one = ObjectDeclarations(draft.place)
    address = one.add(config)
    ready, _ = await bench.preparer(world, list(one.declarations.values())).prepare([address])
    return ready[0] if ready else None
