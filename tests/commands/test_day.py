"""A session's day through the command line: each mechanism as a user meets it."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from ..conftest import DECISION, Atlas, Git, command

LATER = {"ATLAS_CLOCK_OFFSET": str(5 * 3600)}  # past the idle time of a session


def ok(atlas: Atlas, *args: str, **extra: str) -> dict:  # type: ignore[type-arg]
    done = atlas(*args, "--json", **extra)
    assert done.code == 0, (args, done.out, done.err)
    found = done.data
    assert isinstance(found, dict)
    return found


@pytest.fixture
def other(begun: str, atlas: Atlas) -> str:
    """A second session, named explicitly; the worktree's own stays `begun`."""
    found = str(ok(atlas, "begin", "--new", "--goal", "other", "--actor", "other")["id"])
    ok(atlas, "begin", "--session", begun)
    return found


def test_begin_again_goes_on_and_new_does_not(begun: str, atlas: Atlas) -> None:
    again = ok(atlas, "begin")
    assert (again["id"], again["continued"]) == (begun, True)
    assert ok(atlas, "begin", "--new")["id"] != begun


def test_end_without_a_text_stops_until_the_status_is_written(begun: str, atlas: Atlas) -> None:
    ok(atlas, *DECISION)
    stop = atlas("end", "--json")
    assert (stop.code, stop.json["status"], stop.json["error"]["code"]) == (5, "stop", "write_last")
    ok(atlas, "status", "write", "-m", "All is said.")
    ended = ok(atlas, "end")
    assert ended["ended"]
    assert ended["status"] is None
    assert atlas("status", "write", "-m", "more", "--session", begun).code == 5


def test_end_of_a_session_that_did_nothing_needs_no_text(begun: str, atlas: Atlas) -> None:
    assert ok(atlas, "end")["released"] == []


def test_end_writes_the_section_of_the_goal_and_gives_back_the_leases(
    begun: str, atlas: Atlas
) -> None:
    ok(atlas, "status", "write", "-m", "Carried text.", "--section", "Old")
    ok(atlas, "status", "write", "-m", "In work.", "--section", "Parser")
    ok(atlas, "lease", "take", "gpu0", "gpu1", "disk", "--why", "w")
    ended = ok(atlas, "end", "-m", "Done: the test.", "--keep", "disk")
    assert sorted(ended["released"]) == ["gpu0", "gpu1"]
    # the one that it wrote last is its own
    body = "## Old\n\nCarried text.\n\n## Parser\n\nDone: the test.\n"
    assert ended["status"]["body"] == body
    assert [item["resource"] for item in ok(atlas, "lease", "list")["items"]] == ["disk"]


def test_unchanged_confirms_in_the_own_row_and_stops_nobody(
    begun: str, other: str, atlas: Atlas
) -> None:
    assert atlas("status", "write", "--unchanged", "w").code == 2  # nothing is there yet
    ok(atlas, "status", "write", "-m", "Carried text.")
    assert atlas("status", "write", "--unchanged", "w", "--session", other).code == 3
    ok(atlas, "status", "--session", other)
    row = ok(atlas, "status", "write", "--unchanged", "it holds", "--session", other)
    assert row["confirmed"]["ref"] == "status:main@1"
    ended = ok(atlas, "end", "--unchanged", "only looked around", "--session", other)
    assert ended["status"] is None and ended["confirmed"]["why"] == "only looked around"
    shown = atlas("status").out
    assert f"by {other}: only looked around" in shown and "status:main@1" in shown
    ok(atlas, "status", "write", "-m", "More.")  # nobody was stopped
    assert "only looked around" not in atlas("status").out


def test_the_whole_is_replaced_only_by_who_says_so(begun: str, atlas: Atlas) -> None:
    ok(atlas, "status", "write", "-m", "One.", "--section", "A")
    ok(atlas, "status", "write", "-m", "Two.")
    assert ok(atlas, "status")["body"] == "## A\n\nTwo.\n"
    assert ok(atlas, "status", "write", "-m", "All new.", "--replace")["number"] == 3
    assert ok(atlas, "status")["body"] == "All new.\n"


