"""Attributing: who may have moved something, as far as the provider can tell. A guess, and told as one.

Nothing is decided by it, so nothing may be lost for it: a provider that does not answer soon leaves the other writer
unnamed.
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
SKEW_SECONDS: Final = 60.0  # that the clock of a service may be behind ours
LONGEST_NAME: Final = 200  # characters; what is longer is no name
MOST: Final = 100  # resources of one run that are asked about: where more moved at once, names are not what is missing

_RANKS: Final = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)


async def likely_actors_of(world: Connections, item: ResolvedResource) -> tuple[LikelyActor, ...]:
    """Ask the provider who wrote a resource last, the surest first; empty where it does not know, or say so soon."""
    connection = item.declaration.address.connection
    asked = attribution(await world.reader(connection))
    if asked is None:
        return ()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), world.gate(connection).turn(CallKind.READ):
            found = await asked.likely_actors(item.target())
    except Exception:  # noqa: BLE001 - a reader that raises breaks its word, and must not break the check with it
        return ()
    return tuple(sorted((each for each in found if _is_shown(each, world.known, item.secret_values())), key=_rank))


async def other_writers(world: Connections, evaluation: Evaluation) -> tuple[LikelyActor, ...]:
    """Return who may have moved a resource away from what we wrote; the name our own writes bear is not among them."""
    found = await likely_actors_of(world, evaluation.resource)
    ours = await _our_name(world, evaluation) if found else None
    return tuple(each for each in found if each.who != ours)


async def is_of_another(world: Connections, evaluation: Evaluation) -> bool:
    """Tell whether somebody else seems to have added what would join the baseline as a default of the service.

    Only where the provider knows our own name can it be told; a mere possibility is not enough.
    """
    reader = await world.reader(evaluation.resource.declaration.address.connection)
    if attribution(reader) is None or await _our_name(world, evaluation) is None:
        return False
    added = [paths.parse_path(each.path) for each in evaluation.joined]
    written = (
        (evaluation.before.applied.settle_until or 0.0) - evaluation.resource.settings.settle_window - SKEW_SECONDS
    )
    return any(
        each.confidence is not Confidence.LOW
        and (each.at is None or each.at >= written)
        and (not each.paths or any(_is_about(text, added) for text in each.paths))
        for each in await other_writers(world, evaluation)
    )


class Attributed(Protocol):
    """A check with its suspects."""

    @property
    def verdict(self) -> Verdict:
        """What is true."""

    @property
    def likely_actors(self) -> tuple[LikelyActor, ...]:
        """Who may have moved it."""


def about(checked: Attributed) -> tuple[LikelyActor, ...]:
    """Return those likely actors who may have moved what was found, or of whom it is not known what they moved."""
    found = [finding.path for finding in checked.verdict.findings if finding.changed_by is not ChangedBy.DECLARED]

    return tuple(
        each for each in checked.likely_actors if not each.paths or any(_is_about(text, found) for text in each.paths)
    )


def _is_about(text: str, found: Sequence[Path]) -> bool:
    path = paths.parse_path(text)
    return any(each[: len(path)] == path or path[: len(each)] == each for each in found)


async def _our_name(world: Connections, evaluation: Evaluation) -> str | None:
    """Return the name under which we write: the one on what was read back after our last write."""
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
        {"who": each.who, "confidence": each.confidence.value, "why": each.why, "at": each.at} for each in likely_actors
    ]
    first = likely_actors[0]
    other_writer: dict[str, Json] = {} if first.confidence is Confidence.LOW else {"otherWriter": first.who}
    return {**other_writer, "attributedTo": listed}


def _is_shown(likely_actor: LikelyActor, known: KnownSecrets, secrets: Sequence[str]) -> bool:
    """Leave out what cannot be a name, or would show a secret."""
    is_name = 0 < len(likely_actor.who) <= LONGEST_NAME and likely_actor.who.isprintable()
    told = f"{likely_actor.who}\n{likely_actor.why}"
    return is_name and known.hidden(told) == told and not any(secret in told for secret in secrets)


def _rank(likely_actor: LikelyActor) -> int:
    return _RANKS.index(likely_actor.confidence)
