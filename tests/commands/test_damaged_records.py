"""Records that a hand has damaged: named with their path, never a traceback, never in the way of
what is whole."""

from __future__ import annotations

import pytest

from atlas_cli.model import times

from ..conftest import DECISION, INDEX
from ..store.crew import Worker
from ..store.hand import Hand, edited, row
from ..store.hand import entry as by_hand
from ..store.violations import now
from .bad import argv, fails, hand, own_desk, unharmed, worker

__all__ = ["hand", "own_desk", "worker"]  # fixtures
BOMB = b"a0: &a0 [x, x]\n" + b"".join(
    b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 40)
)
# What stands in place of a row, or of an entry's front matter; and a word of how it is named.
DAMAGE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "torn": (b'resource: "torn"\nversion: 1\ntok', "line 3"),
    "torn-text": (b'resource: "torn', "line 1"),
    "twice": (b'resource: "a"\nresource: "b"\n', "stands twice"),
    "tag": (b"resource: !!python/object/apply:os.system [touch owned]\n", "tags"),
    "bomb": (BOMB, "aliases"),
    "deep": (b"resource: " + b"[" * 30_000 + b"\n", "nested deeper"),
    "prose": (b"this is no record\n", "not a list"),
    "bytes": (b"\xff\xfe\x00", "not UTF-8"),
    "lone": (b'resource: "\\ud800"\n', "half a character"),
    "newer": (b"format: 99\n", "newer than this version"),
    "format": (b'format: "x"\n', "is no number"),
    "bare": (b'version: 1\nnumber: 1\nactor: "a"\n', "is missing"),
    "large": (b'resource: "' + b"x" * 300_000 + b'"\n', "a record holds 262,144"),
}
TYPES = {
    "number": "token: NaN",
    "count": "token: -1",
    "bool": "token: true",
    "huge": "token: " + "9" * 5000,
    "time": 'at: "2026-02-30T00:00:00Z"',
    "epoch": "at: 1764424800",
    "list": 'holder: ["a"]',
    "null": "why: null",
}


def entry(stream: str) -> str:
    return f"status/{stream}/000/000001.md"


@pytest.fixture
def damaged(worker: Worker, hand: Hand) -> list[str]:
    """A store with a lease row and a status entry of each damage, beside whole ones; their
    paths."""
    assert worker("lease", "take", "gpu0", "--why", "whole").code == 0
    assert worker("status", "write", "-m", "where things stand").code == 0
    good = hand.read(row("gpu0")).decode()
    files = {row(f"r-{name}"): data for name, (data, _) in DAMAGE.items()}
    files |= {entry(name): b"---\n" + data + b"---\nbody\n" for name, (data, _) in DAMAGE.items()}
    for name, line in TYPES.items():
        lines = [one for one in good.splitlines() if not one.startswith(line.split(":")[0] + ":")]
        files[row(f"t-{name}")] = (
            "\n".join([*lines, line, ""]).replace('"gpu0"', f'"t-{name}"').encode()
        )
    files[entry("no-front")] = b"only a body\n"
    files[entry("no-end")] = b'---\nstream: "no-end"\n'
    hand.commit(files)
    return sorted(files)


def test_each_is_named_with_its_path_by_whoever_reads_it(
    worker: Worker, hand: Hand, damaged: list[str]
) -> None:
    head = hand.head()
    for name, (_, word) in DAMAGE.items():
        for form in ("lease show r-{}", "show lease:r-{}", "lease take r-{} --why w"):
            done = fails(worker(*argv(form, name)), 1)
            assert row(f"r-{name}") in done.err and word in done.err, (form, done)
        for form in (
            "status show {}",
            "show status:{}",
            "show status:{}@1",
            "status write {} -m x --base 1",
        ):
            done = fails(worker(*argv(form, name)), 1)
            assert entry(name) in done.err, (form, done)
    for name, line in TYPES.items():
        done = fails(worker("lease", "show", f"t-{name}"), 1)
        assert row(f"t-{name}") in done.err and line.split(":")[0] in done.err
    assert hand.head() == head


