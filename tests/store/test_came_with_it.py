"""What came with a repository is not obeyed: a read runs no program that its configuration names,
and the store's own repository has no configuration but Atlas's. And a remote that never ends what
it says holds no reader up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atlas_cli.store import transports

from ..conftest import DECISION, Result
from .crew import Worker
from .fleet import Fleet, done

READS = (("status",), ("who", "x.py"), ("verify",), ("doctor",), ("lease", "list"), ("log",), ())
# What an unpacked repository may say of its remote, each running a program; `RUN` is one that
# leaves a trace.
KEYS = {
    "remote.origin.uploadpack": "RUN; git-upload-pack",
    "core.sshCommand": "RUN; false",
    "remote.origin.vcs": "ext",
    "credential.helper": "!RUN",
    "core.gitProxy": "RUN",
}
# What git may run over the files of a worktree.
OVER_FILES = (
    "filter.x=y.clean",
    "filter.x=y.process",
    "diff.z.textconv",
    "diff.z.command",
    "diff.external",
    "core.fsmonitor",
    "core.pager",
    "pager.log",
    "gpg.program",
)


@pytest.fixture
def one(pair: Fleet, tmp_path: Path) -> Fleet:
    """A clone, and a state folder of its own."""
    found = pair.copied(tmp_path / "fleet")
    return found._replace(
        env=found.env | {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    )


@pytest.fixture
def a(one: Fleet) -> Iterator[Worker]:
    with one.crew(["a"]) as workers:
        yield workers[0]


Read = Callable[..., Result]


@pytest.fixture
def read(one: Fleet, a: Worker) -> Read:
    """A command to which this clone's copy of the remote is old."""

    def run(*argv: str) -> Result:
        (one.top / "a/.git/atlas/sync.json").unlink(missing_ok=True)
        return a(*argv, "--json", env=one.env)

    return run


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    (tmp_path / "run").write_text(f'#!/bin/sh\ntouch "{tmp_path}/canary"\n')
    (tmp_path / "run").chmod(0o755)
    return tmp_path / "canary"


def test_a_read_runs_no_program_of_the_repositorys_until_the_user_has(
    one: Fleet, a: Worker, read: Read, canary: Path
) -> None:
    one.git("a", "config", "remote.origin.uploadpack", f"{canary.parent}/run; git-upload-pack")
    for argv in READS:
        said = read(*argv)
        assert said.code == 0 and not canary.exists(), (argv, said)
        told = str(said.json["notices"]) + str(said.data)
        assert "remote.origin.uploadpack" in told and "atlas sync" in told, (argv, said)
    done(a("sync", env=one.env))
    assert canary.exists()
    canary.unlink()
    assert "uploadpack" not in str(done(read("status")).json["notices"]) and canary.exists(), (
        "they have used it"
    )
    one.git("a", "config", "remote.origin.uploadpack", f"{canary.parent}/run; exec git-upload-pack")
    canary.unlink()
    assert "uploadpack" in str(done(read("status")).json["notices"]) and not canary.exists(), (
        "another one they have not"
    )


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("how", [pytest.param("plain", marks=pytest.mark.long), "included"])
def test_whatever_names_it_and_wherever_it_stands(
    key: str, how: str, one: Fleet, read: Read, canary: Path
) -> None:
    value = KEYS[key].replace("RUN", str(canary.parent / "run"))
    file = one.top / "a/.git/more"
    if how == "plain":
        one.git("a", "config", key, value)
    else:  # for the store's own calls alone
        one.git("a", "config", "--file", str(file), key, value)
        one.git("a", "config", "includeIf.gitdir:**/store.git.path", "more")
    said = done(read("status"))
    assert key.lower() in str(said.json["notices"]) and not canary.exists(), said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("credential.helper", "store"),
        ("credential.helper", "cache --timeout=300"),
        ("url.https://forge.example/.insteadOf", "forge:"),
        ("remote.other.uploadpack", "RUN"),
        ("remote.origin.uploadpack", "git-upload-pack"),
        ("core.sshCommand", ""),
    ],
)
def test_what_names_none_changes_nothing(key: str, value: str, one: Fleet, read: Read) -> None:
    one.git("a", "config", key, value)
    said = done(read("status")).json
    assert "not known now" not in str(said["notices"]) and said["store"]["fetched_at"], said


def test_what_stands_in_the_users_own_files_is_theirs(one: Fleet, read: Read, canary: Path) -> None:
    (one.top.parent / ".gitconfig").write_text(
        f'[remote "origin"]\n\tuploadpack = {canary.parent}/run && git-upload-pack\n'
    )
    assert "not known now" not in str(done(read("status")).json["notices"]) and canary.exists()


