"""Which files Atlas writes and reads by path, whoever wrote the record, and whatever lies at the
path."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from atlas_cli import records
from atlas_cli.model import names, times
from atlas_cli.records import artifact, session, status
from atlas_cli.store import files
from atlas_cli.worktree.view import FORM

from ..conftest import NOTEBOOK, Atlas, Git
from ..records.test_places import about, barrier, entry, job, life, outcome, row
from .hand import Hand, Seen
from .snap import difference, picture

OWN = {"AS-OF", "atlas", ".lock", "atlas.yaml", ".gitignore"}
Parts = tuple[bytes, ...]


def planted(hand: Hand, found: Mapping[Parts, bytes]) -> None:
    """A commit with files at literal paths, which no index would hold."""

    def tree(oid: str | None, rest: Mapping[Parts, bytes]) -> str:
        lines = {}
        for line in filter(None, hand.git("ls-tree", "-z", oid).split("\0") if oid else ()):
            lines[os.fsencode(line.partition("\t")[2])] = line.partition("\t")[0]
        deeper: dict[bytes, dict[Parts, bytes]] = {}
        for path, data in rest.items():
            if len(path) == 1:
                lines[path[0]] = f"100644 blob {hand.put(data)}"
            else:
                deeper.setdefault(path[0], {})[path[1:]] = data
        for name, inner in deeper.items():
            below = lines.get(name, "").split()
            lines[name] = f"040000 tree {tree(below[2] if below[1:2] == ['tree'] else None, inner)}"
        return hand.git(
            "mktree",
            "-z",
            data=b"".join(b"%s\t%s\0" % (os.fsencode(v), k) for k, v in lines.items()),
        )

    old = hand.head()
    made = hand.git(
        "commit-tree",
        "-p",
        old,
        tree(hand.git("rev-parse", f"{old}^{{tree}}"), found),
        data=b"by hand",
    )
    hand.git("update-ref", "refs/heads/atlas", made, old)


def shown(repo: Path) -> set[str]:
    """The names of the files in a view."""
    root = repo / ".atlas"
    return {
        path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir()
    } - OWN


ESCAPES = [
    "../../x",
    "../../../x",
    "../../.claude/settings.local",
    "../.git/hooks/pre-commit",
    "/tmp/atlas-x",
    "..",
    ".",
    "a/../../../x",
    ".git",
    "agents\0",
    "x" * 300,
    "ＡＧＥＮＴＳ",
    "CON",
]


def escapes() -> dict[Parts, bytes]:
    """Records of every kind that give themselves names which lead elsewhere, where a path of that
    name would lie, and where a whole record lies."""
    found: dict[Parts, bytes] = {}
    for at, name in enumerate(ESCAPES):
        parts = tuple(
            part for part in name.replace("\0", "").encode()[:200].split(b"/") if part
        ) or (b"x",)
        bucket = names.bucket(name).encode()
        found |= {
            (b"status", *parts, b"000", b"000001.md"): entry(name),
            (b"status", b"s%d" % at, b"000", b"000001.md"): entry(name),
            (b"artifacts", *parts, b"0001", b"about.yaml"): about(name, ext="json"),
            (b"artifacts", *parts, b"0001", b"body.json"): b"x\n",
            (b"artifacts", b"a%d" % at, b"0001", b"about.yaml"): about(name, ext="json"),
            (b"artifacts", b"e%d" % at, b"0001", b"about.yaml"): about(
                f"e{at}", ext=f"../../{name}"
            ),
            (b"leases", bucket, *parts[:-1], parts[-1] + b".yaml"): row(name),
            (b"leases", b"00", b"l%d.yaml" % at): row(name),
            (b"sessions", b"261129", *parts[:-1], parts[-1] + b".yaml"): life(name),
            (b"tasks", bucket, *parts[:-1], parts[-1] + b".md"): job(name),
            (b"tasks", b"00", b"t%d.md" % at): job(name),
            (b"results", bucket, *parts, b"about.yaml"): outcome(name),
            (b"gates", b"g%d.yaml" % at): barrier(name),
            (b"inbox", *parts): b"x",
            (b"inbox", *parts, b"HEAD"): b"ref: refs/heads/main\n",
            (b"decisions", *parts[:-1], parts[-1] + b".md"): b"x",
            (b"signals", *parts[:-1], parts[-1] + b".md"): b"x",
        }
    return found


def test_no_record_leads_a_file_out_of_the_view(
    store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path
) -> None:
    repo, (hand, _) = tmp_path / "repo", store
    assert quick("view").code == 0
    before, known = (
        picture(tmp_path, [f"repo/{name}" for name in (".git/atlas", ".atlas", ".git/info")]),
        shown(repo),
    )
    planted(hand, escapes())
    for argv in (
        ["status"],
        ["view"],
        ["begin", "--new"],
        ["artifact", "list"],
        ["task", "list"],
        ["lease", "list"],
        ["gate", "list"],
        ["session", "list"],
        ["decision", "list"],
        [],
        ["log"],
    ):
        done = quick(*argv)
        assert done.code == 0, (argv, done)
        assert "internal" not in done.err
    assert (
        difference(
            before,
            picture(tmp_path, [f"repo/{name}" for name in (".git/atlas", ".atlas", ".git/info")]),
        )
        == []
    )
    assert {name for name in shown(repo) - known if not name.startswith("sessions/")} == set()
    assert all(records.is_shown(name) for name in shown(repo))
    for ref in ("status:s0", "lease:l1", "artifact:a0", "task:t0"):
        assert quick("show", ref).code in (1, 7), ref
    found = quick("verify", "--full", "--json").json["error"]["details"]["violations"]
    assert {one["rule"] for one in found} <= {
        "misplaced",
        "damaged",
        "form",
        "immutable",
        "append_only",
        "unknown_path",
    }
    assert len({one["path"] for one in found}) >= len(ESCAPES) * 10


def test_names_that_tools_obey_are_shown_under_others(
    store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path
) -> None:
    root, (hand, _) = tmp_path / "repo/.atlas", store
    added: dict[str, bytes] = {
        "inbox/CLAUDE.md": b"orders\n",
        "inbox/AGENTS.md": b"orders\n",
        "inbox/agents.txt": b"more\n",
    }
    for name in (
        "agents",
        "claude",
        "gemini",
        "conventions",
        "copilot-instructions",
        "mcp",
        "conftest",
    ):
        added |= {
            status.path_of(name, 1): entry(name),
            artifact.path_of(name, 1): about(name, ext="md"),
            f"{artifact.versions(name)}/0001/body.md": b"x\n",
        }
    added |= {
        artifact.path_of("settings", 1): about("settings", ext="json"),
        "artifacts/cd/settings/0001/body.json": b"x\n",
    }
    added |= {
        artifact.path_of("plain", 1): about("plain", ext="md"),
        "artifacts/a1/plain/0001/body.md": b"x\n",
    }
    hand.commit(added)
    assert quick("view").code == 0
    assert {name for name in shown(root.parent) if names.heeded(name.rpartition("/")[2])} == set()
    assert (
        (root / "artifacts/plain.md").read_bytes()
        == (root / "artifacts/from-store--claude.md.txt").read_bytes()
        == b"x\n"
    )
    assert (root / "inbox/from-forge--CLAUDE.txt").read_bytes() == b"orders\n"
    assert (root / "inbox/from-forge---agents.txt").read_bytes() == b"more\n"
    assert (root / "status/main.md").exists() and (
        root / "status/from-store--agents.md.txt"
    ).exists()
    digest = hashlib.sha256(b"y\n").hexdigest()
    next_one = about("claude", 2, "sql").replace(
        hashlib.sha256(b"x\n").hexdigest().encode(), digest.encode()
    )
    hand.commit(
        {artifact.path_of("claude", 2): next_one, "artifacts/c8/claude/0002/body.sql": b"y\n"}
    )
    assert quick("status").code == 0
    assert [path.name for path in (root / "artifacts").glob("*claude*")] == [
        "from-store--claude.sql.txt"
    ]


def test_what_the_store_has_no_more_leaves_the_view(
    store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path
) -> None:
    root, (hand, seen) = tmp_path / "repo/.atlas", store
    assert quick("view").code == 0
    before = shown(root.parent)
    year = times.rfc3339(times.moment("2026-11-29T14:00:00Z"))[:4]
    now = subprocess.run(
        ["date", "-u", "+%Y-%m-%dT%H:%M:%SZ"], capture_output=True, text=True, check=True
    ).stdout.strip()
    bad = f'---\ntitle: "t"\nrecommended: "a"\nchosen: "a"\nstance: "maybe"\nsession: "x"\nactor: "x"\nat: "{now}"\n---\nw\n'
    hand.commit(
        {
            f"decisions/{year}/11/29-bad-abcdef.md": bad.encode(),
            status.path_of("other", 1): entry("other"),
            artifact.path_of("plan", 3): about("plan", 3, "sql"),
            "artifacts/64/plan/0003/body.sql": b"x\n",
        },
        "forged\n\nAtlas-Session: nobody\n",
    )
    assert quick("status").code == 0
    assert {f"decisions/{year}/11-29-bad-abcdef.md", "artifacts/plan.sql"} <= shown(root.parent)
    assert not (root / "artifacts/plan.txt").exists()
    assert quick("begin", "--new").code == quick("doctor", "--fix").code == 0
    assert {
        name for name in shown(root.parent) ^ before if not name.startswith("sessions/")
    } == set()
    assert (
        not (root / "status/other.md").exists()
        and (root / "artifacts/plan.txt").read_text() == "body\n"
    )
    document = hand.read("status/main/000/000002.md")
    hand.commit({"status/main/000/000002.md": document.replace(b"second", b"forged")})
    assert quick("view").code == 0 and "forged" not in (root / "status/main.md").read_text()
    assert seen.sessions["ann"] in (root / "status/main.md").read_text()


def test_what_an_older_view_showed_is_taken_away(
    store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path
) -> None:
    root, (hand, _) = tmp_path / "repo/.atlas", store
    hand.commit({"inbox/note.md": b"a note\n", "inbox/refs/x.md": b"deeper\n"})
    assert quick("view").code == 0
    for name, data in {
        "inbox/note.md": b"a note\n",
        "inbox/refs/x.md": b"deeper\n",
        "inbox/mine.md": b"my own\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    for file in (root.parent / ".git/atlas").glob(f"{NOTEBOOK}*"):
        file.unlink()  # it knows no more what it wrote
    assert quick("view").code == 0
    assert {name for name in shown(root.parent) if name.startswith("inbox/")} == {
        "inbox/from-forge--note.txt",
        "inbox/mine.md",
    }
    assert not (root / "inbox/refs").exists()
    (root / "inbox/CLAUDE.md").write_bytes(b"a note\n")
    as_of = root / "AS-OF"
    as_of.chmod(0o644), as_of.write_text(as_of.read_text().replace(f"form: {FORM}\n", ""))
    from atlas_cli.store.notebook import Notebook

    local = Notebook(root.parent / ".git/atlas" / NOTEBOOK)
    (
        local.set_view(
            str(root), "inbox/CLAUDE.md", hand.git("hash-object", "--stdin", data=b"a note\n")
        ),
        local.close(),
    )
    assert quick("status").code == 0
    assert not (root / "inbox/CLAUDE.md").exists()


# Where something lies that is not Atlas's, and what: a link to a folder, a file, a device or
# nothing; a pipe; or, where a folder should be, a hand's own file.
HOLES = {
    "drafts": ["folder", "nothing", "fifo", "file"],
    "status": ["folder", "own"],
    "artifacts": ["own", "nothing"],
    "status/main.md": ["file", "/dev/zero", "fifo", "nothing"],
    "AS-OF": ["/dev/zero", "fifo", "file"],
    ".lock": ["file", "nothing"],
    "atlas": ["file", "fifo"],
    ".": ["folder", "file", "nothing"],
}


@pytest.mark.parametrize("hole", HOLES)
def test_what_was_laid_into_the_view_is_not_followed(
    hole: str, store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path
) -> None:
    root, outside, me = (
        tmp_path / "repo/.atlas",
        tmp_path / "outside",
        ("--session", store[1].sessions["ann"]),
    )
    (outside / "folder").mkdir(parents=True), (outside / "file").write_text("precious\n")
    path, before = root if hole == "." else root / hole, picture(outside, ())
    assert quick("status", *me).code == 0
    for count, what in enumerate(HOLES[hole]):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        if what == "fifo":
            os.mkfifo(path)
        elif what == "own":
            path.write_text("a hand's own words\n")
        else:
            path.symlink_to(
                {"folder": outside / "folder", "file": outside / "file"}.get(what, what)
            )
        done = quick("status", "write", "--section", f"s{count}", "-m", f"words {count}", *me)
        assert done.code == 0, (what, done)
        refused = quick("status", "write", "-m", "many " * 400, *me)
        assert refused.code == 6 and "your text is in" in refused.err
        assert "drafts/" in quick("begin", *me).out, what
        assert picture(outside, ()) == before, what
        if what != "own" and (path.is_symlink() or not path.is_dir()):
            path.unlink(missing_ok=True)
        assert (
            quick("view").code == 0 and f"words {count}" in (root / "status/main.md").read_text()
        ), what
    kept = [file.read_text() for file in (root.parent / ".git/atlas/drafts").glob("edited-*")]
    assert kept == ["a hand's own words\n"] * HOLES[hole].count("own")


@pytest.mark.parametrize("name", [".atlas/drafts/x.md", ".atlas/AS-OF", ".atlas"])
def test_nothing_is_written_where_git_tracks_the_place(
    name: str, store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path, git: Git
) -> None:
    repo, outside, seen = tmp_path / "repo", tmp_path / "outside", store[1]
    outside.mkdir()
    (repo / name).parent.mkdir(exist_ok=True, parents=True)
    (repo / name).symlink_to(
        "/dev/zero" if name.endswith("OF") else outside if name == ".atlas" else "nowhere"
    )
    git("add", "-f", ".", cwd=repo), git("commit", "-qm", "x", cwd=repo)
    before, me = picture(repo, (".git",)), ("--session", seen.sessions["ann"])
    begun = quick("begin", *me)
    assert begun.code == 0 and "nothing is written there" in begun.err
    refused = quick("status", "write", "-m", "many " * 400, *me)
    assert refused.code == 6 and ".git/atlas/drafts" in refused.err
    assert "drafts/status" in quick("begin", *me).out
    assert quick("view").code == 1
    assert picture(repo, (".git",)) == before and list(outside.iterdir()) == []
    git("rm", "-qr", "--cached", ".atlas", cwd=repo)
    assert quick("view").code == 1, "the last commit has it still"
    git("commit", "-qm", "away", cwd=repo), (repo / name).unlink()
    assert quick("view").code == 0 and (repo / ".atlas/status/main.md").exists()


def test_a_file_that_only_looks_like_a_draft_is_not_taken_away(
    store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path
) -> None:
    repo, me = tmp_path / "repo", ("--session", store[1].sessions["ann"])
    (repo / "notes").mkdir()
    (repo / "notes/mine.md").write_text("mine\n")
    (repo / ".git/atlas/drafts").symlink_to("../../notes")
    assert quick("status", "write", "notes", "--file", str(repo / "notes/mine.md"), *me).code == 0
    assert (repo / "notes/mine.md").read_text() == "mine\n"


TRACKED = {
    "schema.sql": ".git/config",
    ".schema.sql.part": ".git/config",
    "out": ".git",
    "deep/er": "../.git",
    "gone": "made",
}


def test_bytes_go_through_no_link_that_the_project_brings(
    store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path, git: Git
) -> None:
    repo = tmp_path / "repo"
    (repo / "deep").mkdir()
    for name, to in TRACKED.items():
        (repo / name).symlink_to(to)
    git("add", ".", cwd=repo), git("commit", "-qm", "x", cwd=repo)
    before = picture(repo)
    for name in (
        "schema.sql",
        "out/config",
        "deep/er/config",
        "deep/../out/config",
        "gone",
        str(repo / "schema.sql"),
    ):
        done = quick("artifact", "get", "plan", "-o", name)
        assert done.code == 6 and "came with the project" in done.err, (name, done)
        assert quick("outbox", "export", name).code == 6
    assert picture(repo) == before
    assert (
        quick("artifact", "get", "plan", "-o", "new.sql").code == 0
        and (repo / "new.sql").read_bytes() == b"body\n"
    )
    (repo / "own").symlink_to("target")
    assert (
        quick("artifact", "get", "plan", "-o", "own").code == 0
        and (repo / "target").read_bytes() == b"body\n"
    )
    assert list(repo.glob(f"{files.PART}*")) == []


@pytest.fixture(params=[True, False], ids=["descriptors", "paths"])
def folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[files.Folder]:
    """A folder, also as on a platform that has no descriptors of folders."""
    monkeypatch.setattr(files, "_DESCRIPTORS", request.param)
    (tmp_path / "here/sub").mkdir(parents=True), (tmp_path / "out").mkdir()
    (tmp_path / "here/link").symlink_to("../out"), (tmp_path / "here/file").write_text("file")
    (tmp_path / "here/dead").symlink_to("nowhere"), os.mkfifo(tmp_path / "here/fifo")
    with files.Folder.at(tmp_path / "here") as found:
        yield found


def test_a_folder_takes_plain_names_only(folder: files.Folder) -> None:
    for name in ("", ".", "..", "a/b", "/x", "../out/x", "a\0b"):
        for call in (
            folder.sub,
            folder.open,
            folder.drop,
            lambda one: folder.put(one, b"x"),
            lambda one: folder.add(one, b"x"),
        ):
            with pytest.raises(OSError):
                call(name)
        assert folder.read(name) is None


def test_a_folder_follows_no_link_and_waits_for_nobody(folder: files.Folder) -> None:
    for name in ("link", "file", "fifo", "dead"):
        with pytest.raises(OSError):
            folder.sub(name, make=True)
    assert [folder.read(name) for name in ("link", "fifo", "dead", "nothing", "sub")] == [None] * 5
    assert folder.read("file") == b"file" and folder.read("file", 3) is None
    with pytest.raises(FileExistsError):
        folder.add("dead", b"x")
    folder.put("dead", b"x", 0o444)
    assert (folder.path / "dead").lstat().st_mode & 0o777 == 0o444 and not (
        folder.path / "nowhere"
    ).exists()
    with pytest.raises(OSError):
        folder.put("sub", b"x")
    with folder.down(["sub", "new", "er"], make=True) as found:
        found.put("x", b"x")
    assert (folder.path / "sub/new/er/x").read_bytes() == b"x" and list(
        (folder.path.parent / "out").iterdir()
    ) == []
    assert not [name for name in folder.names() if name.startswith(files.PART)]


def test_a_write_keeps_the_mode_that_a_file_has(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_text("old"), file.chmod(0o750)
    files.again(file, b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o750)
    files.again(tmp_path / "hook", b"x", 0o777)
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "hook").stat().st_mode & 0o777 == 0o777 & ~mask


PART = f"{files.PART}0123456789abcdef"
UNFINISHED = [
    *(
        f"{folder}{PART}"
        for folder in (
            "",
            "src/",
            ".atlas/",
            ".atlas/status/main/",
            ".git/atlas/",
            ".git/hooks/",
            ".git/hooks/before-atlas/",
            ".git/atlas/store.git/",
            ".git/atlas/drafts/",
            ".husky/own/",
        )
    ),
    *(
        f".git/atlas/{name}"
        for name in (
            "sync.123",
            "remotes.4194304",
            "part.7",
            "machine.12",
            "hooks.txt.99",
            "store.git.0123456789abcdef/x",
            "store.git.77/x",
            "store.git.push",
            "store.git/packed-refs.12",
        )
    ),
    ".atlas/.part-12",
    ".AGENTS.md.atlas-12",
    ".git/hooks/pre-push.4711",
]
KEPT = [
    "src/x.12",
    "src/.part-12",
    ".git/hooks/pre-commit.12",
    ".git/hooks/pre-push.sample",
    ".git/hooks/mine.4711",
    ".git/atlas/config.aside",
    ".git/atlas/drafts/edited.12",
    ".git/atlas/refused.1764547200000000000",
]


def test_what_the_dead_left_half_made_is_taken_away(
    store: tuple[Hand, Seen], quick: Atlas, tmp_path: Path, git: Git
) -> None:
    repo = tmp_path / "repo"
    git("config", "core.hooksPath", ".husky/own")
    section = "# >>> atlas 1 alone >>> by\n:\n# <<< atlas <<<\n"
    for name in (*UNFINISHED, *KEPT):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(section if name.endswith(".4711") else "half")
    done = quick("doctor", "--json").data["checks"]
    assert {"what": "litter", "state": "ok", "text": "nothing was left half made"} in done, (
        "they may be being written"
    )
    for name in (*UNFINISHED, *KEPT):
        os.utime(repo / name, (0, 0)), os.utime((repo / name).parent, (0, 0))
    assert quick("begin", "--new").code == quick("doctor", "--fix").code == 0
    assert [name for name in UNFINISHED if (repo / name).exists()] == []
    assert [name for name in KEPT if not (repo / name).exists()] == []


def test_a_session_id_is_no_path() -> None:
    assert not session.valid("../x-261129-abcdef") and session.valid("x-261129-abcdef")