def test_lists_show_what_is_whole_and_leave_none_out_in_silence(
    worker: Worker, damaged: list[str]
) -> None:
    rows = [path for path in damaged if path.startswith("leases/")]
    found = worker("lease", "list", "--json").json
    assert [item["resource"] for item in found["data"]["items"] if item["state"] == "held"] == [
        "gpu0"
    ]
    assert (
        sorted(item["path"] for item in found["data"]["items"] if item["state"] == "damaged")
        == rows
    )
    assert all(any(path in notice for notice in found["notices"]) for path in rows)
    begun = worker("begin", "--json")
    assert begun.code == 0 and [lease["resource"] for lease in begun.data["leases"]] == ["gpu0"]
    assert begun.data["status"][0]["body"] == "## test\n\nwhere things stand\n"
    for form in (
        "",
        "begin --stream empty --stream newer",
        "status",
        "log",
        "session list",
        "artifact list",
        "decision list",
        "lease list --all",
        "who src",
        "view",
        "show lease:gpu0 status:main",
        "lease renew gpu0",
        "status write -m more",
        "end -m done",
    ):
        done = worker(*argv(form))
        assert done.code == 0 and "internal error" not in done.err, (form, done)


def test_verify_names_each_and_the_repair_puts_all_right(
    worker: Worker, hand: Hand, damaged: list[str]
) -> None:
    found = worker("verify", "--json")
    assert (found.code, found.json["error"]["code"]) == (9, "violations")
    named = [(one["rule"], one["path"]) for one in found.json["error"]["details"]["violations"]]
    assert {path for rule, path in named if rule == "damaged"} == set(damaged)
    assert worker("doctor").code == 1
    assert worker("doctor", "--fix").code == 0
    unharmed(worker, hand, hand.head())
    assert worker("lease", "take", "r-torn", "--why", "w").code == 0
    assert worker("status", "write", "torn", "-m", "a first entry").code == 0


def test_a_row_that_was_good_is_shown_as_it_last_was(worker: Worker, hand: Hand) -> None:
    assert worker("lease", "take", "gpu0", "--why", "whole").code == 0
    for data in (b"", b"torn: [", b"format: 99\n"):
        hand.commit({row("gpu0"): data})
        for form in ("lease show gpu0 --json", "show lease:gpu0 --json"):
            done = worker(*argv(form))
            assert (done.code, done.data["why"]) == (0, "whole"), done
            assert any(
                row("gpu0") in notice and "last good state" in notice
                for notice in done.json["notices"]
            )
        fails(worker("lease", "renew", "gpu0"), 1)  # what is not understood is not written over


def test_the_morning_report_says_that_what_stood_then_cannot_be_read(
    worker: Worker, hand: Hand
) -> None:
    hand.commit({entry("main"): b"torn: ["})
    hand.commit({"status/main/000/000002.md": by_hand(2, "a-261129-aaaaaa", now())})
    done = worker("--since", "status:main@1")
    assert done.code == 0 and "@1, which stood then, cannot be read" in done.out, done
    assert "by hand" in done.out


def test_unknown_fields_and_times_without_a_zone_survive_a_renewal(
    worker: Worker, hand: Hand
) -> None:
    assert worker("lease", "take", "gpu0", "--why", "w").code == 0
    text = hand.read(row("gpu0"))
    typed = edited(
        text,
        "version: 1",
        "version: 2\n# by a hand\ncolour: 1.10\nshape: [no, 12:30, {deep: 0123}]\nlater: null",
    )
    at = text.decode().partition('at: "')[2][:20]
    hand.commit({row("gpu0"): edited(typed, f'at: "{at}"', f"at: {at[:-1]}")})
    assert worker("lease", "show", "gpu0", "--json").data["state"] == "held"
    assert worker("lease", "renew", "gpu0", "--for", "1h").code == 0
    kept = hand.read(row("gpu0")).decode()
    assert 'colour: "1.10"\n' in kept and 'shape: ["no", "12:30", {"deep": "0123"}]\n' in kept
    assert "version: 3\n" in kept
    assert worker("lease", "release", "gpu0", "--json").data["colour"] == "1.10"
    unharmed(worker, hand, hand.head())


