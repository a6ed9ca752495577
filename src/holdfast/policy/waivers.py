"""Waivers: a person answers for a difference, by name, with a reason and until a date.

A waived finding is still seen, counted and shown; it only does not decide the status. A waiver ends by itself, and one
that covers nothing any more is a mistake to be told. Refuses to know files: `manifests.waivers` reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import lru_cache

from holdfast.compare import paths
from holdfast.compare.paths import ANY, DEEP, Glob, Segment
from holdfast.errors import Location
from holdfast.model.address import Address
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.path import Path, Selector
from holdfast.model.record import dataclass
from holdfast.model.verdict import Suppressed, SuppressionReason
from holdfast.policy import selectors, source_location, time_parsing
from holdfast.policy.selectors import Targets
from holdfast.schema import did_you_mean

_MOST_PATHS = 5000  # looked through for a suggestion


@dataclass(frozen=True, slots=True)
class Waiver:
    """One entry: which differences, who answers for them, why, and until when."""

    resource: str  # a glob on addresses, as in --target
    path: str  # a pattern; it covers what it matches and everything below
    owner: str
    reason: str
    expires: float  # seconds since the epoch; from then on it covers nothing
    ticket: str = ""
    location: Location = field(default_factory=Location, compare=False)

    @property
    def until(self) -> str:
        """The last day, or the moment, as people write it."""
        return time_parsing.end_text(self.expires)

    @property
    def by(self) -> str:
        """The owner in a word."""
        return self.owner.partition("@")[0] or self.owner

    def covers_resource(self, address: Address) -> bool:
        """Return True if the waiver covers a resource, expired or not."""
        return _targets(self.resource).matches(address)

    def covers(self, address: Address, finding: Finding) -> bool:
        """Return True if the waiver covers a finding, expired or not."""
        return self.covers_resource(address) and paths.parse_pattern(self.path).matches(finding.path, below=True)

    def is_expired(self, now: float) -> bool:
        """Return True if the waiver has expired."""
        return now >= self.expires

    @property
    def note(self) -> str:
        """The note beside a suppressed finding."""
        ticket = f" ({self.ticket})" if self.ticket else ""
        return f"waived by {self.by} until {self.until}: {self.reason}{ticket}"


@lru_cache(maxsize=4096)
def _targets(text: str) -> Targets:
    return selectors.parse_targets([text])


def split(
    address: Address, findings: Iterable[Finding], waivers: Sequence[Waiver], now: float
) -> tuple[tuple[Finding, ...], tuple[Suppressed, ...]]:
    """Return the findings without a waiver, and the suppressed ones. The first waiver that covers a finding counts."""
    active = [item for item in waivers if not item.is_expired(now) and item.covers_resource(address)]
    live: list[Finding] = []
    suppressed: list[Suppressed] = []
    for finding in findings:
        waiver = next((item for item in active if item.covers(address, finding)), None)
        if waiver is None:
            live.append(finding)
        else:
            suppressed.append(
                Suppressed(SuppressionReason.WAIVED, paths.format_path(finding.path), waiver.note, finding)
            )
    return tuple(live), tuple(suppressed)


@dataclass(frozen=True, slots=True)
class Expired:
    """An expired waiver that would have covered a present finding."""

    waiver: Waiver
    paths: tuple[str, ...]  # of the findings

    def __str__(self) -> str:
        where = self.waiver.path or "everything"
        return f"the waiver of {self.waiver.by} for {where} expired on {self.waiver.until}"


def expired(address: Address, findings: Sequence[Finding], waivers: Iterable[Waiver], now: float) -> list[Expired]:
    """Return the waivers that have ended and would have covered some of the findings.

    A finding that another waiver still covers is not lost: give the live ones, as `split` returns them.
    """
    out = []
    for waiver in waivers:
        if waiver.is_expired(now):
            lost = tuple(paths.format_path(finding.path) for finding in findings if waiver.covers(address, finding))
            if lost:
                out.append(Expired(waiver, lost))
    return out


# -- waivers that are mistakes


class MistakeKind(StrEnum):
    """The kind of a mistake in a waiver."""

    EXPIRED = "expired"
    NO_RESOURCE = "no_resource"
    NO_PATH = "no_path"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A waiver that does nothing, and why."""

    kind: MistakeKind
    waiver: Waiver
    message: str

    def __str__(self) -> str:
        where = source_location.text(self.waiver.location)
        return f"{where}: {self.message}" if where else self.message


