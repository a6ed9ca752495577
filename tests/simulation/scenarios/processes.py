"""Processes that are killed, stopped beyond their claim and woken, or work side by side."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.scenarios.common import Maker

_WRITES = ["create", "update", "delete"]


def killed(m: Maker) -> None:
    """Kills at any moment of apply, watch, undo and delete; somebody else finishes it."""
    fleet = m.some(m.random.randint(2, 4), ("Plain", "Keyed", "Named", "Late"), resyncPeriod="10m")
    m.fleet.project["corrections"] = {"massDrift": "off"}
    for _ in range(m.random.randint(1, 3)):
        ops = m.random.choice((_WRITES, ["read", "list", *_WRITES]))
        moment = m.random.choice(("before", "after"))
        m.do("order", what="kill", ops=ops, n=m.random.randint(1, 4), moment=moment, command="apply")
        m.do("apply", machine=m.random.choice(("here", "there")))
        m.noise(0.2)
        m.do("apply")
        if m.random.random() < 0.5:
            m.edit(m.random.choice(fleet))
        else:
            m.wait(330, 800)
            m.do("apply")
            m.stranger(m.random.choice(fleet))
    m.do("apply")
    m.do("check")


def undoing(m: Maker) -> None:
    """Corrections are taken back, and the undo is killed."""
    fleet = m.some(m.random.randint(1, 2), ("Plain", "Keyed", "Named"), resyncPeriod="10m")
    m.do("apply")
    m.settle()
    each = m.random.choice(fleet)
    m.stranger(each)
    m.do("apply")
    m.wait(1, 100)
    if m.random.random() < 0.7:
        ops = m.random.choice((["update"], ["read"], ["update", "read"]))
        moment = m.random.choice(("before", "after"))
        m.do("order", what="kill", ops=ops, n=m.random.randint(1, 3), moment=moment, command="undo")
    m.do("undo", name=each.name)
    m.do("undo", name=each.name)
    m.do("corrections_closed")
    if m.random.random() < 0.4:
        m.edit(each)
        m.do("apply")
    m.do("check")


def deletions(m: Maker) -> None:
    """Deletions that are killed, repeated, or done by two processes."""
    fleet = m.some(m.random.randint(2, 4), ("Plain", "Keyed", "Named", "Blind"))
    m.do("apply")
    m.wait(1, 600)
    ops = m.random.choice((["delete"], ["delete"], ["read", "list", "delete"]))
    moment = m.random.choice(("before", "after"))
    m.do("order", what="kill", ops=ops, n=m.random.randint(1, 3), moment=moment, command="delete")
    names = [item.name for item in fleet]
    if m.random.random() < 0.3:
        m.do("fault", how="lost_answer", ops=["delete"], times=1)
    m.do("delete", options="", names=names)
    m.do("delete", options="", names=names)


def fenced(m: Maker) -> None:
    """A process is stopped, throttled or slow beyond its claim, while another one works."""
    kinds = ("Plain", "Blind", "Keyed", "Named")
    how = m.random.choice(("stop", "slow", "throttle"))
    fleet = m.some(m.random.randint(3, 5), kinds if how != "slow" else ("Plain", "Blind"), resyncPeriod="10m")
    updating = m.random.random() < 0.5
    if updating:
        m.do("apply")
        m.settle()
        for resource in fleet:
            m.edit(resource)
    if how == "slow":
        m.do("limits", connection="api", limits={"writes_per_second": m.random.choice((0.005, 0.01))})
    elif how == "throttle":
        after = m.random.choice((330, 600, 1500))
        m.do(
            "fault",
            how="throttle",
            ops=["create", "update"],
            times=m.random.randint(1, 2),
            data={"status": 503, "after": after},
        )
    else:
        ops = m.random.choice((["read", "list"], ["create", "update"]))
        m.do("order", what="stop", ops=ops, n=m.random.randint(1, 6), moment="after", command="apply")
    m.do("apply_beside", machine="there")
    m.wait(305, 500)
    if how == "slow":
        m.do("limits", connection="api", limits={})
    if updating and m.random.random() < 0.7:
        for resource in fleet:
            m.edit(resource)
    m.do("apply", machine="here")
    m.do("wake")
    m.do("await_others", seconds=20000.0)
    m.do("check")


def together(m: Maker) -> None:
    """Two processes apply at once, and a watch runs beside them."""
    fleet = m.some(m.random.randint(2, 5), ("Plain", "Keyed", "Named", "Blind"), resyncPeriod="10m")
    m.fleet.project["corrections"] = {"massDrift": "off"}
    if m.random.random() < 0.4:
        m.do("watch_start")
    for _ in range(m.random.randint(1, 3)):
        m.do("latency", seconds=m.random.choice((0.05, 0.5, 2.0)))
        m.do("apply_beside", machine=m.random.choice(("here", "there")))
        m.wait(0.0, 3.0)
        m.do("apply")
        m.do("await_others")
        m.noise(0.2)
        each = m.random.choice(fleet)
        if m.random.random() < 0.5:
            m.edit(each)
        else:
            m.wait(330, 700)
            m.stranger(each)
    m.do("latency", seconds=0.05)


SCENARIOS: dict[str, Callable[[Maker], None]] = {
    item.__name__: item for item in (killed, undoing, deletions, fenced, together)
}
