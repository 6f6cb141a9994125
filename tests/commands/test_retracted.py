"""What was retracted is told of by no command, of whatever kind the record is: that it was, by whom
and why is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Atlas
from ..store.hand import Hand
from .test_day import ok

WRONG, WHY = "WRONG FACT", "the table was of May"
NULL = {
    "status": "body",
    "artifact": "body",
    "decision": "why",
    "signal": "text",
    "gate": "why",
    "task": "body",
    "inbox": "body",
    "lease": "why",
    "session": "goal",
    "correction": "why",
}
READS = (
    "",
    "--since 24h",
    "begin",
    "status",
    "status log",
    "status diff",
    "artifact list",
    "artifact list --new",
    "artifact log notes",
    "artifact show notes",
    "artifact diff notes 1 2",
    "decision list",
    "decision show {decision}",
    "signal list",
    "signal show {signal}",
    "gate list",
    "gate list --all",
    "gate show {gate}",
    "task list",
    "task list --explain",
    "task list --all",
    "task show {task}",
    "task board",
    "task graph",
    "task graph --format dot",
    "task dead",
    "task next",
    "task results {done}",
    "task claim {task}",
    "task release {task}",
    "lease list",
    "lease list --all",
    "lease show gpu0",
    "lease take gpu0 --why w",
    "session list",
    "session show {session}",
    "who src/x.py",
    "log",
    "log -n 50",
    "signal list --since 24h",
    "decision list --since 24h",
)


@pytest.fixture
def refs(begun: str, repo: Path, env: dict[str, str], atlas: Atlas) -> dict[str, str]:
    """A record of each kind that says WRONG, by its kind; all retracted by a second session that
    lives here, too."""
    bob = str(
        ok(atlas, "begin", "--new", "--actor", "bob", "--goal", WRONG, "--on", "src/x.py")["id"]
    )
    ok(atlas, "begin", "--new", "--actor", "ann", "--on", "src/x.py")
    here = ("--session", bob)
    file = repo / "notes.md"
    file.write_text(f"{WRONG}\n")
    done = ok(atlas, "task", "add", "to be measured", *here)["id"]
    ok(atlas, "task", "claim", done, *here), ok(atlas, "task", "done", done, "-m", WRONG, *here)
    found = {
        "session": f"session:{bob}",
        "status": ok(atlas, "status", "write", "-m", f"{WRONG}\n", *here)["ref"],
        "artifact": ok(
            atlas, "artifact", "put", "notes", str(file), "--title", WRONG, "--caveat", WRONG, *here
        )["ref"],
        "decision": ok(
            atlas,
            "decision",
            "add",
            "--title",
            WRONG,
            "--recommended",
            WRONG,
            "--chosen",
            WRONG,
            "--stance",
            "agreed",
            "--why",
            WRONG,
            *here,
        )["ref"],
        "signal": ok(atlas, "signal", "post", "finding", "-m", WRONG, *here)["ref"],
        "task": ok(atlas, "task", "add", WRONG, "-m", WRONG, *here)["ref"],
        "gate": ok(atlas, "gate", "raise", "--why", WRONG, "--scope", "label:none", *here)["ref"],
        "result": f"result:{done}",
    }
    ok(atlas, "lease", "take", "gpu0", "path:src/x.py", "--why", WRONG, *here)
    found |= {"lease": "lease:gpu0", "path": "lease:path:src/x.py"}
    found["correction"] = ok(atlas, "correct", found["status"], "--why", WRONG, *here)["ref"]
    Hand(repo, env).commit({"inbox/note.md": f"# {WRONG}\n".encode()})
    found["inbox"] = "inbox:note.md"
    for ref in found.values():
        ok(atlas, "correct", ref, "--why", WHY, "--retract")
    return found | {"done": done}


def words(form: str, refs: dict[str, str]) -> list[str]:
    return form.format(**{kind: ref.partition(":")[2] or ref for kind, ref in refs.items()}).split()


def test_no_command_prints_it_and_each_says_by_whom_and_why(
    refs: dict[str, str], repo: Path, atlas: Atlas
) -> None:
    for form in READS:
        for done in (atlas(*words(form, refs)), atlas(*words(form, refs), "--json")):
            assert WRONG not in done.out + done.err, (form, done)
            assert "internal error" not in done.err and " None " not in done.out, (form, done)
    for file in (repo / ".atlas").rglob("*"):
        assert not file.is_file() or WRONG not in file.read_text(errors="replace"), file
    for form in (
        "status",
        "status log",
        "artifact list",
        "decision list",
        "signal list",
        "gate list",
        "task list --all",
        "lease list",
        "session list",
        "task results {done}",
        "gate show {gate}",
        "task show {task}",
    ):
        done = atlas(*words(form, refs))
        assert "retracted, by " in done.out and WHY in done.out, (form, done)


@pytest.mark.parametrize("kind", NULL)
def test_it_is_shown_to_who_asks_for_what_was_withdrawn(
    kind: str, refs: dict[str, str], atlas: Atlas
) -> None:
    plain, asked = atlas("show", refs[kind]), atlas("show", refs[kind], "--withdrawn")
    assert WRONG not in plain.out and WHY in plain.out
    data = ok(atlas, "show", refs[kind])
    assert [one["why"] for one in data["corrections"]][-1] == WHY
    if kind != "gate":  # (what it was raised for is its signal's)
        assert data[NULL[kind]] is None and "--withdrawn" in plain.out
        assert WRONG in asked.out and WRONG in str(
            ok(atlas, "show", refs[kind], "--withdrawn")[NULL[kind]]
        )


def test_a_result_is_given_only_to_who_asks_for_it(refs: dict[str, str], atlas: Atlas) -> None:
    assert ok(atlas, "task", "results", refs["done"])["items"][0]["text"] is None
    refused = atlas("task", "results", refs["done"], "--raw")
    assert refused.code == 6 and WHY[:20] in refused.err
    assert atlas("task", "results", refs["done"], "--raw", "--withdrawn").out == f"{WRONG}\n"


def test_the_words_of_who_takes_a_lease_after_it_are_shown(
    refs: dict[str, str], atlas: Atlas
) -> None:
    ok(atlas, "lease", "renew", "gpu0", "--session", refs["session"].partition(":")[2])
    assert ok(atlas, "lease", "show", "gpu0")["why"] is None
    ok(atlas, "lease", "release", "gpu0", "--session", refs["session"].partition(":")[2])
    ok(atlas, "lease", "take", "gpu0", "--why", "measured anew")
    assert ok(atlas, "lease", "show", "gpu0")["why"] == "measured anew"
    ok(atlas, "task", "edit", refs["task"], "--title", "measured anew")
    row = ok(atlas, "task", "show", refs["task"])
    assert (row["title"], row["body"]) == ("measured anew", None)


def test_hooks_and_stops_do_not_quote_it(
    refs: dict[str, str], repo: Path, env: dict[str, str], atlas: Atlas
) -> None:
    given = {"cwd": str(repo), "tool_input": {"file_path": str(repo / "src/x.py")}}
    for name in ("edit", "session-start"):
        said = subprocess.run(
            [sys.executable, "-c", "from atlas_cli.hook import run; run()", name],
            env=env,
            cwd=repo,
            input=json.dumps(given).encode(),
            capture_output=True,
            check=True,
        ).stdout.decode()
        assert WRONG not in said and "retracted" in said
    stop = atlas("lease", "take", "gpu0", "--why", "w", "--json")
    assert stop.code == 4 and "retracted" in stop.json["error"]["message"]
    assert stop.json["error"]["details"]["why"] is None
    assert atlas("hooks", "install").code == 0
    (repo / "src/x.py").write_text("y")
    done = subprocess.run(
        ["git", "commit", "-qam", "x"],
        cwd=repo,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "retracted" in done.stderr and WRONG not in done.stderr


def test_a_version_jump_prints_and_merges_nothing_of_it(begun: str, atlas: Atlas) -> None:
    bob = str(ok(atlas, "begin", "--new", "--actor", "bob")["id"])
    ok(atlas, "begin", "--new", "--actor", "ann")
    for put in (("status", "write", "--replace", "-m"), ("artifact", "put", "notes", "-")):

        def write(text: str, *more: str, put: tuple[str, ...] = put) -> Any:
            tail = (f"{text}\n",) if put[-1] == "-m" else ()
            return atlas(*put, *tail, *more, "--json", data=f"{text}\n")

        what = "status:main" if put[-1] == "-m" else "artifact:notes"
        assert write("one").code == 0
        ok(atlas, "show", what, "--session", bob)
        assert write(f"one {WRONG}").code == 0
        ok(atlas, "correct", what, "--why", WHY, "--retract")
        stop = write("mine", "--session", bob)
        assert stop.code == 3 and WRONG not in stop.out, stop
        draft = Path(stop.json["error"]["details"]["draft"]).read_text()
        assert WRONG not in draft and "mine" in draft


def test_words_inside_a_record_are_withheld_with_it(begun: str, atlas: Atlas) -> None:
    need, cold, dead = (str(ok(atlas, "task", "add", "to be judged")["id"]) for _ in "123")
    ok(atlas, "task", "edit", cold, "--needs", need)
    ok(atlas, "task", "edit", cold, "--drop-need", need, "--why", WRONG)
    ok(atlas, "task", "freeze", cold, "--why", WRONG)
    ok(atlas, "task", "cancel", dead, "--why", WRONG, "--base", "1")
    ok(atlas, "task", "retry", dead, "--why", WRONG)
    for _ in range(4):
        ok(atlas, "task", "claim", dead), ok(atlas, "task", "fail", dead, "--why", WRONG)
    gate = ok(atlas, "gate", "raise", "--why", "for a day", "--scope", "label:none")["id"]
    ok(atlas, "gate", "clear", gate, "--why", WRONG)
    ok(atlas, "session", "offer", "--slots", "1", "--tag", WRONG)
    ok(atlas, "status", "write", "-m", "so far", "--section", WRONG)
    reads = {
        f"task:{cold}": ("task list", f"task show {cold}", f"show task:{cold}", "task board"),
        f"task:{dead}": ("task dead", f"task show {dead}", f"show task:{dead}", ""),
        f"gate:{gate}": (f"gate show {gate}", f"show gate:{gate}.cleared", "gate list --all"),
        f"session:{begun}": ("session show", "session list", f"show session:{begun}"),
        "status:main@1": ("status", "show status:main", "status log", "begin"),
    }
    for ref in reads:
        assert WRONG in atlas("show", f"{ref}.cleared" if "gate" in ref else ref).out, ref
        ok(atlas, "correct", ref, "--why", WHY, "--retract")
    for form in (form for forms in reads.values() for form in forms):
        for done in (atlas(*form.split()), atlas(*form.split(), "--json")):
            assert done.code == 0 and WRONG not in done.out + done.err, (form, done)
            assert " None" not in done.out, (form, done)
    assert WRONG in atlas("show", f"task:{cold}", "--withdrawn").out
    ok(atlas, "task", "thaw", cold)
    ok(atlas, "task", "freeze", cold, "--why", "measured anew")
    row = ok(atlas, "task", "show", cold)
    assert row["frozen"]["why"] == "measured anew" and row["dropped"][0]["why"] is None
