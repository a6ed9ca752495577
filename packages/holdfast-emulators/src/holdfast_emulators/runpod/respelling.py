"""How the platform writes what it was told: the same meaning, hardly ever the same text."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

from holdfast_emulators.runpod.catalog import Catalogue
from holdfast_emulators.runpod.objects import RefusedError

_IMAGE = re.compile(r"[a-z0-9][\w.\-/:]*(@sha256:[0-9a-f]{64})?", re.IGNORECASE)
_INSTANCE = re.compile(r"([a-z0-9]+)-(\d+)-(\d+)")


def tokens(text: str | None) -> list[str]:
    """Split a comma list; blanks are nothing."""
    return [token.strip() for token in (text or "").split(",") if token.strip()]


def gpu_ids(text: str | None, catalogue: Catalogue) -> str:
    """Write a GPU selection in the catalogue's order, pools before excluded cards, each once."""
    pools = [token for token in dict.fromkeys(tokens(text)) if not token.startswith("-")]
    excluded = [token for token in dict.fromkeys(tokens(text)) if token.startswith("-")]
    known = list(catalogue.pools)
    unknown = [pool for pool in pools if pool not in known]
    if unknown:
        raise RefusedError(400, f"unknown gpuId(s): {', '.join(unknown)}")
    return ",".join([*sorted(pools, key=known.index), *sorted(excluded)])


def pools_and_cards(text: str) -> tuple[list[str], list[str]]:
    """Take a GPU selection apart: pools, and cards that are left out of them."""
    parts = tokens(text)
    return [part for part in parts if part[0] != "-"], [part[1:] for part in parts if part[0] == "-"]


def instances(names: Iterable[str] | None, catalogue: Catalogue) -> list[str] | None:
    """Check CPU instances; none at all is null."""
    found = list(dict.fromkeys(names or ()))
    for name in found:
        match = _INSTANCE.fullmatch(name)
        if match is None or match[1] not in catalogue.flavours:
            raise RefusedError(400, f"unknown instanceId: {name}")
        if int(match[3]) != int(match[2]) * catalogue.flavours[match[1]]:
            raise RefusedError(400, f"{name} is not an instance of {match[1]}")
    return found or None


def instance_parts(name: str) -> tuple[str, int, int]:
    """Take an instance apart: flavour, vCPUs, GB of memory."""
    flavour, vcpus, memory = name.split("-")
    return flavour, int(vcpus), int(memory)


def locations(value: str | Iterable[str] | None) -> str | None:
    """Write data centres as a comma list; any place is null, and an empty text comes back as null too."""
    found = tokens(value) if isinstance(value, str) or value is None else [item.strip() for item in value]
    return ",".join(dict.fromkeys(item.upper() for item in found)) or None


def versions(value: str | Iterable[str] | None) -> str | None:
    """Write CUDA versions as a comma list; none is null."""
    found = tokens(value) if isinstance(value, str) or value is None else list(value)
    return ",".join(sorted(dict.fromkeys(found), key=_version)) or None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in text.split("."))


def image(name: str, catalogue: Catalogue) -> str:
    """Check that an image can be pulled, as the platform does when an endpoint is made."""
    if not _IMAGE.fullmatch(name):
        raise RefusedError(400, f"invalid image reference: {name}")
    if name in catalogue.unpublished:
        raise RefusedError(400, f"image {name} does not resolve to a published image")
    return name


def moment(seconds: float) -> str:
    """Write a time as the API does."""
    text = dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
