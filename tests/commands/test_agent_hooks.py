"""What an AI tool's hooks call: as real processes, with whatever a tool may give them."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_cli.setup.claude import HOOKS

from ..conftest import ROOT, Atlas, Git
from ..store.hand import Hand, edited

FORMS = ("session-start", "session-end", "edit")
Hook = Callable[..., Any]


@pytest.fixture
def env(env: dict[str, str]) -> dict[str, str]:
    """As a tool starts its hooks: an older one, that names its session nowhere but on standard
    input."""
    return {
        key: value for key, value in env.items() if key not in ("CODEX_THREAD_ID", "ATLAS_ACTOR")
    } | {"CLAUDECODE": "1"}


def argv(name: str) -> list[str]:
    return [sys.executable, "-c", "from atlas_cli.hook import run; run()", name]


@pytest.fixture
def hook(env: dict[str, str], tmp_path: Path) -> Hook:
    """What a hook says: `hook("edit", tool_input=…, at=…)`; None for nothing."""

    def call(
        name: str, at: Path | None = None, extra: dict[str, str] | None = None, **given: Any
    ) -> Any:
        where = at or tmp_path / "repo"
        told = {"session_id": "one", "cwd": str(where), "hook_event_name": name, **given}
        done = subprocess.run(
            argv(name),
            cwd=where,
            env=env | (extra or {}),
            input=json.dumps(told).encode(),
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 0
        assert done.stdout == b"" or done.stdout.count(b"\n") == 1
        return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else None

    return call


def one(atlas: Atlas, *args: str, who: str = "one") -> Any:
    """The data of a command of the tool's session."""
    done = atlas("--json", *args, CLAUDE_CODE_SESSION_ID=who)
    assert done.code == 0, done
    return done.data


@pytest.fixture
def other(repo: Path, atlas: Atlas) -> str:
    """A session that holds src/ and gpu0."""
    found = one(atlas, "begin", "--actor", "bob", who="two")["id"]
    one(atlas, "lease", "take", "path:src", "gpu0", "--why", "all of it", who="two")
    return str(found)


def test_a_session_starts_with_the_digest_and_goes_on_after_a_compaction(
    repo: Path, hook: Hook, atlas: Atlas, tmp_path: Path
) -> None:
    file = tmp_path / "env file"
    said = [
        hook("session-start", source=source, extra={"CLAUDE_ENV_FILE": str(file)})
        for source in ("startup", "compact")
    ]
    assert all(one["hookEventName"] == "SessionStart" for one in said)
    me = one(atlas, "session", "show")
    assert me["id"].startswith("claude-")
    assert [
        f"{verb} {me['id']}" in text["additionalContext"]
        for verb, text in zip(("are", "go on as"), said, strict=True)
    ]
    assert "git atlas begin --goal" in said[1]["additionalContext"]
    assert "you hold: nothing" in said[1]["additionalContext"], "the digest is whole again"
    assert file.read_text() == "export CLAUDE_CODE_SESSION_ID=one\n" * 2
    hook("session-start", extra={"CLAUDE_ENV_FILE": str(file), "CLAUDE_CODE_SESSION_ID": "one"})
    assert file.read_text().count("export") == 2, "what the tool says itself need not be said again"
    assert one(atlas, "session", "list")["total"] == 1
    hook("session-start", session_id="another")
    assert one(atlas, "session", "list")["total"] == 2


def test_a_digest_that_is_too_long_for_the_tool_is_cut_and_says_so(
    repo: Path, hook: Hook, atlas: Atlas
) -> None:
    one(atlas, "begin")
    one(atlas, "session", "offer", "--slots", "1")
    one(atlas, "config", "set", "status_words", "20000")
    words = ("status", "write", "-m", "many words of a status é\n" * 700)
    one(atlas, "begin", "--goal", "second", who="two")
    one(atlas, *words, who="two")
    task = one(atlas, "task", "add", "a job", who="two")["id"]
    one(atlas, "task", "assign", task, who="two")
    for _ in range(2):
        text = hook("session-start")["additionalContext"]
        assert len(text) < 10_000
        assert "é" in text and "was assigned to you" not in text
        assert text.endswith("(cut here: git atlas begin prints all of it)\n")
    # what was cut was not told: neither the notice, nor the status, which nothing supersedes yet
    whole = ("status", "write", "--replace", "-m", "x")
    assert atlas(*whole, CLAUDE_CODE_SESSION_ID="one").code in (3, 5)
    said = atlas("begin", CLAUDE_CODE_SESSION_ID="one")
    assert said.out.count("many words of a status é") == 700
    assert "was assigned to you" in said.err and "as before:" not in said.out
    assert "was assigned to you" not in atlas("begin", CLAUDE_CODE_SESSION_ID="one").err
    one(atlas, *whole)


