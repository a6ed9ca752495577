"""The emulated platform: its owners, the effects of a change, and the reads after it.

All changes, by any actor and through any API, go through here, so that releases, versions and lag are the same for all.
Refuses to know HTTP.
"""

from __future__ import annotations

import copy
import random
import string
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holdfast.model.json import Json
from holdfast_emulators.runpod import respelling
from holdfast_emulators.runpod.catalog import Catalogue
from holdfast_emulators.runpod.objects import (
    NEW_ENDPOINT,
    NEW_TEMPLATE,
    ROLLING,
    Access,
    Account,
    Endpoint,
    Environment,
    Key,
    RefusedError,
    Release,
    Template,
    Volume,
)
from holdfast_emulators.runpod.read_lag import Lagging

_ALPHABET = string.ascii_lowercase + string.digits
_DAY = 86_400.0


@dataclass(slots=True)
class Habits:
    """The behaviour of the platform that a test may set. The defaults are observed or documented."""

    lag_reads: int = 0  # so many reads after a write still show what was before
    health_lag_reads: int = 1  # so many looks at the health of a new endpoint find nothing
    page_size: int | None = None  # the real v2 has no pages yet; a number here cuts its lists into pages
    graphql_cap: int = 400  # myself.endpoints shows the oldest, and no way to the others
    delete_guard: bool = True  # GraphQL deletes only what was scaled to nothing
    breaks_cpu_patch: bool = False  # once, v2 could not PATCH a CPU endpoint (runpod-mcp 67)
    drops_exclusions: bool = False  # once, any v2 PATCH lost the excluded cards (runpod-mcp 63)
    roll_seconds: float = 60.0  # a release is on all workers after this long
    idle_seconds: float = 3 * _DAY  # without a request for so long, workersMax becomes 2
    idle_off_seconds: float = 7 * _DAY  # and after so long 0
    template_in_use_seconds: float = 120.0  # a template cannot be deleted for so long after its last use


@dataclass(slots=True)
class _Shown:
    """An endpoint with its template, as one thing for reads to lag behind."""

    endpoint: Endpoint
    template: Template


