"""Words and debts: what a session owes, and what of it stops a push. The places are those of the
store's commits; a code commit names the newest word that its maker knew."""

from __future__ import annotations

import pytest

from atlas_cli.records import words
from atlas_cli.records.words import Debt, Owner, Verdict, Word, Work

NOW, HOUR, WEEK = 1_800_000_000, 3600, 7 * 86400
FIRST, SECOND = Word(10, "w1", NOW - 5 * HOUR), Word(20, "w2", NOW - 3 * HOUR)
CONFIRMED = Word(20, "c2", NOW - 3 * HOUR, confirms=True)
RESULT = Word(20, "r2", NOW - 3 * HOUR, since=NOW - 4 * HOUR)


def commit(word: str, said: list[Word], hours: float = 1) -> Work:
    """A commit, made some hours ago, whose trailer names a word."""
    made = NOW - int(hours * HOUR)
    return Work("c", made, words.known(said, {word} if word else (), made), code=True)


def record(place: int) -> Work:
    return Work("decision:x", NOW, place - 1)


@pytest.mark.parametrize(
    ("said", "word", "hours", "owed"),
    [
        ([], "none", 1, True),
        ([FIRST], "none", 6, False),  # its first word came after it
        ([FIRST], "w1", 1, True),
        ([FIRST, SECOND], "w1", 1, False),  # (its author's clock says nothing)
        ([FIRST, SECOND], "w2", 9, True),
        ([FIRST, CONFIRMED], "w1", 1, True),  # no commit is confirmed away
        ([FIRST, CONFIRMED], "c2", 1, True),
        ([FIRST, CONFIRMED, Word(30, "w3", NOW)], "c2", 1, False),
        ([FIRST, RESULT], "w1", 3.5, False),  # made since the claim
        ([FIRST, RESULT], "w1", 4.5, True),  # made before it
        ([FIRST, SECOND], "lost", 4, False),  # a word that is not here: the clock tells
        ([FIRST, SECOND], "lost", 1, True),
        ([FIRST, SECOND], "", 4, False),  # of a program that named none
    ],
)
def test_a_commit_is_owed_for_until_a_later_word(
    said: list[Word], word: str, hours: float, owed: bool
) -> None:
    assert (words.debt([commit(word, said, hours)], said) is not None) is owed


@pytest.mark.parametrize(
    ("said", "place", "owed"),
    [
        ([], 5, True),
        ([FIRST], 9, False),
        ([FIRST], 10, False),  # in the commit that is the word
        ([FIRST], 11, True),
        ([FIRST, CONFIRMED], 11, False),
        ([FIRST, RESULT], 11, True),  # a result speaks of commits
    ],
)
def test_a_record_is_owed_for_until_a_later_word(said: list[Word], place: int, owed: bool) -> None:
    assert (words.debt([record(place)], said) is not None) is owed


def test_what_was_read_and_what_a_squash_names_bring_a_commit_nearer() -> None:
    said = [FIRST, SECOND]
    assert words.known(said, {"none"}, NOW) == 0
    assert words.known(said, {"none"}, NOW, read=15) == 15
    assert words.known(said, {"w1", "w2"}, 0) == 20
    assert words.known(said, (), 0, read=12) == 12


def test_a_debt_is_as_old_as_its_oldest_and_counted() -> None:
    owed = words.debt([record(1), commit("none", [], 2), commit("none", [], 3)], [])
    assert owed is not None and (owed.at, owed.commits) == (NOW - 3 * HOUR, 2)
    assert owed.text() == "2 commits and 1 record"
    assert words.due(owed, NOW, HOUR) == NOW - 2 * HOUR
    assert words.due(Debt((Work("c", NOW + HOUR, 0),)), NOW, HOUR) == NOW + HOUR, "no younger"


def debt(minutes: int) -> Debt:
    return Debt((Work("c", NOW - minutes * 60, 0, code=True),))


@pytest.mark.parametrize(
    ("owners", "verdict"),
    [
        ([], Verdict()),
        ([Owner("me", debt(44))], Verdict(young=debt(44))),
        ([Owner("me", debt(45))], Verdict(late=debt(45))),
        ([Owner("bob", debt(44))], Verdict()),
        ([Owner("bob", debt(45))], Verdict(at_work=("bob",))),
        ([Owner("bob", debt(1), NOW - 60)], Verdict(left=("bob",))),
        ([Owner("bob", debt(99), NOW - WEEK)], Verdict()),
        (
            [Owner("me", debt(46)), Owner("bob", debt(1), NOW), Owner("eve", debt(1), NOW)],
            Verdict(late=debt(46), left=("bob", "eve")),
        ),
    ],
)
def test_a_push_is_judged_by_who_made_its_commits(owners: list[Owner], verdict: Verdict) -> None:
    assert words.judge_push(owners, "me", NOW, 45 * 60, WEEK) == verdict


def test_within_nothing_every_push_wants_a_word() -> None:
    assert words.judge_push([Owner("me", debt(0))], "me", NOW, 0, WEEK) == Verdict(late=debt(0))


def test_a_mark_shows_until_a_word_and_may_arrive_for_an_hour() -> None:
    owed = Debt(tuple(Work("c", NOW, 0, True, f"subject {n}") for n in range(5)))
    mark = words.mark("main", "a" * 40, NOW, owed, ["b", "a", "a"], "w1")
    assert (mark["commits"], len(mark["subjects"]), mark["paths"]) == (5, 3, ["a", "b"])
    assert words.marks({"marks": [mark]}) == [mark]
    for spoilt in ("x", {**mark, "at": "noon"}, {**mark, "paths": [1]}, {"branch": "main"}):
        assert words.marks({"marks": [spoilt]}) == [], "a hand may write anything"
    for said, shown in (([FIRST], True), ([FIRST, SECOND], False), ([FIRST, CONFIRMED], True)):
        assert bool(words.later([mark], said)) is shown
    assert words.underway(mark, NOW + 3599) and not words.underway(mark, NOW + 3600)
