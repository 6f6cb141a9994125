"""`atlas correct`: put right a bad write by name, one's own first of all."""

import re
from typing import Annotated

import typer

from .. import records
from ..answers import corrections, mending, sessions, words
from ..answers.corrections import Reach
from ..env import addressing, beginning, freshness, reading, who, writing
from ..env.env import Env
from ..errors import Protocol
from ..model import names
from ..model.change import Change, Decide, Writer
from ..model.text import Record
from ..model.tree import Tree
from ..outcome import Outcome
from ..records import correction, session
from ..records.board import task
from ..sharing.dealing import FRESH
from ..visible import named
from . import To, Why, env_of, single, verb

app = single()
FIRST = 90  # the priority of mending: before what builds on it
Cause = Annotated[
    str | None, typer.Option("--cause", metavar="REF|PATH@COMMIT", help="What led to it.")
]
Retract = Annotated[bool, typer.Option("--retract", help="Withdraw it: what it says is withheld.")]
FollowUp = Annotated[
    str | None,
    typer.Option("--follow-up", metavar="TITLE", help="Post the task of mending what it led to."),
]


@verb(
    app,
    "correct",
    'atlas correct status:main@12 --why "stage E is done: I had read a broken README"',
    3,
    5,
    6,
    7,
    remote=FRESH,
    limits=(
        (
            "whoever read the record outside Atlas, or copied it, is not told; words that stand"
            " in an id stay there"
        ),
    ),
)
def correct(
    ctx: typer.Context,
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="The record that is wrong, or its bare id.")
    ],
    why: Why,
    cause: Cause = None,
    retract: Retract = False,
    follow_up: FollowUp = None,
    to: To = None,
) -> Outcome:
    """Document a bad write. The record stays; wherever it is shown, the correction shows.

    Being wrong is expected, and nobody's corrections are counted. The sessions that relied on it,
    have read it, or stand on its cause are told. Retracting a retraction lifts it. Of your own
    records it works for ten minutes after your `end`, too."""
    env = env_of(ctx)
    ref = reading.meant(env, ref)
    me = _corrector(env, ref)
    target = reading.pinned_ref(env, ref)
    _, wrong = reading.resolve(env, records.ref(target))
    writer = wrong.get("session", wrong.get("holder"))
    reason = names.say(why, "--why", 8000)
    fields = {
        "target": target,
        "why": reason,
        "cause": _cause(env, cause),
        "retract": retract,
        "own": me["id"] == writer,
        "marks": addressing.marks(env, me, to or [], reason),
    }
    reach = corrections.reach(env.ask, wrong["ref"], writer or "")
    env.notices += freshness.known(env)  # (others may rely on it, or have read it)
    title = names.say(follow_up, "--follow-up", 200) if follow_up is not None else ""
    written = writing.write(
        env, _decided(env, fields, (title, wrong["ref"]), reach), me, "correction: "
    )
    rows = writing.records(env, written)
    env.notices += mending.also(env.ask, [row for row in rows if row["ref"].startswith("task:")])
    record = next(row for row in rows if row["ref"].startswith("correction:"))
    posted = [row["ref"] for row in rows if row["ref"].startswith("task:")]
    data = {
        **record,
        "relied_on_by": list(reach.leaning),
        "readers": [reader._asdict() for reader in reach.readers],
        "finished": list(reach.finished),
        "mended_by": [row._asdict() for row in mending.of(env.ask, record["ref"])],
        "follow_up": posted[0] if posted else None,
    }
    return Outcome(data, tuple(_lines(env, record, reach, posted)), published=False)


def _corrector(env: Env, ref: str) -> Record:
    """The session that corrects. It may be one of this caller that has ended just now, wrote the
    record and owes nothing: what it got wrong in its last words needs no new session."""
    try:
        return beginning.writer(env)
    except Protocol:
        own = who.own(env)
        row = session.row_of(env.snapshot, own) if own == who.session_id(env) and own else {}
        if not sessions.ended_just_now(env.ask, row) or words.owed(env.ask, row, env.git):
            raise
        if reading.resolve(env, records.ref(ref))[1].get("session") != own:
            raise
        return row


