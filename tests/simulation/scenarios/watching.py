"""A running watch: neighbours, clocks, sick connections, resyncPeriod 0, requests."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.scenarios.common import PERIODS, Maker


def neighbours(m: Maker) -> None:
    """Resources in a file whose neighbours refer to other files; drift under a running watch."""
    source = m.resource(m.random.choice(("Plain", "Keyed", "Named")), file="f0.yaml", resyncPeriod="10m")
    user = m.resource(
        m.random.choice(("Plain", "Keyed", "Named")), file="f1.yaml", resyncPeriod=m.random.choice(PERIODS)
    )
    user.spec["net"] = m.refer(source, m.random.choice(("id", "color")))
    beside = m.resource(m.random.choice(("Plain", "Keyed", "Document")), file="f1.yaml", resyncPeriod="10m")
    m.do("watch_start")
    m.wait(400, 2000)
    for _ in range(m.random.randint(1, 3)):
        m.stranger(m.random.choice((source, beside, user)))
        m.wait(1000, 3000)
    if m.random.random() < 0.4:
        m.edit(beside)
        m.wait(700, 1500)
    if m.random.random() < 0.4:
        m.do("check_now")
    if m.random.random() < 0.3:
        m.do("rename_file", old="f1.yaml", new="h1.yaml")
        m.wait(700, 1500)
        m.stranger(beside)
    m.wait(1000, 2000)
    m.do("status")


def zero(m: Maker) -> None:
    """What has resyncPeriod 0 is left to others, also when watch starts and when something else is edited."""
    left = m.resource(m.random.choice(("Plain", "Keyed", "Named")), resyncPeriod="0")
    other = m.resource(m.random.choice(("Plain", "Keyed", "Named")), resyncPeriod=m.random.choice(("10m", "1h")))
    if m.random.random() < 0.5:
        m.do("apply")
    else:
        m.do("watch_start")
        m.wait(10, 300)
        m.do("watch_stop")
    m.settle()
    how = m.random.choice(("before", "during"))
    if how == "before":
        m.stranger(left)
    m.do("watch_start")
    m.wait(100, 1000)
    if how == "during":
        m.stranger(left)
    if m.random.random() < 0.7:
        m.edit(other)
        m.wait(700, 1500)
    if m.random.random() < 0.5:
        m.do("kill_watch") if m.random.random() < 0.5 else m.do("watch_stop")
        m.do("watch_start")
        m.wait(700, 1500)
    if m.random.random() < 0.3:
        m.do("stranger_deletes", name=left.name)
        m.wait(700, 1500)
    m.do("watch_stop")
    m.do("check")


def clocks(m: Maker) -> None:
    """The clock jumps, in both directions, while watch runs."""
    fleet = m.some(m.random.randint(1, 3), ("Plain", "Keyed", "Named"), resyncPeriod=m.random.choice(("10m", "30m")))
    m.do("watch_start")
    m.wait(700, 3000)
    for _ in range(m.random.randint(1, 3)):
        m.do("clock", seconds=m.random.choice((-10800.0, -120.0, -86400.0, 10800.0, 600.0, -1800.0)))
        m.wait(1, 300)
        m.stranger(m.random.choice(fleet))
        m.wait(2500, 5000)
    m.do("status")


def sick(m: Maker) -> None:
    """One connection hangs or throttles; the other one must not notice."""
    fine = [m.resource(m.random.choice(("Plain", "Keyed")), connection="api", resyncPeriod="10m") for _ in range(2)]
    bad = [m.resource(m.random.choice(("Plain", "Keyed")), connection="bad", resyncPeriod="10m") for _ in range(3)]
    m.do("watch_start")
    m.wait(700, 2000)
    how = m.random.choice(("hang", "throttle", "error"))
    data = {"status": m.random.choice((429, 503)), "after": m.random.choice((300, 1200))} if how == "throttle" else None
    m.do("fault", how=how, api="bad", lasting=m.random.choice((1500.0, 4000.0)), data=data)
    m.stranger(m.random.choice(bad))
    m.wait(400, 1000)
    for _ in range(m.random.randint(1, 2)):
        m.stranger(m.random.choice(fine))
        m.wait(850, 1200)
    m.do("heal")
    m.wait(100, 2000)


def requests(m: Maker) -> None:
    """Checks are asked for while watch checks."""
    m.some(m.random.randint(2, 3), ("Plain", "Keyed", "Named"), resyncPeriod="1h")
    m.do("apply")
    m.settle()
    m.do("slow_store", seconds=m.random.choice((0.05, 0.5, 2.0)))
    m.looks_every = 10.0
    m.do("watch_start")
    m.wait(10, 100)
    for _ in range(m.random.randint(1, 3)):
        m.do("latency", seconds=m.random.choice((1.0, 3.0, 8.0)))
        for _ in range(m.random.randint(1, 3)):
            m.do("check_now_beside")
            m.wait(0, 8)
        m.wait(1, 20)
    m.do("await_others")
    m.wait(200, 300)
    m.do("status")
    m.do("requests_handled")
    m.do("watch_stop")


def overtaken(m: Maker) -> None:
    """Checks are asked for while another process makes, or makes again, what they are about."""
    fleet = m.some(m.random.randint(2, 3), ("Plain", "Keyed", "Blind"), resyncPeriod="1h")
    m.do("check")
    m.do("slow_store", seconds=m.random.choice((0.05, 0.2, 0.5)))
    for _ in range(m.random.randint(1, 3)):
        m.do("latency", seconds=m.random.choice((0.05, 0.05, 0.5)))
        m.do("apply_beside", machine="here")
        m.wait(0.0, 2.0)
        for _ in range(m.random.randint(1, 3)):
            m.do("check_now_beside")
            m.wait(0.0, 0.4)
        m.do("await_others")
        m.do("status")
        if m.random.random() < 0.5:
            m.do("stranger_deletes", name=m.random.choice(fleet).name)
        else:
            m.edit(m.random.choice(fleet))
    m.do("slow_store", seconds=0.0)
    m.do("latency", seconds=0.05)
    m.do("apply")
    m.do("status")


SCENARIOS: dict[str, Callable[[Maker], None]] = {
    neighbour.__name__: neighbour for neighbour in (neighbours, zero, clocks, sick, requests, overtaken)
}
