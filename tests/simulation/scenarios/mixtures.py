"""Everything at once: a fleet of all kinds, and a life in which anything may come after anything."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.fleet import Resource
from tests.simulation.scenarios.common import PERIODS, Maker


def mixture(m: Maker) -> None:
    """People, strangers, services, processes and clocks, in any order."""
    fleet = m.some(m.random.randint(3, 5), ("Plain", "Keyed", "Named", "Blind", "Late", "Hidden", "Signed", "Document"))
    for element in fleet:
        _settings(m, element)
    user = m.resource(m.random.choice(("Keyed", "Named")), resyncPeriod="10m")
    source = m.random.choice([item for item in fleet if not item.is_file] or [user])
    if source is not user:
        fields = ("id",) if source.policy == "unmanaged" else ("id", "color")
        user.spec["net"] = m.refer(source, m.random.choice(fields))
    if m.random.random() < 0.5:
        m.fleet.project["corrections"] = {"massDrift": "off"}
    m.do("apply")
    m.settle()
    for _ in range(m.random.randint(4, 9)):
        m.random.choice((_person, _person, _stranger, _stranger, _service, _machine))(m, [*fleet, user])
        m.noise(0.25)
    m.do("watch_stop")
    m.do("wake")
    m.do("await_others")
    m.do("heal")
    m.do("check")
    m.do("status")


def _settings(m: Maker, each: Resource) -> None:
    if m.random.random() < 0.7:
        each.options["resyncPeriod"] = m.random.choice((*PERIODS, "0"))
    if m.random.random() < 0.2:
        each.options["onDrift"] = m.random.choice(("report", "approve"))
    if m.random.random() < 0.2:
        each.options["onDriftPaths"] = {m.path(each): m.random.choice(("report", "ignore", "approve"))}
    if m.random.random() < 0.15 and not each.is_file:
        each.policy = m.random.choice(("observed", "unmanaged"))
        each.imports = {"filter": {"name": each.name}}
        document = {key: value for key, value in each.spec.items() if key != "password"}
        m.do("stranger_makes", api="api", kind=each.kind, document=document)


_DEEDS = ("edit", "edit", "apply", "apply", "check", "label", "option", "rename", "pause", "resume", "approve")


def _person(m: Maker, fleet: list[Resource]) -> None:
    each = m.random.choice(fleet)
    choice = m.random.choice(_DEEDS)
    if choice == "edit":
        m.edit(each)
    elif choice == "label":
        m.do("label", name=each.name, key="team", value=m.random.choice(("one", "two")))
    elif choice == "option":
        m.do("option", name=each.name, option="resyncPeriod", value=m.random.choice((*PERIODS, "0")))
    elif choice == "rename":
        m.do("rename_file", old=each.file, new=f"r{m.random.randrange(3)}.yaml")
    elif choice == "pause":
        m.do("pause", scope=m.random.choice(("", "api", each.address)))
        m.do("apply")
        if m.random.random() < 0.7:
            m.do("resume_all")
    elif choice == "resume":
        m.do("resume_all")
    else:
        m.do(choice)


def _stranger(m: Maker, fleet: list[Resource]) -> None:
    each = m.random.choice(fleet)
    m.wait(310, 700)
    if m.random.random() < 0.12:
        m.do("stranger_deletes", name=each.name)
    else:
        m.stranger(each, m.random.choice((m.path(each), "/content/size" if each.is_file else "/conf/b")))
    m.do(m.random.choice(("check", "apply", "status")))


def _service(m: Maker, fleet: list[Resource]) -> None:
    each = m.random.choice(fleet)
    how = m.random.choice(("error", "hang", "reset", "throttle", "lost_answer", "empty_list", "not_object"))
    ops = {"lost_answer": ["create", "update"], "empty_list": ["list"], "not_object": ["read"]}.get(how, [])
    data = m.random.choice(("empty", "error", "list", "other")) if how == "not_object" else {"status": 429, "after": 20}
    m.do("fault", how=how, ops=ops, data=data, name=each.name, times=m.random.randint(1, 12))
    m.do(m.random.choice(("check", "apply")))
    if m.random.random() < 0.6:
        m.do("heal")


def _machine(m: Maker, fleet: list[Resource]) -> None:
    choice = m.random.choice(("kill", "beside", "watch", "watch", "clock"))
    if choice == "kill":
        ops = m.random.choice((["create", "update"], ["read", "list", "create", "update"]))
        moment = m.random.choice(("before", "after"))
        m.do("order", what="kill", ops=ops, n=m.random.randint(1, 4), moment=moment, command="apply")
        m.edit(m.random.choice(fleet))
        m.do("apply", machine=m.random.choice(("here", "there")))
        m.do("apply")
    elif choice == "beside":
        m.do("latency", seconds=m.random.choice((0.05, 0.5, 2.0)))
        m.do("apply_beside")
        m.wait(0, 2)
        m.do("apply")
        m.do("await_others")
        m.do("latency", seconds=0.05)
    elif choice == "watch":
        m.do("watch_start")
        m.wait(400, 5000)
        if m.random.random() < 0.5:
            m.stranger(m.random.choice(fleet))
            m.wait(400, 5000)
        m.do(m.random.choice(("watch_stop", "kill_watch")))
    else:
        m.do("clock", seconds=m.random.choice((3600.0, 600.0, -600.0)))


SCENARIOS: dict[str, Callable[[Maker], None]] = {"mixture": mixture}
