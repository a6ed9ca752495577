"""The project keeps the promises it makes about its own files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import holdfast

ROOT = Path(__file__).resolve().parents[2]

# In two parts each, so that this file does not hold what it forbids.
REGISTRY_HOSTS = tuple(
    name + "." + domain
    for name, domain in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("debian", "org"),
        ("crates", "io"),
    )
)


NOT_OURS = re.compile(r"(^|/)(\.venv|\.make|\.\w+_cache|\.hypothesis|__pycache__|build|dist|site)/")


def project_files() -> list[Path]:
    """Return what is, or is about to be, under version control; without git, every file that was not generated."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = [name for path in ROOT.rglob("*") if not NOT_OURS.search(name := str(path.relative_to(ROOT)))]
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_importing_the_package_imports_no_provider_and_no_client() -> None:
    heavy = {"aiohttp", "azure", "openstack", "pydantic", "click", "rich", "sqlite3", "asyncio"}
    program = "import sys, holdfast; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.split())


def pyproject() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def direct_dependencies() -> list[str]:
    match pyproject():
        case {
            "build-system": {"requires": list(build)},
            "project": {"dependencies": list(core), "optional-dependencies": dict(extras)},
        }:
            requirements = [*build, *core, *(item for extra in extras.values() for item in extra)]
        case _:
            pytest.fail("pyproject.toml lacks its build requirements, dependencies or extras")
    names = {re.split(r"[\s\[<>=!~;]", requirement)[0] for requirement in requirements}
    return sorted(names - {"holdfast"}, key=str.casefold)


def test_no_file_names_the_host_of_a_package_registry():
    hosts = re.compile("|".join(map(re.escape, REGISTRY_HOSTS)).encode(), re.IGNORECASE)
    files = project_files()
    assert files
    offenders = [str(path.relative_to(ROOT)) for path in files if hosts.search(path.read_bytes())]
    assert offenders == []


def test_the_constraints_are_plain_pins_without_an_address():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines
    odd = [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+( ; [^:/@]+)?", line)]
    assert odd == []


@pytest.mark.parametrize("name", direct_dependencies())
def test_every_direct_dependency_is_pinned(name):
    pinned = {
        line.split("==")[0].casefold() for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    }
    assert re.sub(r"[-_.]+", "-", name).casefold() in pinned


@pytest.mark.parametrize("name", direct_dependencies())
def test_every_direct_dependency_has_its_reason_in_the_decisions(name):
    page = (ROOT / "docs/decisions/0003-dependencies.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {re.escape(name)} \| \S", page, re.MULTILINE)


def test_the_readme_opens_with_one_sentence_and_the_two_commands():
    title, sentence, block = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[:3]
    assert title == "# Holdfast"
    assert sentence.count(". ") == 0
    assert re.findall(r"^make ([a-z-]+)", block, re.MULTILINE) == ["demo", "test"]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/index.md", "docs/quickstart.md"])
def test_every_make_command_on_a_page_is_a_target(page):
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= make_targets()


def test_make_alone_lists_every_target():
    shown = subprocess.run(["make"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"^  make ([a-z-]+)", shown, re.MULTILINE)) == make_targets()


def test_the_exported_names_are_exactly_those_in_all():
    exported = {
        name
        for name, value in vars(holdfast).items()
        if not name.startswith("_") and name != "annotations" and not isinstance(value, ModuleType)
    }
    listed = list(holdfast.__all__)
    assert len(listed) == len(set(listed))
    assert exported <= set(listed)
    assert [name for name in listed if not hasattr(holdfast, name)] == []


def test_the_installed_version_is_the_declared_one():
    from importlib.metadata import version

    match pyproject():
        case {"project": {"version": str(declared)}}:
            assert version("holdfast") == declared
        case _:
            pytest.fail("pyproject.toml declares no version")


SKIPPING = {
    "a test": "import pytest\n\n@pytest.mark.skip(reason='no moon')\ndef test_tide(): ...\n\ndef test_ok(): ...\n",
    "a file": "import pytest\n\npytest.skip('no moon', allow_module_level=True)\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "distributed"])
@pytest.mark.parametrize("ci", [True, False], ids=["ci", "desk"])
@pytest.mark.parametrize("what", list(SKIPPING))
def test_a_skip_is_named_loudly_and_fails_in_ci(tmp_path, what, ci, workers):
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    shutil.copy(ROOT / "tests/slow.txt", tmp_path)
    (tmp_path / "test_sea.py").write_text(SKIPPING[what] + "\n", encoding="utf-8")
    (tmp_path / "test_land.py").write_text("def test_dry(): ...\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST"))}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), *workers, str(tmp_path)],
        cwd=tmp_path,
        env=environment | ({"CI": "true"} if ci else {}),
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == (1 if ci else 0), ran.stdout + ran.stderr
    assert "SKIPPED, SO NOT CHECKED" in ran.stdout
    assert re.search(r"^test_sea\.py.*: no moon$", ran.stdout, re.MULTILINE)


def test_every_test_that_is_listed_as_slow_is_there():
    for line in (ROOT / "tests/slow.txt").read_text().splitlines():
        file, *names = line.removeprefix("# ").split("::")
        if not line.startswith("#"):
            assert names[-1] == "runTest" or f"def {names[-1]}(" in (ROOT / file).read_text(), line
