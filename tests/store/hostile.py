"""Commits that somebody makes who means ill, or whose disk does: any bytes as trees, records,
policies and messages. Each stands on the one before it and touches paths of its own, so that each
can be put right."""

from __future__ import annotations

import hashlib
import os
import random
import re
import zlib
from collections.abc import Callable
from pathlib import Path

from atlas_cli.model.message import Message, change_digest
from atlas_cli.records import policy
from atlas_cli.store.trees import FOLDER, PLAIN, parse_tree

Row = tuple[bytes, bytes, str]  # mode, name, id
WHO = b"hand <hand@localhost> 1764500000 +0000"
WORDS = (
    b'"../../x"',
    b"null",
    b"[]",
    b"{}",
    b"-1",
    b"1e999",
    b"9" * 400,
    b"true",
    b'"\\ud800"',
    b'"\xff"',
    b"[" * 60,
    b'"\\u001b[2J"',
    b"2026-13-99T99:99:99Z",
    b'"' + b"x" * 3000 + b'"',
    b"&a [*a]",
    b"!!python/object:os.system x",
    b'"9999-12-31T23:59:59Z"',
    b'"0001-01-01T00:00:00Z"',
    b"'",
    b"---",
    b"1.10",
    b"9007199254740993",
    b'""',
)
NAMES = (
    b"HEAD",
    b"config",
    b"CLAUDE.md",
    b"x" * 250,
    b"\xff\xfe.yaml",
    "é.yaml".encode(),
    b"a\nb.yaml",
    b"-rf.yaml",
    b"con.yaml",
    b"%2e%2e.yaml",
    b"\x1b[2J.md",
    b" .md",
    b"000001.md",
    b"about.yaml",
    b".gitattributes",
    b"a.YAML",
)
PLACES = (
    b"leases/%02x",
    b"status/s%d/000",
    b"artifacts/a%d/0001",
    b"artifacts/%02x/a%d/0001",
    b"decisions/2026",
    b"decisions/2026/11",
    b"corrections/2026",
    b"inbox",
    b"tasks/%02x",
    b"sessions/261130",
    b"gates/%02x",
    b"results/%02x/t%d",
    b"signals/2026",
    b"nowhere%d",
    b"mail/%d",
)


