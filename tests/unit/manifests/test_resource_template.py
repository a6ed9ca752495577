"""Any resource kind declared as a template: what it says is what the equal document of kind Template says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.manifests import loader
from holdfast.manifests import project as projects
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.rollouts.core.templates import Method
from holdfast.schema.document import InputErrors

PROJECT = "connections:\n  fleet: {provider: file, root: fleet}\n"
GROUP = "file.holdfast.dev/v1"
SOMEWHERE = {"connection": "fleet"}


def read(folder: Path, *documents: str):
    (folder / "holdfast.yaml").write_text(PROJECT)
    (folder / "web.yaml").write_text("---\n".join(documents))
    return loader.read([str(folder / "web.yaml")], projects.load(None, folder, ["file"]))


def written(folder: Path, *documents: Json):
    return read(folder, *(yaml.safe_dump(document, sort_keys=False) for document in documents))


# --- two spellings, one value -----------------------------------------------------------------------------------------

SETTINGS = {
    "uses": st.just(["base"]),
    "zones": st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    "schema": st.sampled_from(["v1", "v2"]),
    "nonce": st.sampled_from(["again", "and again"]),
    "fields": st.sampled_from([{"inPlace": ["/content/labels"]}, {"removed": ["/content/old"]}]),
    "requirements": st.just([{"name": "Zone", "path": "/content/zone", "operator": "In", "values": ["a"]}]),
    "readyWhen": st.just([{"path": "/content/up", "operator": "Exists"}]),
    "idleWhen": st.just([{"path": "/content/load", "operator": "Lt", "values": [1]}]),
    "stamps": st.just({"at": "/content/annotations", "of": "/content"}),
    "compatibility": st.sampled_from(["regimes", "option1"]),
    "unstamped": st.sampled_from(["hold", "adopt", "drift"]),
    "mode": st.sampled_from(["enforce", "notify"]),
    "promote": st.just(["newly-visible"]),
    "keepRevisions": st.integers(1, 20),
}
ROLLOUTS = st.fixed_dictionaries(
    {}, optional={"canary": st.integers(0, 3), "soak": st.just("5m"), "holds": st.just({"web-1": True})}
)
CONTENT = st.dictionaries(st.sampled_from(["level", "zone"]), st.sampled_from(["info", "$(zone)", "$(index)"]))
HEADS = st.fixed_dictionaries({}, optional={"labels": st.just({"team": "shop"}), "namespace": st.just("north")})
SAID = st.fixed_dictionaries(
    {},
    optional={
        "connection": st.just("fleet"),
        "managedOptions": st.just({"resyncPeriod": "1h"}),
        "dependsOn": st.just(["Document/base"]),
    },
)
BASE = {
    "apiVersion": "holdfast.dev/v1",
    "kind": "Template",
    "metadata": {"name": "base"},
    "spec": {"resource": {"content": {"os": "linux"}}},
}


def as_kind_template(head: Json, said: Json, block: Json, resource: Json) -> Json:
    child = {"apiVersion": GROUP, "kind": "Document", **said}
    child |= {
        key: head[key]
        for key in ("labels", "namespace")
        if key in head and not ("selector" in block and key == "labels")
    }
    return {
        "apiVersion": "holdfast.dev/v1",
        "kind": "Template",
        "metadata": {"name": "web"},
        "spec": {"child": child, **block, "resource": resource},
    }


def as_resource(head: Json, said: Json, block: Json, resource: Json) -> Json:
    return {
        "apiVersion": GROUP,
        "kind": "Document",
        "metadata": {"name": "web", **head},
        "template": block,
        "spec": {**said, "resource": resource},
    }


@settings(max_examples=60)
@given(
    head=HEADS,
    said=SAID,
    block=st.fixed_dictionaries({"replicas": st.integers(0, 5)}, optional={**SETTINGS, "rollout": ROLLOUTS}),
    content=CONTENT,
)
def test_both_spellings_are_one_template(tmp_path_factory, head, said, block, content):
    folder, resource = tmp_path_factory.mktemp("both"), {"path": "$(name).yaml", "content": content}
    (one,) = [
        t for t in written(folder, as_kind_template(head, said, block, resource), BASE).templates if t.name == "web"
    ]
    found = written(folder, as_resource(head, said, block, resource), BASE)
    (other,) = [t for t in found.templates if t.name == "web"]
    assert other == one
    assert other.live() == one.live()
    assert found.declarations == (), "a prototype is nothing in the world"


@pytest.mark.parametrize("head", [{}, {"namespace": "north"}, {"labels": {"team": "shop"}}])
def test_a_selector_is_spelt_either_way_and_finds_what_is_of_that_kind(tmp_path, head):
    block = {"selector": {"matchLabels": {"pool": "web"}}, "rollout": {"canary": 1}}
    resource = {"content": {"level": "info"}}
    child = {
        "apiVersion": GROUP,
        "kind": "Document",
        "metadata": {"name": "a", "namespace": "north", "labels": {"pool": "web"}},
        "spec": {"connection": "fleet", "resource": {"path": "a.yaml", "content": {}}},
    }
    text = {**child, "kind": "Text", "spec": {"connection": "fleet", "resource": {"path": "a.txt", "content": "x"}}}
    (one,) = written(tmp_path, as_kind_template(head, SOMEWHERE, block, resource), child, text).templates
    found = written(tmp_path, as_resource(head, SOMEWHERE, block, resource), child, text)
    (other,) = found.templates
    assert other == one
    assert other.rollout.method is Method.REWRITE
    assert [declaration.address for declaration in found.declarations if other.selects(declaration)] == [
        Address("fleet", "Document", "a", "north")
    ]


# --- a part -----------------------------------------------------------------------------------------------------------

PART = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: class, labels: {tier: "1"}}
template: {fields: {inPlace: [/content/note]}, nonce: again}
spec:
  connection: fleet
  managedOptions: {resyncPeriod: 1h}
  resource: {path: class.yaml, content: {ami: one}}
"""