def test_a_refusal_to_begin_is_said_and_fails_nothing(repo: Path, hook: Hook) -> None:
    said = hook("session-start", extra={"ATLAS_SESSION": "gone-261129-aaaaaa"})
    assert "stop 5" in said["additionalContext"]


def test_the_end_gives_leases_back_and_what_owes_a_word_is_unfinished(
    repo: Path, hook: Hook, atlas: Atlas, other: str, git: Git
) -> None:
    hook("session-start")
    me = one(atlas, "lease", "take", "gpu1", "--why", "w")["holder"]
    (repo / "x.md").write_text("x\n")
    one(atlas, "artifact", "put", "note", "x.md")
    assert hook("session-end", reason="other") is None
    assert {row["resource"]: row["holder"] for row in one(atlas, "lease", "list")["items"]} == {
        "path:src": other,
        "gpu0": other,
    }
    assert one(atlas, "session", "show", me)["state"] == "ended"
    head = atlas("git", "rev-parse", "atlas").out
    assert hook("session-end") is None
    assert atlas("git", "rev-parse", "atlas").out == head
    coder = hook_begun(hook, atlas, "coder")
    trailers = f"Atlas-Session: {coder}\nAtlas-Word: none"
    git("commit", "-q", "--allow-empty", "-m", f"work\n\n{trailers}")
    assert hook("session-end", session_id="coder") is None
    git("reset", "-q", "--hard", "HEAD~")  # another machine has no commit of it
    git("reflog", "expire", "--expire=now", "--all")
    idle = hook_begun(hook, atlas, "idle")
    assert hook("session-end", session_id="idle") is None
    rows = one(atlas, "begin", who="two")["unfinished"]
    assert {row["id"]: row["owes"] for row in rows} == {me: "1 record", coder: "1 commit"}
    assert one(atlas, "session", "show", idle)["state"] == "ended"
    again = hook_begun(hook, atlas, "coder")  # resumed, it has the duty; closed anew, it left it
    assert hook("session-end", session_id="coder") is None
    rows = one(atlas, "begin", who="two")["unfinished"]
    assert {row["id"]: row["owes"] for row in rows} == {me: "1 record", again: "1 commit"}
    both = ("session", "adopt", me, again, "--why", "go on")
    assert one(atlas, *both, who="two")["adopted_ids"] == [me, again]
    assert one(atlas, "begin", who="two")["unfinished"] == []
    assert atlas("verify", "--full").code == 0


def hook_begun(hook: Hook, atlas: Atlas, who: str) -> str:
    """The session that a tool's start has begun."""
    hook("session-start", session_id=who)
    return str(one(atlas, "session", "show", who=who)["id"])


def test_the_end_gives_claims_back_as_no_attempt_that_failed(
    repo: Path, hook: Hook, atlas: Atlas
) -> None:
    one(atlas, "begin")
    me = one(atlas, "session", "show")["id"]
    task = one(atlas, "task", "add", "measure")["id"]
    one(atlas, "task", "claim", task)
    assert hook("session-end", reason="other") is None
    assert one(atlas, "session", "show", me)["state"] == "ended", "the board shows by itself"
    row = one(atlas, "task", "show", task)
    assert (row["state"], row["retries"], row["generation"]) == ("ready", 0, 1)
    one(atlas, "begin", who="two")
    assert one(atlas, "task", "next", "--claim", who="two")["id"] == task
    assert atlas("verify", "--full").code == 0


