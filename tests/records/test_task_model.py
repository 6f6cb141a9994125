"""A board that anybody may do anything to at any time, against a small model: an error changes
nothing, a success moves one row by one version, and nothing is ever claimed, or done, before what
it needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from atlas_cli.errors import AtlasError
from atlas_cli.model.change import Change, Writer
from atlas_cli.records import policy
from atlas_cli.records.board import assigning, claims, posting, readiness, result, task

from .board import by_hand, queue, world
from .files import ANN, BOB, NOW, STORE, changes, judged, writer
from .test_task import offering

HOUR, RETRIES = 3600, 2
sessions = st.sampled_from([ANN, BOB])
nths = st.integers(0, 5)


@dataclass(frozen=True)
class Model:
    """What one task should be."""

    needs: tuple[str, ...] = ()
    state: str = "open"
    priority: int = 50
    poster: str = ""
    frozen: bool = False
    holder: str = ""
    until: int = 0
    started: bool = False
    counts: tuple[int, int, int, int] = (1, 0, 0, 0)  # generation, attempt, token, retries
    past: tuple[tuple[int, int, int, int], ...] = field(default=())

    def lapsed(self, now: int) -> bool:
        return self.state == "claimed" and self.until <= now

    def dead(self, now: int) -> bool:
        spent = self.started and self.counts[3] >= RETRIES
        return self.state == "failed" or (self.lapsed(now) and spent)


class Board(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.tree = offering(world(max_retries=RETRIES), BOB)
        self.now, self.tasks = NOW, dict[str, Model]()
        self.count = 0
        for needs in ([], [0], [0, 1]):
            self.post(ANN, needs, 50)

    def writer(self, session: str) -> Writer:
        self.count += 1
        return writer(session, self.now, operation=f"{self.count:032x}")

    def pick(self, nth: int) -> str:
        return list(self.tasks)[nth % len(self.tasks)] if self.tasks else "nothing"

    def ready(self, one: str) -> bool:
        found = self.tasks[one]
        free = found.state == "open" or (found.lapsed(self.now) and not found.dead(self.now))
        return (
            free
            and not found.frozen
            and all(self.tasks[need].state == "done" for need in found.needs)
        )

    def do(self, who: Writer, verb: Any, *given: Any) -> Change | None:
        """Runs a write; None where it is refused, and then the tree is as it was."""
        try:
            change: Change = verb(self.tree, who, *given)
        except AtlasError as stop:
            assert stop.exit in (3, 4, 6, 7), stop
            return None
        assert judged(self.tree, change.files, who) == []
        old, self.tree = self.tree, self.tree.put(change.files)
        for path, _, _ in changes(old, self.tree):
            if path.startswith("tasks/"):
                before = (
                    task.parse(path, old.files[path])
                    if path in old.files
                    else {"version": 0, "at": ""}
                )
                after = task.parse(path, self.tree.files[path])
                assert after["version"] == before["version"] + 1 and after["at"] >= before["at"]
        return change

    def moved(self, one: str, **values: Any) -> None:
        self.tasks[one] = replace(self.tasks[one], **values)

    def granted(self, one: str, holder: str, until: int, started: bool = True) -> None:
        found = self.tasks[one]
        generation, attempt, token, retries = found.counts
        again = found.state == "claimed" and found.started
        attempt += again or found.state != "claimed"
        self.moved(
            one,
            state="claimed",
            holder=holder,
            until=until,
            started=started,
            past=(*found.past, found.counts),
            counts=(generation + again, attempt, token + 1, retries + again),
        )

    @rule(seconds=st.sampled_from([0, 1, 60, 899, 900, 1800, HOUR]))
    def later(self, seconds: int) -> None:
        self.now += seconds

    @rule(
        session=sessions, needs=st.lists(nths, max_size=2), priority=st.sampled_from([10, 50, 90])
    )
    def add(self, session: str, needs: list[int], priority: int) -> None:
        if len(self.tasks) < 6:
            self.post(session, needs, priority)

    def post(self, session: str, needs: list[int], priority: int) -> None:
        who, wanted = (
            self.writer(session),
            list(dict.fromkeys(self.pick(nth) for nth in needs if self.tasks)),
        )
        new = task.new_id(who.operation, 0)
        wish = {"title": "t", "needs": wanted, "priority": priority}
        assert self.do(who, posting.add, [wish], len(self.tasks)) is not None
        self.tasks[new] = Model(tuple(wanted), priority=priority, poster=session)

    @rule(session=sessions, nth=nths, other=nths)
    def need(self, session: str, nth: int, other: int) -> None:
        one, need = self.pick(nth), self.pick(other)
        change = self.do(self.writer(session), posting.edit, one, {}, [need], [], None)
        circle = one == need or (bool(self.tasks) and self.reaches(need, one))
        assert (change is not None) == (
            one in self.tasks and self.tasks[one].state == "open" and not circle
        )
        if change is not None:
            self.moved(one, needs=tuple(dict.fromkeys((*self.tasks[one].needs, need))))

    def reaches(self, start: str, end: str) -> bool:
        """Over what is not done: what is done holds back nothing more."""
        needs = self.tasks[start].needs if self.tasks[start].state != "done" else ()
        return end in needs or any(self.reaches(need, end) for need in needs)

    @rule(session=sessions, nth=nths)
    def drop_a_need(self, session: str, nth: int) -> None:
        one = self.pick(nth)
        gone = list(self.tasks[one].needs[:1]) if self.tasks else []
        change = self.do(self.writer(session), posting.edit, one, {}, [], gone, "w")
        assert (change is not None) == (one in self.tasks and self.tasks[one].state == "open")
        if change is not None:
            self.moved(one, needs=self.tasks[one].needs[len(gone) :])

    @rule(session=sessions)
    def next(self, session: str) -> None:
        ready = [one for one in self.tasks if self.ready(one)]
        change = self.do(self.writer(session), claims.claim_next, queue(self.tree), None, None)
        if not ready:
            assert change is None
            return
        first = max(
            ready, key=lambda one: self.tasks[one].priority
        )  # (first come first: max keeps the first)
        assert change is not None and [*change.files] == [task.path_of(first)]
        self.granted(first, session, self.now + HOUR)

    @rule(session=sessions, nth=nths)
    def claim(self, session: str, nth: int) -> None:
        one = self.pick(nth)
        change = self.do(self.writer(session), claims.claim, [one], None)
        found = self.tasks.get(one)
        own = (
            found is not None
            and found.state == "claimed"
            and found.holder == session
            and found.until > self.now
        )
        assert (change is not None) == (own or (found is not None and self.ready(one)))
        if own:
            self.moved(one, until=self.now + HOUR, started=True)
        elif change is not None:
            self.granted(one, session, self.now + HOUR)

    @rule(nth=nths)
    def assign(self, nth: int) -> None:
        one = self.pick(nth)
        held = sum(
            found.state == "claimed" and found.holder == BOB and found.until > self.now
            for found in self.tasks.values()
        )
        change = self.do(
            self.writer(ANN), assigning.assign, queue(self.tree), one, None, [ANN, BOB], None
        )
        assert (change is not None) == (one in self.tasks and self.ready(one) and held < 2)
        if change is not None:
            self.granted(one, BOB, self.now + 900, started=False)

    @rule(
        session=sessions,
        nth=nths,
        verb=st.sampled_from(["start", "renew", "done", "fail", "release"]),
    )
    def go_on(self, session: str, nth: int, verb: str) -> None:
        one = self.pick(nth)
        found = self.tasks.get(one)
        mine = found is not None and found.state == "claimed" and found.holder == session
        live = mine and found is not None and found.until > self.now
        given = {
            "start": (one, None),
            "renew": ([one], None, None),
            "done": (one, None, None),
            "fail": (one, None, "w"),
            "release": ([one],),
        }[verb]
        before = self.tree
        change = self.do(self.writer(session), getattr(claims, verb), *given)
        if (
            verb == "release"
            and found is not None
            and found.state == "claimed"
            and session == ANN
            and not found.started
        ):
            mine = True  # ann assigned it
        again = (
            found is not None
            and found.holder == session
            and (verb, found.state) in (("done", "done"), ("fail", "failed"))
        )
        if again:
            assert change is not None and changes(before, self.tree) == []
            return
        assert (change is not None) == (live if verb in ("start", "renew") else mine)
        if change is None or found is None:
            return
        generation, attempt, token, retries = found.counts
        if verb == "start":
            left = task.get(self.tree, one)["claim"]["expires"]
            self.moved(one, started=True, until=task.times.moment(left))
        elif verb == "renew":
            self.moved(one, until=self.now + HOUR, started=True)
        elif verb == "done":
            self.moved(one, state="done")
        elif verb == "release" or not found.started:
            self.moved(one, state="open", holder="")
        elif retries >= RETRIES:
            self.moved(one, state="failed")
        else:
            self.moved(
                one,
                state="open",
                holder="",
                counts=(generation + 1, attempt, token, retries + 1),
                past=(*found.past, found.counts),
            )

    @rule(session=sessions, nth=nths, seen=st.booleans())
    def cancel(self, session: str, nth: int, seen: bool) -> None:
        one = self.pick(nth)
        found, before = self.tasks.get(one), self.tree
        version = task.get(self.tree, one)["version"] if found is not None and seen else None
        change = self.do(self.writer(session), posting.cancel, one, "w", version)
        if found is not None and found.state == "cancelled":
            assert change is not None and changes(before, self.tree) == []
            return
        mine = found is not None and found.state == "claimed" and found.holder == session
        free = found is not None and (found.state in ("open", "failed") or found.lapsed(self.now))
        posted = found is not None and found.poster == session
        assert (change is not None) == (mine or (free and (seen or posted)))
        if change is not None:
            self.moved(one, state="cancelled")

    @rule(session=sessions, nth=nths)
    def late(self, session: str, nth: int) -> None:
        """A finisher with the receipt of a claim that is over."""
        one = self.pick(nth)
        for generation, attempt, token, _ in self.tasks[one].past[-3:] if self.tasks else ():
            if (generation, attempt, token) == self.tasks[one].counts[:3]:
                continue
            receipt = f"{generation}.{attempt}.{token}.{STORE}"
            assert (
                self.do(
                    self.writer(session),
                    claims.done,
                    one,
                    receipt,
                    result.NewResult(b"late", "txt"),
                )
                is None
            )

    @rule(session=sessions, nth=nths)
    def retry(self, session: str, nth: int) -> None:
        one = self.pick(nth)
        found = self.tasks.get(one)
        change = self.do(self.writer(session), posting.retry, one, "w", len(self.tasks))
        assert (change is not None) == (
            found is not None and (found.dead(self.now) or found.state == "cancelled")
        )
        if change is not None and found is not None:
            generation, attempt, token, _ = found.counts
            self.moved(
                one,
                state="open",
                holder="",
                counts=(generation + 1, attempt, token, 0),
                past=(*found.past, found.counts),
            )

    @rule(session=sessions, nth=nths, cold=st.booleans())
    def freeze(self, session: str, nth: int, cold: bool) -> None:
        one = self.pick(nth)
        given = (one, "w", None) if cold else (one,)
        change = self.do(self.writer(session), posting.freeze if cold else posting.thaw, *given)
        assert (change is not None) == (one in self.tasks and self.tasks[one].state == "open")
        if change is not None:
            self.moved(one, frozen=cold)

    @rule(
        nth=nths,
        values=st.sampled_from(
            [{"state": "done"}, {"generation": 9}, {"token": 9}, {"state": "claimed"}]
        ),
    )
    def tamper(self, nth: int, values: dict[str, object]) -> None:
        """What a hand bends is found (and not taken)."""
        one = self.pick(nth)
        if one in self.tasks and self.tasks[one].state == "open":
            assert judged(self.tree, by_hand(self.tree, one, **values), None) != []

    @invariant()
    def every_row_is_what_the_model_says(self) -> None:
        for one, found in getattr(self, "tasks", {}).items():
            row = task.get(self.tree, one)
            counts = tuple(row[key] for key in ("generation", "attempt", "token", "retries"))
            assert (row["state"], counts, tuple(row.get("needs", ()))) == (
                found.state,
                found.counts,
                found.needs,
            )
            if found.state == "claimed":
                assert (row["claim"]["session"], task.claim_ends(row)) == (
                    found.holder,
                    found.until,
                )
            state, _ = readiness.assess(self.tree, row, self.now, policy.of(self.tree))
            assert (state == "ready") == self.ready(one) and (state == "dead") == found.dead(
                self.now
            )

    @invariant()
    def nothing_is_done_before_what_it_needs(self) -> None:
        for found in getattr(self, "tasks", {}).values():
            if found.state in ("done", "failed") or (
                found.state == "claimed" and found.until > self.now
            ):
                assert all(self.tasks[need].state == "done" for need in found.needs)


def test_a_board_is_what_its_model_says_whatever_is_done_to_it() -> None:
    few = settings(
        max_examples=40, stateful_step_count=30, deadline=None, database=None, derandomize=True
    )
    run_state_machine_as_test(Board, settings=few)  # type: ignore[no-untyped-call]


@pytest.mark.long
def test_the_same_in_two_hundred_lives() -> None:
    many = settings(max_examples=200, stateful_step_count=50, deadline=None, database=None)
    run_state_machine_as_test(Board, settings=many)  # type: ignore[no-untyped-call]
