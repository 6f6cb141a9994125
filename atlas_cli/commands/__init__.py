"""One noun a file: parse, call, return. COMMANDS lists the nouns. A module is loaded when its
command is called."""

from typing import Any

import typer

from ..cli import limits as limits
from ..cli.grammar import noun as noun
from ..cli.grammar import single as single
from ..cli.grammar import verb as verb
from ..cli.limits import rules_for as rules_for
from ..cli.options import All as All
from ..cli.options import For as For
from ..cli.options import GoodFor as GoodFor
from ..cli.options import Since as Since
from ..cli.options import To as To
from ..cli.options import Wait as Wait
from ..cli.options import Why as Why
from ..cli.options import body as body
from ..cli.options import parsed as parsed
from ..cli.options import read_bytes as read_bytes
from ..cli.options import wait_time as wait_time
from ..env.env import Env
from ..model.text import Record
from ..outcome import Frame

COMMANDS: dict[str, str] = {
    "begin": "Read first: register a session and see where things stand.",
    "end": "Write last: write the status, give back the leases and claims, close the session.",
    "status": "The status stream: where things stand.",
    "show": "Show any record by its REF.",
    "correct": "Put right a bad write by name, your own first of all.",
    "who": "Who is on these paths: leases, sessions, commits of the last hours.",
    "wait": "Sleep until a lease is free, a task done, a session over, or somebody has written.",
    "drafts": "Texts of yours that a stop or a refusal left over: list, drop.",
    "log": "What was written, by whom, in which order.",
    "artifact": "Handover documents: versioned, immutable, one name per topic.",
    "decision": "The decision log: what was decided, and why.",
    "lease": "Advisory leases: sign up for a resource before you use it.",
    "task": "The task board: post work, claim it, finish it, each exactly once.",
    "gate": "Clearance gates: a blocker holds tasks back until it is cleared.",
    "signal": "Signals about records and paths: post one, list them.",
    "session": "Sessions: list them, show one, adopt one that is over.",
    "sync": "Publish what was recorded here, and bring what others have published.",
    "parked": "Writes of this clone that contradict what others published first.",
    "outbox": "What no remote has yet: list it, export it to a file, import such a file.",
    "hooks": "The git hooks: install, status, remove.",
    "links": "The relative links that your moves break; --fix corrects them.",
    "check": "Judge code commits by their trailers, in CI and on a server.",
    "init": "Create the store of this repository, or find the one that is there.",
    "verify": "Judge the whole history by the rules that the writer used.",
    "doctor": "Look at the store's health; --fix repairs what can be repaired.",
    "config": "The policy of the store.",
    "epoch": "Take what was settled long ago from the tip of the store's branch.",
    "view": "Write this worktree's .atlas/ folder anew.",
    "git": "Run git in the store's own repository.",
    "uninstall": "Take Atlas out of this clone; what others have stays.",
    "help": "A page on a topic; bare, the list of topics.",
    "tour": "The story of Atlas, told by its own commands in a throw-away folder.",
    "setup": "Tell AI tools about Atlas: AGENTS.md, CLAUDE.md, Claude Code's hooks.",
    "completion": "The script that makes your shell complete commands and names.",
}
GROUPS = {  # the heading of the commands from this one on, where `atlas -h` names them
    "begin": "your work",
    "artifact": "shared",
    "sync": "the remote",
    "hooks": "the code",
    "init": "the store",
    "help": "to learn",
}
# Words whose module is a face and no file of this folder: it may import what stands behind the
# commands. The root imports it when it is called.
FACES: dict[str, str] = {}
HIDDEN = ("digest", "hook")  # these are called in another way: by bare `atlas`, by git


def env_of(ctx: typer.Context) -> Env:
    """The Env of a call."""
    env = ctx.obj
    assert isinstance(env, Env)
    return env


def warned(env: Env, record: Record) -> list[Frame]:
    """The warnings that stand beside a record; its writers' words have the bar of a frame."""
    return env.ask.warned(record)


def shown(path: str) -> str:
    """A path as text that a program can read, whatever bytes the path has."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def one(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The single record of a write."""
    return records[0]
