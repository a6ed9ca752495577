"""Network volumes. A volume is known by its name and its data centre, or by its id where it has no name."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Annotated, ClassVar

from pydantic import Field, field_serializer, field_validator, model_validator
from pydantic_core.core_schema import ValidationInfo

from holdfast.model.json import Json
from holdfast.providers.runpod.hashing import DEFAULT_KEY
from holdfast.providers.runpod.resources import datacenters
from holdfast.providers.runpod.resources.base import is_from_server
from holdfast.providers.runpod.resources.deployable import DeployableResource, storage_url
from holdfast.providers.runpod.resources.enums import DataCenter


class NetworkVolume(DeployableResource):
    """Storage in one data centre; it can grow, and neither shrink nor move."""

    KIND: ClassVar[str] = "NetworkVolume"
    RUNTIME_FIELDS: ClassVar[AbstractSet[str]] = frozenset()
    EXCLUDED_HASH_FIELDS: ClassVar[AbstractSet[str]] = frozenset({"id"})

    name: str | None = None
    size: int | None = 100  # GB
    dataCenterId: Annotated[DataCenter | str, Field(union_mode="left_to_right")] = DataCenter.EU_RO_1

    @model_validator(mode="before")
    @classmethod
    def _take_datacenter(cls, data: Json) -> Json:
        """Take `datacenter` for `dataCenterId`, as endpoints call it."""
        if isinstance(data, Mapping) and "datacenter" in data:
            given = dict(data)
            centre = given.pop("datacenter")
            return given if centre is None else {"dataCenterId": centre, **given}
        return data

    @field_validator("dataCenterId", mode="before")
    @classmethod
    def _spelt(cls, value: Json) -> Json:
        return datacenters.centre(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> NetworkVolume:
        if is_from_server(info):
            return self
        if self.name is not None and not self.name.strip():
            raise ValueError("the name of a network volume must not be blank")
        if not self.name and not self.id:
            raise ValueError("a network volume needs a name or an id")
        if self.size is not None and not 10 <= self.size <= 4096:
            raise ValueError("the size of a network volume must be between 10 and 4096 GB")
        return self

    @property
    def url(self) -> str:
        """The console's page of network volumes; raise ValueError without an id."""
        self._known_id()
        return storage_url()

    @property
    def is_created(self) -> bool:
        """Tell whether it has an id."""
        return self.id is not None

    def get_resource_key(self) -> str:
        """Return what tells it from others: one name may stand for a volume in each data centre."""
        return f"NetworkVolume:{self.name}@{self.dataCenterId}" if self.name else f"NetworkVolume:{self.id}"

    def identity(self) -> dict[str, Json]:
        """Return how an endpoint refers to it; the id of a volume with a name came from the service."""
        if not self.name:
            return {"id": self.id}
        return {"name": self.name, "dataCenterId": str(self.dataCenterId), "size": self.size}

    def config_document(self, key: bytes = DEFAULT_KEY) -> dict[str, Json]:  # noqa: ARG002 - there is no environment
        """Return the configuration."""
        return {"kind": self.KIND, "size": self.size, "dataCenterId": str(self.dataCenterId)}

    def flash_document(self) -> dict[str, Json]:
        """Return what Flash hashes."""
        whole = {"dataCenterId": str(self.dataCenterId), "name": self.name, "size": self.size}
        return {name: value for name, value in whole.items() if value is not None}

    @field_serializer("dataCenterId")
    def _serialize_data_center_id(self, value: DataCenter | str) -> str:
        return str(value)
