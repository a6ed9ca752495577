"""The grammar of GPU selections: pools, and single cards taken out of them.

The API wants `POOL,POOL,-card,-card`. People name pools and cards. Unknown pools and cards pass through,
because a selection that was read from the service must never lose a part on its way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from holdfast.providers.runpod.resources.enums import GpuGroup, GpuType

ALL: Final[tuple[GpuGroup, ...]] = (GpuGroup.AMPERE_48, *(group for group in GpuGroup if group is not GpuGroup.ANY))
"""What `any` stands for, as Flash writes it: in its order, one pool twice."""

CARDS: Final[Mapping[GpuGroup, tuple[GpuType, ...]]] = {
    GpuGroup.ADA_24: (GpuType.NVIDIA_GEFORCE_RTX_4090,),
    GpuGroup.ADA_32_PRO: (GpuType.NVIDIA_GEFORCE_RTX_5090,),
    GpuGroup.ADA_48_PRO: (GpuType.NVIDIA_RTX_6000_ADA_GENERATION,),
    GpuGroup.ADA_80_PRO: (GpuType.NVIDIA_H100_80GB_HBM3,),
    GpuGroup.AMPERE_16: (
        GpuType.NVIDIA_RTX_A4000,
        GpuType.NVIDIA_RTX_A4500,
        GpuType.NVIDIA_RTX_4000_ADA_GENERATION,
        GpuType.NVIDIA_RTX_2000_ADA_GENERATION,
    ),
    GpuGroup.AMPERE_24: (GpuType.NVIDIA_RTX_A5000, GpuType.NVIDIA_L4, GpuType.NVIDIA_GEFORCE_RTX_3090),
    GpuGroup.AMPERE_48: (GpuType.NVIDIA_A40, GpuType.NVIDIA_RTX_A6000),
    GpuGroup.AMPERE_80: (GpuType.NVIDIA_A100_80GB_PCIE, GpuType.NVIDIA_A100_SXM4_80GB),
    GpuGroup.HOPPER_141: (GpuType.NVIDIA_H200,),
    GpuGroup.BLACKWELL_96: (
        GpuType.NVIDIA_RTX_PRO_6000_BLACKWELL_SERVER_EDITION,
        GpuType.NVIDIA_RTX_PRO_6000_BLACKWELL_WORKSTATION_EDITION,
        GpuType.NVIDIA_RTX_PRO_6000_BLACKWELL_MAX_Q_WORKSTATION_EDITION,
    ),
    GpuGroup.BLACKWELL_180: (GpuType.NVIDIA_B200,),
}
_POOL_OF: Final = {str(card): pool for pool, cards in CARDS.items() for card in cards}
_POOLS: Final = {str(pool): pool for pool in GpuGroup}

_ANY: Final = "any"


def tokens(text: str) -> list[str]:
    """Split a comma list; blanks are nothing."""
    return [token for token in (part.strip() for part in text.split(",")) if token]


def normalised(text: str) -> str:
    """Write a selection in the one order Flash writes it in: pools, then excluded cards, each once."""
    return ",".join(sorted(set(tokens(text)), key=_order))


def _order(token: str) -> tuple[bool, str, str]:
    return token.startswith("-"), token.lstrip("-").lower(), token


def expanded(selection: Sequence[str]) -> list[str]:
    """Replace `any` by all pools."""
    return list(ALL) if _ANY in selection else list(selection)


def to_ids(selection: Iterable[str]) -> str:
    """Return the API's text for pools and cards; a card is its pool without the cards not asked for."""
    wanted = {str(item) for item in selection}
    cards = {item for item in wanted if item in _POOL_OF}
    pools = wanted - cards
    found = set(pools)
    for card in cards:
        pool = _POOL_OF[card]
        if pool not in pools:
            found.add(str(pool))
            found |= {f"-{other}" for other in CARDS[pool] if other not in cards}
    return normalised(",".join(found))


def from_ids(text: str) -> list[str]:
    """Return pools and cards for the API's text; what is not known stays as it is."""
    given = tokens(text)
    excluded = {token[1:] for token in given if token.startswith("-")}
    out: list[str] = []
    for token in given:
        if token.startswith("-"):
            continue
        pool = _POOLS.get(token, token)
        cards = CARDS.get(_POOLS[token], ()) if token in _POOLS else ()
        left = [card for card in cards if card not in excluded]
        out += [pool] if len(left) == len(cards) else left
    return out + [f"-{card}" for card in sorted(excluded - _POOL_OF.keys())]