def test_the_stores_own_configuration_is_atlas_s(
    one: Fleet, a: Worker, read: Read, canary: Path
) -> None:
    config = one.top / "a/.git/atlas/store.git/config"
    own = config.read_bytes()
    config.write_bytes(own + f'[remote "origin"]\n\tuploadpack = {canary.parent}/run\n'.encode())
    for argv in (*READS, ("begin", "--new"), DECISION):
        said = read(*argv)
        assert said.code == (1 if argv == ("doctor",) else 0) and not canary.exists(), (argv, said)
    said = done(read("status"))
    assert 'store.git/config holds what Atlas did not write ([remote "origin"])' in str(
        said.json["notices"]
    ), said
    assert "doctor --fix" in str(said.json["notices"])
    done(a("sync", env=one.env), 8)
    done(a("lease", "take", "gpu0", "--why", "w", env=one.env), 8)
    assert not canary.exists()
    done(a("doctor", "--fix", env=one.env))
    assert b"uploadpack" in (one.top / "a/.git/atlas/config.aside").read_bytes()
    assert transports.foreign(str(config.parent)) == ""
    listed = [
        set(one.git(".", "config", "--file", str(file), "--list").lower().split("\n"))
        for file in (config, config)
    ]
    (one.top / "before").write_bytes(own)
    listed[0] = set(
        one.git(".", "config", "--file", str(one.top / "before"), "--list").lower().split("\n")
    )
    assert listed[0] == listed[1], "as it was made"
    done(a("sync", env=one.env))


