"""Comparing what may not be seen: masks, keyed fingerprints, and the comparator of write-only values.

A service gives a secret back masked or not at all, so the observed value proves nothing; whether the secret changed is
told by the fingerprint of what was applied. The fingerprint key is an argument everywhere and never appears in a name.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import field

from holdfast.compare.comparators import base
from holdfast.errors import ProfileError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.record import dataclass

MASKED_KEY: base.Key = ("write_only", "masked")
WITHHELD_KEY: base.Key = ("write_only", "withheld")

_MASK = r"""(?xi) \s*
    | [*\u2022\u25cf]{3,}                                                     # ****, bullets
    | [*\[(<]* redacted [*\])>]*
    | [*\[(<]+ (?:masked|hidden|secret|sensitive|sensitive[ ]value) [*\])>]+
    | \{\{ [^{}]* \}\}                                                        # {{Logger-Credentials--id}}
    """
_LONGEST_MASK = 256
_FINGERPRINT = re.compile(r"hmac-sha256:[0-9a-f]{64}")


def fingerprint(value: Json, key: bytes) -> str:
    """Return the keyed fingerprint of a JSON value, the same for values that are typed-equal."""
    if not key:
        raise ValueError("a fingerprint needs a key: without one, short secrets could be guessed from it")
    text = base.canonical_text(value).encode("utf-8", "surrogatepass")
    return f"hmac-sha256:{hmac.new(key, text, hashlib.sha256).hexdigest()}"


def is_fingerprint(value: Json) -> bool:
    """Return True if a value is a fingerprint, which represents a secret that is not stored."""
    return isinstance(value, str) and _FINGERPRINT.fullmatch(value) is not None


def is_masked(value: Json) -> bool:
    """Return True if a value is masked: absent, null, empty, a mask, or a container of such values."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
        elif isinstance(item, str):
            if len(item) > _LONGEST_MASK or re.fullmatch(_MASK, item) is None:
                return False
        elif item is not None and item is not ABSENT:
            return False
    return True


@dataclass(frozen=True, slots=True)
class WriteOnly:
    """Holds a secret equal to any mask of it. Not transitive: a mask equals every secret."""

    name: str
    opaque: bool
    fingerprint_key: bytes | None = field(repr=False)

    def equal(self, desired: Json, observed: Json) -> bool:
        """Return False only for two readable values that differ, and not even then if what is read back is opaque."""
        return self.opaque or is_masked(observed) or is_masked(desired) or base.typed_equal(desired, observed)

    def key(self, value: Json) -> base.Key:
        """Return the keyed fingerprint, and one constant for every mask; without a key nothing of the value is told."""
        if is_masked(value):
            return MASKED_KEY
        if self.fingerprint_key is None:
            return WITHHELD_KEY
        return ("write_only", fingerprint(value, self.fingerprint_key))


def write_only(*, opaque: bool = False, fingerprint_key: bytes | None = None) -> base.Comparator:
    """Compare a value that the service does not give back; `opaque` when it gives back something else, such as a hash.

    `fingerprint_key` comes from the engine, never from a profile.
    """
    if fingerprint_key is not None and not fingerprint_key:
        raise ProfileError('write_only: option "fingerprint_key" is empty; leave it out or give a key')
    return WriteOnly(base.label("write_only", opaque=opaque), opaque, fingerprint_key)
