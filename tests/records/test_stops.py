"""Working days, simulated with the pure rules: how often a session is stopped as others join, and
whether a warning is ever bought off by it."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

from atlas_cli.records import concern, telling
from atlas_cli.records.concern import Item, View
from atlas_cli.records.telling import HEADED, TOLD, News, Pace

DAY, EVERY, WITHIN = 150, 15, 60  # minutes: a session's work, stop_every, look_within
FILES = 4  # of a module


class Figures(NamedTuple):
    """What a day came to: stops a session, commits on a warned file in all, those that the session
    was not told of though its copy had it, and those whose copy had it not."""

    stops: float
    warned: int
    bought_off: int
    blind: int


class Worker:
    """A session at its day's work."""

    def __init__(self, number: int, start: int, hot: frozenset[str]) -> None:
        self.id, self.at, self.hot = f"s{number}", float(start), hot
        self.until = start + DAY
        self.known: dict[tuple[str, str], int] = {}  # by key and version
        self.copy: dict[str, Item] = {}
        self.files: set[str] = set()
        self.stopped, self.told = -999, start
        self.stops = 0
        self.module, self.left = 0, 0

    def news(self) -> list[News]:
        """What its copy holds and it was not told of."""
        view = View(self.id, files=frozenset(self.files), own=f"main#{self.id}", hot=self.hot)
        others = [item for item in self.copy.values() if item.session != self.id]
        known = [self.known.get((item.key, item.version), 0) for item in others]
        return [
            News(item, concern.concerns(item, view), how)
            for item, how in zip(others, known, strict=True)
            if how < TOLD
        ]

    def write(self, now: int) -> None:
        """Its section is written: the answer tells what it carried, what concerns it first."""
        self.told = now
        order = sorted(self.news(), key=lambda one: not one.due)
        for one in order[: telling.fitting([len(one.item.text.split()) for one in order])]:
            self.known[one.item.key, one.item.version] = TOLD

    def commit(self, paths: set[str], now: int, today: bool) -> list[News]:
        """The commit is judged, and judged again until it passes; what it does not know then."""
        self.files |= paths
        while True:
            news = self.news()
            verdict = telling.judge(news, Pace(now, self.stopped, self.told, EVERY, WITHIN))
            if today:  # each entry that is newer stops the next commit
                verdict = telling.Verdict(bool(news), tuple(news))
            for one in verdict.told:
                self.known[one.item.key, one.item.version] = TOLD
            if verdict.stops:
                for one in verdict.headed:
                    self.known[one.item.key, one.item.version] = HEADED
                self.stops, self.told = self.stops + 1, now
                self.stopped = now if verdict.told else self.stopped
                continue
            return [one for one in news if one not in verdict.told]


def day(sessions: int, modules: int, seed: int, today: bool = False) -> Figures:
    """One day of that many sessions on that many modules; `today`: by the rule of before."""
    dice = random.Random(seed)
    hot = concern.hot({str(number): ("README",) for number in range(sessions)})
    team = [Worker(number, dice.randrange(0, 60), hot) for number in range(sessions)]
    head: dict[str, Item] = {}
    warned = bought_off = blind = versions = 0
    while any(worker.at < worker.until for worker in team):
        worker = min(team, key=lambda one: one.at if one.at < one.until else 1e9)
        now = int(worker.at)
        if not worker.left:  # a task is claimed: a command, so the copy is new
            worker.module, worker.left = dice.randrange(modules), dice.randrange(3, 6)
            worker.copy = dict(head)
        worker.left -= 1
        paths = {f"m{worker.module}/{dice.randrange(FILES)}" for _ in range(2)}
        paths |= {"README"} if dice.random() < 0.1 else set()
        last = not worker.left
        if last:  # it is pushed: that fetches first
            worker.copy = dict(head)
        unknown = worker.commit(paths, now, today)
        for item in head.values():
            hit = item.session != worker.id and any(f"path:{path}" in item.to for path in paths)
            warned += hit
            blind += hit and worker.copy.get(item.key) != item
            bought_off += hit and any(one.item == item for one in unknown)
        if last:
            versions += 1
            word, at = f"main#{worker.id}", f"v{versions}"
            to = (f"path:{max(paths)}",) if dice.random() < 0.2 else ()
            on = concern.files(worker.files)
            head[word] = Item("status:main@1", word, at, worker.id, now, "w " * 40, on=on, to=to)
            worker.copy = dict(head)
            worker.write(now)
            worker.files.clear()
        worker.at += dice.uniform(5, 15)
    return Figures(sum(one.stops for one in team) / sessions, warned, bought_off, blind)


def days(sessions: int, modules: int, today: bool = False) -> Figures:
    """The mean of some days, the fewer the more sessions there are."""
    each = [day(sessions, modules, seed, today) for seed in range(160 // sessions)]
    stops = sum(one.stops for one in each) / len(each)
    return Figures(stops, *(sum(one[at] for one in each) for at in (1, 2, 3)))


@pytest.fixture(scope="module")
def fixed() -> dict[int, Figures]:
    return {sessions: days(sessions, 12) for sessions in (2, 4, 8, 16)}


def test_on_modules_that_stay_the_stops_are_bounded_by_the_clock(
    fixed: dict[int, Figures],
) -> None:
    assert all(figures.stops <= 3.5 for figures in fixed.values()), fixed


def test_where_modules_grow_with_the_team_the_stops_do_not_grow() -> None:
    """As many others meet on a module, however many there are. (Of a smaller team, the answer to a
    write tells all that there is.)"""
    few, many = (days(sessions, 3 * (sessions - 1)).stops for sessions in (8, 16))
    assert many <= 1.25 * few, (few, many)


def test_stops_are_far_fewer_than_by_a_stop_for_each_entry(fixed: dict[int, Figures]) -> None:
    assert fixed[8].stops * 3 < days(8, 12, today=True).stops


def test_no_warning_is_bought_off(fixed: dict[int, Figures]) -> None:
    """Whoever commits on a file that a section in its copy is addressed to was told of it before."""
    assert all(figures.bought_off == 0 for figures in fixed.values()), fixed
    assert fixed[8].warned > 0, "there is something to be told"
