"""What happened, as a person would tell it: when, who, what, and which promise broke."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.history import Step, Violation
    from tests.simulation.kernel import Process
    from tests.simulation.stage import Stage
    from tests.simulation.world import Sent


class Story:
    """Lines with their times; only told if somebody asks."""

    def __init__(self, life: Stage) -> None:
        self._life = life
        self.lines: list[str] = []

    def say(self, text: str, who: str = "") -> None:
        """Add a line."""
        seconds = int(self._life.kernel.elapsed)
        moment = f"{seconds // 3600:3d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        self.lines.append(f"{moment}  {who:10}{text}")

    def step(self, step: Step) -> None:
        """Tell what somebody does."""
        who = "stranger" if step.op.startswith(("stranger", "other_writer", "mass")) else ""
        who = who or {"fault": "service", "heal": "service", "echo": "service", "clock": "clock", "wait": "time"}.get(
            step.op, ""
        )
        who = who or ("machine" if step.op in ("order", "kill_watch", "wake") else "person")
        self.say(f"[{self._life.number}] {step}", who)

    def sent(self, sent: Sent, address: str) -> None:
        """Tell of a write of ours."""
        command = sent.process.arguments[0] if sent.process else "?"
        number = sent.process.number if sent.process else 0
        told = "" if sent.told else ", answer lost"
        self.say(
            f"{command}#{number} {sent.method} {address} {sent.body} -> {sent.status} {sent.effect}{told}", "holdfast"
        )

    def command(self, process: Process) -> None:
        """Tell how a command ended."""
        end = "killed" if process.is_dead else f"exit {process.code}"
        text = (process.error_text or "").strip().splitlines()
        extra = f": {text[0][:160]}" if text else ""
        self.say(f"{' '.join(process.arguments)} #{process.number}: {end}{extra}", "holdfast")

    def broken(self, violation: Violation) -> None:
        """Tell of a promise that did not hold."""
        self.say(
            f"BROKEN {violation.promise} {violation.address}: expected {violation.expected}; seen {violation.seen}",
            "oracle",
        )

    def text(self, fleet: Any = None) -> str:
        """Return all of it."""
        head = []
        for resource in fleet.resources if fleet is not None else ():
            options = f" {resource.options}" if resource.options else ""
            policy = f" {resource.policy}" if resource.policy != "managed" else ""
            head.append(f"  {resource.file}: {resource.address} {resource.spec}{options}{policy}")
        if fleet is not None and fleet.project:
            head.append(f"  holdfast.yaml: {fleet.project}")
        return "\n".join([*head, *self.lines])
