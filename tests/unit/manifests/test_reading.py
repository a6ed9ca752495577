"""Manifests are found in files, folders, globs and standard input, and mean the same in any order and notation."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError, Location
from holdfast.manifests import loader, project
from holdfast.manifests.project import ConnectionSpec, ProjectFile
from holdfast.manifests.secrets import FromEnvironment
from holdfast.model.address import Address
from holdfast.model.resource import Declaration, Import, ManagementPolicy, OnDrift
from holdfast.policy import dependency_graph, source_location, strategies
from holdfast.schema.document import InputErrors
from tests import counting

NETWORK = """\
apiVersion: cloud.holdfast.dev/v1
kind: Network
metadata:
  name: core
  namespace: team-a
  labels: {tier: "1"}
  annotations: {note: hi}
spec:
  connection: prod
  managementPolicy: observed
  managedOptions:
    resyncPeriod: 1h
    onDrift: report
  import: {id: net-1}
  resource:
    description: Critical
    mtu: null
    subnets:
      - cidr: 10.0.0.0/8
"""


def small(name, extra=""):
    spec = f"{{resource: {{p: 1}}{extra}}}"
    return f"{{apiVersion: file.holdfast.dev/v1, kind: Text, metadata: {{name: {name}}}, spec: {spec}}}\n"


@pytest.fixture
def cloud(tmp_path):
    connection = ConnectionSpec("prod", "cloud", secrets={"token": FromEnvironment("T")})
    return ProjectFile(tmp_path, connections={"prod": connection})


def names(found):
    return [str(declaration.address) for declaration in found.declarations]


def test_every_part_of_a_manifest_is_read(tmp_path, cloud):
    file = tmp_path / "net.yaml"
    file.write_text(NETWORK)
    (found,) = loader.read([str(file)], cloud).declarations
    assert found == Declaration(
        address=Address("prod", "Network", "core", "team-a"),
        provider="cloud",
        api_version="cloud.holdfast.dev/v1",
        desired={"description": "Critical", "mtu": None, "subnets": [{"cidr": "10.0.0.0/8"}]},
        labels={"tier": "1"},
        annotations={"note": "hi"},
        policy=ManagementPolicy.OBSERVED,
        options={"resyncPeriod": "1h", "onDrift": "report"},
        import_from=Import("net-1"),
    )
    assert found.location == Location(str(file), 1)
    lines = {path: NETWORK.splitlines()[line - 1].strip() for path, line in found.places.items()}
    assert lines["/spec/managedOptions/resyncPeriod"] == "resyncPeriod: 1h"
    assert lines["/spec/resource/subnets/0/cidr"] == "- cidr: 10.0.0.0/8"
    assert lines["/spec/import/id"] == "import: {id: net-1}"
    assert source_location.desired(found, ("subnets", 0, "gone")).line == 19


def test_the_settings_of_a_manifest_say_their_line(tmp_path, cloud):
    (tmp_path / "net.yaml").write_text(NETWORK)
    found = loader.read([str(tmp_path)], cloud)
    effective = strategies.settings_for(found.declarations[0], found.strategies)
    assert (effective.resync.period, effective.on_drift) == (3600.0, OnDrift.REPORT)
    assert effective.provenance["resync_period"] == f"resource ({tmp_path}/net.yaml:12)"


def test_json_means_the_same_as_yaml(tmp_path, cloud):
    (tmp_path / "net.yaml").write_text(NETWORK)
    (tmp_path / "net.json").write_text(json.dumps(as_json(NETWORK), indent=2))
    one = loader.read([str(tmp_path / "net.yaml")], cloud).declarations
    (other,) = loader.read([str(tmp_path / "net.json")], cloud).declarations
    assert (other,) == one
    assert set(other.places) == set(one[0].places)
    lines = (tmp_path / "net.json").read_text().splitlines()
    assert '"cidr"' in lines[other.places["/spec/resource/subnets/0/cidr"] - 1]


def as_json(text):
    from holdfast.compare import yaml_reader

    return yaml_reader.document(text).value


LISTS = {
    "list.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + small("a") + "- " + small("b"),
    "stream.yaml": "---\n" + small("a") + "---\n# nothing\n---\n" + small("b"),
    "list.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": [as_json(small("a")), as_json(small("b"))]}),
    "array.json": json.dumps([as_json(small("a")), {"kind": "List", "items": [as_json(small("b"))]}]),
    "lines.json": "\n".join(json.dumps(as_json(small(name))) for name in "ab") + "\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_many_documents_in_one_file(tmp_path, name):
    (tmp_path / name).write_text(LISTS[name])
    found = loader.read([str(tmp_path / name)], ProjectFile(tmp_path))
    assert names(found) == ["local/Text/a", "local/Text/b"]
    lines = LISTS[name].splitlines()
    for declaration in found.declarations:
        line = declaration.places["/metadata/name"]
        assert declaration.location.line == line
        assert declaration.address.name in lines[line - 1]


def test_a_folder_is_searched_without_what_is_hidden_or_not_ours(tmp_path):
    for name in ("b.yml", "a.yaml", "sub/deep/d.YAML", "notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(small(name.partition(".")[0].replace("/", "-")))
    (tmp_path / "sub/c.json").write_text(json.dumps(as_json(small("c"))))
    for name in (".git/x.yaml", ".holdfast/y.yaml", ".hidden.yaml", "holdfast.yaml", "profiles/p.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("holdfast.dev: {")
    (tmp_path / "managed.yaml").write_text("a: {{ template }}\n")
    (tmp_path / "deployment.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\n")
    found = loader.read([str(tmp_path)], ProjectFile(tmp_path, profiles=(tmp_path / "profiles",)))
    assert names(found) == ["local/Text/a", "local/Text/b", "local/Text/c", "local/Text/sub-deep-d"]
    assert [Path(name).name for name in found.passed_over] == ["deployment.yaml", "managed.yaml"]


def test_a_file_that_is_named_must_be_ours(tmp_path):
    (tmp_path / "deployment.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\n")
    with pytest.raises(InputError, match="apiVersion 'apps/v1' is unknown"):
        loader.read([str(tmp_path / "deployment.yaml")], ProjectFile(tmp_path))


def test_a_foreign_document_beside_ours_in_a_folder_is_left_alone(tmp_path):
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n---\n" + small("a"))
    assert names(loader.read([str(tmp_path)], ProjectFile(tmp_path))) == ["local/Text/a"]


def test_globs_and_repeated_names_are_read_once(tmp_path):
    for name in ("x1", "x2", "y"):
        (tmp_path / f"{name}.yaml").write_text(small(name))
    given_names = [str(tmp_path / "x*.yaml"), str(tmp_path / "x1.yaml"), f"{tmp_path}/./x1.yaml"]
    assert names(loader.read(given_names, ProjectFile(tmp_path))) == ["local/Text/x1", "local/Text/x2"]


@pytest.mark.parametrize("text", [small("a"), json.dumps(as_json(small("a")))])
def test_standard_input_is_read_in_either_notation(tmp_path, text):
    found = loader.read(["-"], ProjectFile(tmp_path), stdin=io.BytesIO(text.encode()))
    assert found.declarations[0].location == Location("<stdin>", 1)


def test_the_local_connection_begins_at_the_folder_of_the_manifests(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.yaml").write_text(small("a"))
    (tmp_path / "b.yaml").write_text(small("b"))
    roots = []
    for given_names in (["in"], ["in/a.yaml"], ["in/*.yaml"], ["in", "b.yaml"]):
        found = loader.read([str(tmp_path / name) for name in given_names], ProjectFile(tmp_path))
        roots.append(found.project.connections["local"].settings["root"])
    assert roots == [str(tmp_path / "in")] * 3 + [str(tmp_path)]
    own = ProjectFile(tmp_path, connections={"local": ConnectionSpec("local", "file", {"root": "/elsewhere"})})
    assert loader.read([str(tmp_path)], own).project is own


def test_a_connection_that_is_not_named_must_be_the_only_one_that_can_be_meant(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "apiVersion: cloud.holdfast.dev/v1\nkind: N\nmetadata: {name: a}\nspec: {resource: {}}\n"
    )
    one, two = ConnectionSpec("one", "cloud"), ConnectionSpec("two", "cloud")
    given_files = [str(tmp_path)]
    assert names(loader.read(given_files, ProjectFile(tmp_path, connections={"one": one}))) == ["one/N/a"]
    both = ProjectFile(tmp_path, connections={"one": one, "two": two}, default_connection="two")
    assert names(loader.read(given_files, both)) == ["two/N/a"]
    with pytest.raises(InputError, match=r"name a connection of holdfast\.yaml: one of one, two"):
        loader.read(given_files, ProjectFile(tmp_path, connections={"one": one, "two": two}))


def test_dependencies_in_so_many_words_come_from_spec_and_annotation(tmp_path):
    text = small("a", ", dependsOn: [b, Text/c]").replace(
        "{name: a}", "{name: a, annotations: {holdfast.dev/depends-on: d}}"
    )
    (tmp_path / "a.yaml").write_text("---\n".join([text, small("b"), small("c"), small("d")]))
    found = loader.read([str(tmp_path)], ProjectFile(tmp_path))
    assert found.declarations[0].annotations == {dependency_graph.DEPENDS_ON: "b,Text/c,d"}
    graph = loader.graph(found)
    assert [dependency.name for dependency in graph.dependencies(found.declarations[0].address)] == ["b", "c", "d"]


def test_the_graph_tells_all_that_is_wrong_at_once(tmp_path):
    text = small("a").replace("p: 1", 'p: "${b.x} ${", q: "${a.id}"')
    (tmp_path / "a.yaml").write_text(text)
    found = loader.read([str(tmp_path)], ProjectFile(tmp_path))
    with pytest.raises(InputErrors) as caught:
        loader.graph(found)
    assert len(caught.value.errors) == 3
    assert {error.location.line for error in caught.value.errors} == {1}


def test_a_strategy_is_read(tmp_path):
    (tmp_path / "s.yaml").write_text("""\
