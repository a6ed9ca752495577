"""The GraphQL door: its queries, and the shape of its answers.

An error is HTTP 200 with `errors`, except for malformed requests, which are 400. A request without a key gets a
`myself` that is null, and 200.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.model.json import Json
from holdfast_emulators.runpod import graphql_parser, graphql_save, respelling
from holdfast_emulators.runpod.graphql_parser import Operation, Selection
from holdfast_emulators.runpod.objects import (
    Access,
    Account,
    Endpoint,
    Environment,
    Key,
    MalformedError,
    RefusedError,
    Template,
)
from holdfast_emulators.runpod.service import World

Document = dict[str, Json]
Resolver = Callable[[Mapping[str, Json]], Json]


@dataclass(slots=True)
class Caller:
    """The caller of a request. An account of None is a caller without a key."""

    world: World
    account: Account | None
    key: Key | None

    @property
    def by(self) -> str:
        """The name that releases will carry."""
        return self.key.user if self.key is not None else ""


def execute(caller: Caller, text: str, variables: Mapping[str, Json]) -> tuple[int, Document]:
    """Answer a request: a status and a body."""
    try:
        operation = graphql_parser.parse(text, variables)
        return 200, {"data": _run(caller, operation)}
    except graphql_parser.SyntaxWrongError as error:
        return 400, _errors(str(error))
    except RefusedError as error:
        status = 400 if isinstance(error, MalformedError) else 403 if error.status == 403 else 200
        return status, _errors(error.detail)


def field_of(text: str) -> str:
    """Name the first field a request asks for, which is how the journal calls it; empty if it cannot be read."""
    try:
        return graphql_parser.parse(text, {}).selections[0].name
    except (graphql_parser.SyntaxWrongError, IndexError):
        return ""


def _errors(message: str) -> Document:
    return {"errors": [{"message": message}], "data": None}


def _run(caller: Caller, operation: Operation) -> Document:
    doors: dict[str, Resolver] = _queries(caller) if operation.kind == "query" else _mutations(caller)
    if operation.kind == "mutation" and caller.key is not None and caller.key.access is Access.READ:
        raise RefusedError(403, "access denied")
    out: Document = {}
    for selection in operation.selections:
        if selection.name not in doors:
            raise MalformedError(f'Cannot query field "{selection.name}" on type "{operation.kind.capitalize()}".')
        out[selection.alias] = _shaped(doors[selection.name](selection.arguments), selection, selection.name)
    return out


def _shaped(value: Json, selection: Selection, kind: str) -> Json:
    """Return the requested fields of a value. A request for an unknown field is a mistake."""
    if isinstance(value, list):
        return [_shaped(item, selection, kind) for item in value]
    if not isinstance(value, dict):
        return value
    out: Document = {}
    for wanted in selection.below:
        if wanted.name not in value:
            raise MalformedError(f'Cannot query field "{wanted.name}" on type "{kind}".')
        found = value[wanted.name]
        out[wanted.alias] = _shaped(found(wanted.arguments) if callable(found) else found, wanted, wanted.name)
    return out


# -- reading


def _queries(caller: Caller) -> dict[str, Resolver]:
    return {
        "myself": lambda _: _myself(caller),
        "podTemplate": lambda arguments: _pod_template(caller, arguments["id"]),
        "flashAppByName": lambda arguments: _app(_signed_in(caller), arguments["flashAppName"]),
        "flashEnvironmentByName": lambda arguments: _environment_by_name(caller, arguments["input"]),
        "flashEnvironment": lambda arguments: _environment(caller, arguments["flashEnvironmentId"]),
    }


def _myself(caller: Caller) -> Json:
    account = caller.account
    if account is None:
        return None
    world = caller.world
    return {
        "id": account.user,
        "endpoint": lambda arguments: _endpoint(caller, arguments["id"]),
        "endpoints": lambda _: [
            endpoint_view(account, *shown) for shown in world.seen_endpoints(account)[: world.habits.graphql_cap]
        ],
        "podTemplates": lambda _: [template_view(template) for template in account.templates.values()],
        "networkVolumes": lambda _: [
            {"id": volume.id, "name": volume.name, "size": volume.size, "dataCenterId": volume.data_centre}
            for volume in world.seen_volumes(account)
        ],
        "flashApps": lambda _: [_app(account, name) for name in account.apps.values()],
    }


def _signed_in(caller: Caller) -> Account:
    if caller.account is None:
        raise RefusedError(403, "access denied")
    return caller.account


def _endpoint(caller: Caller, ident: str) -> Json:
    account = _signed_in(caller)
    shown = caller.world.seen_endpoint(account, ident)
    return endpoint_view(account, *shown) if shown is not None else None


def _pod_template(caller: Caller, ident: str) -> Json:
    template = caller.world.seen_template(_signed_in(caller), ident)
    return template_view(template) if template is not None else None


def _app(account: Account, name: str) -> Json:
    ident = next((ident for ident, known in account.apps.items() if known == name), None)
    if ident is None:
        return None
    environments = [
        _environment_view(account, environment)
        for environment in account.environments.values()
        if environment.app == ident
    ]
    return {"id": ident, "name": name, "flashEnvironments": environments, "flashBuilds": []}


def _environment_by_name(caller: Caller, wanted: Mapping[str, Json]) -> Json:
    account = _signed_in(caller)
    for environment in account.environments.values():
        if environment.name == wanted["name"] and environment.app == wanted["flashAppId"]:
            return _environment_view(account, environment)
    return None


def _environment(caller: Caller, ident: str) -> Json:
    account = _signed_in(caller)
    found = account.environments.get(ident)
    return _environment_view(account, found) if found is not None else None


def _environment_view(account: Account, environment: Environment) -> Document:
    inside = [
        endpoint for endpoint in account.endpoints.values() if endpoint.fields["flashEnvironmentId"] == environment.id
    ]
    return {
        "id": environment.id,
        "name": environment.name,
        "state": "HEALTHY",
        "activeBuildId": None,
        "createdAt": None,
        "endpoints": [{"id": item.id, "name": item.fields["name"]} for item in inside],
        "networkVolumes": [],
    }


def endpoint_view(account: Account, endpoint: Endpoint, template: Template) -> Document:
    """Return an endpoint in GraphQL's words; empty lists where nothing was given, nulls where texts are empty."""
    fields = endpoint.fields
    volumes = [
        {"networkVolumeId": ident, "dataCenterId": account.volumes[ident].data_centre}
        for ident in fields["networkVolumeIds"]
        if ident in account.volumes
    ]
    return {
        **{name: value for name, value in fields.items() if name != "networkVolumeIds"},
        "id": endpoint.id,
        "instanceIds": fields["instanceIds"] or [],
        "networkVolumeId": volumes[0]["networkVolumeId"] if volumes else None,
        "networkVolumeIds": volumes,
        "computeType": "CPU" if endpoint.is_cpu else "GPU",
        "aiKey": endpoint.ai_key,
        "userId": account.user,
        "version": endpoint.version,
        "createdAt": respelling.moment(endpoint.created_at),
        "activeBuildid": None,
        "idePodId": None,
        "hubRelease": None,
        "repo": None,
        "env": _pairs(template.fields["env"]),
        "template": template_view(template),
        "pods": [{"desiredStatus": "RUNNING"} for _ in range(fields["workersMin"])],
    }