def test_a_damaged_policy_is_named_and_put_right(worker: Worker, hand: Hand) -> None:
    for data in (b"", b"torn: [", b"a: !!x y\n", b"\xff", None):
        hand.commit({"atlas.yaml": data})
        done = worker("status", "--json")
        assert done.code == 0 and "atlas.yaml" in " ".join(done.json["notices"]), done
        assert worker("verify").code == 9
        assert worker("doctor", "--fix").code == 0
        assert worker("status", "write", "-m", "on it goes", "--replace").code == 0
    unharmed(worker, hand, hand.head())


def test_a_policy_of_a_newer_format_lets_read_and_refuses_to_write(
    worker: Worker, hand: Hand
) -> None:
    newer = (
        hand.read("atlas.yaml")
        .replace(b"format: 2\n", b"format: 99\n")
        .replace(b"version: 1\n", b"version: 2\n")
    )
    me = worker.begin("brings the newer format")
    hand.signed({"atlas.yaml": newer}, me, now())
    head = hand.head()
    assert worker("status").code == 0
    for form in (
        "status write -m x",
        "lease take a --why w",
        "begin --new",
        "doctor --fix",
        "config set fresh 2m",
    ):
        assert "newer" in fails(worker(*argv(form)), 1).err, form
    assert hand.head() == head


def test_a_policy_that_a_hand_has_spoilt_stops_no_write(worker: Worker, hand: Hand) -> None:
    worker.begin("goes on")
    for data in (b'word_within: "soon"\n', b"needs: [holograms]\n"):
        hand.commit({"atlas.yaml": hand.read("atlas.yaml").replace(b"needs: []\n", b"") + data})
        for form in ("status write -m x", "lease take gpu0 --why w", "decision list"):
            assert worker(*argv(form)).code == 0, (data, form, worker(*argv(form)))
        assert worker("doctor", "--fix").code == 0


def test_a_policy_that_breaks_a_rule_counts_no_more_than_one_that_does_not_parse(
    worker: Worker, hand: Hand
) -> None:
    assert worker("config", "set", "status_words", "99").code == 0
    good = hand.read("atlas.yaml")
    spoilt = [
        good.replace(b"format: 2\n", b"format: 99\n").replace(b"version: 2\n", b"version: 3\n"),
        good.replace(b"version: 2\n", b"version: 3\n").replace(b"store: ", b"store: x"),
        good.replace(b"version: 2\n", b"version: 7\n") + b'publish: "manual"\n',
    ]
    for data, modes in [*((data, {}) for data in spoilt), (good, {"atlas.yaml": "120000"})]:
        hand.commit({"atlas.yaml": data}, modes=modes)
        for form in ("status", "log", "config get status_words", "begin --new"):
            done = worker(*argv(form))
            assert done.code == 0 and "atlas.yaml" in done.err, (form, done)
        assert worker("config", "get", "status_words").out == "99\n"
        assert worker("decision", *DECISION[1:]).code == 0
        assert worker("verify").code == 9
        assert worker("doctor", "--fix").code == 0
        assert hand.read("atlas.yaml") == good
    assert worker("config", "set", "status_words", "98").code == 0
    legit = hand.read("atlas.yaml").replace(b"version: 3\n", b"version: 4\n") + b'fresh: "2m"\n'
    hand.commit({"atlas.yaml": legit})
    assert worker("config", "get", "fresh").out == "2m\n"
    unharmed(worker, hand, hand.head())


STRAY = [
    "decisions/x.md",
    "decisions/2026/a/b/c.md",
    "status/x",
    "status/main/000/009999.md",
    "status/main/999/000001.md",
    "status/main/000/" + "9" * 300 + ".md",
    "status/" + "x" * 300 + "/000/000001.md",
    "artifacts/x",
    "artifacts/a1/y/9999/body.md",
    "corrections/x.md",
    "leases/x",
    "leases/00/x.yaml",
    "sessions/x.yaml",
    "zzz",
]


