"""What a declaration leaves unsaid, and what it says in another spelling than the service.

A managed resource that we make is called what its manifest calls it, and where the meaning of absence is documented
(an empty description, no tags, up) absence is declared: somebody else's change of it is reverted. Something that is
imported, or only observed, is held to what its declaration says and to nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from holdfast.errors import InputError, Location
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.providers.openstack import naming
from holdfast.providers.openstack.kind_definition import NAME, Thing
from holdfast.providers.protocol import Draft


def complete(thing: Thing, draft: Draft) -> dict[str, Json]:
    """Return the declaration in full, in the service's spelling; raise InputError for a field that there is not."""
    refuse_unknown(thing, draft.desired)
    out = dict(draft.desired)
    for sub in thing.subs:
        if sub.name in out:
            out[sub.name] = sub.normal(out[sub.name])
    if draft.is_ours:
        _fill(thing, draft, out)
    return out


def refuse_unknown(thing: Thing, desired: Mapping[str, Json]) -> None:
    """Raise InputError, with the field as its place, if something is declared that a kind does not have."""
    for name in desired:
        if name not in thing.names:
            near = difflib.get_close_matches(naming.camel(name), thing.names, n=1)
            guess = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(thing.names)}"
            raise InputError(f"a {thing.kind} has no field {name!r}; {guess}", Location(field=f"/{name}"))


def _fill(thing: Thing, draft: Draft, out: dict[str, Json]) -> None:
    usual = [(each.name, each.default) for each in thing.fields] + [(sub.name, sub.default) for sub in thing.subs]
    for name, default in usual:
        if default is not ABSENT and name not in out:
            out[name] = live_name(draft.name, draft.namespace) if default == NAME else default


def live_name(name: str, namespace: str | None) -> str:
    """Return what a thing is called that is not given a name: with its namespace, as one project may hold several."""
    return f"{name}@{namespace}" if namespace else name
