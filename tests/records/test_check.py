"""The rules of `check`, without git: order in the store decides, clocks only warn but on a merge
request."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.checks.commit import CodeCommit, Read, claims
from atlas_cli.checks.rules import SLACK, Entry, History, Target, judge
from atlas_cli.model import times
from atlas_cli.records import policy
from atlas_cli.records.words import Word

from .files import ANN, BOB, EVE, NOW, store

HOUR = 3600
ME = "Ann <ann@x>"
ROWS: dict[str, Any] = {name: {"began": times.rfc3339(NOW)} for name in (ANN, BOB, EVE)}


def entries(*by: str | None) -> dict[str, dict[int, Entry]]:
    """The stream main: an entry at places 10, 20, 30 …, an hour apart."""
    return {
        "main": {n: Entry(10 * n, NOW + n * HOUR, f"{n}" * 40, who) for n, who in enumerate(by, 1)}
    }


def past(*by: str | None, begins: dict[str, int] | None = None, **more: Any) -> History:
    found = History(NOW, ROWS, begins or {ANN: 1, BOB: 1}, {}, entries(*by))
    return found._replace(**more)


def code(*lines: str, at: int = NOW + HOUR, **more: Any) -> CodeCommit:
    return CodeCommit(
        "c" * 40, ("p",), ME, at, ME, at, "\n".join(["subject", "", *lines])
    )._replace(**more)


def ann(number: int, at: int = NOW + HOUR, **more: Any) -> CodeCommit:
    read = f"main@{number}~{str(number) * 12}" if number else "main@0"
    return code(f"Atlas-Session: {ANN}", f"Atlas-Read: {read}", at=at, **more)


SIDE = Target()  # a branch of its own


def said(
    found: History, *codes: CodeCommit, where: Target = SIDE, **rules: Any
) -> list[tuple[str, str]]:
    verdict = judge(codes, found, policy.of(store()) | rules, where, lambda _: ())
    return [(finding.rule, finding.level) for finding in verdict.findings]


def test_trailers_are_read_anywhere_in_a_message() -> None:
    squashed = (
        f"* one\n\n    Atlas-Session: {ANN}\n    Atlas-Read: main@1~{'1' * 12}\r\n\n* two\n\nAtlas-Session: {BOB}\n"
        f"Atlas-Read: api@0\nAtlas-Read: main@2~{'2' * 12}\n\nCo-authored-by: x\nAtlas-Session: no session\nAtlas-Read: x"
    )
    assert claims(squashed) == {
        ANN: {Read("main", 1, "1" * 12)},
        BOB: {Read("api", 0, ""), Read("main", 2, "2" * 12)},
    }
    assert claims(f"s\n\nAtlas-Read: main@0\nAtlas-Session: {ANN}") == {ANN: {Read("main", 0, "")}}
    assert claims("s\n\nthe trailer Atlas-Session: x is what names it") == {}


def test_a_session_and_an_entry_that_the_history_has_pass() -> None:
    assert said(past("x"), ann(1)) == []
    assert said(past(), ann(0)) == []
    assert (
        said(past("x", "x"), ann(1), ann(2)) == []
    )  # superseded while the session lived: the commit may be older


def test_what_the_history_does_not_have_stops() -> None:
    assert said(past("x", begins={BOB: 1}), ann(1)) == [("session", "stop")]
    assert said(past("x"), ann(2)) == [("read_first", "stop")]
    assert said(past("x"), code(f"Atlas-Session: {ANN}", "Atlas-Read: main@1~badbadbadbad")) == [
        ("read_first", "stop")
    ]
    assert said(past("x"), code(f"Atlas-Session: {ANN}", "Atlas-Read: main@1")) == [
        ("read_first", "stop")
    ]
    assert said(past("x"), code(f"Atlas-Session: {ANN}")) == [("read_first", "stop")]


def test_what_was_superseded_before_the_session_began_stops() -> None:
    assert said(past("x", "x", begins={ANN: 21}), ann(1)) == [("read_first", "stop")]
    assert said(past("x", begins={ANN: 11}), ann(0)) == [("read_first", "stop")]
    assert said(past("x", "x", begins={ANN: 19}), ann(1)) == []


def test_by_the_clock_a_session_must_have_known_of_the_newer_entry_once_it_wrote_behind_it() -> (
    None
):
    found = past("x", "x", writes={ANN: [(1, NOW), (25, NOW + 3 * HOUR)]})
    late = ann(1, at=NOW + 3 * HOUR + 1)
    assert said(found, ann(1, at=NOW + 3 * HOUR)) == []
    assert said(found, late) == [("read_first", "warn")]
    assert said(found, late, where=Target(request=True)) == [("read_first", "stop")]
    assert said(past("x", ANN, writes=found.writes), late) == []  # its own entry is no news to it
    assert said(past("x", ANN, "x", writes={ANN: [(35, NOW + 3 * HOUR)]}), late) == [
        ("read_first", "warn")
    ]
    # Without a write it would not have been live for longer than `session_idle`.
    assert said(past("x", "x"), ann(1, at=NOW + 6 * HOUR)) == []
    assert said(past("x", "x"), ann(1, at=NOW + 6 * HOUR + 1)) == [("read_first", "warn")]


def test_the_dates_of_a_merge_button_are_nobodys() -> None:
    found = past("x", "x", writes={ANN: [(25, NOW + 3 * HOUR)]})
    day = NOW + 24 * HOUR
    assert said(found, ann(1, at=day, committer="GitHub <noreply@github.com>")) == []
    both = code(
        f"Atlas-Session: {ANN}",
        f"Atlas-Read: main@1~{'1' * 12}",
        f"Atlas-Session: {BOB}",
        f"Atlas-Read: main@1~{'1' * 12}",
        at=day,
    )
    assert said(found, both) == []
    # A rebase keeps the author's date, whoever does it.
    assert said(found, ann(1, at=day, committer="Eve <eve@x>")._replace(made=NOW + 2 * HOUR)) == []
    assert said(found, ann(1, at=day + 9, committer="Eve <eve@x>")._replace(made=day)) == [
        ("read_first", "warn")
    ]


def test_a_commit_is_made_in_its_sessions_life_give_or_take() -> None:
    rows = {ANN: {"began": times.rfc3339(NOW), "ended": times.rfc3339(NOW + HOUR)}}
    found = past(sessions=rows)
    for at, wanted in (
        (NOW - SLACK, []),
        (NOW + HOUR + SLACK, []),
        (NOW - SLACK - 1, [("session", "warn")]),
        (NOW + HOUR + SLACK + 1, [("session", "warn")]),
    ):
        assert said(found, ann(0, at=at)) == wanted


def lease(
    holder: str, at: int, token: int = 1, resource: str = "path:src", **more: Any
) -> tuple[int, dict[str, Any]]:
    row = {
        "resource": resource,
        "holder": holder,
        "token": token,
        "at": times.rfc3339(at),
        "why": "w",
        "expires": times.rfc3339(at + 2 * HOUR),
    }
    return at, row | more


@pytest.mark.parametrize(
    ("versions", "wanted"),
    [
        ([lease(BOB, NOW)], True),
        ([lease(ANN, NOW)], False),
        ([lease(BOB, NOW, resource="repo:run")], True),
        ([lease(BOB, NOW, resource="path:srcs")], False),
        ([lease(BOB, NOW + HOUR - 10)], False),  # taken a moment before
        (
            [lease(BOB, NOW), lease(BOB, NOW + HOUR + 10, released=times.rfc3339(NOW + HOUR + 10))],
            False,
        ),
        ([lease(BOB, NOW), lease(BOB, NOW + HOUR - 10)], True),  # renewed a moment before
        ([lease(BOB, NOW), lease(EVE, NOW + HOUR - 10, token=2)], False),
        ([lease(BOB, NOW - HOUR - 60)], False),  # about to run out
    ],
)
def test_leases_are_judged_as_the_store_had_them_then(versions: Any, wanted: bool) -> None:
    changed = ann(0, paths=("docs/a", "src/x.py"))
    assert (
        said(past(leases={versions[0][1]["resource"]: versions}), changed)
        == [("leases", "warn")] * wanted
    )
    assert (
        said(
            past(leases={versions[0][1]["resource"]: versions}),
            changed,
            preconditions={"leases": "off"},
        )
        == []
    )
    strict = said(
        past(leases={versions[0][1]["resource"]: versions}),
        changed,
        preconditions={"leases": "stop"},
        where=Target(request=True),
    )
    assert strict == [("leases", "stop")] * wanted


@pytest.mark.parametrize(
    ("declared", "shared", "wanted"),
    [
        ({"rig": {"paths": ["src"]}}, {}, True),
        ({"rig": {"paths": ["src/x.py"]}}, {}, True),
        ({"rig": {"paths": ["src/y.py"]}}, {}, False),
        ({"rig": {"about": "the test rig"}}, {}, False),
        ({}, {}, False),
        ({"rig": {"paths": ["src"]}}, {"rig": "lab"}, False),  # another store's name
    ],
)
def test_a_lease_on_a_name_is_on_the_paths_that_mean_it(
    declared: Any, shared: Any, wanted: bool
) -> None:
    found = past(leases={"rig": [lease(BOB, NOW, resource="rig")]})
    rules: Any = {"resources": declared, "shared": shared}
    assert (
        said(found, ann(0, paths=("docs/a", "src/x.py")), **rules) == [("leases", "warn")] * wanted
    )


def test_a_lease_of_an_ancestor_covers() -> None:
    rows = {ANN: {**ROWS[ANN], "lineage": [BOB]}}
    assert (
        said(past(leases={"path:src": [lease(BOB, NOW)]}, sessions=rows), ann(0, paths=("src/x",)))
        == []
    )


MAIN = Target(integration=True)


LATE = NOW + 30 * HOUR  # when every session is over


def last(*by: str | None, **more: Any) -> History:
    """A history in which each entry of main is a word of its session, judged when all are over."""
    words: dict[str, list[Word]] = {}
    for entry in entries(*by)["main"].values():
        word = Word(entry.seq, f"op{entry.seq}", entry.at)
        words.setdefault(str(entry.session), []).append(word)
    return past(*by, words=words, now=LATE)._replace(**more)


def work(word: str, who: str = ANN, at: int = NOW + HOUR, **more: Any) -> CodeCommit:
    """A commit whose session's newest word is that of an operation."""
    read = f"Atlas-Read: main@1~{'1' * 12}"
    return code(f"Atlas-Session: {who}", read, f"Atlas-Word: {word}", at=at, **more)