def _cause(env: Env, text: str | None) -> str | None:
    """The cause as it is stored: a REF with its number, `path@commit` with the path from the root
    and the commit's id, or words."""
    if text is None:
        return None
    cause = names.say(text, "--cause")
    kind, colon, _ = cause.partition(":")
    if colon and kind in records.BY_NAME:
        return reading.pinned_ref(env, cause)
    path, at, commit = cause.rpartition("@")
    one_word = bool(at and commit and not re.search(r"[\s:@]", path + commit))
    if not correction.path_of_cause(cause) and not (path and one_word):
        return cause
    path = reading.resource(env, f"path:{path}").partition(":")[2]
    return f"{path}@{_commit(env, path, commit)}"


def _commit(env: Env, path: str, name: str) -> str:
    """The id of the commit that a name stands for now; the name itself where it is not here, since
    it may be another's. A notice says that, or that the file is not in it."""
    asked = f"{name}^{{commit}}\n".encode(errors="surrogateescape")
    commit, _, rest = env.git.ask("cat-file", "--batch-check", data=asked)[1].partition(b" commit ")
    if not rest:
        env.notices.append(f"--cause names the commit {named(name)}, which is not here")
        return name
    oid = commit.decode()
    if env.git.ask("cat-file", "-e", f"{oid}:{path}")[0]:
        env.notices.append(f"--cause names {named(path)}, which is not in {named(name)}")
    return oid


def _decided(env: Env, fields: Record, mends: tuple[str, str], reach: Reach) -> Decide:
    """The write: the correction, and the task of mending what was built on the record, in one.
    `mends`: the title of that task (empty: none is posted), and the record's REF."""
    title, wrong = mends

    def decide(tree: Tree, writer: Writer) -> Change:
        change = correction.add(tree, writer, **fields)
        if not title:
            return change
        from ..records.board import posting
        from .task.post import at_head, open_count  # few corrections post a task

        mending.refuse_twin(at_head(env), wrong, title, writer.session)
        own = correction.KIND.ref(next(iter(change.files)), {})
        body = _body(own, reach, _at_work(env, reach))
        wish = {"title": title, "body": body, "relies_on": [own], "priority": FIRST}
        more = posting.add(tree, writer, [wish], open_count(env))
        return change._replace(files={**change.files, **more.files})

    return decide


def _at_work(env: Env, reach: Reach) -> list[str]:
    """The tasks that sessions which had read a wrong record are at."""
    readers = {reader.session for reader in reach.live}
    rows = task.held(env.index, None, env.now())
    return [f"task:{row['id']}" for row in rows if row["claim"]["session"] in readers]


def _body(own: str, reach: Reach, at_work: list[str]) -> str:
    """The text of the task that mends what a wrong record led to."""
    lines = [f"{own} says what was wrong (atlas show {own})."]
    if reach.leaning:
        lines.append(f"These rely on it: {', '.join(reach.leaning)}.")
    if reach.readers:
        lines.append(f"These had read it: {reach.line()}.")
    if reach.finished:
        done = corrections.few(reach.finished)
        lines.append(f"They had finished, built on it or not: {done}.")
    if at_work:
        lines.append(f"They are at work on: {corrections.few(at_work)}.")
    return "\n".join(lines) + "\n"


def _lines(env: Env, record: Record, reach: Reach, posted: list[str]) -> list[str]:
    done = "retracted" if record["retract"] else "corrected"
    lines = [f"{record['target']} {done} by {record['ref']}", *_twin(env, record)]
    if posted or reach.readers or reach.leaning:
        lines += filter(None, [mending.line(env.ask, record, record["session"])])
    if reach.leaning:
        lines.append(f"it was relied on by {corrections.few(reach.leaning)}")
    if reach.readers:
        rest = "; those at work are told at their next command" if reach.live else ""
        lines.append(f"known to have read it: {reach.line()}{rest}")
    if reach.finished:
        lines.append(f"finished by then by who read it: {corrections.few(reach.finished)}")
    return lines


def _twin(env: Env, record: Record) -> list[str]:
    """The word that a task was corrected that is done, and not its result."""
    kind, twin = record["target"].partition(":")[0], env.ask.twin(record["target"])
    if not twin or kind != task.KIND.name:
        return []
    more = " --retract" if record["retract"] else ""
    return [
        f"it is done: this is of the task, and {twin} warns of it; of the result itself:"
        f" atlas correct {twin} --why TEXT{more}"
    ]
