"""Making requests fail, and reading which ones were made: both at the door of the services, below every client."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Fault:
    """Requests that are answered wrongly; what is None does not restrict, or is left as it is.

    `agent` restricts a fault to clients whose User-Agent holds that text, so that tests side by side do not disturb
    one another.
    """

    service: str | None = None
    method: str | None = None
    path: str | None = None  # a part of it
    agent: str | None = None
    status: int | None = None
    delay: float | None = None  # seconds
    retry_after: float | None = None
    times: int | None = None  # None: for ever
    after: bool | None = None  # the service does its work, and the answer is lost
    body: str | None = None
    type: str | None = None  # of the body


@dataclass(frozen=True, slots=True)
class Request:
    """One request that reached a service."""

    service: str
    method: str
    path: str
    status: int
    agent: str
    spoilt: bool

    @property
    def is_write(self) -> bool:
        """Return True if it may have changed something; signing in does not."""
        return self.method not in ("GET", "HEAD") and "/auth/tokens" not in self.path


@dataclass(frozen=True, slots=True)
class Disturber:
    """The gate of one control plane, from outside."""

    folder: Path

    def fail(self, *faults: Fault) -> None:
        """Replace all faults that are in force."""
        rules = [{name: value for name, value in asdict(fault).items() if value is not None} for fault in faults]
        part = self.folder / f"faults.{os.getpid()}"
        part.write_text(json.dumps(rules))
        part.replace(self.folder / "faults.json")

    def mend(self) -> None:
        """Let everything work again."""
        self.fail()

    def requests(self, agent: str = "", since: int = 0) -> list[Request]:
        """Return the requests of a client, from a place in the log on."""
        try:
            with (self.folder / "log/requests.jsonl").open("rb") as stream:
                stream.seek(since)
                lines = stream.read().splitlines()
        except FileNotFoundError:
            return []
        found = (Request(**json.loads(line)) for line in lines)
        return [request for request in found if agent in request.agent]

    def place(self) -> int:
        """Return the present end of the log."""
        try:
            return (self.folder / "log/requests.jsonl").stat().st_size
        except FileNotFoundError:
            return 0
