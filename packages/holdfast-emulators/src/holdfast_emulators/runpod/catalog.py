"""The catalogue of RunPod: GPU pools and the cards in them, CPU flavours, data centres.

This is data of the emulator, not of the provider: the real catalogue grows without notice, and tests add to this one
to prove that the provider accepts new entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field

POOLS = {
    "AMPERE_16": (
        "NVIDIA RTX A4000",
        "NVIDIA RTX A4500",
        "NVIDIA RTX 4000 Ada Generation",
        "NVIDIA RTX 2000 Ada Generation",
    ),
    "AMPERE_24": ("NVIDIA RTX A5000", "NVIDIA L4", "NVIDIA GeForce RTX 3090"),
    "ADA_24": ("NVIDIA GeForce RTX 4090",),
    "ADA_32_PRO": ("NVIDIA GeForce RTX 5090",),
    "AMPERE_48": ("NVIDIA A40", "NVIDIA RTX A6000"),
    "ADA_48_PRO": ("NVIDIA RTX 6000 Ada Generation", "NVIDIA L40", "NVIDIA L40S"),
    "AMPERE_80": ("NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"),
    "ADA_80_PRO": ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL"),
    "BLACKWELL_96": (
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    ),
    "HOPPER_141": ("NVIDIA H200",),
    "BLACKWELL_180": ("NVIDIA B200",),
}
"""Pools in the order the service lists them, which is neither the order they were asked for in nor the alphabet."""

FLAVOURS = {"cpu3g": 4, "cpu3c": 2, "cpu5c": 2}
"""CPU flavours and the GB of memory that come with each vCPU."""

DATA_CENTRES = (
    "US-CA-2",
    "US-IL-1",
    "US-KS-2",
    "US-MO-1",
    "US-MO-2",
    "US-NC-2",
    "US-NE-1",
    "US-WA-1",
    "EU-CZ-1",
    "EU-RO-1",
    "EUR-NO-1",
)


@dataclass(slots=True)
class Catalogue:
    """The offer of one world; tests may widen it."""

    pools: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict(POOLS))
    flavours: dict[str, int] = field(default_factory=lambda: dict(FLAVOURS))
    data_centres: list[str] = field(default_factory=lambda: list(DATA_CENTRES))
    unpublished: set[str] = field(default_factory=lambda: {"runpod/pytorch:latest"})  # images that were never pushed

    def cards(self) -> set[str]:
        """Name every GPU type."""
        return {card for cards in self.pools.values() for card in cards}
