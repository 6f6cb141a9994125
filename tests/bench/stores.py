"""Stores of any size for the bench, made in one fast-import: canonical records, in the proportions
of a long life."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from atlas_cli.model import text, times
from atlas_cli.records import artifact, decision, lease, session, status
from atlas_cli.records.board import task

BATCH = 1000  # records in a commit


def records(total: int, now: int) -> Iterator[tuple[str, bytes]]:
    """`total` records: four tenths status, two tenths each artifacts and leases, one tenth
    decisions and sessions."""
    at = now - 300 * 86400
    who = {"session": "bench-260101-aaaaaa", "actor": "bench", "at": times.rfc3339(at)}
    for number in range(1, total * 4 // 10 + 1):
        entry = {"stream": "main", "number": number, **who}
        yield (
            status.path_of("main", number),
            text.with_front(entry, f"Entry {number}: all is well.\n"),
        )
    for count in range(total * 2 // 10):
        name, number = f"topic-{count // 10}", count % 10 + 1
        data = f"# topic {name}\n\nversion {number}\n".encode()
        about = {
            "name": name,
            "number": number,
            "ext": "md",
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            **who,
        }
        yield artifact.path_of(name, number), text.dump(about)
        yield artifact.body_path(about), data
    for count in range(total * 2 // 10):
        row = {
            "resource": f"box-{count}",
            "version": 1,
            "token": 1,
            "holder": who["session"],
            "actor": "bench",
            "why": "bench",
            "at": who["at"],
            "expires": times.rfc3339(at + 7200),
        }
        yield lease.path_of(row["resource"]), text.dump(row)
    for count in range(total // 10):
        day = times.rfc3339(at - (count % 1500) * 86400)
        fields = {
            "title": f"choice {count}",
            "recommended": "a",
            "chosen": "b",
            "stance": "agreed",
            **who,
        }
        path = f"{decision.FOLDER}/{day[:4]}/{day[5:7]}/{day[8:10]}-choice-{count}-{count % 0xFFFFFF:06x}.md"
        yield path, text.with_front(fields, "because\n")
    for count in range(total // 10):
        began = at - (count % 400) * 86400
        one = session.new_id("bench", began, count.to_bytes(6, "big"))
        row = {
            "id": one,
            "version": 1,
            "actor": "bench",
            "machine": "m",
            "began": times.rfc3339(began),
            "ended": times.rfc3339(began + 3600),
        }
        yield session.path_of(one), text.dump(row)


def board(total: int, now: int) -> Iterator[tuple[str, bytes]]:
    """`total` tasks: nine tenths are done, the others open, half of these behind another open
    one."""
    who = {
        "session": "bench-260101-aaaaaa",
        "actor": "bench",
        "created": times.rfc3339(now - 86400),
    }
    last = ""
    for count in range(total):
        one = task.new_id("bench", count)
        over = count % 10 != 0
        row = {
            "id": one,
            "version": 3 if over else 1,
            "state": "done" if over else "open",
            "title": f"task {count}",
            "priority": count * 7 % 101,
            "generation": 1,
            "attempt": 0,
            "token": 0,
            "retries": 0,
            **who,
            "at": who["created"],
        }
        row |= {"needs": [last]} if count % 20 == 10 else {}
        last = last if over else one
        yield task.path_of(one), text.with_front(row, "what is to be done\n")


def fill(store: Path, pairs: Iterator[tuple[str, bytes]], now: int, size: int = BATCH) -> None:
    """Adds records to a store as commits made by hand (the rules hold for them, as for any)."""
    branch = "refs/heads/atlas"
    out = [b""]
    batch: list[tuple[str, bytes]] = []

    def flush(first: bool) -> None:
        parent = b"from refs/heads/atlas^0\n" if first else b""
        out.append(
            b"commit %s\ncommitter bench <b@localhost> %d +0000\ndata 6\nbench\n\n%s"
            % (branch.encode(), now, parent)
        )
        for path, data in batch:
            out.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
        batch.clear()

    first = True
    for pair in pairs:
        batch.append(pair)
        if len(batch) >= size and not pair[0].endswith(
            "about.yaml"
        ):  # an artifact's bytes come with it
            flush(first)
            first = False
    if batch:
        flush(first)
    subprocess.run(
        ["git", f"--git-dir={store}", "fast-import", "--quiet", "--force"],
        input=b"".join(out),
        check=True,
    )
