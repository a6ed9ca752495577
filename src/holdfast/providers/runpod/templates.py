"""Pod templates: the container settings of an endpoint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from holdfast.model.json import Json
from holdfast.providers.runpod import hashing
from holdfast.providers.runpod.hashing import DEFAULT_KEY
from holdfast.providers.runpod.resources.base import BaseResource

DEFAULT_DISK_GB: Final = 64


class KeyValuePair(BaseModel):
    """One environment variable as GraphQL has it."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    key: str
    value: str = Field(default="", repr=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, str]) -> list[KeyValuePair]:
        """Return the variables of a map."""
        return [cls(key=key, value=value) for key, value in data.items()]


class PodTemplate(BaseResource):
    """Container settings. The name is kept as given: it names the template, and is not configuration."""

    KIND: ClassVar[str] = "PodTemplate"
    SETTINGS: ClassVar[tuple[str, ...]] = (
        "advancedStart",
        "config",
        "containerDiskInGb",
        "containerRegistryAuthId",
        "dockerArgs",
        "ports",
        "startScript",
    )
    """What an endpoint takes from its template besides image and environment."""

    advancedStart: bool | None = False
    config: dict[str, Any] | None = {}  # noqa: RUF012 - pydantic copies it
    containerDiskInGb: int | None = DEFAULT_DISK_GB
    containerRegistryAuthId: str | None = ""
    dockerArgs: str | None = ""
    env: list[KeyValuePair] | None = []  # noqa: RUF012 - pydantic copies it
    imageName: str | None = ""
    name: str | None = ""
    ports: str | None = ""
    startScript: str | None = ""

    @field_validator("ports", mode="before")
    @classmethod
    def _joined(cls, value: Json) -> Json:
        return ",".join(value) if isinstance(value, list | tuple) else value

    def settings(self) -> dict[str, Json]:
        """Return what was asked for beyond image and environment: given, and not what would be there anyway."""
        fields, defaults = self.__dict__, type(self).model_fields
        given = self.model_fields_set
        return {
            name: fields[name]
            for name in self.SETTINGS
            if name in given and fields[name] and fields[name] != defaults[name].default
        }

    def env_map(self) -> dict[str, str]:
        """Return the environment as a map."""
        return {pair.key: pair.value for pair in self.env or ()}

    def config_document(self, key: bytes = DEFAULT_KEY) -> dict[str, Json]:
        """Return the configuration; neither id nor name is part of it."""
        out: dict[str, Json] = {"kind": self.KIND, **self.settings()}
        if self.imageName:
            out["imageName"] = self.imageName
        env = hashing.env_fingerprint(self.env_map(), self.ENV_POLICY, key)
        if env is not None:
            out["env"] = env
        return out

    def flash_document(self) -> dict[str, Json]:
        """Return what Flash hashes: with a name that has a hash of all this in it."""
        dump = {name: self.__dict__[name] for name in type(self).model_fields if name != "id"}
        dump["env"] = None if self.env is None else [{"key": pair.key, "value": pair.value} for pair in self.env]
        given = {name: value for name, value in dump.items() if value is not None}
        text = f"PodTemplate:{json.dumps(given, separators=(',', ':'), ensure_ascii=False)}"
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        return {**given, "name": f"{self.name}__PodTemplate_{digest}"}