def test_a_session_whose_writes_are_parked_is_not_ended(
    repo: Path, hook: Hook, atlas: Atlas
) -> None:
    """As `atlas end` stops until they are settled."""
    me = one(atlas, "begin")["id"]
    one(atlas, "status", "write", "-m", "done")
    written = atlas("git", "rev-parse", "atlas").out.strip()
    one(atlas, "lease", "take", "gpu1", "--why", "w")
    message = atlas("git", "log", "-1", "--format=%B", written).out
    other = re.sub("Atlas-Operation: .*", "Atlas-Operation: other", message)
    oid = atlas(
        "git",
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@x",
        "commit-tree",
        "atlas^{tree}",
        "-p",
        "atlas",
        "-m",
        other,
    )
    assert oid.code == 0, oid
    atlas("git", "update-ref", "refs/atlas/parked/other", oid.out.strip())
    assert one(atlas, "parked", "list")["items"]
    assert hook("session-end") is None
    assert one(atlas, "session", "show", me)["state"] == "live"
    assert one(atlas, "lease", "list")["items"] == []


def test_a_lease_that_a_running_command_needs_is_kept(repo: Path, hook: Hook, atlas: Atlas) -> None:
    me = one(atlas, "begin")["id"]
    end = f"{shlex.join(argv('session-end'))} <<'E'\n" + json.dumps({"session_id": "one"}) + "\nE"
    one(
        atlas, "lease", "run", "gpu1", "--why", "w", "--", "sh", "-c", f"unset ATLAS_SESSION\n{end}"
    )
    assert one(atlas, "session", "show", me)["state"] == "ended"
    released = [
        row for row in one(atlas, "log")["items"] if row["subject"].startswith("lease: release")
    ]
    assert len(released) == 1, "by `lease run`, once its command was over"


def test_an_edit_of_what_another_leases_is_told(
    repo: Path, hook: Hook, atlas: Atlas, other: str, git: Git
) -> None:
    one(atlas, "begin")

    def about(path: object, key: str = "file_path", **more: Any) -> Any:
        found = hook(
            "edit", tool_name="Edit", tool_input={key: str(path), "new_string": "x"}, **more
        )
        return found and {key: re.sub(r" for .* more", "", text) for key, text in found.items()}

    said = about(repo / "src/x.py")
    assert list(said) == ["hookEventName", "additionalContext"]
    assert all(
        word in said["additionalContext"] for word in (other, "path:src", "all of it", "advisory")
    )
    assert about("src/not/there/yet.ipynb", "notebook_path") == said
    assert about("x.py", at=repo / "src") == said
    assert [about(path) for path in ("README.md", "/etc/hostname", "/", "\0", "")] == [None] * 5
    assert about(repo / "src/x.py", session_id="two") is None, "one's own"
    child = one(atlas, "begin", "--parent", other, who="three")["id"]
    assert about(repo / "src/x.py", extra={"ATLAS_SESSION": child}) is None, "an ancestor's"
    git("worktree", "add", "-q", "--detach", "../linked")
    begin = ("-C", str(repo.parent / "linked"), "begin")
    one(atlas, *begin)
    assert about(repo.parent / "linked/src/x.py") == said, "judged where the file is"
    assert hook("edit", tool_input="src/x.py") is None


@pytest.mark.parametrize(
    ("choice", "key"),
    [("stop", "permissionDecision"), ("warn", "additionalContext"), ("off", None)],
)
def test_the_policy_says_what_a_lease_does(
    choice: str,
    key: str | None,
    repo: Path,
    hook: Hook,
    other: str,
    env: dict[str, str],
    atlas: Atlas,
) -> None:
    one(atlas, "begin")
    hand = Hand(repo, env)
    hand.commit(
        {
            "atlas.yaml": edited(hand.read("atlas.yaml"), "version: 1", "version: 2")
            + f'preconditions: {{"leases": "{choice}"}}\n'.encode()
        }
    )
    said = hook("edit", tool_input={"file_path": "src/x.py"})
    assert (said and list(said)[1]) == key
    assert choice != "stop" or (
        said["permissionDecision"] == "deny" and other in said["permissionDecisionReason"]
    )


ODD = {
    "closed": "exec <&-; {}",
    "garbage": "echo nonsense | {}",
    "another shape": "echo '[1, 2]' | {}",
    "nothing": ": | {}",
    "endless": "yes '{{' | {}",
    "huge": "head -c 40000000 /dev/zero | {}",
    "deep": "head -c 2000000 /dev/zero | tr '\\0' '[' | {}",
    "never closed": '(echo \'{{"session_id": "one"}}\'; exec sleep 30) | {}',
    "silent": "sleep 30 | {}",
}


