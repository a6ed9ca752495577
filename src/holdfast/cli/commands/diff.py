"""`holdfast diff`: compare a declaration with an observation, from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from holdfast.cli import console, input_files
from holdfast.cli.exit_codes import exit_code
from holdfast.cli.render import findings
from holdfast.compare import comparators, diff, paths, profiles, verdict_rules
from holdfast.compare.diff_walk import TraceEntry
from holdfast.compare.profile import Profile
from holdfast.manifests import project as projects
from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.providers import builtin_profiles
from holdfast.providers.azure import kinds as azure


@click.command("diff")
@click.argument("desired")
@click.argument("observed")
@click.option("--baseline", metavar="FILE", help="The first settled observation after our own write.")
@click.option("--applied", metavar="FILE", help="What was last written; the declaration itself if left out.")
@click.option("--profile", "profile_files", multiple=True, metavar="FILE", help="Rules of the kind (may be repeated).")
@click.option("--provider", default="", help="Use the shipped profiles of this provider (azure, aws, gcp).")
@click.option("--kind", default="*", help="With --provider: the kind of the resource.")
@click.option("--explain", is_flag=True, help="Show how every place was judged, and by which rule.")
@click.option("--detailed-exitcode", is_flag=True, help="Leave with 2 if pending, 4 if drifted, 6 if both.")
@console.option("text", "json")
def diff_command(
    desired: str,
    observed: str,
    baseline: str | None,
    applied: str | None,
    profile_files: tuple[str, ...],
    provider: str,
    kind: str,
    explain: bool,
    detailed_exitcode: bool,
    output_: str,
) -> int:
    """Compare DESIRED (a declaration) with OBSERVED (live state); YAML or JSON, - is standard input.

    With --baseline the comparison is three-way: it names the side that changed, and values that the service fills
    in are no findings.

    \b
    Examples:
      holdfast diff declared.yaml live.json
      holdfast diff declared.yaml live.json --baseline first-read.json --explain
      holdfast diff vnet.yaml vnet.json --provider azure --kind Microsoft.Network/virtualNetworks
    """
    want, seen = input_files.read(desired), input_files.read(observed)
    known = None
    if baseline is not None:
        known = diff.Baseline(input_files.read(applied) if applied else want, input_files.read(baseline))
    rules = _rules(profile_files, provider, kind, want).tree(want, seen)
    verdict = verdict_rules.judge(Found(seen), want, rules, applied=want, baseline=known)
    trace: list[TraceEntry] = []
    if explain:
        diff.findings(want, seen, rules, known, trace)
    if output_ == "json":
        body = findings.verdict_as_json(verdict)
        if explain:
            body["judged"] = [{"path": paths.format_path(j.path), "outcome": j.outcome, "rule": j.rule} for j in trace]
        console.json_document(body)
    else:
        findings.show_verdict(verdict)
        if explain:
            _show_trace(trace)
    return exit_code([verdict.status], detailed=detailed_exitcode)


def _rules(files: tuple[str, ...], provider: str, kind: str, want: Json) -> profiles.RuleSet:
    if files:
        comparators.allow_code(projects.load(None, Path.cwd()).allowed_code)
    own = [profile for file in files for profile in profiles.parse(input_files.read_bytes(file), file)]
    return profiles.stack([*own, *_shipped(provider, kind, want)])


def _shipped(provider: str, kind: str, want: Json) -> Sequence[Profile]:
    """Return the profiles that ship for a kind: those of the provider if it knows the kind, else the built-in ones."""
    if provider == azure.NAME and kind in (kinds := azure.Kinds()):
        known = kinds[kind]
        return known.profiles_in(known.version_of(want if isinstance(want, dict) else {}))
    return [profile for profile in builtin_profiles.shipped() if provider and profile.applies_to(provider, kind)]


def _show_trace(trace: list[TraceEntry]) -> None:
    console.line()
    console.line("Judged without a finding:", bold=True)
    for judgement in trace:
        path = paths.format_path(judgement.path) or "(document)"
        console.line(f"    {path}  {judgement.outcome}  " + console.styled(judgement.rule, fg="bright_black"))
