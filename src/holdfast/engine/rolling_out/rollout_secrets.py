"""No secret in the records of templates: what is kept of their content is what was written, so it must be a reference.

Children are made from kept content, so a fingerprint in its place would not do. What a reference stands for is fetched
when a child is written, and never kept.
"""

from __future__ import annotations

from holdfast.compare import paths
from holdfast.engine.prepared import Prepared
from holdfast.errors import InputError
from holdfast.manifests import secrets
from holdfast.model.absent import ABSENT
from holdfast.plan.rolling_out import template_rendering
from holdfast.plan.rolling_out.broods import Brood, ChildFile


def refuse_clear(brood: Brood, child: ChildFile, item: Prepared) -> None:
    """Raise InputError for a value of a template that is a secret by the rules of its kind, and stands in clear."""
    content = template_rendering.content(brood, child)
    referred = {pointer for pointer, _ in secrets.find(content)}
    for path in item.secrets:
        written = paths.resolve(content, path)
        if written is ABSENT or path in referred or (isinstance(written, str) and "${" in written):
            continue
        message = (
            f"{paths.format_path(path)} is a secret, and template {brood.template.name} has it in clear; "
            "what a template says is kept as written, so write a secretRef"
        )
        raise InputError(message, brood.template.location)
