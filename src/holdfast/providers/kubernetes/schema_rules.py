"""Rules of a kind; replaced by the branch k8scompare."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.compare import profiles
from holdfast.compare.profiles import Profile
from holdfast.model.json import Json
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind

_PROFILE = """
profile: kubernetes/general
version: 1
applies: {provider: kubernetes}
rules:
  - {path: /status, class: runtime}
  - {path: /metadata/uid, class: read_only}
  - {path: /metadata/resourceVersion, class: read_only}
  - {path: /metadata/generation, class: read_only}
  - {path: /metadata/creationTimestamp, class: read_only}
  - {path: /metadata/selfLink, class: read_only}
  - {path: /metadata/owners, class: read_only}
  - {path: /metadata/ownerReferences, class: runtime}
  - {path: /metadata/managedFields, class: read_only}
  - {path: /metadata/annotations/holdfast.dev~1*, class: behavioural}
  - {path: /metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration, class: runtime}
  - {path: /metadata/annotations/deployment.kubernetes.io~1revision, class: runtime}
"""


def rules_for(kind: GroupVersionKind, openapi: Mapping[str, Json] | None) -> tuple[Profile, ...]:  # noqa: ARG001
    """Return the profiles of a kind."""
    return tuple(profiles.parse(_PROFILE))