def test_a_session_that_is_over_has_a_word_behind_its_commits() -> None:
    stop, warn = [("write_last", "stop")], [("write_last", "warn")]
    assert said(last("x"), work("none"), where=MAIN) == stop
    assert said(last("x"), work("none")) == []  # a branch of its own
    assert said(last("x"), work("none"), where=Target(True, True)) == warn  # not merged yet
    assert said(last("x"), work("none"), where=MAIN, preconditions={"write_last": "off"}) == []
    assert said(last("x", ANN), work("none"), where=MAIN) == []
    assert said(last("x", ANN), work("op20"), where=MAIN) == stop  # it committed after it
    assert said(last("x", ANN), work("none"), work("op20"), where=MAIN) == stop
    assert said(last("x", ANN, "x", ANN), work("op20"), where=MAIN) == []
    merge = work("op20", parents=("p", "q"))
    assert said(last("x", ANN), work("none"), merge, where=MAIN) == []
    confirmed = {ANN: [Word(20, "op20", NOW, confirms=True)]}
    assert said(last("x", words=confirmed), work("none"), where=MAIN) == stop


def test_a_session_at_work_is_warned_of_once_its_word_is_due() -> None:
    for now, wanted in ((NOW + HOUR + 60, []), (NOW + 2 * HOUR, [("write_last", "warn")])):
        assert said(last("x", now=now), work("none"), where=MAIN) == wanted
    ended = {**ROWS, ANN: {**ROWS[ANN], "ended": times.rfc3339(NOW + HOUR)}}
    found = last("x", now=NOW + HOUR + 60, sessions=ended)
    assert said(found, work("none"), where=MAIN) == [("write_last", "stop")]