@pytest.mark.parametrize(
    "line",
    [
        b"[include]",
        b"\tpath = x",
        b"[core] sshCommand = x",
        b"\tsshCommand = x",
        b"\thooksPath = x",
        b'[url "x"]',
        b"\tfsync = all \\",
        b'\tpager = "x"',
        b"[alias]",
        b"\trecentObjectsHook = x",
        b"[core]\r",
        b"x",
        b"\tfsync = `x`",
        b"\tworktree = /x",
        b"\taskpass=x",
        b"\xff",
    ],
)
def test_any_other_line_is_foreign(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(b"[core]\n\tbare = true\n# a word\n\n")
    assert transports.foreign(str(tmp_path)) == ""
    with (tmp_path / "config").open("ab") as out:
        out.write(line + b"\n")
    assert transports.foreign(str(tmp_path)) or line == b"[core]\r"


def test_nothing_that_is_missing_is_fetched_in_passing(
    one: Fleet, read: Read, canary: Path
) -> None:
    """A promise of a remote, and an object that is not there: git would ask for it in the middle of
    a local question."""
    config = one.top / "a/.git/atlas/store.git/config"
    with config.open("a") as out:
        out.write(
            f'[remote "x"]\n\turl = {one.top}/hub.git\n\tpromisor = true\n\tuploadpack = {canary.parent}/run\n'
        )
    blob = one.git("a/.git/atlas/store.git", "rev-parse", "atlas:atlas.yaml")
    (one.top / "a/.git/atlas/store.git/objects" / blob[:2] / blob[2:]).unlink()
    read("status"), read("config")
    assert not canary.exists()


def test_a_remote_that_never_ends_what_it_says_holds_no_reader_up(one: Fleet, read: Read) -> None:
    script = one.top / "drip"
    script.write_text("#!/bin/sh\nwhile :; do echo 'remote: 1%' >&2; sleep 0.1; done\n")
    script.chmod(0o755)
    (one.top.parent / ".gitconfig").write_text(f'[remote "origin"]\n\tuploadpack = {script}\n')
    began = time.monotonic()
    assert done(read("status")).json["store"]["fetched_at"] is None
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("url", ["canary::there", "canary://there"])
def test_an_address_that_names_a_helper_of_gits_runs_none(
    url: str, one: Fleet, a: Worker, canary: Path
) -> None:
    helper = canary.parent / "git-remote-canary"
    helper.write_text((canary.parent / "run").read_text())
    helper.chmod(0o755)
    one.git("a", "config", "remote.origin.url", url)
    (one.top / "a/.git/atlas/sync.json").unlink(missing_ok=True)
    env = one.env | {"PATH": f"{helper.parent}{os.pathsep}{one.env['PATH']}"}
    said = done(a("status", "--json", env=env))
    assert "remote.origin.url" in str(said.json["notices"]) and not canary.exists(), said
    a("sync", env=env)
    assert canary.exists(), "they asked for it"


def test_nothing_that_the_project_lacks_is_fetched_in_passing(
    one: Fleet, a: Worker, canary: Path
) -> None:
    """git fetches what a partial clone lacks, by the program that its configuration names: a read
    of ours does not."""
    repo = one.top / "a"
    (repo / "new.py").write_text("print('new')\n")
    one.git("a", "add", "new.py")
    one.git("a", "-c", "core.hooksPath=/dev/null", "commit", "-qm", "new")
    for name in ("HEAD:new.py", "HEAD^{tree}"):
        oid = one.git("a", "rev-parse", name).strip()
        (repo / f".git/objects/{oid[:2]}/{oid[2:]}").unlink()
    (repo / ".git/index").unlink()
    for key, value in (
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("remote.origin.uploadpack", f"{canary.parent}/run"),
    ):
        one.git("a", "config", key, value)
    for argv in (("who", "new.py"), ("check", "HEAD"), ("links",), ()):
        a(*argv, "--offline", env=one.env)
        assert not canary.exists(), argv


def test_no_program_is_run_over_the_files_of_a_worktree(
    one: Fleet, a: Worker, canary: Path
) -> None:
    """Moved files, in the worktree, in the index and in a commit, are compared by their bytes; git
    would give each to the filter that attributes name, in a submodule too."""
    repo, text = one.top / "a", "a text that is long enough to be known again\n" * 3
    (repo / "page.md").write_text("[a](old.md) [b](two.md) [c](three.md)\n")
    for name in ("old", "two", "three"):
        (repo / f"{name}.md").write_text(f"{text}{name}\n")
    one.git("a", "-c", "protocol.file.allow=always", "submodule", "add", "-q", "../hub.git", "sub")
    one.git("a", "add", "."), one.git("a", "commit", "-qm", "docs", "--no-verify")
    one.git("a", "mv", "three.md", "third.md")
    one.git("a", "commit", "-qm", "moved", "--no-verify")
    one.git("a", "mv", "two.md", "second.md")
    (repo / "old.md").rename(repo / "new.md")
    modules = repo / ".git/modules/sub"
    for folder, inside in ((repo / ".git", "a"), (modules, "a/sub")):
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info/attributes").write_text("* filter=x=y diff=z\n")
        for key in OVER_FILES:
            one.git(inside, "config", key, f"{canary.parent}/run")
        one.git(inside, "config", "filter.x=y.required", "true")
    for file in (repo / "page.md", repo / "sub/x.py", repo / "third.md"):
        file.touch()  # git looks at its bytes again
    said = a("links", "--json", env=one.env)
    details = said.json["error"]["details"]["items"]
    assert [item["corrected"] for item in details] == ["new.md", "second.md"], said
    for argv in (("check", "HEAD~1..HEAD"), ("who", "page.md"), ("begin", "--new"), ("doctor",)):
        a(*argv, env=one.env)
        assert not canary.exists(), argv
    with pytest.raises(AssertionError, match=r"git-filter|last update|clean filter|hung up"):
        one.git("a", "add", "page.md")
    assert canary.exists(), "as git itself runs them"


def test_what_a_partial_clone_lacks_is_said_with_the_way_to_it(
    one: Fleet, a: Worker, tmp_path: Path
) -> None:
    repo = one.top / "a"
    (repo / "page.md").write_text("[a](old.md)\n")
    (repo / "old.md").write_text("a text that is long enough to be known again\n" * 3)
    one.git("a", "add", "."), one.git("a", "commit", "-qm", "docs", "--no-verify")
    one.git("a", "push", "-q", "--no-verify", "origin", "HEAD:main")
    one.git("hub.git", "config", "uploadpack.allowFilter", "true")
    url = f"file://{one.top}/hub.git"
    one.git(".", "clone", "-q", "-b", "main", "--filter=blob:none", "--no-checkout", url, "part")
    one.git("part", "read-tree", "HEAD")
    part = one.top / "part"
    (part / "page.md").write_text("[a](old.md)\n")
    (part / "new.md").write_text("a text that is long enough to be known again\n" * 4)
    done(a("-C", str(part), "init", "--no-hooks", env=one.env))
    said = a("-C", str(part), "links", env=one.env)
    hint = "git fetch --refetch --no-filter"
    assert said.code == 1 and "partial clone lacks" in said.err and hint in said.err, said
    one.git("part", *hint.split()[1:])
    said = a("-C", str(part), "links", env=one.env)
    assert said.code == 9 and "old.md -> new.md" in said.err, said
