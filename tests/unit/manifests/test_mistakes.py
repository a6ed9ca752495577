"""Every mistake is told with its file, line, field and what to do, and all of them together."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError, Location
from holdfast.manifests import loader
from holdfast.manifests.project import ConnectionSpec, ProjectFile
from holdfast.manifests.secrets import FromEnvironment
from holdfast.schema.document import InputErrors, raise_all

KINDS = {"file": (), "cloud": ("Network", "Subnet")}
CONNECTIONS = {
    "prod": ConnectionSpec("prod", "cloud", secrets={"token": FromEnvironment("T")}),
    "stage": ConnectionSpec("stage", "cloud"),
}


def errors_of(text, folder, name="bad.yaml"):
    (folder / name).write_text(textwrap.dedent(text))
    with pytest.raises(InputError) as caught:
        loader.read([str(folder / name)], ProjectFile(folder, connections=CONNECTIONS), kinds=KINDS)
    error = caught.value
    found = error.errors if isinstance(error, InputErrors) else (error,)
    assert {item.location.file for item in found} == {str(folder / name)}
    return [(item.location.line, item.location.field, item.message) for item in found]


HEAD = (
    "apiVersion: cloud.holdfast.dev/v1\nkind: Network\nmetadata: {name: a}\n"  # three lines; the spec begins in line 4
)


WRITE_VERSION = "write apiVersion: file.holdfast.dev/v1, with the name of your provider"
OWN_KINDS = "holdfast.dev/v1 has the kinds Strategy and Template; resources say <provider>.holdfast.dev/v1"
NAMES = "because names are parts of addresses; use letters, digits, - _ . : @ + ="
OTHER_CONNECTION = "write apiVersion: file.holdfast.dev/v1 or name another connection"
SECRETS = "{env: NAME} or {file: path} or {connectionSecret: key}"


@pytest.mark.parametrize(
    "text, line, field, message",
    [
        # --- the head
        ("- []", None, None, "there is no document in it"),
        ("just words", 1, None, "a manifest is a mapping with apiVersion, kind, metadata and spec"),
        (
            "kind: Network",
            1,
            None,
            f"`apiVersion` is missing; {WRITE_VERSION}",
        ),
        (
            "apiVersion: 1\nkind: Network",
            1,
            "/apiVersion",
            "expected a string, got a number; write it in quotes: apiVersion: '1'",
        ),
        (
            "kind: Network\napiVersion: apps/v1",
            2,
            "/apiVersion",
            (
                f"apiVersion 'apps/v1' is unknown; {WRITE_VERSION}; "
                "for objects of Kubernetes declare a connection with provider: kubernetes"
            ),
        ),
        (
            "apiVersion: cloud.holdfast.dev/v2",
            1,
            "/apiVersion",
            f"apiVersion 'cloud.holdfast.dev/v2' is unknown; {WRITE_VERSION}",
        ),
        (
            "apiVersion: clud.holdfast.dev/v1",
            1,
            "/apiVersion",
            "there is no provider 'clud'; did you mean cloud?",
        ),
        (
            "apiVersion: zzz.holdfast.dev/v1",
            1,
            "/apiVersion",
            "there is no provider 'zzz'; known: cloud, file",
        ),
        (
            "apiVersion: holdfast.dev/v1\nkind: Profile",
            2,
            "/kind",
            f"unknown kind 'Profile'; {OWN_KINDS}",
        ),
        (
            HEAD.replace("Network", "Netwrk") + "spec: {connection: prod, resource: {}}",
            2,
            "/kind",
            "the provider cloud has no kind 'Netwrk'; did you mean Network?",
        ),
        (
            HEAD.replace("Network", "a/b") + "spec: {connection: prod, resource: {}}",
            2,
            "/kind",
            "the kind 'a/b' must be a word of letters, digits, dots and dashes",
        ),
        (
            HEAD.replace("kind: Network", "x: 1") + "spec: {connection: prod, resource: {}}\nkind: Network",
            2,
            "/x",
            "unknown field `x`; known here: apiVersion, kind, metadata, spec, template",
        ),
        (
            HEAD.replace("metadata", "metdata") + "spec: {connection: prod, resource: {}}",
            3,
            "/metdata",
            "unknown field `metdata`; did you mean `metadata`?",
        ),
        (
            HEAD.replace("{name: a}", "{}") + "spec: {connection: prod, resource: {}}",
            3,
            "/metadata",
            "`name` is missing; every document needs a name",
        ),
        (
            HEAD.replace("{name: a}", "{name: 5}") + "spec: {connection: prod, resource: {}}",
            3,
            "/metadata/name",
            "expected a string, got a number; write it in quotes: name: '5'",
        ),
        (
            HEAD.replace("{name: a}", "\n  name: a/b") + "spec: {connection: prod, resource: {}}",
            4,
            "/metadata/name",
            f"the name 'a/b' must not hold a slash, {NAMES}",
        ),
        (
            HEAD.replace("{name: a}", "{name: a, namespace: b c}") + "spec: {connection: prod, resource: {}}",
            3,
            "/metadata/namespace",
            f"the name 'b c' must not hold a blank, {NAMES}",
        ),
        (
            HEAD.replace("{name: a}", "\n  name: a\n  labels:\n    tier: 1") + "spec: {connection: prod, resource: {}}",
            6,
            "/metadata/labels/tier",
            "expected a string, got a number; write it in quotes: tier: '1'",
        ),
        # --- the spec
        (HEAD, 1, None, "`spec` is missing; write spec: {resource: {...}}"),
        (HEAD + "spec: []", 4, "/spec", "expected a mapping, got a list"),
        (
            HEAD + "spec:\n  resource: {}\n  conection: prod",
            6,
            "/spec/conection",
            "unknown field `conection`; did you mean `connection`?",
        ),
        (
            HEAD + "spec:\n  connection: prd\n  resource: {}",
            5,
            "/spec/connection",
            "there is no connection 'prd'; did you mean prod?",
        ),
        (
            HEAD + "spec:\n  connection: zzzzzz\n  resource: {}",
            5,
            "/spec/connection",
            "there is no connection 'zzzzzz'; holdfast.yaml has prod, stage",
        ),
        (
            HEAD + "spec:\n  connection: local\n  resource: {}",
            5,
            "/spec/connection",
            f"the connection local is of provider file, but apiVersion says cloud; {OTHER_CONNECTION}",
        ),
        (
            HEAD + "spec:\n  resource: {}",
            4,
            "/spec",
            "`connection` is missing; name a connection of holdfast.yaml: one of prod, stage",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  managementPolicy: manged\n  resource: {}",
            6,
            "/spec/managementPolicy",
            "expected one of managed, observed, unmanaged, got 'manged'; did you mean managed?",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  managementPolicy: [managed]\n  resource: {}",
            6,
            "/spec/managementPolicy",
            "expected one of managed, observed, unmanaged, got a list",
        ),
        (
            HEAD + "spec:\n  connection: prod",
            4,
            "/spec",
            "`resource` is missing; a resource that is managed needs it, or import: {...}",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  managementPolicy: unmanaged",
            4,
            "/spec",
            "`import` is missing; an unmanaged resource is only looked up: name it with {id: ...}",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  managementPolicy: unmanaged\n  import: {id: x}\n  managedOptions: {}",
            8,
            "/spec/managedOptions",
            "an unmanaged resource has no managedOptions; remove them",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  managementPolicy: unmanaged\n  import: {id: x}\n  resource: {}",
            8,
            "/spec/resource",
            "an unmanaged resource is not compared; use managementPolicy: observed, or remove this",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  import: {}",
            6,
            "/spec/import",
            "import needs either an id or a filter that is not empty",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  import: {id: x, filter: {name: y}}",
            6,
            "/spec/import",
            "import needs either an id or a filter that is not empty",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  import: {id: 5}",
            6,
            "/spec/import/id",
            "expected a string, got a number; write it in quotes: id: '5'",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource: words",
            6,
            "/spec/resource",
            "expected a mapping, got a string",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource: {}\n  managedOptions:\n    resyncPeriod: 60",
            8,
            "/spec/managedOptions/resyncPeriod",
            "60 has no unit; write 60s, 60m or 60h",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource: {}\n  managedOptions:\n    onDrift: fix",
            8,
            "/spec/managedOptions/onDrift",
            "expected one of correct, report, approve, got 'fix'",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource: {}\n  managedOptions:\n    onDrfit: report",
            8,
            "/spec/managedOptions/onDrfit",
            "unknown field `onDrfit`; did you mean `onDrift`?",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource: {}\n  dependsOn: b",
            7,
            "/spec/dependsOn",
            "expected a list, got a string",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource: {}\n  dependsOn:\n  - b\n  - 5",
            9,
            "/spec/dependsOn/1",
            "expected a string, got a number; write it in quotes: '5'",
        ),
        # --- secrets
        (
            HEAD + "spec:\n  connection: prod\n  resource:\n    a:\n      - secretRef: {evn: X}",
            8,
            "/spec/resource/a/0",
            f"'evn' is no place for a secret; write {SECRETS}; did you mean env?",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource:\n    a: {secretRef: {env: X, file: y}}",
            7,
            "/spec/resource/a",
            f"a secret is never written here, only where to find it: {SECRETS}",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource:\n    a: {secretRef: {env: X}, b: 1}",
            7,
            "/spec/resource/a",
            "secretRef stands for the whole value, so nothing may stand beside it",
        ),
        (
            HEAD + "spec:\n  connection: prod\n  resource:\n    a: {secretRef: {connectionSecret: tokn}}",
            7,
            "/spec/resource/a",
            "the connection prod has no secret 'tokn'; did you mean token?",
        ),
        # --- the text
        ("a: [", 2, None, "not YAML: while parsing a flow node did not find expected node content"),
        ("a: 1\na: 2", 2, None, "duplicate key 'a' (first in line 1)"),
        ("# nothing\n", None, None, "there is no document in it"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, text, line, field, message):
    assert errors_of(text, tmp_path) == [(line, field, message)]


@pytest.mark.parametrize(
    "spec, line, field, message",
    [
        ("{}", 4, "/spec", "the strategy says nothing; give it defaults: or kinds:"),
        ("{priority: high, defaults: {onDrift: report}}", 4, "/spec/priority",
         "expected a whole number, got a string"),
        ("{priorty: 1, defaults: {onDrift: report}}", 4, "/spec/priorty",
         "unknown field `priorty`; did you mean `priority`?"),
        ("\n  kinds:\n    Network:\n      resyncPeriod: soon", 7, "/spec/kinds/Network/resyncPeriod",
         "'soon' is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off"),
        ("\n  defaults: {onDrift: report}\n  selector: {matchExpressions: [{key: a, operator: in, values: [b]}]}", 6,
         "/spec/selector/matchExpressions/0/operator",
         "expected one of In, NotIn, Exists, DoesNotExist, got 'in'; did you mean In?"),
        ("\n  defaults: {onDrift: report}\n  selector: {matchExpressions: [{key: a, operator: In}]}", 6,
         "/spec/selector/matchExpressions/0", "the operator In needs values"),
        ("\n  defaults: {onDrift: report}\n  selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}",
         6, "/spec/selector/matchExpressions/0", "the operator Exists takes no values"),
        ("\n  defaults: {onDrift: report}\n  selector: {matchExpressions: {}}", 6, "/spec/selector/matchExpressions",
         "expected a list, got a mapping"),
        ("\n  defaults: {onDrift: report}\n  selector: {matchLabels: {tier: 1}}", 6, "/spec/selector/matchLabels/tier",
         "expected a string, got a number; write it in quotes: tier: '1'"),
        ("\n  defaults: {onDrift: report}\n  selector: {matchExpressions: [{key: a, operator: In, values: [1]}]}", 6,
         "/spec/selector/matchExpressions/0/values/0", "expected a string, got a number; write it in quotes: '1'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_strategy_is_told_with_its_place(tmp_path, spec, line, field, message):
    head = "apiVersion: holdfast.dev/v1\nkind: Strategy\nmetadata: {name: s}\n"
    assert errors_of(f"{head}spec: {spec}", tmp_path) == [(line, field, message)]


def test_mistakes_in_json_have_lines_too(tmp_path):
    head = '{"apiVersion": "cloud.holdfast.dev/v1",\n "kind": "Network",\n "metadata": {"name": "a"},\n'
    text = head + ' "spec":\n  {"resource": []}}'
    assert errors_of(text, tmp_path, "bad.json") == [
        (4, "/spec", "`connection` is missing; name a connection of holdfast.yaml: one of prod, stage"),
        (5, "/spec/resource", "expected a mapping, got a list"),
    ]
    assert errors_of('{"a": 1,\n "a": 2}', tmp_path, "bad.json") == [(2, None, "duplicate key 'a' (first in line 1)")]
    assert errors_of('{"a": 1}\n\n{"b": ]}', tmp_path, "bad.json")[0][0] in (2, 3)
    assert errors_of('{"a": 1}\n\n{"b": nul}', tmp_path, "bad.json")[0][0] == 3


def test_the_same_address_twice_names_both_places(tmp_path):
    text = "apiVersion: file.holdfast.dev/v1\nkind: Text\nmetadata: {name: a}\nspec: {resource: {}}\n"
    (tmp_path / "one.yaml").write_text(text + "---\n" + text.replace("name: a", "name: b"))
    (tmp_path / "two.yaml").write_text("# hello\n" + text)
    with pytest.raises(InputError) as caught:
        loader.read([str(tmp_path)], ProjectFile(tmp_path))
    assert str(caught.value) == (
        f"{tmp_path}/two.yaml:2 (/metadata/name): local/Text/a is declared twice "
        f"(first in {tmp_path}/one.yaml:1); rename or remove one"
    )


def test_all_mistakes_of_all_files_come_together_in_order(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text(HEAD + "spec: {conection: prod, managementPolicy: x}\n---\n" + HEAD)
    (tmp_path / "c.yaml").write_text("apiVersion: holdfast.dev: [")
    with pytest.raises(InputErrors) as caught:
        loader.read(
            [str(tmp_path), str(tmp_path / "gone.yaml")], ProjectFile(tmp_path, connections=CONNECTIONS), kinds=KINDS
        )
    found = caught.value.errors
    assert len({(item.location.file, item.location.line) for item in found}) >= 6
    assert [item.location.file for item in found] == sorted(str(item.location.file) for item in found)
    assert str(caught.value).count("\n") == len(found) - 1 < 20


def test_only_twenty_mistakes_are_shown(tmp_path):
    (tmp_path / "a.yaml").write_text("---\n".join([HEAD + "spec: {connection: prod}\n"] * 50))
    with pytest.raises(InputErrors) as caught:
        loader.read([str(tmp_path)], ProjectFile(tmp_path, connections=CONNECTIONS))
    assert len(caught.value.errors) == 50
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 30 more"


@pytest.mark.parametrize(
    "given, message",
    [
        ("gone.yaml", "there is no such file or folder"),
        ("gone/*.yaml", "no file matches this pattern"),
        ("empty", "there is no manifest in this folder (looked for *.yaml, *.yml, *.json)"),
        ("others", "none of the 1 files found is a manifest; ours say apiVersion: <provider>.holdfast.dev/v1"),
    ],
)
def test_what_leads_to_no_manifest_is_an_error(tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "compose.yaml").write_text("services: {}\n")
    with pytest.raises(InputError) as caught:
        loader.read([given], ProjectFile(tmp_path))
    assert caught.value.message == message
    assert (caught.value.location.file or "").startswith(given.partition("/")[0])


def test_a_document_in_a_folder_that_lacks_only_the_api_version_is_not_passed_over(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: Text\nmetadata: {name: a}\nspec: {resource: {}}\n")
    with pytest.raises(InputError, match="`apiVersion` is missing"):
        loader.read([str(tmp_path)], ProjectFile(tmp_path))


def test_standard_input_that_is_not_there_or_empty_is_an_error(tmp_path):
    import io

    with pytest.raises(InputError, match="not available"):
        loader.read(["-"], ProjectFile(tmp_path))
    with pytest.raises(InputError, match="there is no document in it"):
        loader.read(["-"], ProjectFile(tmp_path), stdin=io.BytesIO(b""))


def test_an_error_group_completes_its_members_and_a_lone_one_stays_itself():
    one, two = InputError("x"), InputError("y", Location("b.yaml", 2))
    group = InputErrors([two, one]).at(Location("a.yaml", 7))
    assert [str(error) for error in group.errors] == ["a.yaml:7: x", "b.yaml:2: y"]
    raise_all([])
    with pytest.raises(InputError) as caught:
        raise_all([one])
    assert caught.value is one
    with pytest.raises(InputErrors) as flat:
        raise_all([InputErrors([one, two]), one])
    assert len(flat.value.errors) == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "id", "secretRef", "env", "x"]), inner)
    ),
)
parts = (
    "connection",
    "managementPolicy",
    "managedOptions",
    "import",
    "resource",
    "dependsOn",
    "defaults",
    "kinds",
    "selector",
)


@given(
    st.sampled_from(["cloud.holdfast.dev/v1", "holdfast.dev/v1"]),
    st.sampled_from(["Network", "Strategy"]),
    json_values,
    st.dictionaries(st.sampled_from(parts), json_values) | json_values,
)
def test_no_document_makes_reading_fail_in_another_way(tmp_path_factory, version, kind, metadata, spec):
    import json

    file = tmp_path_factory.mktemp("odd") / "a.json"
    file.write_text(json.dumps({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}))
    try:
        found = loader.read([str(file)], ProjectFile(file.parent, connections=CONNECTIONS))
    except InputError as error:
        for item in error.errors if isinstance(error, InputErrors) else (error,):
            assert item.location.file == str(file)
            assert item.location.line == 1
    else:
        assert len(found.declarations) + len(found.strategies) == 1
