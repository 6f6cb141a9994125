"""`atlas links`: what a move in the working tree breaks, staged or not, and what --fix writes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from atlas_cli.checks import renames
from atlas_cli.checks.links import broken
from atlas_cli.store.git import Git as Door

from ..conftest import Atlas, Git
from ..store.snap import difference, picture
from .test_day import ok

TEXT = "a text that is long enough to be known again\n" * 3


def test_a_move_breaks_links_and_fix_corrects_them(repo: Path, atlas: Atlas, git: Git) -> None:
    (repo / "docs").mkdir()
    (repo / "docs/a.md").write_text(f"{TEXT}back to [all](../README.md)\n")
    (repo / "docs/old.md").write_text("old\n")
    (repo / "README.md").write_bytes(
        b"see [a](docs/a.md#x),\r\n[old](docs/old.md) and [dead](nowhere.md)\r\n\xff"
    )
    (repo / "README.md").chmod(0o640)
    (repo / "link.md").symlink_to("README.md")
    git("add", "."), git("commit", "-qm", "docs", "--no-verify")
    assert atlas("links").out.startswith("no link is broken (0 files moved or deleted)\n")
    (repo / "guide/one").mkdir(parents=True)
    (repo / "docs/a.md").rename(repo / "guide/one/a b.md")  # by hand: git is told of neither side
    git("rm", "-q", "docs/old.md")
    before = picture(repo, (".atlas", ".git/atlas"))
    done = atlas("links", "--json")
    assert (done.code, done.json["error"]["code"]) == (9, "links")
    found = [
        (item["file"], item["line"], item["written"], item["corrected"])
        for item in done.json["error"]["details"]["items"]
    ]
    assert found == [
        ("README.md", 1, "docs/a.md#x", "guide/one/a%20b.md#x"),
        ("README.md", 2, "docs/old.md", None),
        ("guide/one/a b.md", 4, "../README.md", "../../README.md"),
    ]
    assert difference(before, picture(repo, (".atlas", ".git/atlas"))) == []
    done = atlas("links", "--fix", cwd=repo / "guide")
    assert done.code == 9 and "2 corrected" in done.err and "docs/old.md is gone" in done.err
    assert difference(before, picture(repo, (".atlas", ".git/atlas"))) == [
        "README.md",
        "guide/one/a b.md",
    ]
    assert (
        (repo / "README.md")
        .read_bytes()
        .startswith(b"see [a](guide/one/a%20b.md#x),\r\n[old](docs/old.md)")
    )
    assert (repo / "README.md").read_bytes().endswith(b"\r\n\xff")
    assert (repo / "README.md").stat().st_mode & 0o777 == 0o640 and (repo / "link.md").is_symlink()
    (repo / "docs").mkdir(exist_ok=True)
    (repo / "docs/old.md").write_text("there again\n")
    assert (atlas("links").code, atlas("links", "--fix", "--json").data["items"]) == (0, [])


def test_nothing_is_written_through_a_link(bare_project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_text("[x](../x.md)\n")
    (bare_project / "docs").symlink_to(tmp_path / "outside")
    (bare_project / "a.md").symlink_to(tmp_path / "outside/a.md")
    (bare_project / "b.md").write_text("b")
    files = renames.Worktree(Door(None), bare_project, {})
    assert [
        files.write(path, b"new") for path in ("docs/a.md", "a.md", "../outside/a.md", "b.md")
    ] == [False] * 3 + [True]
    assert (tmp_path / "outside/a.md").read_text() == "[x](../x.md)\n" and files.read(
        "a.md"
    ) is None


def test_commits_and_the_index_are_compared_in_the_same_way(
    bare_project: Path, git: Git, home: Path
) -> None:
    names = [b"caf\xe9.md", b"new\nline.md", b"_.md", b"plain.md"]
    top = os.fsencode(bare_project)
    for name in names:
        Path(os.fsdecode(top + b"/" + name)).write_bytes(TEXT.encode() + name)
    page = b"[1](caf%E9.md) [2](new%0Aline.md) [3](_.md) [4](PLAIN.md) [5](plain.md)\n"
    (bare_project / "INDEX.MD").write_bytes(page)
    (bare_project / "other.md").write_text("none\n")
    git("add", "."), git("commit", "-qm", "docs")
    for name in names:
        subprocess.run([b"git", b"mv", name, b"src/"], cwd=bare_project, check=True)
    door = Door(None, str(bare_project), hermetic=False)
    staged = broken(*renames.between(door, "HEAD", None))
    assert [one.corrected for one in staged] == [
        "src/caf%E9.md",
        "src/new%0Aline.md",
        "src/_.md",
        "src/plain.md",
    ]
    git("commit", "-qm", "moved")
    assert broken(*renames.between(door, "HEAD~1", "HEAD")) == staged
    assert broken(*renames.between(door, "HEAD", None)) == []
    subprocess.run(["git", "rm", "-q", "-r", "src"], cwd=bare_project, check=True)
    assert [one.corrected for one in broken(*renames.between(door, "HEAD~1", None))] == [None] * 4
    for number in range(120):  # more names than are looked for
        (bare_project / f"n{number}.md").write_text(f"{TEXT}{number}")
    (bare_project / "INDEX.MD").write_text("[x](n7.md)")
    git("add", "."), git("commit", "-qm", "many"), git("rm", "-q", "n*.md")
    assert [one.written for one in broken(*renames.between(door, "HEAD", None))] == ["n7.md"]
    door.close()


def test_current_records_and_texts_that_name_a_moved_path_are_listed(
    begun: str, repo: Path, atlas: Atlas, git: Git
) -> None:
    (repo / "d").mkdir()
    (repo / "d/x.md").write_text("text\n"), (repo / "d/z.md").write_text("other words\n")
    (repo / "a.py").write_text("open('d/x.md')\n")
    git("add", "-A"), git("commit", "-qm", "files")
    ok(atlas, "status", "write", "-m", "d/x.md is good")
    job = ok(atlas, "task", "add", "mend it", "-m", "see d/x.md")["id"]
    named = ok(atlas, "task", "add", "mend the other", "--on", "d/x.md")["id"]
    over = ok(atlas, "task", "add", "d/x.md is short")["id"]
    ok(atlas, "task", "claim", over), ok(atlas, "task", "done", over)
    git("mv", "d/x.md", "d/y.md"), git("rm", "-q", "d/z.md")
    shown = atlas("links").err
    refs = {f"task:{job}", f"task:{named}"}
    line = re.search(
        r"status:main@1, (\S+), (\S+), a.py still name d/x.md, which is now d/y.md", shown
    )
    assert line and {*line.groups()} == refs, shown
    ok(atlas, "status", "write", "-m", "all is well")  # the status names it no more
    git("mv", "d/y.md", "d/x.md")
    git("mv", "d/x.md", "d/w.md")
    assert "status:main" not in atlas("links").err
