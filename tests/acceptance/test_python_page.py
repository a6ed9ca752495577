"""The examples of docs/python.md run as they are printed, from top to bottom."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/python.md"


def test_the_examples_of_the_page_run_from_top_to_bottom(tmp_path):
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    program = tmp_path / "page.py"
    program.write_text("\n".join(examples))
    done = subprocess.run([sys.executable, program], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "local/Document/app ('content', 'level') info debug" in done.stdout
    assert "level: info" in (tmp_path / "infra/live.yaml").read_text()


def test_importing_the_package_loads_no_engine_and_no_click():
    program = (
        "import holdfast, sys; print(sorted(name for name in sys.modules if 'holdfast' in name or name == 'click'))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "['holdfast']"


def test_compare_can_be_called_after_its_package_was_imported():
    program = "import holdfast.compare.diff, holdfast; print(holdfast.compare({'a': 1}, {'a': 1}).verdict.status.value)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "in_sync"
