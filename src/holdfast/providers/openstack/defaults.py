"""Defaults of a declaration, and its fields in the spelling of the service.

A managed resource that we create has the name of its manifest. Where the meaning of absence is documented (an empty
description, no tags, up) absence is declared, and a change from outside is reverted. An imported or observed resource
is compared only with its declared fields.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from holdfast.model.absent import ABSENT
from holdfast.provider import Draft, InputError, Json, Location
from holdfast.providers.openstack import naming
from holdfast.providers.openstack.kind_definition import NAME, KindDefinition


def complete(thing: KindDefinition, draft: Draft) -> dict[str, Json]:
    """Return the declaration in full, in the service's spelling; raise InputError for a field that there is not."""
    refuse_unknown(thing, draft.desired)
    out = dict(draft.desired)
    for sub in thing.subs:
        if sub.name in out:
            out[sub.name] = sub.normal(out[sub.name])
    if draft.is_ours:
        _fill(thing, draft, out)
    return out


def refuse_unknown(thing: KindDefinition, desired: Mapping[str, Json]) -> None:
    """Raise InputError, with the field as its place, if something is declared that a kind does not have."""
    for name in desired:
        if name not in thing.names:
            near = difflib.get_close_matches(naming.camel(name), thing.names, n=1)
            guess = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(thing.names)}"
            raise InputError(f"a {thing.kind} has no field {name!r}; {guess}", Location(field=f"/{name}"))


def _fill(thing: KindDefinition, draft: Draft, out: dict[str, Json]) -> None:
    usual = [(field.name, field.default) for field in thing.fields] + [(sub.name, sub.default) for sub in thing.subs]
    for name, default in usual:
        if default is not ABSENT and name not in out:
            out[name] = live_name(draft.name, draft.namespace) if default == NAME else default


def live_name(name: str, namespace: str | None) -> str:
    """Return the default name of a resource, with its namespace, because one project may hold several."""
    return f"{name}@{namespace}" if namespace else name
