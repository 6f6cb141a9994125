"""The house: who may import whom, and each library's single owner."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from atlas_cli.records import KINDS

PACKAGE = Path(__file__).parent.parent / "atlas_cli"
# Each part may import those that stand before it, and itself. (A tuple: parts that do not know each
# other.)
ORDER: tuple[str | tuple[str, ...], ...] = (
    ("__version__", "errors", "interrupts", "outcome", "visible", "callers"),
    "signs",
    "console",
    "model",
    "records",
    "store",
    "verify",
    ("checks", "sharing"),
    "answers",
    "worktree",
    "env",
    "digest",
    ("cli", "imports"),
    ("hooks", "setup"),
    "health",
    "commands",
    "call",
    "main",
    "faces",
    ("start", "hook"),
    "__main__",
)
# What stands late and is lean: it loads little by itself, and the whole program where that is not
# enough.
NARROW = {
    "console": {"outcome", "errors", "visible"},
    "imports": {"model", "records", "errors", "visible"},
}
OWNERS = {
    "typer": {"commands", "cli"},
    "rich": {"console.py"},
    "ruamel": {"model/text.py"},
    "filelock": {"store/lock.py"},
    "sqlite3": {"store/database.py"},
    "subprocess": {
        "store/git.py",
        "store/child.py",
        "store/conversation.py",
        "callers.py",
        "store/housekeeping.py",
        "commands",
    },
}
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}
KINDS_OF_RECORD = {
    "status",
    "artifact",
    "decision",
    "correction",
    "signal",
    "inbox",
    "lease",
    "session",
    "board",
}


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[str, bool]]:
    """(dotted name of one of our modules, or a library, whether it is one of ours) of each import
    anywhere in a file."""
    inside = path.relative_to(PACKAGE).parts[:-1]
    found: list[tuple[str, bool]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top, _, rest = alias.name.partition(".")
                found.append((rest, True) if top == "atlas_cli" else (top, False))
        elif isinstance(node, ast.ImportFrom):
            words = node.module.split(".") if node.module else []
            if not node.level and words[:1] != ["atlas_cli"]:
                found.append((words[0], False))
                continue
            base = [*inside[: len(inside) - node.level + 1], *words] if node.level else words[1:]
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                found.append((whole if whole in MODULES or not base else ".".join(base), True))
    return found


def rank(name: str) -> int:
    return next(
        at
        for at, step in enumerate(ORDER)
        if name == step or (isinstance(step, tuple) and name in step)
    )


def test_imports_follow_the_arrows() -> None:
    wrong = []
    for path in FILES:
        own = part(path)
        for name, ours in imports(path):
            top = name.partition(".")[0]
            if not ours or top == own or own == "__init__":
                continue
            if top == "__version__":
                continue
            if rank(top) >= rank(own) or top not in NARROW.get(own, {top}):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert wrong == []


def test_no_module_is_named_by_a_text() -> None:
    """An import by a computed name goes round all arrows: only these few make one."""
    known = {"model/digests.py", "records/__init__.py", "cli/root.py"}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in FILES
        if path.relative_to(PACKAGE).as_posix() not in known
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr)
        in ("import_module", "__import__")
    ]
    assert wrong == []


def test_the_hooks_entry_point_loads_nothing_of_ours_before_it_must() -> None:
    body = ast.parse((PACKAGE / "hook.py").read_text(encoding="utf-8")).body
    names = [
        name
        for node in body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [f"{'.' * node.level}{node.module}"]
        )
    ]
    assert [name for name in names if name.startswith((".", "atlas_cli"))] == []


def test_one_command_is_run_without_a_word_printed() -> None:
    """`call` is what every face goes through. Of the printer it knows only the manner of speaking."""
    tree = ast.parse((PACKAGE / "call.py").read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    loaded = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "console"
        for alias in node.names
    }
    assert not names & {"print", "input", "sys"} and loaded == {"Talk"}


@pytest.mark.parametrize(
    "folder", sorted({part(path) for path in FILES if len(path.relative_to(PACKAGE).parts) > 1})
)
def test_no_file_of_a_folder_needs_itself(folder: str) -> None:
    """No circle of files, not even one that is closed inside a function."""
    needs = {
        name: {
            needed
            for needed, ours in imports(path)
            if ours and needed in MODULES and needed != name
        }
        for name, path in MODULES.items()
        if part(path) == folder
    }
    needs = {name: needed & needs.keys() for name, needed in needs.items()}
    while free := [name for name, needed in needs.items() if not needed]:
        for name in free:
            del needs[name]
        needs = {name: needed - set(free) for name, needed in needs.items()}
    assert needs == {}


def test_env_holds_what_a_command_runs_with_and_does_nothing() -> None:
    """What is done with it stands in the modules beside it, or with the owner."""
    assert len((PACKAGE / "env/env.py").read_text(encoding="utf-8").splitlines()) <= 200


@pytest.mark.parametrize("folder", ["store", "verify", "sharing"])
def test_what_holds_records_knows_no_kind(folder: str) -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in FILES
        if part(path) == folder
        for name, ours in imports(path)
        if ours and name.startswith("records.") and name.split(".")[1] in KINDS_OF_RECORD
    ]
    wrong += [
        f"{path.relative_to(PACKAGE)}:{line} takes {name} from the registry"
        for path in FILES
        if part(path) == folder
        for line, name in taken(path)
        if name in KINDS_OF_RECORD
    ]
    assert wrong == []


def taken(path: Path) -> list[tuple[int, str]]:
    """(line, name) of what a file takes from the package of the records by a dot."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == "records"
    }
    return [
        (node.lineno, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    ]


def texts(path: Path) -> list[tuple[int, str]]:
    """(line, text) of each text in a file that is no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lines
    ]


@pytest.mark.parametrize("folder", ["store", "verify", "sharing"])
def test_what_holds_records_names_no_kind_in_a_text(folder: str) -> None:
    """(`session` is a column as well: who wrote a commit.)"""
    kinds = {word for kind in KINDS for word in (kind.name, kind.folder)} - {"session"}
    inside = re.compile(rf"(?:\b(?:{'|'.join(kinds)})/)|='(?:{'|'.join(kinds)})'")
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in FILES
        if part(path) == folder
        for line, text in texts(path)
        if text in kinds or inside.search(text)
    ]
    assert wrong == []


def test_each_library_has_one_owner() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in FILES
        for name, ours in imports(path)
        if not ours
        and name in OWNERS
        and not {str(path.relative_to(PACKAGE)), part(path), path.name} & OWNERS[name]
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", ["model", "records"])
def test_records_are_pure(folder: str) -> None:
    """No clock, no git, no printing, no files: what a rule says depends on its arguments only."""
    forbidden = {
        "time",
        "subprocess",
        "os",
        "sqlite3",
        "random",
        "pathlib",
        "sys",
        "tempfile",
        "socket",
    }
    wrong = [
        f"{path.name} imports {name}"
        for path in FILES
        if part(path) == folder
        for name, ours in imports(path)
        if not ours and name in forbidden
    ]
    assert wrong == []


def test_the_top_level_is_as_agreed() -> None:
    agreed = {"pyproject.toml", "atlas_cli", "tests", "templates", "LICENSE"}
    agreed |= {"README.md", "CONTRIBUTING.md"}
    listed = {path.name for path in PACKAGE.parent.iterdir() if not path.name.startswith(".")}
    assert (
        listed
        - agreed
        - {"build", "dist"}
        - {name for name in listed if name.endswith(".egg-info")}
        == set()
    )