@dataclass(slots=True)
class World:
    """The platform. The clock is given; `advance` moves it forward."""

    clock: Callable[[], float] = time.time
    chance: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - ids, not secrets
    habits: Habits = field(default_factory=Habits)
    catalogue: Catalogue = field(default_factory=Catalogue)
    accounts: dict[str, Account] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    ahead_seconds: float = 0.0
    _endpoints: Lagging[_Shown] = field(default_factory=Lagging)
    _templates: Lagging[Template] = field(default_factory=Lagging)
    _volumes: Lagging[Volume] = field(default_factory=Lagging)
    _health: dict[str, int] = field(default_factory=dict)

    def now(self) -> float:
        """Return the platform's present."""
        return self.clock() + self.ahead_seconds

    def advance(self, seconds: float) -> None:
        """Move the platform's clock."""
        self.ahead_seconds += seconds

    def new_id(self, length: int) -> str:
        """Make an id as the platform does: 14 characters for endpoints, 10 for the rest."""
        return "".join(self.chance.choice(_ALPHABET) for _ in range(length))

    # -- accounts

    def add_account(self, user: str) -> Account:
        """Open an account, with one key that may do everything."""
        account = self.accounts[user] = Account(user)
        self.add_key(user)
        return account

    def add_key(self, user: str, access: Access = Access.ALL, token: str | None = None) -> str:
        """Make an API key."""
        token = token or f"rpa_{self.new_id(24).upper()}"
        self.keys[token] = Key(token, user, access)
        return token

    def add_environment(self, account: Account, app: str, name: str) -> Environment:
        """Make a Flash environment, and its app if there is none of that name."""
        ident = next((ident for ident, known in account.apps.items() if known == app), None)
        if ident is None:
            ident = self.new_id(10)
            account.apps[ident] = app
        environment = Environment(self.new_id(10), ident, name)
        account.environments[environment.id] = environment
        return environment

    # -- endpoints

    def make_endpoint(self, account: Account, fields: Mapping[str, Json], template: Template, by: str) -> Endpoint:
        """Make an endpoint on a template that is there already; a load balancer gets its ports told."""
        whole = copy.deepcopy({**NEW_ENDPOINT, **fields, "templateId": template.id})
        endpoint = Endpoint(self.new_id(14), whole, self.now(), self.new_id(24), last_request_at=self.now())
        self._check(account, whole)
        respelling.image(template.fields["imageName"], self.catalogue)
        if whole["type"] == "LB":
            template.fields["env"] = {"PORT": "80", "PORT_HEALTH": "80", **template.fields["env"]}
        endpoint.releases.append(Release(self.new_id(10), 1, by, self.now(), []))
        self._endpoints.remember(endpoint.id, None, self.habits.lag_reads)
        self._health[endpoint.id] = self.habits.health_lag_reads
        account.endpoints[endpoint.id] = endpoint
        return endpoint

    def change_endpoint(
        self,
        account: Account,
        endpoint: Endpoint,
        fields: Mapping[str, Json],
        container: Mapping[str, Json],
        by: str,
    ) -> None:
        """Change an endpoint and its container settings as one release, if it takes one."""
        whole = {**endpoint.fields, **fields}
        self._check(account, whole)
        template = account.templates[whole["templateId"]]
        if container.get("imageName"):
            respelling.image(container["imageName"], self.catalogue)
        self._remember(account, endpoint)
        diff = _diff(endpoint.fields, fields)
        diff += [{**entry, "field": f"template.{entry['field']}"} for entry in _diff(template.fields, container)]
        endpoint.fields.update(copy.deepcopy(dict(fields)))
        template.fields.update(copy.deepcopy(dict(container)))
        self._release(endpoint, diff, by)

    def remove_endpoint(self, account: Account, endpoint: Endpoint, *, with_template: bool) -> None:
        """Remove an endpoint; v2 takes its own template with it."""
        self._remember(account, endpoint)
        del account.endpoints[endpoint.id]
        template = account.template_of(endpoint)
        template.released_at = self.now()
        if with_template and template.bound_to == endpoint.id:
            del account.templates[template.id]

    def _remember(self, account: Account, endpoint: Endpoint) -> None:
        shown = _Shown(endpoint, account.template_of(endpoint))
        self._endpoints.remember(endpoint.id, shown, self.habits.lag_reads)

    def _release(self, endpoint: Endpoint, diff: list[dict[str, Json]], by: str) -> None:
        rolling = [entry for entry in diff if entry["field"] in ROLLING]
        if rolling:
            endpoint.version += 1
            endpoint.releases.insert(0, Release(self.new_id(10), endpoint.version, by, self.now(), rolling))

    def _check(self, account: Account, fields: Mapping[str, Json]) -> None:
        """Refuse what no API lets through."""
        if fields["workersMin"] > fields["workersMax"]:
            raise RefusedError(400, "workersMin cannot be greater than workersMax")
        if not 1 <= fields["idleTimeout"] <= 3600:
            raise RefusedError(400, "idleTimeout must be between 1 and 3600 seconds")
        if fields["type"] == "LB" and fields["scalerType"] != "REQUEST_COUNT":
            raise RefusedError(400, "load balancing endpoints require the REQUEST_COUNT scaler")
        places = [self._volume(account, ident).data_centre for ident in fields["networkVolumeIds"]]
        if len(set(places)) < len(places):
            raise RefusedError(400, "only one network volume is allowed per data center")
        environment = fields["flashEnvironmentId"]
        if environment is not None and environment not in account.environments:
            raise RefusedError(404, "flash environment not found")

    def _volume(self, account: Account, ident: str) -> Volume:
        if ident not in account.volumes:
            raise RefusedError(400, f"network volume {ident} not found")
        return account.volumes[ident]

    def seen_endpoint(self, account: Account, ident: str) -> tuple[Endpoint, Template] | None:
        """Return an endpoint and its template as a read sees them."""
        endpoint = account.endpoints.get(ident)
        now = _Shown(endpoint, account.template_of(endpoint)) if endpoint is not None else None
        shown = self._endpoints.seen(ident, now)
        return (shown.endpoint, shown.template) if shown is not None else None

    def seen_endpoints(self, account: Account) -> list[tuple[Endpoint, Template]]:
        """Return all endpoints as a list sees them, oldest first."""
        now = {ident: _Shown(endpoint, account.template_of(endpoint)) for ident, endpoint in account.endpoints.items()}
        return [(shown.endpoint, shown.template) for shown in self._endpoints.all_seen(now)]

    def is_healthy_yet(self, ident: str) -> bool:
        """Return True if the data plane knows an endpoint; it learns of new ones late."""
        left = self._health.get(ident, 0)
        self._health[ident] = max(0, left - 1)
        return left == 0

    # -- templates

    def make_template(self, account: Account, fields: Mapping[str, Json]) -> Template:
        """Make a template; its name must be the only one of its kind."""
        self._check_name(account, fields.get("name"), None)
        template = Template(self.new_id(10), copy.deepcopy({**NEW_TEMPLATE, **fields}))
        self._templates.remember(template.id, None, self.habits.lag_reads)
        account.templates[template.id] = template
        return template

    def change_template(self, account: Account, template: Template, fields: Mapping[str, Json], by: str) -> None:
        """Change a template the way GraphQL does: the endpoints on it roll."""
        self._check_name(account, fields.get("name", template.fields["name"]), template)
        users = [item for item in account.endpoints.values() if item.fields["templateId"] == template.id]
        for endpoint in users:
            self._remember(account, endpoint)
        self._templates.remember(template.id, template, self.habits.lag_reads)
        diff = [{**entry, "field": f"template.{entry['field']}"} for entry in _diff(template.fields, fields)]
        template.fields.update(copy.deepcopy(dict(fields)))
        for endpoint in users:
            self._release(endpoint, diff, by)

    def copy_template(self, account: Account, template: Template, fields: Mapping[str, Json]) -> None:
        """Change a template the way v2 does: what was made from it stays as it is."""
        self._check_name(account, fields.get("name", template.fields["name"]), template)
        self._templates.remember(template.id, template, self.habits.lag_reads)
        template.fields.update(copy.deepcopy(dict(fields)))

    def remove_template(self, account: Account, template: Template) -> None:
        """Remove a template, unless it is in use or was a moment ago."""
        if any(endpoint.fields["templateId"] == template.id for endpoint in account.endpoints.values()):
            raise RefusedError(400, "template is in use by an endpoint")
        free_at = (template.released_at or -_DAY) + self.habits.template_in_use_seconds
        if self.now() < free_at:
            raise RefusedError(400, "template was recently in use; try again later")
        self._templates.remember(template.id, template, self.habits.lag_reads)
        del account.templates[template.id]

    def _check_name(self, account: Account, name: str | None, own: Template | None) -> None:
        if not name:
            raise RefusedError(400, "a template needs a name")
        if any(template.fields["name"] == name and template is not own for template in account.templates.values()):
            raise RefusedError(400, "template name must be unique")

    def seen_template(self, account: Account, ident: str) -> Template | None:
        """Return a template as a read sees it."""
        return self._templates.seen(ident, account.templates.get(ident))

    def seen_templates(self, account: Account) -> list[Template]:
        """Return the templates people made, as a list sees them; those of endpoints are not shown."""
        own = {ident: template for ident, template in account.templates.items() if template.bound_to is None}
        return list(self._templates.all_seen(own))

    # -- volumes

    def make_volume(self, account: Account, name: str, size: int, data_centre: str, kind: str = "STANDARD") -> Volume:
        """Make a network volume."""
        if data_centre not in self.catalogue.data_centres:
            raise RefusedError(400, f"unknown data center: {data_centre}")
        volume = Volume(self.new_id(10), name, _size(size), data_centre, kind)
        self._volumes.remember(volume.id, None, self.habits.lag_reads)
        account.volumes[volume.id] = volume
        return volume

    def change_volume(self, volume: Volume, name: str | None, size: int | None) -> None:
        """Rename or enlarge a volume; it cannot shrink."""
        if size is not None and _size(size) < volume.size:
            raise RefusedError(400, "network volume size can only be increased")
        self._volumes.remember(volume.id, volume, self.habits.lag_reads)
        volume.name = name if name is not None else volume.name
        volume.size = size if size is not None else volume.size

    def remove_volume(self, account: Account, volume: Volume) -> None:
        """Remove a volume, unless an endpoint has it."""
        if any(volume.id in endpoint.fields["networkVolumeIds"] for endpoint in account.endpoints.values()):
            raise RefusedError(400, "network volume is in use by an endpoint")
        self._volumes.remember(volume.id, volume, self.habits.lag_reads)
        del account.volumes[volume.id]

    def seen_volume(self, account: Account, ident: str) -> Volume | None:
        """Return a volume as a read sees it."""
        return self._volumes.seen(ident, account.volumes.get(ident))

    def seen_volumes(self, account: Account) -> list[Volume]:
        """Return all volumes as a list sees them."""
        return list(self._volumes.all_seen(account.volumes))


def _size(size: int) -> int:
    if not 10 <= size <= 4096:
        raise RefusedError(400, "size must be between 10 and 4096 GB")
    return size


def _diff(before: Mapping[str, Json], changes: Mapping[str, Json]) -> list[dict[str, Json]]:
    return [
        {"field": name, "old": copy.deepcopy(before.get(name)), "new": copy.deepcopy(value)}
        for name, value in changes.items()
        if before.get(name) != value
    ]
