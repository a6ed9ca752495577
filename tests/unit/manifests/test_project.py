"""The project file names connections, store, profiles and defaults; without one there are sensible ones."""

from __future__ import annotations

import pytest

from holdfast.errors import InputError
from holdfast.manifests import project
from holdfast.manifests.project import ConnectionLimits, ConnectionSpec, ProjectFile
from holdfast.manifests.secrets import FromCommand, FromEnvironment, FromFile, Resolver
from holdfast.policy import settings
from holdfast.policy.budgets import Percent
from holdfast.schema.document import InputErrors

FULL = """\
connections:
  prod:
    provider: http
    url: https://api.example.org
    retries: 3
    secrets:
      token: {env: PROD_TOKEN}
      key: {file: keys/prod}
      otp: {command: [pass, show, otp]}
    limits: {concurrency: 8, reads_per_second: 20, writes_per_second: 0.5}
  files: {provider: file, root: /srv}
store: state/db.sqlite
profiles: [rules]
defaults:
  connection: prod
  resyncPeriod: 10h
  onDrift: report
"""


def load(tmp_path, text, providers=("file", "http")):
    (tmp_path / "holdfast.yaml").write_text(text)
    return project.load(None, tmp_path, providers)


def test_every_part_of_a_project_file_is_read(tmp_path):
    (tmp_path / "rules").mkdir()
    found = load(tmp_path, FULL)
    base = str(tmp_path)
    assert found == ProjectFile(
        folder=tmp_path,
        file=tmp_path / "holdfast.yaml",
        connections={
            "prod": ConnectionSpec(
                "prod",
                "http",
                {"url": "https://api.example.org", "retries": 3},
                {
                    "token": FromEnvironment("PROD_TOKEN"),
                    "key": FromFile("keys/prod", base),
                    "otp": FromCommand(("pass", "show", "otp"), base),
                },
                ConnectionLimits(8, 20.0, 0.5),
                base,
            ),
            "files": ConnectionSpec("files", "file", {"root": "/srv"}, base_dir=base),
        },
        store=tmp_path / "state/db.sqlite",
        profiles=(tmp_path / "rules",),
        defaults=found.defaults,
        default_connection="prod",
        waivers=(tmp_path / "waivers.yaml",),
    )
    effective = settings.resolve([found.defaults])
    assert effective.resync.period == 36000.0
    assert effective.provenance["resync_period"] == "project file (holdfast.yaml:16)"


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}\n"])
def test_an_empty_project_file_is_a_project(tmp_path, text):
    found = load(tmp_path, text)
    assert found == ProjectFile(
        tmp_path,
        tmp_path / "holdfast.yaml",
        store=tmp_path / ".holdfast/holdfast.db",
        waivers=(tmp_path / "waivers.yaml",),
    )


@pytest.mark.parametrize("text, expected", [("3", 3), ("5%", Percent(5.0)), ("null", None)])
def test_a_limit_over_all_templates_is_a_number_or_a_share(tmp_path, text, expected):
    assert load(tmp_path, f"rollouts: {{atOnce: {text}}}").rollouts_at_once == expected


def test_without_a_file_the_store_is_beside_us(tmp_path):
    (tmp_path / ".git").mkdir()
    assert project.load(None, tmp_path) == ProjectFile(
        tmp_path, store=tmp_path / ".holdfast/holdfast.db", waivers=(tmp_path / "waivers.yaml",)
    )


def test_the_file_is_looked_for_upwards_as_far_as_the_repository(tmp_path):
    deep = tmp_path / "repo" / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "holdfast.yaml").write_text("")
    assert project.find(deep) == tmp_path / "holdfast.yaml"
    (tmp_path / "repo" / ".git").mkdir()
    assert project.find(deep) is None
    (tmp_path / "repo" / "holdfast.yaml").write_text("")
    assert project.find(deep) == tmp_path / "repo" / "holdfast.yaml"
    (deep / "holdfast.yaml").mkdir()
    assert project.find(deep) == tmp_path / "repo" / "holdfast.yaml"