apiVersion: holdfast.dev/v1
kind: Strategy
metadata: {name: production}
spec:
  priority: 5
  selector:
    matchLabels: {env: prod}
    matchExpressions:
      - {key: tier, operator: In, values: ["1", "2"]}
      - {key: legacy, operator: DoesNotExist}
  defaults: {resyncPeriod: 10h}
  kinds:
    Text: {resyncPeriod: 1h, onDrift: report}
""")
    (tmp_path / "a.yaml").write_text(small("a").replace("{name: a}", '{name: a, labels: {env: prod, tier: "2"}}'))
    found = loader.read([str(tmp_path)], ProjectFile(tmp_path))
    (strategy,) = found.strategies
    assert (strategy.name, strategy.priority) == ("production", 5)
    assert str(strategy.selector) == "env in (prod),tier in (1,2),!legacy"
    effective = strategies.settings_for(found.declarations[0], found.strategies)
    assert effective.resync.period == 3600.0
    where = f"{tmp_path}/s.yaml:13"
    assert effective.provenance["resync_period"] == f"strategy, kind override (production, Text {where})"
    assert strategy.defaults["resync_period"].source == f"production {tmp_path}/s.yaml:11"


def test_big_integers_are_the_same_in_both_notations(tmp_path):
    for suffix in ("yaml", "json"):
        document = json.dumps(as_json(small("a"))).replace(
            '"p": 1', '"p": [9007199254740993, 123456789012345678901234567890]'
        )
        (tmp_path / f"a.{suffix}").write_text(document)
        (found,) = loader.read([str(tmp_path / f"a.{suffix}")], ProjectFile(tmp_path)).declarations
        assert found.desired == {"p": [9007199254740993, 1.2345678901234568e29]}
        assert type(found.desired["p"][1]) is float


files = st.dictionaries(
    st.sampled_from("abcdefgh"), st.lists(st.sampled_from("pqrst"), min_size=1, max_size=3), min_size=1
)


@given(files, st.randoms(use_true_random=False))
def test_any_order_of_files_gives_the_same_result_or_the_same_errors(tmp_path_factory, contents, random):
    folder = tmp_path_factory.mktemp("fleet")
    for name, declared in contents.items():
        (folder / f"{name}.yaml").write_text("---\n".join(map(small, declared)))
    given_files = sorted(map(str, folder.iterdir()))
    shuffled = random.sample(given_files, len(given_files))
    assert outcome(given_files, folder) == outcome(shuffled, folder) == outcome([str(folder)], folder)


def outcome(given_files, folder):
    try:
        return loader.read(given_files, ProjectFile(folder))
    except InputError as error:
        return str(error)


def test_the_work_of_reading_grows_with_the_number_of_documents_and_not_with_its_square(tmp_path):
    def work(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        for part in range(4):
            wanted = range(part * count, part * count + count)
            (folder / f"{part}.yaml").write_text("---\n".join(small(f"n{index}") for index in wanted))
        found = []
        made = counting.calls(lambda: found.append(loader.read([str(folder)], ProjectFile(folder))))
        assert len(found[0].declarations) == 4 * count
        return made

    assert work(400) < 3 * work(200)


def test_the_project_file_is_not_a_manifest_even_when_the_folder_is_read(tmp_path):
    (tmp_path / "holdfast.yaml").write_text("connections: {c: {provider: file}}\n")
    (tmp_path / "a.yaml").write_text(small("a", ", connection: c"))
    found = loader.read([str(tmp_path)], project.load(None, tmp_path))
    assert names(found) == ["c/Text/a"]
