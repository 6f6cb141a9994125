"""Every shape of clone finds the store that its remote has; what is the user's stays as it is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import DECISION, Atlas, Git
from .conftest import At
from .crew import at_once, crew
from .snap import difference, picture

SHAPES = {
    "full": (),
    "shallow": ("--depth", "1"),
    "shallow, all branches": ("--depth", "1", "--no-single-branch"),
    "single branch": ("--single-branch",),
    "partial": ("--filter=blob:none",),
    "bare": ("--bare",),
    "mirror": ("--mirror",),
    "borrowing": ("--reference", "lender.git"),
    "another name": ("--origin", "vendor"),
}
WHOLE = (
    "full",
    "bare",
    "mirror",
    "borrowing",
    "another name",
)  # those that hold a whole copy of the store's branch


def clone(git: Git, hub: Path, shape: str = "full") -> str:
    """A clone in that shape; the folder to work in."""
    git("config", "uploadpack.allowFilter", "true", cwd=hub)
    if shape == "borrowing":
        shutil.copytree(hub, hub.with_name("lender.git"))
    git("clone", "-q", *SHAPES[shape], f"file://{hub}", "clone", cwd=hub.parent)
    if shape not in ("bare", "mirror"):
        return "clone"
    git("worktree", "add", "-q", "../linked", "main", cwd=hub.parent / "clone")
    return "linked"


@pytest.fixture
def away(hub: Path) -> Iterator[Path]:
    """Where the remote is put when it is to be away."""
    yield hub.with_name("away.git")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_clone_joins_and_its_repository_stays_as_it_was(
    shape: str, hub: Path, git: Git, at: At
) -> None:
    folder = clone(git, hub, shape)
    ours = (
        "clone/.git/atlas",
        "clone/atlas",
        "clone/.git/info",
        "clone/info",
        "clone/.git/hooks",
        "clone/hooks",
        f"{folder}/.atlas",
        "hub.git",
        "home",
    )
    before = picture(hub.parent, ours)
    begun = at(folder, "begin", "--goal", "g").json
    assert begun["store"]["published"] is True
    assert ["git hooks in" in line for line in begun["notices"] if "joined" in line] == [True]
    assert {row["state"] for row in at(folder, "hooks").data["items"]} == {"installed"}
    assert "first clone" in at(folder, "status").data["body"]
    assert at(folder, *DECISION).json["store"]["published"] is True
    assert at(folder, "verify", "--full").code == 0
    assert difference(before, picture(hub.parent, ours)) == []
    where = hub.parent / "clone" / ("" if folder == "linked" else ".git") / "atlas/store.git"
    assert git("rev-parse", "atlas", cwd=where) == git("rev-parse", "atlas", cwd=hub)
    assert not git("rev-list", "--objects", "--missing=print", "atlas", cwd=where).count("?")
    assert not (where / "shallow").exists() and not (where / "objects/info/alternates").exists()


@pytest.mark.parametrize("shape", SHAPES)
def test_while_the_remote_is_away_a_clone_takes_its_copy_or_makes_nothing(
    shape: str, hub: Path, away: Path, git: Git, at: At
) -> None:
    folder = clone(git, hub, shape)
    hub.rename(away)
    for command in (("init",), ("begin", "--goal", "g")):
        done = at(folder, *command)
        if shape in WHOLE:
            assert done.code == 0 and "first clone" in at(folder, "status").data["body"]
        else:
            assert (done.code, done.json["error"]["code"]) == (8, "not_published")
            assert at(folder, "status").json["error"]["code"] == "no_store"
    assert at(folder, "init", "--offline").code == 0, "a copy, or a store of its own"
    away.rename(hub)
    assert at(folder, "init").code == 0
    assert "first clone" in at(folder, "status").data["body"], (
        "what was made here and never used gave way"
    )
    assert at(folder, "verify", "--full").code == 0


def test_whoever_wants_no_hooks_says_so_in_a_file_of_their_own_and_who_lacks_them_is_told(
    hub: Path, git: Git, atlas: Atlas, home: Path
) -> None:
    folder, own = hub.parent / clone(git, hub), home / ".config/atlas/atlas.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("hooks: off\n")
    begun = atlas("begin", "--goal", "g", cwd=folder)
    assert "no git hooks" in begun.err and "hooks: off" in begun.err
    assert not (folder / ".git/hooks/pre-commit").exists()
    assert "hooks" not in atlas(cwd=folder).err, "theirs to choose, and told once"
    own.unlink()
    for command in (("begin",), ()):
        assert "git hooks missing here: atlas hooks install" in atlas(*command, cwd=folder).err
    looks = atlas("doctor", "--json", cwd=folder).data["checks"]
    assert [look["state"] for look in looks if look["what"] == "hooks"] == ["warn"]
    own.write_text("hooks: sometimes\n")
    assert "hooks is one of on, off" in atlas("begin", cwd=folder).err
    own.write_text("hooks_missing: closed\n")
    assert atlas("hooks", "install", cwd=folder).code == 0
    assert "exit 1\n}" in (folder / ".git/hooks/pre-commit").read_text()
    assert "hooks" not in atlas(cwd=folder).err


def test_a_submodule_joins_the_store_of_its_own_remote(hub: Path, git: Git, at: At) -> None:
    top = hub.parent
    git("init", "-q", "whole", cwd=top)
    git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../hub.git",
        "part",
        cwd=top / "whole",
    )
    git("remote", "set-url", "origin", "../../hub.git", cwd=top / "whole/part")
    assert at("whole/part", "begin", "--goal", "g").json["store"]["published"] is True
    assert (top / "whole/.git/modules/part/atlas/store.git").is_dir() and not (
        top / "whole/.git/atlas"
    ).exists()


def test_of_several_remotes_the_one_that_was_named_is_used_and_no_other(
    hub: Path, git: Git, at: At
) -> None:
    top = hub.parent
    folder = clone(git, hub, "another name")
    git("clone", "-q", "--bare", f"file://{hub}", "fork.git", cwd=top)
    git("update-ref", "-d", "refs/heads/atlas", cwd=top / "fork.git")
    git("remote", "add", "fork", "../fork.git", cwd=top / folder)
    made = at(folder, "begin", "--goal", "g")
    assert made.json["error"]["code"] == "no_store"
    assert "none of its remotes was chosen (fork, vendor)" in str(
        at(folder, "init").json["notices"]
    )
    assert at(folder, "init", "--remote", "nobody").code == 7
    assert at(folder, "init", "--remote", "vendor").data["joined"] is True
    assert at(folder, "begin", "--goal", "g").json["store"]["published"] is True
    assert "atlas" not in git("branch", cwd=top / "fork.git")
    # Renamed by the user: nothing is taken for it, be it a folder of that name.
    git("remote", "rename", "vendor", "upstream", cwd=top / folder)
    git("clone", "-q", "--bare", f"file://{hub}", "vendor", cwd=top / folder)
    before = git("rev-parse", "atlas", cwd=top / folder / "vendor")
    lost = at(folder, *DECISION)
    assert lost.json["store"]["published"] is False and lost.code == 0
    assert "no remote 'vendor' here any more" in at(folder, "sync").json["error"]["message"]
    assert git("rev-parse", "atlas", cwd=top / folder / "vendor") == before
    assert at(folder, "init", "--remote", "upstream").code == 0
    assert at(folder, "sync").code == 0
    # And to share through another one is to publish all of it there.
    assert (
        at(folder, "init", "--remote", "fork", "--branch", "team/atlas").json["store"]["published"]
        is True
    )
    assert git("rev-parse", "team/atlas", cwd=top / "fork.git") == git(
        "rev-parse", "atlas", cwd=hub
    )


def test_a_branch_that_is_no_store_is_never_adopted_and_nothing_is_pushed_over_it(
    hub: Path, git: Git, at: At
) -> None:
    git("update-ref", "refs/heads/atlas", "main", cwd=hub)
    folder = clone(git, hub)
    for command in (("init",), ("begin", "--goal", "g")):
        assert at(folder, *command).json["error"]["code"] == "not_a_store"
    assert at(folder, "init", "--offline").code == at(folder, "begin", "--goal", "g").code == 0
    written = at(folder, *DECISION)
    assert written.code == 0 and written.json["store"]["published"] is False
    assert any("not an Atlas store" in line for line in at(folder, "status").json["notices"])
    assert at(folder, "sync").json["error"]["code"] == "not_a_store"
    assert at(folder, "lease", "take", "gpu0", "--why", "w").code == 8
    assert git("rev-parse", "atlas", cwd=hub) == git("rev-parse", "main", cwd=hub)
    assert at(folder, "init", "--branch", "atlas-store").json["store"]["published"] is True
    assert at(folder, "doctor").code == 0 and len(at(folder, "status").json["notices"]) == 1


def test_of_two_inits_at_once_one_store_is_left(hub: Path, git: Git, env: dict[str, str]) -> None:
    git("update-ref", "-d", "refs/heads/atlas", cwd=hub)
    places = [hub.parent / name for name in "abcd"]
    for place in places:
        git("clone", "-q", f"file://{hub}", str(place), cwd=hub.parent)
    with crew(places, env) as workers:
        made = at_once(workers, [("init", "--json")] * 4)
        assert [done.code for done in made] == [0] * 4, made
        assert len({done.data["store"] for done in made}) == 1, "\n".join(done.out for done in made)
        assert [done.data["created"] for done in made].count(True) == 1
        for worker in workers:
            assert worker("begin", "--goal", "g", "--json").json["store"]["published"] is True


def test_of_four_that_join_in_one_clone_each_finds_a_whole_store(
    hub: Path, git: Git, env: dict[str, str]
) -> None:
    git("clone", "-q", f"file://{hub}", "clone", cwd=hub.parent)
    with crew([hub.parent / "clone"] * 4, env) as workers:
        begun = at_once(
            workers, [("begin", "--new", "--goal", f"goal {n}", "--json") for n in range(4)]
        )
        assert [done.code for done in begun] == [0] * 4, begun
        assert all("first clone" in done.data["status"][0]["body"] for done in begun), begun
        assert workers[0]("sync").code == workers[0]("verify", "--full").code == 0
    assert git("rev-list", "--count", "atlas", cwd=hub) == "8"
    assert sorted(path.name for path in (hub.parent / "clone/.git/atlas").glob("store*")) == [
        "store.git"
    ]


def test_a_remote_without_a_branch_gets_the_store_once_the_code_is_there(
    tmp_path: Path, git: Git, at: At
) -> None:
    (
        git("init", "-q", "--bare", "empty.git", cwd=tmp_path),
        git("clone", "-q", "empty.git", "clone", cwd=tmp_path),
    )
    (tmp_path / "clone/x").write_text("x")
    git("add", ".", cwd=tmp_path / "clone"), git("commit", "-qm", "x", cwd=tmp_path / "clone")
    assert at("clone", "init", "--no-hooks").json["store"]["published"] is False
    assert at("clone", "begin", "--goal", "g").json["store"]["published"] is False
    assert "has no branch yet" in at("clone", "sync").json["error"]["message"]
    assert git("for-each-ref", cwd=tmp_path / "empty.git") == ""
    git("push", "-q", "origin", "HEAD", cwd=tmp_path / "clone")
    assert at("clone", "sync").json["store"]["published"] is True


def test_two_stores_that_have_grown_become_one_only_when_that_is_asked_for(
    hub: Path, git: Git, at: At
) -> None:
    folder = clone(git, hub)
    offline = ("--offline",)
    shutil.rmtree(hub.parent / "clone/.git/refs/remotes")
    (hub.parent / "clone/.git/packed-refs").unlink()
    assert at(folder, "init", *offline).data["created"] is True
    at(folder, "begin", "--goal", "g", *offline)
    for command in (
        ("status", "write", "-m", "Ours."),
        DECISION,
        ("lease", "take", "gpu0", "--why", "w"),
    ):
        assert at(folder, *command, *offline).code == 0, command
    assert at(folder, "status").data["body"].endswith("\n\nOurs.\n"), "a read goes on"
    assert at(folder, "status", "write", "-m", "Ours.\nAgain.").code == 0, "and so does a write"
    for command in (("init",), ("sync",)):
        assert (at(folder, *command).code, at(folder, *command).json["error"]["code"]) == (
            6,
            "two_stores",
        )
    head = git("rev-parse", "atlas", cwd=hub)
    joined = at(folder, "init", "--carry")
    assert joined.data["joined"] is True and joined.json["store"]["published"] is True
    assert git("merge-base", head, "atlas", cwd=hub) == head, (
        "theirs stays as it was, ours stands behind it"
    )
    assert "From the first clone.\n" in at(folder, "status").data["body"]
    assert "\n\nOurs.\nAgain.\n" in at(folder, "status").data["body"]
    assert [at(folder, what, "list").data["total"] for what in ("decision", "lease", "parked")] == [
        1,
        1,
        0,
    ]
    assert at(folder, "verify", "--full").code == 0


@pytest.mark.parametrize("loss", ["deleted", "went back"])
def test_a_lost_branch_is_told_by_every_command_and_pushed_back_by_doctor_alone(
    loss: str, hub: Path, git: Git, at: At
) -> None:
    folder = clone(git, hub)
    at(folder, "begin", "--goal", "g"), at(folder, *DECISION)
    whole = git("rev-parse", "atlas", cwd=hub)
    git(
        "update-ref",
        *(["-d", "refs/heads/atlas"] if loss == "deleted" else ["refs/heads/atlas", "atlas~1"]),
        cwd=hub,
    )
    assert at(folder, "sync").json["error"]["code"] == "branch_lost"
    for command in (("status",), ("lease", "list"), DECISION):
        done = at(folder, *command)
        assert done.code == 0 and any(
            loss in line and "doctor" in line for line in done.json["notices"]
        ), done
    assert at(folder, "lease", "take", "gpu0", "--why", "w").code == 8
    told = at(folder, "doctor")
    assert told.code == 1 and "doctor --fix pushes" in told.json["error"]["message"]
    assert git("for-each-ref", "refs/heads/atlas", "--format=%(objectname)", cwd=hub) != whole
    assert at(folder, "doctor", "--fix").code == 0
    assert git("merge-base", whole, "atlas", cwd=hub) == whole
    assert not any(loss in line for line in at(folder, "status").json["notices"])


def test_a_branch_that_was_rewritten_is_not_followed_until_somebody_says_so(
    hub: Path, git: Git, at: At
) -> None:
    folder = clone(git, hub)
    at(folder, "begin", "--goal", "g"), at(folder, *DECISION)
    before = git("rev-parse", "atlas", cwd=f"{hub.parent}/clone/.git/atlas/store.git")
    git("clone", "-q", "--branch", "atlas", str(hub), "hand", cwd=hub.parent)
    git("reset", "-q", "--hard", "HEAD~1", cwd=hub.parent / "hand")
    git("commit", "-q", "--allow-empty", "-m", "by hand", cwd=hub.parent / "hand")
    git("push", "-q", "--force", cwd=hub.parent / "hand")
    forced = git("rev-parse", "atlas", cwd=hub)
    assert at(folder, "sync").json["error"]["code"] == "rewritten"
    assert at(folder, *DECISION).json["store"]["published"] is False
    for fix in ((), ("--fix",)):
        assert before[:12] in at(folder, "doctor", *fix).json["error"]["message"]
    assert git("rev-parse", "atlas", cwd=hub) == forced
    assert at(folder, "init", "--carry").json["store"]["published"] is True
    assert git("merge-base", forced, "atlas", cwd=hub) == forced
    assert at(folder, "decision", "list").data["total"] == 2, "nothing is lost"
