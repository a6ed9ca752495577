"""The name of a kind: its API group, version and kind."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.errors import InputError


@dataclass(frozen=True, slots=True)
class GroupVersionKind:
    """A kind of one API version; the group of the core kinds is empty."""

    group: str
    version: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> GroupVersionKind:
        """Return the kind of a text such as `apps/v1/Deployment` or `v1/Service`; raise InputError if it is none."""
        parts = text.split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise InputError(f"{text!r} is not a kind: write version/Kind or group/version/Kind, as apps/v1/Deployment")
        return cls("" if len(parts) == 2 else parts[0], parts[-2], parts[-1])

    @property
    def api_version(self) -> str:
        """Return the `apiVersion` of its manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}"
