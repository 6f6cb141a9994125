"""A credential reaches neither the store nor a draft, by whatever option it is given and whatever
else stops the write."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas_cli.model import times

from ..contract import CALLS, DECISION, VERBS
from ..store.crew import Worker
from ..store.hand import Hand, entry
from .bad import Desk, desk_in, fails, hand, own_desk, repo, worker

__all__ = ["hand", "own_desk", "repo", "worker"]  # fixtures
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
NAME = "ghp_" + "a1b2c3d4e5f6g7h8i9j0" * 2  # the same as a name can be
WRITES = [verb for verb, (_, code) in CALLS.items() if code == 5 and verb != ("session", "show")]
WRITES += [("begin",), ("lease", "run")]


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with a record of each kind."""
    with desk_in(tmp_path_factory.mktemp("busy")) as desk:
        for words in (
            ["status", "write", "-m", "x"],
            ["artifact", "put", "a", "src/x.py"],
            ["decision", "add", *DECISION],
            ["lease", "take", "gpu0", "--why", "w"],
            ["task", "add", "to be open", "--operation", "open"],
            ["session", "offer", "--slots", "1"],
        ):
            assert desk.worker(*words).code == 0
        yield desk


def left(repo: Path, hand: Hand) -> list[str]:
    """Where a credential lies: objects of the store, files beside it and of the view."""
    objects = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"], env=hand.env, capture_output=True
    )
    found = ["an object"] if _holds(objects.stdout) else []
    files = [*(repo / ".git/atlas").rglob("*"), *(repo / ".atlas").rglob("*")]
    return found + [
        str(file)
        for file in files
        if file.is_file() and _holds(file.name.encode() + file.read_bytes())
    ]


def _holds(data: bytes) -> bool:
    return SECRET.encode() in data or NAME.encode() in data


def calls(verb: tuple[str, ...]) -> Iterator[list[str]]:
    """Calls of a verb with a credential in each place that takes a text: of every option, and of
    the usual call."""
    given = CALLS[verb][0]
    for secret in (SECRET, NAME):
        for param in VERBS[verb].params:
            if (
                param.param_type_name == "option"
                and not param.is_flag
                and param.type.name != "integer"
            ):
                yield [*verb, param.opts[-1], secret, *given]
        for at, one in enumerate(given):
            if not one.startswith("-"):
                yield [*verb, *given[:at], secret, *given[at + 1 :]]


@pytest.mark.parametrize("verb", WRITES, ids=" ".join)
def test_whatever_text_a_command_takes_is_refused_or_not_kept(
    verb: tuple[str, ...], busy: Desk
) -> None:
    repo, worker, hand = busy
    session, codes = worker("session", "show", "--json").data["id"], []
    for words in calls(verb):
        done = worker(
            *words[:1], *["--new"] * (verb == ("begin",)), *words[1:], "--session", session
        )
        codes.append(done.code)
        assert done.code or not left(repo, hand), (words, done)
        assert "(secret)" not in done.err or (
            done.code == 6 and SECRET not in done.err and NAME not in done.err
        ), done
    assert left(repo, hand) == []
    if verb not in (("session", "adopt"), ("session", "dismiss")) and {
        "why",
        "goal",
        "title",
        "about",
        "value",
        "text",
    } & {param.name for param in VERBS[verb].params}:
        assert 6 in codes


def test_a_name_of_this_machine_that_holds_one_is_left_out(
    worker: Worker, hand: Hand, repo: Path
) -> None:
    subprocess.run(
        ["git", "checkout", "-q", "-b", f"fix-{SECRET}"],
        cwd=repo,
        env=hand.env | {"GIT_DIR": str(repo / ".git")},
        check=True,
    )
    done = worker("begin", "--new", "--actor", "other")
    assert (
        done.code == 0
        and "the name of the branch holds what looks like a GitHub token: it is left out"
        in done.err
    )
    assert worker("status", "write", "-m", "x").code == 0 and worker("end").code == 0
    assert left(repo, hand) == []


