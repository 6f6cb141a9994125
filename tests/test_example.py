"""The example store parses, obeys the rules, and has the fields that the tool writes today."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_cli import records
from atlas_cli.model import text
from atlas_cli.model.message import Message
from atlas_cli.model.tree import Overlay
from atlas_cli.records import KINDS, is_record, judging, kind_of

from .example import EXAMPLE, made
from .records.files import Files

STORE = EXAMPLE / "store"


def example() -> dict[str, bytes]:
    return {
        str(path.relative_to(STORE)): path.read_bytes()
        for path in STORE.rglob("*")
        if path.is_file()
    }


def test_every_kind_is_there() -> None:
    assert {kind_of(path).name for path in example() if kind_of(path)} == {
        kind.name for kind in KINDS
    }  # type: ignore[union-attr]


@pytest.mark.parametrize("path", [path for path in example() if is_record(path)])
def test_a_record_reads_back_as_it_was_written(path: str) -> None:
    data = example()[path]
    assert records.describe(path, data)["ref"]
    if path.startswith("inbox/"):
        assert records.describe(path, data)["body"].encode() == data
    elif path.endswith(".md"):
        fields, body = text.front(data, path)
        assert text.with_front(fields, body) == data
    elif path != "atlas.yaml":
        assert text.dump(text.load(data, path)) == data


def test_its_documents_obey_the_rules() -> None:
    """Judged as one commit made by hand, over an empty store (a row is judged by its history, which
    is not here)."""
    documents = {
        path: data
        for path, data in example().items()
        if path.split("/")[0] not in ("leases", "sessions", "tasks", "results", "gates", "signals")
    }
    parent = Files({})
    child = Overlay(parent, documents)
    changes = [(path, None, child.blob(path)) for path in documents]
    assert judging.judge(parent, child, changes, Message("by hand")) == []


def test_the_tool_still_writes_these_fields(tmp_path: Path) -> None:
    """A field that the format gains or loses must be in the example too."""

    def shape(files: dict[str, bytes]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path, data in files.items():
            kind = kind_of(path)
            if kind is not None and is_record(path):
                found.setdefault(kind.name, set()).update(kind.parse(path, data))
        return found

    assert shape(made(tmp_path / "tour")) == shape(example())
