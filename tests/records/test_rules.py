"""Every rule that can be judged from two trees and a message is broken once, and named with its
path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from atlas_cli.errors import Damaged
from atlas_cli.model import text, times
from atlas_cli.model.change import Writer
from atlas_cli.model.message import Message, change_digest
from atlas_cli.records import judging, lease, policy, session, status_write
from atlas_cli.records.wish import Wish

from .files import ANN, BOB, NOW, STORE, Files, changes, done, judged, store, writer

Broken = tuple[
    Mapping[str, bytes | None], Writer | None, str
]  # the files, who wrote them, the path that is named
ENTRY, NEXT, ROW = "status/main/000/000001.md", "status/main/000/000002.md", lease.path_of("gpu0")
OVER = session.path_of(BOB)  # bob's session, which has ended
FROM_TREES = {
    "mode",
    "form",
    "operation",
    "linear",
    "repair",
    "migrated",
    "epoch",
}  # these look at the commit itself, and at the chain
TASKS = {"gated", "gate", "task_state", "edge", "receipt"}  # test_task.py, test_gate.py


def world() -> Files:
    """A store with a status entry, a lease that ann holds with token 2, her session and one that is
    over."""
    tree = store()
    tree = done(
        tree,
        status_write.write(tree, writer(), Wish("main", "A", "one"), status_write.Seen(None, None)),
        writer(),
    )
    for at in (NOW - 86400, NOW):
        tree = done(tree, lease.take(tree, writer(at=at), ["gpu0"], "w", 3600), writer(at=at))
    for who in (writer(), writer(BOB)):
        begun = session.begin(
            tree,
            who,
            goal="g",
            worktree="",
            branch="",
            kind="work",
            paths=[],
            streams=[],
            lasts=None,
        )
        tree = done(tree, begun, who)
    return done(tree, session.end(tree, writer(BOB)), writer(BOB))


def row(**fields: object) -> bytes:
    """The next row of the lease, by hand."""
    return text.dump({**(lease.current(world(), "gpu0") or {}), "version": 3, **fields})


def entry(number: int, **fields: object) -> bytes:
    head = {
        "stream": "main",
        "number": number,
        "session": ANN,
        "actor": "ann",
        "at": times.rfc3339(NOW),
    }
    return text.with_front({**head, **fields}, "x\n")


def about(size: int, sha256: str) -> bytes:
    head = {"name": "a", "number": 1, "ext": "md", "size": size, "sha256": sha256}
    return text.dump({**head, "session": ANN, "actor": "ann", "at": times.rfc3339(NOW)})


def decided(stance: str) -> bytes:
    head = {
        "title": "t",
        "recommended": "r",
        "chosen": "c",
        "stance": stance,
        "session": ANN,
        "actor": "ann",
        "at": times.rfc3339(NOW),
    }
    return text.with_front(head, "w\n")


LATE = times.rfc3339(NOW + 7200)  # after the lease is over
LATER = times.rfc3339(NOW + 9000)
DECIDED, ABOUT = "decisions/2026/11/29-t-000000.md", "artifacts/ca/a/0001/about.yaml"
POLICY = store().files[policy.FOLDER].replace(b"version: 1", b"version: 2")
MISPLACED: dict[str, bytes] = {
    lease.path_of("gpu1"): row(version=1),
    "leases/8b/x.yaml": row(version=1),
    ROW: row(resource="gpu9"),
    NEXT: entry(2, stream="other"),
    "status/main/001/000002.md": entry(2),
    "status/main/000/2.md": entry(2),
    "status/Main/000/000001.md": entry(1, stream="Main"),
    "artifacts/x": b"",
    "decisions/2026/x.md": decided("agreed"),
    "sessions/261129/x.yaml": text.dump({**session.get(world(), ANN), "version": 1}),
}
TORN = [
    b"",
    b'torn: "x',
    b"a: 1\na: 2\n",
    b"a: !!x y\n",
    b"a: " + b"[" * 30_000,
    b"\xff",
    b"format: 99\n",
]
WRONG: list[tuple[str, object]] = [
    ("token", "2"),
    ("token", -1),
    ("token", True),
    ("at", "2026-11-29"),
    ("at", 1764424800),
    ("expires", None),
    ("holder", 1),
    ("format", 99),
    ("format", "1"),
    ("format", 0),
    ("released", "soon"),
    ("why", ["w"]),
]


def uncarried() -> Iterator[bytes]:
    """Entries that are not the one before and their wish: without its section, with another one,
    with another's text, without a name of it, about other files than they say."""
    tree, who = world(), writer(BOB, operation="b" * 32)
    wish = Wish("main", "B", "two", on=("x.py",))
    data = status_write.write(tree, who, wish, status_write.Seen(1, 1)).files[NEXT] or b""
    record, body = text.front(data, NEXT)
    own = record["sections"][1:]
    yield text.with_front({**record, "sections": own}, "## B\n\ntwo\n")
    yield text.with_front(record, body + "\n## C\n\nmade up\n")
    yield text.with_front(record, body.replace("one", "eins"))
    yield text.with_front({**record, "sections": own}, body)
    yield text.with_front({**record, "wish": {**record["wish"], "on": ["y.py"]}}, body)
    yield text.with_front({**record, "unseen": ["status:main@1"]}, body)
    yield text.with_front({**record, "operation": "c" * 32}, body)


