"""What the generators of histories share: a random fleet, and random noise around what a scenario is about."""

from __future__ import annotations

import random
from typing import Any

from tests.simulation.fleet import FILE_KIND, Fleet, Resource
from tests.simulation.history import Step

HTTP_KINDS = ("Plain", "Keyed", "Named", "Blind", "Late", "Hidden", "Signed", "Fixed")
PERIODS = ("10m", "30m", "1h", "10h")


class Maker:
    """Makes one history from one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.fleet = Fleet(connections={"api": {}})
        self.steps: list[Step] = []
        self.looks_every = 300.0
        self._serial = 0

    # --- fleet --------------------------------------------------------------------------------------------------------

    def resource(self, kind: str = "", *, file: str = "", connection: str = "api", **options: Any) -> Resource:
        """Declare one more thing."""
        self._serial += 1
        kind = kind or self.random.choice(HTTP_KINDS)
        name = f"{kind.lower()[:3]}{self._serial}"
        file = file or f"f{self.random.randrange(3)}.yaml"
        if kind == FILE_KIND:
            self.fleet.connections.setdefault("files", {})
            spec: dict[str, Any] = {"path": f"{name}.json", "content": {"color": f"{name}-d0", "size": 1}}
            made = Resource(name, kind, "files", file, spec)
        else:
            self.fleet.connections.setdefault(connection, {})
            spec = {"name": name, "color": f"{name}-d0", "conf": {"a": f"{name}-a0", "b": 1}}
            if kind == "Fixed":
                spec["zone"] = "a"
            if kind == "Hidden":
                spec["password"] = self.secret(f"PASSWORD_{self._serial}")
            made = Resource(name, kind, connection, file, spec)
        made.options.update(options)
        made.labels["tier"] = self.random.choice(("one", "two"))
        self.fleet.resources.append(made)
        return made

    def secret(self, name: str) -> dict[str, Any]:
        """Declare a secret."""
        self.fleet.environment[name] = f"hush-{self.seed}-{name.lower()}-{self.random.randrange(10**6)}"
        return {"secretRef": {"env": name}}

    def refer(self, source: Resource, field: str) -> str:
        """Return a reference to a field of another."""
        return f"${{{source.kind}/{source.name}.{field}}}"

    def some(self, count: int, kinds: tuple[str, ...] = (), **options: Any) -> list[Resource]:
        """Declare several things."""
        return [self.resource(self.random.choice(kinds or HTTP_KINDS), **options) for _ in range(count)]

    # --- steps --------------------------------------------------------------------------------------------------------

    def do(self, op: str, **args: Any) -> None:
        """Add a step."""
        self.steps.append(Step(op, args))

    def token(self) -> str:
        """Return a value that nobody else writes."""
        self._serial += 1
        return f"x{self._serial}z"

    def wait(self, low: float, high: float) -> None:
        """Let time pass."""
        self.do("wait", seconds=round(self.random.uniform(low, high), 1))

    def stranger(self, resource: Resource, path: str = "", value: Any = None) -> None:
        """Let somebody else edit a thing."""
        self.do("stranger", name=resource.name, path=path or self.path(resource), value=value or self.token())

    def edit(self, resource: Resource, path: str = "") -> None:
        """Let a person edit a declaration."""
        self._serial += 1
        self.do("edit", name=resource.name, path=path or self.path(resource), value=f"{resource.name}-d{self._serial}")

    def path(self, resource: Resource) -> str:
        """Return a declared field that is a plain value."""
        return "/content/color" if resource.is_file else "/color"

    def noise(self, chance: float = 0.3) -> None:
        """Perhaps let somebody look, or do something harmless."""
        if self.random.random() < chance:
            op = self.random.choice(("check", "plan", "status", "check_text", "wait"))
            if op == "wait":
                self.wait(1, 900)
            elif op == "check_text":
                self.do("check_text", command=self.random.choice(("check", "plan")))
            else:
                self.do(op)

    def settle(self) -> None:
        """Let what was made come out of its settle window."""
        self.wait(330, 900)
        self.do("check")