@pytest.mark.parametrize("name", FORMS)
def test_whatever_is_given_it_answers_and_ends(
    name: str, repo: Path, atlas: Atlas, env: dict[str, str]
) -> None:
    one(atlas, "begin")
    children = {}
    for case, script in ODD.items():
        # The hook's answer and code are this shell's, whatever feeds it; a feeder that is left over
        # is not waited for.
        line = script.format(f'{{ {shlex.join(argv(name))}; echo "end $?"; }}')
        children[case] = subprocess.Popen(
            ["bash", "-c", line], cwd=repo, env=env, stdout=subprocess.PIPE, start_new_session=True
        )
    for case, child in children.items():
        assert child.stdout is not None
        lines = []
        while not lines or not lines[-1].startswith(b"end"):
            lines.append(child.stdout.readline())
            assert lines[-1], (case, lines)
        os.killpg(child.pid, 9)
        child.wait()
        child.stdout.close()
        assert lines[-1] == b"end 0\n", (case, lines)
        assert [bool(json.loads(line)) for line in lines[:-1]] in ([], [True]), case


def test_a_terminal_is_not_waited_for(repo: Path, env: dict[str, str]) -> None:
    keyboard, terminal = pty.openpty()
    done = subprocess.run(
        argv("session-start"), cwd=repo, env=env, stdin=terminal, capture_output=True, timeout=60
    )
    os.close(keyboard), os.close(terminal)
    assert (done.returncode, "additionalContext" in done.stdout.decode()) == (0, True)


@pytest.mark.parametrize("name", FORMS)
def test_without_a_store_or_with_a_broken_one_it_fails_nothing(
    name: str, bare_project: Path, atlas: Atlas, hook: Hook, tmp_path: Path
) -> None:
    edit = {"tool_input": {"file_path": "src/x.py"}}
    assert hook(name, **edit) is None
    assert hook(name, at=tmp_path, **edit) is None
    assert hook(name, **{**edit, "cwd": str(tmp_path / "gone")}) is None
    assert not (bare_project / ".git/atlas").exists()
    assert atlas("init").code == 0
    shutil.rmtree(bare_project / ".git/atlas/store.git/objects")
    said = hook(name, **edit)
    assert said is None or "atlas: error" in said["additionalContext"]