def template_view(template: Template) -> Document:
    """Return a template in GraphQL's words."""
    fields = template.fields
    return {
        **fields,
        "id": template.id,
        "env": _pairs(fields["env"]),
        "ports": ",".join(fields["ports"]),
        "containerRegistryAuthId": fields["containerRegistryAuthId"] or "",
        "boundEndpointId": template.bound_to,
    }


def _pairs(env: Mapping[str, str]) -> list[Document]:
    return [{"key": key, "value": value} for key, value in env.items()]


# -- writing


def _mutations(caller: Caller) -> dict[str, Resolver]:
    account = _signed_in(caller)
    world = caller.world

    def saved(arguments: Mapping[str, Json]) -> Json:
        endpoint = graphql_save.save_endpoint(world, account, arguments["input"], caller.by)
        return endpoint_view(account, endpoint, account.template_of(endpoint))

    def app(arguments: Mapping[str, Json]) -> Json:
        ident = world.new_id(10)
        account.apps[ident] = arguments["input"]["name"]
        return _app(account, arguments["input"]["name"])

    def environment(arguments: Mapping[str, Json]) -> Json:
        wanted = arguments["input"]
        if wanted["flashAppId"] not in account.apps:
            raise RefusedError(400, "flash app not found")
        made = world.add_environment(account, account.apps[wanted["flashAppId"]], wanted["name"])
        return _environment_view(account, made)

    return {
        "saveEndpoint": saved,
        "saveTemplate": lambda arguments: template_view(
            graphql_save.save_template(world, account, arguments["input"], caller.by)
        ),
        "deleteEndpoint": lambda arguments: _delete_endpoint(world, account, arguments["id"]),
        "deleteTemplate": lambda arguments: _delete_template(world, account, arguments["templateName"]),
        "updateEndpointTemplate": lambda arguments: _switch_template(caller, account, arguments["input"]),
        "createFlashApp": app,
        "createFlashEnvironment": environment,
    }


def _delete_endpoint(world: World, account: Account, ident: str) -> None:
    endpoint = account.endpoints.get(ident)
    if endpoint is None:
        raise RefusedError(400, "Endpoint not found")
    if world.habits.delete_guard and (endpoint.fields["workersMax"] or endpoint.fields["workersMin"]):
        raise RefusedError(400, "workersMin and workersMax must both be 0 before an endpoint can be deleted")
    world.remove_endpoint(account, endpoint, with_template=False)


def _delete_template(world: World, account: Account, name: str) -> None:
    found = next((template for template in account.templates.values() if template.fields["name"] == name), None)
    if found is None:
        raise RefusedError(400, "Template not found")
    world.remove_template(account, found)


def _switch_template(caller: Caller, account: Account, wanted: Mapping[str, Json]) -> Json:
    endpoint = account.endpoints.get(wanted["endpointId"])
    template = account.templates.get(wanted["templateId"])
    if endpoint is None or template is None:
        raise RefusedError(400, "Endpoint or template not found")
    caller.world.change_endpoint(account, endpoint, {"templateId": template.id}, {}, caller.by)
    return endpoint_view(account, endpoint, template)
