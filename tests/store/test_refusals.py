"""A remote that will not, cannot or does not answer: one clear line, a code, the work kept, no
endless retry."""

from __future__ import annotations

import http.server
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from atlas_cli.records.policy import address

from ..conftest import DECISION, Git
from .conftest import At

TAKE = ("lease", "take", "gpu0", "--why", "w")


@pytest.fixture
def clone(hub: Path, git: Git, at: At) -> Path:
    """A clone with a session."""
    git("clone", "-q", f"file://{hub}", "clone", cwd=hub.parent)
    assert at("clone", "begin", "--goal", "g").code == 0
    return hub.parent / "clone"


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def forget(clone: Path) -> None:
    """As if a minute had gone by since the remote was asked, or failed."""
    file = clone / ".git/atlas/sync.json"
    file.write_text(
        json.dumps(json.loads(file.read_text()) | {"asked_at": 0, "away_at": 0, "failed_at": 0})
    )


def test_a_server_that_says_no_is_quoted_in_one_line_and_asked_once(
    clone: Path, hub: Path, git: Git, at: At
) -> None:
    hook = script(
        hub / "hooks/pre-receive",
        'echo x >> asked\nprintf "Rule 7:\\033[2J no\\nask the admin\\n"\nexit 1',
    )
    for _ in range(2):
        done = at("clone", *DECISION)
        assert done.code == 0 and done.json["store"]["published"] is False
    assert (hub / "asked").read_text() == "x\n", "not tried again for half a minute"
    why = next(line for line in done.json["notices"] if line.startswith("not published: "))
    assert "declined" in why and "no; ask the admin" in why and "\n" not in why
    refused = at("clone", *TAKE)
    assert refused.code == 8 and "gpu0 was given back" in refused.json["error"]["message"]
    assert at("clone", "lease", "list").data["total"] == 0
    assert at("clone", *DECISION, "--require-published").code == 8
    assert at("clone", "sync").code == 8
    hook.unlink()
    assert at("clone", "sync").code == 0
    assert git("rev-parse", "atlas", cwd=hub) == git(
        "rev-parse", "atlas", cwd=clone / ".git/atlas/store.git"
    )
    assert at("clone", "decision", "list").data["total"] == 3, "the work was kept, and went"


def test_who_may_only_read_goes_on_reading(clone: Path, hub: Path, git: Git, at: At) -> None:
    text = 'shift\ncase "$*" in *receive-pack*) echo "ERROR: no right to push" >&2; exit 1;; esac\nexec sh -c "$*"'
    git("config", "core.sshCommand", str(script(hub.parent / "ssh.sh", text)), cwd=clone)
    git("config", "ssh.variant", "simple", cwd=clone)
    git("remote", "set-url", "origin", f"ssh://host{hub}", cwd=clone)
    done = at("clone", *DECISION)
    assert done.code == 0 and "no right to push" in str(done.json["notices"])
    assert at("clone", *TAKE).code == 8, "nothing was ever sent: it is not unknown"
    head = git("rev-parse", "atlas", cwd=hub)
    git("clone", "-q", f"file://{hub}", "other", cwd=hub.parent)
    at("other", "begin", "--goal", "g"), at("other", "status", "show")
    assert at("other", "status", "write", "-m", "From the other clone.", "--replace").code == 0
    forget(clone)
    assert at("clone", "status").data["body"] == "From the other clone.\n"
    assert git("rev-parse", "atlas~2", cwd=hub) == head


@pytest.mark.parametrize(
    "url", ["https://no-such-host.invalid/x.git", "http://127.0.0.1:9/x.git", "/nowhere/x.git"]
)
def test_without_a_network_work_goes_on_and_an_exclusive_command_says_8(
    url: str, clone: Path, git: Git, at: At
) -> None:
    git("remote", "set-url", "origin", url, cwd=clone)
    assert [
        at("clone", *what).code for what in (("status",), DECISION, TAKE, ("sync",), ("doctor",))
    ] == [
        0,
        0,
        8,
        8,
        0,
    ]
    assert at("clone", "lease", "list").data["total"] == 0
    ended = at("clone", "end", "-m", "done")
    assert ended.code == 0 and "NOT PUBLISHED: nobody else can see this" in ended.json["notices"]


