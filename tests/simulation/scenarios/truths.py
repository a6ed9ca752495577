"""Verdicts, references, late defaults, imports, deletions, removed declarations, policies, secrets."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.scenarios.common import Maker


def verdicts(m: Maker) -> None:
    """Edits by people and strangers in any order, and a check after each."""
    fleet = m.some(m.random.randint(2, 4), ("Plain", "Keyed", "Named", "Late", "Hidden", "Document", "Signed"))
    for resource in fleet:
        if m.random.random() < 0.25:
            resource.options["onDrift"] = m.random.choice(("report", "approve"))
        if m.random.random() < 0.25:
            resource.options["onDriftPaths"] = {m.path(resource): m.random.choice(("report", "ignore", "approve"))}
    m.fleet.project["corrections"] = {"massDrift": "off"}
    m.do("apply")
    m.settle()
    for _ in range(m.random.randint(3, 7)):
        each = m.random.choice(fleet)
        what = m.random.random()
        conf = "/content/size" if each.is_file else "/conf/b"
        if what < 0.35:
            m.stranger(each, m.random.choice((m.path(each), conf)))
        elif what < 0.6:
            m.edit(each)
        elif what < 0.7:
            m.do("apply")
        elif what < 0.8 and not each.is_file:
            m.stranger(each, "/tier")
        elif what < 0.85:
            m.do("stranger_deletes", name=each.name)
        elif what < 0.9:
            m.do(m.random.choice(("accept", "baseline", "waive", "revert")), name=each.name, path=m.path(each))
        else:
            m.wait(60, 4000)
        m.do("check")
        m.noise(0.15)


def references(m: Maker) -> None:
    """A resource refers to fields of another, in the same file or elsewhere; the other drifts."""
    source = m.resource(m.random.choice(("Plain", "Keyed", "Named")))
    field = m.random.choice(("color", "conf/a", "id", "tier"))
    users = []
    for _ in range(m.random.randint(1, 3)):
        user = m.resource(m.random.choice(("Plain", "Keyed", "Named", "Document")))
        if user.is_file:
            user.spec["content"]["net"] = m.refer(source, field)
        else:
            user.spec["net"] = m.refer(source, field)
        users.append(user)
    held = m.random.choice(("", "report", "freeze", "pause"))
    if held == "report":
        source.options["onDrift"] = "report"
    m.do("apply")
    m.settle()
    if held == "freeze":
        m.do("project", corrections={"windows": [{"freeze": {"from": "2027-01-15", "until": "2027-12-31"}}]})
    if held == "pause":
        m.do("pause", scope=source.address)
    m.stranger(source, "/tier" if field == "tier" else f"/{field}" if field != "id" else "/color")
    m.do("check")
    m.noise()
    m.do("check")
    m.do("apply")
    m.do("check")
    if m.random.random() < 0.5:
        m.edit(source)
        m.do("apply")
        m.do("check")


def joining(m: Maker) -> None:
    """A stranger adds a key soon after a write of ours."""
    fleet = m.some(m.random.randint(1, 3), ("Document", "Document", "Plain", "Keyed", "Named"))
    m.do("apply")
    each = m.random.choice(fleet)
    if m.random.random() < 0.5:
        m.wait(400, 900)
        m.do("check")
        m.stranger(each)
        m.do("apply")
    if m.random.random() < 0.5:
        m.do("check")
    m.wait(1, 200)
    drifted_too = m.random.random() < 0.4
    if drifted_too:
        m.stranger(each)
    place = "/content/backdoor" if each.is_file else "/backdoor"
    m.stranger(each, place)
    m.do("check_joined", name=each.name, path=place)
    m.do("check")
    if drifted_too and m.random.random() < 0.5:
        m.do("apply")
        m.do("check_joined", name=each.name, path=place)


def deleting(m: Maker) -> None:
    """Deletion by label or target of what others need, and of what needs others."""
    base = m.resource(m.random.choice(("Plain", "Keyed", "Named")))
    users = []
    for _ in range(m.random.randint(1, 3)):
        user = m.resource(m.random.choice(("Plain", "Keyed", "Named")))
        user.spec["net"] = m.refer(base, m.random.choice(("id", "color")))
        users.append(user)
    other = m.resource()
    for resource in (base, *users, other):
        resource.labels["app"] = m.random.choice(("web", "db"))
    m.do("apply")
    m.noise()
    if m.random.random() < 0.5:
        app = m.random.choice(("web", "db"))
        names = [resource.name for resource in m.fleet.resources if resource.labels["app"] == app]
        m.do("delete", options=f"-l app={app}", names=names)
    else:
        each = m.random.choice((base, *users))
        m.do("delete", options=f"--target {each.address}", names=[each.name])
    m.do("check")


def importing(m: Maker) -> None:
    """Things that somebody made are taken over, corrected, deleted by strangers."""
    kind = m.random.choice(("Plain", "Keyed"))
    each = m.resource(kind, resyncPeriod=m.random.choice(("10m", "1h", "0")))
    each.imports = m.random.choice(({"id": f"{kind.lower()}-1"}, {"filter": {"name": each.name}}))
    differs = m.random.random() < 0.7
    document = dict(each.spec) if not differs else {**each.spec, "color": "theirs"}
    other = m.resource(resyncPeriod=m.random.choice(("10m", "0")), recreate=m.random.choice(("when_resync", "never")))
    m.do("stranger_makes", api="api", kind=kind, document=document)
    m.do("apply")
    m.settle()
    if m.random.random() < 0.5:
        m.edit(each)
        m.do("apply")
        m.wait(10, 600)
    m.noise()
    m.do("stranger_deletes", name=each.name)
    if m.random.random() < 0.5:
        m.do("stranger_deletes", name=other.name)
    if m.random.random() < 0.5:
        m.do("apply")
    else:
        m.do("watch_start")
        m.wait(3600, 8000)
        m.do("watch_stop")
    m.do("check")


def removing(m: Maker) -> None:
    """Declarations are taken out; what they declared lives on and drifts."""
    fleet = m.some(m.random.randint(2, 4), ("Plain", "Keyed", "Named", "Document"), resyncPeriod="10m")
    m.do("apply")
    m.noise()
    gone = m.random.choice(fleet)
    m.do("undeclare", name=gone.name)
    if m.random.random() < 0.6:
        m.stranger(gone)
    if m.random.random() < 0.3:
        m.do("watch_start")
        m.wait(700, 3000)
        m.do("watch_stop")
    m.do("check_text", command=m.random.choice(("check", "plan")))
    m.do("status")
    if m.random.random() < 0.4:
        m.do("rename_file", old="f0.yaml", new="g0.yaml")
        m.do("check")
    if m.random.random() < 0.3:
        m.do("declare", name=gone.name)
        m.do("check")


def observing(m: Maker) -> None:
    """Resources change hands between managed, observed and unmanaged."""
    fleet = m.some(m.random.randint(1, 3), ("Plain", "Keyed", "Named", "Document", "Hidden"))
    m.do("apply")
    m.settle()
    each = m.random.choice(fleet)
    if m.random.random() < 0.5:
        m.stranger(each)
    if m.random.random() < 0.5:
        m.edit(each)
    if m.random.random() < 0.3:
        m.do("apply")
    m.do("policy", name=each.name, policy=m.random.choice(("observed", "observed", "unmanaged")))
    m.do(m.random.choice(("apply", "check")))
    m.do("observe_as_is", name=each.name)
    m.do("apply")
    m.do("check")
    if m.random.random() < 0.5:
        m.stranger(each)
        m.do("check")
        m.do("apply")
    if m.random.random() < 0.4:
        m.do("policy", name=each.name, policy="managed")
        m.do("check")


def secrets(m: Maker) -> None:
    """Secrets in list elements and elsewhere; elements come, go and change places; APIs repeat tokens."""
    each = m.resource(m.random.choice(("Plain", "Keyed", "Named")))
    count = m.random.randint(1, 3)
    key = m.random.choice(("user", "name"))
    each.spec["users"] = [{key: f"u{n}", "pw": m.secret(f"PW_{n}")} for n in range(count)]
    if m.random.random() < 0.5:
        each.spec["login"] = {"pw": m.secret("LOGIN"), "user": "ada"}
    token = f"tok-{m.seed}-{m.random.randrange(10**6)}"
    m.fleet.environment["API_TOKEN"] = token
    m.fleet.connections["api"] = {"auth": {"type": "bearer"}, "secrets": {"token": {"env": "API_TOKEN"}}}
    m.fleet.project["notify"] = [{"file": "events.jsonl"}, {"webhook": "http://hook.sim/x"}]
    m.do("apply")
    m.wait(10, 900)
    if m.random.random() < 0.3:
        m.do("echo", api="api", secret=token)
    m.do("rotate", name=each.name, key=key, how=m.random.choice(("prepend", "append", "drop", "rotate", "reverse")))
    m.do("check")
    m.do("check_text", command=m.random.choice(("check", "plan")))
    if m.random.random() < 0.5:
        m.do("apply")
        m.do("status")
    if m.random.random() < 0.3:
        m.do("accept", name=each.name, path="/users")


SCENARIOS: dict[str, Callable[[Maker], None]] = {
    verdict.__name__: verdict
    for verdict in (verdicts, references, joining, deleting, importing, removing, observing, secrets)
}
