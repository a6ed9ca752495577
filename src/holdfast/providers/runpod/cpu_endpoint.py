"""Endpoints on CPUs: the same settings without those of GPUs.

Flash looks at eight fields of a CPU queue endpoint and misses changes of workers, instances, timeouts, scaler and
place. Here the compute family decides which fields there are, and all of those count.
"""

from __future__ import annotations

from typing import Any, ClassVar

from holdfast.providers.runpod.resources.endpoint_fields import Family
from holdfast.providers.runpod.resources.enums import CpuInstanceType
from holdfast.providers.runpod.resources.serverless import GpuWord, InstanceWord, ServerlessEndpoint


def without_gpus(values: dict[str, Any]) -> None:
    """Take everything about GPUs out of an endpoint's fields."""
    values.update(gpus=[], gpuIds="", gpuCount=0, cudaVersions=[], allowedCudaVersions="", minCudaVersion=None)


class CpuServerlessEndpoint(ServerlessEndpoint):
    """A queue endpoint on CPUs."""

    FAMILY: ClassVar[Family] = Family.CPU

    gpus: list[GpuWord] | None = None
    instanceIds: list[InstanceWord] | None = [CpuInstanceType.CPU3G_2_8]  # noqa: RUF012 - pydantic copies it

    def _settle_family(self) -> None:
        without_gpus(self.__dict__)
