"""`holdfast metrics` as a person, a cron job or a collector runs it; its page, and the alerts of the example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from holdfast.metrics import definitions
from holdfast_emulators.debian_packages import Unavailable
from tests.acceptance.test_commands import run, run_apart
from tests.acceptance.test_rollouts import Edited
from tests.servers import prometheus as servers

pytestmark = pytest.mark.slow  # a process for each command

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/metrics.md"
ALERTS = ROOT / "examples/metrics/alerts.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Edited:
    """Ten children, of which the canary is at the new revision, and one was meddled with."""
    made = Edited(tmp_path)
    made("apply", "-y")
    made.edit(level="debug", soak="1h")
    made("apply", "-y")
    (tmp_path / "fleet/web-3.yaml").write_text("level: hacked\nlabels: {team: shop}\n")
    made("check")
    return made


def metrics(folder: Edited, *args: str, code: int = 0) -> str:
    done = run("metrics", *args, cwd=folder.path)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def values(text: str, parser=prometheus) -> dict[str, float]:
    """Return every sample by its line without the value, labels in order."""
    out = {}
    for family in parser(text):
        for sample in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sorted(sample.labels.items()))
            out[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return out


def test_a_fleet_in_mid_rollout_is_told_without_manifests(folder):
    told = values(metrics(folder))
    at = 'connection="fleet",kind="Document"'
    assert told[f'holdfast_resources{{{at},status="in_sync"}}'] == 9
    assert told[f'holdfast_resources{{{at},status="drifted"}}'] == 1
    assert told[f'holdfast_findings{{changed_by="live",class="specified",{at}}}'] == 1
    assert told['holdfast_rollout_phase{phase="canary",template="web"}'] == 1
    assert told['holdfast_template_findings{class="spec",owner="web",reason="edited",template="web"}'] == 9
    assert told['holdfast_template_restamped_children{template="web"}'] == 0
    assert not any(name.startswith("holdfast_rollout_budget_allowed") for name in told)
    assert not any("web-3" in name for name in told)


def test_manifests_add_what_a_rollout_may_take(folder):
    told = values(metrics(folder, "-f", "infra"))
    assert told['holdfast_rollout_budget_allowed{budget="maxSurge",template="web"}'] == 2
    assert told['holdfast_rollout_budget_used{budget="maxSurge",template="web"}'] == 0


def test_both_formats_say_the_same(folder):
    one = values(metrics(folder))
    other = values(metrics(folder, "--format", "openmetrics"), openmetrics)
    assert one.pop("holdfast_gathered_timestamp_seconds") <= other.pop("holdfast_gathered_timestamp_seconds")
    assert one == other


def test_each_resource_is_told_only_on_demand(folder):
    assert 'holdfast_resource_status{address="fleet/Document/web-3",status="drifted"}' in values(
        metrics(folder, "--per-resource")
    )


def test_counters_only_grow_and_an_activation_is_one_of_them(folder):
    before = values(metrics(folder))
    text = (folder.path / "infra/web.yaml").read_text()
    (folder.path / "infra/web.yaml").write_text(text.replace("[/content/labels]", "[/content/labels, /content/extra]"))
    folder("apply", "-y")
    after = values(metrics(folder))
    counters = [name for name in before if name.partition("{")[0].endswith("_total")]
    assert len(counters) > 10
    assert [name for name in counters if after[name] < before[name]] == []
    activations = 'holdfast_scheme_activations_total{owner="web"}'
    assert (before[activations], after[activations]) == (0, 1)
    assert after['holdfast_template_restamped_children{template="web"}'] == 0


def test_a_file_is_replaced_as_a_whole_and_nothing_is_printed(folder):
    target = folder.path / "out.prom"
    target.write_text("old\n")
    target.chmod(0o640)
    with target.open() as reader:
        assert metrics(folder, "--output", "out.prom") == ""
        assert reader.read() == "old\n", "who has it open goes on reading what there was"
    assert values(target.read_text())
    assert target.stat().st_mode & 0o777 == 0o640
    assert [item.name for item in folder.path.iterdir() if "out.prom" in item.name] == ["out.prom"]


def test_a_file_that_cannot_be_written_is_an_error(folder):
    assert "nowhere/out.prom: cannot be written" in metrics(folder, "--output", "nowhere/out.prom", code=1)


def test_without_a_store_it_fails_and_makes_none(tmp_path):
    for arguments in ((), ("--store", "elsewhere/holdfast.db"), ("--output", "out.prom")):
        done = run("metrics", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert "there is no store at" in done.stderr
        assert "--store" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_its_library_it_says_how_to_have_it(tmp_path):
    (tmp_path / "prometheus_client.py").write_text("raise ImportError\n")
    done = run_apart("metrics", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "pip install 'holdfast[metrics]'" in done.stderr


def test_help_does_not_load_its_library():
    program = (
        "import sys; from holdfast.cli import command_group\n"
        "try: command_group.run(sys.argv[1:])\n"
        "except SystemExit: print('prometheus_client' in sys.modules, file=sys.stderr)"
    )
    for arguments in (["--help"], ["metrics", "--help"]):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
        assert "metrics" in done.stdout
        assert done.stderr.strip() == "False"


# --- the page and the example -----------------------------------------------------------------------------------------


def test_the_table_on_the_page_is_what_is_printed(folder):
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (\w+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    text = metrics(folder, "-f", "infra", "--per-resource")
    helps = dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.MULTILINE))
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    hint = "run python tools/metrics_table.py | python tools/replace_section.py docs/metrics.md families"
    assert {name: what for name, _, _, what in rows} == helps, hint
    assert {name: "gauge" if sort == "info" else sort for name, _, sort, _ in rows} == types, hint
    labels = {name: set(re.findall(r"`(\w+)`", row)) for name, row, _, _ in rows}
    for family in prometheus(text):
        for sample in family.samples:
            assert set(sample.labels) == labels[sample.name], hint


def test_the_page_is_in_the_navigation_and_its_commands_exist():
    import click

    from holdfast.cli import command_group

    assert "metrics.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    found = re.findall(r"^holdfast metrics(.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(found) >= 4
    command = command_group.cli.get_command(click.Context(command_group.cli), "metrics")
    assert command is not None
    for arguments in found:
        command.make_context("metrics", arguments.split())


def test_the_alerts_of_the_example_are_about_families_and_labels_that_exist():
    rules = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"][0]["rules"]
    known = {item.name: set(item.labels) for item in definitions.ALL}
    for rule in rules:
        named = set(re.findall(r"holdfast_\w+", rule["expr"]))
        assert named, rule
        assert named <= known.keys()
        labels = set().union(*(known[name] for name in named))
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= labels
    assert len(rules) == 6, "as many as the page says"


@pytest.mark.server
def test_the_tool_of_prometheus_has_nothing_to_say_against_either(folder):
    try:
        promtool = servers.binaries()["prometheus"].with_name("promtool")
    except Unavailable as error:
        pytest.skip(str(error))
    text = metrics(folder, "-f", "infra", "--per-resource")
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = subprocess.run([promtool, "check", "rules", ALERTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 rules found" in done.stdout
