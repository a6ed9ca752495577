"""Templates as written: what they may say, and what is told of mistakes, each with file, line and field."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.manifests import loader
from holdfast.manifests import project as projects
from holdfast.model.address import Address
from holdfast.policy.budgets import Percent
from holdfast.rollouts.core.requirements import Asks, RequirementDebounce
from holdfast.rollouts.core.revisions import Unstamped
from holdfast.rollouts.core.rollout_limits import OnHalt
from holdfast.rollouts.core.template_findings import FindingKind
from holdfast.rollouts.core.template_schemes import ListOrder
from holdfast.rollouts.core.templates import Compatibility, Method, RolloutMode
from holdfast.schema.document import InputErrors

WHOLE = """\
apiVersion: holdfast.dev/v1
kind: Template
metadata: {name: web, annotations: {holdfast.dev/uid: "7"}}
spec:
  child:
    apiVersion: file.holdfast.dev/v1
    kind: Document
    labels: {tier: "1"}
    managedOptions: {resyncPeriod: 1h}
  replicas: 10
  uses: [base]
  zones: [a, b]
  schema: v2
  nonce: again
  resource: {path: $(name).yaml, content: {level: info}}
  fields:
    inPlace: [/content/labels]
    behavioural: [/content/weight]
    removed: [/content/old]
    keepEmpty: [/content/tags]
    defaults: {v2: {/content/kind: Pool}}
    moved: {v1: {/size: /content/size}}
    lists: {/content/zones: set, /content/ports: [name], /content/steps: ordered, /content/weights: multiset}
    rewrite: [/content/image]
  requirements:
    - {name: Zone, path: /content/zone, operator: In, values: [a, b], debounce: {checks: 2, time: 10m}}
    - {path: /content/type, offeredBy: local/Document/types, at: /content/offers}
  readyWhen: [{path: /content/phase, operator: In, values: [up]}]
  idleWhen: [{path: /content/load, operator: Lt, values: [1]}]
  stamps: {at: /content/metadata/annotations, key: karpenter.k8s.aws/ec2nodeclass-hash}
  compatibility: option1
  unstamped: adopt
  mode: notify
  promote: [newly-visible]
  keepRevisions: 3
  rollout:
    method: remove-first
    canary: [web-3, web-4]
    waves: false
    partition: 2
    maxSurge: 3
    maxUnavailable: 5%
    perZone: 25%
    budgets: {spec: 5%, dynamic: 1, "*": 10%}
    windows: [{allow: {days: mon-fri, hours: "09:00-17:00"}, zone: Europe/Berlin}]
    gates: [{name: errors, resource: api/Metric/errors, path: /value, operator: Lt, values: [5]}]
    minReady: 10s
    soak: 5m
    progressDeadline: 30m
    haltOnFailures: 2%
    onHalt: roll-back
    holds: {web-3: true, web-4: 2h, web-5: false}
    holdDeadline: 1d
    retry: {base: 1m, max: 10m}
---
apiVersion: holdfast.dev/v1
kind: Template
metadata: {name: base}
spec: {resource: {os: linux}}
"""


def read(folder: Path, text: str):
    (folder / "web.yaml").write_text(text)
    project = projects.load(None, folder, ["file"])
    return loader.read([str(folder / "web.yaml")], project)


def test_everything_a_template_may_say_is_read(tmp_path):
    base, web = read(tmp_path, WHOLE).templates
    assert base.is_part
    assert (web.name, web.owner_id, web.replicas, web.uses, web.rollout.zones) == (
        "web",
        "7",
        10,
        ("base",),
        ("a", "b"),
    )
    assert web.child is not None
    assert (web.child.provider, web.child.connection, web.child.kind) == ("file", "local", "Document")
    assert web.live().content == {"resource": {"path": "$(name).yaml", "content": {"level": "info"}}, "nonce": "again"}
    assert web.fields.in_place == {("content", "labels")}
    assert web.fields.defaults == {"v2": {("content", "kind"): "Pool"}}
    assert web.fields.moved == {"v1": {("size",): ("content", "size")}}
    lists = {("content", "zones"): ListOrder.SET, ("content", "ports"): ("name",), ("content", "weights"): "multiset"}
    assert web.fields.lists == lists
    assert web.fields.rewritten == {("content", "image")}
    zone, offered = web.checks.requirements
    assert (zone.name, zone.test, zone.values, zone.debounce) == (
        "Zone",
        Asks.IN,
        ("a", "b"),
        RequirementDebounce(2, 600.0),
    )
    assert offered.debounce == RequirementDebounce()
    assert offered.offer is not None
    assert (offered.test, offered.offer.resource) == (Asks.OFFERED, Address("local", "Document", "types"))
    assert web.stamps.stamping is not None
    assert web.stamps.stamping.key == "karpenter.k8s.aws/ec2nodeclass-hash"
    modes = (web.stamps.compatibility, web.stamps.unstamped, web.rollout.mode, web.rollout.promoted)
    assert modes == (Compatibility.OPTION1, Unstamped.ADOPT, RolloutMode.NOTIFY, {FindingKind.NEWLY_VISIBLE})
    limits = web.rollout.limits
    assert (web.rollout.method, limits.waves.canary_slots, limits.waves.is_doubling) == (
        Method.REMOVE_FIRST,
        {"web-3", "web-4"},
        False,
    )
    assert limits.per_zone == Percent(25.0)
    assert limits.budgets == {"spec": Percent(5.0), "dynamic": 1, "*": Percent(10.0)}
    assert (limits.min_ready, limits.waves.soak, limits.halt.progress_deadline) == (10.0, 300.0, 1800.0)
    assert (limits.halt.after, limits.halt.action, limits.hold_deadline) == (Percent(2.0), OnHalt.ROLL_BACK, 86_400.0)
    assert web.rollout.holds == {"web-3": math.inf, "web-4": 7200.0}
    assert [gate.name for gate in web.rollout.gates] == ["errors"]
    assert web.rollout.kept == 3


PLAIN = """\
apiVersion: holdfast.dev/v1
kind: Template
metadata: {name: web}
spec:
  child: {apiVersion: file.holdfast.dev/v1, kind: Document}
  replicas: 3
  resource: {path: a}
