"""The live resource of a declaration: its id, its type, and the API version of its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.provider import InputError, Json, Target
from holdfast.providers.azure import ids, references, type_catalog
from holdfast.providers.azure.settings import Account
from holdfast.providers.azure.type_catalog import Habits, Scope

_SUBSCRIPTION: Final = "name an owner, or give the connection a `subscription`"


@dataclass(frozen=True, slots=True)
class ResourceLocation:
    """The location of a resource that exists or is to be created."""

    id: str
    type: str
    api_version: str
    habits: Habits

    @property
    def label(self) -> str:
        """The name of the resource in messages: its type and name only."""
        return f"{self.type} {ids.parse(self.id).name}"


def place(target: Target, account: Account) -> ResourceLocation:
    """Return the place of a target; raise InputError with the missing field."""
    desired = target.desired
    named = type_catalog.named(target.kind)
    type_ = references.type_of(target.kind, desired)
    if target.id is not None:
        type_ = ids.parse(target.id).type if named is None or type_ is None else type_
    if type_ is None:
        raise InputError("a declaration of kind Resource needs its type: {type: Microsoft.Maps/accounts, ...}")
    version = target.version or _version(desired, named, type_)
    habits = account.types[type_]
    ident = target.id if target.id is not None else _ident(target, type_, habits, account)
    return ResourceLocation(ident, type_, version, habits)


def _version(desired: Mapping[str, Json], named: type_catalog.Named | None, type_: str) -> str:
    said = desired.get("apiVersion")
    if said is not None and (not isinstance(said, str) or not said):
        raise InputError('apiVersion must be a text, in quotes: "2023-01-01"')
    if said is not None:
        return str(said)
    if named is None:
        kind = type_catalog.kind_of(type_.casefold())
        named = type_catalog.named(kind) if kind is not None else None
    if named is None or not ids.same(named.type, type_):
        raise InputError(f'no API version is known for {type_}; declare one: apiVersion: "2023-01-01"')
    return named.api_version


def _ident(target: Target, type_: str, habits: Habits, account: Account) -> str:
    name = target.desired.get("azureName", target.name)
    owner = target.desired.get("owner")
    if owner is None:
        owner = _default_owner(type_, habits, account)
    if not isinstance(name, str) or not isinstance(owner, str):
        raise InputError("owner and azureName must be texts, or owner one of the forms of a reference")
    if owner and not ids.is_id(owner):
        raise InputError(f"the owner {owner!r} is not a resource id")
    return ids.within(owner, type_, name)


def _default_owner(type_: str, habits: Habits, account: Account) -> str:
    if habits.scope is Scope.TENANT:
        return ""
    if account.subscription is None:
        raise InputError(_SUBSCRIPTION)
    subscription = f"/subscriptions/{account.subscription}"
    if habits.scope is Scope.SUBSCRIPTION:
        return subscription
    if type_.count("/") > 1:
        raise InputError(f"a {type_} needs its parent: owner: {{kind: ..., name: ...}}")
    if account.group is None:
        raise InputError("name an owner, or give the connection a `resource_group`")
    return f"{subscription}/resourceGroups/{account.group}"
