"""Whether this machine's clock is right, by the moments that other machines wrote at."""

from __future__ import annotations

from ..model import times
from ..records import lease, session
from ..visible import many
from .ask import Questions

LATE = 1800  # seconds by which others may publish what they have written
UNHONOURED = "what is taken under a date ahead of the others' is honoured late, or by nobody"
RECENT = 50  # commits by whose dates a clock is judged


def behind(ask: Questions, machine: str) -> list[int]:
    """The newest moments of other machines, where this clock lies behind those of most machines
    that wrote lately, and by more than clocks may differ. At least two machines must say so, since
    one may be wrong itself."""
    limit = ask.now + times.SKEW
    newest = _newest(ask, limit)
    newest.pop(machine, None)
    ahead = sorted(moment for moment in newest.values() if moment > limit)
    return ahead if len(ahead) > max(1, len(newest) - len(ahead)) else []


def _newest(ask: Questions, limit: int) -> dict[str, int]:
    """By machine the newest moment that its sessions wrote at, from the first of the newest commits
    that lies behind `limit` on."""
    newest: dict[str, int] = {}
    for name, at in ask.index.clocks(limit).items():
        if machine := _machine(ask, name):
            newest[machine] = max(at, newest.get(machine, 0))
    return newest


def _machine(ask: Questions, name: str) -> str:
    """The machine of a session; empty where it is not known."""
    row = ask.index.readable(session.path_of(name)) if session.valid(name) else None
    return str(row["machine"]) if row else ""


def ahead(ask: Questions, machine: str, head: str | None, ago: int | None) -> list[str]:
    """The evidence of the newest commits that this clock is, or was, ahead. Only their
    order tells for sure: whoever wrote later, under an earlier date, had seen the later date. Those
    that came since this clone last asked (so many seconds `ago`, when `head` was the last) tell
    as well, where two machines date it long before that. In a store that was idle a clock that is
    ahead of all looks like a late hour; that is said once it is so late that nobody would honour
    what is taken."""
    mine, others, passed = _dates(ask, machine)
    came = [] if head is None or ago is None else _came(ask, machine, head)
    asked = ask.now - (ago or 0)
    now, newest = times.rfc3339(ask.now), max(others.values(), default=ask.now)
    if mine > ask.now + times.SKEW:
        by = times.span(mine - ask.now)
        what = f"what this machine wrote last is dated {by} ahead of its clock now ({now})"
    elif passed:
        by = times.span(mine - max(passed))
        what = (
            f"this machine's clock ({now}) was ahead by {by} or more when it wrote last:"
            f" {many(len(passed), 'other machine')} wrote after it, and say less; set it right"
        )
    elif len(came) > 1 and max(came) < asked - LATE:
        by = times.span(asked - max(came))
        what = (
            f"this machine's clock ({now}) seems ahead by {by} or more: {len(came)} other machines"
            f" have written since this clone asked ({times.rfc3339(asked)}), and by their clocks"
            " before that; set it right"
        )
    elif newest + lease.LONGEST < ask.now:
        idle = times.span(ask.now - newest)
        what = (
            f"by this clock ({now}) no other machine has written for {idle}; where one has, the"
            " clock is ahead"
        )
    else:
        return []
    return [f"{what}: {UNHONOURED}"]


def _came(ask: Questions, machine: str, head: str) -> list[int]:
    """The newest date of each other machine among the newest commits behind that one."""
    dates: dict[str, int] = {}
    for row in ask.index.commits(RECENT)[0]:
        if row["oid"] == head:
            break
        by = _machine(ask, row["session"] or "")
        if by and by != machine and row["at"] is not None:
            dates[by] = max(row["at"], dates.get(by, 0))
    return list(dates.values())


def _dates(ask: Questions, machine: str) -> tuple[int, dict[str, int], list[int]]:
    """Of the newest commits: the date of this machine's last one (0 if it has none), the newest
    date of each other machine, and the dates of those that wrote after it under an earlier one."""
    mine, others, passed = 0, dict[str, int](), list[str]()
    for row in ask.index.commits(RECENT)[0]:
        by = _machine(ask, row["session"] or "")
        if row["at"] is None or not by:
            continue
        if by == machine and not mine:
            mine = row["at"]
            passed = [name for name, at in others.items() if at < mine - times.SKEW]
        elif by != machine:
            others[by] = max(row["at"], others.get(by, 0))
    return mine, others, [others[name] for name in passed]
