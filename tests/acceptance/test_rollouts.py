"""Templates by the command line: ten files of one template, edited, rolled in waves, paused, resumed, undone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.folders import PROJECT, Folder
from tests.acceptance.test_commands import run

pytestmark = pytest.mark.slow  # a process for each command

ROOT = Path(__file__).parents[2]

TEMPLATE = """\
apiVersion: holdfast.dev/v1
kind: Template
metadata: {{name: web}}
spec:
  child: {{apiVersion: file.holdfast.dev/v1, kind: Document, connection: fleet}}
  replicas: {replicas}
  resource:
    path: $(name).yaml
    content: {{level: {level}, labels: {{team: {team}}}}}
  fields: {{inPlace: [/content/labels]}}
  rollout: {{method: {method}, canary: 1, maxSurge: 20%, maxUnavailable: 20%, soak: {soak}}}
"""


class Edited(Folder):
    """A project with one template, edited by saying what is to be different."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.said = {"replicas": 10, "level": "info", "team": "shop", "soak": "0", "method": "replace-before-remove"}
        self.edit()

    def edit(self, **changes: object) -> None:
        self.said |= changes
        self.write(TEMPLATE.format(**self.said))

    def levels(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for content in self.files().values():
            found[content["level"]] = found.get(content["level"], 0) + 1
        return found


@pytest.fixture
def folder(tmp_path: Path) -> Edited:
    return Edited(tmp_path)


def test_a_template_is_applied_edited_planned_and_rolled_in_waves(folder):
    assert "Plan: 10 to add" in folder("plan")
    folder("apply", "-y")
    assert sorted(folder.files()) == [f"web-{index}" for index in range(10)]
    assert "0 to add, 0 to change" in folder("plan", "--detailed-exitcode")
    folder.edit(level="debug")
    planned = folder("plan", "--detailed-exitcode", code=2)
    assert "would roll 10 of 10 children in waves of 1, 1, 2, 4, 2" in planned
    assert "spec: 10 children, web edited at /resource/content/level" in planned
    assert folder.levels() == {"info": 10}, "a plan touches nothing"
    (template,) = folder.json("plan")["templates"]
    assert template["preview"] == {"rolled": 10, "of": 10, "waves": [1, 1, 2, 4, 2], "left": 0}
    assert "web edited" in folder("check", "--detailed-exitcode", code=2)
    folder("apply", "-y")
    assert folder.levels() == {"debug": 10}
    (template,) = folder.json("rollout", "status", "web")
    assert (template["upToDate"], template["rollout"]["phase"]) == (10, "complete")
    assert "0 to add, 0 to change" in folder("plan", "--detailed-exitcode")
    assert "audit trail is unbroken" in folder("audit", "verify") or "unbroken" in folder("audit", "verify")


def test_it_is_paused_resumed_undone_and_the_history_tells(folder):
    folder("apply", "-y")
    folder.edit(level="debug", soak="1h")
    folder("apply", "-y")
    assert folder.levels() == {"info": 9, "debug": 1}, "the canary soaks"
    assert "paused by" in folder("rollout", "pause", "web", "--why", "errors")
    assert "errors" in folder("rollout", "status", code=1)
    folder.edit(soak="0")
    folder("apply", "-y", code=1)
    assert folder.levels() == {"info": 9, "debug": 1}
    assert folder.json("plan", "--detailed-exitcode", code=2 | 16)["templates"][0]["rollout"]["phase"] == "paused"
    folder("rollout", "resume", "web")
    folder("apply", "-y")
    assert folder.levels() == {"debug": 10}
    folder("rollout", "undo", "web")
    folder("apply", "-y")
    assert folder.levels() == {"info": 10}
    folder("apply", "-y")
    assert folder.levels() == {"info": 10}, "what was undone is not tried again by itself"
    history = folder.json("rollout", "history", "web")
    assert [rollout["phase"] for rollout in history["rollouts"]] == ["complete", "rolled-back"]
    assert [item["content"]["resource"]["content"]["level"] for item in history["revisions"]["web"]] == [
        "info",
        "debug",
    ]
    assert "rolled-back" in folder("rollout", "history", "web")
    folder("rollout", "resume", "web")
    folder("apply", "-y")
    assert folder.levels() == {"debug": 10}
    assert "nothing to resume" in folder("rollout", "resume", "web", code=1)
    assert "no rollout under way" in folder("rollout", "pause", "web", code=1)


def test_a_rollout_is_undone_half_way(folder):
    folder("apply", "-y")
    folder.edit(level="debug", soak="1h")
    folder("apply", "-y")
    folder("rollout", "undo", "web")
    folder.edit(soak="0")
    folder("apply", "-y")
    assert folder.levels() == {"info": 10}


def test_in_place_fields_and_replicas_need_no_rollout(folder):
    folder("apply", "-y")
    folder.edit(team="search", replicas=12)
    assert "10 to change" in folder("plan")
    folder("apply", "-y")
    assert {content["labels"]["team"] for content in folder.files().values()} == {"search"}
    assert len(folder.files()) == 12
    folder.edit(replicas=3)
    folder("apply", "-y")
    assert sorted(folder.files()) == ["web-0", "web-1", "web-2"]
    assert folder.json("rollout", "status")[0]["rollout"] is None


def test_rewriting_keeps_the_names(folder):
    folder.edit(method="rewrite")
    folder("apply", "-y")
    folder.edit(level="debug")
    folder("apply", "-y")
    assert folder.levels() == {"debug": 10}
    assert sorted(folder.files()) == [f"web-{index}" for index in range(10)]


def test_watch_takes_a_rollout_through_its_waves(folder):
    folder.edit(replicas=4)
    folder("apply", "-y")
    folder.edit(level="debug", soak="200ms")
    folder("watch", "--rounds", "12")
    assert folder.levels() == {"debug": 4}
    assert folder.json("rollout", "status")[0]["rollout"]["phase"] == "complete"


def test_drift_of_a_child_is_put_back_and_a_child_that_is_gone_comes_back(folder):
    folder("apply", "-y")
    (folder.path / "fleet/web-3.yaml").write_text("level: hacked\nlabels: {team: shop}\n")
    assert "web-3" in folder("check", "--detailed-exitcode", code=4)
    assert "is a child of template web: edit the template" in folder("accept", "fleet/Document/web-3", code=1)
    folder("apply", "-y")
    assert folder.levels() == {"info": 10}
    (folder.path / "fleet/web-4.yaml").unlink()
    folder("apply", "-y", "--recreate")
    assert folder.levels() == {"info": 10}


def test_status_and_explain_tell_of_templates_without_manifests(folder):
    folder("apply", "-y")
    told = run("status", cwd=folder.path).stdout
    assert "template web: revision 1, 10 ready" in told
    told = run("explain", "fleet/Document/web-3", cwd=folder.path).stdout
    assert "child of template web, slot web-3, ready; made from web revision 1 (regime 0)" in told
    body = json.loads(run("explain", "fleet/Document/web-3", "-o", "json", cwd=folder.path).stdout)
    assert body["template"]["madeFrom"]["web"]["revision"] == 1


def test_an_upgrade_is_rehearsed_and_changes_nothing(folder):
    folder("apply", "-y")
    assert "Nothing would change: 20 rehearsed" in folder("upgrade-check")
    profile = folder.path / "new.yaml"
    profile.write_text("profile: new/rules\nversion: 1\nrules:\n  - {path: /content/level, class: ignore}\n")
    found = folder.json("upgrade-check", "--profile", "new.yaml")
    assert (found["rehearsed"], found["changed"]) == (20, [])
    (folder.path / "fleet/web-3.yaml").write_text("level: hacked\nlabels: {team: shop}\n")
    folder("check", "--detailed-exitcode", code=4)
    found = folder.json("upgrade-check", "--profile", "new.yaml", code=1)
    (changed,) = found["changed"]
    assert changed["before"] == "drifted"
    assert changed["after"] == "in_sync"
    assert changed["why"] == "no longer counts /content/level"


def test_a_default_that_a_profile_changes_is_told_and_left_alone(tmp_path):
    (tmp_path / "holdfast.yaml").write_text("connections: {files: {provider: file, root: live}}\nprofiles: [rules]\n")
    (tmp_path / "app.yaml").write_text(
        "apiVersion: file.holdfast.dev/v1\nkind: Document\nmetadata: {name: app}\n"
        "spec: {connection: files, resource: {path: app.yaml, content: {level: info}}}\n"
    )
    for name, text in {"live/app.yaml": "level: info\nsize: 5\n", "rules/own.yaml": _default(5)}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    assert run("apply", "-y", "-f", "app.yaml", cwd=tmp_path).returncode == 0
    rehearsed = run("upgrade-check", "--profile", _written(tmp_path / "new.yaml", 6), "-f", "app.yaml", cwd=tmp_path)
    assert "defaults-changed: /content/size of 1 has another default then, and is left alone" in rehearsed.stdout
    assert "Nothing would change: 1 rehearsed." in rehearsed.stdout
    _written(tmp_path / "rules/own.yaml", 6)
    for _ in range(2):
        checked = run("check", "-f", "app.yaml", "--detailed-exitcode", cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout
        assert "Suppressed: 1 defaults-changed." in checked.stdout
    explained = run("explain", "files/Document/app", "-f", "app.yaml", cwd=tmp_path).stdout
    assert "/content/size  defaults-changed: not declared; what stands for that was 5, and is 6" in explained
    assert (tmp_path / "live/app.yaml").read_text() == "level: info\nsize: 5\n"


def _default(size: int) -> str:
    return f"profile: own/rules\nversion: {size}\nrules:\n  - {{path: /content/size, default: {size}}}\n"


def _written(path: Path, size: int) -> str:
    path.write_text(_default(size))
    return str(path)


def test_deleting_takes_the_children_and_forgets_the_template(folder):
    folder("apply", "-y")
    folder("delete", "--yes")
    assert folder.files() == {}
    assert "template web" not in run("status", cwd=folder.path).stdout
    folder("apply", "-y")
    assert len(folder.files()) == 10


def test_mistakes_are_told_with_file_line_and_field(folder):
    text = TEMPLATE.format(**folder.said).replace("canary: 1", "canary: many").replace("replicas: 10", "replicas: -1")
    (folder.path / "infra/web.yaml").write_text(text.replace("inPlace", "inplace"))
    told = folder("plan", code=1)
    assert "infra/web.yaml:6" in told
    assert "(/spec/replicas): expected a whole number from 0 to" in told
    assert "/spec/rollout/canary" in told
    assert "did you mean `inPlace`?" in told
    folder.edit()
    assert "there is no template 'wbe'; did you mean web?" in folder("rollout", "undo", "wbe", code=1)


def test_the_example_runs(tmp_path):
    script = ROOT / "examples/template/try.sh"
    done = subprocess.run(
        ["bash", str(script)],
        env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "would roll 10 of 10 children in waves of 1, 1, 2, 4, 2" in done.stdout
    assert "back to revision 1: rolled-back" in done.stdout


def test_lists_without_an_order_rewritten_fields_and_modes_by_the_command_line(folder):
    """Reordering a set is nothing; a new image is written to the same files, in waves; a mode says who is told."""
    text = TEMPLATE.replace("level: {level}", "level: {level}, image: {image}, zones: {zones}")
    fields = "fields: {{inPlace: [/content/labels], rewrite: [/content/image], lists: {{/content/zones: set}}}}\n"
    text = text.replace("fields: {{inPlace: [/content/labels]}}\n", f"{fields}  mode: {{mode}}\n")

    def edit(**changes: object) -> None:
        folder.said |= changes
        (folder.path / "infra/web.yaml").write_text(text.format(**folder.said))

    edit(image="one", zones="[a, b]", mode="enforce")
    folder("apply", "-y")
    edit(zones="[b, a, b]")
    assert "0 to add, 0 to change" in folder("plan", "--detailed-exitcode")
    edit(image="two", mode="observe")
    assert "mode observe: nothing is rolled" in folder("check", "--detailed-exitcode", code=0)
    folder("apply", "-y")
    edit(mode="notify")
    assert "spec: 10 children, web edited at /resource/content/image" in folder("check", "--detailed-exitcode", code=2)
    (template,) = folder.json("rollout", "status")
    assert (template["mode"], template["rollout"], len(template["findings"])) == ("notify", None, 10)
    edit(mode="enforce")
    assert "in waves of 1, 1, 2, 4, 2, rewriting 10 of them" in folder("plan")
    folder("apply", "-y")
    assert {(name, file["image"]) for name, file in folder.files().items()} == {(f"web-{i}", "two") for i in range(10)}


def test_the_limit_over_all_templates_is_told_where_it_holds_a_rollout(folder):
    (folder.path / "holdfast.yaml").write_text(PROJECT + "rollouts: {atOnce: 10%}\n")
    other = TEMPLATE.replace("name: web", "name: api")
    ready = "  readyWhen: [{{path: /content/up, operator: Exists}}]\n"

    def both(level: str, more: str = "") -> None:
        folder.edit(level=level)
        text = (other + more).format(**folder.said)
        (folder.path / "infra/api.yaml").write_text(text)

    both("info")
    folder("apply", "-y")
    both("debug", ready)  # its new children are made, and never ready
    (folder.path / "infra/web.yaml").write_text(TEMPLATE.format(**{**folder.said, "level": "info"}))
    folder("apply", "-y")
    both("debug", ready)
    folder("apply", "-y")
    found = {item["name"]: item for item in folder.json("rollout", "status")}
    assert found["api"]["states"] == {"ready": 10, "creating": 1}
    assert found["web"]["upToDate"] == 10, "one of the two turns was left"
    (folder.path / "holdfast.yaml").write_text(PROJECT + "rollouts: {atOnce: 1}\n")
    both("warning", ready)
    folder("apply", "-y")
    found = {item["name"]: item for item in folder.json("rollout", "status")}
    assert found["web"]["waits"] == ["1 of 1 slots over all templates are at work: api 1"]
    assert found["web"]["upToDate"] == 0
    assert "waits: 1 of 1 slots over all templates" in folder("rollout", "status", "web")
