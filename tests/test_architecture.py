"""The house: who may import whom, and each library's single owner."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "atlas_cli"
# part: the parts that it may import.
ARROWS = {
    "errors": set(),
    "interrupts": set(),
    "outcome": set(),
    "visible": set(),
    "records": {"errors", "visible"},
    "store": {"records", "errors", "interrupts", "visible"},
    "env": {"store", "records", "errors", "visible"},
    "elsewhere": {"env", "store", "records", "errors", "visible"},  # an Env on another store
    "commands": {"records", "env", "elsewhere", "outcome", "errors", "interrupts", "visible"},
    "console": {"outcome", "errors", "visible"},
    "main": {"console", "env", "outcome", "errors", "commands", "interrupts", "__version__"},
    "start": {"interrupts", "main"},
    "hook": {"agent", "store", "commands", "main"},  # git's entry: the first that can answer is loaded, and no other
    # a boundary too, like main: it never fails
    "agent": {"main", "env", "elsewhere", "store", "records", "errors", "interrupts", "visible"},
    "__main__": {"start"},
}
OWNERS = {
    "typer": {"main.py", "commands"},
    "rich": {"console.py"},
    "ruamel": {"records/text.py"},
    "filelock": {"store/lock.py"},
    "sqlite3": {"store/index.py", "store/local.py", "store/store.py"},
    "subprocess": {"store/git.py", "store/conversation.py", "store/callers.py", "store/transaction.py", "commands"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path, source: str = "") -> list[tuple[str, bool]]:
    """(part or library, whether it is one of ours) of each import anywhere in a file, however it is written."""
    inside = path.relative_to(PACKAGE.parent).parts[:-1]
    found: list[tuple[str, bool]] = []
    for node in ast.walk(ast.parse(source or path.read_text(encoding="utf-8"))):
        for name in _imported(node, inside):
            top, _, rest = name.partition(".")
            found.append((rest.partition(".")[0], True) if top == PACKAGE.name and rest else (top, False))
    return found


def _imported(node: ast.AST, inside: tuple[str, ...]) -> list[str]:
    """The whole names of what a statement or a call imports, in a module of the package `inside`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = [*_above(inside, node.level), *filter(None, [node.module])]
        return [".".join([*base, alias.name] if base == [PACKAGE.name] else base) for alias in node.names]
    if not isinstance(node, ast.Call) or not node.args:
        return []
    called, name = ast.unparse(node.func).rpartition(".")[2], _beginning(node.args[0])
    if called not in ("import_module", "__import__") or not name:
        return []
    level = len(name) - len(name.lstrip("."))
    return [".".join(filter(None, [*_above(inside, level), name.lstrip(".")]))]


def _above(inside: tuple[str, ...], level: int) -> tuple[str, ...]:
    """The package that so many leading dots lead to; none where there are none."""
    return inside[: len(inside) - level + 1] if level else ()


def _beginning(name: ast.expr) -> str:
    """A text, or what stands before the first value in one that is put together."""
    first = name.values[0] if isinstance(name, ast.JoinedStr) and name.values else name
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


@pytest.mark.parametrize(
    "source",
    [
        "import atlas_cli.store.git", "import atlas_cli.store as x", "from atlas_cli import store",
        "from atlas_cli.store import git", "from atlas_cli.store.git import Git", "from .. import store",
        "from ..store import git", "from ..store.git import Git", "import_module('atlas_cli.store.git')",
        "importlib.import_module('..store', __package__)", "__import__('atlas_cli.store.git')",
        "import_module(f'atlas_cli.store.{x}')", "def f():\n    from ..store import git",
    ],
)  # fmt: skip
def test_an_import_is_seen_however_it_is_written(source: str) -> None:
    assert ("store", True) in imports(PACKAGE / "records/x.py", source)


def test_imports_follow_the_arrows() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in FILES
        for name, ours in imports(path)
        if ours and name != part(path) and part(path) in ARROWS and name not in ARROWS[part(path)]
    ]
    assert wrong == []


def test_each_library_has_one_owner() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in FILES
        for name, ours in imports(path)
        if not ours and name in OWNERS
        and not {str(path.relative_to(PACKAGE)), part(path), path.name} & OWNERS[name]
    ]  # fmt: skip
    assert wrong == []


def test_records_are_pure() -> None:
    """No clock, no git, no printing, no files: what a rule says depends on its arguments only."""
    forbidden = {"time", "subprocess", "os", "sqlite3", "random", "pathlib", "sys", "tempfile", "socket"}
    wrong = [f"{path.name} imports {name}" for path in FILES if part(path) == "records"
             for name, ours in imports(path) if not ours and name in forbidden]  # fmt: skip
    assert wrong == []


def test_the_top_level_is_as_agreed() -> None:
    agreed = {"pyproject.toml", "atlas_cli", "tests", "templates", "README.md", "LICENSE"}
    listed = {path.name for path in PACKAGE.parent.iterdir() if not path.name.startswith(".")}
    assert listed - agreed - {"build", "dist"} - {name for name in listed if name.endswith(".egg-info")} == set()
