"""git's trees: what is read of any bytes, and that a large one which changes by an entry is
compared as a whole one."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

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
