"""The documents that waivers are checked against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.model.address import Address

if TYPE_CHECKING:
    from holdfast.app.project import Project
    from holdfast.policy.waivers import Waiver
    from holdfast.store.state import Digest


async def known_documents(project: Project, waived: Sequence[Waiver]) -> dict[Address, list[Any]]:
    """Return every resource, with its declared and last observed documents if a waiver covers it."""
    declared = project.resources.declarations
    documents: dict[Address, list[Any]] = {}

    def is_covered(address: Address) -> bool:
        return any(waiver.covers_resource(address) for waiver in waived)

    for address in declared:
        documents[address] = [dict(declared[address].desired)] if is_covered(address) else []
    observed: dict[Address, Digest] = {}
    async for state in project.store.all_states():
        if state.observed.document:
            documents.setdefault(state.address, [])
            if is_covered(state.address):
                observed[state.address] = state.observed.document
    stored = await project.store.documents(sorted(set(observed.values())))
    for address, digest in observed.items():
        if digest in stored:
            documents[address].append(stored[digest])
    return documents
