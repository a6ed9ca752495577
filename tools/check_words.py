"""Check names, messages, docstrings and documentation for the words of the house style.

usage: python tools/check_words.py [--report] [ROOT]

Prints `file:line: rule: problem` and fails for every violation in an enforced folder (see ENFORCED). With `--report` it
prints the number of violations by rule and folder instead, and succeeds. The rules:

module-name     a module is not named by a metaphor, a gerund that the field does not use, or a catch-all (words.toml)
banned-word     a banned word occurs nowhere, not even in an identifier (words.toml)
voice-word      a word that the voice rules out does not occur in a string, a comment or a page (words.toml)
class-name      a public class name of the core has one meaning
docstring       the first line of a docstring is imperative and ends with a full stop
loop-variable   a loop variable names its element
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

EVERYWHERE = ("*",)

# Where a rule is enforced: folders or files. Extend this table until every row says EVERYWHERE, and never shorten it.
ENFORCED: dict[str, tuple[str, ...]] = {
    "module-name": (
        "examples/azure",
        "examples/provider",
        "examples/remediation",
        "examples/runpod",
        "src/holdfast/app",
        "src/holdfast/cli",
        "src/holdfast/compare",
        "src/holdfast/compat",
        "src/holdfast/errors.py",
        "src/holdfast/flash.py",
        "src/holdfast/manifests",
        "src/holdfast/metrics",
        "src/holdfast/model",
        "src/holdfast/notify",
        "src/holdfast/policy",
        "src/holdfast/providers",
        "src/holdfast/reconcile",
        "src/holdfast/remediation",
        "src/holdfast/store",
        "src/holdfast/testing",
        "src/holdfast/text_edit",
        "src/holdfast/watch",
        "tests/benchmarks",
        "tests/conformance",
        "tests/integration",
        "tests/secrecy",
        "tests/servers",
        "tests/unit/cli",
        "tests/unit/manifests",
        "tests/unit/model",
        "tests/unit/providers/file",
        "tests/unit/providers/http",
        "tests/unit/remediation",
        "tests/unit/testing",
        "tests/unit/text_edit",
        "tests/unit/tools",
        "tools",
    ),
    "banned-word": (
        "docs",
        "examples",
        "packages",
        "src",
        "tests/acceptance",
        "tests/benchmarks",
        "tests/conformance",
        "tests/integration",
        "tests/secrecy",
        "tests/servers",
        "tests/unit/api",
        "tests/unit/cli",
        "tests/unit/compare",
        "tests/unit/manifests",
        "tests/unit/model",
        "tests/unit/policy",
        "tests/unit/providers",
        "tests/unit/remediation",
        "tests/unit/store",
        "tests/unit/testing",
        "tests/unit/text_edit",
        "tests/unit/tools",
        "tools",
    ),
    "voice-word": (
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Makefile",
        "README.md",
        "docs",
        "examples",
        "packages",
        "pyproject.toml",
        "src",
        "tests/unit/model",
        "tests/unit/remediation",
        "tests/unit/text_edit",
        "tests/unit/tools",
        "tools",
    ),
    "class-name": ("src",),
    "docstring": EVERYWHERE,
    "loop-variable": EVERYWHERE,
}

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
BANNED = re.compile("|".join(WORDS["banned"]), re.IGNORECASE)
_GAP = r"""(?:\s|["'#])+"""  # a phrase may continue on the next line, of a comment or of a string in pieces
VOICE = re.compile(rf"\b(?:{'|'.join(word.replace(' ', _GAP) for word in WORDS['voice'])})\b", re.IGNORECASE)
MODULES = frozenset(WORDS["modules"])
ALLOWED = [(use["path"], use.get("word")) for use in WORDS["allowed"]]
FIRST_LINE = re.compile(r"(?:What|Whether|Who|Tell|Say|(?:Return|Yield) (?:what|whether|why|who))\b")
CATCH_ALL_LOOPS = frozenset({"each", "one", "found", "out"})
_MAY_HAVE_CATCH_ALL = re.compile(r"\bfor [\w, (*]*\b(?:each|one|found|out)\b")

# The two stores and the providers implement the same parts under the same names.
_CORE_EXCLUDED = re.compile(r"src/holdfast/(?:providers/[^/]+/|store/[^/]+/|testing/)")
_TEXT_SUFFIXES = frozenset({".md", ".sql", ".yaml", ".yml", ".toml", ".txt"})
_DOCUMENTED = ("src/", "packages/", "tools/", "examples/")  # a test is described by its name
_ROOTS = ("src", "packages", "docs", "examples", "tests", "tools")
_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
_NOT_OURS = re.compile(r"/(?:data|vectors|\.[^/]*|__pycache__|[^/]*\.egg-info)/")


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One broken rule at one line."""

    path: str
    line: int
    rule: str
    word: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.problem}"

    @property
    def folder(self) -> str:
        """Return the folder by which violations are counted."""
        parts = self.path.split("/")
        depth = 4 if parts[2:3] == ["providers"] else 3 if parts[0] == "src" or parts[1:2] == ["unit"] else 2
        return "/".join(parts[: min(depth, len(parts) - 1)]) or "."

    @property
    def is_allowed(self) -> bool:
        """Return True if the list of legitimate uses has it."""
        return any(f"{self.path}/".startswith(f"{path}/") and word in (None, self.word) for path, word in ALLOWED)

    @property
    def is_enforced(self) -> bool:
        """Return True if the rule holds in this folder already."""
        enforced = ENFORCED[self.rule]
        return enforced == EVERYWHERE or any(f"{self.path}/".startswith(f"{path}/") for path in enforced)


def check_tree(root: Path) -> list[Violation]:
    """Return every violation under a repository's root, in the order of files and lines."""
    violations: list[Violation] = []
    classes: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, text in _files(root):
        violations += check_words(path, text)
        if path.endswith(".py"):
            violations += check_module_name(path)
            tree = ast.parse(text, path)
            violations += check_code(path, text, tree)
            if path.startswith("src/holdfast/") and not _CORE_EXCLUDED.match(path):
                for node in tree.body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        classes[node.name].append((path, node.lineno))
    violations += check_class_names(classes)
    return sorted(violation for violation in violations if not violation.is_allowed)


def _files(root: Path) -> Iterator[tuple[str, str]]:
    for name in _PAGES:
        if (root / name).is_file():
            yield name, (root / name).read_text(encoding="utf-8")
    for folder in _ROOTS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if (file.suffix == ".py" or file.suffix in _TEXT_SUFFIXES) and not _NOT_OURS.search(path):
                yield path, file.read_text(encoding="utf-8")


def check_module_name(path: str) -> Iterator[Violation]:
    """Yield a violation if a module or its folder is named by a metaphor or a catch-all."""
    stem = Path(path).stem.removeprefix("test_")
    name = Path(path).parent.name if stem == "__init__" else stem
    if name in MODULES or BANNED.search(name):
        yield Violation(path, 1, "module-name", name, f"`{name}` is not a plain noun of the field")


def check_words(path: str, text: str) -> Iterator[Violation]:
    """Yield the banned words of a file, and the words that its prose must not use."""
    for match in BANNED.finditer(text):
        yield _at(path, text, match, "banned-word")
    matches = list(VOICE.finditer(text))
    if matches and path.endswith(".py"):
        matches = list(_in_prose(text, matches))
    for match in matches:
        yield _at(path, text, match, "voice-word")


def _at(path: str, text: str, match: re.Match[str], rule: str) -> Violation:
    word = " ".join(re.findall(r"\w+", match[0])).lower()
    return Violation(path, text.count("\n", 0, match.start()) + 1, rule, word, f"`{word}`")


def _in_prose(text: str, matches: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield the matches that are in a string or a comment, because names and keywords are not prose."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    names = {token.start for token in tokens if token.type == tokenize.NAME}
    for match in matches:
        line_start = text.rfind("\n", 0, match.start()) + 1
        if (text.count("\n", 0, match.start()) + 1, match.start() - line_start) not in names:
            yield match


def check_code(path: str, text: str, tree: ast.Module) -> Iterator[Violation]:
    """Yield the docstrings and loop variables of a module that break the rules."""
    if path.startswith(_DOCUMENTED):
        yield from _docstrings(path, tree)
    if _MAY_HAVE_CATCH_ALL.search(text):
        for node in ast.walk(tree):
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                yield from _loop_variables(path, node.target)


def _loop_variables(path: str, target: ast.expr) -> Iterator[Violation]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and node.id in CATCH_ALL_LOOPS:
            yield Violation(path, node.lineno, "loop-variable", node.id, f"`{node.id}` does not name its element")


def _docstrings(
    path: str, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Violation]:
    if docstring := ast.get_docstring(node, clean=True):
        first, line = docstring.splitlines()[0], node.body[0].lineno
        if opening := FIRST_LINE.match(first):
            yield Violation(path, line, "docstring", opening[0].lower(), f"the first line opens with `{opening[0]}`")
        if not first.endswith("."):
            yield Violation(path, line, "docstring", ".", "the first line does not end with a full stop")
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _docstrings(path, inner)


def check_class_names(classes: dict[str, list[tuple[str, int]]]) -> Iterator[Violation]:
    """Yield every definition of a class name that the core defines more than once."""
    for name, places in classes.items():
        for path, line in places if len(places) > 1 else ():
            others = ", ".join(f"{other}:{at}" for other, at in places if (other, at) != (path, line))
            yield Violation(path, line, "class-name", name, f"`{name}` is also the name of another class: {others}")


def report(violations: Iterable[Violation]) -> str:
    """Return a table with the number of violations of each rule in each folder."""
    counts = Counter((violation.rule, violation.folder) for violation in violations)
    totals = Counter(violation.rule for violation in violations)
    lines = [f"{'rule':14} {'folder':32} violations"]
    for rule in ENFORCED:
        lines.append(f"{rule:14} {'all':32} {totals[rule]}")
        for (of, folder), count in sorted(counts.items()):
            if of == rule:
                lines.append(f"{rule:14} {folder:32} {count}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the violations or the report, and return the exit code."""
    roots = [argument for argument in arguments if argument != "--report"]
    violations = check_tree(Path(roots[0]) if roots else Path(__file__).parents[1])
    if "--report" in arguments:
        print(report(violations))
        return 0
    broken = [violation for violation in violations if violation.is_enforced]
    for violation in broken:
        print(violation)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
