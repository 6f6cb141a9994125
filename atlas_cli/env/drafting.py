"""The drafts: a stop keeps the user's text, but no credential."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .. import callers
from ..answers import words
from ..answers.sessions import adopted, pulse
from ..errors import AtlasError
from ..model import secrets
from ..model.text import Record
from ..records import artifact, goals, status, wish
from ..records.board import result
from ..sharing import parked
from ..worktree.drafts import Drafts, with_file
from . import aim, reading, receipts, who
from .env import Env


def drafts(env: Env) -> Drafts:
    """The texts that a stop or a hand edit left in this clone."""
    options = env.options
    aimed = aim.words(options)
    mine = f"{callers.mark()}{aim.program(options)}{aimed}"
    mine += f" --session {options.session}" if options.session else ""
    me = who.session_or_none(env)
    # (what is refused to a session that is over is its own all the same)
    owner = me["id"] if me else options.session or who.own(env) or ""
    here = None if aimed else Path(options.directory).absolute()

    def now(id: str, submit: str) -> str:
        return _as_it_runs(words.row(env.ask, id), submit, id == owner)

    return Drafts(_place(env), here, env.local, owner, mine, now)


def _as_it_runs(row: Record, submit: str, own: bool) -> str:
    """The command that submits a draft, as it runs now. A word that was to end a session or a goal
    which is over, or a session that is not the caller's `own`, is a section like any other."""
    if not row or shlex.split(submit)[:2] != ["atlas", "end"]:
        return submit
    given, rest = _options(shlex.split(submit)[2:], ("--goal", "--stream", "--keep"), "--all")
    left, number = goals.open_goals(row), int(given.get("--goal") or goals.under(row))
    if own and "ended" not in row and (number in left or "--goal" not in given):
        more = len(left) > 1 and not given.keys() & {"--goal", "--all"}
        return f"{submit} --goal {min(left)}" if more else submit  # (it had only this one then)
    if not {"--section", "--replace"}.intersection(rest):
        rest = ["--section", goals.heading(row, number), *rest]
    return shlex.join(["atlas", "status", "write", given.get("--stream", "main"), *rest])


def _options(
    typed: list[str], valued: tuple[str, ...], flag: str
) -> tuple[dict[str, str], list[str]]:
    """Some options of a command's words, each with its value, and the other words."""
    given: dict[str, str] = {}
    rest: list[str] = []
    left = iter(typed)
    for word in left:
        name, equals, value = word.partition("=")
        if name in valued:
            given[name] = value if equals else next(left, "")
        elif word == flag:
            given[flag] = ""
        else:
            rest.append(word)
    return given, rest


def _place(env: Env) -> tuple[Path, Path]:
    """The folder of drafts: in git's own, or where git may not be written."""
    home, top = env.store.home, env.place.top
    return (top, home) if home == env.place.outbox and top else (home, home)


def words_again(env: Env) -> list[str]:
    """The words of the command, with the draft that its text becomes (`{draft}`) in its place."""
    return with_file(env.words, "{draft}") if text_given(env) else env.words


def text_given(env: Env) -> bool:
    """Whether a text was typed or piped in, that a stop keeps."""
    return env.spoken is not None and bool(env.spoken[1].strip())


def every(env: Env) -> list[str]:
    """The files of all drafts of this clone, whosever they are."""
    return drafts(env).files()


def own(env: Env, me: Record | None) -> list[dict[str, str]]:
    """The drafts of a session, of those that it has adopted, and of nobody."""
    owners = {me["id"], *adopted(env.ask, me["id"])} if me else set()
    return drafts(env).listed(owners.__contains__)


def listed(env: Env, me: Record | None) -> list[dict[str, str]]:
    """The drafts for who stands here: a session's own, and those that were left."""
    owners = {row["session"] for row in own(env, me)}
    return drafts(env).listed(lambda id: id in owners or _is_left(env, id))


def _is_left(env: Env, id: str) -> bool:
    """Whether the drafts of a session are for whoever works here: it is over, or its heir is, in
    this worktree, or it was adopted from another clone, where its files are not."""
    row = words.row(env.ask, id)
    if not row:
        return False
    heir = words.heir(env.ask, row)
    if heir["machine"] != env.store.machine:
        return True
    is_here = who.worktree(env) in (heir.get("worktree"), row.get("worktree"))
    return is_here and pulse(env.ask, heir)[1] != "live"


def by(row: dict[str, str], me: Record | None) -> str:
    """Whose a draft is, as it is shown to a session: `left by ID` where it is another's."""
    id = row["session"]
    return id if not id or (me and me["id"] == id) else f"left by {id}"