@contextmanager
def silent() -> Iterator[tuple[int, list[socket.socket]]]:
    """A port that accepts and never answers; the connections that it has accepted."""
    heard: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    heard.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], heard


def test_reads_wait_once_for_a_remote_that_never_answers(clone: Path, git: Git, at: At) -> None:
    with silent() as (port, heard):
        git("remote", "set-url", "origin", f"git://127.0.0.1:{port}/x.git", cwd=clone)
        forget(clone)
        for command in (("status",), ("lease", "list"), ("begin",), DECISION):
            assert at("clone", *command).code == 0
        assert len(heard) == 1, "and then not for a minute"


class Forge(http.server.BaseHTTPRequestHandler):
    """Asks for a password, and lets nobody in."""

    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.asked.append(self.headers["Authorization"])
        self.send_response(403 if self.headers["Authorization"] else 401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def forge() -> Iterator[str]:
    Forge.asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forge) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/x.git"
        server.shutdown()


def test_nobody_is_asked_for_a_password_and_the_repositorys_own_helper_is(
    forge: str, clone: Path, hub: Path, git: Git, at: At
) -> None:
    git("remote", "set-url", "origin", forge, cwd=clone)
    done = at("clone", "sync")
    assert done.code == 8 and "could not read Username" in done.json["error"]["message"]
    helper = script(
        hub.parent / "helper", "cat > /dev/null\necho username=me\necho password=secret-word"
    )
    git("config", "credential.helper", str(helper), cwd=clone)
    done = at("clone", "sync")
    assert (
        done.code == 8 and "403" in done.json["error"]["message"] and "secret-word" not in done.out
    )
    assert Forge.asked[-1] == "Basic bWU6c2VjcmV0LXdvcmQ="


@pytest.mark.parametrize("when", ["end", "manual"])
def test_the_policy_says_when_what_was_recorded_is_pushed(
    when: str, clone: Path, hub: Path, git: Git, at: At
) -> None:
    assert at("clone", "config", "set", "publish", when).code == 0
    head = git("rev-parse", "atlas", cwd=hub)
    assert at("clone", *DECISION).json["store"]["published"] is False
    assert git("rev-parse", "atlas", cwd=hub) == head
    assert at("clone", *TAKE).json["store"]["published"] is True, (
        "an exclusive command always pushes"
    )
    done = at("clone", "end", "-m", "done")
    assert done.json["store"]["published"] is (when == "end")
    assert ("NOT PUBLISHED: nobody else can see this" in done.json["notices"]) is (when == "manual")
    assert at("clone", "sync").code == 0


def test_a_lease_answer_says_how_far_it_is_known(clone: Path, git: Git, at: At) -> None:
    git("init", "-q", "alone", cwd=clone.parent)
    at("alone", "init"), at("alone", "begin", "--goal", "g")
    for folder, how in {
        "alone": "it has no remote to share leases through",
        "clone": "in all its clones",
    }.items():
        for command in (TAKE, ("lease", "list"), ("lease", "show", "gpu0")):
            assert f"known to this repository only: {how}" in str(
                at(folder, *command).json["notices"]
            ), command


