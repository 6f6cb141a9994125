"""Drafts: texts that a stop, a refusal or a hand edit left over. Nothing that somebody wrote is
lost. Each is a session's own, and of whoever adopts it; nobody else is asked to submit it."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import AtlasError
from ..store import files
from ..store.notebook import Notebook
from ..visible import many


class Drafts:
    """The drafts of a clone, in `drafts/` beside its store. `place`: a trusted folder, and the
    folder below it that holds `drafts/`. No link is followed between the two. `here` is the folder
    that the caller stands in (None: in another than the command is about), `session` the caller's
    own (empty: none), `mine` the words that a printed command begins with there. `now`: the command
    that submits a session's draft as it runs now, from the one that was noted with it."""

    def __init__(
        self,
        place: tuple[Path, Path],
        here: Path | None,
        local: Notebook,
        session: str,
        mine: str = "atlas",
        now: Callable[[str, str], str] = lambda _, submit: submit,
    ) -> None:
        self.place, self.here, self.local = place, here, local
        self.session, self.mine, self.now = session, mine, now

    def listed(self, is_owner: Callable[[str], bool]) -> list[dict[str, str]]:
        """The drafts of some sessions and those that are nobody's, oldest first: `file` as a
        person would type it who stands here, `session`, and `submit`, the command that submits
        it."""
        rows = []
        for _, file, _ in sorted(self._files()):
            session, submit = self.local.drafted(str(file))
            if not session or is_owner(session):
                submit = self._printed(self.now(session, submit), file)
                row = {"file": self.shown(file), "session": session, "submit": submit}
                rows.append(row)
        return rows

    def settle(self, file: Path) -> bool:
        """Takes a draft away whose text is in the history now. False for a file that is none: it
        does not lie in that very folder, to which no link has led."""
        for folder in self._folders():
            if folder.is_at(file.parent) and folder.look(file.name) is not None:
                folder.drop(file.name)
                self.local.forget_draft(str(folder.path / file.name))
                return True
        return False

    def settle_text(self, data: bytes) -> None:
        """Takes the session's draft away that has these very bytes: they are in the history now."""
        for _, file, text in list(self._files(len(data))):
            if text == data and self.local.drafted(str(file))[0] == self.session:
                self.settle(file)

    def shown(self, file: Path) -> str:
        """A path as a person would type it who stands here."""
        if self.here is None:
            return str(file)
        try:
            path = os.path.relpath(file, self.here)
        except ValueError:
            return str(file)
        return path if not path.startswith("../../..") else str(file)

    def edited(self, file: Path, submit: str) -> str:
        """The notice of a hand edit that was set aside. `submit`: the command that submits
        `{draft}`, if there is one."""
        kept_in = f"the edit is kept in {self.shown(file)}"
        submit = submit.replace("{draft}", shlex.quote(str(file)))
        self.local.draft(str(file), self.session, submit)
        submitted = f"; it is submitted with: {self._printed(submit, file)}" if submit else ""
        return f"a file of the view had been edited by hand; {kept_in}{submitted}"

    def left(self, session: str, name: str, data: bytes, submit: str) -> str:
        """Keeps a text that a session had written, and that is in no history: its file as it is
        shown. `submit`: the command that submits `{draft}`."""
        file = put(*self.place, name, data)
        self.local.draft(str(file), session, submit.replace("{draft}", shlex.quote(str(file))))
        return self.shown(file)

    def keep_spoken(self, error: AtlasError, name: str, data: bytes, words: list[str]) -> None:
        """Keeps a text that was typed or piped in when its command, of these words, is refused; the
        `flags` of its details are that command's as well."""
        if not data.strip():
            return
        file = self._put(name, data)
        error.details["draft"] = str(file)
        error.hint = error.hint.replace("{draft}", shlex.quote(self.shown(file)))
        error.hint += f"\nyour text is kept in {self.shown(file)}"
        submit = shlex.join(
            ["atlas", *with_file(words, str(file)), *error.details.pop("flags", ())]
        )
        # (What no terminal can carry is no command.)
        self.local.draft(str(file), self.session, submit if submit.isprintable() else "")

    def keep(self, stop: AtlasError) -> None:
        """Writes the draft of a stop (the merge of a version jump, or the text that was refused),
        and says how it is submitted. Takes `merge`, `merged`, `body`, `carried` and `submit` out of
        the stop's details."""
        stop.details.pop("carried", None)
        texts, body = stop.details.pop("merge", None), stop.details.pop("body", None)
        whole, submit = stop.details.pop("merged", None), stop.details.pop("submit", "")
        if texts is None and body is None:
            return
        ref, what = stop.details.get("ref", "status"), "your text"
        if texts is not None:
            body, count = _merged(texts, ref) if whole is None else (whole, 0)
            stop.details["conflicts"] = count
            what = "a merged draft"
            if count:
                what += f" with {many(count, 'conflict')} marked"
        ending = submit.rpartition(" --type ")[2] if "--type" in submit else "md"
        file = self._put(f"{ref.replace(':', '-').split('@')[0]}.{ending}", body.encode())
        stop.details["draft"] = str(file)
        submit = submit.replace("{draft}", shlex.quote(str(file)))
        self.local.draft(str(file), self.session, submit)
        stop.details["next"] = command = self._printed(submit, file)
        stop.hint += f"\n{what} is in {self.shown(file)}; submit it with: {command}"

    def _printed(self, submit: str, file: Path) -> str:
        """The command that submits a draft, as it runs from where the caller stands: the caller's
        own options stand in front, since behind a `--` they would be the command's."""
        submit = submit.replace(shlex.quote(str(file)), shlex.quote(self.shown(file)))
        return re.sub(r"^atlas\b", lambda _: self.mine, submit)

    def _folders(self) -> Iterator[files.Folder]:
        top, root = self.place
        with suppress(OSError), files.below(top, root / "drafts") as folder:
            yield folder

    def files(self) -> list[str]:
        """The files of all drafts, oldest first."""
        return [str(file) for _, file, _ in sorted(self._files())]

    def _files(self, most: int = 0) -> Iterator[tuple[int, Path, bytes | None]]:
        """(when it was written, path, its bytes if they are so many) of each draft."""
        for folder in self._folders():
            for name in folder.names():
                state = folder.look(name) if folder.plain(name) else None
                if state is not None:
                    data = folder.read(name, most) if state.st_size == most else None
                    yield state.st_mtime_ns, folder.path / name, data

    def _put(self, name: str, data: bytes) -> Path:
        """A draft with these bytes: one that is there already, or a new one."""
        for _, file, text in self._files(len(data)):
            if text == data and self.local.drafted(str(file))[0] == self.session:
                return file
        return put(*self.place, name, data)


