"""Named, versioned ways to turn a document into a hash, and the rule that only equals may be compared.

A scheme is a normalisation, a meaning of lists, a number mode and a digest. Its output never changes; another
output needs another id. Hashes of different or unknown ids are incomparable, so that a release never looks like drift
(seed 004). Does not know which scheme a resource should use, or the response to a difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final

from holdfast.compare import canonical, go_json
from holdfast.compare.canonical import Lists
from holdfast.compare.go_json import Numbers
from holdfast.compat.karpenter import hashstructure
from holdfast.compat.kubernaut import fingerprint
from holdfast.errors import SchemeError, UnhashableError
from holdfast.model.json import Json
from holdfast.model.record import dataclass

_STAMP = re.compile(r"([a-z0-9][a-z0-9.-]*/[1-9][0-9]*):([a-z0-9-]+:[0-9a-f]+)")
_ID = re.compile(r"[a-z0-9][a-z0-9.-]*/[1-9][0-9]*")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")


class HashComparison(Enum):
    """The result of comparing two hashes."""

    EQUAL = "equal"
    DIFFERENT = "different"
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True, slots=True)
class StampedHash:
    """A digest that remembers how it was made; written `<scheme>:<digest>`, `spec-sha256/1:sha256:4413...`."""

    scheme: str
    digest: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.digest}"

    @classmethod
    def parse(cls, text: str) -> StampedHash:
        """Read the text form. The scheme need not be known here: a newer release may have written it."""
        match = _STAMP.fullmatch(text)
        if match is None:
            raise SchemeError(f"not a stamped hash: {text[:100]!r}; expected <name>/<version>:<algorithm>:<hex digits>")
        if match[2].startswith("sha256:") and not _SHA256.fullmatch(match[2]):
            raise SchemeError(f"not a whole SHA-256 digest: {text[:100]!r}; expected 64 hex digits")
        return cls(match[1], match[2])


def _unchanged(value: Json) -> Json:
    return value


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to hash. `digest_of` replaces canonical writing where the bytes hashed are not canonical JSON."""

    name: str
    version: int
    description: str
    numbers: Numbers = "int64"
    lists: Lists = "sorted"
    normalise: Callable[[Json], Json] = _unchanged
    digest_of: Callable[[Json], str] | None = None

    @property
    def id(self) -> str:
        """The name under which hashes are stamped and golden vectors are kept."""
        return f"{self.name}/{self.version}"

    def digest(self, value: Json) -> str:
        """Hash a value, or raise UnhashableError."""
        if self.digest_of is not None:
            return self.digest_of(value)
        return canonical.digest_bytes(canonical.canonical_bytes(self.normalise(value), self.numbers, self.lists))

    def stamp(self, value: Json) -> StampedHash:
        """Hash a value and keep the scheme with the digest."""
        return StampedHash(self.id, self.digest(value))

    def stamp_text(self, text: str | bytes) -> StampedHash:
        """Hash a JSON text, read with the number mode of the scheme."""
        return self.stamp(go_json.loads(text, self.numbers))


class Registry:
    """Schemes by id. An id is registered once and means the same for ever."""

    def __init__(self, *schemes: Scheme) -> None:
        self._schemes: dict[str, Scheme] = {}
        for scheme in schemes:
            self.register(scheme)

    def __iter__(self) -> Iterator[Scheme]:
        return iter(self._schemes.values())

    def __contains__(self, scheme_id: object) -> bool:
        return scheme_id in self._schemes

    def register(self, scheme: Scheme) -> Scheme:
        """Add a scheme; SchemeError when its id is malformed or taken."""
        if not _ID.fullmatch(scheme.id):
            raise SchemeError(
                f"not a scheme id: {scheme.id!r}; expected lower-case letters, digits, '.', '-', '/version'"
            )
        if scheme.id in self._schemes:
            raise SchemeError(f"scheme {scheme.id} is registered already; a new meaning needs a new version")
        self._schemes[scheme.id] = scheme
        return scheme

    def get(self, scheme_id: str) -> Scheme:
        """Return a scheme by id, or raise SchemeError with the ids that exist."""
        try:
            return self._schemes[scheme_id]
        except KeyError:
            known = ", ".join(sorted(self._schemes))
            raise SchemeError(f"no scheme {scheme_id!r} is registered here; known are {known}") from None

    def compare(self, one: StampedHash, other: StampedHash) -> HashComparison:
        """Compare two hashes. Only hashes of one and the same known scheme say anything."""
        if one.scheme != other.scheme or one.scheme not in self._schemes:
            return HashComparison.INCOMPARABLE
        return HashComparison.EQUAL if one.digest == other.digest else HashComparison.DIFFERENT


def _raw_digest(data: Json) -> str:
    if type(data) is not bytes:
        raise UnhashableError(f"raw hashes are of bytes, not of {type(data).__name__}", "")
    return canonical.digest_bytes(data)


SPEC: Final = Scheme(
    "spec-sha256", 1, "a spec, lists unordered, all numbers doubles (DD-EM-002)", "float64", normalise=canonical.as_spec
)
SPEC_INT64: Final = Scheme(
    "spec-sha256-int64", 1, "a spec, lists unordered, 64-bit integers exact", normalise=canonical.as_spec
)
FINGERPRINT: Final = Scheme(
    "fingerprint-sha256",
    1,
    "a whole Kubernetes object without apiVersion, kind, metadata and status, lists unordered",
    normalise=fingerprint.functional_state,
)
FINGERPRINT_CONFIGMAPS: Final = Scheme(
    "fingerprint-configmaps-sha256",
    1,
    "a Kubernetes workload and the content of the ConfigMaps it reads, as one canonical document",
    normalise=fingerprint.state_with_configmaps,
)
FINGERPRINT_CONFIGMAPS_LINES: Final = Scheme(
    "fingerprint-configmaps-lines-sha256",
    1,
    "the same as kubernaut 2.0 composes it; contents with newlines can collide, so only for its stored hashes",
    digest_of=fingerprint.composite_of,
)
ORDERED: Final = Scheme("ordered-sha256", 1, "any document, the order of lists counts", lists="ordered")
RAW: Final = Scheme(
    "raw-sha256", 1, "bytes as they came; equal means equal, different means nothing", digest_of=_raw_digest
)

FNV64_STRUCT: Final = Scheme(
    "fnv64-struct",
    1,
    "typed values as Karpenter hashes them (hashstructure v2); collides by design, so only for its stamps",
    digest_of=hashstructure.digest,
)

REGISTRY: Final = Registry(
    SPEC, SPEC_INT64, FINGERPRINT, FINGERPRINT_CONFIGMAPS, FINGERPRINT_CONFIGMAPS_LINES, ORDERED, RAW, FNV64_STRUCT
)
"""The schemes of this release. Profiles add theirs with `REGISTRY.register`."""


def compare(one: StampedHash, other: StampedHash) -> HashComparison:
    """Compare two hashes by the schemes of this release."""
    return REGISTRY.compare(one, other)
