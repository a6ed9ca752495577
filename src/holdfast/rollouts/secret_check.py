"""No secret in the records of templates: what is kept of their content is what was written, so it must be a reference.

Children are made from kept content, so a fingerprint in its place would not do. What a reference stands for is fetched
when a child is written, and never kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.compare import paths
from holdfast.errors import InputError
from holdfast.manifests import secrets
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.rollouts.core import rendering
from holdfast.rollouts.core.template_groups import ChildRecord, TemplateGroup
from holdfast.rollouts.core.templates import Template


def refuse_clear(group: TemplateGroup, child: ChildRecord, item: ResolvedResource) -> None:
    """Raise InputError for a value of a template that is a secret by the rules of its kind, and stands in clear."""
    giving = [each.template for each in reversed(group.owners) if each.template.address is None]
    _refuse(rendering.content(group, child), item, giving)


def refuse_clear_part(part: Template, item: ResolvedResource) -> None:
    """Do the same for a part that is a resource of its own: no child has it, but it is kept, too."""
    _refuse(dict(part.content), item, [part])


def _refuse(content: Json, item: ResolvedResource, giving: Sequence[Template]) -> None:
    referred = {pointer for pointer, _ in secrets.find(content)}
    for path in item.secrets.paths:
        written = paths.resolve(content, path)
        if written is ABSENT or path in referred or (isinstance(written, str) and "${" in written):
            continue
        found = (each for each in giving if paths.resolve(dict(each.content), path) is not ABSENT)
        template = next(found, giving[0])
        message = (
            f"{paths.format_path(path)} is a secret, and template {template.name} has it in clear; "
            "what a template says is kept as written, so write a secretRef"
        )
        raise InputError(message, template.place(("spec", "resource", *path)))