CASES: dict[str, list[Broken]] = {
    "append_only": [({ENTRY: None}, None, ENTRY), ({ROW: None}, writer(), ROW)],
    "immutable": [
        ({ENTRY: entry(1)}, writer(), ENTRY),
        ({policy.FOLDER: POLICY.replace(STORE.encode(), b"x")}, None, policy.FOLDER),
    ],
    "version_jump": [
        ({"status/main/000/000003.md": entry(3)}, writer(), "status/main/000/000003.md"),
        ({"status/x/000/000002.md": entry(2, stream="x")}, writer(), "status/x/000/000002.md"),
        ({"status/x/000/000000.md": entry(0, stream="x")}, writer(), "status/x/000/000000.md"),
        ({ROW: row(version=4)}, writer(), ROW),
        ({ROW: row(version=1)}, writer(), ROW),
    ],
    "token": [
        ({ROW: row(token=1)}, writer(), ROW),
        ({ROW: row(token=4)}, writer(), ROW),
        ({ROW: row(at=LATE, expires=LATER)}, writer(at=NOW + 7200), ROW),
    ],
    "live_lease": [({ROW: row(holder=BOB, token=3)}, writer(BOB), ROW)],
    "not_held": [
        ({ROW: row(holder=BOB, token=3, released=times.rfc3339(NOW))}, writer(BOB), ROW),
        ({ROW: row(at=LATE, released=LATE)}, writer(at=NOW + 7200), ROW),
    ],
    "limit": [
        ({ROW: row(expires=times.rfc3339(NOW + length))}, writer(), ROW)
        for length in (4 * 3600 + 1, 299, 0, -1)
    ],
    "clock": [({ROW: row(at=times.rfc3339(NOW - 60))}, writer(), ROW)],
    "session": [({ROW: row()}, writer(BOB), ROW), ({NEXT: entry(2)}, writer(BOB), NEXT)],
    "ended": [({OVER: text.dump({**session.get(world(), BOB), "version": 3})}, writer(BOB), OVER)],
    "misplaced": [({path: data}, None, path) for path, data in MISPLACED.items()],
    "schema": [({DECIDED: decided("maybe")}, writer(), DECIDED)],
    "damaged": [
        *(
            ({path: data}, None, path)
            for path in (ROW, OVER, ABOUT, policy.FOLDER)
            for data in TORN
        ),
        *(
            ({path: b"---\n" + data + b"---\n"}, None, path)
            for path in (NEXT, DECIDED)
            for data in TORN
        ),
        *(({ROW: row(**{key: value})}, None, ROW) for key, value in WRONG),
    ],
    "digest": [
        (
            {ABOUT: about(1, "0" * 64), "artifacts/ca/a/0001/body.md": b"x"},
            writer(),
            "artifacts/ca/a/0001/body.md",
        )
    ],
    "carried": [({NEXT: data}, writer(BOB), NEXT) for data in uncarried()],
    "unknown_path": [
        ({path: b"x"}, None, path)
        for path in ("x", "code/main.py", ".gitattributes", "Status/x", "..", "status2/a")
    ],
}


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_is_broken_and_named_with_its_path(rule: str) -> None:
    for files, who, path in CASES[rule]:
        found = judged(world(), files, who)
        assert (rule, path) in [(one.rule, one.path) for one in found], (files, found)
        assert all(one.rule in judging.RULES and one.text and "\n" not in one.text for one in found)


def test_every_rule_that_trees_can_break_is_broken_here() -> None:
    assert set(CASES) | {"trailers", "change_digest"} | TASKS == set(judging.RULES) - FROM_TREES


TYPED = b"---\n# by a hand\nstream: main\nnumber:   2\nsession: me\nactor: me\nat: 2026-11-29 14:00:00\n---\nx\n"


def test_what_is_whole_breaks_none() -> None:
    fine: list[tuple[Mapping[str, bytes | None], Writer | None]] = [
        ({NEXT: entry(2)}, writer()),
        ({NEXT: entry(2), ROW: row()}, writer()),
        ({ROW: row()}, None),
        ({"README.md": b"anything"}, None),
        ({"README.md": None}, None),
        ({NEXT: entry(2, later="an unknown field", more=[1])}, writer()),
        ({NEXT: TYPED}, None),
    ]
    for files, who in fine:
        assert judged(world(), files, who) == [], files


def test_trailers_are_whole_or_absent_and_their_digest_is_of_the_change() -> None:
    tree = world()
    child = tree.put({NEXT: entry(2)})
    found = changes(tree, child)
    whole = Message("s", "0" * 32, ANN, NOW)
    whole = whole._replace(change=change_digest(STORE, whole, found))
    assert judging.judge(tree, child, found, whole) == []
    for part in ("operation", "at", "change"):
        named = [
            one.text
            for one in judging.judge(tree, child, found, whole._replace(**{part: None}))
            if one.rule == "trailers"
        ]
        assert named == [f"Atlas-{part.title()} missing beside the others"]
    for other in ({"operation": "1" * 32}, {"session": BOB}, {"at": NOW + 1}, {"change": "0" * 64}):
        assert "change_digest" in {
            one.rule for one in judging.judge(tree, child, found, whole._replace(**other))
        }
    twice = judging.judge(
        tree, child, found, whole._replace(faults=("the trailer Atlas-At stands twice",))
    )
    assert [(one.rule, one.text) for one in twice] == [
        ("trailers", "the trailer Atlas-At stands twice")
    ]


def test_a_damaged_policy_leaves_the_default_limits_in_force() -> None:
    broken = world().put({policy.FOLDER: b"torn"})
    assert {
        one.rule for one in judged(broken, {ROW: row(expires=times.rfc3339(NOW + 5 * 3600))}, None)
    } == {"limit"}
    with pytest.raises(Damaged):
        policy.of(broken)