@pytest.mark.parametrize(
    "form",
    [
        "status write -m {}",
        "status write -",
        "end -m {}",
        "artifact put a -",
        "artifact put a - --title {}",
        "artifact put a - --caveat {}",
    ],
)
def test_no_stop_keeps_a_draft_of_one(form: str, worker: Worker, hand: Hand, repo: Path) -> None:
    words = [one.replace("{}", f"the key is {SECRET}") for one in form.split()]
    data = f"line\n{SECRET}\n" if "{}" not in form else "line\n"
    assert worker("status", "write", "-m", "one\n").code == 0
    assert worker("artifact", "put", "a", "-", data="one\n").code == 0
    me = worker("session", "show", "--json").data["id"]
    other = worker.begin("other")
    fails(worker(*words, data=data), 6)  # not read
    worker("status"), worker("artifact", "show", "a")
    worker.session = me
    assert worker("status", "write", "--replace", "-m", "two\n").code == 0
    assert worker("artifact", "put", "a", "-", data="two\n").code == 0
    worker.session = other
    for last in ([], ["--offline"]):
        stop = fails(
            worker(*words, *last, data=data), 6
        )  # (a version jump, which would keep a merge)
        assert "(secret)" in stop.err and SECRET not in stop.err
    long = f"{'word ' * 300}\n{SECRET}\n"
    fails(worker("status", "write", "--replace", "-", data=long), 6)
    worker.session = "nobody-261130-aaaaaa"
    stop = worker(*words, data=data)
    assert stop.code in (5, 6) and ("is not kept" in stop.err or stop.code == 6), stop
    assert left(repo, hand) == [] and not list((repo / ".git/atlas").glob("drafts/*"))


def test_what_the_history_has_already_keeps_nobody_from_going_on(
    worker: Worker, hand: Hand, repo: Path
) -> None:
    now = times.rfc3339(int(time.time()))
    secret = entry(1, "hand", 1, f"# A\nkey {SECRET}\n")
    row = f'id: "old-261129-aaaaaa"\nversion: 1\nactor: "old"\nbegan: "{now}"\nmachine: "m"\nbranch: "fix-{SECRET}"\n'
    hand.commit(
        {
            "status/main/000/000001.md": secret,
            "sessions/261129/old-261129-aaaaaa.yaml": row.encode(),
        }
    )
    assert worker("status").code == 0
    assert (
        worker("status", "write", "--section", "mine", "-m", "done").code == 0
    )  # carries the rest
    old = ("--session", "old-261129-aaaaaa")
    assert worker("session", "offer", "--slots", "1", *old).code == 0
    fails(
        worker("status", "write", "--section", "mine", "-m", f"now {SECRET.replace('1', '2')}"), 6
    )
    fails(
        worker("status", "write", "other", "-m", f"key {SECRET}"), 6
    )  # (in another stream it would be new)


def test_a_line_feed_in_a_field_hides_none(worker: Worker, hand: Hand, repo: Path) -> None:
    for words in (
        ["signal", "post", "alert", "-m"],
        ["begin", "--goal"],
        ["lease", "take", "gpu0", "--why"],
    ):
        for text in (f"a\n{SECRET}", f"a\\{SECRET}", f"a\t{SECRET}\nb", f'"{SECRET}"'):
            assert "(secret)" in fails(worker(*words, text), 6).err
    assert left(repo, hand) == []


@pytest.mark.parametrize(
    "form", ["config set skip_mark {}", "signal post finding -m x --about path:{}"]
)
def test_a_value_or_a_path_that_is_one_is_refused_like_a_text(
    form: str, worker: Worker, hand: Hand, repo: Path
) -> None:
    head = hand.head()
    refused = fails(worker(*form.format(SECRET).split()), 6)
    assert "(secret)" in refused.err and SECRET not in refused.err
    assert hand.head() == head and left(repo, hand) == []