def mistakes(waivers: Iterable[Waiver], documents: Mapping[Address, Collection[Json]], now: float) -> list[Mistake]:
    """Return the mistakes in waivers in order, at most one for each waiver.

    `documents` has every resource with its known documents, desired and observed. A path is never called missing for a
    resource without any document.
    """
    found = (_mistake(waiver, documents, now) for waiver in waivers)
    return [mistake for mistake in found if mistake is not None]


def _mistake(waiver: Waiver, documents: Mapping[Address, Collection[Json]], now: float) -> Mistake | None:
    if waiver.is_expired(now):
        message = f"the waiver of {waiver.by} for {waiver.resource} {waiver.path} expired on {waiver.until}; remove it"
        return Mistake(MistakeKind.EXPIRED, waiver, message)
    covered = [address for address in documents if waiver.covers_resource(address)]
    if not covered:
        unmatched = selectors.unmatched(_targets(waiver.resource), list(documents))
        guess = unmatched[0].message.partition("; ")[2] if unmatched else ""
        message = f"the waiver for {waiver.resource} matches no resource{f'; {guess}' if guess else ''}"
        return Mistake(MistakeKind.NO_RESOURCE, waiver, message)
    known = [document for address in covered for document in documents[address]]
    if any(not documents[address] for address in covered) or _exists_in_any(waiver.path, known):
        return None
    where = (
        str(covered[0]) if len(covered) == 1 else f"any of the {len(covered)} resources that match {waiver.resource}"
    )
    guess = did_you_mean.hint(waiver.path, _path_texts(known))
    message = f"the waived path {waiver.path} exists neither in the declaration nor in the live state of {where}{guess}"
    return Mistake(MistakeKind.NO_PATH, waiver, message)


def _exists_in_any(pattern: str, documents: Iterable[Json]) -> bool:
    segments = paths.parse_pattern(pattern).segments
    return any(_exists(segments, document) for document in documents)


def _exists(segments: tuple[Segment, ...], document: Json) -> bool:
    """Return True if a pattern matches anything in a document."""
    if not segments:
        return True
    if segments[0] is DEEP:
        below = (child for _, child in _children(document))
        return _exists(segments[1:], document) or any(_exists(segments, child) for child in below)
    return any(_exists(segments[1:], child) for step, child in _children(document) if _fits(segments[0], step, child))


def _children(document: Json) -> Iterator[tuple[str | int, Json]]:
    if isinstance(document, dict):
        yield from document.items()
    elif isinstance(document, list):
        yield from enumerate(document)


def _fits(segment: Segment, step: str | int, child: Json) -> bool:
    if segment is ANY:
        return True
    if isinstance(segment, Selector):
        return isinstance(step, int) and paths.selects(segment, child)
    if isinstance(segment, Glob):
        return isinstance(step, str) and segment.regex.fullmatch(step) is not None
    return segment == str(step)


def _path_texts(documents: Iterable[Json]) -> list[str]:
    out: dict[str, None] = {}
    for document in documents:
        for path in _paths(document, ()):
            out[paths.format_path(path)] = None
            if len(out) == _MOST_PATHS:
                return list(out)
    return list(out)


def _paths(document: Json, above: Path) -> Iterator[Path]:
    for step, child in _children(document):
        yield (*above, step)
        yield from _paths(child, (*above, step))
