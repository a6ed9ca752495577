"""The comparison compiled with mypyc gives what the same sources give uncompiled: bytes, findings and errors."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools import compile_core

from tests import compiled_core, strategies

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.slow,  # compiling takes half a minute of CPU, once for each state of the sources
    pytest.mark.skipif(
        compile_core.missing_tool() is not None, reason=f"cannot compile here: no {compile_core.missing_tool()}"
    ),
]

ODD_SCALARS = strategies.scalars | st.sampled_from(
    [
        float("nan"),
        float("inf"),
        -0.0,
        1e21,
        1e-7,
        2**63,
        2**64,
        -(2**63) - 1,
        "\ud800",
        "<&>",
        "\u2028",
        "✓",
        "a b",
        "a!",
    ]
)
ODD_KEYS = st.sampled_from([*strategies.KEYS, "<", "\ud800", 1, None, True])
odd_documents = st.recursive(
    ODD_SCALARS | st.binary(max_size=2),
    lambda below: (
        st.lists(below, max_size=4)
        | st.lists(below, max_size=3).map(tuple)
        | st.dictionaries(ODD_KEYS, below, max_size=4)
    ),
    max_leaves=15,
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    compile_core.copy_package(folder)
    return folder


@pytest.fixture(scope="module")
def compiled(package: Path) -> Iterator[compiled_core.Compiled]:
    with compiled_core.started(package) as process:
        yield process


def test_the_two_builds_are_two(compiled):
    assert compiled_core.answer(("location", ())).endswith("canonical.py")
    assert not compiled.answer(("location", ())).endswith(".py")


@given(value=odd_documents, numbers=st.sampled_from(["int64", "float64"]), lists=st.sampled_from(["sorted", "ordered"]))
def test_canonical_bytes_and_refusals_are_the_same(compiled, value, numbers, lists):
    request = ("write", (value, numbers, lists))
    assert compiled.answer(request) == compiled_core.answer(request)


@given(data=st.data(), profile=st.integers(0, len(compiled_core.PROFILES) - 1))
def test_findings_are_the_same(compiled, data, profile):
    settled = data.draw(strategies.maps(max_leaves=25))
    desired = data.draw(st.just(settled) | strategies.variants(settled) | strategies.maps())
    observed = data.draw(strategies.variants(settled) | strategies.maps(max_leaves=25))
    request = ("findings", (desired, settled, observed, profile))
    assert compiled.answer(request) == compiled_core.answer(request)


@pytest.mark.parametrize("kind", ["lists", "maps"])
@pytest.mark.parametrize("levels", [100, 199, 200, 201, 260, 2_000, 9_000, 11_000, 300_000])
def test_deep_documents_end_alike(compiled, levels, kind):
    request = ("nest", (levels, kind))
    assert compiled.answer(request) == compiled_core.answer(request)


def test_the_tests_of_the_comparison_pass_on_the_compiled_build(package):
    path = os.pathsep.join([str(package), str(ROOT / "packages" / "holdfast-emulators" / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "HYPOTHESIS_PROFILE": "fast"}
    tests = ["canonical", "diff", "go_json", "hash_schemes", "list_matching", "rule_tree", "ut_hash", "normalize"]
    files = [f"tests/unit/compare/test_{name}.py" for name in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *files]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]


@pytest.mark.parametrize("value, is_pure", [("", True), ("0", True), ("1", False)])
def test_a_wheel_is_compiled_only_where_asked(tmp_path, value, is_pure):
    environment = {**os.environ, compile_core.VARIABLE: value}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    (wheel,) = tmp_path.iterdir()
    assert wheel.name.endswith("-py3-none-any.whl") == is_pure
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert any(name.endswith(".so") for name in names) != is_pure
    assert "holdfast/compare/canonical.py" in names


def test_another_value_of_the_variable_is_refused(tmp_path):
    environment = {**os.environ, compile_core.VARIABLE: "yes"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert result.returncode != 0
    assert "HOLDFAST_COMPILE must be 1 or 0, not 'yes'" in result.stderr