def put(top: Path, root: Path, name: str, data: bytes) -> Path:
    """Keeps a text in `drafts/` of the folder `root`, below the trusted folder `top`, under a name
    of its own: its path. Raises OSError if it cannot be kept."""
    stem, dot, ext = name.rpartition(".")
    stamp = time.strftime("%m%d-%H%M%S", time.gmtime())
    ending = f"{dot}{ext}" if stem else ""
    with files.below(top, root / "drafts", make=True) as folder:
        for count in range(1000):
            more = f"-{count}" if count else ""
            file = f"{stem or ext}-{stamp}{more}{ending}"
            try:
                folder.add(file, data)
            except FileExistsError:
                continue
            return root / "drafts" / file
    raise OSError("too many drafts")


def with_file(words: list[str], file: str) -> list[str]:
    """A command's words, with a file in place of the text that was given."""
    again: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-m":
            next(rest, None)
        typed = word.startswith("-m")
        if typed or word == "-":
            if typed or words[:1] != ["artifact"]:
                again.append("--file")
            again.append(file)
        else:
            again.append(word)
    return again


def _merged(texts: tuple[str, str, str], ref: str) -> tuple[str, int]:
    """The merge of a text with the version that was written meanwhile, and its conflicts."""
    from . import merge

    base, theirs, mine = texts
    return merge.three_way(base, theirs, mine, ("yours", "what you had read", ref))
