"""Another actor at the APIs: the requests of a person with the `openstack` command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from holdfast.model.json import Json
from holdfast_emulators.openstack.configuration import REGION

_VERSIONS: Final = {"network": "2", "identity": "3", "image": "2", "compute": "2", "block-storage": "3"}


class Unwilling(Exception):  # noqa: N818 - an outcome, not a mistake
    """A service said no."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(f"{status}: {text[:500]}")


class Client:
    """Sends requests as one user (over the session of openstacksdk), whatever the environment says."""

    def __init__(self, auth: Mapping[str, str], agent: str = "intruder") -> None:
        from openstack import config  # noqa: PLC0415 - only needed to talk to services

        loader = config.OpenStackConfig(load_yaml_config=False, load_envvars=False, app_name=agent)
        self._region: Any = loader.get_one(auth=dict(auth), region_name=REGION, api_timeout=120)
        self._clients: dict[str, Any] = {}

    def request(self, service: str, method: str, path: str, body: Json = None, **options: Json) -> Json:
        """Return the body of the answer, None if it is empty; raise Unwilling if it is a no."""
        from keystoneauth1.adapter import Adapter  # noqa: PLC0415

        if service not in self._clients:
            self._clients[service] = self._region.get_session_client(service, version=_VERSIONS[service])
        given: dict[str, Any] = {} if body is None else {"json": body}
        answer = Adapter.request(self._clients[service], path, method, raise_exc=False, **given, **options)
        if answer.status_code >= 300:
            raise Unwilling(answer.status_code, answer.text)
        return orjson.loads(answer.content) if answer.content else None

    def get(self, service: str, path: str, **options: Json) -> Json:
        """Read."""
        return self.request(service, "GET", path, **options)

    def post(self, service: str, path: str, body: Json, **options: Json) -> Json:
        """Make."""
        return self.request(service, "POST", path, body, **options)

    def put(self, service: str, path: str, body: Json, **options: Json) -> Json:
        """Change."""
        return self.request(service, "PUT", path, body, **options)

    def patch(self, service: str, path: str, body: Json, **options: Json) -> Json:
        """Change."""
        return self.request(service, "PATCH", path, body, **options)

    def delete(self, service: str, path: str, **options: Json) -> Json:
        """Remove."""
        return self.request(service, "DELETE", path, **options)

    def close(self) -> None:
        """Close the connections."""
        self._region.get_session().session.close()
