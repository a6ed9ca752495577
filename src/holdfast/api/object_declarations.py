"""From objects to declarations: what they refer to comes with them, and every text of theirs stands for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.errors import InputError
from holdfast.manifests.resources import GROUP, VERSION
from holdfast.manifests.secrets import Secret, Unwatched
from holdfast.manifests.validation import name_trouble
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, Import
from holdfast.model.resource_spec import Outline, ResourceSpec, SpecContext
from holdfast.policy import references
from holdfast.store.state import ResourceState

ACCOUNT = "python.holdfast.dev/account"
STAMP = "python.holdfast.dev/stamp"


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are to be: the connection, whose it is, the environment; and what governs them there."""

    connection: str
    provider: str
    account: str | None
    environment: str | None
    key: bytes = field(repr=False)
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Reference:
    """Stands in a document for the id of another resource, until texts have been made to stand for themselves."""

    text: str


@dataclass(slots=True)
class Draft:
    """The declarations of some objects and of everything they refer to."""

    place: Place
    declarations: dict[Address, Declaration] = field(default_factory=dict)
    outlines: dict[Address, Outline] = field(default_factory=dict)
    _means: SpecContext = field(init=False)

    def __post_init__(self) -> None:
        self._means = SpecContext(Secret, Unwatched, self._refer, self.place.key, self.place.environment)

    def sketch(self, thing: ResourceSpec) -> tuple[Address, Outline]:
        """Say what an object is about, without its document."""
        if provider_of(thing) != self.place.provider:
            raise InputError(f"{type(thing).__name__} is no resource that {self.place.provider} could deploy")
        outline = thing.outline(self._means)
        return self._address(outline), outline

    def add(self, thing: ResourceSpec) -> Address:
        """Declare an object; raise InputError if it cannot be, or if another of that name says something else."""
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
            trouble = name_trouble(part)
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
        """Return what is remembered beside the document: what it was made from, and whose it is."""
        account = {ACCOUNT: self.place.account} if self.place.account else {}
        return {**outline.labels, STAMP: outline.stamp, **account}

    def known(self, states: Mapping[Address, ResourceState]) -> list[Declaration]:
        """Return the declarations in the light of what is remembered; raise InputError where the two do not agree."""
        return [self._known(each, states.get(each.address)) for each in self.declarations.values()]

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
    """Return the provider that an object names; raise InputError if it is no resource at all."""
    found = getattr(thing, "PROVIDER", None)
    if not isinstance(found, str) or not hasattr(thing, "outline"):  # quicker than to ask the protocol
        raise InputError(f"{type(thing).__name__} is no resource that could be deployed")
    return found


def insist_on_account(state: ResourceState, account: str | None) -> None:
    """Refuse to take another account for the one that a resource is in: there it would look as if it were gone."""
    before = state.declared.labels.get(ACCOUNT)
    if before is not None and account is not None and before != account:
        message = f"it was deployed in the account {before}, and the key of this connection opens {account}"
        raise InputError(f"{state.address}: {message}; declare a connection for each account")


def written(value: Json) -> Json:
    """Return a value of an object as a declaration has it: a text that looks like a reference is none."""
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
    """Return the options of a manager before those that suit the class; what is said of single paths is joined."""
    out = {**of_class, **of_manager}
    for name, value in of_class.items():
        if isinstance(value, Mapping) and isinstance(of_manager.get(name), Mapping):
            out[name] = {**value, **of_manager[name]}
    return out


def remembered(state: ResourceState, document: Json) -> Declaration:
    """Return the declaration of something that is to go, from what is remembered of it."""
    desired: Sequence[tuple[str, Json]] = list(document.items()) if isinstance(document, Mapping) else []
    return Declaration(
        state.address,
        state.declared.provider,
        f"{state.declared.provider}.{GROUP}/{VERSION}",
        {name: written(value) for name, value in desired},
        labels=state.declared.labels,
    )
