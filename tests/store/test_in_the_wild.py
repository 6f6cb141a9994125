"""Repositories, files and surroundings as people have them: what is theirs stays, and Atlas works
or names the thing."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import NOTEBOOK, Atlas, Git, command

Looks = dict[str, tuple[str, str]]  # what was looked at: its state, and what is said of it


def test_a_projects_own_folder_of_that_name_is_left_alone(
    bare_project: Path, atlas: Atlas, git: Git
) -> None:
    own = bare_project / ".atlas"
    own.mkdir()
    (own / "atlas").write_text("my own notes, never committed\n")
    made = atlas("init")
    assert made.code == 0 and ".atlas is a folder of yours" in made.err
    assert atlas("begin", "--goal", "g").code == 0
    (own / "rules.md").write_text("one\n")
    git("add", "-f", ".atlas/rules.md")
    git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "ours")
    (own / "rules.md").write_text("two\n")
    git("commit", "-qam", "ours, again")  # (their folder: no view that a commit took in)
    assert atlas("status", "show").code == 0
    assert sorted(path.name for path in own.iterdir()) == ["atlas", "rules.md"]
    assert (own / "atlas").read_text() == "my own notes, never committed\n"


def test_git_sees_no_view_whatever_the_project_ignores(
    bare_project: Path, tmp_path: Path, atlas: Atlas, git: Git
) -> None:
    (bare_project / ".gitignore").write_text("*\n!*/\n!*.md\n!*.yaml\n!.gitignore\n")
    git("add", ".gitignore")
    git("commit", "-qm", "an allow-list")
    assert atlas("init", "--no-hooks").code == 0
    git("worktree", "add", "-q", "../wt")
    assert atlas("status", "show", cwd=tmp_path / "wt").code == 0
    assert (tmp_path / "wt/.atlas/AS-OF").exists() and git("status", "--short") == ""
    git("worktree", "remove", "../wt")
    assert not (tmp_path / "wt").exists()


def test_a_folder_that_is_gone_says_nothing_of_the_store(
    repo: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'rmdir "{gone}"; atlas "$@"'
    del env["PYTHONPATH"]  # (Python itself does not start with a relative one)
    for words, code in ((("-C", str(repo), "status", "show"), 0), (("status", "show"), 7)):
        done = subprocess.run(
            ["sh", "-c", script, "sh", *words], cwd=gone, env=env, capture_output=True, text=True
        )
        gone.mkdir()
        assert done.returncode == code and "damaged" not in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and "internal" not in done.stderr


def test_what_a_group_shares_its_members_may_write(
    bare_project: Path, env: dict[str, str], git: Git
) -> None:
    git("init", "-q", "--shared=group")
    script = 'umask 027; for words in "init --no-hooks" "begin --goal x" "lease run gpu0 --why x -- touch mine"; do'
    script += f' "{sys.executable}" -m atlas_cli $words || exit 1; done'
    subprocess.run(["sh", "-c", script], cwd=bare_project, env=env, check=True, capture_output=True)
    home = bare_project / ".git/atlas"
    closed = [
        path
        for path in home.rglob("*")
        if not path.stat().st_mode & stat.S_IWGRP
        and "objects" not in path.parts
        and path.name != "atlas"  # (the launcher is nobody's to write)
    ]
    folders = [path for path in home.rglob("*") if path.is_dir()]
    assert closed == [] and all(path.stat().st_mode & stat.S_IWGRP for path in folders)
    mode = stat.S_IMODE((bare_project / "mine").stat().st_mode)
    assert mode == 0o640, "what the command makes is its caller's affair"


@pytest.mark.parametrize("form", ["utf-8-sig", "utf-16"])
def test_a_text_of_a_windows_editor_is_read_as_it_was_meant(
    begun: str, repo: Path, atlas: Atlas, form: str
) -> None:
    plan = "## First\r\nname: a\r\n\r\nits text\r\n\r\n## Second\r\nname: b\r\n"
    (repo / "plan.md").write_bytes(plan.encode(form))
    assert len(atlas("task", "add", "--plan", "plan.md", "--json").data["items"]) == 2
    (repo / "said.md").write_bytes("all is\r\nwell\r\n".encode(form))
    assert atlas("status", "write", "--file", "said.md").code == 0
    shown = atlas("status", "show", "--json").data["body"]
    assert shown.endswith("all is\nwell\n") and "\ufeff" not in shown


def test_a_file_that_is_too_large_is_refused_unread(
    begun: str, repo: Path, env: dict[str, str]
) -> None:
    with (repo / "big").open("wb") as file:
        file.truncate(3 << 30)
    for words in ("artifact put big big", "status write --file big", "task add t --file big"):
        script = f'ulimit -v 1500000; "{sys.executable}" -m atlas_cli {words}'
        done = subprocess.run(
            ["sh", "-c", script], cwd=repo, env=env, capture_output=True, text=True
        )
        assert done.returncode == 6 and "big: 3,221,225,472 bytes; at most " in done.stderr, (
            done.stderr
        )


def test_what_python_leaves_out_is_not_needed(
    bare_project: Path, home: Path, env: dict[str, str], git: Git
) -> None:
    (home / ".state/atlas").mkdir(parents=True)  # (a store may be there: the whole program looks)
    (bare_project / "new").write_text("x\n")
    git("add", "new")
    for level in ("1", "2"):
        argv = [sys.executable, "-c", "from atlas_cli.hook import run; run()", "pre-commit"]
        own = env | {"PYTHONOPTIMIZE": level}
        done = subprocess.run(argv, cwd=bare_project, env=own, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("left", [b"\377\376\375", bytes(13), b"", b"two words"])
def test_a_machines_id_that_is_none_is_made_anew(
    begun: str, repo: Path, atlas: Atlas, left: bytes
) -> None:
    file = repo / ".git/atlas/machine"
    file.write_bytes(left)
    assert atlas("lease", "take", "gpu0", "--why", "x").code == 0
    made = file.read_text().strip()
    assert len(made) == 12 and bytes.fromhex(made)
    assert atlas("lease", "list", "--json").data["items"][0]["machine"] == made
    assert os.access(file, os.R_OK)


def test_where_the_disk_folds_case_two_spellings_are_one_file(
    repo: Path, atlas: Atlas, git: Git
) -> None:
    git("config", "core.ignorecase", "true")
    (repo / "docs").mkdir()
    (repo / "docs/\u00e9t\u00e9.md").write_text("composed\n")
    git("add", ".")
    git("commit", "-qm", "docs")
    ids = [atlas("begin", "--goal", "g", "--new", "--json").data["id"] for _ in range(2)]
    for first, second, whole in (
        ("src/x.py", "SRC/X.py", "src/x.py"),
        ("docs/\u00e9t\u00e9.md", "DOCS/e\u0301te\u0301.md", "docs/\u00e9t\u00e9.md"),
        ("SRC/New.py", "src/new.py", "src/New.py"),
    ):
        take = ("lease", "take", "--why", "w")
        held = atlas(*take, f"path:{first}", "--json", "--session", ids[0])
        assert held.code == 0 and held.data["resource"] == f"path:{whole}"
        assert atlas(*take, f"path:{second}", "--session", ids[1]).code == 4
    git("config", "core.ignorecase", "false")
    assert atlas(*take, "path:SRC/X.py", "--session", ids[1]).code == 0


def test_a_file_outside_a_sparse_checkout_is_not_gone(
    bare_project: Path, atlas: Atlas, git: Git
) -> None:
    for folder in ("docs", "app"):
        (bare_project / folder).mkdir()
    (bare_project / "docs/a.md").write_text("[s](../app/x.md)\n")
    (bare_project / "app/x.md").write_text("x\n")
    git("add", ".")
    git("commit", "-qm", "docs")
    assert atlas("init", "--no-hooks").code == 0
    git("sparse-checkout", "set", "app")
    assert atlas("links").code == 0
    git("mv", "app/x.md", "app/z.md")
    for words in (("links",), ("links", "--fix")):
        seen = atlas(*words)
        assert seen.code == 9 and "docs/a.md:1: ../app/x.md -> ../app/z.md" in seen.err
    assert "git sparse-checkout add docs && atlas links --fix" in seen.err
    git("sparse-checkout", "add", "docs")
    assert atlas("links", "--fix").code == 0
    assert (bare_project / "docs/a.md").read_text() == "[s](../app/z.md)\n"


def _looks(repo: Path, env: dict[str, str], *words: str, before: tuple[str, ...] = ()) -> Looks:
    done = subprocess.run(
        [*before, *command("doctor", "--json", *words)],
        cwd=repo,
        env=env,
        capture_output=True,
        check=False,
    )
    said = json.loads(done.stdout)
    data = said["data"] or said["error"]["details"]
    return {row["what"]: (row["state"], row["text"]) for row in data["checks"]}


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="there is no setpriv")
def test_doctor_sees_what_keeps_a_clone_from_working(
    begun: str, repo: Path, env: dict[str, str]
) -> None:
    kept = ("permissions", "notebook", "machine", "clock", "hooks")
    assert [_looks(repo, env)[what][0] for what in kept] == ["ok", "ok", "ok", "ok", "warn"]
    home = repo / ".git/atlas"
    barred = next(path for path in (home / "store.git/objects").iterdir() if len(path.name) == 2)
    barred.chmod(0o555)
    few = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
    state, text = _looks(repo, env, before=few)["permissions"]
    barred.chmod(0o755)
    assert (state, str(barred) in text, 'sudo chown -R "$USER"' in text) == (
        "bad",
        True,
        True,
    )
    state, text = _looks(repo, env | {"ATLAS_CLOCK_OFFSET": "-7200"})["clock"]
    assert (state, "ahead of its clock now" in text) == ("warn", True)
    (home / "machine").write_bytes(b"\0" * 12)
    assert _looks(repo, env)["machine"][0] == "warn"
    assert _looks(repo, env, "--fix")["machine"][0] == "fixed"
    assert _looks(repo, env)["machine"][0] == "ok"
    for end in ("", "-wal", "-shm"):
        (home / f"{NOTEBOOK}{end}").unlink(missing_ok=True)
    (home / NOTEBOOK).mkdir()
    state, text = _looks(repo, env)["notebook"]
    assert (state, "is asked for again" in text) == ("bad", True)


def test_a_session_is_known_below_a_path_that_sqlite_does_not_open(
    tmp_path: Path, atlas: Atlas, git: Git, env: dict[str, str]
) -> None:
    deep = tmp_path.joinpath(*[f"{number:02}-{'long' * 15}" for number in range(10)]) / "repo"
    deep.mkdir(parents=True)
    git("init", "-q", cwd=deep)
    for words in (("init",), ("begin", "--goal", "g"), ("status", "write", "-m", "deep")):
        done = atlas(*words, cwd=deep)
        assert done.code == 0, done
    kept = list(Path(env["XDG_STATE_HOME"]).glob(f"atlas/far/*/{NOTEBOOK}"))
    assert len(kept) == 1 and kept[0].stat().st_size > 0
    assert atlas("uninstall", "--discard", cwd=deep).code == 0
    assert not kept[0].exists()