def test_with_neither_it_is_a_part_and_a_resource_of_its_own(tmp_path):
    found = read(tmp_path, PART)
    (part,), (declared,) = found.templates, found.declarations
    assert part.is_part
    assert part.address == declared.address == Address("fleet", "Document", "class")
    assert declared.desired == {"path": "class.yaml", "content": {"ami": "one"}}
    assert (declared.labels, declared.options) == ({"tier": "1"}, {"resyncPeriod": "1h"})
    assert part.live().content == {
        "resource": {"path": "class.yaml", "content": {"ami": "one"}},
        "nonce": "again",
        "live": "fleet/Document/class",
    }


@pytest.mark.parametrize("block", ["template:", "template: {}"])
def test_a_block_with_nothing_in_it_makes_a_part(tmp_path, block):
    found = read(tmp_path, PART.replace("template: {fields: {inPlace: [/content/note]}, nonce: again}", block))
    assert [template.address for template in found.templates] == [
        declaration.address for declaration in found.declarations
    ]


# --- mistakes ---------------------------------------------------------------------------------------------------------

WEB = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: web}
template:
  replicas: 3
spec:
  connection: fleet
  resource: {path: $(name).yaml, content: {level: info}}
"""
OTHER = "apiVersion: holdfast.dev/v1\nkind: {}\nmetadata: {{name: other}}\ntemplate: {{replicas: 3}}\nspec: {{{}}}\n"
# the document, what is written instead of what -> what is told: line, field, message
MISTAKES = [
    (WEB, "replicas: 3", "replicas: 3\n  child: {}", 6, "/template/child", "the document itself says"),
    (WEB, "replicas: 3", "replicas: 3\n  resource: {}", 6, "/template/resource", "stands in spec.resource"),
    (WEB, "replicas: 3", "replicas: 3\n  selector: {matchLabels: {a: b}}", 6, "/template/selector", "remove one"),
    (WEB, "replicas: 3", "replicas: many", 5, "/template/replicas", "a whole number from 0"),
    (WEB, "replicas: 3", "replics: 3", 5, "/template/replics", "did you mean `replicas`?"),
    (WEB, "\n  replicas: 3", " [3]", 4, "/template", "expected a mapping, got a list"),
    (WEB, "\n  replicas: 3", " yes", 4, "/template", "expected a mapping, got a string"),
    (WEB, "replicas: 3", "replicas: 3\n  promote: [spec]", 6, "/template/promote/0", "got 'spec'"),
    (WEB, "replicas: 3", "replicas: 3\n  stamps: {key: x}", 6, "/template/stamps", "`at` is missing"),
    (WEB, "replicas: 3", "replicas: 3\n  uses: [bsae]", 6, "/template/uses/0", "there is no template 'bsae'"),
    (WEB, "replicas: 3", "replicas: 3\n  rollout: {canary: x}", 6, "/template/rollout/canary", "a number of slots"),
    (WEB, "replicas: 3", "uses: [web]", 5, "/template/uses", "a part cannot use others"),
    (WEB, "replicas: 3", "fields: {rewrite: [/a]}", 5, "/template/fields/rewrite", "content that could be rewritten"),
    (WEB, "  connection: fleet", "  import: {id: x}", 7, "/spec/import", "not imported"),
    (WEB, "  connection: fleet", "  managementPolicy: observed", 7, "/spec/managementPolicy", "mode: notify"),
    (WEB, "connection: fleet", "connection: flete", 7, "/spec/connection", "did you mean fleet?"),
    (WEB, "{level: info}", "{level: {secretRef: {envv: A}}}", 8, "/level", "did you mean env?"),
    (WEB, "resource: {path: $(name).yaml, content: {level: info}}", "resource: [a]", 8, "/spec/resource", "a mapping"),
    (WEB, "  resource: {path: $(name).yaml, content: {level: info}}\n", "", 6, "/spec", "`resource` is missing"),
    (WEB, "kind: Document", "kind: Docu/ment", 2, "/kind", "must be a word of letters"),
    (PART, "managedOptions: {resyncPeriod: 1h}\n  resource: {path: class.yaml, content: {ami: one}}",
     "managementPolicy: unmanaged\n  import: {id: x}", 5, "/spec", "`resource` is missing"),
    (OTHER.format("Template", "resource: {}"), "xx", "xx", 4, "/template", "it is one already"),
    (OTHER.format("Strategy", "defaults: {onDrift: report}"), "xx", "xx", 4, "/template", "a strategy cannot be one"),
]  # fmt: skip


@pytest.mark.parametrize("text, old, new, told", [(*item[:3], item[3:]) for item in MISTAKES])
def test_a_mistake_is_told_with_its_place(tmp_path, text, old, new, told):
    line, field, message = told
    with pytest.raises(InputError) as caught:
        read(tmp_path, text.replace(old, new))
    found = caught.value.errors if isinstance(caught.value, InputErrors) else (caught.value,)
    seen = [(item.location.line, item.location.field or "", item.message) for item in found]
    assert any(row == line and place.endswith(field) and message in said for row, place, said in seen), seen


@pytest.mark.parametrize("key", ["managedOptions: {resyncPeriod: 1h}", "dependsOn: [Document/a]"])
def test_selected_children_say_these_of_themselves(tmp_path, key):
    chosen = WEB.replace("replicas: 3", "selector: {matchLabels: {a: b}}").replace("connection: fleet", key)
    with pytest.raises(InputError, match="children that a selector finds have their own"):
        read(tmp_path, chosen)


PLAIN = "apiVersion: holdfast.dev/v1\nkind: Template\nmetadata: {name: web}\nspec: {resource: {content: {}}}\n"
RESOURCE = WEB.replace("template:\n  replicas: 3\n", "")


@pytest.mark.parametrize(
    "clash, message",
    [
        (PLAIN, "the template web is declared twice"),
        (RESOURCE, "fleet/Document/web is declared twice, as a resource in .* and as a template here"),
        (RESOURCE.replace("name: web", "name: web-1"), "template web would make one of that name"),
    ],
)
def test_two_of_one_name_are_a_mistake(tmp_path, clash, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, WEB, clash)


def test_a_part_cannot_be_a_child(tmp_path):
    chosen = WEB.replace("replicas: 3", 'selector: {matchLabels: {tier: "1"}}\n  uses: [class]')
    with pytest.raises(InputError, match="is a part of templates, so web cannot have it as a child"):
        read(tmp_path, chosen, PART)


def test_a_part_that_cannot_be_read_is_not_said_to_be_missing(tmp_path):
    with pytest.raises(InputError) as caught:
        read(
            tmp_path, WEB.replace("replicas: 3", "replicas: 3\n  uses: [class]"), PART.replace("ami: one", "ami: [", 1)
        )
    assert "there is no template" not in str(caught.value)


NETWORK = {
    "owner": {"kind": "ResourceGroup", "name": "platform"},
    "location": "westeurope",
    "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}},
}


def test_a_providers_own_forms_of_reference_and_types_are_understood_in_either_spelling(tmp_path):
    (tmp_path / "holdfast.yaml").write_text("connections: {az: {provider: azure, subscription: s}}\n")
    head, said = {"apiVersion": "azure.holdfast.dev/v1", "kind": "VirtualNetwork"}, {"resource": NETWORK}
    one = {**head, "metadata": {"name": "one"}, "template": {"replicas": 2}, "spec": said}
    other = {**BASE, "metadata": {"name": "other"}, "spec": {"child": head, "replicas": 2, **said}}
    (tmp_path / "net.yaml").write_text(yaml.safe_dump_all([one, other]))
    project = projects.load(None, tmp_path, ["azure", "file"])
    first, second = loader.read([str(tmp_path / "net.yaml")], project).templates
    assert first.content == second.content == {**NETWORK, "owner": "${ResourceGroup/platform.id}"}
    assert first.child == second.child
    assert first.child is not None
    assert first.child.type == "Microsoft.Network/virtualNetworks"


@pytest.mark.parametrize("key, value", [("labels", {"a": "b"}), ("managedOptions", {}), ("dependsOn", ["Document/a"])])
def test_a_template_with_a_selector_leaves_these_to_its_children(tmp_path, key, value):
    block = {"selector": {"matchLabels": {"pool": "web"}}}
    with pytest.raises(InputError, match=f"children that a selector finds have their own {key}") as caught:
        written(tmp_path, as_kind_template({}, {**SOMEWHERE, key: value}, block, {"content": {}}))
    assert caught.value.location.field == f"/spec/child/{key}"
