"""A whole day of three workers, with everything that goes wrong in one; each call is counted (the
page `protocol` shows it)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Atlas, Result

HOUR = 3600


class Day:
    """The calls of the day, by worker, on a clock that the test moves."""

    def __init__(self, atlas: Atlas) -> None:
        self.atlas, self.offset = atlas, 0
        self.calls: list[tuple[str, str]] = []

    def __call__(self, worker: str, *args: str, code: int = 0) -> Any:
        """A worker's call: its data, or its error where it is to stop."""
        said: Result = self.atlas(
            *args,
            "--json",
            CODEX_THREAD_ID=worker,
            ATLAS_ACTOR=worker,
            ATLAS_CLOCK_OFFSET=str(self.offset),
        )
        assert said.code == code, (worker, args, said.out, said.err)
        kind = said.json["error"]["code"] if code else ""
        if not code:
            kind = {"session": "adopted", "--since": "report"}.get(args[0], "")
            kind = "lost context" if args == ("begin",) else kind
        self.calls.append((worker, kind))
        return said.json["error"] if code else said.data

    def submitted(self, worker: str, error: Any) -> Any:
        """A stop's own next step, once the draft was looked over."""
        draft = Path(error["details"]["draft"])
        lines = [
            line
            for line in draft.read_text().split("\n")
            if not line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
        ]
        draft.write_text("\n".join(lines))
        return self(worker, *error["details"]["next"].split()[1:])

    def extra(self) -> Counter[str]:
        """The calls beyond work and the two of each session, by what made them necessary."""
        return Counter(kind for _, kind in self.calls if kind)


@pytest.mark.usefixtures("repo")
def test_a_day_costs_two_calls_and_each_mishap_one_more(repo: Path, atlas: Atlas) -> None:
    day = Day(atlas)

    # 09:00. Ann and Bob begin, and write the status at the same time, twice.
    first = day("ann", "begin", "--goal", "rewrite the parser", "--on", "src/x.py")["id"]
    day("ann", "status", "write", "--replace", "-m", "Parser: being rewritten.\n")
    bob = day("bob", "begin", "--goal", "write the manual")["id"]
    day("ann", "status", "write", "--replace", "-m", "Parser: being rewritten.\nTests: green.\n")
    manual = "Parser: being rewritten.\nManual: chapter 1.\n"
    jump = day("bob", "status", "write", "--replace", "-m", manual, code=3)  # first jump
    assert "Tests: green." in day.submitted("bob", jump)["body"]
    whole = ("--replace", "-m", "Lexer done.")
    jump = day("ann", "end", *whole, code=3)  # second jump: her end meets his entry
    assert day.submitted("ann", jump)["ended"]
    (repo / "notes.md").write_text("# notes\n\nthe grammar\n")
    day("bob", "artifact", "put", "grammar", "notes.md")

    # 11:00. Ann starts a child; it is ended too early, by a slip.
    day.offset = 2 * HOUR
    ann = day("ann", "begin", "--goal", "measure the parser")["id"]
    child = day("ann", "begin", "--parent", ann, "--goal", "measure the lexer")["id"]
    day("ann", "lease", "take", "gpu0", "--why", "measuring", "--session", child)
    day(
        "ann",
        "decision",
        "add",
        "--title",
        "timer",
        "--recommended",
        "a",
        "--chosen",
        "a",
        "--stance",
        "agreed",
        "--why",
        "w",
        "--session",
        child,
    )
    stop = day("ann", "end", "--session", child, code=5)
    assert stop["code"] == "write_last"
    day("ann", "end", "--session", child, "-m", "Measured: 3x faster.")
    assert atlas("session", "show", ann, "--json").data["state"] == "live", (
        "the child's end closed nobody else"
    )

    # 12:00. Cid builds on the grammar, and crashes.
    day.offset = 3 * HOUR
    cid = day("cid", "begin", "--goal", "generate the code")["id"]
    day("cid", "artifact", "put", "code", "src/x.py", "--relies-on", "artifact:grammar@1")

    # 12:30. Ann retracts the grammar; whoever used it hears of it at the next command.
    day.offset = 3 * HOUR + HOUR // 2
    day("ann", "correct", "artifact:grammar@1", "--retract", "--why", "the errors are missing")
    # Her child's section is carried beside hers, and she is told of it: no stop.
    ended = day("ann", "end", "-m", "Lexer measured. The grammar is withdrawn.")
    assert [part["body"] for part in ended["status"]["carried"]] == ["Measured: 3x faster."]

    # 12:40. Bob lost his context: one call, and he is himself again, and has heard of it.
    assert day("bob", "begin")["id"] == bob
    day("bob", "end", "-m", "Manual: chapter 1 is done.")

    # The next morning. Dan asks what happened, and takes over what Cid left.
    day.offset = 21 * HOUR
    report = day("dan", "--since", "1d")
    assert {row["id"] for row in report["done"]} == {first, ann, bob, child}
    assert [row["id"] for row in report["unfinished"]] == [cid]
    assert sum(int(stop.split()[1]) for row in report["collisions"] for stop in row["stops"]) == 3
    assert [row["target"] for row in report["corrections"]] == ["artifact:grammar@1"]
    day("dan", "begin", "--goal", "go on with the code")
    day("dan", "session", "adopt", cid, "--why", "it never came back")
    assert "artifact:grammar@1" in str(atlas("show", "artifact:code", CODEX_THREAD_ID="dan").out), (
        "and is warned"
    )
    assert day("cid", "artifact", "put", "code", "src/x.py", code=5)["code"] == "adopted"
    day("dan", "end", "-m", "Cid's code rests on a withdrawn grammar: to be done again.")

    assert atlas("verify", "--full").code == 0
    mishaps = {
        "version_jump": 2,
        "lost context": 1,
        "write_last": 1,
        "adopted": 2,  # by its heir, and as it writes again
        "report": 1,
    }
    assert day.extra() == mishaps, "one call each, and none for the crash and the retraction"
    work, sessions = 8, 6  # Cid never came to his `end`
    assert len(day.calls) == work + 2 * sessions - 1 + sum(mishaps.values())
