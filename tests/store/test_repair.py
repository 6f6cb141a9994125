"""What was broken by hand is put back to the byte, and readers are told meanwhile."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_cli.model import names

from ..conftest import DECISION, INDEX, Atlas
from . import violations
from .hand import BRANCH, Hand, Seen, edited, row
from .violations import ENTRY, VIOLATIONS, Broken


@pytest.mark.parametrize("violate", VIOLATIONS, ids=lambda violate: violate.__name__)
def test_doctor_appends_a_repair_that_restores_the_very_bytes(
    violate: Callable[[Hand, Seen], Broken], store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    rule, path = violate(hand, seen)
    broken = hand.head()
    looked = quick("doctor", "--json")
    assert looked.code == 1 and broken[:12] in looked.json["error"]["message"], looked
    assert hand.head() == broken  # looking changes nothing
    fixed = quick("doctor", "--fix", "--json")
    assert fixed.code == 0, fixed

    # Nothing was rewritten: the broken commit stays, and a later one names it.
    assert hand.git("merge-base", broken, BRANCH) == broken
    repair = hand.git("log", "--format=%H", f"--grep=^Atlas-Repairs: {broken}", BRANCH)
    assert repair and "\n" not in repair
    # the tree is what it was, to the byte and the mode, but for the row of the session that
    # repaired
    if path:
        changed = hand.git("diff-tree", "-r", "--name-only", seen.head, BRANCH).splitlines()
        assert [name for name in changed if not name.startswith("sessions/")] == []

    done = quick("verify", "--full", "--json")
    assert (done.code, done.data["violations"]) == (0, []), done
    assert (broken, path, rule, repair) in [
        (item["commit"], item["path"], item["rule"], item["repaired"])
        for item in done.data["repaired"]
    ]
    assert f"repaired: {broken[:12]}" in quick("verify", "--full").out
    assert quick("doctor").code == 0


def test_what_was_broken_several_times_is_put_back_at_once(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    for text in (
        edited(hand.read(ENTRY), "second", "2nd"),
        edited(hand.read(ENTRY), "second", "zweitens"),
        None,
    ):
        hand.commit({ENTRY: text})
    assert quick("doctor", "--fix").code == 0
    assert hand.read(ENTRY) == hand.read(ENTRY, seen.head)
    assert len(quick("verify", "--full", "--json").data["repaired"]) == 3


def claimed(hand: Hand, quick: Atlas) -> tuple[str, str, dict[str, bytes | None]]:
    """A task that is claimed, and what its result would be: (task, the folder of its result, the
    files)."""
    task = str(quick("task", "add", "measure", "--json").data["id"])
    assert quick("task", "claim", task).code == 0
    folder = f"results/{names.bucket(task)}/{task}"
    about = (
        f"task: {task}\ngeneration: 1\nattempt: 1\ntoken: 1\nstore: {quick('config', 'get', 'store').out.strip()}\n"
        f"ext: txt\nsize: 3\nsha256: {hashlib.sha256(b'42.').hexdigest()}\n"
        "session: by-hand\nactor: hand\nat: 2026-11-29T00:00:00Z\n"
    )
    return task, folder, {f"{folder}/about.yaml": about.encode(), f"{folder}/body.txt": b"42."}


def done_again(hand: Hand, quick: Atlas, task: str) -> str:
    """What the task came to once it could be done as if nothing had been."""
    done = quick("task", "done", task, "--result", "-", data="43.")
    assert done.code == 0, done
    assert quick("verify", "--full").code == 0
    return quick("task", "results", task, "--raw").out


def test_the_bytes_of_a_result_go_with_the_record_that_is_taken_away(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, _ = store
    assert quick("begin", "--goal", "measure").code == 0
    task, folder, files = claimed(hand, quick)
    hand.commit(files)
    assert "receipt" in quick("verify").err
    assert quick("doctor", "--fix").code == 0
    assert hand.git("ls-tree", "-r", BRANCH, "--", folder) == ""
    assert done_again(hand, quick, task) == "43."


def test_a_result_goes_with_the_end_of_its_task_that_is_taken_back(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    """The result itself is as it should be, as long as the task is done."""
    hand, _ = store
    assert quick("begin", "--goal", "measure").code == 0
    task, folder, files = claimed(hand, quick)
    place = f"tasks/{names.bucket(task)}/{task}.md"
    ended = edited(hand.read(place), 'state: "claimed"', 'state: "done"')
    hand.commit({**files, place: edited(ended, "version: 2", "version: 7")})
    assert quick("doctor", "--fix").code == 0
    assert hand.git("ls-tree", "-r", BRANCH, "--", folder) == ""
    assert done_again(hand, quick, task) == "43."


def test_what_later_writes_were_built_on_is_left_to_a_person(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    violations.rewinds_a_fencing_token(hand, seen)
    broken = hand.head()
    assert quick("--session", seen.sessions["ann"], "lease", "renew", "gpu0").code == 0
    head = hand.head()
    done = quick("--session", seen.sessions["ann"], "doctor", "--fix")
    assert (
        done.code == 1
        and f"{broken[:12]} (token" in done.err
        and "later writes were built on it" in done.err
    )
    assert hand.head() == head and quick("verify").code == 9


def test_a_repair_that_restores_something_else_is_a_violation(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    violations.edits_a_document(hand, seen)
    broken = hand.head()
    hand.commit(
        {ENTRY: edited(hand.read(ENTRY), "rewritten", "again")},
        f"repair\n\nAtlas-Repairs: {broken}\n",
    )
    found = quick("verify", "--json").json["error"]["details"]["violations"]
    assert {(item["commit"], item["rule"]) for item in found} >= {
        (broken, "immutable"),
        (hand.head(), "repair"),
    }


def test_a_repair_cannot_take_back_what_broke_no_rule(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    honest = hand.git("log", "-1", "--format=%H", BRANCH, "--", ENTRY)
    hand.commit({ENTRY: None}, f"repair\n\nAtlas-Repairs: {honest}\n")
    done = quick("verify", "--json")
    found = {(item["commit"], item["rule"]) for item in done.json["error"]["details"]["violations"]}
    assert done.code == 9 and found >= {(hand.head(), "repair"), (hand.head(), "append_only")}
    assert quick("doctor", "--fix").code == 0 and hand.read(ENTRY) == hand.read(ENTRY, seen.head)


@pytest.mark.parametrize(
    "command", [("status",), ("lease", "list"), ("begin", "--goal", "x"), ("verify",)]
)
def test_a_rewound_branch_is_reported_by_the_next_command(
    command: tuple[str, ...], store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    assert quick("status").code == 0
    hand.git("update-ref", BRANCH, f"{seen.head}~2")
    done = quick(*command)
    assert (
        done.code == 0 and "the store's history was rewound" in done.err and seen.head in done.err
    )


def test_a_replaced_branch_is_reported_too(store: tuple[Hand, Seen], quick: Atlas) -> None:
    hand, seen = store
    other = hand.git(
        "commit-tree", f"{seen.head}~2^{{tree}}", "-p", f"{seen.head}~2", data=b"another history\n"
    )
    hand.git("update-ref", BRANCH, other)
    notices = quick("status", "--json").json["notices"]
    assert any("rewound" in line and seen.head in line for line in notices)


def no_ref(hand: Hand) -> None:
    (hand.store / BRANCH).unlink()


def deleted_ref(hand: Hand) -> None:
    hand.git("update-ref", "-d", BRANCH)  # takes the reflog with it


def empty_ref(hand: Hand) -> None:
    (hand.store / BRANCH).write_bytes(b"")


def garbled_ref(hand: Hand) -> None:
    (hand.store / BRANCH).write_bytes(b"\0\0\0\0")


def ref_to_nothing(hand: Hand) -> None:
    (hand.store / BRANCH).write_text("1" * 40 + "\n")


def ref_to_a_tree(hand: Hand) -> None:
    (hand.store / BRANCH).write_text(hand.git("rev-parse", "atlas^{tree}") + "\n")


@pytest.mark.parametrize(
    "spoil", [no_ref, deleted_ref, empty_ref, garbled_ref, ref_to_nothing, ref_to_a_tree]
)
def test_a_spoilt_branch_is_an_error_that_names_it_and_doctor_restores_it(
    spoil: Callable[[Hand], None], store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    assert quick("status").code == 0
    spoil(hand)
    for command in (
        ("status",),
        ("begin", "--goal", "x"),
        ("init",),
    ):  # never a fresh start in silence
        done = quick(*command)
        assert done.code == 1 and "refs/heads/atlas" in done.err and "atlas doctor" in done.err, (
            done
        )
    looked = quick("doctor")
    assert looked.code == 1 and seen.head[:12] in looked.err
    fixed = quick("doctor", "--fix")
    assert fixed.code == 0 and seen.head[:12] in fixed.out, fixed
    assert hand.head() == seen.head
    assert quick("verify", "--full").code == 0


ABOUT, BODY, POLICY = (
    "artifacts/64/plan/0002/about.yaml",
    "artifacts/64/plan/0002/body.txt",
    "atlas.yaml",
)
OF_PLAN = [("artifact", "show", "plan"), ("artifact", "get", "plan@2")]
READERS = {
    ENTRY: [
        ("status",),
        ("status", "show", "main@2"),
        ("show", "status:main@2"),
        ("begin", "--goal", "x"),
    ],
    row("gpu0"): [("lease", "show", "gpu0"), ("show", "lease:gpu0")],
    ABOUT: OF_PLAN,
    BODY: OF_PLAN,
    POLICY: [("config",), ("begin", "--goal", "x"), ("init",)],
}
SHOWN = {
    ENTRY: "second: the parser is done",
    row("gpu0"): "a longer test",
    ABOUT: "body",
    BODY: "body",
}
TORN = {"torn": b"\x00 torn", "empty": b"", "removed": None}
# A row that a hand took out is not missed by those who read it: that is for `verify`.
CASES = [(path, how) for path in READERS for how in TORN if how != "removed" or path != row("gpu0")]


@pytest.mark.parametrize(("path", "how"), CASES)
def test_readers_of_a_damaged_record_use_the_last_good_bytes_and_say_so(
    path: str, how: str, store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, _ = store
    told = str(quick("config", "--json").data["store"])
    hand.commit({path: TORN[how]})
    for command in READERS[path]:
        done = quick(*command)
        assert done.code == 0, done
        assert command[0] == "begin" or SHOWN.get(path, told) in done.out, done
        assert re.search(r"notice: .*last good state", done.err), done
    assert quick("doctor", "--fix").code == 0
    assert quick("verify", "--full").code == 0
    assert "last good state" not in quick(*READERS[path][0]).err


def test_a_store_without_a_policy_is_not_made_anew(store: tuple[Hand, Seen], quick: Atlas) -> None:
    hand, _ = store
    told = quick("config", "--json").data["store"]
    hand.commit({"atlas.yaml": None})
    done = quick("init", "--json")
    assert (done.code, done.data["created"], done.data["store"]) == (0, False, told), done


def test_a_document_that_a_hand_rewrote_is_shown_as_it_was_written(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    """It still parses, so nothing but its history tells."""
    hand, _ = store
    was = hand.git("show", f"{BRANCH}:{ENTRY}")
    hand.commit(
        {ENTRY: (was.replace("the parser is done", "the parser is broken") + "\n").encode()}
    )
    done = quick("status")
    assert "the parser is done" in done.out
    assert "broken" not in done.out
    assert ENTRY in done.err
    assert quick("doctor", "--fix").code == 0
    assert ENTRY not in quick("status").err


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        ("decisions", ("decision", "list")),
        ("sessions", ("session", "list")),
        ("leases", ("lease", "list")),
        ("artifacts", ("artifact", "list")),
        ("status", ("status", "log")),
    ],
)
def test_no_list_leaves_out_a_damaged_record_in_silence(
    folder: str, command: tuple[str, ...], store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, _ = store
    path = [
        name
        for name in hand.git("ls-tree", "-r", "--name-only", BRANCH, f"{folder}/").split("\n")
        if "body" not in name
    ][-1]
    hand.commit({path: b"\x00 torn"})
    done = quick(*command)
    assert path in done.err, done
    assert path in str(quick(*command, "--json").json)


def test_what_a_killed_command_left_half_made_is_taken_away(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, _ = store
    half = hand.store.parent / "store.git.4711"
    half.mkdir()
    os.utime(half, (1, 1))
    assert "store.git.4711" in quick("doctor").out
    assert quick("doctor", "--fix").code == 0
    assert not half.exists()


@pytest.mark.parametrize("lost", ["HEAD", "refs"])
def test_a_store_that_git_no_longer_takes_for_a_repository(
    begun: str, repo: Path, atlas: Atlas, lost: str
) -> None:
    found = repo / ".git/atlas/store.git" / lost
    if lost == "HEAD":
        found.unlink()
    else:
        atlas("git", "pack-refs", "--all")
        shutil.rmtree(found)
    told = atlas("doctor")
    assert (told.code, f"store.git/{lost}: not there" in told.err) == (1, True), told
    assert atlas("doctor", "--fix").code == 0
    assert atlas("session", "show").code == 0


@pytest.mark.parametrize("mode", ["100644", "120000", "160000"])
def test_what_stands_in_the_sessions_place_is_put_right_by_nobody_in_particular(
    mode: str, store: tuple[Hand, Seen], quick: Atlas
) -> None:
    hand, seen = store
    gone = dict.fromkeys(hand.git("ls-tree", "-r", "--name-only", seen.head, "sessions/").split())
    data = seen.head.encode() if mode == "160000" else b"x"
    hand.commit({**gone, "sessions": data}, modes={"sessions": mode})
    fixed = quick("doctor", "--fix")
    assert fixed.code == 0, fixed
    assert quick("verify", "--full").code == quick("begin", "--new").code == 0


def test_a_policy_that_became_a_folder_is_put_back(store: tuple[Hand, Seen], quick: Atlas) -> None:
    hand, _ = store
    good = hand.read(POLICY)
    hand.commit({POLICY: None})
    hand.commit({f"{POLICY}/x": b"x"})
    assert quick("doctor", "--fix").code == 0
    assert hand.read(POLICY) == good and quick("verify", "--full").code == 0


def _foreign(hand: Hand, *, file: str = "x") -> str:
    """The root of a history that is no store."""
    tree = hand.git("mktree", data=f"100644 blob {hand.put(b'foreign')}\t{file}\n".encode())
    return hand.git("commit-tree", tree, data=b"another history")


def _merge(hand: Hand, tree: str, *parents: str) -> None:
    links = [word for parent in parents for word in ("-p", parent)]
    merge = hand.git("commit-tree", tree, *links, data=b"merge")
    hand.git("update-ref", BRANCH, merge)


@pytest.mark.parametrize("order", ["first", "second"])
@pytest.mark.parametrize("takes", ["ours", "theirs", "a copy of ours"])
def test_what_another_history_brings_takes_nothing_of_ours_away(
    order: str, takes: str, store: tuple[Hand, Seen], quick: Atlas
) -> None:
    """A merge of one, whichever parent comes first and whatever tree it has: the repair puts back
    what was, and the store verifies."""
    hand, seen = store
    ours = hand.git("rev-parse", f"{BRANCH}^{{tree}}")
    other = _foreign(hand)
    if takes == "a copy of ours":
        other = hand.git("commit-tree", ours, data=b"a copy with another root")
    theirs = hand.git("rev-parse", f"{other}^{{tree}}")
    parents = [other, seen.head] if order == "first" else [seen.head, other]
    _merge(hand, theirs if takes == "theirs" else ours, *parents)
    assert quick("status").code in (0, 7)
    fixed = quick("doctor", "--fix", "--json")
    assert fixed.code == 0, fixed
    changed = hand.git("diff-tree", "-r", "--name-only", seen.head, BRANCH).splitlines()
    changed = [name for name in changed if name and not name.startswith(("sessions/", "README.md"))]
    assert changed == []
    assert quick("verify", "--full").code == 0
    assert quick("doctor").code == 0


def test_what_a_merge_of_two_of_its_lines_drops_is_put_back(
    store: tuple[Hand, Seen], quick: Atlas
) -> None:
    """As `git merge -s ours` makes it: nothing of the other line is in its tree."""
    hand, seen = store
    assert (
        quick(
            "status", "write", "other", "-m", "of the other line", "--session", seen.sessions["bob"]
        ).code
        == 0
    )
    other = hand.head()
    hand.git("update-ref", BRANCH, seen.head)
    (hand.store.parent / INDEX).unlink()
    assert (
        quick(
            *DECISION,
            "--session",
            seen.sessions["ann"],
        ).code
        == 0
    )
    ours = hand.head()
    _merge(hand, hand.git("rev-parse", f"{ours}^{{tree}}"), ours, other)
    found = quick("verify", "--full", "--json")
    assert found.code == 9 and "append_only" in found.out
    assert quick("doctor", "--fix").code == 0
    assert hand.blob("status/other/000/000001.md", BRANCH)
    assert quick("verify", "--full").code == 0
    assert quick("status", "show", "other").code == 0


def test_what_was_put_back_by_hand_is_acknowledged(store: tuple[Hand, Seen], quick: Atlas) -> None:
    """Taken away, put back byte for byte, and taken away again."""
    hand, _ = store
    data = hand.read(ENTRY)
    hand.commit({ENTRY: None})
    hand.commit({ENTRY: data})
    assert quick("doctor", "--fix").code == 0
    assert quick("verify", "--full").code == 0
    for step in (None, data, None):
        hand.commit({ENTRY: step})
    assert quick("doctor", "--fix").code == 0
    assert hand.read(ENTRY) == data
    assert quick("verify", "--full").code == 0
