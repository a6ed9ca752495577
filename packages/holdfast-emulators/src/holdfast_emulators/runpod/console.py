"""An actor at the RunPod console: edits that bypass the API, under a name, at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.model.json import Json
from holdfast_emulators.runpod.objects import Account, Endpoint, Volume
from holdfast_emulators.runpod.service import World


@dataclass(frozen=True, slots=True)
class Console:
    """One person's console; what they do is in the releases under their name, as far as it is a release at all."""

    world: World
    account: Account
    by: str = "user_console"

    def named(self, name: str) -> Endpoint:
        """Return the endpoint of that name, the oldest if there are several."""
        return next(endpoint for endpoint in self.account.endpoints.values() if endpoint.fields["name"] == name)

    def edit(self, ident: str, template: Mapping[str, Json] | None = None, **fields: Json) -> None:
        """Change an endpoint; fields are in the words of GraphQL, those of its container under `template`.

        Nothing is checked against the catalogue: what the platform learns tomorrow can be shown today.
        """
        endpoint = self.account.endpoints.get(ident) or self.named(ident)
        self.world.change_endpoint(self.account, endpoint, fields, template or {}, self.by)

    def set_env(self, ident: str, **values: str | None) -> None:
        """Change single environment variables; None takes one out."""
        endpoint = self.account.endpoints.get(ident) or self.named(ident)
        env = {**self.account.template_of(endpoint).fields["env"], **values}
        kept = {key: value for key, value in env.items() if value is not None}
        self.world.change_endpoint(self.account, endpoint, {}, {"env": kept}, self.by)

    def delete(self, ident: str) -> None:
        """Delete an endpoint."""
        endpoint = self.account.endpoints.get(ident) or self.named(ident)
        self.world.remove_endpoint(self.account, endpoint, with_template=True)

    def resize(self, volume: Volume, size: int) -> None:
        """Enlarge a volume."""
        self.world.change_volume(volume, None, size)

    def delete_volume(self, ident: str) -> None:
        """Delete a volume, even if it is in use."""
        for endpoint in self.account.endpoints.values():
            if ident in endpoint.fields["networkVolumeIds"]:
                endpoint.fields["networkVolumeIds"].remove(ident)
        del self.account.volumes[ident]

    def use(self, ident: str) -> None:
        """Send a request to an endpoint, so that it does not count as idle."""
        endpoint = self.account.endpoints.get(ident) or self.named(ident)
        endpoint.last_request_at = self.world.now()
