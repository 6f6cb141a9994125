"""Drafts: texts that a stop, a refusal or a hand edit left over. Nothing that somebody wrote is
lost."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import AtlasError
from ..store import files
from ..store.notebook import Notebook
from . import view


class Drafts:
    """The drafts of a worktree, in `.atlas/drafts/` (beside the store where there is no worktree,
    or that folder is not Atlas's to write). `places` has where such a folder may lie, the best one
    first: below which trusted folder, and in which one; no link is followed between the two. `here`
    is the folder that the caller stands in, `behind` what a printed command must end with to be run
    from there."""

    def __init__(
        self, places: Sequence[tuple[Path, Path]], here: Path, local: Notebook, behind: str = ""
    ) -> None:
        self.places, self.here, self.local, self.behind = places, here, local, behind

    def listed(self) -> list[dict[str, str]]:
        """The drafts there are, oldest first: `file` as a person standing here would type it, and
        `submit`."""
        there = [file for _, file, _ in sorted(self._files())]
        return [
            {"file": self.shown(file), "submit": self.local.submits(str(file))} for file in there
        ]

    def holds(self, file: Path) -> bool:
        """Whether a file is one of them: it lies in one of those very folders, to which no link has
        led."""
        return any(folder.is_at(file.parent) for folder in self._folders())

    def settle(self, file: Path) -> None:
        """A draft whose text is in the history now is gone."""
        for folder in self._folders():
            if folder.is_at(file.parent):
                folder.drop(file.name)
                self.local.draft(str(folder.path / file.name), "")

    def shown(self, file: Path) -> str:
        try:
            found = os.path.relpath(file, self.here)
        except ValueError:
            return str(file)
        return found if not found.startswith("../../..") else str(file)

    def edited(self, file: Path) -> str:
        """What is said of a hand edit that was set aside."""
        name, said = file.name.removeprefix("edited-"), f"the edit is kept in {self.shown(file)}"
        verbs = {"status": "status write STREAM --file", "artifacts": "artifact put NAME"}
        verb = verbs.get(name.partition("-")[0])
        submit = f"atlas {verb} {self.shown(file)}{self.behind}" if verb else ""
        self.local.draft(str(file), submit)
        told = f"; it is submitted with: {submit}" if verb else ""
        return f"a file of the view had been edited by hand; {said}{told}"

    def keep_spoken(self, error: AtlasError, name: str, data: bytes, words: list[str]) -> None:
        """A text that was typed or piped in outlives the refusal of the command that these words
        were."""
        if "draft" in error.details or not data.strip():
            return
        file = self._put(name, data)
        error.details["draft"] = str(file)
        error.hint += f"\nyour text is kept in {self.shown(file)}"
        again = shlex.join(_again(words, self.shown(file)))
        if again.isprintable():  # (what no terminal can carry is no command)
            self.local.draft(
                str(file), f"atlas{self.behind} {again}"
            )  # (behind a `--` they would be the command's)

    def keep(self, stop: AtlasError) -> None:
        """Writes the draft of a stop: the merge of a version jump, or the text that was refused;
        and says how it is submitted. Takes `merge`, `merged`, `body`, `carried` and `submit` out of
        the stop's details."""
        stop.details.pop("carried", None)
        texts, body = stop.details.pop("merge", None), stop.details.pop("body", None)
        whole, submit = stop.details.pop("merged", None), stop.details.pop("submit", "")
        if texts is None and body is None:
            return
        ref, kept = stop.details.get("ref", "status"), "your text"
        if texts is not None:
            body, count = (whole, 0) if whole is not None else _merged(texts, ref)
            stop.details["conflicts"] = count
            kept = "a merged draft" + (
                f" with {count} conflict{'s' * (count > 1)} marked" if count else ""
            )
        ending = submit.rpartition(" --type ")[2] if "--type" in submit else "md"
        file = self._put(f"{ref.replace(':', '-').split('@')[0]}.{ending}", body.encode())
        stop.details["draft"] = str(file)
        stop.details["next"] = (
            submit.replace("{draft}", shlex.quote(self.shown(file))) + self.behind
        )
        self.local.draft(str(file), stop.details["next"])
        stop.hint = (
            f"{stop.hint}\n{kept} is in {self.shown(file)}; submit it with: {stop.details['next']}"
        )

    def _folders(self) -> Iterator[files.Folder]:
        for top, root in self.places:
            with suppress(OSError), files.below(top, root / "drafts") as folder:
                yield folder

    def _files(self, most: int = 0) -> Iterator[tuple[int, Path, bytes | None]]:
        """(when it was written, path, its bytes where they are so many) of each plain file
        there."""
        for folder in self._folders():
            for name in folder.names():
                there = folder.look(name) if folder.plain(name) else None
                if there is not None:
                    data = folder.read(name, most) if there.st_size == most else None
                    yield there.st_mtime_ns, folder.path / name, data

    def _put(self, name: str, data: bytes) -> Path:
        """A draft with these bytes: one that is there already, or a new one."""
        if (
            there := next((file for _, file, text in self._files(len(data)) if text == data), None)
        ) is not None:
            return there
        for top, root in self.places[:-1]:
            with suppress(OSError):
                return view.draft(top, root, name, data)
        return view.draft(*self.places[-1], name, data)


def _again(words: list[str], file: str) -> list[str]:
    """A command's words, with a file in place of the text that was given."""
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-m":
            next(rest, None)
        typed = word.startswith("-m")
        if typed or word == "-":
            found += ["--file"] * (typed or words[:1] != ["artifact"]) + [file]
        else:
            found.append(word)
    return found


def _merged(texts: tuple[str, str, str], ref: str) -> tuple[str, int]:
    from . import merge

    base, theirs, mine = texts
    return merge.three_way(base, theirs, mine, ("yours", "what you had read", ref))
