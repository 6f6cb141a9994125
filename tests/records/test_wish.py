"""What a session wishes to say in the status, and the entry that comes of it on any history: where a
section goes, what is folded, what is carried, and that no text is ever out of sight."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_cli.errors import Refused, VersionJump
from atlas_cli.model import text, times
from atlas_cli.model.change import Change, Writer
from atlas_cli.model.text import Record
from atlas_cli.records import (
    carried,
    correction,
    folding,
    judging,
    parts,
    session,
    status,
    takeover,
)
from atlas_cli.records.parts import Part
from atlas_cli.records.status_write import Seen, holding, write
from atlas_cli.records.wish import Wish, digest

from .files import ANN, BOB, EVE, FEW, NOW, STORE, Files, done, judged, store, writer

HOUR = 3600


def op(number: int) -> str:
    return f"{number:032x}"


class Day:
    """A store in which sessions write, each having seen all that is there, if nothing else is
    said."""

    def __init__(self, tree: Files | None = None, **policy: Any) -> None:
        self.tree = tree or store(**policy)
        self.at = NOW
        self.count = 0

    def begin(self, *names: str) -> Day:
        for name in names:
            who = writer(name)
            given: Record = {"goal": "g", "worktree": "", "branch": "", "kind": "work"}
            lists: Record = {"paths": [], "streams": [], "lasts": None}
            self.tree = done(self.tree, session.begin(self.tree, who, **given, **lists), who)
        return self

    def end(self, name: str) -> Day:
        who = writer(name, self.at)
        self.tree = done(self.tree, session.end(self.tree, who), who)
        return self

    def who(self, name: str) -> Writer:
        self.count += 1
        return writer(name, self.at, operation=op(self.count))

    def change(self, name: str, wish: Wish, seen: Any = "all", meets: Any = None) -> Change:
        last = status.newest(self.tree, "main")
        number = (last or None) if seen == "all" else seen
        how = Seen(number, number, meets) if meets else Seen(number, number)
        return write(self.tree, self.who(name), wish, how)

    def says(self, name: str, heading: str, body: str = "x", seen: Any = "all", **more: Any) -> Day:
        wish = Wish("main", heading, body, **more)
        change = self.change(name, wish, seen)
        who = writer(name, self.at, operation=op(self.count))
        self.tree = done(self.tree, change, who)
        return self

    def replaces(self, name: str, body: str, **more: Any) -> Day:
        change = self.change(name, Wish("main", text=body, replace=True, **more))
        self.tree = done(self.tree, change, writer(name, self.at, operation=op(self.count)))
        return self

    @property
    def head(self) -> Record:
        record = status.current(self.tree, "main")
        assert record is not None
        return record

    def parts(self) -> dict[str, Part]:
        return {part.heading: part for part in parts.parts(self.tree, "main")}

    def shown(self) -> list[tuple[str, str, str, int]]:
        """(heading, text, who wrote it, in which entry) of each section."""
        return [
            (part.heading, part.text, part.session.partition("-")[0], part.written)
            for part in parts.parts(self.tree, "main")
        ]


def test_a_section_is_put_beside_the_others_and_each_keeps_its_writer() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "Parser", "one").says(BOB, "Docs", "two")
    day.says(ANN, "Parser", "three")
    assert day.shown() == [("Parser", "three", "ann", 3), ("Docs", "two", "bob", 2)]
    assert day.head["body"] == "## Parser\n\nthree\n\n## Docs\n\ntwo\n"
    assert day.head["sections"] == [
        {"heading": "Parser", "from": op(3), "entry": 3},
        {"heading": "Docs", "from": op(2), "entry": 2},
    ]


@pytest.mark.parametrize(
    ("wished", "over", "expected"),
    [
        # a heading that a live session has taken is not taken from it
        (Wish("main", "Parser", "new"), False, {"Parser": "ann", "Parser (2)": "bob"}),
        # what a session that is over has left is gone on with, once it was read
        (Wish("main", "Parser", "new"), True, {"Parser": "bob"}),
        # named outright, and read, it is written over
        (Wish("main", "Parser", "new", exact=True), False, {"Parser": "bob"}),
        (Wish("main", "Docs", "new"), False, {"Parser": "ann", "Docs": "bob"}),
    ],
)
def test_where_a_section_goes(wished: Wish, over: bool, expected: dict[str, str]) -> None:
    day = Day().begin(ANN, BOB).says(ANN, "Parser", "old")
    if over:
        day.end(ANN)
    day.tree = done(day.tree, day.change(BOB, wished), writer(BOB, operation=op(day.count)))
    assert {part[0]: part[2] for part in day.shown()} == expected


def test_the_second_of_a_name_is_written_over_by_its_own_session_only() -> None:
    day = Day().begin(ANN, BOB, EVE).says(ANN, "P").says(BOB, "P", "b").says(EVE, "P", "e")
    day.says(BOB, "P (2)", "b2").says(EVE, "P", "e2")
    assert [part[:3] for part in day.shown()] == [
        ("P", "x", "ann"),
        ("P (2)", "b2", "bob"),
        ("P (3)", "e2", "eve"),
    ]


def test_a_write_on_a_moved_head_stops_only_for_what_it_would_lose_or_what_concerns_it() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "Parser", "one").says(BOB, "Docs", "two")
    day.change(ANN, Wish("main", "Parser", "new"), seen=1)  # carried, and nothing said against it
    with pytest.raises(VersionJump, match=r"it is about x.py, as yours is") as stop:
        day.change(
            ANN,
            Wish("main", "Parser", "new"),
            seen=1,
            meets=lambda part: "it is about x.py, as yours is" if part.heading == "Docs" else "",
        )
    assert stop.value.details["merged"] == "new\n"  # the draft is the session's own section
    assert stop.value.details["submit"] == "atlas status write main --base 2 --file {draft}"
    day.says(BOB, "Parser", "mine now", exact=True)
    for wish in (Wish("main", "Parser", "new"), Wish("main", "Parser", "new", exact=True)):
        with pytest.raises(VersionJump, match="'Parser' is not as you have read it"):
            day.change(ANN, wish, seen=1)
    day.says(ANN, "Parser", "new", seen=3)  # by then it is another's: both stand
    assert [part[:3] for part in day.shown()] == [
        ("Parser", "mine now", "bob"),
        ("Docs", "two", "bob"),
        ("Parser (2)", "new", "ann"),
    ]


def test_what_its_writer_had_not_seen_is_named() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A").says(BOB, "B").says(BOB, "B", "b2")
    day.says(ANN, "A", "a2", seen=1)
    assert day.head["unseen"] == ["status:main@2", "status:main@3"]
    day.says(BOB, "B", "b3")
    assert "unseen" not in day.head  # it had seen all
    assert day.parts()["A"].unseen == ("status:main@2", "status:main@3")  # and that stays with A


def test_warnings_go_only_by_their_time_or_by_who_gave_them() -> None:
    until = times.rfc3339(NOW + HOUR)
    day = Day().begin(ANN, BOB, EVE).says(ANN, "A", warn=(("do not touch x", until),))
    day.says(BOB, "A", "written over", exact=True).replaces(EVE, "## B\n\nall new\n")
    part = day.parts()["A"]
    assert [(warn.text, warn.session) for warn in part.warn] == [("do not touch x", ANN)]
    assert [part[:3] for part in day.shown()] == [
        ("B", "all new", "eve"),
        ("A", "written over", "bob"),
    ]
    taken = Wish("main", "A", unwarn=True)
    day.tree = done(day.tree, day.change(BOB, taken), writer(BOB, operation=op(day.count)))
    assert day.parts()["A"].warn  # it is not bob's to take back
    adopts = takeover.adopt(day.end(ANN).tree, writer(EVE), ANN, "it is gone")
    day.tree = done(day.tree, adopts, writer(EVE))
    day.tree = done(day.tree, day.change(EVE, taken), writer(EVE, operation=op(day.count)))
    assert not day.parts()["A"].warn and day.parts()["A"].written == 2
    day.says(BOB, "C", warn=(("soon over", until), ("till the end", f"session:{EVE}")))
    day.at += HOUR
    day.says(EVE, "D")
    assert [warn.text for warn in day.parts()["C"].warn] == ["till the end"]
    day.end(EVE).says(BOB, "C", "again")
    assert not day.parts()["C"].warn


def test_a_warning_is_short_and_a_section_has_two_of_its_writer() -> None:
    until = times.rfc3339(NOW + HOUR)
    day = Day().begin(ANN)
    with pytest.raises(Refused, match="26 words long; at most 25"):
        day.change(ANN, Wish("main", "A", "x", warn=(("w " * 26, until),)))
    day.says(ANN, "A", warn=(("one", until), ("two", until)))
    with pytest.raises(Refused, match="3 warnings of yours; at most 2"):
        day.change(ANN, Wish("main", "A", "x", warn=(("three", until),)))


def test_what_is_too_much_is_folded_ended_sessions_first_the_oldest_first() -> None:
    long = " ".join(["word"] * 11)
    day = Day(status_words=24).begin(ANN, BOB, EVE)  # 96 words in all, 12 a section
    for number, name in enumerate((ANN, BOB, EVE, ANN, BOB, EVE, ANN, BOB)):
        day.says(name, f"S{number}", long)
    assert len(day.parts()) == 8 and "earlier" not in day.head
    day.end(BOB).says(EVE, "S9", long)
    assert "S1" not in day.parts() and len(day.parts()) == 8
    assert day.head["earlier"] == [{"heading": "S1", "ref": "status:main@8"}]
    day.says(EVE, "S10", long).says(EVE, "S11", long).says(EVE, "S12", long)
    assert [row["heading"] for row in day.head["earlier"]] == ["S1", "S4", "S7", "S0"]
    # nobody's word is refused for the others': all that is there may be another's, and warned of
    until = times.rfc3339(NOW + HOUR)
    for number in range(20):
        day.says(ANN, f"W{number}", long, warn=(("w", until),))
    assert day.parts()["W0"].text == long


def test_a_folded_section_comes_back_from_the_entry_that_names_it() -> None:
    day = Day(status_words=24).begin(ANN, BOB).says(ANN, "Old", "what was said")
    long = " ".join(["word"] * 12)
    for number in range(8):
        day.says(BOB, f"S{number}", long)
    item = next(row for row in day.head["earlier"] if row["heading"] == "Old")
    where = parts.parts(day.tree, "main", int(item["ref"].rpartition("@")[2]))
    old = next(part for part in where if part.heading == "Old")
    day.says(ANN, "Old", old.text, exact=True, back=folding.name(item))
    assert day.parts()["Old"].text == "what was said" and item not in day.head["earlier"]


def test_very_many_folded_ones_are_named_by_the_entry_that_names_them() -> None:
    rows = [{"heading": f"H{n}", "ref": f"status:main@{n}"} for n in range(folding.ITEMS)]
    head: Record = {"stream": "main", "number": 200, "earlier": rows}
    gone = Part("main", 200, "new", "x", "", ANN, "ann", NOW, written=3)
    first, *rest = folding.earlier(head, [gone], "")
    assert first == {"heading": "", "ref": "status:main@200", "count": 64}
    assert rest[-1] == {"heading": "new", "ref": "status:main@200"}
    again = {"stream": "main", "number": 300, "earlier": [first, *rest, *rows[:63]]}
    items = folding.earlier(again, [gone], "")
    assert items[0] == {"heading": "", "ref": "status:main@300", "count": 64 + 63}
    assert sum(map(folding.count, items)) == 64 + 64 + 1 + 63 + 1


HAND = (
    b'---\nstream: main\nnumber: %d\nsession: "%s"\nactor: bob\nat: 2026-11-29T14:00:00Z\n%s---\n%s'
)


def by_hand(day: Day, number: int, body: bytes, items: bytes = b"") -> None:
    data = HAND % (number, BOB.encode(), items, body)
    files = {status.path_of("main", number): data}
    assert judged(day.tree, files, None) == []
    day.tree = day.tree.put(files)


def test_an_entry_by_hand_is_well_defined_and_is_carried_on() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "a").says(ANN, "B", "b")
    items = text.dump({"sections": day.head["sections"]})
    by_hand(day, 3, b"## A\n\na\n\n## B\n\nedited\n\n## C\n\nadded\n", items)
    expected = [("A", "a", "ann", 1), ("B", "edited", "bob", 3), ("C", "added", "bob", 3)]
    assert day.shown() == expected
    day.says(ANN, "D", "d")
    assert day.shown() == [*expected, ("D", "d", "ann", 4)]
    # without items, all of it is its writer's, what it repeats too
    by_hand(day, 5, b"## A\n\na\n")
    day.says(ANN, "D", "again")
    assert day.shown() == [("A", "a", "bob", 5), ("D", "again", "ann", 6)]


@pytest.mark.parametrize(
    "malformed",
    [
        b"",
        b"no front matter",
        b"---\nstream: [main\n---\nx\n",
        b"---\nstream: main\n---\n",
        b"\xff",
    ],
)
def test_a_malformed_entry_by_hand_takes_no_write_down(malformed: bytes) -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "a")
    day.tree = day.tree.put({status.path_of("main", 2): malformed})
    assert day.head["number"] == 1
    day.says(BOB, "B", "b", seen=1).replaces(ANN, "## A\n\nnew\n")
    assert day.shown() == [("A", "new", "ann", 4)]
    assert holding(day.tree, day.who(BOB), "main", Seen(4, 4)) == "status:main@4"


def test_odd_items_by_hand_say_nothing() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "a")
    for number, items in enumerate(
        (
            b'["x"]',
            b'[{"heading": 1}]',
            b'[{"heading": "A", "entry": "1"}]',
            b'[{"heading": "A", "entry": 99}]',
        ),
        2,
    ):
        by_hand(day, number, b"## A\n\na\n", b"sections: " + items + b"\n")
        assert day.shown() == [("A", "a", "bob", number)]


@pytest.mark.parametrize("target", ["status:main@1", f"status:main@~{op(1)}"])
def test_what_was_retracted_is_not_carried_on_and_the_rule_sees_why(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "wrong").says(BOB, "B", "b")
    given: Record = {"target": target, "why": "w", "cause": None, "own": True}
    change = correction.add(day.tree, writer(ANN), retract=True, **given)
    day.tree = done(day.tree, change, writer(ANN))
    name = next(iter(change.files)).rpartition("corrections/")[2]
    record = correction.parse(next(iter(change.files)), next(iter(change.files.values())) or b"")
    wish = Wish("main", "B", "b2", withdrawn=((1, record["id"]),))
    day.tree = done(day.tree, day.change(BOB, wish), writer(BOB, operation=op(day.count)))
    assert [part[0] for part in day.shown()] == ["B"] and name
    assert day.head["earlier"] == [{"heading": "A", "ref": "status:main@2"}], "it may be lifted"
    lie = Wish("main", "C", "c", withdrawn=((3, record["id"]),))  # that one was not retracted
    with monkeypatch.context() as forged:
        forged.setattr("atlas_cli.records.wish.withdrawn", lambda *_: True)
        forged.setattr("atlas_cli.records.wish._left_out", lambda *_: [])
        files = day.change(BOB, lie).files
    rules = {one.rule for one in judged(day.tree, files, writer(BOB, operation=op(day.count)))}
    assert rules == {"carried"}


UNTIL = times.rfc3339(NOW + HOUR)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (Wish("main", "B", "b"), UNTIL),  # another's write carries it on
        (Wish("main", "B", "b", good_until=times.rfc3339(NOW + 9)), UNTIL),  # each has its own
        (Wish("main", text="## A\n\nx\n\n## B\n\nb\n", replace=True), UNTIL),  # it reads as before
        (Wish("main", "A", unwarn=True), UNTIL),
        (Wish("main", "A", "new", exact=True), ""),  # what is written anew is not so old
        (Wish("main", text="## A\n\nnew\n", replace=True), ""),
        (Wish("main", "A", "new", exact=True, good_until=times.rfc3339(NOW + 9)), None),
    ],
)
def test_what_is_good_for_a_time_stays_so_until_it_is_written_anew(
    later: Wish, expected: str | None
) -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", good_until=UNTIL)
    assert day.head["sections"][0]["good_until"] == day.head["wish"]["good_until"] == UNTIL
    day.tree = done(day.tree, day.change(BOB, later), writer(BOB, operation=op(day.count)))
    part = day.parts()["A"]
    assert part.good_until == (later.good_until if expected is None else expected)


@pytest.mark.parametrize(
    ("until", "now", "warns"),
    [
        (UNTIL, NOW, False),
        (UNTIL, NOW + HOUR - 1, False),
        (UNTIL, NOW + HOUR, True),
        ("", NOW + HOUR, False),
        ("some day", NOW + HOUR, False),  # by hand
    ],
)
def test_after_that_time_the_head_of_the_section_warns(until: str, now: int, warns: bool) -> None:
    day = Day().begin(ANN)
    items = text.dump({"sections": [{"heading": "A", "good_until": until}]})
    by_hand(day, 1, b"## A\n\na\n", items)
    part = day.parts()["A"]
    assert part.notes(now) == [f"it was good until {UNTIL}, 0 s ago: look whether it holds"] * warns


def test_the_rule_sees_a_time_that_was_not_wished() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", good_until=UNTIL)
    change = day.change(BOB, Wish("main", "B", "b", good_until=UNTIL))
    ((path, data),) = change.files.items()
    who = writer(BOB, operation=op(day.count))
    assert judged(day.tree, change.files, who) == []
    other = times.rfc3339(NOW + 9).encode()
    early, late = (data or b"").split(b"sections:")[0], (data or b"").split(b"sections:")[1]
    carried_on, own = late.split(b'"heading": "B"')
    for forged in (
        [early, carried_on.replace(UNTIL.encode(), other), own],  # of the section carried on
        [early, carried_on, own.replace(UNTIL.encode(), other)],  # of its own
        [early.replace(UNTIL.encode(), other), carried_on, own],  # of the wish
    ):
        files = {path: b"".join([forged[0], b"sections:", forged[1], b'"heading": "B"', forged[2]])}
        assert files[path] != data
        assert {fault.rule for fault in judged(day.tree, files, who)} == {"carried"}


@pytest.mark.parametrize(
    ("stands", "forged"),
    [
        ('"on": ["x.py"]', '"on": ["y.py"]'),
        ('"on": ["x.py"], ', ""),
        ('"for": ["path:x.py"]', '"for": ["all"]'),
        ('"for": ["path:x.py"], ', ""),
        ('"text": "hot"', '"text": "hot", "by": "eve-261129-cccccc"'),
        ('"warn": [', '"warn": [{"text": "cold", "until": "2027-01-01T00:00:00Z"}, '),
    ],
)
@pytest.mark.parametrize("by_hand_before", [False, True])
def test_whoever_carries_a_section_on_cannot_address_it_anew(
    stands: str, forged: str, by_hand_before: bool
) -> None:
    about: Record = {"on": ("x.py",), "to": ("path:x.py",), "warn": (("hot", UNTIL),)}
    day = Day().begin(ANN, BOB).says(ANN, "A", "a", **about)
    if by_hand_before:  # what a hand says stands as it says it
        item = text.dump({"sections": [{"heading": "A", **_said(day.head["sections"][0])}]})
        by_hand(day, 2, b"## A\n\na\n", item)
    ((path, data),) = day.change(BOB, Wish("main", "B", "b")).files.items()
    who = writer(BOB, operation=op(day.count))
    assert judged(day.tree, {path: data}, who) == []
    early, sections = (data or b"").decode().split("sections:")
    assert stands in sections, sections
    files = {path: f"{early}sections:{sections.replace(stands, forged)}".encode()}
    faults = judged(day.tree, files, who)
    assert {fault.rule for fault in faults} == {"carried"}
    words = "a warning at 'A'" if "text" in forged else "about other files, or addressed to others"
    assert any(words in fault.text for fault in faults), faults


def _said(item: Record) -> Record:
    return {key: item[key] for key in ("on", "for", "warn")}


def test_the_digest_of_a_wish_covers_the_time_and_of_one_without_is_as_it_was() -> None:
    day = Day().begin(ANN).says(ANN, "A", on=("x.py",))
    message = message_of(writer(ANN, operation=op(1)))
    # the fields of a wish as they were before it had a time
    old = ["main", "A", "x", "", False, ["x.py"], [], [], False, False, "", [], [], ""]
    head = [STORE, op(1), ANN, times.rfc3339(NOW)]
    data = json.dumps([*head, *old], separators=(",", ":")).encode()
    assert digest(STORE, message, day.head) == hashlib.sha256(data).hexdigest()
    timed = {**day.head, "wish": {**day.head["wish"], "good_until": UNTIL}}
    assert digest(STORE, message, timed) != digest(STORE, message, day.head)


# Two histories, one of which is carried over to the other.


def onto(tree: Files, ours: list[tuple[Change, Writer]]) -> tuple[Files, list[Change]]:
    """Our writes put behind what stands in a tree, as they are carried over; and those that cannot
    be."""
    parked = []
    for change, who in ours:
        before = judging.wish(STORE, message_of(who), change.files)
        try:
            files = carried.anew(tree, change.files)
        except Refused:
            parked.append(change)
            continue
        assert judging.wish(STORE, message_of(who), files) == before  # what was signed stays
        assert judged(tree, files, who) == []
        tree = tree.put(files)
    return tree, parked


def message_of(who: Writer) -> Any:
    from atlas_cli.model.message import Message

    return Message("s", who.operation, who.session, who.at)


def test_two_offline_words_both_stand_whoever_comes_second() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "a")
    theirs = Day(day.tree).says(BOB, "A", "bob was here", exact=True).says(BOB, "B", "b")
    ours = []
    mine = Day(day.tree)
    mine.count = 100
    for heading, body in (("A", "a2"), ("More", "m"), ("A", "a3")):
        change = mine.change(ANN, Wish("main", heading, body))
        who = writer(ANN, operation=op(mine.count))
        ours.append((change, who))
        mine.tree = done(mine.tree, change, who)
    theirs.tree, parked = onto(theirs.tree, ours)
    assert parked == [] and theirs.shown() == [
        ("A", "bob was here", "bob", 2),
        ("B", "b", "bob", 3),
        ("A (2)", "a3", "ann", 6),
        ("More", "m", "ann", 5),
    ]
    assert theirs.head["unseen"] == ["status:main@2", "status:main@3"]
    assert theirs.head["operation"] == op(103)


def test_only_a_whole_text_is_not_carried_to_a_head_that_moved() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "a")
    theirs = Day(day.tree).says(BOB, "B", "b")
    who = writer(ANN, operation=op(100))
    change = write(day.tree, who, Wish("main", text="all\n", replace=True), Seen(1, 1))
    tree, parked = onto(theirs.tree, [(change, who)])
    assert parked == [change] and tree.files == theirs.tree.files
    tree, parked = onto(day.tree, [(change, who)])
    assert parked == [] and tree.files == done(day.tree, change, who).files


NAMES = (ANN, BOB, EVE)
steps = st.lists(
    st.tuples(
        st.sampled_from([0, 1]),  # the clone
        st.sampled_from(NAMES),
        st.sampled_from(["A", "B", "C"]),
        st.sampled_from(["own", "own", "exact", "replace", "sync", "sync"]),
    ),
    max_size=14,
)


class Clones:
    """Two clones of one store, which write and sync in any order. `said`: the last text of each
    session under each heading that it wished."""

    def __init__(self) -> None:
        names = [f"{name[:-1]}{clone}" for name in NAMES for clone in (0, 1)]
        self.published = Day(status_words=8).begin(*names).tree  # 32 words, 4 a section
        self.trees = [self.published, self.published]
        self.ours: list[list[tuple[Change, Writer]]] = [[], []]
        self.seen: list[dict[str, int]] = [{}, {}]  # by session: what it has read in that clone
        self.count = 0
        self.said: dict[str, tuple[str, str]] = {}  # by text: who said it, and where
        self.known: list[str] = []  # texts of losers, stopped or parked: their writers know

    def act(self, clone: int, name: str, heading: str, how: str) -> None:
        if how == "sync":
            self.sync(clone)
            return
        self.count += 1
        who = writer(f"{name[:-1]}{clone}", operation=op(self.count))
        body = f"t{self.count} of {heading} say"
        whole = how == "replace"
        wish = Wish("main", "" if whole else heading, body, exact=how == "exact", replace=whole)
        tree, number = self.trees[clone], self.seen[clone].get(name)
        if number is None:
            number = status.newest(tree, "main") or None
        try:
            change = write(tree, who, wish, Seen(number, number))
        except VersionJump:
            self.seen[clone][name] = status.newest(tree, "main")  # the stop shows what is there
            self.known.append(body)
            return
        dropped = {part.text for part in parts.parts(tree, "main")}
        self.trees[clone] = done(tree, change, who)
        left = {part.text for part in parts.parts(self.trees[clone], "main")}
        if whole or how == "exact":
            for gone in dropped - left - folded(self.trees[clone]):
                self.said.pop(gone, None)  # it was read, and written over on purpose
        for old in [old for old, by in self.said.items() if by == (who.session, heading)]:
            if not whole:
                self.said.pop(old)
        self.said[body] = (who.session, heading)
        self.ours[clone].append((change, who))
        self.seen[clone][name] = status.newest(self.trees[clone], "main")

    def sync(self, clone: int) -> None:
        self.published, parked = onto(self.published, self.ours[clone])
        self.known += [self.text_of(change) for change in parked]
        for change in parked:
            self.said.pop(self.text_of(change), None)
        self.ours[clone] = []
        self.trees[clone] = self.published

    @staticmethod
    def text_of(change: Change) -> str:
        ((path, data),) = change.files.items()
        return str(status.parse(path, data or b"")["body"]).strip()


def folded(tree: Files) -> set[str]:
    """The texts of the sections that an entry names as folded, and those that it names by these."""
    record = status.current(tree, "main")
    texts = set()
    for item in folding.items_of(record or {}):
        whole = parts.parts(tree, "main", int(item["ref"].rpartition("@")[2]))
        texts |= {part.text for part in whole if part.heading == item["heading"]}
    return texts


@FEW
@given(steps)
def test_no_last_text_of_a_section_is_ever_out_of_the_head_or_of_what_it_names(
    plan: list[tuple[int, str, str, str]],
) -> None:
    clones = Clones()
    for step in plan:
        clones.act(*step)
    clones.sync(0)
    clones.sync(1)
    there = {part.text for part in parts.parts(clones.published, "main")}
    there |= folded(clones.published)
    assert set(clones.said) - there - set(clones.known) == set()
