"""The block that tells AI tools of Atlas, played as a session does that knows nothing else."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ..conftest import ROOT, Atlas, Git
from ..contract import VERBS

COST = 40  # words that a line of the block may cost, its limits said in full once


def _outside(text: str) -> list[str]:
    """The lines of an answer that are no frame's."""
    return [line for line in text.split("\n") if not line.startswith(("│", "──"))]


def test_the_block_is_played_as_it_stands(hub: Path, git: Git, atlas: Atlas) -> None:
    """A session in a clone that nobody has prepared knows nothing but the block. Each of its lines
    works as printed; what the answers say outside frames is little."""
    git("clone", "-q", "hub.git", "repo", cwd=hub.parent)
    repo = hub.parent / "repo"
    text = (ROOT / "templates/agents.md").read_text()
    lines = re.findall(r"`git (atlas [^`]+)`", text)
    words = dict.fromkeys(lines, 0)
    real = {"COMMAND": "true", "NAME": "notes", "FILE": "x.py"}

    def play(start: str, **more: str) -> str:
        """The line of the block that begins so, with its words in capitals filled in."""
        line = next(line for line in lines if line.startswith(f"atlas {start}"))
        argv = shlex.split(line)[1:]
        verb = VERBS.get(tuple(argv[:2])) or VERBS.get(tuple(argv[:1]))
        if verb and all("--wait" not in param.opts for param in verb.params):
            argv = [word for word in argv if word not in ("--wait", "90s")]
        done = atlas(*[{**real, **more}.get(word, word) for word in argv], cwd=repo)
        assert done.code == 0, (line, done)
        words[line] = sum(len(row.split()) for row in _outside(done.out + done.err))
        return done.out

    assert "joined the store" in atlas("begin", cwd=repo).err
    assert atlas("task", "add", "the parser", cwd=repo).code == 0
    me = re.findall(r"you go on as (\S+)", play("begin --goal"))[0]
    id = re.findall(r"task:(\w+)", play("task next"))[0]
    play("lease run"), play("lease take"), play("artifact"), play("decision")
    (repo / "y.py").write_text("y")
    git("add", "y.py", cwd=repo), git("commit", "-qm", "y", cwd=repo)
    assert f"Atlas-Session: {me}" in git("log", "-1", "--format=%B", cwd=repo)
    play("status write")
    git("push", "-q", "origin", "HEAD:main", cwd=repo)
    play("task done", ID=id)
    play("show", REF="notes"), play("correct", REF="artifact:notes")
    play("log", ID=atlas("log", "--json", cwd=repo).data["items"][0]["operation"])
    play("COMMAND", COMMAND="show")
    child = play("begin --parent", **{"ITS-ID": me})
    assert f"you are {me}" not in child
    said = text.split("git atlas end - <<'EOT'\n")[1].split("EOT")[0]
    assert atlas("end", "-", data=said, cwd=repo).code == 0
    assert set(words) == set(lines) and not [line for line in lines if words[line] == 0]
    routine = [line for line in lines if not re.search(r" (begin|show|log|decision|COMMAND)", line)]
    assert sum(words[line] for line in routine) <= COST * len(routine), words
