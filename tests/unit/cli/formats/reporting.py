"""Real reports, from real manifests through the real engine, with one of everything that can happen."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from holdfast.cli.render.report_view import Around
from holdfast.compare import paths
from holdfast.manifests import loader
from holdfast.manifests.project import ConnectionSpec, ProjectFile
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Suppressed, SuppressionReason, Verdict
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked
from tests.unit.reconcile.fixtures import Bench

AT = "2026-11-16T12:00:00.000Z"
NASTY = "`|` ```\n</td></details><script>alert(1)</script> @root ~~x~~ \\| [a](b) {0} \x1b &amp; é"

MANIFEST = """\
apiVersion: memory.holdfast.dev/v1
kind: Thing
metadata: {name: drifted}
spec:
  connection: mem
  resource:
    colour: red
    text: "one\\ntwo\\nthree\\n"
    rules:
      - name: ssh
        port: 22
      - name: web
        port: 80
---
apiVersion: memory.holdfast.dev/v1
kind: Thing
metadata: {name: missing}
spec: {connection: mem, resource: {colour: red}}
---
apiVersion: memory.holdfast.dev/v1
kind: Thing
metadata: {name: pending}
spec: {connection: mem, resource: {colour: red}}
---
apiVersion: memory.holdfast.dev/v1
kind: Thing
metadata: {name: unknown}
spec: {connection: mem, resource: {colour: red}}
---
apiVersion: memory.holdfast.dev/v1
kind: Thing
metadata: {name: sound}
spec: {connection: mem, resource: {colour: red}}
---
apiVersion: memory.holdfast.dev/v1
kind: Thing
metadata: {name: waiting}
spec: {connection: mem, resource: {colour: red}}
"""
NAMES = ("drifted", "missing", "pending", "unknown", "sound", "waiting")


def around(folder: Path, command: str = "check") -> Around:
    return Around("1.2.3", folder, folder, AT, command)


def declared(folder: Path, text: str = MANIFEST, name: str = "infra/all.yaml") -> dict[str, Declaration]:
    """Read manifests as the command does when it is called in the folder."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    project = ProjectFile(folder, connections={"mem": ConnectionSpec("mem", "memory")})
    found = loader.read([str(file)], project).declarations
    located = (replace(item, location=replace(item.location, file=name)) for item in found)
    return {item.address.name: item for item in located}


def troubled(folder: Path, value: Json = "blue") -> RunReport:
    """Return a check with a drifted resource, one missing, pending, unknown, in sync, waiting, and not reached."""
    return asyncio.run(_troubled(declared(folder), value))


async def _troubled(found: dict[str, Declaration], value: Json) -> RunReport:
    bench = Bench()
    there = [found[name] for name in ("drifted", "missing", "unknown", "sound")]
    await bench.apply(there)
    live = bench.live_thing("drifted")
    live["colour"] = value
    live["text"] = "one\n2\nthree\n"
    live["rules"][1]["port"] = 8080
    live["rules"].append({"name": "new", "port": 1})
    live["extra`|`<b>"] = value
    del bench.live.things["Thing", bench.id_of("missing")]
    bench.live.faults.append(
        lambda call: ReadFailure(ReadError.TIMEOUT, "no <answer> in 5 s") if call.endswith("/unknown") else None
    )
    bench.lists = False
    report = await bench.check([*there, found["pending"]])
    report.waiting.append(Blocked(found["waiting"], "${Thing/other.id} is known after it is applied"))
    report.not_reached.append(Address("mem", "Thing", "later", "space"))
    return report


def with_suppressions(report: RunReport, *suppressions: Suppressed) -> RunReport:
    """Return the report in which the drifted resource has something suppressed."""
    checked = [
        with_verdict(item, replace(item.verdict, suppressed=suppressions)) if item.address.name == "drifted" else item
        for item in report.checked
    ]
    return replace(report, checked=checked)


def waived(path: str = "/rules[name=ssh]/port", note: str = "ada: until the audit, 2026-12-31") -> Suppressed:
    steps = paths.parse_path(path)
    finding = Finding(steps, Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE, 22, 22, 2222, "exact", steps)  # type: ignore[arg-type]
    return Suppressed(SuppressionReason.WAIVED, path, note, finding)


def ignored(path: str = "/status/**") -> Suppressed:
    return Suppressed(SuppressionReason.IGNORED, path, "ignored by policy")


def many(folder: Path, number: int, size: int = 10) -> RunReport:
    """Return a check in which so many resources drifted."""
    head = "apiVersion: memory.holdfast.dev/v1\nkind: Thing\n"
    text = "---\n".join(
        f"{head}metadata: {{name: n{index:05}}}\nspec: {{connection: mem, resource: {{colour: red}}}}\n"
        for index in range(number)
    )
    found = list(declared(folder, text).values())

    async def drift() -> RunReport:
        bench = Bench()
        await bench.apply(found)
        for thing in bench.live.things.values():
            thing["colour"] = "é" * size
        return await bench.check(found, record=False)

    return asyncio.run(drift())


def with_verdict(one: CheckResult, verdict: Verdict) -> CheckResult:
    """Return the check with another verdict."""
    return replace(one, evaluation=replace(one.evaluation, verdict=verdict))


def with_values(report: RunReport, *values: Json) -> RunReport:
    """Return the report with other live values in the first findings of the drifted resource, whatever they are."""
    return replace(
        report, checked=[_with_values(item, values) if item.verdict.findings else item for item in report.checked]
    )


def _with_values(one: CheckResult, values: tuple[Json, ...]) -> CheckResult:
    findings = [finding._replace(observed=value) for finding, value in zip(one.verdict.findings, values, strict=False)]
    return with_verdict(one, replace(one.verdict, findings=(*findings, *one.verdict.findings[len(findings) :])))


def with_path(report: RunReport, step: str) -> RunReport:
    """Return the report with one more finding, at a key that somebody else chose."""
    return replace(
        report, checked=[_with_path(item, step) if item.verdict.findings else item for item in report.checked]
    )


def _with_path(one: CheckResult, step: str) -> CheckResult:
    finding = Finding((step,), Op.ADDED, FindingClass.UNDECLARED, ChangedBy.LIVE, observed=step)
    verdict = replace(one.verdict, findings=(*one.verdict.findings, finding), reason=f"moved: {step}")
    return with_verdict(one, verdict)