def test_a_copy_of_the_store_says_that_it_is_one(hub: Path, git: Git, at: At) -> None:
    ssh = script(hub.parent / "ssh.sh", 'shift\nexec sh -c "$*"')
    git("update-ref", "-d", "refs/heads/atlas", cwd=hub)
    git("clone", "-q", f"file://{hub}", "clone", cwd=hub.parent)
    for key, value in {
        "core.sshCommand": str(ssh),
        "ssh.variant": "simple",
        "url.ssh://Host/.insteadOf": "short:",
    }.items():
        git("config", key, value, cwd=hub.parent / "clone")
    git("remote", "set-url", "origin", f"ssh://me:word@host:22{hub}", cwd=hub.parent / "clone")
    at("clone", "init", "--test"), at("clone", "begin", "--goal", "g")
    assert (
        at("clone", "config", "get", "home").data["value"]
        == f"host{hub}".removesuffix(".git").lower()
    )
    copied = {
        url: any("this is a copy" in line for line in at("clone", "sync").json["notices"])
        for url in (
            f"git@HOST:{hub}",
            f"short:{str(hub)[1:]}",
            f"ssh://elsewhere{hub}",
            f"file://{hub}",
        )
        if not git("remote", "set-url", "origin", url, cwd=hub.parent / "clone")
    }
    assert list(copied.values()) == [False, False, True, True], copied


def test_addresses() -> None:
    same = (
        "https://user:word@Forge.example/Group/Project.git",
        "git@forge.example:Group/Project.git",
        "ssh://git@forge.example:22/Group/Project/",
        "git://forge.example/group/project",
    )
    assert {address(url) for url in same} == {"forge.example/group/project"}
    assert {
        address(url) for url in ("/srv/x.git", "../x", "file:///srv/x", "C:/x", "", "ext::sh -c x")
    } == {""}


def test_what_cannot_be_pushed_is_carried_by_hand(clone: Path, hub: Path, git: Git, at: At) -> None:
    """A sandbox that reaches no remote, and a clone that does: by a file, and nothing is there
    twice."""
    at("clone", "status", "show")
    git("clone", "-q", f"file://{hub}", "other", cwd=hub.parent)
    at("other", "begin", "--goal", "g"), at("other", "status", "show")
    git("config", "url./nowhere/.insteadOf", "file://", cwd=clone)
    for command in (
        DECISION,
        ("status", "write", "-m", "Alone.", "--replace"),
        ("status", "write", "-m", "Twice.", "--replace"),
    ):
        assert at("clone", *command).code == 0, command
    assert at("clone", "outbox").data["total"] == 3
    assert at("clone", "outbox", "export", "../out").data["commits"] == 3
    assert at("other", "status", "write", "-m", "From the other clone.", "--replace").code == 0
    taken = at("other", "outbox", "import", "../out")
    assert (taken.code, len(taken.json["error"]["details"]["parked"])) == (3, 2)
    assert at("other", "outbox", "import", "../out").json["error"]["details"]["taken"] == 0
    assert (
        at("other", "decision", "list").data["total"] == 1
        and at("other", "outbox").data["total"] == 0
    )
    assert at("other", "verify", "--full").code == 0
    git("config", "--unset", "url./nowhere/.insteadOf", cwd=clone)
    assert at("clone", "sync").code == 3, (
        "the same two are parked here as well: each side sees what was not taken"
    )
    assert at("clone", "decision", "list").data["total"] == 1
    assert at("clone", "outbox", "export", "../none").code == 7
    (hub.parent / "junk").write_text("no bundle")
    for file, code in {"../junk": 1, "../nothing": 7, "../clone": 7}.items():
        assert at("other", "outbox", "import", file).code == code
    subprocess.run(
        ["git", "bundle", "create", "-q", "../code", "HEAD", "main"], cwd=clone, check=True
    )
    assert at("other", "outbox", "import", "../code").code == 1


def test_on_a_file_system_without_locks_it_is_published_all_the_same(
    clone: Path, hub: Path, git: Git, env: dict[str, str]
) -> None:
    without = "import errno,fcntl,sys\ndef no(*_): raise OSError(errno.ENOTSUP, 'no locks')\nfcntl.flock = no\n"
    argv = [
        sys.executable,
        "-c",
        f"{without}from atlas_cli.main import run\nrun()",
        *DECISION,
        "--json",
    ]
    done = subprocess.run(argv, cwd=clone, env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["store"]["published"] is True