def test_the_commands_in_the_settings_work_without_atlas_on_path(
    begun: str, repo: Path, env: dict[str, str], tmp_path: Path
) -> None:
    commands = {event: group["hooks"][0]["command"] for event, group in HOOKS.items()}
    bare = {key: value for key, value in env.items() if key != "PYTHONPATH"}
    bare |= {
        "PATH": f"{Path(shutil.which('git') or '').parent}:/usr/bin:/bin",
        "CLAUDE_PROJECT_DIR": str(repo),
    }

    def said(event: str, **given: str) -> bytes:
        done = subprocess.run(
            ["sh", "-c", commands[event]],
            cwd=tmp_path,
            env=bare,
            capture_output=True,
            input=json.dumps({"session_id": "one", "cwd": str(repo), **given}).encode(),
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert b"SessionStart" in said("SessionStart")
    assert said("SessionEnd") == said("PreToolUse") == b""
    shutil.rmtree(repo / ".atlas")
    (repo / ".atlas").mkdir()
    for name in (".atlas/atlas", "atlas"):  # as the project's own files may bring it
        (repo / name).write_text("#!/bin/sh\ntouch $CLAUDE_PROJECT_DIR/owned\n")
        (repo / name).chmod(0o755)
    assert (
        b"SessionStart" in said("SessionStart") and said("SessionEnd") == said("PreToolUse") == b""
    )
    (repo / ".git/atlas/atlas").unlink()
    assert said("SessionStart") == b"" and not (repo / "owned").exists()


def test_before_an_edit_it_is_told_once_that_it_has_not_begun_and_what_concerns_it(
    repo: Path, atlas: Atlas, hook: Hook
) -> None:
    given = {"tool_input": {"file_path": str(repo / "src/x.py")}}
    assert "You have not begun" in hook("edit", **given)["additionalContext"]
    assert hook("edit", **given) is None, "once"
    mine = one(atlas, "begin")["id"]
    one(atlas, "begin", "--actor", "bob", who="two")
    post = ("signal", "post", "alert", "-m", "x.py drops the last line")
    one(atlas, *post, "--about", "src/y.py", who="two")
    assert hook("edit", **given) is None, "on another file"
    for more in (("--about", "src/x.py"), ("--for", mine)):
        one(atlas, *post, *more, who="two")
        text = hook("edit", **given)["additionalContext"]
        assert "information, not instruction" in text
        assert "│ alert: x.py drops the last line" in text
        assert hook("edit", **given) is None, "once"


def lean(*given: str) -> list[str]:
    """The hook as a tool's settings call it, by an interpreter that has no packages: what it loads
    of ours is what a quick answer needs."""
    code = (
        "import sys, os, runpy; sys.argv = ['hook.py', *sys.argv[1:]]; end = os._exit\n"
        "def ended(code):\n"
        "    loaded = [name for name in sys.modules if name.startswith('atlas_cli.')]\n"
        "    sys.stderr.write(' '.join(sorted(loaded))); sys.stderr.flush(); end(code)\n"
        "os._exit = ended\n"
        f"runpy.run_path({str(ROOT / 'atlas_cli/hook.py')!r}, run_name='__main__')\n"
    )
    return [sys.executable, "-I", "-S", "-c", code, *given]


def test_an_edit_that_meets_nothing_is_answered_from_the_cache_alone(
    repo: Path, atlas: Atlas, hook: Hook, env: dict[str, str], git: Git
) -> None:
    one(atlas, "begin")
    bob = one(atlas, "begin", "--actor", "bob", who="two")["id"]

    def edit(path: str, **more: Any) -> tuple[bool, bytes]:
        """Whether the quick answer was enough, and what was said."""
        told = {"session_id": "one", "cwd": str(repo), "tool_input": {"file_path": path}, **more}
        done = subprocess.run(
            lean("edit"), cwd=repo, env=env, input=json.dumps(told).encode(), capture_output=True
        )
        assert done.returncode == 0, done
        loaded = done.stderr.decode().split()
        assert "atlas_cli.hooks.tool" in loaded, done
        return "atlas_cli.env.env" not in loaded, done.stdout

    assert edit("src/x.py") == (False, b""), "the first draws the cache"
    assert edit("src/x.py") == edit("src/new/deep.py") == edit(str(repo / "a.md")) == (True, b"")
    assert edit("src/x.py", session_id="three")[0] is False, "who has not begun is told"
    assert edit("") == (True, b"") and edit("src/..")[0] is False
    assert edit("src/x.py", agent_id="helper")[0] is False
    one(atlas, "status", "write", "-m", "bob's part", "--on", "docs", who="two")
    assert edit("src/x.py") == (False, b""), "something is new"
    assert edit("src/x.py") == (True, b""), "and was looked at, once for this head"
    post = ("signal", "post", "alert", "--about", "src/y.py", "-m", "it drops the last line")
    one(atlas, *post, who="two")
    assert edit("src/x.py") == (False, b"") and edit("src/x.py") == (True, b"")
    quick, said = edit("src/y.py")
    assert not quick and b"drops the last line" in said
    one(atlas, "lease", "take", "path:src", "--why", "all of it", who="two")
    quick, said = edit("src/x.py")
    assert not quick and bob.encode() in said and b"all of it" in said
    assert edit("other/x.md")[1] == b""
    assert edit("other/x.md") == (True, b"")
    one(atlas, "lease", "release", "path:src", who="two")
    git("worktree", "add", "-q", "--detach", "../linked")
    linked = repo.parent / "linked/src/x.py"
    (repo.parent / "way").symlink_to(repo.parent / "linked")
    one(atlas, "-C", str(repo.parent / "linked"), "begin")
    edit(str(linked))
    assert edit(str(linked)) == edit(str(repo.parent / "way/src/x.py")) == (True, b"")
    assert edit("/etc/hostname")[1] == b""


@pytest.mark.parametrize("far", [False, True], ids=["silent", "seen"])
def test_a_quick_edit_is_a_sign_of_life(far: bool, repo: Path, atlas: Atlas, hook: Hook) -> None:
    me = one(atlas, "begin")["id"]
    hook("edit", tool_input={"file_path": "src/x.py"})
    sign = repo / ".git/atlas/signs" / me
    os.utime(sign, (1, 1))
    if far:
        hook("edit", tool_input={"file_path": "src/x.py"})
    assert (sign.stat().st_mtime > 1) is far