def test_a_status_over_the_limit_is_kept_as_a_draft(begun: str, other: str, atlas: Atlas) -> None:
    refused = atlas("status", "write", "-m", "word " * 126, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (6, "limit")
    file = Path(refused.json["error"]["details"]["draft"])
    assert file.read_text().split() == ["word"] * 126 and ".git" in file.parts
    (draft,) = ok(atlas, "drafts")["items"]
    assert draft["session"] == begun and "--base 0" in draft["submit"]
    # it is listed for nobody else, and submitted it loses nobody's words
    assert ok(atlas, "drafts", "--session", other)["items"] == []
    ok(atlas, "status", "write", "-m", "URGENT", "--session", other)
    file.write_text("short\n")
    assert atlas(*shlex.split(draft["submit"])[1:]).code == 0
    assert "URGENT" in ok(atlas, "status")["body"] and "short" in ok(atlas, "status")["body"]
    assert ok(atlas, "drafts")["items"] == []  # its own text is in
    atlas("status", "write", "-m", "w " * 130)
    ended = atlas("end", "-m", "all said")
    assert "not in the status, and kept as a draft: " in ended.out
    assert atlas("drafts", "drop", "README.md").code == 7


def test_what_was_not_read_cannot_be_superseded(begun: str, other: str, atlas: Atlas) -> None:
    ok(atlas, "status", "write", "-m", "One.")
    ok(atlas, "artifact", "put", "notes", "src/x.py")
    late = str(ok(atlas, "begin", "--new", "--actor", "late", "--stream", "api")["id"])
    ok(atlas, "status", "write", "api", "-m", "One.", "--session", other)
    all_of_it = ("-m", "Two.", "--replace")
    for who, code, name, *args in (
        (other, 3, "version_jump", "status", "write", *all_of_it),  # it has seen the stream empty
        (other, 5, "read_first", "artifact", "put", "notes", "src/x.py"),
        (begun, 5, "read_first", "status", "write", "api", "-m", "Two."),
        (late, 3, "version_jump", "status", "write", "api", *all_of_it),
    ):
        stop = atlas(*args, "--session", who, "--json")
        assert (stop.code, stop.json["error"]["code"]) == (code, name), stop.out
    # an own section is put beside what was not seen, and that is said, unless a stop has said it
    done = atlas("status", "write", "-m", "Two.", "--session", other)
    assert done.code == 0 and "carried beside it" not in done.out
    assert ok(atlas, "status")["unseen"] == ["status:main@1"]
    ok(atlas, "status", "write", "-m", "One, again.", "--session", begun)
    done = atlas("status", "write", "-m", "Two, again.", "--session", other)
    assert done.code == 0 and "carried beside it, and not seen by you before" in done.out
    assert "One, again." in done.out and ok(atlas, "status")["unseen"] == ["status:main@3"]
    ok(atlas, "status", "--session", other)
    ok(atlas, "status", "write", "-m", "One and two.", "--replace", "--session", other)
    ok(atlas, "artifact", "put", "notes", "src/x.py", "--base", "1", "--session", other)
    assert "status:main@4" in str(ok(atlas, "log", "status:main@5")["items"][0]["bases"])


def test_a_claimed_base_is_recorded_as_claimed(begun: str, other: str, atlas: Atlas) -> None:
    ok(atlas, "status", "write", "-m", "One.")
    ok(atlas, "status", "write", "-m", "Two.", "--base", "1", "--session", other)
    assert any(
        base.endswith(" claimed") for base in ok(atlas, "log", "status:main@2")["items"][0]["bases"]
    )


@pytest.mark.parametrize(
    "body", [b"", b"\r\nold\r\n", b"\x00\xff\x1b[2J", "ü\u2028x".encode(), b"no newline"]
)
def test_an_artifact_comes_back_byte_for_byte(
    begun: str, repo: Path, atlas: Atlas, body: bytes
) -> None:
    (repo / "in.dat").write_bytes(body)
    record = ok(atlas, "artifact", "put", "thing", "in.dat")
    assert (record["size"], record["ext"]) == (len(body), "dat")
    ok(atlas, "artifact", "get", "thing", "-o", "out.dat")
    assert (repo / "out.dat").read_bytes() == body


def test_a_text_about_something_else_does_not_hide_what_is_there(
    begun: str, repo: Path, atlas: Atlas
) -> None:
    (repo / "a.md").write_text(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda sigma omega\n"
    )
    (repo / "b.md").write_text(
        "monday tuesday wednesday thursday friday saturday sunday january february march april june\n"
    )
    ok(atlas, "artifact", "put", "letters", "a.md")
    refused = atlas("artifact", "put", "letters", "b.md", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (6, "other_topic")
    assert ok(atlas, "artifact", "put", "letters", "b.md", "--same-topic")["same_topic"] is True


def test_a_retraction_withholds_the_body_and_reaches_who_relied_on_it(
    begun: str, other: str, repo: Path, atlas: Atlas
) -> None:
    ok(atlas, "artifact", "put", "stages", "src/x.py", "--caveat", "from the README")
    ok(atlas, "artifact", "show", "stages", "--session", other)
    (repo / "plan.md").write_text("first E\n")
    ok(
        atlas,
        "artifact",
        "put",
        "plan",
        "plan.md",
        "--relies-on",
        "artifact:stages",
        "--session",
        other,
    )
    found = ok(
        atlas,
        "correct",
        "artifact:stages@1",
        "--why",
        "broken README",
        "--cause",
        "README.md",
        "--retract",
    )
    assert (found["own"], found["relied_on_by"]) == (True, ["artifact:plan@1"])
    told = atlas("lease", "list", "--session", other, "--json").json["notices"]
    assert any("artifact:stages@1, which you relied on, was retracted" in notice for notice in told)
    again = atlas("lease", "list", "--session", other, "--json").json["notices"]
    assert not any("artifact:stages@1" in notice for notice in again), "told once"
    shown = ok(atlas, "artifact", "show", "stages")
    assert shown["body"] is None
    assert atlas("artifact", "get", "stages").code == 6
    assert "print('x')" in atlas("artifact", "show", "stages", "--withdrawn").out
    assert "relies on artifact:stages@1, which was retracted" in atlas("show", "artifact:plan").out
    assert ok(atlas, "begin", "--session", other)["corrections"][0]["target"] == "artifact:stages@1"


def test_who_names_leases_sessions_and_young_commits_of_any_branch(
    begun: str, other: str, repo: Path, atlas: Atlas, git: Git
) -> None:
    git("switch", "-qc", "side")
    (repo / "src/x.py").write_text("print('y')\n")
    git("commit", "-qam", "adjacent work")
    git("switch", "-q", "main")
    ok(atlas, "lease", "take", "path:src", "--why", "moving files")
    found = ok(atlas, "begin", "--on", "x.py", "--session", other, "-C", str(repo / "src"))["on"]
    assert {"lease path:src", "commit"} <= {
        item["what"].split(" ")[0] if "commit" in item["what"] else item["what"] for item in found
    }
    assert "adjacent work" in str(found)
    assert other in str(ok(atlas, "who", "src/x.py", "--session", begun)["items"])


def test_the_view_follows_and_sets_hand_edits_aside(
    begun: str, repo: Path, atlas: Atlas, git: Git
) -> None:
    ok(atlas, "status", "write", "-m", "One.")
    shown = repo / ".atlas/status/main.md"
    assert shown.read_text().endswith("One.\n")
    assert shown.stat().st_mode & 0o222 == 0
    shown.chmod(0o644)
    shown.write_text("my own words\n")
    done = atlas("status", "write", "-m", "Two, more.", "--json")
    assert "edited by hand" in str(done.json["notices"])
    drafts = (repo / ".git/atlas/drafts").iterdir()
    assert [path.read_text() for path in drafts] == ["my own words\n"]
    assert shown.read_text().endswith("Two, more.\n")
    assert git("status", "--porcelain") == ""
    git("clean", "-fdxq")
    assert not (repo / ".atlas").exists()
    ok(atlas, "status")
    assert shown.exists()


def test_a_symlink_in_the_views_place_is_left_alone(
    begun: str, repo: Path, atlas: Atlas, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    atlas("git", "status")
    for name in sorted((repo / ".atlas").rglob("*"), reverse=True):
        name.rmdir() if name.is_dir() else name.unlink()
    (repo / ".atlas").rmdir()
    (repo / ".atlas").symlink_to(outside)
    ok(atlas, "status", "write", "-m", "One.")
    assert list(outside.iterdir()) == []


def test_the_policy_keeps_its_comments_and_its_own_keys(
    begun: str, repo: Path, atlas: Atlas
) -> None:
    ok(atlas, "config", "set", "status_words", "300")
    text = atlas("git", "show", "atlas:atlas.yaml").out
    assert "# words of the status that a reader is shown" in text
    assert ok(atlas, "config", "get", "status_words")["value"] == 300
    assert [
        atlas("config", "set", key, value).code
        for key, value in (
            ("test", "false"),
            ("store", "x"),
            ("nope", "1"),
            ("lease_max", "9h"),
            ("durability", "none"),
        )
    ] == [6, 6, 7, 2, 2]
    assert atlas("config", "edit").code == 2


def test_secrets_are_refused_before_anything_is_stored(
    begun: str, repo: Path, atlas: Atlas
) -> None:
    secret = "ghp_" + "a1B2" * 9
    before = atlas("git", "count-objects").out
    for args in (
        ("status", "write", "-m", f"use {secret}"),
        ("lease", "take", "x", "--why", secret),
    ):
        refused = atlas(*args, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (6, "secret")
        assert secret not in refused.out + refused.err
    assert atlas("git", "count-objects").out == before


def test_stops_are_counted_and_listed_with_what_came_of_them(
    begun: str, other: str, atlas: Atlas
) -> None:
    ok(atlas, "lease", "take", "gpu0", "--why", "w")
    assert atlas("lease", "take", "gpu0", "--why", "w", "--session", other).code == 4
    ok(atlas, "lease", "take", "gpu1", "--why", "w", "--session", other)
    found = ok(atlas, "log", "--collisions")["items"]
    assert [(item["session"], item["stops"]) for item in found] == [
        (other, [f"held 1 lease:gpu0 of {begun}"])
    ]


def test_text_of_others_stays_inside_its_frame(begun: str, atlas: Atlas) -> None:
    nasty = "\x1b[2J────────\n[bold]x[/bold] \u202e :smile:\n<<<<<<<\n"
    ok(atlas, "status", "write", "-m", nasty, "--replace")
    lines = atlas("status").out.split("\n")
    assert lines[1:4] == ["│ \\u{1b}[2J────────", "│ [bold]x[/bold] \\u{202e} :smile:", "│ <<<<<<<"]
    assert ok(atlas, "status")["body"] == nasty


def test_the_bare_command_begins_nothing(repo: Path, atlas: Atlas) -> None:
    done = atlas()
    assert done.code == 0, done.err
    assert "no session here" in done.out
    assert ok(atlas, "session", "list")["total"] == 0


def test_an_answer_that_cannot_be_printed_does_not_lie_about_the_write(
    begun: str, repo: Path, env: dict[str, str], atlas: Atlas
) -> None:
    def ended(*args: str) -> tuple[int, bytes]:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                command(*args), cwd=repo, env=env, stdout=full, stderr=subprocess.PIPE, check=False
            )
        return done.returncode, done.stderr

    code, err = ended("artifact", "put", "notes", "src/x.py")
    assert (code, b"is done" in err) == (0, True)
    assert ended("artifact", "list", "--json")[0] == 1
    assert ok(atlas, "artifact", "list")["total"] == 1


def test_a_reader_that_leaves_early_or_never_came_is_no_error(
    begun: str, repo: Path, env: dict[str, str]
) -> None:
    for tail in ("| true", ">&- 2>&-"):
        script = f"set -o pipefail; {shlex.join(command('log', '-n', '1000'))} {tail}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=repo, env=env, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_text_over_the_limit_becomes_an_artifact_with_its_first_paragraph_as_the_entry(
    begun: str, atlas: Atlas
) -> None:
    whole = "The short of it.\n\n" + "word " * 300 + "\n"
    record = ok(atlas, "status", "write", "-m", whole, "--overflow", "long-story")
    assert record["body"].endswith("The short of it.\n\nThe whole text: artifact:long-story@1\n")
    assert ok(atlas, "artifact", "get", "long-story")["body"] == whole
    line = "word " * 400  # no paragraph of it is short
    record = ok(atlas, "status", "write", "-m", f"Again. {line}", "--overflow", "long-story")
    body = record["body"]
    assert "## test\n\nAgain. word" in body and " …\n\nThe w" in body
    assert 100 < body.count("word") <= 125
    ended = ok(atlas, "end", "-m", whole, "--overflow", "long-story")
    assert (
        "## test\n\nThe short of it.\n\nThe whole text: artifact:long-story@3\n"
        in ended["status"]["body"]
    )
    assert atlas("verify", "--full").code == 0
