"""Attribution: the likely writers of a change, as far as the provider knows them. It is a guess and shown as one.

No decision depends on attribution, so it must not cost a check. If a provider does not answer soon, the other writer
stays unnamed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from holdfast.compare import paths
from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.finding import ChangedBy
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.verdict import Verdict
from holdfast.providers.protocol import SupportsSignature, attribution
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.evaluation import Evaluation
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.resolved_resource import ResolvedResource

PATIENCE_SECONDS: Final = 5.0
SKEW_SECONDS: Final = 60.0  # by which the clock of a service may be behind ours
LONGEST_NAME: Final = 200  # characters. A longer text is no name
MOST: Final = 100  # resources of one run to ask about. If more drifted at once, names would not help

_RANKS: Final = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)


async def likely_actors_of(world: Connections, item: ResolvedResource) -> tuple[LikelyActor, ...]:
    """Return the likely last writers of a resource from the provider, highest confidence first.

    The result is empty if the provider does not know them or does not answer soon.
    """
    connection = item.declaration.address.connection
    asked = attribution(await world.reader(connection))
    if asked is None:
        return ()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), world.gate(connection).turn(CallKind.READ):
            found = await asked.likely_actors(item.target())
    except Exception:  # noqa: BLE001 - a reader that raises breaks its word, and must not break the check with it
        return ()
    return tuple(sorted((actor for actor in found if _is_shown(actor, world.known, item.secret_values())), key=_rank))


async def other_writers(world: Connections, evaluation: Evaluation) -> tuple[LikelyActor, ...]:
    """Return the likely writers that changed a resource after our write, without the name of our own writes."""
    found = await likely_actors_of(world, evaluation.resource)
    ours = await _our_name(world, evaluation) if found else None
    return tuple(actor for actor in found if actor.who != ours)


async def is_of_another(world: Connections, evaluation: Evaluation) -> bool:
    """Return True if another writer seems to have added fields that would join the baseline as service defaults.

    This is known only if the provider knows our own name. A low confidence is not enough.
    """
    reader = await world.reader(evaluation.resource.declaration.address.connection)
    if attribution(reader) is None or await _our_name(world, evaluation) is None:
        return False
    added = [paths.parse_path(suppressed.path) for suppressed in evaluation.joined]
    written = (
        (evaluation.before.applied.settle_until or 0.0) - evaluation.resource.settings.settle_window - SKEW_SECONDS
    )
    return any(
        writer.confidence is not Confidence.LOW
        and (writer.at is None or writer.at >= written)
        and (not writer.paths or any(_is_about(text, added) for text in writer.paths))
        for writer in await other_writers(world, evaluation)
    )


class Attributed(Protocol):
    """A check with its likely actors."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the check."""

    @property
    def likely_actors(self) -> tuple[LikelyActor, ...]:
        """The actors that may have changed the resource."""


def about(checked: Attributed) -> tuple[LikelyActor, ...]:
    """Return the likely actors that may have changed the found paths, and those whose changed paths are unknown."""
    found = [finding.path for finding in checked.verdict.findings if finding.changed_by is not ChangedBy.DECLARED]

    return tuple(
        actor
        for actor in checked.likely_actors
        if not actor.paths or any(_is_about(text, found) for text in actor.paths)
    )


def _is_about(text: str, found: Sequence[Path]) -> bool:
    path = paths.parse_path(text)
    return any(pair[: len(path)] == path or path[: len(pair)] == pair for pair in found)


async def _our_name(world: Connections, evaluation: Evaluation) -> str | None:
    """Return the name of our own writes, taken from the baseline that was read after our last write, or None."""
    address = evaluation.resource.declaration.address
    reader = await world.reader(address.connection)
    if not isinstance(reader, SupportsSignature) or evaluation.known.baseline is None:
        return None
    return reader.signature(address.kind, evaluation.known.baseline.observed)


def as_data(likely_actors: Sequence[LikelyActor]) -> dict[str, Json]:
    """Return the data of a quarantine and its event: all likely actors, and the other writer if known."""
    if not likely_actors:
        return {}
    listed = [
        {"who": actor.who, "confidence": actor.confidence.value, "why": actor.why, "at": actor.at}
        for actor in likely_actors
    ]
    first = likely_actors[0]
    other_writer: dict[str, Json] = {} if first.confidence is Confidence.LOW else {"otherWriter": first.who}
    return {**other_writer, "attributedTo": listed}


def _is_shown(likely_actor: LikelyActor, known: KnownSecrets, secrets: Sequence[str]) -> bool:
    """Return True if a likely actor has a valid name and its texts reveal no secret."""
    is_name = 0 < len(likely_actor.who) <= LONGEST_NAME and likely_actor.who.isprintable()
    told = f"{likely_actor.who}\n{likely_actor.why}"
    return is_name and known.hidden(told) == told and not any(secret in told for secret in secrets)


def _rank(likely_actor: LikelyActor) -> int:
    return _RANKS.index(likely_actor.confidence)
