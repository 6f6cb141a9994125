"""Six sessions in six worktrees, a whole day: commits, feature branches, a merge each; real git,
real hooks."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from ..conftest import Result, command

HALF = 1800  # seconds: a step of the day
STOPS = 3  # that a session may meet, each cleared by the one call that it prints


class Day:
    """A repository with a remote and a worktree for each session; `stops` counts what each of them
    met."""

    def __init__(self, top: Path, env: dict[str, str]) -> None:
        self.top, self.env, self.now, self.start = top, env, 0, int(time.time())
        self.stops: Counter[str] = Counter()
        self.names = [f"s{number}" for number in range(6)]
        self.run("", "git", "init", "-q", "--bare", "hub.git")
        self.run("", "git", "clone", "-q", "hub.git", "main")
        for name in ("README.md", *(f"{one}/a.py" for one in self.names), "shared.py"):
            file = top / "main" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text("x = 1\n")
        for args in (
            ["add", "."],
            ["commit", "-qm", "first"],
            ["push", "-q", "origin", "HEAD:main"],
            ["remote", "set-head", "origin", "main"],
        ):
            self.run("main", "git", *args)
        assert self.run("main", *command("init", "--test", "--offline")).code == 0
        for name in self.names:
            self.run("main", "git", "worktree", "add", "-q", "-b", name, f"../{name}")

    def run(self, where: str, *argv: str) -> Result:
        when = f"@{self.start + self.now} +0000"
        env = {
            **self.env,
            "CODEX_THREAD_ID": where,
            "ATLAS_ACTOR": where or "x",
            "GIT_EDITOR": "true",
            "ATLAS_CLOCK_OFFSET": str(self.now),
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
        }
        done = subprocess.run(
            argv, cwd=self.top / where, env=env, capture_output=True, text=True, timeout=60
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def git(self, who: str, *args: str) -> Result:
        """A git command; where a hook stops it, what the stop says is done, and the command is
        tried once more."""
        done = self.run(who, "git", *args)
        if done.code == 0:
            return done
        stop = re.search(r"^atlas: stop 5 \((read first|write last)\)", done.err, re.MULTILINE)
        assert stop, (who, args, done)
        self.stops[who] += 1
        if stop[1] == "write last":
            printed = re.search(r"atlas (status write .*)", done.err)
            assert printed, done.err
            assert self.run(who, *command(*shlex.split(printed[1]))).code == 0
        merging = (
            args[0] == "merge" and (self.top / "main/.git/worktrees" / who / "MERGE_HEAD").exists()
        )
        again = self.run(who, "git", *(("commit", "--no-edit", "-q") if merging else args))
        assert again.code == 0, (who, args, again)
        return again

    def atlas(self, who: str, *args: str) -> Result:
        """The same for a command of Atlas: a version jump prints the one that submits the merged
        draft."""
        done = self.run(who, *command(*args, "--json"))
        if done.code == 3:
            self.stops[who] += 1
            details = done.json["error"]["details"]
            draft = Path(details["draft"])
            kept = [
                line
                for line in draft.read_text().splitlines()
                if not re.match(r"<<<<<<<|=======|>>>>>>>", line)
            ]
            draft.write_text("\n".join(kept) + "\n")
            done = self.run(who, *command(*shlex.split(details["next"])[1:], "--json"))
        assert done.code == 0, (who, args, done)
        return done

    def commit(self, who: str, path: str) -> None:
        file = self.top / who / path
        file.write_text(file.read_text() + f"y = {os.urandom(3).hex()!r}\n")
        self.git(who, "commit", "-qam", f"{who} at {self.now // 60} min")

    def finish(self, who: str, reads: bool) -> None:
        """Merge what others have pushed, write last, push to the branch of integration; half of
        them read first."""
        if reads:
            self.atlas(who, "status")
        self.git(who, "fetch", "-q", "origin")
        self.git(who, "merge", "-q", "--no-edit", "origin/main")
        self.atlas(who, "end", "-m", f"{who}: done.")
        self.git(who, "push", "-q", "origin", "HEAD:main")


@pytest.mark.long  # (the short edition of a day at work is the trial)
@pytest.mark.parametrize("seed", range(1, 12))
def test_a_day_of_six_sessions_stops_each_three_times_at_most(
    tmp_path: Path, env: dict[str, str], seed: int
) -> None:
    day, dice = Day(tmp_path, env), random.Random(seed)
    for name in day.names:
        day.atlas(name, "begin", "--goal", f"work of {name}", "--on", f"{name}/a.py")
    ends = {name: 10 + number // 2 for number, name in enumerate(dice.sample(day.names, 6))}
    pushed = []
    for step in range(16):
        day.now = step * HALF
        for name in dice.sample(day.names, 6):
            if step < ends[name] and step % 3 == dice.randrange(3):
                day.commit(name, f"{name}/a.py")
            if step == 5:
                day.git(name, "push", "-q", "origin", f"HEAD:feature-{name}")
            if step % 7 == 6 and step < ends[name]:
                day.atlas(
                    name, "lease", "take", f"path:{name}", "--why", "still at it", "--for", "1h"
                )
            if step == ends[name]:
                day.finish(name, reads=dice.random() < 0.5)
                pushed.append(day.run(name, "git", "rev-parse", "HEAD").out.strip())
    assert day.run("main", "git", "rev-parse", "origin/main").out.strip() == pushed[-1]
    assert max(day.stops.values()) <= STOPS, day.stops
    assert day.stops, "or there was nothing to see"
    entries = json.loads(day.run("main", *command("status", "log", "-n", "100", "--json")).out)[
        "data"
    ]["items"]
    assert {one["actor"] for one in entries} == set(day.names), "each wrote last"
    first = day.run("main", "git", "rev-list", "--max-parents=0", "HEAD").out.strip()
    checked = day.run(day.names[0], *command("check", f"{first}..origin/main", "--json"))
    assert checked.code == 0, checked.out
    assert day.run("main", *command("verify", "--full")).code == 0
