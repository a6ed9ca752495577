"""A client at an emulated ARM, for the tests of the emulator: the world is asked directly, on a clock of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from holdfast.model.json import Json
from holdfast.testing.clock import FakeClock
from holdfast_emulators.azure import Habits, Request, Response, World

VERSION = "2024-01-01"
BASE = "https://management.azure.com"
WIDGETS = "Contoso.Test/widgets"


@dataclass
class Desk:
    """One client, one clock, one group `rg`; widgets are a type that nobody described."""

    clock: FakeClock = field(default_factory=FakeClock)
    given: World | None = None
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = World(self.clock) if self.given is None else self.given
        self.token = self.token or self.world.token
        self.group = self.world.add_group("rg")

    def id(self, name="w1", type_=WIDGETS):
        return f"{self.group}/providers/{type_}/{name}"

    def send(self, method, path, body=None, version=VERSION, **headers) -> Response:
        url = path if path.startswith("https://") else f"{BASE}{path}"
        if version and "api-version" not in url:
            url += f"{'&' if '?' in url else '?'}api-version={version}"
        sent = {"Authorization": f"Bearer {self.token}", **self.headers}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.world.answer(Request.of(method, url, sent, b"" if body is None else orjson.dumps(body)))

    def get(self, path, version=VERSION, **headers) -> Json:
        response = self.send("GET", path, None, version, **headers)
        assert response.status == 200, response.body
        return response.json()

    def put(self, path, body, version=VERSION, **headers) -> Response:
        response = self.send("PUT", path, body, version, **headers)
        assert response.status < 300, response.body
        return response

    def settled(self, path, body, version=VERSION) -> Json:
        """Write, let everything that follows happen, and read."""
        self.put(path, body, version)
        self.clock.advance(3_600)
        return self.get(path, version)

    def refused(self, method, path, body=None, version=VERSION, **headers) -> tuple[int, str]:
        response = self.send(method, path, body, version, **headers)
        assert response.status >= 400
        return response.status, response.code


def desk_of(**changes: Json) -> Desk:
    """Return a desk where widgets have the given habits."""
    clock = FakeClock()
    habits = Habits(WIDGETS, **changes)
    return Desk(clock, World(clock, habits={WIDGETS: habits}))


def widget(**properties: Json) -> dict[str, Json]:
    return {"location": "westus2", "properties": properties}
