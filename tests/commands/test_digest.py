"""The digest: within its budget, and with what matters in it; the morning report; what is new, and
to whom."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from atlas_cli import console
from atlas_cli.digest import digest
from atlas_cli.digest.part import Part, State, listed
from atlas_cli.main import main
from atlas_cli.model import text, times
from atlas_cli.outcome import Block, Frame, Outcome
from atlas_cli.records import artifact, correction, lease, session

from ..conftest import DECISION, INDEX, NOTEBOOK, Atlas
from .test_day import LATER, ok

X_SHA256 = hashlib.sha256(b"x").hexdigest()
MANY = " ".join(f"word{count}" for count in range(40))


def thousand(store: Path, now: int) -> None:
    """250 each of live sessions, live leases, artifacts and corrections, wordy ones, put by
    plumbing in one commit."""
    at = times.rfc3339(now - 60)
    files: dict[str, bytes] = {}
    for count in range(250):
        who = session.new_id(f"actor{count}", now, count.to_bytes(6, "big"))
        by = {"session": who, "actor": f"actor{count}", "at": at}
        row = {
            "id": who,
            "version": 1,
            "actor": by["actor"],
            "goal": MANY,
            "machine": "m",
            "began": at,
        }
        files[session.path_of(who)] = text.dump(row)
        held = {
            "resource": f"box{count}",
            "version": 1,
            "token": 1,
            "holder": who,
            "actor": by["actor"],
            "why": MANY,
        }
        files[lease.path_of(held["resource"])] = text.dump(
            held | {"at": at, "expires": times.rfc3339(now + 3600)}
        )
        about = {
            "name": f"doc{count}",
            "number": 1,
            "ext": "md",
            "size": 1,
            "title": MANY,
            "sha256": "0" * 64,
            **by,
        }
        files[artifact.path_of(about["name"], 1)] = text.dump(about)
        found = {
            "target": f"decision:x{count}",
            "retract": False,
            "own": True,
            **by,
            "operation": f"{count:032x}",
        }
        files[f"{correction.FOLDER}/2026/01/01-x{count}-{count:06x}.md"] = text.with_front(
            found, MANY
        )
    plumbed(store, files, now)


def plumbed(store: Path, files: dict[str, bytes], now: int) -> None:
    """A commit made past the commands."""
    lines = [
        f"commit refs/heads/atlas\ncommitter b <b@x> {now} +0000\ndata 1\nx\nfrom refs/heads/atlas^0\n".encode()
    ]
    lines += [
        b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
        for path, data in files.items()
    ]
    subprocess.run(
        ["git", "-C", store, "fast-import", "--quiet"], input=b"".join(lines), check=True
    )


AUTHOR = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "t"), ("EMAIL", "t@x"))
}


@pytest.fixture
def other(begun: str, atlas: Atlas) -> str:
    """A second session, of another actor."""
    found = str(
        ok(atlas, "begin", "--new", "--goal", "speed up the parser", "--actor", "other")["id"]
    )
    ok(atlas, "begin", "--session", begun)
    return found


def test_the_digest_of_a_large_store_fits_and_names_what_matters(
    begun: str, other: str, repo: Path, atlas: Atlas
) -> None:
    ok(atlas, "status", "write", "-m", "word " * 120)
    ok(atlas, "artifact", "put", "base", "src/x.py")
    ok(atlas, "artifact", "put", "mine", "src/x.py", "--relies-on", "artifact:base")
    ok(
        atlas,
        "correct",
        "artifact:base",
        "--retract",
        "--why",
        "measured on the wrong machine",
        "--session",
        other,
    )
    store = repo / ".git/atlas/store.git"
    said = f"decision: x\n\nAtlas-Operation: 0123abcd\nAtlas-Session: {begun}"
    last = atlas("git", "commit-tree", "refs/heads/atlas^{tree}", "-m", said, **AUTHOR).out.strip()
    subprocess.run(
        ["git", "-C", store, "update-ref", "refs/atlas/parked/0123abcd", last], check=True
    )
    thousand(store, times.moment(ok(atlas, "session", "show", other)["last"]))
    done = atlas("begin", "--session", begun, "--goal", "the parser: speed up")
    said = (done.out + done.err).split()
    assert len(said) <= 700, f"{len(said)} words\n{done.out}"
    for matter in (
        "artifact:base@1  retracted  you relied on",
        "PARKED",
        f"! {other} (live) has nearly your goal",
    ):
        assert matter in done.out, done.out
    data = ok(atlas, "begin", "--session", begun)
    assert {len(data[key]) for key in ("leases", "sessions", "new", "corrections")} == {20}
    assert data["more"]["leases"] == {"total": 250, "command": "atlas lease list"}
    assert [one["operation"] for one in data["parked"]] == ["0123abcd"]


def test_a_begin_in_a_row_prints_what_is_new_and_no_limit_twice(
    begun: str, other: str, atlas: Atlas
) -> None:
    ok(atlas, "status", "write", "-m", "One.", "--session", other)
    taken = ("lease", "take", "gpu0", "path:docs", "--why", "w", "--session", other)
    ok(atlas, *taken)
    mine = ("--session", begun)
    first = atlas("begin", *mine).out
    assert "One." in first and "gpu0" in first and "note: known to this store only" in first
    again = atlas("begin", *mine).out.splitlines()
    assert again[1:] == ["as before: you, status, leases, sessions (atlas digest shows all)"]
    assert "note: known to this store only" not in atlas("session", "list", *mine).out
    ok(atlas, "lease", "take", "gpu1", "--why", "w", "--session", other)
    more = atlas("begin", *mine, "--goal", "and the docs", ATLAS_CLOCK_OFFSET="1000").out
    assert "gpu1" in more and "gpu0" not in more and "One." not in more and "now for 2" in more
    assert "as before: status, leases, sessions" in more
    assert ok(atlas, "begin", *mine)["status"][0]["body"].endswith("One.\n")
    for whole in (("digest",), ("begin", "--words", "800")):
        assert "gpu0" in atlas(*whole, *mine, ATLAS_CLOCK_OFFSET="1000").out
    later = atlas("begin", *mine, ATLAS_CLOCK_OFFSET="2500").out
    assert "gpu0" in later and "One." in later, "who asks later may have lost it"


def test_the_morning_report_tells_what_happened_since(begun: str, other: str, atlas: Atlas) -> None:
    ok(atlas, "status", "write", "-m", "Still true.\nThe build is red.", "--replace")
    ok(atlas, "--session", begun)  # the last look
    ok(atlas, *DECISION, "--session", other)
    assert atlas("end", "--session", other).code == 5
    ok(atlas, "status", "--session", other)
    green = ("-m", "Still true.\nThe build is green.", "--replace")
    ok(atlas, "status", "write", *green, "--session", other)
    ok(atlas, "end", "--session", other)
    report = ok(atlas, "--since", "last", "--session", begun)
    assert report["since"]["writes"] == 3
    assert [row["id"] for row in report["done"]] == [other]
    assert [(row["session"], row["stops"]) for row in report["collisions"]] == [
        (other, ["write_last 1"])
    ]
    assert (
        report["status"][0]["number"],
        report["status"][0]["since"],
        len(report["decisions"]),
    ) == (2, 1, 1)
    shown = atlas("--since", "status:main@1", "--session", begun).out
    assert "│  Still true.\n│ -The build is red.\n│ +The build is green.\n" in shown
    assert ok(atlas, "--since", "last", "--session", begun)["since"]["writes"] == 0
    assert atlas("--since", "yesterdayish").code == 2


def test_every_list_can_be_asked_what_came_since(begun: str, other: str, atlas: Atlas) -> None:
    for count in (1, 2):
        ok(atlas, "status", "write", "-m", f"Entry {count}.")
        ok(atlas, "artifact", "put", f"doc-{'ab'[count - 1] * 8}", "src/x.py")
        ok(atlas, "lease", "take", f"box{count}", "--why", "w")
        ok(atlas, *DECISION)
    since = ("--since", "lease:box1")
    assert [row["name"] for row in ok(atlas, "artifact", "list", *since)["items"]] == [
        "doc-bbbbbbbb"
    ]
    assert [row["resource"] for row in ok(atlas, "lease", "list", *since)["items"]] == ["box2"]
    assert ok(atlas, "decision", "list", *since)["total"] == 2
    assert [row["ref"] for row in ok(atlas, "status", "log", *since)["items"]] == ["status:main@2"]
    assert [row["id"] for row in ok(atlas, "session", "list", *since)["items"]] == [begun]
    assert ok(atlas, "log", *since)["total"] == 5
    assert "-Entry 1." in ok(atlas, "status", "diff", *since)["diff"]
    assert ok(atlas, "log", "--since", "2099-01-01")["total"] == 0


def test_every_unread_version_is_new_and_a_noisy_name_counts_once(
    begun: str, other: str, repo: Path, atlas: Atlas
) -> None:
    now = times.moment(ok(atlas, "session", "show")["last"])
    by = {"session": other, "actor": "other"}
    files: dict[str, bytes] = {}
    for name, versions, age in (("state", 49, 60), ("plan", 3, 60), ("history", 2, 30 * 86400)):
        for number in range(1, versions + 1):
            about = {
                "name": name,
                "number": number,
                "ext": "md",
                "size": 1,
                "sha256": X_SHA256,
                **by,
            }
            about["at"] = times.rfc3339(now - age)
            files |= {
                artifact.path_of(name, number): text.dump(about),
                artifact.body_path(about): b"x",
            }
    plumbed(repo / ".git/atlas/store.git", files, now)
    listed = atlas("artifact", "list", "--new", "--json")
    names = [row["name"] for row in listed.data["items"]]
    assert (names.count("state"), names.count("plan")) == (1, 3)
    assert any(
        "state was put 49 times within the day" in notice for notice in listed.json["notices"]
    )
    ok(atlas, "artifact", "show", "plan@2")
    assert "artifact:plan@2" not in [
        row["ref"] for row in ok(atlas, "artifact", "list", "--new")["items"]
    ]
    assert "artifact:plan@2" in str(
        ok(atlas, "artifact", "list", "--new", "--session", other)["items"]
    ), "per reader"


def test_a_new_reader_is_spared_what_is_older_than_a_week(begun: str, atlas: Atlas) -> None:
    ok(atlas, "artifact", "put", "old", "src/x.py")
    month = {"ATLAS_CLOCK_OFFSET": str(30 * 86400)}
    ok(atlas, "begin", "--new", "--actor", "rookie", **month)
    found = atlas("artifact", "list", "--new", "--json", **month)
    assert found.data["items"] == []
    assert any("1 version older than seven days" in notice for notice in found.json["notices"])


def test_a_record_names_who_is_known_to_have_read_it(begun: str, other: str, atlas: Atlas) -> None:
    ok(atlas, "artifact", "put", "notes", "src/x.py")
    assert ok(atlas, "show", "artifact:notes")["read_by"] == []
    ok(atlas, "show", "artifact:notes", "--session", other)
    assert ok(atlas, "show", "artifact:notes")["read_by"] == [other]
    ok(atlas, "lease", "take", "gpu0", "--why", "publishes the receipt", "--session", other)
    for file in (NOTEBOOK, f"{NOTEBOOK}-wal", f"{NOTEBOOK}-shm", INDEX):
        Path(atlas("git", "rev-parse", "--absolute-git-dir").out.strip()).parent.joinpath(
            file
        ).unlink(missing_ok=True)
    shown = atlas("show", "artifact:notes", "--session", begun).out
    assert f"known to have been read by: {other}" in shown, "published: another clone knows it too"
    assert " ago " in shown.split("\n")[0]


def test_a_draft_is_listed_with_its_command_and_gone_once_submitted(
    begun: str, other: str, repo: Path, atlas: Atlas
) -> None:
    ok(atlas, "status", "write", "-m", "One.")
    ok(atlas, "status", "--session", other)
    ok(atlas, "status", "write", "-m", "One, two.", "--session", begun)
    stop = atlas("status", "write", "-m", "One, three.", "--replace", "--session", other, "--json")
    assert stop.code == 3
    drafts = ok(atlas, "begin", "--session", other)["you"]["drafts"]
    assert [one["submit"] for one in drafts] == [stop.json["error"]["details"]["next"]]
    file = Path(stop.json["error"]["details"]["draft"])
    file.write_text("One, two, three.")
    assert atlas(*drafts[0]["submit"].split()[1:]).code == 0
    assert not file.exists()
    assert ok(atlas, "begin", "--session", other)["you"]["drafts"] == []


@pytest.mark.parametrize("words", [("-m", "A text of six words, or so."), ("-",)])
def test_a_typed_text_that_was_refused_is_submitted_again(
    words: tuple[str, ...], begun: str, atlas: Atlas
) -> None:
    ok(atlas, "status", "write", "-m", "One.")
    refused = atlas(
        "status", "write", "--section", "S", *words, "--expect", "status:main@7", data="-"
    )
    assert refused.code == 3 and "your text is kept" in refused.err
    (draft,) = ok(atlas, "begin")["you"]["drafts"]
    assert "--section S --file" in draft["submit"]
    ok(atlas, *shlex.split(draft["submit"])[1:])
    assert f"## S\n\n{words[-1]}" in ok(atlas, "status")["body"]
    assert ok(atlas, "begin")["you"]["drafts"] == []


def test_a_draft_that_is_submitted_late_writes_over_nothing_that_came_since(
    begun: str, other: str, repo: Path, atlas: Atlas
) -> None:
    mine, theirs = ("--session", begun), ("--session", other)
    ok(atlas, "status", "write", "-m", "One.", *mine)
    ok(atlas, "artifact", "put", "notes", "-", *mine, data="one\n")
    view = repo / ".atlas"
    for name in ("status/main.md", "artifacts/notes.txt"):
        (view / name).chmod(0o644)
        (view / name).write_bytes((view / name).read_bytes().replace(b"One.", b"Mine.") + b"Mine\n")
    late = ("--expect", "status:main@7", *mine)
    for words in (
        ("status", "write", "--section", "S", "-m", "mine of S"),
        ("status", "write", "--replace", "-m", "mine of all"),
        ("end", "--section", "S", "-m", "mine at the end"),
        ("artifact", "put", "notes", "-"),
    ):
        refused = atlas(*words, *late, data="my notes\n")
        assert refused.code == 3 and "your text is kept" in refused.err, refused
    atlas("status", "show", *theirs), atlas("artifact", "show", "notes", *theirs)
    ok(atlas, "status", "write", "--section", "S", "-m", "Theirs.", *theirs)
    ok(atlas, "artifact", "put", "notes", "-", *theirs, data="theirs\n")
    atlas("status", "show", *mine), atlas("artifact", "show", "notes", *mine)
    rows = [row for who in (mine, theirs) for row in ok(atlas, "drafts", *who)["items"]]
    drafts = [row["submit"].replace(f"--session {other} ", "") for row in rows]
    assert len(drafts) == 6 and all(" --base " in submit for submit in drafts), drafts
    for submit in drafts:
        stop = atlas(*[word for word in shlex.split(submit)[1:] if word not in late], *mine)
        assert (stop.code, "version jump" in stop.err) == (3, True), (submit, stop)
    assert "Theirs." in ok(atlas, "status", *mine)["body"]
    assert "stream:" not in next((repo / ".git/atlas/drafts").glob("edited-status*")).read_text()


def test_the_digest_lists_who_never_came_back(begun: str, other: str, atlas: Atlas) -> None:
    ok(atlas, *DECISION, "--session", other)
    shown = ok(atlas, "begin", "--new", "--actor", "heir", **LATER)
    assert [row["id"] for row in shown["unfinished"]] == [other]


@pytest.mark.parametrize(
    "block",
    [
        "! it rains",
        Frame("status:main@1 by a", "It rains.\n\n- and\n- snows\n"),
        Frame("", "! it rains\n! it snows"),
    ],
)
def test_the_words_of_a_block_are_those_that_it_prints(
    block: Block, capsys: pytest.CaptureFixture[str]
) -> None:
    console.answer(Outcome({}, (block,)), console.Talk("atlas"), [])
    assert digest.count(block) >= len(capsys.readouterr().out.split()) >= digest.count(block) - 1


def test_a_part_is_one_function_and_a_word_in_its_order(
    begun: str,
    repo: Path,
    env: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def weather(state: State) -> Part:
        items = [{"id": str(count), "by": state.id} for count in range(30)]
        rows = ((item["id"], item["by"]) for item in items)
        return listed("weather", items, rows, "DAY|BY", "weather", "date", blocks=["! it rains"])

    at = digest.PARTS.index(digest.board.ready)
    monkeypatch.setattr(digest, "PARTS", (*digest.PARTS[:at], weather, *digest.PARTS[at:]))
    monkeypatch.chdir(repo)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(["--json"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert [row["id"] for row in data["weather"]] == [str(count) for count in range(20)]
    assert data["weather"][0]["by"] == begun
    assert data["more"]["weather"] == {"total": 30, "command": "date"}
    keys = list(data)
    assert keys.index("dead") < keys.index("weather") < keys.index("ready")
    assert main(["digest", "--words", "100"]) == 0
    out = capsys.readouterr().out
    assert f"! it rains\nweather:\n│ DAY  BY\n│ 0    {begun}\n(+29 more: date)\n" in out
