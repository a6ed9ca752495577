"""Resources declared as templates, by the command line: one value in two spellings, parts that are live, and children
that another controller made.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.acceptance.folders import Folder
from tests.acceptance.test_commands import run

pytestmark = pytest.mark.slow  # a process for each command

AS_RESOURCE = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: web, labels: {team: shop}}
template:
  replicas: 4
  zones: [north, south]
  fields: {inPlace: [/content/labels]}
  rollout: {canary: 1, maxSurge: 50%}
spec:
  connection: fleet
  managedOptions: {resyncPeriod: 1h}
  resource: {path: $(name).yaml, content: {image: "web:1.0", zone: $(zone)}}
"""
AS_TEMPLATE = """\
apiVersion: holdfast.dev/v1
kind: Template
metadata: {name: web}
spec:
  child:
    apiVersion: file.holdfast.dev/v1
    kind: Document
    connection: fleet
    labels: {team: shop}
    managedOptions: {resyncPeriod: 1h}
  replicas: 4
  zones: [north, south]
  fields: {inPlace: [/content/labels]}
  rollout: {canary: 1, maxSurge: 50%}
  resource: {path: $(name).yaml, content: {image: "web:1.0", zone: $(zone)}}
"""
PART = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: class}
template: {fields: {behavioural: [/content/note]}}
spec:
  connection: fleet
  resource: {path: class.yaml, content: {ami: one, note: x}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("first, second", [(AS_RESOURCE, AS_TEMPLATE), (AS_TEMPLATE, AS_RESOURCE)])
def test_to_switch_between_the_spellings_rolls_nothing_and_writes_nothing(folder, first, second):
    folder.write(first)
    assert "Plan: 4 to add" in folder("plan")
    folder("apply", "-y")
    assert [content["zone"] for content in folder.files().values()] == ["north", "south", "north", "south"]
    before = folder.touched()
    folder.write(second)
    planned = folder.json("plan", "--detailed-exitcode")
    assert [resource["action"] for resource in planned["resources"]] == ["none"] * 4
    (template,) = folder.json("rollout", "status")
    assert (template["upToDate"], template["rollout"], template["findings"]) == (4, None, [])
    assert "0 added, 0 changed, 0 replaced, 0 destroyed" in folder("apply", "-y")
    assert folder.touched() == before
    assert "Nothing would change: 8 rehearsed" in folder("upgrade-check")
    folder.write(second.replace("web:1.0", "web:1.1"))
    assert "would roll 4 of 4 children in waves of 1, 1, 2" in folder("plan", "--detailed-exitcode", code=2)
    folder("apply", "-y")
    assert {content["image"] for content in folder.files().values()} == {"web:1.1"}
    folder.write(first.replace("web:1.0", "web:1.1"))
    assert "0 to add, 0 to change" in folder("plan", "--detailed-exitcode")
    folder("rollout", "undo", "web")
    folder("apply", "-y")
    assert {content["image"] for content in folder.files().values()} == {"web:1.0"}


def test_every_command_knows_the_children_of_a_resource_that_is_a_template(folder):
    folder.write(AS_RESOURCE)
    folder("apply", "-y")
    told = run("explain", "fleet/Document/web-3", cwd=folder.path).stdout
    assert "child of template web, slot web-3, ready; made from web revision 1 (regime 0)" in told
    assert "template web: revision 1, 4 ready" in run("status", cwd=folder.path).stdout
    (folder.path / "fleet/web-3.yaml").write_text("image: hacked\nzone: south\n")
    assert "web-3" in folder("check", "--detailed-exitcode", code=4)
    assert "is a child of template web: edit the template" in folder("accept", "fleet/Document/web-3", code=1)
    folder("watch", "--rounds", "1")
    assert folder.files()["web-3"]["image"] == "web:1.0"
    folder("delete", "--yes")
    assert folder.files() == {}
    assert "template" not in run("status", cwd=folder.path).stdout


def test_a_part_that_is_live_is_written_first_and_then_the_children_are_rolled(folder):
    using = AS_RESOURCE.replace("zones:", "uses: [class]\n  zones:")
    folder.write(using, PART)
    folder("apply", "-y")
    assert folder.files()["class"] == {"ami": "one", "note": "x"}
    assert "ami" not in folder.files()["web-0"]
    folder.write(using, PART.replace("note: x", "note: y"))
    assert "0 added, 1 changed" in folder("apply", "-y")
    assert sorted(folder.files()) == ["class", "web-0", "web-1", "web-2", "web-3"]
    folder.write(using, PART.replace("ami: one", "ami: two"))
    planned = folder("plan", "--detailed-exitcode", code=2)
    assert "fleet/Document/class  pending: declaration changed" in planned
    assert "spec: 4 children, class edited at /resource/content/ami" in planned
    done = folder("apply", "-y")
    assert done.index("update fleet/Document/class") < done.index("create fleet/Document/web-0-r1")
    assert sorted(folder.files()) == ["class", "web-0-r1", "web-1-r1", "web-2-r1", "web-3-r1"]
    assert "revert its declaration instead" in folder("rollout", "undo", "web", code=1)
    made_from = folder.json("explain", "fleet/Document/web-0-r1")["template"]["madeFrom"]
    assert {owner: birth["revision"] for owner, birth in made_from.items()} == {"class": 3, "web": 1}
    (folder.path / "fleet/class.yaml").write_text("ami: hacked\nnote: x\n")
    assert "accepted into" in folder("accept", "fleet/Document/class")
    assert "class edited at" in folder("plan", "--detailed-exitcode", code=2)
    folder("delete", "--yes")
    assert "template" not in run("status", cwd=folder.path).stdout


def test_children_are_not_rolled_to_a_part_that_could_not_be_written(folder):
    using = AS_RESOURCE.replace("zones:", "uses: [class]\n  zones:")
    folder.write(using, PART)
    folder("apply", "-y")
    before = sorted(folder.files())
    folder.write(using, PART.replace("ami: one", "ami: two").replace("class.yaml", "elsewhere.yaml"))
    assert "cannot be changed in place" in folder("apply", "-y", code=1)
    assert sorted(folder.files()) == before
    assert "waits: part fleet/Document/class is not as declared" in folder("rollout", "status")
    assert "part fleet/Document/class is not as declared" in folder.json("rollout", "status")[0]["waits"]
    folder.write(using, PART.replace("ami: one", "ami: two"))
    folder("apply", "-y")
    assert sorted(folder.files()) == ["class", "web-0-r2", "web-1-r2", "web-2-r2", "web-3-r2"]


def test_mistakes_are_told_with_file_line_and_field_and_nothing_is_changed(folder):
    folder.write(AS_RESOURCE)
    folder("apply", "-y")
    before = folder.touched()
    wrong = AS_RESOURCE.replace("zones:", "child: {}\n  zones:").replace("spec:\n", "spec:\n  import: {id: x}\n")
    folder.write(wrong.replace("canary: 1", "canary: many"))
    told = folder("apply", "-y", code=1)
    assert "infra/web.yaml:6:3 (/template/child): the document itself says what its children are" in told
    assert "infra/web.yaml:9:13 (/template/rollout/canary)" in told
    assert "(/spec/import): the children of a template are created, not imported" in told
    folder.write(AS_RESOURCE, AS_TEMPLATE)
    assert "the template web is declared twice" in folder("apply", "-y", code=1)
    assert folder.touched() == before


# --- children of another controller -----------------------------------------------------------------------------------

POOL = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: pool}
template:
  selector: {matchLabels: {pool: web}}
  stamps: {at: /content/metadata/annotations, of: /content}
  rollout: {canary: 1, maxUnavailable: 1}
