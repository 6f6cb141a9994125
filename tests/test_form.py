"""The form of the code: small files and functions, plain conditions, names that say what they hold."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = Path(__file__).parent.parent / "atlas_cli"
VAGUE = {"found", "one", "there", "said", "told", "kept"}


def inner(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a node."""
    for child in ast.iter_child_nodes(node):
        yield from ast.walk(child)


def vague_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The parameters and locals that say nothing. A class may have such a field, a module such a
    function."""
    fields = {
        id(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for line in node.body
        for target in ast.walk(line)
        if isinstance(line, ast.Assign | ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg in VAGUE:
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            if id(node) not in fields:
                yield node.lineno, node.id
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name in VAGUE:
                yield node.lineno, node.name
        elif isinstance(node, ast.alias) and node.asname in VAGUE:
            yield node.lineno, node.asname


def faults(text: str) -> list[str]:
    """What is wrong with the form of a file, with the line of each fault."""
    tree = ast.parse(text)
    lines = text.splitlines()
    wrong = [f"{line}: the name {name}" for line, name in vague_names(tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp) and any(isinstance(each, ast.IfExp) for each in inner(node)):
            wrong.append(f"{node.lineno}: a conditional expression inside another")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > 50:
                wrong.append(f"{node.lineno}: {node.name} has {length} lines")
    if len(lines) > 400:
        wrong.append(f"{len(lines)} lines")
    wrong += [f"{at}: fmt: skip" for at, line in enumerate(lines, 1) if "# fmt: skip" in line]
    return wrong


FREE = re.compile(r"\(?(?:What|Who|Where|Why|Whatever|Whoever|Wherever)\b")
SENTENCE = re.compile(r"(?<=[.:;]) (?=[A-Z(`])|(?<=\.\)) ")


def free_starts(text: str) -> Iterator[str]:
    """The sentences of a file's docstrings that begin with a free *what*, *who*, *where* or *why*:
    a sentence begins with its subject."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            whole = " ".join((ast.get_docstring(node) or "").split())
            yield from (part[:60] for part in SENTENCE.split(whole) if FREE.match(part))


def undocumented(module: ModuleType) -> list[str]:
    """The public functions, classes and methods of a module that have no docstring. A method that
    takes the place of another one may have that one's."""
    own = [
        (name, value)
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
        and (inspect.isclass(value) or inspect.isfunction(value))
    ]
    for owner, value in list(own):
        if inspect.isclass(value):
            own += [
                (f"{owner}.{name}", getattr(value, name))
                for name, member in vars(value).items()
                if inspect.isfunction(member)
                or isinstance(member, classmethod | property | cached_property)
            ]
    return [
        f"{module.__name__}: {name}"
        for name, value in own
        if not any(part.startswith("_") for part in name.split("."))
        and not (_own(value) if inspect.isclass(value) else inspect.getdoc(value))
    ]


def _own(value: type) -> str:
    """The docstring of a class; not that of its base, nor the one that a NamedTuple is given."""
    doc = vars(value).get("__doc__") or ""
    return "" if doc.startswith(f"{value.__name__}(") else doc


FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


def test_the_code_has_its_form() -> None:
    wrong = [
        f"{name}:{fault}"
        for name, path in FILES.items()
        for fault in faults(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 if b else 2 if c else 3\n",
        "a = (1 if b else 2) if c else 3\n",
        "def f():\n    found = 1\n",
        "def f(one): ...\n",
        "a = [there for there in b]\n",
        "a = lambda told: 1\n",
        "a = 1  # fmt: skip\n",
        "def f():\n" + "    a = 1\n" * 50,
        "a = 1\n" * 401,
    ],
)
def test_each_fault_is_seen(text: str) -> None:
    assert faults(text)


def test_everything_public_says_what_it_does() -> None:
    names = (
        ".".join(("atlas_cli", *Path(name).with_suffix("").parts)).removesuffix(".__init__")
        for name in FILES
        if name != "__main__.py"
    )
    missing = [each for name in names for each in undocumented(import_module(name))]
    assert missing == []


def test_sentences_begin_with_their_subject() -> None:
    wrong = [
        f"{name}: {start}"
        for name, path in FILES.items()
        for start in free_starts(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []
    assert list(free_starts('"""It is so. What is not so, is not."""\n')) == [
        "What is not so, is not."
    ]


def test_what_has_its_form_is_let_pass() -> None:
    text = "class A:\n    kept: str = ''\n\n\ndef one(row):\n    row.found = 1 if row else 2\n"
    assert faults(text) == []
