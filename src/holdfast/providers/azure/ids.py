r"""Resource ids: taking them apart, putting them together, and telling when two mean the same.

    /subscriptions/S/resourceGroups/RG/providers/Microsoft.Network/virtualNetworks/V/subnets/A
    \_____________scope______________/          \_____type, with a name after each part____/

An id is split at the *last* `/providers/`, because the scope of an extension resource is an id itself. Azure compares
ids without regard to case and often answers in another case than it was asked in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.providers import url_paths

RESOURCE_GROUPS: Final = "Microsoft.Resources/resourceGroups"
SUBSCRIPTIONS: Final = "Microsoft.Resources/subscriptions"
TENANT: Final = "Microsoft.Resources/tenants"

_SUBSCRIPTION = re.compile(r"/subscriptions/([^/]+)", re.IGNORECASE)
_GROUP = re.compile(r"(/subscriptions/[^/]+)/resourcegroups/([^/]+)", re.IGNORECASE)
_PROVIDERS: Final = "/providers/"
_SAFE: Final = "-._~!$&'()*+,;=:@"  # what may stand in a path as it is


@dataclass(frozen=True, slots=True)
class ArmId:
    """An id, taken apart; `str()` puts it together as it was written."""

    scope: str  # what it lies in, without a slash at the end; empty for the tenant
    type: str  # namespace and all parts of the type
    names: tuple[str, ...]  # one for each part of the type

    def __str__(self) -> str:
        if same(self.type, RESOURCE_GROUPS):
            return f"{self.scope}/resourceGroups/{self.names[0]}"
        if same(self.type, SUBSCRIPTIONS):
            return f"/subscriptions/{self.names[0]}"
        namespace, *parts = self.type.split("/")
        steps = (f"{part}/{name}" for part, name in zip(parts, self.names, strict=True))
        return f"{self.scope}{_PROVIDERS}{namespace}/{'/'.join(steps)}"

    @property
    def name(self) -> str:
        """The name of the thing itself, without those of what it stands in."""
        return self.names[-1]

    @property
    def parent(self) -> str:
        """The id of what it belongs to: a parent resource, else what it lies in; empty for the tenant."""
        if len(self.names) == 1:
            return self.scope
        return str(ArmId(self.scope, self.type.rpartition("/")[0], self.names[:-1]))

    @property
    def subscription(self) -> str | None:
        """The subscription it is in, if it is in one."""
        found = _SUBSCRIPTION.match(str(self))
        return found[1] if found else None


def parse(text: str) -> ArmId:
    """Take an id apart; raise InputError if it is not one."""
    plain = text.rstrip("/")
    scope, mark, rest = _split(plain)
    if not mark:
        return _scope(text, plain)
    namespace, *steps = rest.split("/")
    types, names = steps[::2], steps[1::2]
    if not namespace or not types or len(types) != len(names) or not all(steps):
        raise InputError(f"{text!r} is not a resource id; write /subscriptions/.../providers/Namespace/type/name")
    if scope and not scope.startswith("/"):
        raise InputError(f"{text!r} is not a resource id: it must begin with a slash")
    return ArmId(scope, "/".join((namespace, *types)), tuple(names))


def _split(text: str) -> tuple[str, str, str]:
    place = text.lower().rfind(_PROVIDERS)
    return (text, "", "") if place < 0 else (text[:place], _PROVIDERS, text[place + len(_PROVIDERS) :])


def _scope(text: str, plain: str) -> ArmId:
    group = _GROUP.fullmatch(plain)
    if group:
        return ArmId(group[1], RESOURCE_GROUPS, (group[2],))
    subscription = _SUBSCRIPTION.fullmatch(plain)
    if subscription:
        return ArmId("", SUBSCRIPTIONS, (subscription[1],))
    raise InputError(f"{text!r} is not a resource id; write /subscriptions/.../providers/Namespace/type/name")


def is_id(text: str) -> bool:
    """Return True if a text is a resource id."""
    try:
        parse(text)
    except InputError:
        return False
    return True


def canonical(text: str) -> str:
    """Return the one spelling that all spellings of an id share."""
    return unquote(text).rstrip("/").casefold()


def same(one: str, other: str) -> bool:
    """Return True if two ids, or two types, are the same."""
    return canonical(one) == canonical(other)


def may_be(body: Mapping[str, Json], ident: str) -> bool:
    """Return True if a body may be about what has an id: it bears its name, or at least looks like a resource.

    By the name alone, because some types show the id in other words, or that of what they belong to.
    """
    wanted = _last(ident)
    told = [_last(value) for value in (body.get("id"), body.get("name")) if isinstance(value, str)]
    return wanted in told if told else "properties" in body


def _last(ident: str) -> str:
    return canonical(ident).rpartition("/")[2]


def within(owner: str, type_: str, name: str) -> str:
    """Return the id of a thing of a type below its owner; raise InputError if it cannot stand there.

    The owner is a parent resource, a resource group, a subscription, the tenant (an empty text), or, for an extension,
    any resource. A name of several parts (`vault/default`) names what lies between the owner and the thing as well.
    """
    owner = owner.rstrip("/")
    parts = tuple(name.split("/"))
    if same(type_, RESOURCE_GROUPS):
        if not _SUBSCRIPTION.fullmatch(owner) or len(parts) > 1:
            raise InputError(f"a resource group stands in a subscription, not in {owner or 'the tenant'}")
        return str(ArmId(owner, RESOURCE_GROUPS, parts))
    segments = type_.split("/")[1:]
    above = _above(owner, type_)
    missing = len(segments) - len(above)
    if not segments or len(parts) != missing or not all(parts):
        raise InputError(_misplaced(owner, type_, name, missing))
    if above:
        tail = "/".join(f"{segment}/{part}" for segment, part in zip(segments[len(above) :], parts, strict=True))
        return f"{owner}/{tail}"
    return str(ArmId(owner, type_, parts))


def _above(owner: str, type_: str) -> tuple[str, ...]:
    """Return the parts of the type that the owner's own type stands for; none if the owner is no parent of it."""
    if not owner or not is_id(owner):
        return ()
    theirs = parse(owner).type
    is_parent = type_.casefold().startswith(f"{theirs.casefold()}/")
    return tuple(theirs.split("/")[1:]) if is_parent else ()


def _misplaced(owner: str, type_: str, name: str, missing: int) -> str:
    where = owner or "the tenant"
    if missing > 1:
        parts = "/".join(type_.split("/")[-missing:])
        return f"a {type_} called {name!r} cannot stand in {where}: name its parent as owner, or each of {parts}"
    return f"a {type_} cannot be called {name!r} in {where}"


def url_path(ident: str) -> str:
    """Return an id as it may stand in the path of a URL; what is percent-encoded already stays so."""
    return url_paths.path(unquote(ident), _SAFE)
