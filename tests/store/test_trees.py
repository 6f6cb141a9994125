"""git's objects: what is read of any bytes. A large tree which changes by an entry is compared as
a whole one. A commit's header that git would not write is a fault."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_cli.store.history import _parsed
from atlas_cli.store.trees import (
    FOLDER,
    NOTHING,
    PLAIN,
    Folder,
    compared,
    pack_tree,
    parse_tree,
    read,
    rows,
)

NAMES = st.sampled_from(
    ["a", "a.", "a-", "a0", "b", "ab", "main", "x" * 40, "é", "0001", ".", "..", ".git", ".GIT"]
)
ENTRIES = st.lists(
    st.tuples(
        st.sampled_from([PLAIN, FOLDER, "100755", "040000", "160000", "100664"]),
        NAMES,
        st.binary(min_size=20, max_size=20),
    ),
    max_size=8,
)


def raw(entries: list[tuple[str, str, bytes]]) -> bytes:
    return b"".join(
        b"%s %s\0%s" % (mode.encode(), name.encode(), oid) for mode, name, oid in entries
    )


@given(ENTRIES, ENTRIES, st.booleans())
@settings(max_examples=200, deadline=None)
def test_two_trees_compared_are_their_entries_compared(
    one: list[tuple[str, str, bytes]], other: list[tuple[str, str, bytes]], ordered: bool
) -> None:
    if ordered:  # as git writes them
        pairs = [
            {name: (mode, oid.hex()) for mode, name, oid in some if "." not in name[:1]}
            for some in (one, other)
        ]
        old, new = (pack_tree(some) for some in pairs)
        assert [parse_tree(data, 40) for data in (old, new)] == pairs
        assert not read(old, 40).faults and not read(new, 40).faults
    else:
        old, new = raw(one), raw(other)
    before = read(old, 40) if old else NOTHING
    after, gone, come = compared(before, new, 40)
    assert (after.faults, rows(after, 40)) == (read(new, 40).faults, read(new, 40).rows)
    assert (gone, come) == (
        set(before.rows) - set(after.rows or rows(after, 40)),
        set(rows(after, 40)) - set(before.rows),
    )


def test_a_folder_that_grows_and_changes_by_an_entry_is_read_as_from_the_beginning() -> None:
    rng = random.Random(7)
    entries: dict[str, tuple[str, str]] = {}
    folder: Folder = NOTHING
    for _ in range(400):
        name = f"{rng.choice('abc')}{rng.choice(['', '.', '-', '0'])}{rng.randrange(60)}"
        if rng.random() < 0.2:
            entries.pop(name, None)
        else:
            entries[name] = (rng.choice([PLAIN, FOLDER]), rng.randbytes(20).hex())
        data = pack_tree(entries)
        was = set(rows(folder, 40)) if folder.data else set()
        folder, gone, come = compared(folder, data, 40)
        whole = read(data, 40)
        assert (folder.starts, folder.faults) == (whole.starts, ()) and not whole.faults
        assert (gone, come) == (was - set(whole.rows), set(whole.rows) - was)


def test_what_git_would_not_have_written_is_said_and_of_a_name_that_stands_twice_the_first_counts() -> (
    None
):
    a, b = b"a" * 20, b"b" * 20
    cases = {
        "it names '..'": raw([(FOLDER, "..", a), (PLAIN, "x", b)]),
        "it names '.GIT'": raw([(FOLDER, ".GIT", a)]),
        "it names 'x' twice": raw([(PLAIN, "x", a), (PLAIN, "x", b)]),
        "its entries are not in git's order": raw([(PLAIN, "y", a), (PLAIN, "x", b)]),
        "what stands in it is not all entries": raw([(PLAIN, "x", a)]) + b"100644 y\0short",
        "it names 'x' twice, once as a folder": raw(
            [(PLAIN, "x", a), (PLAIN, "x-", b), (FOLDER, "x", b)]
        ),
    }
    for fault, data in cases.items():
        assert any(fault.startswith(one) for one in read(data, 40).faults), fault
        assert (
            compared(read(raw([(PLAIN, "x", a)]), 40), data, 40)[0].faults == read(data, 40).faults
        )
    assert parse_tree(cases["it names 'x' twice"], 40) == {"x": (PLAIN, a.hex())}
    assert parse_tree(cases["it names '..'"], 40) == {"x": (PLAIN, b.hex())}
    assert parse_tree(raw([(PLAIN, "a/b", a)]), 40) == {}


WHO = "T <t@x> 1764547200 +0000"
# (author, committer, what comes behind): whether the header is a fault
HEADERS = {
    (WHO, WHO, ""): False,
    (" <> 0 -0000", "T <t@x> 1 +2359", "encoding utf-16\n"): False,
    (WHO, WHO, "gpgsig -----BEGIN\n x\n"): False,
    ("T <t@x> 18446744073709551616 +0000", WHO, ""): True,
    ("T <t@x> 9223372036854775808 +0000", WHO, ""): True,
    (WHO, "T <t@x> 99999999999999999999999 +0000", ""): True,
    ("T <t@x> 01764547200 +0000", WHO, ""): True,
    (WHO, "T <t@x> -1 +0000", ""): True,
    ("T <t@x> 1764547200 +9999", WHO, ""): True,
    ("T <t@x> 1764547200 +2400", WHO, ""): True,
    ("T <t@x> 1764547200 -0060", WHO, ""): True,
    ("T <t@x> 1764547200 +000", WHO, ""): True,
    ("T <t@x> 1764547200", WHO, ""): True,
    ("T 1764547200 +0000", WHO, ""): True,
    (WHO, WHO, "x-other 1\n"): True,
}


@pytest.mark.parametrize(("parts", "faulty"), HEADERS.items())
def test_a_header_that_git_would_not_write_is_a_fault(
    parts: tuple[str, str, str], faulty: bool, bare_project: Path
) -> None:
    author, committer, more = parts
    tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    data = f"tree {tree}\nauthor {author}\ncommitter {committer}\n{more}\nsubject\n".encode()
    assert bool(_parsed("x", ("x", "commit", data)).fault) == faulty
    git = subprocess.run(
        ["git", "hash-object", "-t", "commit", "--stdin"],
        input=data,
        cwd=bare_project,
        capture_output=True,
    )
    assert faulty or git.returncode == 0, "what git itself takes for an error is one here"