class Hostile:
    """Writes objects as bytes into a repository, past git, and moves its branch `atlas`."""

    def __init__(self, store: Path, seed: int) -> None:
        self.store, self.rng, self.count = store, random.Random(seed), 0
        self.head = (store / "refs/heads/atlas").read_text().strip()
        self.seen: dict[str, tuple[str, bytes]] = {}

    def put(self, kind: str, data: bytes) -> str:
        oid = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()
        file = self.store / "objects" / oid[:2] / oid[2:]
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data, 1))
        self.seen[oid] = (kind, data)
        return oid

    def get(self, oid: str) -> bytes:
        if oid not in self.seen:
            kind, _, data = zlib.decompress(
                (self.store / "objects" / oid[:2] / oid[2:]).read_bytes()
            ).partition(b"\0")
            self.seen[oid] = (kind.split(b" ")[0].decode(), data)
        return self.seen[oid][1]

    def tree(self, commit: str) -> str:
        return self.get(commit)[5:45].decode()

    def rows(self, oid: str) -> list[Row]:
        found = parse_tree(self.get(oid), 40) if oid else {}
        return [(mode.encode(), os.fsencode(name), one) for name, (mode, one) in found.items()]

    def pack(self, rows: list[Row], sort: bool = True) -> str:
        order = (
            sorted(rows, key=lambda row: row[1] + b"/" if row[0] == FOLDER.encode() else row[1])
            if sort
            else rows
        )
        return self.put(
            "tree", b"".join(b"%s %s\0" % row[:2] + bytes.fromhex(row[2]) for row in order)
        )

    def planted(self, root: str, path: list[bytes], mode: bytes, oid: str) -> str:
        rows = self.rows(root)
        there = {name: (kind, one) for kind, name, one in rows}
        if len(path) > 1:
            kind, below = there.get(path[0], (FOLDER.encode(), ""))
            oid, mode = (
                self.planted(below if kind == FOLDER.encode() else "", path[1:], mode, oid),
                FOLDER.encode(),
            )
        return self.pack([*(row for row in rows if row[1] != path[0]), (mode, path[0], oid)])

    def commit(
        self, tree: str, message: bytes = b"by hand\n", *parents: str, header: bytes | None = None
    ) -> str:
        above = b"".join(b"parent %s\n" % one.encode() for one in (self.head, *parents))
        who = b"author %s\ncommitter %s\n" % (WHO, WHO) if header is None else header
        self.head = self.put("commit", b"tree %s\n%s%s\n%s" % (tree.encode(), above, who, message))
        return self.head

    def done(self) -> None:
        (self.store / "refs/heads/atlas").write_text(self.head + "\n")

    # what is done

    def any(self) -> str:
        """One hostile commit; what it was."""
        self.count += 1
        deed: Callable[[], None] = self.rng.choice(
            [
                self.record,
                self.record,
                self.record,
                self.record,
                self.mode,
                self.form,
                self.deep,
                self.says,
                self.says,
                self.forges,
                self.forges,
                self.merges,
                self.many,
                self.large,
                self.names,
            ]
        )
        deed()
        return deed.__name__

    def place(self) -> list[bytes]:
        found = self.rng.choice(PLACES)
        return (found % tuple([self.count] * found.count(b"%"))).split(b"/")

    def name(self) -> bytes:
        if self.rng.random() < 0.3:
            return b"%d-" % self.count + self.rng.choice(NAMES)
        return b"n%d%s" % (self.count, self.rng.choice([b".yaml", b".md", b"", b".txt"]))

    def bytes(self) -> bytes:
        """A record that was good, with something changed; or no record at all."""
        rng, good = self.rng, [data for kind, data in self.seen.values() if kind == "blob" and data]
        data = bytearray(rng.choice(good))
        for _ in range(rng.randrange(1, 4)):
            how = rng.randrange(7)
            lines = bytes(data).split(b"\n")
            at = rng.randrange(len(lines))
            if how == 0 and data:
                data[rng.randrange(len(data))] = rng.randrange(256)
            elif how == 1:
                key = lines[at].partition(b":")[0]
                lines[at] = key + b": " + rng.choice(WORDS)
                data = bytearray(b"\n".join(lines))
            elif how == 2:
                del lines[at]
                data = bytearray(b"\n".join(lines))
            elif how == 3:
                data += rng.choice(
                    [
                        b"\0",
                        b"\r\n",
                        b"\xef\xbb\xbf",
                        rng.randbytes(40),
                        b"a: " + b"- " * 2000,
                        b"\n---\n",
                    ]
                )
            elif how == 4:
                data = bytearray(
                    rng.choice(
                        [b"", b"---\n---\n", rng.randbytes(200), b"x: [" * 9000, b"? " * 3000]
                    )
                )
            elif how == 5:
                data = bytearray(
                    re.sub(rb"(?m)^(\w+): \"(.*)\"$", rb"\1:   \2 # by hand", bytes(data))
                )
            else:
                lines.insert(at, rng.choice(lines))
                data = bytearray(b"\n".join(lines))
        return bytes(data)

    def record(self) -> None:
        path = [*self.place(), self.name()]
        self.commit(
            self.planted(self.tree(self.head), path, PLAIN.encode(), self.put("blob", self.bytes()))
        )

    def mode(self) -> None:
        mode = self.rng.choice(
            [b"100755", b"120000", b"100664", b"0100644", b"100600", b"160000", b"100640"]
        )
        path, oid = [*self.place(), self.name()], self.put("blob", self.bytes())
        self.commit(
            self.planted(self.tree(self.head), path, mode, oid if mode != b"160000" else self.head)
        )

    def form(self) -> None:
        """A folder that git would not have written."""
        rng, a, b = self.rng, self.put("blob", self.bytes()), self.put("blob", b"x\n")
        plain, path = PLAIN.encode(), [*self.place(), b"f%d" % self.count]
        rows = rng.choice(
            [
                [(plain, b"b.md", a), (plain, b"a.md", b)],
                [(plain, b"a.md", a), (plain, b"a.md", b)],
                [(plain, b"..", a)],
                [(plain, b".git", a)],
                [(plain, b".GIT", a), (plain, b"z", b)],
                [(plain, b"a", a), (FOLDER.encode(), b"a", self.pack([(plain, b"x", b)]))],
                [(plain, b".", a)],
            ]
        )
        self.commit(
            self.planted(self.tree(self.head), path, FOLDER.encode(), self.pack(rows, sort=False))
        )

    def deep(self) -> None:
        oid, mode = self.put("blob", b"x"), PLAIN.encode()
        for _ in range(self.rng.choice([5, 9, 300])):
            oid, mode = self.pack([(mode, b"d", oid)]), FOLDER.encode()
        self.commit(
            self.planted(self.tree(self.head), [*self.place()[:1], b"d%d" % self.count], mode, oid)
        )

    def many(self) -> None:
        """Few trees that name a great many files."""
        oid, mode = self.put("blob", b"x\n"), PLAIN.encode()
        for _ in range(6):
            oid, mode = self.pack([(mode, b"%02d" % at, oid) for at in range(12)]), FOLDER.encode()
        self.commit(
            self.planted(self.tree(self.head), [self.place()[0], b"m%d" % self.count], mode, oid)
        )

    def large(self) -> None:
        line = self.rng.choice([b"\n", b"a: 1\n", b"- ", b"x"])
        data = line * ((6 << 20) // len(line))
        path = [*self.place(), self.name()]
        self.commit(
            self.planted(self.tree(self.head), path, PLAIN.encode(), self.put("blob", data))
        )

    def names(self) -> None:
        self.commit(
            self.planted(
                self.tree(self.head),
                [*self.place()[:1], b"%d-" % self.count + self.rng.choice(NAMES)],
                PLAIN.encode(),
                self.put("blob", self.bytes()),
            )
        )

    def merges(self) -> None:
        other = self.put(
            "commit",
            b"tree %s\nauthor %s\ncommitter %s\n\nroot\n"
            % (self.tree(self.head).encode(), WHO, WHO),
        )
        self.commit(self.tree(self.head), b"merge\n", other)

    def says(self) -> None:
        """A message, or a header, that Atlas or git would not have written."""
        rng = self.rng
        lines = [
            b"Atlas-Operation: x%d" % self.count,
            b"Atlas-Session: nobody",
            b"Atlas-At: 2026-11-30T00:00:00Z",
            b"Atlas-Change: " + b"0" * 64,
            b"Atlas-At: 2026-13-99T99:99:99Z",
            b"Atlas-Operation: " + b"x" * 5000,
            b"Atlas-Base: status:main@1~x",
            b"Atlas-Stop: version_jump 99999999999999999999",
            b"Atlas-Session: \x1b[2J",
            b"Atlas-Repairs: " + b"1" * 40,
            b"Atlas-Repairs: -x",
            b"Atlas-Session: ../../x",
        ]
        said = b"\n".join(rng.sample(lines, rng.randrange(1, 5)))
        message = rng.choice(
            [
                b"subject\n\n" + said,
                b"x\0y\n\n" + said,
                b"\xff\xfe\n\n" + said,
                b"s" * 3000,
                b"",
                b"\n\n\n",
            ]
        )
        header = rng.choice(
            [
                None,
                None,
                b"",
                b"author x\ncommitter y\n",
                b"author %s\nauthor %s\n" % (WHO, WHO),
                b"author %s\ncommitter %s\nencoding utf-16\n" % (WHO, WHO),
                b"author %s\ncommitter %s\nx-other 1\n" % (WHO, WHO),
                b"author x <x> 18446744073709551616 +0000\ncommitter %s\n" % WHO,
                b"author %s\ncommitter x <x> 1764547200 +9999\n" % WHO,
            ]
        )
        self.commit(self.tree(self.head), message + b"\n", header=header)

    def forges(self) -> None:
        """A transaction whose trailers are whole, of a record that need not be."""
        path, data = b"/".join([*self.place(), self.name()]), self.bytes()
        oid = self.put("blob", data)
        rows = {name: one for _, name, one in self.rows(self.tree(self.head))}
        store = str(policy.parse("atlas.yaml", self.get(rows[b"atlas.yaml"]))["store"])
        sessions = [
            m[1].decode()
            for kind, blob in self.seen.values()
            if kind == "blob" and (m := re.match(rb'id: "([a-z]+-[0-9]{6}-[a-z0-9]{6})"', blob))
        ]
        who = self.rng.choice([*sessions, "nobody-261130-aaaaaa"])
        message = Message("forged", f"{self.count:032x}", who, 1764500000 + self.count)
        change = [(os.fsdecode(path), None, oid)]
        text = message._replace(change=change_digest(store, message, change)).text().encode()
        self.commit(self.planted(self.tree(self.head), path.split(b"/"), PLAIN.encode(), oid), text)