def test_a_file_that_is_named_is_taken_and_must_exist(tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("store: x\n")
    assert project.load(other, tmp_path / "elsewhere").store == tmp_path / "x"
    with pytest.raises(InputError, match=r"gone\.yaml: cannot be read: No such file"):
        project.load(tmp_path / "gone.yaml", tmp_path)


def test_the_local_connection_is_there_unless_declared(tmp_path):
    local = ProjectFile(tmp_path).with_local(tmp_path / "in").connections["local"]
    assert local == ConnectionSpec("local", "file", {"root": str(tmp_path / "in")}, base_dir=str(tmp_path / "in"))
    own = load(tmp_path, "connections: {local: {provider: file, root: /srv}}")
    assert own.with_local(tmp_path).connections["local"].settings == {"root": "/srv"}


WHERE = "{env: NAME} or {file: path} or {command: [program, argument]}"


@pytest.mark.parametrize(
    "text, line, field, message",
    [
        ("conections: {}", 1, "/conections", "unknown field `conections`; did you mean `connections`?"),
        ("connections: []", 1, "/connections", "expected a mapping, got a list"),
        ("rollouts: 5%", 1, "/rollouts", "expected a mapping, got a string"),
        ("rollouts: {atonce: 1}", 1, "/rollouts/atonce", "unknown field `atonce`; did you mean `atOnce`?"),
        (
            "rollouts: {atOnce: 0}",
            1,
            "/rollouts/atOnce",
            "0 lets no rollout proceed; write a number >= 1, or a percentage such as 10%",
        ),
        (
            "rollouts:\n  atOnce: many",
            2,
            "/rollouts/atOnce",
            "expected a whole number such as 10, or a percentage such as 5%",
        ),
        ("connections: {a: 5}", 1, "/connections/a", "expected a mapping, got a number"),
        (
            "connections:\n  a: {}",
            2,
            "/connections/a",
            "`provider` is missing; write provider: file, http or another",
        ),
        (
            "connections:\n  a:\n    provider: htp",
            3,
            "/connections/a/provider",
            "there is no provider 'htp'; did you mean http?",
        ),
        (
            "connections:\n  a:\n    provider: zzz",
            3,
            "/connections/a/provider",
            "there is no provider 'zzz'; known: file, http",
        ),
        (
            "connections:\n  a:\n    provider: file\n    secrets: {token: hunter2}",
            4,
            "/connections/a/secrets/token",
            f"a secret is never written here, only where to find it: {WHERE}",
        ),
        (
            "connections:\n  a:\n    provider: file\n    secrets: {token: {value: hunter2}}",
            4,
            "/connections/a/secrets/token",
            f"'value' is no place for a secret; write {WHERE}",
        ),
        (
            "connections:\n  a:\n    provider: file\n    secrets: {token: {command: cat hunter2}}",
            4,
            "/connections/a/secrets/token",
            "expected a list of words: [program, argument, ...]; there is no shell",
        ),
        (
            "connections:\n  a:\n    provider: file\n    secrets: {token: {env: 5}}",
            4,
            "/connections/a/secrets/token",
            "env: expected a string: {env: NAME}",
        ),
        (
            "connections:\n  a:\n    provider: file\n    limits: {concurency: 5}",
            4,
            "/connections/a/limits/concurency",
            "unknown field `concurency`; did you mean `concurrency`?",
        ),
        (
            "connections:\n  a:\n    provider: file\n    limits: {concurrency: 0}",
            4,
            "/connections/a/limits/concurrency",
            "expected a whole number >= 1",
        ),
        (
            "connections:\n  a:\n    provider: file\n    limits: {reads_per_second: -1}",
            4,
            "/connections/a/limits/reads_per_second",
            "expected a number > 0",
        ),
        ("store: 5", 1, "/store", "expected a string, got a number; write it in quotes: store: '5'"),
        ("profiles: [5]", 1, "/profiles/0", "expected a string, got a number; write it in quotes: '5'"),
        ("profiles: gone", 1, "/profiles", "there is no folder 'gone' beside the project file"),
        ("defaults: {connection: x}", 1, "/defaults/connection", "there is no connection 'x'"),
        (
            "defaults:\n  resyncperiod: 1h",
            2,
            "/defaults/resyncperiod",
            "unknown field `resyncperiod`; did you mean `resyncPeriod`?",
        ),
        ("defaults:\n  resyncPeriod: 5", 2, "/defaults/resyncPeriod", "5 has no unit; write 5s, 5m or 5h"),
        ("a: 1\n---\nb: 2", 3, None, "a project file is one document; join them"),
        ("a: 1\na: 2", 2, None, "duplicate key 'a' (first in line 1)"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, text, line, field, message):
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    where = caught.value.location
    assert (where.file, where.line, where.field, caught.value.message) == ("holdfast.yaml", line, field, message)
    assert "hunter2" not in str(caught.value)


def test_a_connection_name_with_a_slash_is_refused(tmp_path):
    with pytest.raises(InputError, match="the name 'a/b' must not hold a slash"):
        load(tmp_path, "connections: {a/b: {provider: file}}")


def test_all_mistakes_come_together(tmp_path):
    with pytest.raises(InputErrors) as caught:
        load(tmp_path, "store: 5\nconnections: {a: {}, b: {provider: x}}\n")
    assert len(caught.value.errors) == 3


def test_a_secret_in_clear_among_the_settings_is_a_warning_without_the_secret(tmp_path):
    (warning,) = load(tmp_path, "connections:\n  a:\n    provider: http\n    token: hunter2\n").warnings
    assert str(warning).startswith(
        "holdfast.yaml:4:5 (/connections/a/token): token looks like a secret in clear; move it"
    )
    assert "hunter2" not in str(warning)


def test_the_secrets_of_a_connection_are_fetched_late_and_say_what_is_missing(tmp_path):
    found = load(tmp_path, "connections:\n  a:\n    provider: http\n    secrets:\n      token: {env: A_TOKEN}\n")
    spec = found.connections["a"]
    fetched = spec.fetch_secrets(Resolver({"A_TOKEN": "hunter2"}))
    assert fetched["token"].reveal() == "hunter2"
    with pytest.raises(InputError) as caught:
        spec.fetch_secrets(Resolver({}))
    assert str(caught.value) == (
        "holdfast.yaml:2:3 (/connections/a/secrets/token): "
        "the environment variable A_TOKEN, which should hold a secret, is not set"
    )
