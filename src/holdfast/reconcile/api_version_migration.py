"""Carrying over what is known of a resource when the API it is read in changes its version.

Another version shows other fields, so a baseline learnt in the old one says nothing about it; taken at its word it
would make every resource of the kind drift at once. Instead the resource is read in the old version once more. If that
is in sync, so is the resource, and what the new version shows becomes the baseline without a write. If it is not, what
was found is put right first, by a write in the new version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.compare import known_differences
from holdfast.compare.known_differences import Validity
from holdfast.model.read_result import Found, Reading
from holdfast.model.verdict import Status
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile.evaluate import Evaluation
from holdfast.reconcile.observe import Observer
from holdfast.reconcile.resolved_resource import ResolvedResource, digest_of


def outdated(item: ResolvedResource, reading: Reading | Unchanged) -> str | None:
    """Return why what is known was learnt in another version than this reading, or None."""
    state = item.state
    if state is None or state.applied.baseline is None or not isinstance(reading, Found):
        return None
    if state.applied.api_version is None or reading.version is None:
        return None
    return known_differences.invalid_because(Validity(None, state.applied.api_version), Validity(None, reading.version))


async def in_old_version(
    looker: Observer, batch: Sequence[ResolvedResource], readings: Sequence[Reading | Unchanged]
) -> list[tuple[ResolvedResource, Reading | Unchanged]]:
    """Return the batch with what is to be judged: where the version changed, another reading in the old one."""
    out: list[tuple[ResolvedResource, Reading | Unchanged]] = []
    for item, reading in zip(batch, readings, strict=True):
        if outdated(item, reading) is None:
            out.append((item, reading))
            continue
        assert item.state is not None
        older = replace(item, version=item.state.applied.api_version)
        again = await looker.read(older, None)
        # A version that is not spoken any more tells nothing; then only the declaration is left to go by.
        out.append((older, again) if isinstance(again, Found) else (item, reading))
    return out


def carried_over(judged: Evaluation, item: ResolvedResource, reading: Reading | Unchanged) -> Evaluation:
    """Return what was judged in the old version as a judgement of the new reading, if it found nothing."""
    why = outdated(item, reading)
    if why is None or judged.prepared.version is None or judged.verdict.status is not Status.IN_SYNC:
        return judged
    assert isinstance(reading, Found)
    tree, secret_rules = item.rules_for(reading.document)
    return replace(
        judged,
        prepared=item,
        reading=reading,
        observed=reading.document,
        observed_digest=digest_of(reading.document),
        tree=tree,
        secret_rules=secret_rules,
        baseline=None,
        baseline_digest=None,
        invalid=why,
        carried_over=True,
    )
