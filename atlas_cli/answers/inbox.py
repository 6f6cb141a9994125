"""The notes that were added by hand, on a forge."""

from __future__ import annotations

from ..model import times
from ..model.text import Record
from ..records import inbox
from .ask import WEEK, Questions

MOST = 20


def by_hand(ask: Questions, path: str) -> Record:
    """The person and the time of a file that has no fields for them. They are what its commit says,
    which nobody has verified."""
    index = ask.index
    seq = index.written_in(path)
    commit = index.commits(1, after=seq - 1, upto=seq)[0][0]["oid"]
    entry = index.git.object(commit)
    head = entry[2].decode(errors="replace").partition("\nauthor ")[2] if entry else ""
    author, _, rest = head.partition("\n")[0].rpartition("> ")
    seconds = rest.partition(" ")[0]
    return {
        "by": f"{author.partition(' <')[0]} (unverified)",
        "commit": commit,
        "at": times.rfc3339(int(seconds) if seconds.isdecimal() else 0),
    }


def recent(ask: Questions) -> list[Record]:
    """The notes of the inbox of the last seven days, newest first."""
    rows = [
        ask.shown({"ref": inbox.KIND.ref(path, record), **record, **by_hand(ask, path)})
        for path, record in ask.index.newest(inbox.FOLDER, MOST)
    ]
    return [row for row in rows if times.moment(row["at"]) > ask.now - WEEK]