def of_parked(env: Env) -> None:
    """Makes drafts of the parked words that nobody can take: those of a session that was adopted,
    and of a task's result."""
    for write in parked.rows(env.store, env.index):
        id = write["session"] or ""
        adopted, texts = "adopted_by" in words.row(env.ask, id), list[tuple[str, bytes, str]]()
        with suppress(AtlasError):  # what cannot be read stays parked: the list says so
            texts = list(_parked_texts(env, write["commit"], adopted))
        files = [drafts(env).left(id, *text) for text in texts]
        if files:
            parked.unpark(env.store, write["operation"])
            what = f"{write['subject']} cannot be written any more: its text is kept in"
            env.notices.append(f"{what} {', '.join(files)}: atlas drafts")


def _parked_texts(env: Env, commit: str, adopted: bool) -> Iterator[tuple[str, bytes, str]]:
    """(name, text, the command that submits it) of each such word of a parked commit."""
    tree = env.store.snapshot(commit)
    for path in env.store.changed(commit):
        data, (stream, number) = tree.read(path), status.numbered(path)
        if data is None:
            continue
        if number and adopted and (wished := wish.of_entry(status.parse(path, data))):
            where = " --replace" if wished.replace else f" --section {shlex.quote(wished.heading)}"
            base = wished.base.partition("~")[0] or "0"
            again = f"atlas status write {stream}{where} --base {base} --file {{draft}}"
            yield f"status-{stream}.md", wished.text.encode(), again
        elif path.startswith(result.FOLDER) and path.endswith(result.SUFFIX):
            record = result.parse(path, data)
            body = tree.read(result.body_path(record)) or b""
            base = str(status.newest(tree, "main"))
            section = shlex.quote(f"result of {record['task']}")
            again = f"atlas status write main --section {section} --base {base} --file {{draft}}"
            if artifact.is_text(body) and body.strip():
                yield f"result-{record['task']}.md", body, again


def spoken_secret(env: Env) -> str | None:
    """The kind of credential that stands in the text that was given, or in the command itself."""
    return secrets.spoken(env.spoken[1] if env.spoken else b"", env.words)


def keep(env: Env, stop: AtlasError) -> None:
    """Keeps what a stop carries of the user's text. Raises Refused, whatever the stop was, for a
    credential in what was to be written."""
    credential = secrets.kept_by(stop) or (2 <= stop.exit <= 7 and spoken_secret(env))
    if credential:
        raise secrets.refusal(credential) from None
    try:
        drafts(env).keep(stop)
    except (AtlasError, OSError) as error:
        env.notices.append(f"the draft could not be kept: {error}")


def keep_spoken(env: Env, stop: AtlasError) -> None:
    """Keeps a text that came from no file, where a stop would lose it. A command in its hint
    that names the draft (`{draft}`) runs as printed."""
    _keep_spoken(env, stop)
    stop.hint = stop.hint.replace("--file {draft}", "-m TEXT")  # (there is none)


def _keep_spoken(env: Env, stop: AtlasError) -> None:
    settled = "draft" in stop.details or stop.code == "secret"
    if env.spoken is None or stop.exit not in (1, 3, 4, 5, 6, 7) or settled:
        return
    if credential := spoken_secret(env):
        lost = f"your text is not kept: it holds what looks like {credential}"
        stop.hint = f"{stop.hint}\n{lost}".lstrip()
        return
    with suppress(OSError, AtlasError):
        base = _base(env)
        stop.details["flags"] = [*stop.details.get("flags", ()), *base]
        stop.hint = stop.hint.replace("{draft}", " ".join(["{draft}", *map(shlex.quote, base)]))
    with suppress(OSError):
        drafts(env).keep_spoken(stop, *env.spoken, env.words)


def _base(env: Env) -> list[str]:
    """The option that says what the caller had read of that on which its text goes on: whenever the
    draft is submitted, it is judged by that."""
    options = {word.partition("=")[0] for word in env.words}
    if env.goes_on is None or "--base" in options:
        return []
    kind, id = env.goes_on
    worded = kind == status.KIND.name
    part = worded and options.isdisjoint(("--section", "--replace"))
    me = who.session_or_none(env)
    number = (me and receipts.newest_read(env, env.tree, me, kind, id, part)) or 0
    named = reading.named_base(env, env.tree, id, number) if worded and number else str(number)
    return ["--base", named]


def settle(env: Env) -> None:
    """Takes away the draft that the text came from, once the text is in the history."""
    if env.source is not None:
        drafts(env).settle(env.source)
    if env.spoken is not None:
        drafts(env).settle_text(env.spoken[1])
