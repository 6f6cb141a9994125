"""`atlas check` on real commits: in the clone that made them, and in what CI has cloned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ..conftest import Atlas, Git
from .fleet import Fleet, done
from .hand import Hand, Seen
from .snap import picture

ENTRY = "status/main/000/000002.md"
OVER = {"ATLAS_CLOCK_OFFSET": str(5 * 3600)}  # when every session is over


class Work:
    """Code commits with the trailers of a session, in the repository of a store."""

    def __init__(self, store: tuple[Hand, Seen], git: Git) -> None:
        self.hand, self.git, self.ann = store[0], git, store[1].sessions["ann"]
        git("symbolic-ref", "HEAD", "refs/heads/main")
        self.read = f"main@2~{(self.hand.blob(ENTRY, 'atlas') or '')[:12]}"

    def commit(
        self,
        *paths: str,
        session: str | None = "",
        read: str = "",
        subject: str = "work",
        word: str = "none",
        **env: str,
    ) -> str:
        for path in paths:
            file = self.hand.repo / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{subject} {len(list(self.hand.repo.iterdir()))}\n")
        trailers = f"\n\nAtlas-Session: {session or self.ann}\nAtlas-Read: {read or self.read}"
        trailers += f"\nAtlas-Word: {word}"
        (
            self.git("add", "-A"),
            self.git(
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                subject + trailers * (session is not None),
                **env,
            ),
        )
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def work(store: tuple[Hand, Seen], git: Git) -> Work:
    return Work(store, git)


def found(done: Any) -> list[tuple[str, str, str]]:
    """(commit, rule, level) of each finding."""
    data = done.data or done.json["error"]["details"]
    return [(one["commit"], one["rule"], one["level"]) for one in data["findings"]]


def test_each_finding_names_commit_author_and_rule(work: Work, quick: Atlas, git: Git) -> None:
    good = work.commit("a.py")
    git("switch", "-q", "-c", "side")
    assert found(done := quick("check", "HEAD", "--json")) == [] and done.code == 0
    assert (done.data["judged"], done.data["store"]) == (1, "this clone's store")
    forged = work.commit("b.py", read="main@2~000000000000", subject="forged")
    nobody = work.commit(session="eve-261129-cccccc")
    done = quick("check", f"{good}..HEAD", "--json")
    assert found(done) == [(forged, "read_first", "stop"), (nobody, "session", "stop")]
    said = quick("check", f"{good}..")
    assert said.code == 9 and said.out == ""
    assert (
        f"│ {forged[:12]} Test <test@example.invalid>: read_first: names main@2~000000000000"
        in said.err
    )
    assert (
        quick("check", f"{good}..{good}").code == 0 and quick("check", "--format", "xml").code == 2
    )
    for form in ("github", "gitlab", "junit"):
        assert quick("check", good, "--format", form).code == 0
    github = quick("check", f"{good}..", "--format", "github")
    assert github.code == 9 and github.out.split("\n")[0].startswith(
        f"::error title=atlas read_first,file=b.py::{forged[:12]} Test <test@example.invalid>: read_first: names"
    )
    gitlab = json.loads(quick("check", f"{good}..", "--format", "gitlab").out)
    assert [(one["check_name"], one["severity"], one["location"]["path"]) for one in gitlab] == [
        ("atlas-read_first", "major", "b.py"),
        ("atlas-session", "major", "."),
    ]
    assert len({one["fingerprint"] for one in gitlab}) == 2
    suite = ElementTree.fromstring(quick("check", f"{good}..", "--format", "junit").out)
    assert (suite.get("tests"), suite.get("failures"), len(suite.findall("testcase/failure"))) == (
        "2",
        "2",
        2,
    )


def test_what_a_commit_says_cannot_break_the_report(work: Work, quick: Atlas, git: Git) -> None:
    git("switch", "-q", "-c", "side")
    name = "a\x1b[31m\x01]]></failure>\u202e%0A::error::x"
    who = {"GIT_AUTHOR_NAME": name, "GIT_COMMITTER_NAME": name}
    work.commit("src/[a],b:c%d.py", read="main@9~0123456789ab", subject=name, **who)
    [line, _, rest] = quick("check", "HEAD", "--format", "github").out.split("\n")
    assert "file=src/[a]%2Cb%3Ac%25d.py::" in line and "%250A::error::x" in line and rest == ""
    assert "]]></failure>" in (
        ElementTree.fromstring(quick("check", "HEAD", "--format", "junit").out)[0].get("name") or ""
    )
    assert (
        "\\u{1b}[31m" in quick("check", "HEAD").err
        and len(found(quick("check", "HEAD", "--json"))) == 1
    )


def test_squashes_rebases_merges_and_strangers(
    work: Work, quick: Atlas, git: Git, store: tuple[Hand, Seen]
) -> None:
    bob = store[1].sessions["bob"]
    base = work.commit(session=None)
    git("switch", "-q", "-c", "side")
    work.commit("a.py"), work.commit("b.py", session=bob)
    git("switch", "-q", "-c", "squashed", base)
    git("merge", "--squash", "-q", "side")
    git("commit", "-q", "--no-edit")
    done = quick("check", f"{base}..", "--json")
    assert found(done) == [] and (done.code, done.data["judged"]) == (0, 1)
    git("switch", "-q", "-c", "merged", base)
    work.commit("c.py", session=None, subject="a person")
    git("merge", "-q", "--no-edit", "side")
    done = quick("check", f"{base}..", "--json")
    assert done.data["judged"] == 2 and found(done) == []
    assert done.data["unattended"] == {
        "without a session": 2,
        "merges": 0,
        "older than the store": 0,
    }
    git("rebase", "-q", "side")
    assert quick("check", "side..", "--json").data["unattended"]["without a session"] == 1
    for level, code in (("warn", 0), ("stop", 9)):
        assert quick("config", "set", "unattended", level, "--session", work.ann).code == 0
        assert (
            quick("check", "side..").code,
            found(quick("check", "side..", "--json"))[0][1:],
        ) == (
            code,
            ("unattended", level),
        )


def test_the_status_is_owed_on_an_integration_branch_only(
    work: Work, quick: Atlas, atlas: Atlas, git: Git
) -> None:
    last, by_ann = work.commit("a.py"), ("--base", "2", "--session", work.ann)

    def judged(**env: str) -> list[tuple[str, str, str]]:
        return found(atlas("check", "HEAD", "--json", **env))

    assert judged() == [], "at work, its word is not due yet"
    assert judged(ATLAS_CLOCK_OFFSET="3000") == [(last, "write_last", "warn")]
    assert judged(**OVER) == [(last, "write_last", "stop")]
    done = atlas("check", "--since", "7d", "--json", **OVER)
    assert found(done) == [(last, "write_last", "stop")], "what no push has judged"
    assert quick("check", "HEAD", "--since", "7d").code == 2
    git("branch", "-m", "side")
    assert judged(**OVER) == []
    quick("config", "set", "integration", '["si*"]', "--session", work.ann)
    assert judged(**OVER) == [(last, "write_last", "stop")], "its name is of the pattern"
    assert found(atlas("check", "--since", "7d", "--json", **OVER)) == judged(**OVER)
    quick("config", "set", "integration", "[]", "--session", work.ann)
    git("branch", "-m", "main")
    assert quick("status", "write", "--unchanged", "only code", *by_ann).code == 0
    assert judged(**OVER) == [(last, "write_last", "stop")], "a commit is not confirmed away"
    assert quick("status", "write", "-m", "a.py", "--replace", "--session", work.ann).code == 0
    assert judged(**OVER) == []
    word = work.hand.git("log", "-1", "--format=%(trailers:key=Atlas-Operation,valueonly)", "atlas")
    late = work.commit("b.py", word=word.strip())
    assert judged(**OVER) == [(late, "write_last", "stop")], "made after that word"


def test_a_lease_of_another_on_a_changed_path_warns(
    work: Work, quick: Atlas, git: Git, store: tuple[Hand, Seen]
) -> None:
    git("switch", "-q", "-c", "side")
    assert (
        quick(
            "lease",
            "take",
            "path:src",
            "--why",
            "moving files",
            "--session",
            store[1].sessions["bob"],
        ).code
        == 0
    )
    at = int(git("log", "-1", "--format=%ct", cwd=work.hand.store))
    (work.hand.repo / "src").mkdir()
    work.commit("src/x.py", GIT_AUTHOR_DATE=f"@{at + 60} +0000")  # under way at the same time
    late = work.commit("src/y.py", "doc.md", GIT_AUTHOR_DATE=f"@{at + 600} +0000")
    done = quick("check", "HEAD", "--json")
    assert (found(done), done.code) == ([(late, "leases", "warn")], 0)
    assert (
        done.data["findings"][0]["path"] == "src/y.py"
        and "moving files" in done.data["findings"][0]["text"]
    )


def test_a_lease_on_a_declared_name_warns_on_the_paths_that_mean_it(
    work: Work, quick: Atlas, git: Git, store: tuple[Hand, Seen]
) -> None:
    git("switch", "-q", "-c", "side")
    bob = ("--session", store[1].sessions["bob"])
    declared = '{"rig": {"about": "the test rig", "paths": ["tools/rig"]}}'
    assert quick("config", "set", "resources", declared, *bob).code == 0
    assert quick("lease", "take", "rig", "--why", "a long run", *bob).code == 0
    at = int(git("log", "-1", "--format=%ct", cwd=work.hand.store))
    (work.hand.repo / "tools/rig").mkdir(parents=True)
    late = work.commit("tools/rig/x.py", GIT_AUTHOR_DATE=f"@{at + 600} +0000")
    done = quick("check", "HEAD", "--json")
    assert (found(done), done.code) == ([(late, "leases", "warn")], 0)
    (finding,) = done.data["findings"]
    assert finding["path"] == "tools/rig/x.py" and finding["text"].startswith("rig was held by")


def test_a_link_that_a_commit_left_dead_is_its_own(work: Work, quick: Atlas, git: Git) -> None:
    pytest.importorskip("atlas_cli.checks.links")
    git("switch", "-q", "-c", "side")
    (work.hand.repo / "docs").mkdir()
    (work.hand.repo / "docs/a.md").write_text("[b](b.md) and [never there](x.md)\n")
    base = work.commit("docs/b.md")
    git("mv", "docs/b.md", "docs/c.md")
    moved = work.commit(subject="moved")
    git("rm", "-q", "docs/c.md")
    work.commit(subject="deleted")
    done = quick("check", f"{base}..", "--json")
    assert found(done) == [(moved, "links", "stop")] and done.code == 9
    [one] = done.json["error"]["details"]["findings"]
    assert (one["path"], one["text"]) == ("docs/a.md", "line 1: b.md leads nowhere; c.md would")


@pytest.fixture
def remote(work: Work, git: Git, tmp_path: Path) -> Path:
    """What the code and the store were pushed to."""
    folder = tmp_path / "remote.git"
    git("init", "-q", "--bare", str(folder), cwd=tmp_path)
    for number in range(3):
        work.commit(f"{number}.py")
    git("push", "-q", str(folder), "main")
    work.hand.git("push", "-q", str(folder), "refs/heads/atlas:refs/heads/atlas")
    return folder


def clone(git: Git, remote: Path, to: Path, *options: str) -> Path:
    git("clone", "-q", *options, f"file://{remote}", str(to), cwd=to.parent)
    return to


def github(folder: Path, event: dict[str, Any], **more: str) -> dict[str, str]:
    folder.mkdir()
    (folder / "event.json").write_text(json.dumps(event))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_REF_NAME": "main",
    } | more


def test_ci_finds_range_and_store_and_leaves_its_clone_as_it_was(
    remote: Path, atlas: Atlas, git: Git, tmp_path: Path, work: Work
) -> None:
    there = clone(git, remote, tmp_path / "ci", "--single-branch", "--branch=main")
    before, head = picture(there, ()), git("rev-parse", "HEAD")
    event = github(tmp_path / "push", {"before": git("rev-parse", "HEAD~2"), "after": head})
    done = atlas("check", "--json", cwd=there, **event, **OVER)
    assert found(done) == [(head, "write_last", "stop")] and done.code == 9, done
    details = done.json["error"]["details"]
    assert details["judged"] == 2 and details["store"] == "the store on origin"
    assert picture(there, ()) == before
    # A merge request: not handed over yet, and judged up to its own head, not up to the merge that
    # CI has made.
    request = {
        "pull_request": {
            "base": {"sha": git("rev-parse", "HEAD~1"), "ref": "main"},
            "head": {"sha": head},
        }
    }
    done = atlas("check", "--json", cwd=there, **github(tmp_path / "request", request), **OVER)
    assert found(done) == [(head, "write_last", "warn")] and done.code == 0
    # What a force push took away.
    done = atlas(
        "check",
        "--json",
        cwd=there,
        **github(tmp_path / "force", {"before": "1" * 40, "after": head}),
        **OVER,
    )
    assert (
        "force push" in str(done.json["notices"]) and done.json["error"]["details"]["judged"] == 1
    )
    # A plain clone has the branch, unless it was deleted there.
    whole = clone(git, remote, tmp_path / "whole")
    git("update-ref", "-d", "refs/remotes/origin/atlas", cwd=whole)
    before = picture(whole, ())
    assert (
        atlas("check", "--json", cwd=whole).data["store"] == "the store on origin"
        and picture(whole, ()) == before
    )
    found_ = atlas("verify", "--full", "--json", cwd=whole)  # what a schedule does
    assert (found_.code, found_.data["head"]) == (0, work.hand.head()) and picture(
        whole, ()
    ) == before
    git("fetch", "-q", cwd=whole)
    (
        (whole / "x").write_text("x"),
        git("add", "x", cwd=whole),
        git("commit", "-qm", "not pushed", cwd=whole),
    )
    done = atlas("check", "--json", cwd=whole)
    assert (
        done.data["store"],
        done.data["judged"],
        done.data["unattended"]["without a session"],
    ) == (
        "refs/remotes/origin/atlas",
        0,
        1,
    )


def test_a_clone_that_does_not_reach_back_is_named_with_the_remedy(
    remote: Path, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    there = clone(git, remote, tmp_path / "ci", "--depth=2")
    ids = [git("rev-parse", f"main~{back}") for back in range(3)]
    variables = {"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main", "CI_COMMIT_SHA": ids[0]}
    done = atlas("check", cwd=there, **variables, CI_COMMIT_BEFORE_SHA=ids[2])
    assert (
        done.code == 1 and "(shallow): the commit " in done.err and "GIT_DEPTH to 0" in done.err
    ), done
    done = atlas("check", "HEAD", cwd=there)
    assert (
        done.code == 1
        and f"the history ends at {ids[1][:12]}" in done.err
        and "--unshallow" in done.err
    )
    done = atlas("check", "--json", cwd=there, **variables, CI_COMMIT_BEFORE_SHA=ids[1])
    assert done.data["judged"] == 1  # deep enough for this


def test_without_a_store_it_says_so(
    bare_project: Path, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    assert atlas("check").code == 7
    git("clone", "-q", "--bare", str(bare_project), str(tmp_path / "origin.git"), cwd=tmp_path)
    git("remote", "add", "origin", str(tmp_path / "origin.git")), git("branch", "atlas")
    done = atlas("check")
    assert done.code == 7 and "no Atlas store in this clone or on origin" in done.err


def test_it_asks_a_remote_that_was_away_a_moment_ago(pair: Fleet, tmp_path: Path) -> None:
    """As a push does: what others have written since would change the verdict."""
    fleet, late = pair.copied(tmp_path / "fleet"), {"ATLAS_CLOCK_OFFSET": "17000"}
    made = fleet.sessions["a"]
    fleet.git("a", "switch", "-q", "-C", "main", "origin/main")
    said = f"work\n\nAtlas-Session: {made}\nAtlas-Read: main@0\nAtlas-Word: none"
    fleet.git("a", "commit", "-q", "--allow-empty", "-m", said)
    fleet.git("a", "push", "-q", "origin", "main"), fleet.git("b", "fetch", "-q")
    check = ("check", "--since", "7d", "--json")
    with fleet.crew(["a", "b"]) as [a, b]:
        done(b("sync", env=late))
        a.session = None
        done(a("begin", "--new", "--actor", "heir", env=late))
        done(a("session", "adopt", made, "--why", "w", "-m", "It was work.", env=late))
        away = (fleet.top / "hub.git").rename(fleet.top / "away.git")
        assert "no word speaks of 1 commit" in done(b(*check, env=late), 9).out
        away.rename(fleet.top / "hub.git")
        done(b(*check, env=late))
