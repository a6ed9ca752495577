"""Serverless endpoints: the fields people write, the rules between them, and the configuration they amount to.

Field names are RunPod's and Flash's own, so that code written for Flash needs another import and nothing else. Several
fields are two spellings of one setting (`gpus` and `gpuIds`, `datacenter` and `locations`); setting either sets both.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, PrivateAttr, field_serializer, field_validator, model_validator
from pydantic_core.core_schema import ValidationInfo

from holdfast.model.json import Json
from holdfast.providers.runpod import rules
from holdfast.providers.runpod.flash import dump as flash_dump
from holdfast.providers.runpod.hashing import DEFAULT_KEY
from holdfast.providers.runpod.resources import config, datacenters, endpoint_fields, gpus
from holdfast.providers.runpod.resources.base import is_from_server
from holdfast.providers.runpod.resources.deployable import DeployableResource
from holdfast.providers.runpod.resources.endpoint_fields import Effect, Family
from holdfast.providers.runpod.resources.enums import (
    CpuInstanceType,
    CudaVersion,
    DataCenter,
    GpuGroup,
    GpuType,
    ServerlessScalerType,
    ServerlessType,
)
from holdfast.providers.runpod.resources.template import PodTemplate
from holdfast.providers.runpod.resources.volume import NetworkVolume

# An enum member where the word is known, a plain text where it is not.
CudaWord = Annotated[CudaVersion | str, Field(union_mode="left_to_right")]
InstanceWord = Annotated[CpuInstanceType | str, Field(union_mode="left_to_right")]
GpuWord = Annotated[GpuGroup | GpuType | str, Field(union_mode="left_to_right")]
ScalerWord = Annotated[ServerlessScalerType | str, Field(union_mode="left_to_right")]
TypeWord = Annotated[ServerlessType | str, Field(union_mode="left_to_right")]
CentreWord = DataCenter | str

_LISTS: Final = ("gpus", "cudaVersions", "datacenter", "networkVolumes")


class ServerlessResource(DeployableResource):
    """A serverless endpoint on GPUs; the base of all kinds of endpoint."""

    # Its many fields are Flash's public shape, which programs rely on: they are not split into records.

    KIND: ClassVar[str] = "Endpoint"
    FAMILY: ClassVar[Family] = Family.GPU
    NEEDS_IMAGE: ClassVar[bool] = False
    LIVE_IMAGE: ClassVar[str] = ""
    RUNTIME_FIELDS: ClassVar[AbstractSet[str]] = endpoint_fields.RUNTIME
    """Fields that the API assigns or computes; never configuration."""
    EXCLUDED_HASH_FIELDS: ClassVar[AbstractSet[str]] = endpoint_fields.EXCLUDED
    _hashed_fields: ClassVar[AbstractSet[str]] = frozenset()
    """Fields that count as configuration, filled in for each class: all that are not runtime, excluded, identity, or
    of the other compute family. A subclass that sets it has it as given."""
    _plan: ClassVar[config.FieldPlan]

    cudaVersions: list[CudaWord] | None = []  # noqa: RUF012 - pydantic copies it
    env: dict[str, str] | None = Field(default=None, repr=False)
    flashboot: bool | str | None = True
    gpus: list[GpuWord] | None = [GpuGroup.ANY]  # noqa: RUF012
    imageName: str | None = ""
    networkVolume: NetworkVolume | None = None
    networkVolumes: list[NetworkVolume] | None = None
    datacenter: list[CentreWord] | CentreWord | None = None
    python_version: str | None = None

    executionTimeoutMs: int | None = 0
    gpuCount: int | None = 1
    idleTimeout: int | None = 60
    minCudaVersion: CudaWord | None = CudaVersion.V12_8
    instanceIds: list[InstanceWord] | None = None
    locations: str | None = None
    name: str
    networkVolumeId: str | None = None
    flashEnvironmentId: str | None = None
    scalerType: ScalerWord | None = ServerlessScalerType.QUEUE_DELAY
    scalerValue: int | float | None = 4
    templateId: str | None = None
    type: TypeWord | None = ServerlessType.QB
    workersMax: int | None = 1
    workersMin: int | None = 0
    workersPFBTarget: int | None = 0

    activeBuildid: str | None = None
    aiKey: str | None = Field(default=None, repr=False)
    allowedCudaVersions: str | None = ""
    computeType: str | None = None
    createdAt: str | None = None
    gpuIds: str | None = ""
    hubRelease: str | None = None
    repo: str | None = None
    template: PodTemplate | None = None
    userId: str | None = None
    flashBootType: str | None = None

    _in_step: tuple[Any, ...] | None = PrivateAttr(default=None)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 - pydantic's own
        super().__pydantic_init_subclass__(**kwargs)
        config.prepare(cls)

    # -- reading what people write

    @model_validator(mode="before")
    @classmethod
    def _own_image(cls, data: Json) -> Json:
        if not cls.LIVE_IMAGE or not isinstance(data, Mapping) or data.get("imageName"):
            return data
        return {**data, "imageName": rules.live_image(cls.LIVE_IMAGE, data.get("python_version"))}

    @field_validator("datacenter", mode="before")
    @classmethod
    def _spelt_centres(cls, value: Json) -> Json:
        if value is None:
            return None
        listed = value if isinstance(value, list | tuple) else [value]
        return [datacenters.centre(item) if isinstance(item, str) else item for item in listed]

    @field_validator("scalerType", "type")
    @classmethod
    def _known_words(cls, value: Json, info: ValidationInfo) -> Json:
        return value if is_from_server(info) else rules.known(value, info.field_name or "")

    @model_validator(mode="after")
    def _settle(self, info: ValidationInfo) -> ServerlessResource:
        """Bring the spellings of one setting in step, then check what belongs together."""
        given = self.model_fields_set
        self._settle_family()
        if self.flashboot and self.name.endswith("-fb"):
            object.__setattr__(self, "name", rules.without_suffix(self.name))
        if self.gpus:
            self._quietly("gpus", gpus.expanded(self.gpus))
        self._settle_pair("gpus", "gpuIds", given)
        self._settle_pair("cudaVersions", "allowedCudaVersions", given)
        if self.datacenter and self.locations and not is_from_server(info):
            rules.agree(self.locations, datacenters.joined(self.datacenter))  # type: ignore[arg-type] # a list by now
        if self.datacenter and not self.locations:
            self._quietly("locations", datacenters.joined(self.datacenter))  # type: ignore[arg-type]
        self._settle_volumes()
        if not is_from_server(info):
            rules.check(self)
        self._note_lists()
        return self

    def _settle_family(self) -> None:
        """Take out what the compute family does not have; GPUs are the default, so there is nothing to do here."""

    def _settle_pair(self, listed: str, text: str, given: set[str]) -> None:
        """Fill in the spelling that was not given; a default gives way to what was."""
        values = self.__dict__
        if values[text] and (listed not in given or not values[listed]):
            self._quietly(text, gpus.normalised(values[text]) if text == "gpuIds" else values[text])
            self._quietly(listed, config.FROM_TEXT[text](values[text]))
        elif values[listed] and not values[text]:
            self._quietly(text, config.TO_TEXT[text](values[listed]))
        elif values[text]:
            rules.same(text, config.TO_TEXT[text](values[listed]), values[text], listed)
            self._quietly(text, gpus.normalised(values[text]) if text == "gpuIds" else values[text])

    def _settle_volumes(self) -> None:
        volumes = list(self.networkVolumes or ())
        if self.networkVolume is not None and self.networkVolume not in volumes:
            volumes.append(self.networkVolume)
        if volumes:
            self._quietly("networkVolumes", volumes)
            self._quietly("networkVolume", volumes[0])
            if volumes[0].id is not None and self.networkVolumeId is None:
                self._quietly("networkVolumeId", volumes[0].id)

    # -- assignment

    def _quietly(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Set a field without counting it as given by the user."""
        self.__dict__[name] = value

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401
        super().__setattr__(name, value)
        if name in config.IN_STEP:
            config.IN_STEP[name](self.__dict__)
            self._note_lists()

    def _note_lists(self) -> None:
        values = self.__dict__
        self._in_step = tuple(list(values[name]) if values[name] else values[name] for name in _LISTS)

    def _in_step_again(self) -> None:
        """Follow a list that was changed in place."""
        values = self.__dict__
        before = self._in_step or (None,) * len(_LISTS)
        for name, old in zip(_LISTS, before, strict=True):
            if values[name] != old:
                config.IN_STEP[name](values)
        self._note_lists()

    # -- configuration

    def config_document(self, key: bytes = DEFAULT_KEY) -> dict[str, Json]:
        """Return the configuration; see `configs` for how spellings are settled."""
        values = self.__dict__
        private = self.__pydantic_private__
        lists = (values["gpus"], values["cudaVersions"], values["datacenter"], values["networkVolumes"])
        if private is None or private["_in_step"] != lists:
            self._in_step_again()
        return config.of(self._plan, values, self.ENV_POLICY, key)

    def flash_document(self) -> dict[str, Json]:
        """Return the document that Flash hashes for this class."""
        return flash_dump.of(self)

    def changed_fields(self, other: ServerlessResource) -> tuple[str, ...]:
        """Return the names of `config_document` whose values differ; lists are compared as sets."""
        before, after = self.config_document(), other.config_document()
        names = sorted(before.keys() | after.keys())
        return tuple(name for name in names if _unordered(before.get(name)) != _unordered(after.get(name)))

    def change_effect(self, other: ServerlessResource) -> Effect | None:
        """Return the gravest effect of a change to another configuration; None if the two are the same."""
        effects = [endpoint_fields.effect(name) for name in self.changed_fields(other)]
        return endpoint_fields.worst(effects if self.FAMILY is other.FAMILY else [*effects, Effect.REPLACE])

    def has_structural_changes(self, other: ServerlessResource) -> bool:
        """Return True if a change to another configuration replaces workers or the whole endpoint."""
        return self.change_effect(other) in (Effect.ROLLING, Effect.REPLACE)

    def _has_structural_changes(self, new_config: ServerlessResource) -> bool:
        """Answer under the name that Flash's own tests use."""
        return self.has_structural_changes(new_config)

    # -- serialisation that takes members and texts alike

    @field_serializer("scalerType", "type", "minCudaVersion")
    def _serialize_word(self, value: Any) -> Any:  # noqa: ANN401
        return str(value) if isinstance(value, str) else value

    @field_serializer("datacenter", "instanceIds", "gpus", "cudaVersions")
    def _serialize_words(self, value: Any) -> Any:  # noqa: ANN401
        if value is None:
            return None
        return [str(item) for item in value] if isinstance(value, list | tuple) else str(value)


def _unordered(value: Json) -> Json:
    return sorted(map(repr, value)) if isinstance(value, list) else value


config.prepare(ServerlessResource)


class ServerlessEndpoint(ServerlessResource):
    """A queue endpoint on GPUs; it needs an image, a template, or the id of one."""

    NEEDS_IMAGE: ClassVar[bool] = True
