"""A store without git: a tree of files in a dict, writers at chosen moments, and changes judged by
the rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import settings

from atlas_cli.errors import Damaged
from atlas_cli.model import times
from atlas_cli.model.change import Change, Violation, Writer
from atlas_cli.model.message import FileChange, Message
from atlas_cli.model.text import Record
from atlas_cli.model.tree import blob_id
from atlas_cli.records import judging, kind_of, policy

NOW = times.moment("2026-11-29T14:00:00Z")
ANN, BOB, EVE = "ann-261129-aaaaaa", "bob-261129-bbbbbb", "eve-261129-cccccc"
STORE = "0123456789abcdef"
# The same examples in every run: a test that fails now and then tells nobody anything.
FEW = settings(max_examples=150, deadline=None, database=None, derandomize=True)


class Files:
    """A `Tree` over a dict of bytes by path; never changed, only put upon."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def blob(self, path: str) -> str | None:
        data = self.files.get(path)
        return None if data is None else blob_id(data)

    def names(self, folder: str) -> list[str]:
        lead = f"{folder}/" if folder else ""
        return sorted(
            {path[len(lead) :].split("/")[0] for path in self.files if path.startswith(lead)}
        )

    def live(self, folder: str, after: int) -> Iterable[tuple[str, Record]]:
        for path, data in sorted(self.files.items()):
            kind = kind_of(path)
            if kind is None or not path.startswith(folder + "/"):
                continue
            try:
                record = kind.parse(path, data)
            except Damaged:
                continue
            if (kind.until(record) or 0) > after:
                yield path, record

    def put(self, files: Mapping[str, bytes | None]) -> Files:
        """The tree with these files in it (None: taken away)."""
        found: dict[str, bytes | None] = {**self.files, **files}
        return Files({path: data for path, data in found.items() if data is not None})


def store(**changed: object) -> Files:
    """A new store: its policy and nothing else; `changed` are values of the policy."""
    tree = Files({policy.FOLDER: policy.first(STORE, False)})
    for key, value in changed.items():
        tree = tree.put(policy.put(tree, writer(), key, value).files)
    return tree


def writer(
    session: str = ANN, at: int = NOW, machine: str = "m1", operation: str = "0" * 32
) -> Writer:
    return Writer(session, session.split("-")[0], machine, at, operation)


def changes(tree: Files, child: Files) -> list[FileChange]:
    """What differs between two trees, by path."""
    paths = sorted({*tree.files, *child.files})
    return [
        (path, tree.blob(path), child.blob(path))
        for path in paths
        if tree.blob(path) != child.blob(path)
    ]


def judged(tree: Files, files: Mapping[str, bytes | None], who: Writer | None) -> list[Violation]:
    """What the rules have against putting these files; `who` None: a commit made by hand."""
    child = tree.put(files)
    found = changes(tree, child)
    if who is None:
        return judging.judge(tree, child, found, Message("by hand"))
    message = Message("a change", who.operation, who.session, who.at)
    message = message._replace(wish=judging.wish(STORE, message, files))
    return judging.judge(
        tree, child, found, message._replace(change=judging.digest(STORE, message, found))
    )


def done(tree: Files, change: Change, who: Writer) -> Files:
    """The tree after a change that breaks no rule."""
    assert judged(tree, change.files, who) == []
    return tree.put(change.files)


def broken(tree: Files, files: Mapping[str, bytes | None], who: Writer | None = None) -> set[str]:
    """The rules that putting these files breaks."""
    return {violation.rule for violation in judged(tree, files, who)}
