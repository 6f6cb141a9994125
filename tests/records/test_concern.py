"""What concerns whom, and what a commit is told of it: a table of cases each."""

from __future__ import annotations

import pytest

from atlas_cli.records import concern, telling
from atlas_cli.records.concern import ALWAYS, NOTICE, SELDOM, Item, Reason, View
from atlas_cli.records.telling import COUNTED, HEADED, News, Pace

SECTION = Item("status:main@3", "status:main#Parser", "op1", "bob", 100, "the text", "Parser")
ME = View("ann", files=frozenset({"src/x.py"}))
CORRECTION = SECTION._replace(ref="correction:c1", key="correction:c1", heading="")

# what differs from the section and the view above: why it concerns, as a weight
CASES: dict[str, tuple[dict[str, object], dict[str, object], int]] = {
    "of another, on nothing": ({}, {}, 0),
    "one's own": ({"session": "ann", "on": ("src/x.py",)}, {}, 0),
    "one's own, though to all": ({"session": "ann", "to": ("all",)}, {}, 0),
    "to all": ({"to": ("all",)}, {}, ALWAYS),
    "to the session": ({"to": ("session:ann",)}, {}, ALWAYS),
    "to the session, without its kind": ({"to": ("ann",)}, {}, ALWAYS),
    "to another": ({"to": ("session:eve",)}, {}, 0),
    "to whom it has adopted": ({"to": ("session:eve",)}, {"heir": ("eve",)}, ALWAYS),
    "to its task": ({"to": ("task:t1",)}, {"tasks": frozenset({"t1"})}, ALWAYS),
    "to another task": ({"to": ("task:t2",)}, {"tasks": frozenset({"t1"})}, 0),
    "to its path": ({"to": ("path:src/x.py",)}, {}, ALWAYS),
    "to the folder above": ({"to": ("path:src",)}, {}, ALWAYS),
    "to what it leases": ({"to": ("path:docs/a",)}, {"leased": ("path:docs",)}, ALWAYS),
    "to a folder that it named": ({"to": ("path:docs/a",)}, {"named": ("docs",)}, ALWAYS),
    "to a hot file": ({"to": ("path:src/x.py",)}, {"hot": frozenset({"src/x.py"})}, ALWAYS),
    "to a name that only begins so": ({"to": ("path:src/x",)}, {}, 0),
    "the section that it wrote last": ({}, {"own": "status:main#Parser"}, ALWAYS),
    "the same file": ({"on": ("src/x.py",)}, {}, SELDOM),
    "another file": ({"on": ("src/y.py",)}, {}, 0),
    "a folder of many files": ({"on": ("src/",)}, {}, SELDOM),
    "a folder that a section names": ({"on": ("src",)}, {}, NOTICE),
    "a file named like another folder": ({"on": ("sr",)}, {}, 0),
    "a file that its task is about": ({"on": ("docs/a",)}, {"claimed": ("docs/a",)}, SELDOM),
    "a folder of many, its task's": ({"on": ("docs/",)}, {"claimed": ("docs/a",)}, SELDOM),
    "the folder above its task's file": ({"on": ("docs",)}, {"claimed": ("docs/a",)}, NOTICE),
    "a file in its task's folder": ({"on": ("docs/a",)}, {"claimed": ("docs",)}, NOTICE),
    "beside its task's file": ({"on": ("docs/b",)}, {"claimed": ("docs/a",)}, 0),
    "to a path in its task's folder": (
        {"to": ("path:docs/a",)},
        {"claimed": ("docs",)},
        ALWAYS,
    ),
    "a hot file, its task's": (
        {"on": ("docs/a",)},
        {"claimed": ("docs/a",), "hot": frozenset({"docs/a"})},
        NOTICE,
    ),
    "about a folder": ({"about": ("src",)}, {}, SELDOM),
    "about a file": ({"about": ("src/x.py",)}, {}, SELDOM),
    "about another folder": ({"about": ("sr",)}, {}, 0),
    "a file that it leases": (
        {"on": ("docs/a",)},
        {"files": frozenset(), "leased": ("path:docs",)},
        SELDOM,
    ),
    "a file below a folder that it named": ({"on": ("docs/a",)}, {"named": ("docs",)}, NOTICE),
    "a hot file": ({"on": ("src/x.py",)}, {"hot": frozenset({"src/x.py"})}, NOTICE),
    "a hot file and another": (
        {"on": ("src/x.py", "src/y.py")},
        {"files": frozenset({"src/x.py", "src/y.py"}), "hot": frozenset({"src/x.py"})},
        SELDOM,
    ),
    "a hot file that it leases": (
        {"on": ("src/x.py",)},
        {"hot": frozenset({"src/x.py"}), "leased": ("path:src/x.py",)},
        SELDOM,
    ),
    "a person's section": ({"person": True}, {}, SELDOM),
    "a person's decision": ({"person": True, "ref": "decision:d"}, {}, SELDOM),
    "a person's artifact": ({"person": True, "ref": "artifact:a@1"}, {}, 0),
    "an ancestor's": ({}, {"lineage": ("bob",)}, SELDOM),
    "of a task beside its own": ({"tasks": ("t2",)}, {"beside": frozenset({"t2"})}, SELDOM),
}
GROUND: dict[str, tuple[str, dict[str, frozenset[str]], int]] = {
    "retracted, what it relies on": ("retracted", {"relies": frozenset({"artifact:a@1"})}, ALWAYS),
    "corrected, what it relies on": ("corrected", {"relies": frozenset({"artifact:a@1"})}, ALWAYS),
    "retracted, what it has read": ("retracted", {"read": frozenset({"artifact:a@1"})}, NOTICE),
    "retracted, what it does not know": ("retracted", {}, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_what_concerns_a_session(case: str) -> None:
    item, view, weight = CASES[case]
    reason = concern.concerns(SECTION._replace(**item), ME._replace(**view))
    assert (reason.weight if reason else 0) == weight


@pytest.mark.parametrize("case", GROUND)
def test_what_moves_the_ground(case: str) -> None:
    how, view, weight = GROUND[case]
    item = CORRECTION._replace(target="artifact:a@1", relation=how)
    reason = concern.concerns(item, ME._replace(**view))
    assert (reason.weight if reason else 0) == weight


def test_the_next_version_of_what_it_relies_on_is_seldom_a_stop() -> None:
    item = CORRECTION._replace(ref="artifact:a@2", target="artifact:a", relation="superseded")
    view = ME._replace(relies=frozenset({"artifact:a@1"}))
    assert concern.concerns(item, view) == Reason(
        SELDOM, "artifact:a, on which yours relies, goes on"
    )
    assert concern.concerns(item, ME._replace(relies=frozenset({"artifact:ab@1"}))) is None


def test_a_correction_is_about_the_paths_of_what_it_corrects() -> None:
    item = CORRECTION._replace(target="artifact:a@1", relation="corrected", about=("src/x.py",))
    assert concern.concerns(item, ME) == Reason(SELDOM, "on src/x.py")


def test_a_record_names_twelve_files_or_their_folders() -> None:
    few = [f"src/{number}" for number in range(12)]
    assert concern.files(few) == tuple(sorted(few))
    assert concern.files([*few, "docs/a", "top"]) == ("docs/", "src/", "top")
    deep = [f"a/{number}/x" for number in range(13)]
    assert concern.files(deep) == ("a/",)
    roots = [f"{number:02}" for number in range(20)]
    assert concern.files(roots) == tuple(roots[:12])


def test_a_file_is_hot_that_four_sessions_and_more_than_a_third_touch() -> None:
    touched = {f"s{number}": ["README", f"f{number}"] for number in range(4)}
    assert concern.hot(touched) == {"README"}
    many = {**touched, **{f"t{number}": ["other"] for number in range(8)}}
    assert concern.hot(many) == {"other"}, "a third is not more than a third"
    assert concern.hot({"a": ["go.mod"]}, ["*.mod"]) == {"go.mod"}
    assert concern.hot({}, ["*.mod"], ["go.mod", "x.py"]) == {"go.mod"}, "not committed yet"


# what a commit is told: pace as (now, stopped, told)


def news(weight: int, known: int = 0, at: int = 100, words: int = 5, **fields: object) -> News:
    item = SECTION._replace(text="w " * words, at=at, **fields)
    return News(item, Reason(weight, "why") if weight else None, known)


def judged(*given: News, now: int = 60, stopped: int = 0, told: int = 60) -> telling.Verdict:
    return telling.judge(given, Pace(now, stopped, told, stop_every=15, look_within=60))


def test_nothing_unknown_is_silent() -> None:
    assert judged(now=999) == telling.Verdict()
    assert judged().silent


@pytest.mark.parametrize(
    ("weight", "known", "pace", "outcome"),
    [
        (ALWAYS, 0, {}, "stop"),
        (ALWAYS, 0, {"stopped": 59}, "stop"),
        (ALWAYS, COUNTED, {"stopped": 59}, "stop"),
        (SELDOM, 0, {"stopped": 45}, "stop"),
        (SELDOM, 0, {"stopped": 46}, "printed"),
        (SELDOM, COUNTED, {"stopped": 45}, "stop"),
        (SELDOM, HEADED, {"stopped": 0}, "printed"),
        (NOTICE, 0, {}, "counted"),
        (0, 0, {}, "counted"),
        (0, COUNTED, {}, "silent"),
        (0, HEADED, {}, "silent"),
        (0, 0, {"told": 1}, "counted"),
        (0, 0, {"told": 0}, "headings"),
        (0, COUNTED, {"told": 0}, "headings"),
        (0, HEADED, {"told": 0}, "silent"),
        (SELDOM, 0, {"told": 0, "stopped": 59}, "printed"),
    ],
)
def test_what_a_commit_does(weight: int, known: int, pace: dict[str, int], outcome: str) -> None:
    verdict = judged(news(weight, known), **pace)
    headings = verdict.looked and verdict.stops and verdict.named
    printed = "stop" if verdict.stops else "printed"
    counted = "counted" if verdict.counted else "silent"
    silent_or_counted = "headings" if headings else counted
    assert (printed if verdict.told else silent_or_counted) == outcome


def test_where_no_file_is_known_all_of_it_is_told_once_in_look_within() -> None:
    given = [news(0)]
    pace = Pace(60, 0, 0, 15, 60)
    assert telling.judge(given, pace, blind=True).told
    assert not telling.judge(given, pace._replace(told=1), blind=True).told


def test_warnings_come_first_then_what_weighs_most_then_the_newest() -> None:
    given = [
        news(SELDOM, at=1, key="old"),
        news(SELDOM, at=2, key="new"),
        news(ALWAYS, at=0, key="addressed"),
        news(SELDOM, at=0, key="warns", warn=("do not run it",)),
    ]
    order = [one.item.key for one in judged(*given).told]
    assert order == ["warns", "addressed", "new", "old"]


def test_what_always_stops_is_not_bought_off_by_many() -> None:
    given = [news(ALWAYS, at=at, words=40, key=f"k{at}") for at in range(6)]
    given += [news(SELDOM, at=9, words=40, key="mere")]
    verdict = judged(*given)
    assert (len(verdict.told), len(verdict.named)) == (4, 3)
    assert [one.item.key for one in verdict.headed] == ["mere"]
    left = [one for one in given if one not in verdict.told]
    again = judged(*left, stopped=60)
    assert again.stops
    assert not {one.item.key for one in again.told} & {one.item.key for one in verdict.told}


def test_a_stop_names_other_warnings_too() -> None:
    verdict = judged(news(ALWAYS), news(0, warn=("the rig is hot",)), news(0), news(0, HEADED))
    assert [len(rows) for rows in (verdict.told, verdict.named, verdict.counted)] == [1, 1, 1]
    assert verdict.named[0].item.warn


@pytest.mark.parametrize(
    ("lengths", "shares"),
    [
        ([10], [10]),
        ([200], [120]),
        ([40] * 5, [40, 30, 25, 25]),
        ([200, 30], [95, 25]),
        ([1] * 9, [1] * 8),
        ([25] * 5, [25] * 4),
        ([20] * 7, [20] * 6),
    ],
)
def test_how_many_words_each_gets(lengths: list[int], shares: list[int]) -> None:
    count = telling.fitting(lengths)
    assert telling.portions(lengths[:count]) == shares


def test_a_text_is_cut_to_its_first_words_as_its_lines_are() -> None:
    text = "one  two\n\n- three four five\n- six"
    assert telling.cut(text, 9) == text
    assert telling.cut(text, 5) == "one  two\n\n- three four … (+3 words)"


def test_the_line_of_what_is_only_counted() -> None:
    rest = [news(0), news(0), news(0, ref="decision:d")]
    assert telling.counted(rest) == (
        "the status moved on: 2 sections, 1 decision, none on your files"
    )
    assert telling.counted([news(NOTICE), news(0)]) == (
        'the status moved on: 2 sections, status:main@3 "Parser" by bob why'
    )
