"""Declarations made from objects, including the objects they refer to. Strings of objects are taken literally."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from holdfast.errors import InputError
from holdfast.manifests.resources import GROUP, VERSION
from holdfast.manifests.secrets import Secret, Unwatched
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration, Import
from holdfast.model.resource_spec import Outline, ResourceSpec, SpecContext
from holdfast.policy import references
from holdfast.schema.fields import name_problem
from holdfast.store.state import ResourceState

ACCOUNT = "python.holdfast.dev/account"
STAMP = "python.holdfast.dev/stamp"


@dataclass(frozen=True, slots=True)
class ObjectOptions:
    """The connection, account and environment of resources, and the options that govern them."""

    connection: str
    provider: str
    account: str | None
    environment: str | None
    key: bytes = field(repr=False)
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A placeholder in a document for the id of another resource, kept until all other strings are escaped."""

    text: str


@dataclass(slots=True)
class ObjectDeclarations:
    """The declarations of some objects and of everything they refer to."""

    place: ObjectOptions
    declarations: dict[Address, Declaration] = field(default_factory=dict)
    outlines: dict[Address, Outline] = field(default_factory=dict)
    _means: SpecContext = field(init=False)

    def __post_init__(self) -> None:
        self._means = SpecContext(Secret, Unwatched, self._refer, self.place.key, self.place.environment)

    def sketch(self, thing: ResourceSpec) -> tuple[Address, Outline]:
        """Return the address and the outline of an object, without building its document."""
        if provider_of(thing) != self.place.provider:
            raise InputError(f"{type(thing).__name__} is no resource that {self.place.provider} could deploy")
        outline = thing.outline(self._means)
        return self._address(outline), outline

    def add(self, thing: ResourceSpec) -> Address:
        """Declare an object. Raise InputError if it is invalid, or if its address has a different declaration."""
        address, outline = self.sketch(thing)
        declaration = self._declaration(address, outline)
        if self.declarations.setdefault(address, declaration) != declaration:
            raise InputError(f"{address} is declared twice, and not alike")
        self.outlines[address] = outline
        return address

    def _refer(self, thing: ResourceSpec) -> _Reference:
        return _Reference(f"${{{self.add(thing)}.id}}")

    def _address(self, outline: Outline) -> Address:
        environment = self.place.environment or outline.environment
        for part in (outline.name, *([environment] if environment else ())):
            trouble = name_problem(part)
            if trouble:
                raise InputError(f"the name {part!r} {trouble}")
        return Address(self.place.connection, outline.kind, outline.name, environment)

    def _declaration(self, address: Address, outline: Outline) -> Declaration:
        provider = self.place.provider
        return Declaration(
            address,
            provider,
            f"{provider}.{GROUP}/{VERSION}",
            {name: written(value) for name, value in outline.desired().items()},
            labels=self.labels(outline),
            options=_joined(outline.options, self.place.options),
        )

    def labels(self, outline: Outline) -> dict[str, str]:
        """Return the labels to store beside the document: those of the object, its stamp and its account."""
        account = {ACCOUNT: self.place.account} if self.place.account else {}
        return {**outline.labels, STAMP: outline.stamp, **account}

    def known(self, states: Mapping[Address, ResourceState]) -> list[Declaration]:
        """Return the declarations, matched with stored states. Raise InputError if id or account differ."""
        return [self._known(declaration, states.get(declaration.address)) for declaration in self.declarations.values()]

    def _known(self, declaration: Declaration, state: ResourceState | None) -> Declaration:
        ident, address = self.outlines[declaration.address].id, declaration.address
        if state is None or state.observed.provider_id is None:
            return declaration if ident is None else replace(declaration, import_from=Import(id=ident))
        insist_on_account(state, self.place.account)
        if ident is not None and ident != state.observed.provider_id:
            raise InputError(
                f"{address} is {state.observed.provider_id}, not {ident}; undeploy the one before taking the other"
            )
        return declaration


def provider_of(thing: object) -> str:
    """Return the provider that an object names. Raise InputError if the object is not a resource."""
    found = getattr(thing, "PROVIDER", None)
    if not isinstance(found, str) or not hasattr(thing, "outline"):  # faster than isinstance with the protocol
        raise InputError(f"{type(thing).__name__} is no resource that could be deployed")
    return found


def insist_on_account(state: ResourceState, account: str | None) -> None:
    """Raise InputError if a resource was deployed in another account, because it would look deleted in this one."""
    before = state.declared.labels.get(ACCOUNT)
    if before is not None and account is not None and before != account:
        message = f"it was deployed in the account {before}, and the key of this connection opens {account}"
        raise InputError(f"{state.address}: {message}; declare a connection for each account")


def written(value: Json) -> Json:
    """Return a value of an object in declaration syntax. A string that looks like a reference is escaped."""
    if isinstance(value, str):
        return references.escape(str(value))
    if isinstance(value, _Reference):
        return value.text
    if isinstance(value, Mapping):
        return {name: written(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    return value


def _joined(of_class: Mapping[str, Json], of_manager: Mapping[str, Json]) -> dict[str, Json]:
    """Return the options of the class overridden by those of the manager. Options that are mappings are merged."""
    out = {**of_class, **of_manager}
    for name, value in of_class.items():
        if isinstance(value, Mapping) and isinstance(of_manager.get(name), Mapping):
            out[name] = {**value, **of_manager[name]}
    return out


def remembered(state: ResourceState, document: Json) -> Declaration:
    """Return the declaration of a resource that will be deleted, rebuilt from its stored state."""
    desired: Sequence[tuple[str, Json]] = list(document.items()) if isinstance(document, Mapping) else []
    return Declaration(
        state.address,
        state.declared.provider,
        f"{state.declared.provider}.{GROUP}/{VERSION}",
        {name: written(value) for name, value in desired},
        labels=state.declared.labels,
    )
