"""Policy, pauses, freezes, budgets, mass drift, approvals, contention."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.scenarios.common import PERIODS, Maker


def options(m: Maker) -> None:
    """Pauses with and without scopes and targets."""
    fleet = m.some(m.random.randint(2, 3), ("Plain", "Keyed", "Named"))
    m.fleet.project["corrections"] = {"massDrift": "off"}
    m.do("apply")
    m.settle()
    one, other = fleet[0], fleet[1]
    if m.random.random() < 0.5:
        m.do("pause", extra=f"-f infra --target {one.address}")
    else:
        m.do("pause")
        m.do("resume", extra=f"{m.random.choice(('', '-f infra '))}--target {one.address}")
    m.stranger(one)
    m.stranger(other)
    m.do("apply")
    m.do("check")
    if m.random.random() < 0.5:
        m.do("resume")
        m.do("pause", scope=m.random.choice((one.address, "api", f"api/{one.kind}")))
        m.do("apply")


def pausing(m: Maker) -> None:
    """A pause, or a freeze, comes while a slow run writes."""
    slow = m.random.choice((0.05, 0.1, 0.4))
    m.fleet.connections["api"] = {"limits": {"writes_per_second": slow}}
    fleet = m.some(m.random.randint(4, 6), ("Plain", "Keyed", "Named"), resyncPeriod="10m")
    m.fleet.project["corrections"] = {"massDrift": "off"}
    m.do("apply")
    m.settle()
    for item in fleet:
        m.stranger(item)
    if m.random.random() < 0.3:
        m.edit(fleet[0])
    start = 0.0
    how = m.random.choice(("pause", "freeze", "killed"))
    if how == "freeze":
        m.do("freeze_soon", after=round(m.random.uniform(1, 40), 1))
    if how == "killed":
        m.do(
            "order", what="kill", ops=["update"], n=m.random.randint(1, 3), moment=m.random.choice(("before", "after"))
        )
    watching = m.random.random() < 0.5
    if watching:
        m.do("watch_start")
    else:
        m.do("apply_beside", machine="here")
    m.wait(start + 1, 2.5 / slow)
    if how != "freeze":
        m.do("pause", scope=m.random.choice(("", "", "api", fleet[-1].address)))
    m.wait(10, 200)
    if how == "killed":
        m.do("apply")
    m.do("await_others", seconds=600.0)
    if watching:
        m.wait(700, 1500)
        m.do("watch_stop")


def budgets(m: Maker) -> None:
    """Budgets, and drift that exceeds them."""
    fleet = m.some(m.random.randint(3, 5), ("Plain", "Keyed", "Named"), resyncPeriod="10m")
    most = m.random.randint(1, 3)
    m.fleet.project["corrections"] = {"massDrift": "off", "budgets": [{"max": most, "per": "1h"}]}
    m.do("apply")
    m.settle()
    for _ in range(m.random.randint(1, 3)):
        for item in fleet:
            if m.random.random() < 0.8:
                m.stranger(item)
        how = m.random.random()
        if how < 0.5:
            m.do("apply")
        elif how < 0.75:
            m.do("apply_beside")
            m.do("apply")
            m.do("await_others")
        else:
            m.do("watch_start")
            m.wait(1500, 8000)
            m.do("watch_stop")
        m.do("check")
        m.do("history")


def mass(m: Maker) -> None:
    """Much drifts at once; seen by one run, by a watch, or target by target."""
    small = m.random.random() < 0.6
    count = m.random.randint(6, 8) if small else m.random.randint(12, 14)
    kind = m.random.choice(("Plain", "Keyed", "Blind"))
    period = m.random.choice(("10m", "30m", "1h"))
    fleet = [m.resource(kind, resyncPeriod=period) for _ in range(count)]
    if small:
        m.fleet.project["corrections"] = {"massDrift": {"share": "30%", "atLeast": 4, "identical": 4}}
    m.do("apply")
    m.settle()
    names = [item.name for item in fleet]
    value = m.token()
    how = m.random.choice(("apply", "watch", "targets", "watch"))
    if how == "watch":
        m.do("watch_start")
        m.wait(3000, 9000)
    m.do("mass", names=names, path="/color", value=value)
    if how == "apply":
        m.do("apply")
        m.do("history")
    elif how == "watch":
        m.wait(4000, 9000)
        m.do("watch_stop")
    else:
        for element in fleet:
            m.do("apply", extra=f"--target {element.address}")
    m.do("check")


def approvals(m: Maker) -> None:
    """What needs a yes, and what is said yes to."""
    fleet = m.some(2, ("Plain", "Keyed", "Named"))
    fleet[0].options["onDrift"] = "approve"
    fleet[1].options["onDriftPaths"] = {"/color": "approve", "/conf/a": "report"}
    m.do("apply")
    m.settle()
    for item in fleet:
        m.stranger(item)
        if m.random.random() < 0.5:
            m.stranger(item, "/conf/a")
    m.do("apply")
    m.do("check")
    if m.random.random() < 0.7:
        m.do("approve")
        if m.random.random() < 0.3:
            m.stranger(m.random.choice(fleet))
        m.do("apply")
        m.do("check")


def contention(m: Maker) -> None:
    """Another controller puts a field back after each correction, at any rhythm."""
    period = m.random.choice(PERIODS)
    each = m.resource(m.random.choice(("Plain", "Keyed", "Named", "Signed")), resyncPeriod=period)
    m.resource()
    m.do("apply")
    m.settle()
    m.do("watch_start")
    m.wait(10, 100)
    values = [m.token()] if m.random.random() < 0.7 else [m.token() for _ in range(7)]
    delay = m.random.choice((1.0, 30.0, 200.0, 1000.0))
    path = m.random.choice(("/color", "/color", "/conf/a", "/tier"))
    m.do("other_writer", name=each.name, path=path, values=values, delay=delay)
    seconds = {"10m": 600, "30m": 1800, "1h": 3600, "10h": 36000}[period]
    m.do("wait", seconds=seconds * m.random.randint(7, 9))
    m.do("contention")
    m.do("status")
    m.do("watch_stop")


def own_edits(m: Maker) -> None:
    """A person edits a field again and again; then a stranger edits it once."""
    each = m.resource(m.random.choice(("Keyed", "Named", "Named")), resyncPeriod=m.random.choice(("10m", "1h")))
    path = m.random.choice(("/tier", "/tier", "/color"))
    m.do("apply")
    m.settle()
    for _ in range(m.random.randint(3, 5)):
        m.edit(each, path)
        m.do("apply")
        m.wait(30, 600)
    if path == "/tier" and m.random.random() < 0.7:
        m.do("edit", name=each.name, path="/tier", value=None)
        m.do("apply")
        m.wait(30, 300)
        m.do("check")
    m.wait(310, 600)
    m.stranger(each, path)
    m.do("check")
    if m.random.random() < 0.5:
        m.do("apply")
    else:
        m.do("watch_start")
        m.wait(5000, 9000)
        m.do("watch_stop")
    m.do("check")
    m.do("must_be_own", name=each.name, path=path)


SCENARIOS: dict[str, Callable[[Maker], None]] = {
    option.__name__: option for option in (options, pausing, budgets, mass, approvals, contention, own_edits)
}
