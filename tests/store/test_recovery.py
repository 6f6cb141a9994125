"""What is gone from a clone's store is had again, and nothing that was recorded is taken back for
it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_cli.store import BRANCH

from ..conftest import DECISION, Git
from .conftest import At

OLD = "artifacts/cb/old/0001/body.txt"


@pytest.fixture
def there(hub: Path, git: Git, at: At) -> Path:
    """A clone's store: an old artifact and some decisions are published, and one more is recorded
    (`mine`)."""
    git("clone", "-q", f"file://{hub}", "clone", cwd=hub.parent)
    assert at("clone", "begin", "--goal", "g").code == 0
    (hub.parent / "clone/old.txt").write_text("an old document\n")
    assert at("clone", "artifact", "put", "old", str(hub.parent / "clone/old.txt")).code == 0
    assert at("clone", *DECISION).code == at("clone", *DECISION).code == 0
    assert (
        at("clone", *DECISION, "--offline", "--operation", "mine").json["store"]["published"]
        is False
    )
    return hub.parent / "clone/.git/atlas/store.git"


def object_file(git: Git, store: Path, name: str) -> Path:
    oid = git("rev-parse", name, cwd=store)
    return store / "objects" / oid[:2] / oid[2:]


def is_gone(git: Git, store: Path, name: str) -> None:
    object_file(git, store, name).unlink()


def is_empty(git: Git, store: Path, name: str) -> None:
    file = object_file(git, store, name)
    file.chmod(0o644)
    file.write_bytes(b"")


def is_garbled(git: Git, store: Path, name: str) -> None:
    file = object_file(git, store, name)
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-3] + b"xyz")


def is_another(git: Git, store: Path, name: str) -> None:
    file = object_file(git, store, name)
    data = object_file(git, store, f"{BRANCH}:atlas.yaml").read_bytes()
    file.chmod(0o644)
    file.write_bytes(data)


OBJECTS = [
    f"{BRANCH}:{OLD}",
    f"{BRANCH}~3",
    f"{BRANCH}~3^{{tree}}",
    f"{BRANCH}:artifacts",
    f"{BRANCH}:atlas.yaml",
]


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("spoilt", [is_gone, is_empty, is_garbled, is_another])
def test_an_object_that_the_remote_has_is_fetched_anew_and_the_branch_stays(
    spoilt: Callable[[Git, Path, str], None], name: str, there: Path, git: Git, at: At
) -> None:
    if spoilt is is_another and name.endswith("atlas.yaml"):
        return
    before = git("rev-parse", BRANCH, cwd=there)
    spoilt(git, there, name)
    looked = at("clone", "doctor", "--offline")
    assert (looked.code, looked.json["error"]["code"]) == (1, "damaged")
    fixed = at("clone", "doctor", "--fix")
    assert fixed.code == 0 and "fetched anew from origin" in json.dumps(fixed.data["checks"]), fixed
    assert git("merge-base", before, BRANCH, cwd=there) == before
    assert at("clone", "artifact", "get", "old").data["body"] == "an old document\n"
    assert at("clone", "log", "mine").data["total"] == 1
    assert at("clone", "sync").json["store"]["published"] is True
    assert at("clone", "verify", "--full").code == at("clone", "doctor").code == 0


def test_a_spoilt_pack_is_made_good(there: Path, git: Git, at: At) -> None:
    git("repack", "-q", cwd=there)
    git("prune-packed", "-q", cwd=there)
    [pack] = (there / "objects/pack").glob("*.pack")
    assert at("clone", "sync").code == 0
    data = bytearray(pack.read_bytes())
    pack.chmod(0o644)
    data[len(data) // 2] ^= 0xFF
    pack.write_bytes(data)
    assert at("clone", "doctor").code == 1
    assert at("clone", "doctor", "--fix").code == 0
    assert at("clone", "verify", "--full").code == at("clone", "doctor").code == 0
    assert at("clone", "log", "mine").data["total"] == 1


@pytest.mark.parametrize("name", [OLD, "artifacts/cb/old", "artifacts/cb/old/0001"])
def test_without_the_remote_nothing_moves_and_what_is_missing_is_named(
    name: str, there: Path, git: Git, at: At
) -> None:
    before = git("rev-parse", BRANCH, cwd=there)
    git("update-ref", "refs/atlas/remote", BRANCH, cwd=there)  # no hole in what is not published
    is_gone(git, there, f"{BRANCH}:{name}")
    there.parents[3].joinpath("hub.git").rename(there.parents[3] / "away.git")
    done = at("clone", "doctor", "--fix")
    assert (done.code, done.json["error"]["code"]) == (1, "damaged")
    message = done.json["error"]["message"]
    assert f"missing {'blob' if name == OLD else 'tree'}" in message and "origin: " in message, done
    assert git("rev-parse", BRANCH, cwd=there) == before
    assert at("clone", *DECISION, "--offline").code == 0  # what does not need it goes on
    there.parents[3].joinpath("away.git").rename(there.parents[3] / "hub.git")
    assert at("clone", "doctor", "--fix").code == 0


def test_a_policy_that_is_gone_is_named_and_had_again(there: Path, git: Git, at: At) -> None:
    is_gone(git, there, f"{BRANCH}:atlas.yaml")
    there.parents[3].joinpath("hub.git").rename(there.parents[3] / "away.git")
    done = at("clone", "doctor")
    looks = {item["what"]: item["state"] for item in done.json["error"]["details"]["checks"]}
    assert (looks["policy"], looks["objects"]) == ("bad", "bad"), done
    assert at("clone", "doctor", "--fix").code == 0  # this clone's own repository has it still
    assert at("clone", "log", "mine").data["total"] == 1


def test_a_parked_write_that_cannot_be_read_is_listed(there: Path, git: Git, at: At) -> None:
    git("update-ref", "refs/atlas/parked/mine", BRANCH, cwd=there)
    git("reset", "-q", "--soft", f"{BRANCH}~1", cwd=there)
    is_gone(git, there, "refs/atlas/parked/mine")
    listed = at("clone", "parked", "list")
    assert listed.code == 0, listed
    [row] = listed.data["items"]
    assert row["operation"] == "mine" and "atlas doctor --fix" in row["subject"]
    shown = at("clone", "parked", "show", "mine")
    assert (shown.code, shown.json["error"]["code"]) == (1, "damaged"), shown


def test_what_only_this_clone_had_is_carried_over_where_the_branch_must_go_back(
    there: Path, git: Git, at: At
) -> None:
    for one in ("second", "third"):
        assert at("clone", *DECISION, "--offline", "--operation", one).code == 0
    is_gone(
        git, there, f"{BRANCH}:decisions"
    )  # the tip cannot be gone on from, and nobody has this folder
    done = at("clone", "doctor", "--fix")
    checks = {row["what"]: row for row in done.data["checks"]}
    assert (
        checks["branch"]["state"] == "fixed" and "(operation third)" in checks["branch"]["text"]
    ), done
    for one in ("mine", "second"):
        assert at("clone", "log", one).data["total"] == 1
    assert at("clone", "sync").json["store"]["published"] is True
    assert at("clone", "verify", "--full").code == at("clone", "doctor").code == 0


def test_a_branch_that_names_nothing_takes_all_that_can_be_read_along(
    there: Path, git: Git, at: At
) -> None:
    tip = git("rev-parse", BRANCH, cwd=there)
    (there / BRANCH).write_text("1" * 40 + "\n")
    assert at("clone", "doctor", "--fix").code == 0
    assert git("merge-base", tip, BRANCH, cwd=there) == tip
    (there / BRANCH).unlink()
    (there / "logs" / BRANCH).write_text("garbage\n")
    is_gone(git, there, tip)  # so that only what was published is left
    fixed = at("clone", "doctor", "--fix")
    assert fixed.code == 0, fixed
    assert at("clone", "verify", "--full").code == at("clone", "sync").code == 0


REFS = ["refs/atlas/remote", "refs/atlas/before", "refs/atlas/incoming", "refs/atlas/parked/lost"]


@pytest.mark.parametrize("data", [b"", b"garbage", b"1" * 40 + b"\n", b"\0" * 41])
def test_refs_that_name_nothing_are_dropped_and_had_anew(data: bytes, there: Path, at: At) -> None:
    for name in REFS:
        (there / name).parent.mkdir(exist_ok=True)
        (there / name).write_bytes(data)
    assert at("clone", "doctor").code == 1
    fixed = at("clone", "doctor", "--fix")
    assert fixed.code == 0 and all(name in json.dumps(fixed.data) for name in REFS), fixed
    assert at("clone", *DECISION).json["store"]["published"] is True
    assert at("clone", "sync").code == at("clone", "doctor").code == 0


def test_packed_refs_that_hold_garbage_are_read_without_it(there: Path, git: Git, at: At) -> None:
    git("pack-refs", "--all", cwd=there)
    with (there / "packed-refs").open("ab") as out:
        out.write(b"this is no ref\n")
    assert at("clone", "doctor", "--fix").code == 0
    assert at("clone", "log", "mine").data["total"] == 1
    assert at("clone", "sync").code == at("clone", "doctor").code == 0


def test_what_history_holds_for_ever_keeps_no_repair_from_its_work(
    there: Path, git: Git, at: At
) -> None:
    tree = git("rev-parse", f"{BRANCH}^{{tree}}", cwd=there)
    raw = f"tree {tree}\nparent {git('rev-parse', BRANCH, cwd=there)}\n\nno author\n".encode()
    oid = git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", cwd=there, data=raw)
    git("update-ref", BRANCH, oid, cwd=there)
    assert at("clone", "verify").json["error"]["details"]["violations"][0]["rule"] == "form"
    fixed = at("clone", "doctor", "--fix")
    states = {row["what"]: row["state"] for row in fixed.data["checks"]}
    assert fixed.code == 0 and (states["fsck"], states["records"]) == ("warn", "fixed"), fixed
    assert at("clone", "verify", "--full").code == 0


@pytest.mark.parametrize(
    ("hole", "lost"),
    [
        (
            "~1:decisions",
            (),
        ),  # a folder that only the second write had: what it put is in the third
        ("~1^{tree}", ()),
        ("~1", ("second",)),
    ],
)
def test_a_hole_in_what_is_not_published_yet_is_gone_round(
    hole: str, lost: tuple[str, ...], there: Path, git: Git, at: At
) -> None:
    for one in ("second", "third"):
        assert at("clone", *DECISION, "--offline", "--operation", one).code == 0
    tip = git("rev-parse", BRANCH, cwd=there)
    gone = git("rev-parse", f"{BRANCH}~1", cwd=there)
    is_gone(git, there, BRANCH + hole)
    done = at("clone", "doctor", "--fix")
    text = {row["what"]: row["text"] for row in done.data["checks"]}["branch"]
    assert done.code == 0 and "carried over: decision" in text, done
    assert ("unreadable" in text, gone[:12] in text) == (bool(lost), bool(lost)), text
    for one in ("mine", "second", "third"):
        assert (at("clone", "log", one).code == 0) is (one not in lost), one
    same = git("rev-parse", BRANCH, cwd=there) == tip  # what is made again is the very commit
    assert same is not bool(lost)
    assert at("clone", "sync").json["store"]["published"] is True
    assert at("clone", "verify", "--full").code == at("clone", "doctor").code == 0


def test_a_pack_without_its_index_has_one_again(there: Path, git: Git, at: At) -> None:
    git("repack", "-q", cwd=there), git("prune-packed", "-q", cwd=there)
    for index in (there / "objects/pack").glob("*.idx"):
        index.unlink()
    assert at("clone", "doctor", "--fix").code == 0
    assert at("clone", "log", "mine").data["total"] == 1 and at("clone", "doctor").code == 0


def test_a_merge_by_hand_is_a_violation_and_cuts_nobody_off(hub: Path, git: Git, at: At) -> None:
    top = hub.parent
    for name in ("ann", "bob"):
        git("clone", "-q", f"file://{hub}", name, cwd=top)
        assert at(name, "begin", "--goal", "g").code == 0
    git("worktree", "add", "-q", "../hand", "origin/atlas", "-b", "hand", cwd=top / "ann")
    (top / "hand/inbox").mkdir()
    (top / "hand/inbox/note.md").write_text("a note\n")
    (
        git("add", ".", cwd=top / "hand"),
        git("commit", "-q", "-m", "a note", cwd=top / "hand"),
    )
    assert at("bob", *DECISION, "--operation", "published").json["store"]["published"] is True
    git("fetch", "-q", "origin", cwd=top / "hand")
    git("merge", "-q", "-m", "merged", "origin/atlas", cwd=top / "hand")
    git("push", "-q", "origin", "hand:atlas", cwd=top / "hand")
    for name in ("bob", "ann"):
        assert at(name, "sync").code == 0
        assert at(name, "log", "published").data["total"] == 1
        assert at(name, "lease", "take", f"of-{name}", "--why", "w").code == 0
        assert {
            one["rule"] for one in at(name, "verify").json["error"]["details"]["violations"]
        } == {"linear"}
    assert at("bob", "doctor", "--fix").code == at("bob", "verify", "--full").code == 0
    assert at("bob", "log", "published").data["total"] == 1 and at("ann", "sync").code == 0
