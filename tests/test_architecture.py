"""The house: who may import whom, and each library's single owner."""

from __future__ import annotations

import ast
from pathlib import Path

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
    "commands": {"records", "store", "env", "elsewhere", "outcome", "errors", "interrupts", "visible"},
    "console": {"outcome", "errors", "visible"},
    "main": {"console", "env", "outcome", "errors", "commands", "interrupts", "__version__"},
    "start": {"interrupts", "main"},
    "hook": {"errors", "agent"},
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


def imports(path: Path) -> list[tuple[str, bool]]:
    """(part or library, whether it is one of ours) of each import anywhere in a file."""
    inside = path.relative_to(PACKAGE).parts[:-1]
    found: list[tuple[str, bool]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name.split(".")[0], False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(((node.module or "").split(".")[0], False))
        elif isinstance(node, ast.ImportFrom):
            base = [*inside[: len(inside) - node.level + 1], *((node.module or "").split(".") if node.module else [])]
            found += [(base[0] if base else alias.name, True) for alias in node.names]
    return found


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
