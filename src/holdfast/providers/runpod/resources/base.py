"""The base of all RunPod resources: strict about declarations, lenient about answers of the service.

A misspelt field is an error that names the field it was meant to be, at construction and at assignment. A document
read from the service goes through `from_server`, which drops fields nobody here knows and lets unknown words pass: the
service learns new ones before we do, and a read must never break on that.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core.core_schema import ValidationInfo

from holdfast.model.json import Json
from holdfast.model.resource_spec import Outline, SpecContext
from holdfast.providers.runpod import hashing
from holdfast.providers.runpod.hashing import DEFAULT_KEY, EnvPolicy

SERVER: Mapping[str, bool] = {"from_server": True}
"""The validation context of documents read from the service."""


def is_from_server(info: ValidationInfo) -> bool:
    """Return True if a document being validated came from the service."""
    return isinstance(info.context, Mapping) and bool(info.context.get("from_server"))


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Return `; did you mean X?`, or nothing."""
    plain = {option.casefold().replace("_", ""): option for option in options}
    found = difflib.get_close_matches(word.casefold().replace("_", ""), plain, n=1)
    return f"; did you mean {plain[found[0]]}?" if found else ""


class BaseResource(BaseModel):
    """A thing of RunPod's; assignment is plain, so nothing is checked again until it is used."""

    model_config = ConfigDict(extra="forbid", defer_build=True, validate_by_name=True)

    PROVIDER: ClassVar[str] = "runpod"
    KIND: ClassVar[str] = ""
    ENV_POLICY: ClassVar[EnvPolicy] = EnvPolicy.MANAGED
    """Whether the environment counts as configuration. The design Flash was built from says it does not; set
    `EnvPolicy.IGNORE` on a class, or on this one for all, to have it so."""

    id: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, data: Json, info: ValidationInfo) -> Json:
        if not isinstance(data, Mapping):
            return data
        if is_from_server(info):
            return {name: value for name, value in data.items() if name in cls.model_fields}
        for name in data:
            if name not in cls.model_fields:
                raise ValueError(f"{cls.__name__} has no field {name!r}{did_you_mean(name, cls.model_fields)}")
        return data

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401 - whatever is assigned
        if name not in type(self).model_fields and not name.startswith("_"):
            hint = did_you_mean(name, type(self).model_fields)
            raise AttributeError(f"{type(self).__name__} has no field {name!r}{hint}")
        super().__setattr__(name, value)

    @classmethod
    def from_server(cls, document: Mapping[str, Json]) -> Self:
        """Read what the service returned; fields and words that are not known do no harm."""
        return cls.model_validate(dict(document), context=dict(SERVER))

    def config_document(self, key: bytes = DEFAULT_KEY) -> dict[str, Json]:
        """Return the configuration as a plain document, every spelling settled; equal ones mean the same.

        `key` makes the fingerprint of the environment.
        """
        raise NotImplementedError

    def flash_document(self) -> dict[str, Json]:
        """Return the document that Flash hashes."""
        raise NotImplementedError

    @property
    def config_hash(self) -> str:
        """The stamped hash of the configuration, `runpod-config/1:sha256:...`; computed anew each time."""
        return hashing.stamp(self.config_document())

    def config_hash_with(self, key: bytes) -> str:
        """Return `config_hash` with the environment fingerprinted under a key that others do not have."""
        return hashing.stamp(self.config_document(key))

    @property
    def flash_hash(self) -> str:
        """The hash Flash would have stored: 32 hex digits. For recognising its stamps, not for new ones."""
        wrapped = {"class": type(self).__name__, "config": self.flash_document()}
        return hashing.flash_digest(wrapped).removeprefix("md5:")

    def outline(self, means: SpecContext) -> Outline:
        """Return the outline of the resource; see `declaration`."""
        from holdfast.providers.runpod import declaration  # noqa: PLC0415 - it knows the classes, which know this one

        return declaration.outline(self, means)

    def has_stamp(self, stamp: str) -> bool:
        """Return True if a stamp is of this configuration: ours, or the 32 digits that Flash keeps."""
        plain = stamp.removeprefix(f"{hashing.FLASH.id}:").removeprefix("md5:")
        return stamp == self.config_hash or plain == self.flash_hash

    def deployed(self, ident: str) -> Self:
        """Return a copy that knows its id."""
        return self.model_copy(update={"id": ident}, deep=True)

    def get_resource_key(self) -> str:
        """Return the key under which Flash tracks this: the class and the name."""
        return f"{type(self).__name__}:{getattr(self, 'name', None) or self.id or ''}"
