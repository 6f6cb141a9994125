"""`atlas tour`: the story of Atlas, told by its own commands in a throw-away folder."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Usage
from ..outcome import Block, Outcome
from . import env_of, single, verb
from .story import Story

app = single()


@verb(app, "tour", "atlas tour", terminal=True)
def tour(
    ctx: typer.Context,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="DIR", help="Play it there, and leave it.")
    ] = None,
) -> Outcome:
    """The story of Atlas in a throw-away folder: nine scenes, each told by the real commands.

    Workers who never meet hand work over, collide, lose a holder, and put right their own
    mistakes."""
    env = env_of(ctx)
    if keep is not None and Path(env.options.directory, keep).exists():
        raise Usage(f"{keep} exists already", "name a folder that is not there yet")
    folder = Path(env.options.directory, keep).absolute() if keep else None
    story = Story(folder or Path(tempfile.mkdtemp(prefix="atlas-tour-")))
    blocks: Iterator[Block] | list[Block] = _told(story, keep)
    if env.options.json:
        blocks = list(blocks)
    return Outcome({"folder": str(folder) if folder else None, "steps": story.steps}, blocks)


def _told(story: Story, keep: str | None) -> Iterator[Block]:
    began = time.monotonic()
    try:
        for scene in (
            _proposal,
            _filed,
            _built,
            _at_once,
            _jump,
            _vanished,
            _eleven_minutes,
            _own_mistake,
            _proof,
        ):
            yield from scene(story)
        yield f"\n{len(story.steps)} commands in {time.monotonic() - began:.1f} s."
        yield (
            f"It was kept: cd {keep}/chat and try atlas log."
            if keep
            else "Your own project: atlas init."
        )
    finally:
        if not keep:
            shutil.rmtree(story.folder, ignore_errors=True)


def _scene(number: int, title: str, prose: str) -> str:
    return f"\n{number}. {title}\n{'=' * (len(title) + 3)}\n{prose}"


def _proposal(story: Story) -> Iterator[Block]:
    yield _scene(
        1,
        "Nine in the evening: a proposal is written down",
        "A session that works in a chat has an idea, and no one to tell it to. It will not be there tomorrow.",
    )
    (story.folder / "chat").mkdir(parents=True)
    story.git("chat", "init", "-q", "-b", "main")
    code = story.folder / "chat/server"
    code.mkdir()
    (code / "claims.py").write_text("def claims():\n    return []\n")
    (story.folder / "chat/README.md").write_text("# Project\n\nStages E and F are open.\n")
    story.git("chat", "add", ".")
    story.git("chat", "commit", "-qm", "first")
    for worker in ("editor", "builder", "planner", "trainer"):
        story.git("chat", "worktree", "add", "-q", "-b", worker, f"../{worker}")
    yield from story.atlas(
        "chat", "init", "--test", "--no-hooks"
    )  # its commits stand for anybody's
    yield from story.atlas("chat", "begin", "--goal", "how to read the claim store")
    text = (
        "# Read the verified-claim store directly\n\nWorking from a summary breaks verification at the summary, writes "
        "questions blind,\nand never finds the connections between claims. Build three read-only tools.\n"
    )
    yield from story.atlas(
        "chat",
        "artifact",
        "put",
        "proposal",
        "-",
        "--type",
        "md",
        "--title",
        "read the claim store directly",
        "--caveat",
        "duplicate checks before a run, free browsing only after",
        text=text,
    )
    yield from story.atlas(
        "chat", "end", "-m", "Proposed in artifact:proposal@1: three read-only tools. Not started."
    )


def _filed(story: Story) -> Iterator[Block]:
    story.later("11h30m")
    yield _scene(
        2,
        "Next morning: another session files it",
        "A session in an editor reads first. It is not its job; it files the task for whoever comes next.",
    )
    yield from story.atlas("editor", "begin", "--goal", "tidy the editor")
    yield from story.atlas("editor", "artifact", "show", "proposal")
    args = (
        "task",
        "add",
        "build the three tools of artifact:proposal@1",
        "--relies-on",
        "artifact:proposal@1",
        "--on",
        "server/claims.py",
        "-m",
        "On the data server; mind its caveat.",
    )
    yield from story.atlas("editor", *args)
    story.task = story.made
    filed = f"- [ ] the three tools of artifact:proposal@1: task:{story.task}"
    yield from story.atlas(
        "editor", "gate", "raise", "--why", "the data server is down", "--task", story.task
    )
    gate = story.made
    yield from story.atlas("editor", "task", "claim", story.task, code=6)
    yield from story.atlas("editor", "gate", "clear", gate, "--why", "it is up again")
    yield from story.atlas(
        "editor", "status", "write", "-m", filed, "--section", "Tasks for whoever comes next"
    )
    yield from story.atlas("editor", "end")


def _built(story: Story) -> Iterator[Block]:
    story.later("9h")
    yield _scene(
        3,
        "That evening: a third session builds it",
        "It knows neither of the two. The caveat travels with the document, and goes into what it builds.",
    )
    yield from story.atlas("builder", "begin", "--goal", "claim tools", "--on", "server/claims.py")
    yield from story.atlas("builder", "task", "next", "--claim")
    yield from story.atlas("builder", "artifact", "get", "proposal", "-o", "proposal.md")
    yield from story.atlas(
        "builder", "lease", "take", "path:server/claims.py", "--why", "three read-only tools"
    )
    built = story.folder / "builder/server/claims.py"
    built.write_text(
        'def claims():\n    """Duplicate checks before a run; free browsing only after."""\n    return []\n'
    )
    story.git("builder", "commit", "-qam", "three read-only tools on the claim store")
    yield from story.atlas(
        "builder",
        "artifact",
        "put",
        "claim-tools",
        "server/claims.py",
        "--title",
        "the tools, on the data server",
        "--relies-on",
        "artifact:proposal@1",
        "--caveat",
        "duplicate checks before a run, free browsing only after",
    )
    yield from story.atlas("builder", "task", "done", story.task, "-m", "artifact:claim-tools@1")
    done = "- [x] the three tools are built: artifact:claim-tools@1"
    yield from story.atlas(
        "builder", "end", "-m", done, "--section", "Tasks for whoever comes next"
    )
    yield "\nProposal to production in under a day, and none of the three ever addressed another."


def _at_once(story: Story) -> Iterator[Block]:
    story.later("14h")
    yield _scene(
        4,
        "Two sessions add to the decision log at once",
        "In a shared file that is a merge conflict. Here both are kept.",
    )
    yield from story.atlas("editor", "begin", "--goal", "choose a format")
    yield from story.atlas("planner", "begin", "--goal", "choose a host")
    both = [
        (
            "editor",
            (
                "decision",
                "add",
                "--title",
                "format of the export",
                "--recommended",
                "csv",
                "--chosen",
                "csv",
                "--stance",
                "agreed",
                "--why",
                "readers have it already",
            ),
        ),
        (
            "planner",
            (
                "decision",
                "add",
                "--title",
                "host of the tools",
                "--recommended",
                "control plane",
                "--chosen",
                "data server",
                "--stance",
                "timeout",
                "--why",
                "nobody answered within the day",
            ),
        ),
    ]
    running = [(worker, args, story.start(worker, *args)) for worker, args in both]
    for worker, args, child in running:
        yield from story.shown(worker, args, None, *child.communicate(), child.returncode, 0)
    yield from story.atlas("editor", "decision", "list")


def _jump(story: Story) -> Iterator[Block]:
    story.later("5m")
    yield _scene(
        5,
        "A version jump: the stop sign that a machine can see",
        "Both have read the same status. One writes; the other's section is put beside it, and it is told.",
    )
    yield from story.atlas(
        "editor", "status", "write", "-m", "The export is csv.", "--section", "Export"
    )
    host = ("-m", "The tools run on the data server.", "--section", "Host")
    yield from story.atlas("planner", "status", "write", *host)
    yield "\nOver a section that it has not read as it stands, it is stopped: there, text could be lost."
    other = ("-m", "The export is json.", "--section", "Export")
    yield from story.atlas("planner", "status", "write", *other, code=3)
    yield "\nIts text is not lost. But the editor is right, and so the draft goes."
    draft = next((story.folder / "chat/.git/atlas/drafts").iterdir())
    yield from story.atlas("planner", "drafts", "drop", f"../chat/.git/atlas/drafts/{draft.name}")
    yield from story.atlas("planner", "status")


def _vanished(story: Story) -> Iterator[Block]:
    yield _scene(
        6,
        "A holder vanishes",
        "Nobody can tell a crashed worker from a slow one, so the lease expires by itself.",
    )
    yield from story.atlas("trainer", "begin", "--goal", "train overnight")
    yield from story.atlas(
        "trainer", "lease", "take", "gpu0", "--why", "training run 12", "--for", "30m"
    )
    yield "\n(the trainer's machine is switched off here)"
    yield from story.atlas(
        "planner", "lease", "take", "gpu0", "--why", "measure the tools", "--for", "20m", code=4
    )
    story.later("31m")
    yield "\n(thirty-one minutes later)"
    yield from story.atlas(
        "planner", "lease", "take", "gpu0", "--why", "measure the tools", "--for", "20m"
    )
    yield "\nThe fencing token has risen: should the trainer wake up, its renewal is refused."
    yield from story.atlas("trainer", "lease", "renew", "gpu0", code=4)
    yield from story.atlas("planner", "lease", "release", "gpu0")


def _eleven_minutes(story: Story) -> Iterator[Block]:
    story.later("1h")
    yield _scene(
        7,
        "Commits of eleven minutes ago, in the very file",
        "The planner is about to recommend work in a file. It reads that file's recent history first.",
    )
    file = story.folder / "builder/server/claims.py"
    file.write_text(file.read_text() + "\n\ndef cached_claims():\n    return claims()\n")
    story.git("builder", "commit", "-qam", "cache the claims", ago=660)
    yield from story.atlas("planner", "who", "server/claims.py")
    yield from story.atlas(
        "planner",
        "decision",
        "add",
        "--title",
        "instruments in server/claims.py",
        "--recommended",
        "measure inside claims() now",
        "--chosen",
        "recorded and frozen until the cache is in",
        "--stance",
        "disagreed",
        "--why",
        "timing, not content: another session committed to this very file eleven minutes ago",
    )
    yield "\nComparing the two choices tells that they differ. It never tells why, and in a year why is all that matters."


def _own_mistake(story: Story) -> Iterator[Block]:
    story.later("20m")
    yield _scene(
        8,
        "A session puts right its own bad write",
        "It had read a broken README, and drew a confident conclusion from it. Another one built on that.",
    )
    yield from story.atlas(
        "editor",
        "artifact",
        "put",
        "stages",
        "-",
        "--type",
        "md",
        "--title",
        "where the stages stand",
        text="Stages E and F are open.\n",
    )
    yield from story.atlas("planner", "artifact", "show", "stages")
    yield from story.atlas(
        "planner",
        "artifact",
        "put",
        "plan",
        "-",
        "--type",
        "md",
        "--title",
        "the plan",
        "--relies-on",
        "artifact:stages@1",
        text="First E, then F.\n",
    )
    yield from story.atlas(
        "editor",
        "correct",
        "artifact:stages@1",
        "--retract",
        "--cause",
        "README.md",
        "--why",
        "E and F were done long ago: I had read a broken README",
    )
    yield "\nThe planner has not asked. Its next command tells it."
    args = ("lease", "list")
    child = story.start("planner", *args, quiet=False)
    yield from story.shown("planner", args, None, *child.communicate(), child.returncode, 0)
    yield from story.atlas("planner", "show", "artifact:plan", "artifact:stages@1")


def _proof(story: Story) -> Iterator[Block]:
    yield _scene(
        9,
        "Write last, and verify",
        "Every commit of the story is judged by the very rules that the writers used.",
    )
    withdrawn = "artifact:plan@1 rests on artifact:stages@1, which was retracted: plan anew."
    yield from story.atlas("planner", "end", "-m", withdrawn)
    yield from story.atlas("editor", "log", "-n", "6")
    yield from story.atlas("editor", "verify", "--full")