spec:
  connection: fleet
  resource:
    content:
      spec:
        expireAfter: 336h
        nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
        terminationGracePeriod: 24h0m0s
"""
NODE = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {{name: {name}, labels: {{pool: web}}}}
spec: {{connection: fleet, resource: {{path: {name}.yaml, content: {{zone: a}}}}}}
"""
LIVE = """\
metadata:
  annotations: {{karpenter.sh/nodepool-hash: "{hash}", karpenter.sh/nodepool-hash-version: v3}}
spec:
  expireAfter: {expiry}
  nodeClassRef: {{group: eks.amazonaws.com, kind: NodeClass, name: default}}
  terminationGracePeriod: 24h0m0s
zone: a
"""
PUBLISHED = "4012513481623584108"


def test_23_children_stamped_by_karpenter_are_bound_by_their_hash_or_left_alone(folder):
    nodes = ("node-a", "node-b", "strange")
    folder.write(POOL, *(NODE.format(name=name) for name in nodes))
    for name in nodes[:2]:
        (folder.path / f"fleet/{name}.yaml").write_text(LIVE.format(hash=PUBLISHED, expiry="336h"))
    (folder.path / "fleet/strange.yaml").write_text(LIVE.format(hash="99", expiry="1h"))
    before = folder.touched()
    planned = folder("plan")
    assert "0 to add, 0 to change" in planned
    assert "unknown: 1 child, pool unrecorded-template" in planned
    folder("apply", "-y", code=None)
    assert folder.touched() == before, "nobody is stamped as clean, and nobody is written over"
    (template,) = folder.json("rollout", "status")
    assert {(finding["child"], finding["reason"]) for finding in template["findings"]} == {
        ("fleet/Document/strange", "unrecorded-template")
    }
    made_from = folder.json("explain", "fleet/Document/node-a")["template"]["madeFrom"]["pool"]
    assert made_from == {"revision": 1, "regime": 0, "stamp": f"v3:{PUBLISHED}"}
    folder.write(POOL.replace("336h", "240h"), *(NODE.format(name=name) for name in nodes))
    assert "would roll 2 of 3 children in waves of 1, 1" in folder("plan")
    folder("apply", "-y", code=None)
    expiries = {name: content["spec"]["expireAfter"] for name, content in folder.files().items()}
    assert expiries == {"node-a": "240h", "node-b": "240h", "strange": "1h"}


def test_a_lost_store_is_recovered_from_the_stamps_of_our_own(folder):
    folder.write(POOL, NODE.format(name="node-a"), NODE.format(name="node-b"))
    folder("apply", "-y")
    before = folder.touched()
    shutil.rmtree(folder.path / ".holdfast")
    folder("apply", "-y")
    assert folder.touched() == before
    assert folder.json("rollout", "status")[0]["upToDate"] == 2
