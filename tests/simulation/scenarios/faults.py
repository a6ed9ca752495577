"""Services that lie, lose, lag, ignore and throttle."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.scenarios.common import Maker

_VARIANTS = ("empty", "error", "list", "other", "deep", "array")


def unreadable(m: Maker) -> None:
    """Reads fail or bring something that is not the object, while checks and applies go on."""
    fleet = m.some(m.random.randint(2, 4), ("Plain", "Keyed", "Named", "Blind"), resyncPeriod="10m")
    m.fleet.project["corrections"] = {"massDrift": "off"}
    m.do("apply")
    m.settle()
    each = m.random.choice(fleet)
    whose = {"name": each.name} if m.random.random() < 0.5 else {}
    how = m.random.choice(("not_object", "not_object", "hang", "error", "reset", "throttle", "empty_list"))
    data = m.random.choice(_VARIANTS) if how == "not_object" else {"status": 429, "after": 30}
    ops = ["list"] if how == "empty_list" else ["read"] if m.random.random() < 0.6 else ["read", "list"]
    m.do("fault", how=how, ops=ops, data=data, **whose)
    if m.random.random() < 0.3:
        m.stranger(m.random.choice(fleet))
    m.do("check")
    if m.random.random() < 0.6:
        m.do("apply")
    if m.random.random() < 0.4:
        m.do("watch_start")
        m.wait(700, 1500)
        m.do("watch_stop")
    m.do("check")
    m.do("heal")
    m.do("check")


def lost(m: Maker) -> None:
    """Answers to writes are lost after the write was done."""
    fleet = m.some(m.random.randint(2, 4), ("Plain", "Keyed", "Named", "Blind", "Late"), resyncPeriod="10m")
    how = m.random.choice(("lost_answer", "lost_answer", "hang", "reset", "error"))
    ops = m.random.choice((["create"], ["create"], ["update"], ["create", "update"]))
    m.do("fault", how=how, ops=ops, times=m.random.randint(1, 3))
    m.do("apply")
    m.noise()
    m.do("apply")
    each = m.random.choice(fleet)
    m.edit(each)
    m.do("apply")
    m.do("heal")
    m.do("apply")
    m.do("check")


def ineffective(m: Maker) -> None:
    """Writes are accepted and ignored, or reads lag behind writes."""
    fleet = m.some(m.random.randint(1, 2), ("Plain", "Keyed", "Named"), resyncPeriod="10m")
    m.do("apply")
    m.settle()
    each = m.random.choice(fleet)
    if m.random.random() < 0.5:
        if m.random.random() < 0.7:
            m.edit(each)
        else:
            m.stranger(each)
        m.do("fault", how="ignored", name=each.name, ops=["update"], times=m.random.choice((1, 3, 50)))
        m.do("apply")
        m.do("check")
        if m.random.random() < 0.5:
            m.wait(700, 2000)
            m.do("check")
            m.do("apply")
            m.do("check")
        m.do("heal")
    else:
        m.do("fault", how="lag", name=each.name, ops=["read", "list"], data=m.random.choice((3.0, 30.0)), lasting=60.0)
        m.edit(each)
        m.do("apply")
        m.wait(100, 900)
        m.do("check")
        m.do("stranger_restores", name=each.name, path="/color")
        m.do("check")
        m.do("apply")
    m.do("check")


SCENARIOS: dict[str, Callable[[Maker], None]] = {item.__name__: item for item in (unreadable, lost, ineffective)}