"""
# what is written instead -> what is told: line, field, message
CHILD = "child: {apiVersion: file.holdfast.dev/v1, kind: Document}"
MISTAKES = [
    ("replicas: 3", "replicas: many", 6, "/spec/replicas", "expected a whole number from 0 to 100,000, got a string"),
    (
        "replicas: 3",
        "replicas: 3\n  selector: {matchLabels: {a: b}}",
        7,
        "/spec/selector",
        "a template has either replicas or a selector: remove one",
    ),
    (
        "  child: {apiVersion: file.holdfast.dev/v1, kind: Document}\n",
        "",
        4,
        "/spec",
        f"`child` is missing; declare the kind of the children: {CHILD}",
    ),
    ("  replicas: 3\n", "", 5, "/spec/child", "child is for templates with replicas"),
    (
        "file.holdfast.dev/v1, k",
        "apps/v1, k",
        5,
        "/spec/child/apiVersion",
        "apiVersion 'apps/v1' is unknown; write it as in file.holdfast.dev/v1",
    ),
    ("resource: {path: a}", "resource: [a]", 7, "/spec/resource", "expected a mapping, got a list"),
    ("{path: a}", "{path: {secretRef: {envv: A}}}", 7, "/spec/resource/path", "did you mean env?"),
    (
        "  resource: {path: a}\n",
        "",
        4,
        "/spec",
        "`resource` is missing; write what children are made from: resource: {...}",
    ),
    ("resource:", "rollout: {maxSurge: 0}\n  resource:", 7, "/spec/rollout/maxSurge", "lets no rollout proceed"),
    (
        "resource:",
        "rollout: {maxSurge: 200%}\n  resource:",
        7,
        "/spec/rollout/maxSurge",
        "expected a whole number such as 10, or a percentage such as 5%",
    ),
    ("resource:", "rollout: {soak: 5}\n  resource:", 7, "/spec/rollout/soak", "5"),
    ("resource:", "rollout: {haltOnFailures: x}\n  resource:", 7, "/spec/rollout/haltOnFailures", "a whole number"),
    (
        "resource:",
        "rollout: {methd: rewrite}\n  resource:",
        7,
        "/spec/rollout/methd",
        "unknown field `methd`; did you mean `method`?",
    ),
    ("resource:", "rollout: {method: rewrit}\n  resource:", 7, "/spec/rollout/method", "did you mean rewrite?"),
    ("resource:", "rollout: {holds: [web-1]}\n  resource:", 7, "/spec/rollout/holds", "expected a mapping, got a list"),
    (
        "resource:",
        "fields: {inPlace: [labels]}\n  resource:",
        7,
        "/spec/fields/inPlace/0",
        "expected a path that begins with a slash, such as /status/phase",
    ),
    (
        "resource:",
        "fields: {defaults: {v1: 1}}\n  resource:",
        7,
        "/spec/fields/defaults/v1",
        "expected a mapping, got a number",
    ),
    ("resource:", "fields: {lists: {/a: sett}}\n  resource:", 7, "/spec/fields/lists/~1a", "did you mean set?"),
    (
        "resource:",
        "fields: {lists: {/a: 1}}\n  resource:",
        7,
        "/spec/fields/lists/~1a",
        "expected ordered, set, multiset, or names of fields that identify elements, such as [name]; got a number",
    ),
    (
        "resource:",
        "fields: {lists: {/a: []}}\n  resource:",
        7,
        "/spec/fields/lists/~1a",
        "expected ordered, set, multiset, or names of fields that identify elements, such as [name]; got a list",
    ),
    ("resource:", "fields: {lists: [/a]}\n  resource:", 7, "/spec/fields/lists", "expected a mapping"),
    ("resource:", "fields: {rewrite: [/a], inPlace: [/a]}\n  resource:", 7, "/fields/rewrite", "in one class only"),
    (
        "resource:",
        "requirements: [{operator: In}]\n  resource:",
        7,
        "/spec/requirements/0",
        "`path` is missing; name the field to look at, such as path: /zone",
    ),
    ("resource:", "requirements: [{path: /a, operator: In}]\n  resource:", 7, "/spec/requirements/0", "needs values"),
    ("resource:", "requirements: [{path: /a, offeredBy: x}]\n  resource:", 7, "/offeredBy", "is not an address"),
    (
        "resource:",
        "requirements: [{path: /a, debounce: {checks: 0}}]\n  resource:",
        7,
        "/spec/requirements/0/debounce/checks",
        "expected a whole number >= 1",
    ),
    ("resource:", "requirements: [{path: /a, debounce: {time: 5}}]\n  resource:", 7, "/debounce/time", "5"),
    ("resource:", "requirements: [{path: /a, debounce: 10m}]\n  resource:", 7, "/debounce", "expected a mapping"),
    (
        "resource:",
        "requirements: [{path: /a}, {path: /a, debounce: {checks: 2}}]\n  resource:",
        7,
        "/spec/requirements",
        "needs a name of its own",
    ),
    ("resource:", "readyWhen: [{path: /a, debounce: {}}]\n  resource:", 7, "/readyWhen/0/debounce", "unknown field"),
    ("resource:", "rollout: {perZone: 1}\n  resource:", 7, "/spec/rollout/perZone", "write zones: [...]"),
    ("resource:", "zones: [a]\n  rollout: {perZone: 0}\n  resource:", 8, "/rollout/perZone", "lets no rollout proceed"),
    (
        "resource:",
        "fields: {rewrite: [/a]}\n  rollout: {maxUnavailable: 0}\n  resource:",
        8,
        "/spec/rollout/maxUnavailable",
        "maxUnavailable: 0 lets no child be rewritten, and fields.rewrite names such fields",
    ),
    ("resource:", "mode: observ\n  resource:", 7, "/spec/mode", "did you mean observe?"),
    (
        "resource:",
        "stamps: {key: x}\n  resource:",
        7,
        "/spec/stamps",
        "`at` is missing; name the path of annotations, such as /metadata/annotations",
    ),
    (
        "resource:",
        "promote: [spec]\n  resource:",
        7,
        "/spec/promote/0",
        "expected one of newly-visible, defaults-changed, got 'spec'",
    ),
    ("resource:", "uses: [bsae]\n  resource:", 7, "/spec/uses/0", "there is no template 'bsae'"),
    ("resource:", "uses: [web]\n  resource:", 7, "/spec/uses/0", "has children of its own"),
    (
        "resource:",
        "compatibility: option2\n  resource:",
        7,
        "/spec/compatibility",
        "expected one of regimes, option1, got 'option2'; did you mean option1?",
    ),
]


@pytest.mark.parametrize("old, new, line, field, message", MISTAKES, ids=[item[1][:40] for item in MISTAKES])
def test_a_mistake_is_told_with_its_place(tmp_path, old, new, line, field, message):
    assert old in PLAIN
    with pytest.raises(InputError) as caught:
        read(tmp_path, PLAIN.replace(old, new))
    found = caught.value.errors if isinstance(caught.value, InputErrors) else (caught.value,)
    told = [(item.location.line, item.location.field or "", item.message) for item in found]
    assert any(row == line and place.endswith(field) and message in text for row, place, text in told), told


def test_selected_children_can_only_be_rewritten_and_belong_to_one_that_leads(tmp_path):
    chosen = (
        "kind: Template\nspec: {{selector: {{matchLabels: {{a: b}}}}, resource: {{x: 1}}{more}}}\n"
        "metadata: {{name: {name}}}\n"
    )
    head = "apiVersion: holdfast.dev/v1\n"
    with pytest.raises(InputError, match="can only be rewritten"):
        read(tmp_path, head + chosen.format(name="one", more=", rollout: {method: remove-first}"))
    both = "---\n".join(head + chosen.format(name=name, more="") for name in ("one", "two"))
    child = (
        "---\napiVersion: file.holdfast.dev/v1\nkind: Text\nmetadata: {name: c, labels: {a: b}}\n"
        "spec: {resource: {path: c, content: x}}\n"
    )
    with pytest.raises(InputError, match="is selected by one and two; let one lead and use the other"):
        read(tmp_path, both + child)


def test_a_declared_resource_of_the_name_of_a_child_is_a_mistake(tmp_path):
    clash = (
        "---\napiVersion: file.holdfast.dev/v1\nkind: Document\nmetadata: {name: web-1}\n"
        "spec: {resource: {path: c, content: {}}}\n"
    )
    with pytest.raises(InputError, match="template web would make one of that name"):
        read(tmp_path, PLAIN + clash)
