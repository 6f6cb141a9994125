"""Where records lay in the first format, and where they lie now: one for one, and listed alike."""

from __future__ import annotations

import pytest

from atlas_cli import records
from atlas_cli.errors import Damaged
from atlas_cli.model import text
from atlas_cli.model.message import Message
from atlas_cli.records import KINDS, artifact, formats, policy

from .files import STORE, Files

FIRST = {  # by the path of the first format
    "decisions/2026/11-29-use-x-abcdef.md": "decisions/2026/11/29-use-x-abcdef.md",
    "corrections/2025/01-02-status-main-1-000000.md": "corrections/2025/01/02-status-main-1-000000.md",
    "signals/2026/12-31-alert-x-012345.md": "signals/2026/12/31-alert-x-012345.md",
    "artifacts/plan/0001/about.yaml": "artifacts/64/plan/0001/about.yaml",
    "artifacts/plan/12345/body.tar": "artifacts/64/plan/12345/body.tar",
    "artifacts/ab/0001/about.yaml": "artifacts/fb/ab/0001/about.yaml",  # a name like a folder's
    "artifacts/0001/0001/body.md": "artifacts/88/0001/0001/body.md",
}
SAME = (
    *("status/main/000/000001.md", "tasks/cb/6r8dhd74u5.md", "atlas.yaml", "README.md", "x"),
    *("artifacts/x", "artifacts/A/0001/about.yaml", "artifacts/plan/1/about.yaml", "artifacts"),
    *(
        "decisions/x.md",
        "decisions/2026/x.md",
        "decisions/26/11-29-x-000000.md",
        "artifacts/\udcff",
    ),
    *("artifacts/\udcff/0001/about.yaml", "artifacts/64/plan/0001/sub/body.md"),
)


@pytest.mark.parametrize("first", FIRST)
def test_each_path_of_the_first_format_has_one_of_now(first: str) -> None:
    assert records.place_now(first) == FIRST[first]
    assert records.first_place(FIRST[first]) == first
    assert records.place_now(FIRST[first]) is None and records.first_place(first) is None


@pytest.mark.parametrize("path", SAME)
def test_all_else_lies_where_it_lay(path: str) -> None:
    assert records.place_now(path) is None and records.first_place(path) is None


@pytest.mark.parametrize("moved", [(), tuple(FIRST), tuple(FIRST)[::2]])
def test_a_folder_lists_the_same_wherever_its_records_lie(moved: tuple[str, ...]) -> None:
    tree = Files({FIRST[path] if path in moved else path: b"" for path in FIRST})
    listed: set[str] = set()
    folders = [kind.folder for kind in KINDS if kind.layout]
    while folders:
        folder = folders.pop()
        for name in records.names_in(tree.names, folder):
            path = f"{folder}/{name}"
            listed |= {path} & set(FIRST.values())
            folders += [path] if path not in listed else []
    assert listed == set(FIRST.values())
    assert set(artifact.known(Files(dict.fromkeys(FIRST.values(), b"")))) == {"plan", "ab", "0001"}


def test_what_a_store_needs_is_added_once_and_named_where_it_is_not_known() -> None:
    data = policy.first(STORE, False)
    assert formats.needing(data, ["lease", "task"]) == data, "the format itself has these"
    more = formats.needing(data, ["epoch", "lease"])
    assert policy.parse(policy.FOLDER, more)["needs"] == ["epoch"]
    assert formats.needing(more, ["epoch"]) == more
    with pytest.raises(Damaged, match="needs telepathy, which this version") as stop:
        policy.parse(policy.FOLDER, formats.needing(more, ["telepathy"]))
    assert stop.value.code == "newer_format"


def test_only_its_own_kind_of_commit_changes_a_key_of_the_stores_own() -> None:
    first = {"format": 1, "store": STORE, "version": 1}
    now = {**first, "format": 2, "needs": []}
    later = {**now, "needs": ["epoch"], "epoch": "c" * 40, "epoch_before": "2026-01-01"}
    plain = Message("s", operation="o", session="s")
    cases = [
        (plain._replace(migrates="2"), first, now, []),
        (plain, first, now, ["format"]),
        (Message("by hand", migrates="2"), first, now, ["format", "needs"]),
        (plain._replace(migrates="2"), now, first, ["format"]),
        (plain._replace(epoch="c" * 40), now, later, []),
        (plain._replace(epoch="d" * 40), now, later, ["epoch"]),
        (plain, now, later, ["epoch", "epoch_before"]),
        (plain, later, {**later, "needs": []}, ["needs"]),
        (plain, now, {**now, "store": "x"}, ["store"]),
    ]
    for message, old, new, wrong in cases:
        changed = list(formats.changed(message, old, new))
        assert changed == [key for key in formats.FIXED if key in wrong], (message, new)
    assert text.load(formats.migrated(policy.first(STORE, False)), "")["format"] == 2