def test_files_in_places_of_their_own_stop_nobody(worker: Worker, hand: Hand) -> None:
    assert worker("status", "write", "-m", "where things stand").code == 0
    for data in (hand.read("status/main/000/000001.md"), b"\0"):
        hand.commit(dict.fromkeys(STRAY, data))
        for form in (
            "begin",
            "status",
            "lease list",
            "log",
            "artifact list",
            "decision list",
            "session list --all",
            "view",
            "",
            "status write -m more",
            "artifact put z src/x.py --same-topic",
            "lease take a --why w",
            "who src",
        ):
            done = worker(*argv(form))
            assert done.code == 0 and "internal error" not in done.err, (form, done)
        found = worker("verify", "--json")
        assert (
            found.code,
            {one["path"] for one in found.json["error"]["details"]["violations"]},
        ) == (9, set(STRAY))
        assert worker("doctor", "--fix").code == 0
    unharmed(worker, hand, hand.head())


NAMELESS = {
    rb'"decisions/2026/01/01-\377-aaaaaa.md"': b"100644",
    rb'"artifacts/\377/0001/about.yaml"': b"100644",
    rb'"status/main/000/a\nb.md"': b"100644",
    rb'"leases/00/\001\033[2J.yaml"': b"100644",
    rb"leases/00/link.yaml": b"120000",
    rb"status/main/link": b"120000",
    rb"decisions/2026/run.md": b"100755",
}


def test_names_and_modes_that_no_checkout_would_take_stop_nobody(
    worker: Worker, hand: Hand
) -> None:
    assert worker("status", "write", "-m", "where things stand").code == 0
    data = hand.read("status/main/000/000001.md")
    script = b"commit refs/heads/atlas\ncommitter h <h> 1764424800 +0000\ndata 1\nx\nfrom refs/heads/atlas^0\n"
    for path, mode in NAMELESS.items():
        script += b"M %s inline %s\ndata %d\n%s\n" % (mode, path, len(data), data)
    hand.git("fast-import", "--quiet", "--force", data=script)
    for form in (
        "begin",
        "status",
        "lease list",
        "log",
        "artifact list",
        "decision list",
        "session list --all",
        "view",
        "status write -m more",
    ):
        done = worker(*argv(form))
        assert (
            done.code == 0
            and "internal error" not in done.err
            and "\x1b" not in done.out + done.err
        ), (form, done)
    found = worker("verify", "--json")
    assert found.code == 9
    assert len({one["path"] for one in found.json["error"]["details"]["violations"]}) == len(
        NAMELESS
    )
    assert worker("doctor", "--fix").code == 0
    assert worker("status", "write", "-m", "still more").code == 0
    unharmed(worker, hand, hand.head())


SIGNAL = "---\nkind: {word}\nsession: {me}\nactor: someone\nat: {at}\noperation: 0123456789abcdef0123456789abcdef\n---\nhm\n"


def test_what_a_hand_brought_against_a_rule_is_named_and_not_in_the_view(
    worker: Worker, hand: Hand
) -> None:
    assert worker("status", "write", "-m", "first").code == 0
    assert worker("status", "write", "-m", "second").code == 0
    me, at, view = (
        worker("session", "show", "--json").data["id"],
        times.rfc3339(now()),
        hand.repo / ".atlas",
    )
    lone = f"signals/{at[:4]}/{at[5:7]}/{at[8:10]}-rumour-hm-012345.md"
    good = lone.replace("rumour", "finding").replace("012345", "012346")
    made = {
        lone: SIGNAL.format(word="rumour", me=me, at=at),
        good: SIGNAL.format(word="finding", me=me, at=at),
    }
    hand.commit({path: text.encode() for path, text in made.items()})
    hand.commit({"status/main/000/000005.md": by_hand(5, me, now())})
    for turn in ("grown", "anew"):
        done = worker("view")
        assert done.code == 0, done
        assert (view / "status/main.md").read_text().endswith("second\n"), turn
        assert [file.name for file in (view / "signals").rglob("*.md")] == [
            "-".join(good.split("/")[2:])
        ]
        for form, path, rule in (
            ("signal list", lone, "schema"),
            ("status", "status/main/000/000005.md", "version_jump"),
        ):
            done = worker(*argv(form))
            assert f"{path}: brought by hand, against the rule {rule}: " in done.err, (turn, done)
        (hand.repo / ".git/atlas" / INDEX).unlink()
    done = worker("doctor", "--fix")
    assert done.code == 0, done
    done = worker("signal", "list")
    assert "brought by hand" not in done.err and "rumour" not in done.out, done
    assert worker("verify", "--full").code == 0
