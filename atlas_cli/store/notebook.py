"""This clone's own knowledge: who reads here, what they have read, which files of a view are ours.
Not disposable, but not shared either: what others must know is published with the next write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import callers, signs
from .notebook_file import FILE as FILE
from .notebook_file import NotebookFile

# The knowledge of a session: by table, the column that names it, and the others.
_KNOWN = {
    "receipts": ("session", "reader, kind, id, number, blob, at, claimed, published"),
    "told": ("session", "key, version, number, how, at"),
    "heard": ("session", "head"),
    "once": ("session", "said"),
    "looks": ("reader", "head"),
}


class Notebook(NotebookFile):
    """This clone's notebook: what it notes, and what it answers."""

    def begun(self, worktree: str, caller: str) -> str | None:
        """The session that a caller began last in a worktree; in any of the clone's, if its tool
        gave it an id."""
        where = (
            "caller=? ORDER BY rowid DESC" if callers.by_id(caller) else "caller=? AND worktree=?"
        )
        values = (caller,) if callers.by_id(caller) else (caller, worktree)
        row = self._one(f"SELECT session FROM begun WHERE {where} LIMIT 1", *values)
        return row[0] if row else None

    def everyone(self) -> list[tuple[str, str, str]]:
        """(worktree, caller, session) of every session that was begun here; the worktree is empty
        for a caller that is the same one in each."""
        rows = self._all("SELECT worktree, caller, session FROM begun ORDER BY rowid")
        newest = {("" if callers.by_id(row[1]) else row[0], row[1]): row[2] for row in rows}
        return [(worktree, caller, session) for (worktree, caller), session in newest.items()]

    def begin(self, worktree: str, caller: str, session: str) -> None:
        """Notes that a caller has begun a session in a worktree."""
        self.moved = self.moved or self.begun(worktree, caller) != session
        self._put("INSERT OR REPLACE INTO begun VALUES(?,?,?)", worktree, caller, session)

    def follow(self, old: str, new: str) -> None:
        """Notes that a session knows what another one knew: what that had read, what it was told,
        and how far it had looked."""
        self.moved = True
        for table, (own, others) in _KNOWN.items():
            self._put(
                f"INSERT OR IGNORE INTO {table}({own}, {others}) SELECT ?, {others} FROM {table}"
                f" WHERE {own}=?",
                new,
                old,
            )

    def knows(self, session: str) -> dict[str, list[tuple[Any, ...]]]:
        """All that a session knows, by table."""
        return {
            table: self._all(f"SELECT {others} FROM {table} WHERE {own}=?", session)
            for table, (own, others) in _KNOWN.items()
        }

    def knew(self, session: str, before: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
        """Notes that a session knows only what it knew before: it was not shown what has been noted
        since."""
        self.moved = True
        for table, rows in before.items():
            own, others = _KNOWN[table]
            self._put(f"DELETE FROM {table} WHERE {own}=?", session)
            for row in rows:
                marks = ",".join("?" * (1 + len(row)))
                self._put(f"INSERT INTO {table}({own}, {others}) VALUES({marks})", session, *row)

    def sign(self, session: str, at: int, steadily: float) -> None:
        """Notes that a session is at work."""
        signs.note(str(self.file.parent), session, at, steadily)

    def signed(self, session: str) -> int:
        """The moment at which a session was last at work here; 0 if it never was."""
        return signs.last(str(self.file.parent), session)

    def silence(self, session: str, now: float) -> float:
        """The seconds for which a session was silent here, by the steady clock."""
        return signs.silence(str(self.file.parent), session, now)

    def agent(self, caller: str, agent: str, at: int | None) -> None:
        """Notes that a tool's sub-agent is at work; None: that it is done."""
        if at is None:
            self._put("DELETE FROM agents WHERE caller=? AND agent=?", caller, agent)
        else:
            self._put("INSERT OR REPLACE INTO agents VALUES(?,?,?)", caller, agent, at)

    def agents(self, caller: str, since: int) -> list[str]:
        """The sub-agents of a tool that were heard of since a moment and are not done."""
        rows = self._all(
            "SELECT agent FROM agents WHERE caller=? AND at>=? ORDER BY agent", caller, since
        )
        return [row[0] for row in rows]

    def resume(self, caller: str, at: int) -> None:
        """Notes that a caller may have lost its context: its tool has compacted or resumed it, or
        it has asked who it is."""
        self._put("INSERT OR REPLACE INTO resumed VALUES(?,?)", caller, at)

    def resumed(self, caller: str) -> int:
        """The moment at which a caller last may have lost its context; 0 if it never has."""
        row = self._one("SELECT at FROM resumed WHERE caller=?", caller)
        return row[0] if row else 0

    def read(
        self,
        session: str,
        reader: str,
        kind: str,
        id: str,
        number: int,
        blob: str,
        at: int,
        claimed: bool = False,
    ) -> None:
        """Notes a receipt: this session has read that version, and these were its bytes."""
        if (number, blob) not in self.seen(session, kind, id):
            self.moved = True
        self._put(
            "INSERT OR REPLACE INTO receipts VALUES(?,?,?,?,?,?,?,?,0)",
            session,
            reader,
            kind,
            id,
            number,
            blob,
            at,
            int(claimed),
        )

    def seen(self, session: str, kind: str, id: str) -> list[tuple[int, str]]:
        """(number, blob) of the versions that a session has read, newest first."""
        rows = self._all(
            "SELECT number, blob FROM receipts WHERE session=? AND kind=? AND id=? ORDER BY number"
            " DESC",
            session,
            kind,
            id,
        )
        return [(row[0], row[1]) for row in rows]

    def glance(
        self,
        session: str,
        reader: str,
        stream: str,
        number: int,
        blob: str,
        at: int,
        kind: str = "glance",
    ) -> None:
        """Notes that a part of a status entry was printed, which is enough to put one's own section
        beside it, and not to supersede it; or (`look`) that its session was told what of it
        concerns it. It is not published."""
        self.moved = True
        self._put(
            "INSERT OR REPLACE INTO receipts VALUES(?,?,?,?,?,?,?,0,1)",
            session,
            reader,
            kind,
            stream,
            number,
            blob,
            at,
        )

    def known_to(self, sessions: Sequence[str]) -> set[tuple[str, str, int]]:
        """All that these sessions have read here, as (kind, id, number)."""
        rows = self._all(
            f"SELECT kind, id, number FROM receipts WHERE session IN ({_marks(sessions)})",
            *sessions,
        )
        return {(row[0], row[1], row[2]) for row in rows}

    def reading_since(self, sessions: Sequence[str]) -> int | None:
        """The moment of the first receipt of these sessions here; None for a new reader."""
        row = self._one(
            f"SELECT min(at) FROM receipts WHERE session IN ({_marks(sessions)})", *sessions
        )
        return row[0] if row else None

    def note(self, session: str, how: int, at: int, items: Iterable[tuple[str, str, int]]) -> None:
        """Notes what a session was told, or has read: (key, version, number of its entry) of each.
        A higher `how` says more, and is kept."""
        for key, version, number in items:
            self.moved = True
            self._put(
                "INSERT INTO told VALUES(?,?,?,?,?,?) ON CONFLICT(session, key, version) DO UPDATE"
                " SET how=max(how, excluded.how), at=excluded.at, number=excluded.number",
                session,
                key,
                version,
                number,
                how,
                at,
            )

    def heard(self, sessions: Sequence[str]) -> dict[tuple[str, str], int]:
        """How each (key, version) is known to these sessions: the most that one of them was
        told."""
        rows = self._all(
            f"SELECT key, version, max(how) FROM told WHERE session IN ({_marks(sessions)}) GROUP"
            " BY key, version",
            *sessions,
        )
        return {(row[0], row[1]): row[2] for row in rows}

    def last_told(self, sessions: Sequence[str], key: str, how: int) -> tuple[str, int] | None:
        """(version, number of its entry) of what one of these sessions was told last of a key, at
        least in that way."""
        row = self._one(
            f"SELECT version, number FROM told WHERE session IN ({_marks(sessions)}) AND key=? AND"
            " how>=? ORDER BY at DESC, rowid DESC LIMIT 1",
            *sessions,
            key,
            how,
        )
        return (row[0], row[1]) if row else None

    def told_at(self, session: str, how: int) -> int:
        """The moment at which a session was last told anything in that way, or more; 0 if it never
        was."""
        row = self._one("SELECT max(at) FROM told WHERE session=? AND how>=?", session, how)
        return (row[0] or 0) if row else 0

    def told_of(self, ref: str, own: Sequence[str], number: int, how: int) -> list[str]:
        """The sessions that were told of a record in that way, or more; of a status entry by its
        number, and the keys of its `own` sections."""
        rows = self._all(
            "SELECT DISTINCT session FROM told WHERE how>=? AND (key=? OR version=? OR (number=?"
            f" AND key IN ({_marks(own)})))",
            how,
            ref,
            ref,
            number,
            *own,
        )
        return sorted(row[0] for row in rows)

    def noted(self, session: str, key: str) -> int:
        """The moment at which a key was last noted for a session; 0 if it never was."""
        row = self._one("SELECT max(at) FROM told WHERE session=? AND key=?", session, key)
        return (row[0] or 0) if row else 0

    def readers(self, kind: str, id: str, number: int, blobs: Sequence[str]) -> list[str]:
        """The sessions of this clone that have read a version with such bytes: another one may have
        had its number before it was published."""
        rows = self._all(
            "SELECT session FROM receipts WHERE kind=? AND id=? AND number=? AND blob IN"
            f" ({_marks(blobs)})",
            kind,
            id,
            number,
            *blobs,
        )
        return [row[0] for row in rows]

    def looked(self, reader: str) -> str | None:
        """The head that a reader's last digest was of."""
        row = self._one("SELECT head FROM looks WHERE reader=?", reader)
        return row[0] if row else None

    def look(self, reader: str, head: str) -> None:
        """Notes the head that a reader has looked at last."""
        if self.looked(reader) != head:
            self._put("INSERT OR REPLACE INTO looks VALUES(?,?)", reader, head)

    def draft(self, file: str, session: str, submit: str) -> None:
        """Notes whose a draft is, and the command that submits it."""
        self._put("INSERT OR REPLACE INTO drafted VALUES(?,?,?)", file, session, submit)

    def forget_draft(self, file: str) -> None:
        """Forgets whose a draft was."""
        self._put("DELETE FROM drafted WHERE file=?", file)

    def drafted(self, file: str) -> tuple[str, str]:
        """The session whose a draft is, and the command that submits it; empty where none is
        known."""
        row = self._one("SELECT session, submit FROM drafted WHERE file=?", file)
        return (row[0], row[1]) if row else ("", "")

    def drafting(self) -> set[str]:
        """The sessions that have left drafts in this clone."""
        return {str(row[0]) for row in self._all("SELECT DISTINCT session FROM drafted")}

    def unpublished(self, session: str, limit: int = 100) -> dict[str, int]:
        """The newest receipts that no commit carries yet, as `status:main@12~3f9c01ab77de`, each
        with its row's id."""
        rows = self._all(
            "SELECT rowid, kind, id, number, blob, claimed FROM receipts WHERE session=? AND"
            " published=0 AND number>0 ORDER BY at DESC, kind, id, number DESC LIMIT ?",
            session,
            limit,
        )
        receipts = {}
        for rowid, kind, id, number, blob, claimed in rows:
            receipts[f"{kind}:{id}@{number}~{blob[:12]}{' claimed' if claimed else ''}"] = rowid
        return receipts

    def published(self, receipts: Iterable[int]) -> None:
        """Notes that these receipts are in the history now."""
        for rowid in receipts:
            self._put("UPDATE receipts SET published=1 WHERE rowid=?", rowid)

    def note_rewind(self, head: str) -> None:
        """Notes that the store's history lost what it had up to that head. It is said until
        somebody takes note of it."""
        self._put("INSERT OR IGNORE INTO rewinds VALUES(?)", head)

    def rewinds(self) -> list[str]:
        """The heads that the branch was set back from."""
        return [row[0] for row in self._all("SELECT head FROM rewinds")]

    def forget_rewinds(self) -> None:
        """Forgets that the branch was set back."""
        self._put("DELETE FROM rewinds")

    def told(self, session: str) -> str:
        """The head up to which the session has been told of corrections; empty if it never was."""
        row = self._one("SELECT head FROM heard WHERE session=?", session)
        return row[0] if row else ""

    def tell(self, session: str, head: str) -> None:
        """Notes the head up to which a session has been told of corrections."""
        self._put("INSERT OR REPLACE INTO heard VALUES(?,?)", session, head)

    def first_time(self, session: str, text: str) -> bool:
        """Whether a session is told this for the first time; it was told from now on."""
        statement = "SELECT 1 FROM once WHERE session=? AND said=?"
        if self._one(statement, session, text):
            return False
        self._put("INSERT OR REPLACE INTO once VALUES(?,?)", session, text)
        return True

    def said(self, text: str) -> set[str]:
        """The sessions that were told this, or of which it is noted."""
        return {str(row[0]) for row in self._all("SELECT session FROM once WHERE said=?", text)}

    def stopped(self, session: str, kind: str, at: int) -> None:
        """Counts a stop. It is a test result, and published with the next write."""
        self._put("INSERT INTO stops VALUES(?,?,?)", session, kind, at)

    def stops(self, session: str | None = None) -> list[tuple[str, str, int, int]]:
        """(session, kind, count, the last moment) of the stops that no write of their session came
        after; of one session, or of all."""
        rows = self._all(
            "SELECT session, kind, count(*), max(at) FROM stops WHERE ? IN ('', session) GROUP BY"
            " session, kind ORDER BY max(at) DESC",
            session or "",
        )
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def stops_published(self, session: str) -> None:
        """Forgets the stops of a session, because a commit names them now."""
        self._put("DELETE FROM stops WHERE session=?", session)

    def view(self, worktree: str, path: str) -> str | None:
        """The blob that a file of a worktree's view was written from."""
        row = self._one("SELECT blob FROM views WHERE worktree=? AND path=?", worktree, path)
        return row[0] if row else None

    def viewed(self, worktree: str) -> list[str]:
        """The files that the view of a worktree holds."""
        rows = self._all("SELECT path FROM views WHERE worktree=?", worktree)
        return [row[0] for row in rows]

    def set_view(self, worktree: str, path: str, blob: str | None) -> None:
        """Notes the blob that a file of the view was written from; None takes the file out."""
        if blob is None:
            self._put("DELETE FROM views WHERE worktree=? AND path=?", worktree, path)
        else:
            self._put("INSERT OR REPLACE INTO views VALUES(?,?,?)", worktree, path, blob)

    def ground(self, worktree: str) -> str:
        """The last answer to whether a worktree's view is Atlas's own to write."""
        row = self._one("SELECT said FROM grounds WHERE worktree=?", worktree)
        return row[0] if row else ""

    def set_ground(self, worktree: str, answer: str) -> None:
        """Notes the answer to whether a worktree's view is Atlas's own to write."""
        self._put("INSERT OR REPLACE INTO grounds VALUES(?,?)", worktree, answer)


def _marks(values: Sequence[str]) -> str:
    """The marks that stand for some values in a statement."""
    return ",".join("?" * len(values))
