"""Hashes of configurations: our scheme, and Flash's, so that what Flash stamped can be taken over.

`runpod-config/1` is SHA-256 over canonical JSON of a configuration in which every spelling is settled: lists are sets,
nothing is left out rather than written as nothing, the environment is a keyed fingerprint. `flash-md5/1` is what Flash
computes (checked against 1.19 and 1.21): MD5 over a dump in declaration order of lists, name and all. It is for reading
old stamps only.

Refuses to know pydantic: a configuration is a plain document by the time it gets here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

import orjson

from holdfast.compare import canonical, hash_schemes
from holdfast.errors import UnhashableError
from holdfast.model.json import Json

INJECTED: Final = frozenset(
    {
        "FLASH_APP",
        "FLASH_APP_VARIABLE",
        "FLASH_ENDPOINT_TYPE",
        "FLASH_ENV",
        "FLASH_ENVIRONMENT_ID",
        "FLASH_MAIN_FILE",
        "FLASH_MODULE_PATH",
        "FLASH_RESOURCE_NAME",
        "RUNPOD_API_KEY",
        "_FLASH_SOURCE_FINGERPRINT",
    }
)
"""Variables that a deploying tool puts into an environment by itself: rotating a key must not roll a fleet."""

DEFAULT_KEY: Final = b"holdfast.runpod.env/1"
"""Keys the fingerprint of an environment without a key of its own. It is no secret, so a hash made with
it must be kept like the values themselves; a store's own key makes hashes safe to show."""


class EnvPolicy(StrEnum):
    """The rule for changes of the environment: they count as configuration, or not."""

    MANAGED = "managed"  # all but those that tools put there count
    STRICT = "strict"  # all count
    IGNORE = "ignore"  # none counts, as the text of Flash's design has it


def env_fingerprint(env: Mapping[str, str], policy: EnvPolicy, key: bytes) -> str | None:
    """Return the keyed fingerprint of an environment, None if nothing in it counts."""
    if policy is EnvPolicy.IGNORE:
        return None
    if policy is EnvPolicy.MANAGED and not INJECTED.isdisjoint(env):
        env = {name: value for name, value in env.items() if name not in INJECTED}
    if not env:
        return None
    halves = _halves(key)
    inner, outer = halves[0].copy(), halves[1].copy()
    inner.update(orjson.dumps(env, None, orjson.OPT_SORT_KEYS))
    outer.update(inner.digest())
    return "hmac-sha256:" + outer.hexdigest()


@lru_cache(maxsize=8)
def _halves(key: bytes) -> tuple[hashlib._Hash, hashlib._Hash]:
    """Return the two halves of HMAC-SHA256 with the key worked in, which is half of what a fingerprint costs."""
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    return hashlib.sha256(block.translate(_INNER)), hashlib.sha256(block.translate(_OUTER))


_BLOCK: Final = 64  # bytes
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))


def flash_digest(value: Json) -> str:
    """Return Flash's digest of `{"class": name, "config": dump}`."""
    if not isinstance(value, Mapping) or not isinstance(value.get("class"), str):
        raise UnhashableError('a Flash hash is of {"class": name, "config": {...}}', "")
    text = f"{value['class']}:{json.dumps(value.get('config'), sort_keys=True)}"
    return "md5:" + hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


CONFIG: Final = hash_schemes.Scheme(
    "runpod-config",
    1,
    "a RunPod resource's configuration, spellings settled, lists unordered",
    normalise=canonical.as_spec,
)
FLASH: Final = hash_schemes.Scheme(
    "flash-md5", 1, "what Flash stores; only for reading its stamps", digest_of=flash_digest
)


def register(registry: hash_schemes.Registry = hash_schemes.REGISTRY) -> None:
    """Make the schemes known, once."""
    for scheme in (CONFIG, FLASH):
        if scheme.id not in registry:
            registry.register(scheme)


register()
_PREFIX: Final = f"{CONFIG.id}:sha256:"


def stamp(config: dict[str, Json]) -> str:
    """Return the text form of a configuration's stamped hash: `str(CONFIG.stamp(config))`, without the way there."""
    return _PREFIX + hashlib.sha256(canonical.canonical_bytes(config)).hexdigest()