def test_without_the_trailer_the_entries_that_were_read_tell_the_order() -> None:
    assert said(last("x", ANN), ann(1), where=MAIN) == []
    assert said(last("x", ANN), ann(2), where=MAIN) == [("write_last", "stop")]


def test_whoever_adopted_a_session_or_began_it_may_leave_its_word() -> None:
    at = times.rfc3339(NOW + 2 * HOUR)
    row = {**ROWS[ANN], "adopted_by": BOB, "adopted": at}
    adopted = {ANN: row, BOB: {**ROWS[BOB], "adopted_by": ANN, "adopted": at}}
    assert said(last("x", BOB, sessions=adopted), work("none"), where=MAIN) == []
    before = {**adopted, ANN: {**row, "adopted": times.rfc3339(NOW + 3 * HOUR)}}
    stop = [("write_last", "stop")]
    assert said(last("x", BOB, sessions=before), work("none"), where=MAIN) == stop
    assert said(last("x", EVE, sessions=adopted), work("none"), where=MAIN) == stop
    at_work = last("x", sessions={**adopted, BOB: ROWS[BOB]}, writes={BOB: [(30, LATE)]})
    assert said(at_work, work("none"), where=MAIN) == [("write_last", "warn")], "its heir may yet"
    child = {ANN: {**ROWS[ANN], "lineage": [BOB]}}
    assert said(last("x", BOB, sessions=child), work("none"), where=MAIN) == []
    dismissed = {ANN: {**ROWS[ANN], "ended": at, "dismissed": at, "dismissed_by": BOB}}
    assert said(last("x", sessions=dismissed), work("none"), where=MAIN) == []


def test_each_session_answers_for_itself() -> None:
    both = (work("none"), work("none", who=BOB))
    assert said(last("x", BOB), *both, where=MAIN) == [("write_last", "stop")]
    assert said(last("x", BOB, ANN), *both, where=MAIN) == []


def test_who_takes_no_part_is_counted() -> None:
    strangers = (code(), code(parents=("p", "q")), code(at=NOW - 1), ann(9, parents=("p", "q")))
    verdict = judge(strangers, past(), policy.of(store()), Target(), lambda _: ())
    assert verdict.findings == () and verdict.judged == 0
    assert dict(verdict.unattended) == {
        "without a session": 2,
        "merges": 1,
        "older than the store": 1,
    }
    assert said(past(), *strangers, unattended="warn") == [("unattended", "warn")] * 2
    assert said(past(), *strangers, unattended="stop") == [("unattended", "stop")] * 2


def test_dead_links_are_held_against_the_commit_that_broke_them() -> None:
    verdict = judge(
        [ann(0), code()], past(), policy.of(store()), Target(), lambda _: [("a.md", "x is dead")]
    )
    assert [(one.rule, one.level, one.path) for one in verdict.findings] == [
        ("links", "stop", "a.md")
    ]
