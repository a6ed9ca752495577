"""What plan says is what apply does, in the summary line, in saved plans, and in the direction of arrows."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.test_commands import run

DOCUMENT = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec: {resource: {path: live/app.yaml, content: {level: info, tags: [web]}}}
"""
TEMPLATE = """\
apiVersion: holdfast.dev/v1
kind: Template
metadata: {name: web}
spec:
  replicas: 3
  child: {apiVersion: file.holdfast.dev/v1, kind: Document}
  resource:
    path: live/$(name).yaml
    content: {image: one}
  rollout: {maxSurge: 100%}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "m.yaml").write_text(DOCUMENT)
    return tmp_path


def holdfast(folder, *arguments):
    return run(*arguments, "-f", "m.yaml", cwd=folder)


@pytest.fixture
def drifted(folder):
    assert holdfast(folder, "apply", "-y").returncode == 0
    (folder / "live/app.yaml").write_text("level: debug\nextra: true\n")
    return folder


def test_the_arrows_of_a_plan_point_from_live_to_declared(drifted):
    shown = holdfast(drifted, "plan").stdout
    assert '~ /content/level  "debug" → "info"' in shown
    assert '+ /content/tags  (absent) → ["web"]' in shown
    assert "= /content/extra  true, not declared; stays" in shown


def test_a_check_says_what_is_there_and_what_is_declared(drifted):
    assert '~ /content/level  "debug", declared "info"' in holdfast(drifted, "check").stdout


def test_markdown_and_html_plans_point_the_same_way(drifted):
    markdown = holdfast(drifted, "plan", "-o", "markdown").stdout
    assert "--- live\n+++ declared" in markdown
    assert '- "debug"\n+ "info"' in markdown
    page = holdfast(drifted, "plan", "-o", "html").stdout
    assert re.search(r'class="value live">&quot;debug&quot;</td><td class="value declared">&quot;info&quot;', page)
    assert page.index('<th scope="col">Live</th>') < page.index('<th scope="col">Declared</th>')
    colours = dict(re.findall(r"--(declared|live): (#\w{6})", page.split("prefers-color-scheme")[0]))
    assert colours == {"declared": "#dafbe1", "live": "#ffebe9"}  # green is what is wanted, red what goes


@pytest.mark.parametrize(
    "field, says",
    [("path", "2 to adopt"), ("id", "1 to adopt, 1 to decide once what they refer to is there")],
)
def test_what_exists_already_is_to_adopt_and_never_to_add(folder, field, says):
    other = DOCUMENT.replace("app", "two").replace("tags: [web]", f'uses: "${{Document/app.{field}}}"')
    (folder / "m.yaml").write_text(f"{DOCUMENT}---\n{other}")
    (folder / "live").mkdir()
    (folder / "live/app.yaml").write_text("level: info\ntags: [web]\n")
    (folder / "live/two.yaml").write_text("level: info\nuses: live/app.yaml\n")
    planned = holdfast(folder, "plan").stdout.splitlines()[-1]
    assert planned == f"Plan: 0 to add, 0 to change, 0 to replace, 0 to destroy, {says}."
    assert "0 added, 0 changed, 0 replaced, 0 destroyed, 2 adopted" in holdfast(folder, "apply", "-y").stdout


def test_what_could_not_be_judged_or_is_blocked_is_counted(folder):
    broken = DOCUMENT.replace("app", "broken")
    (folder / "m.yaml").write_text(f"{DOCUMENT}---\n{broken}")
    assert holdfast(folder, "apply", "-y").returncode == 0
    (folder / "live/broken.yaml").write_text("a: [")
    assert "1 unknown" in holdfast(folder, "plan").stdout
    applied = holdfast(folder, "apply", "-y")
    assert applied.returncode == 1
    assert "Apply: 0 added, 0 changed, 0 replaced, 0 destroyed, 1 unknown." in applied.stdout


def test_what_is_only_reported_or_held_is_in_the_line_of_apply(drifted):
    text = DOCUMENT.replace("spec: {", "spec: {managedOptions: {onDrift: report}, ")
    (drifted / "m.yaml").write_text(text)
    assert "1 only reported." in holdfast(drifted, "apply", "-y").stdout
    (drifted / "m.yaml").write_text(text.replace("report", "approve"))
    assert "1 held back." in holdfast(drifted, "apply", "-y").stdout


@pytest.fixture
def templated(folder):
    (folder / "m.yaml").write_text(TEMPLATE)
    done = holdfast(folder, "apply", "-y")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "m.yaml").write_text(TEMPLATE.replace("image: one", "image: two"))
    return folder


def images(folder):
    return sorted(re.findall(r"image: (\w+)", file.read_text())[0] for file in (folder / "live").glob("*.yaml"))


def test_rollouts_are_in_the_summary_of_a_plan(templated):
    assert "3 children of templates to roll" in holdfast(templated, "plan").stdout.splitlines()[-1]
    assert images(templated) == ["one"] * 3


def test_a_saved_plan_rolls_what_it_showed(templated):
    assert holdfast(templated, "plan", "--out", "plan.json").returncode == 0
    done = run("apply", "plan.json", cwd=templated)
    assert done.returncode == 0, done.stdout + done.stderr
    assert images(templated) == ["two"] * 3


def test_a_saved_plan_does_not_roll_another_revision(templated):
    assert holdfast(templated, "plan", "--out", "plan.json").returncode == 0
    (templated / "m.yaml").write_text(TEMPLATE.replace("image: one", "image: three"))
    done = run("apply", "plan.json", cwd=templated)
    assert done.returncode == 1
    assert "template web" in done.stderr
    assert images(templated) == ["one"] * 3
