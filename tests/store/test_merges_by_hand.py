"""Merges of two lines of one store, made by hand with git: each line is judged by itself, the
repair takes nothing of either away that can stay, and an index that grew says what one says that
was built at once."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atlas_cli.records import artifact
from atlas_cli.store.git import Git as Store
from atlas_cli.store.index import Index
from atlas_cli.store.merges import wishes

from ..conftest import DECISION, environment
from .crew import Worker, crew
from .hand import BRANCH, Hand, edited, entry, row
from .tables import difference

DEEDS = (
    ("status", "write", "-m", "third: by {0}"),
    ("status", "write", "-m", "fourth: by {0}"),
    ("artifact", "show", "plan"),
    ("artifact", "put", "plan", "--title", "of {0}"),
    ("artifact", "put", "of-{0}", "--title", "its own"),
    ("lease", "take", "gpu1", "--why", "for {0}"),
    ("lease", "take", "gpu7", "--why", "for {0}"),
    ("task", "claim", "{task}"),
    DECISION,
)
LEFT, RIGHT = "left", "right"
THIRD = "status/third/000/000001.md"


def ran(place: Path, env: dict[str, str], *args: str, data: bytes = b"", ok: bool = True) -> str:
    done = subprocess.run(
        ["git", *args], cwd=place, env=env, input=data, capture_output=True, check=False
    )
    assert done.returncode == 0 or not ok, (args, done.stdout, done.stderr)
    return done.stdout.decode().strip()


class Lines:
    """Two clones whose stores have parted, and a work tree in which somebody merges them."""

    def __init__(self, top: Path, env: dict[str, str]) -> None:
        self.top, self.work = top, top / "work"
        self.hands = {name: Hand(top / name, env) for name in (LEFT, RIGHT)}
        self.env = {key: value for key, value in self.hands[LEFT].env.items() if key != "GIT_DIR"}
        self.env.pop("GIT_INDEX_FILE")

    def joined(self, worker: Worker) -> None:
        """Makes the work tree: `left` and `right` are its branches."""
        ran(self.top, self.env, "init", "-q", "work")
        self.fetched()

    def fetched(self) -> None:
        for name, hand in self.hands.items():
            ran(self.work, self.env, "fetch", "-q", str(hand.store), f"+{BRANCH}:refs/heads/{name}")

    def git(self, *args: str, data: bytes = b"", ok: bool = True) -> str:
        return ran(self.work, self.env, *args, data=data, ok=ok)

    def put(self, commit: str) -> None:
        """Gives a commit to both clones, as a fetch would."""
        self.git("branch", "-f", "-q", "merged", commit)
        for hand in self.hands.values():
            hand.git("fetch", "-q", str(self.work), "merged")
            hand.git("update-ref", BRANCH, commit)

    def agree(self) -> None:
        """Both clones' indexes say what one says that is built at once."""
        for name, hand in self.hands.items():
            grown = Index(self.top / name / ".git/atlas/index.sqlite", Store(str(hand.store)))
            built = Index(Path(":memory:"), Store(str(hand.store)))
            for index in (grown, built):
                index.sync(hand.head())
            assert difference(grown, built) == {}, name
            assert grown.rewound is None


@pytest.fixture(scope="module")
def parted(
    written: tuple[Path, object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Worker]]:
    top = tmp_path_factory.mktemp("parted")
    env = environment(tmp_path_factory.mktemp("home"))
    with crew([top], env) as [worker]:
        shutil.copytree(written[0], top / LEFT, symlinks=True)
        assert worker("-C", str(top / LEFT), "task", "add", "measure", "--json").code in (0, 5)
        sessions = {}
        for name in (LEFT, RIGHT):
            done = worker("-C", str(top / LEFT), "begin", "--new", "--goal", name, "--json")
            sessions[name] = str(done.data["id"])
        task = worker(
            "-C", str(top / LEFT), "--session", sessions[LEFT], "task", "add", "m", "--json"
        )
        shutil.copytree(top / LEFT, top / RIGHT, symlinks=True)
        for name in (LEFT, RIGHT):
            for deed in DEEDS:
                words = [word.format(name, task=task.data["id"]) for word in deed]
                place = ("-C", str(top / name), "--session", sessions[name])
                done = worker(*place, *words, data=f"the body of {name}\n" * 3)
                assert done.code == 0, (words, done)
        yield top, worker


@pytest.fixture
def lines(parted: tuple[Path, Worker], tmp_path: Path, env: dict[str, str]) -> Lines:
    for name in (LEFT, RIGHT):
        ignored = shutil.ignore_patterns(".atlas")
        shutil.copytree(parted[0] / name, tmp_path / name, symlinks=True, ignore=ignored)
    made = Lines(tmp_path, env)
    made.joined(parted[1])
    return made


def merged(lines: Lines, *options: str) -> str:
    lines.git("checkout", "-q", "--detach", LEFT)
    finished(lines, *options, RIGHT)
    return lines.git("rev-parse", "HEAD")


def finished(lines: Lines, *words: str) -> None:
    """A merge, and whatever git leaves open taken as it lies there."""
    lines.git("merge", "-q", "-m", "merged", *words, ok=False)
    if lines.git("status", "--porcelain"):
        lines.git("add", "."), lines.git("commit", "-qm", "merged")


def ours(lines: Lines) -> str:
    return merged(lines, "-X", "ours")


def theirs(lines: Lines) -> str:
    return merged(lines, "-X", "theirs")


def only_ours(lines: Lines) -> str:
    return merged(lines, "-s", "ours")


def by_hand(lines: Lines) -> str:
    """A conflict that somebody resolves: here the one text, there the other, there both."""
    lines.git("checkout", "-q", "--detach", LEFT)
    lines.git("merge", "-q", "-m", "merged", RIGHT, ok=False)
    names = sorted(set(lines.git("diff", "--name-only", "--diff-filter=U").split("\n")))
    assert len(names) > 5, names
    for at, name in enumerate(names):
        if at % 3 < 2:
            lines.git("checkout", "-q", "--ours" if at % 3 else "--theirs", "--", name)
        else:
            text = (lines.work / name).read_text()
            (lines.work / name).write_text(re.sub(r"(?m)^[<=>]{7}.*\n", "", text))
    lines.git("add", "."), lines.git("commit", "-qm", "resolved")
    return lines.git("rev-parse", "HEAD")


def third(lines: Lines) -> None:
    """A commit of a third line: an entry of its own stream."""
    file = lines.work / THIRD
    file.parent.mkdir(parents=True)
    file.write_bytes(entry(1, "by-hand", 1764500000, "of the third\n", "third"))
    lines.git("add", "."), lines.git("commit", "-qm", "third")


def octopus(lines: Lines) -> str:
    """Three lines, of which the third is nowhere in the tree."""
    tree = f"{merged(lines, '-X', 'ours')}^{{tree}}"
    links = [word for parent in (LEFT, RIGHT, "third") for word in ("-p", parent)]
    lines.git("checkout", "-q", "--detach", f"{LEFT}~3")
    third(lines), lines.git("branch", "third")
    return lines.git("commit-tree", tree, *links, "-m", "three")


def backwards(lines: Lines) -> str:
    """The other line first, twice: a merge of a merge."""
    first = ours(lines)
    lines.git("checkout", "-q", "--detach", f"{RIGHT}~2")
    third(lines)
    finished(lines, "-X", "ours", first)
    return lines.git("rev-parse", "HEAD")


MERGES: tuple[Callable[[Lines], str], ...] = (ours, theirs, only_ours, by_hand, octopus, backwards)


def harmed(lines: Lines, worker: Worker) -> None:
    """Each line breaks rules of its own before they are merged: a document, a policy, a row."""
    entry, policy, third = "status/main/000/000001.md", "atlas.yaml", "status/main/000/000003.md"
    left, right = lines.hands[LEFT], lines.hands[RIGHT]
    left.commit({entry: edited(left.read(entry), "first", "1st")})
    left.commit({policy: edited(left.read(policy), 'store: "', 'store: "x')})
    left.commit({third: edited(left.read(third), "third", "3rd")})
    right.commit({entry: None})
    right.commit({third: edited(right.read(third), "third", "III")})
    right.commit({row("gpu1"): b"resource: gpu1\n"})
    right.commit({policy: right.read(policy).replace(b"words", b"wards") + b"x: 1\n"})


@pytest.mark.parametrize(
    ("merge", "harm"),
    [
        *(pytest.param(merge, False, id=merge.__name__) for merge in MERGES),
        *(pytest.param(merge, True, id=f"harmed-{merge.__name__}") for merge in (theirs, by_hand)),
        *(
            pytest.param(merge, True, id=f"harmed-{merge.__name__}", marks=pytest.mark.long)
            for merge in (ours, only_ours, octopus, backwards)
        ),
    ],
)
def test_a_merge_by_hand_can_be_taken_back_and_loses_no_text(
    merge: Callable[[Lines], str], harm: bool, lines: Lines, parted: tuple[Path, Worker]
) -> None:
    worker = parted[1]

    def at(name: str, *args: str):  # type: ignore[no-untyped-def]
        return worker("-C", str(lines.top / name), *args)

    if harm:
        harmed(lines, worker)
        for name in (LEFT, RIGHT):
            assert at(name, "status").code in (0, 1)  # its index has seen it
        lines.fetched()
    oid = merge(lines)
    lines.put(oid)
    lines.agree()
    told = at(LEFT, "verify", "--full", "--json")
    assert told.code == 9, told
    wrong = told.json["error"]["details"]["violations"]
    if not harm:
        assert {item["commit"] for item in wrong} <= {
            oid,
            *lines.git("rev-list", "--merges", oid).split(),
        }, wrong
    assert "linear" in {item["rule"] for item in wrong}
    assert at(RIGHT, "verify", "--full", "--json").json["error"]["details"]["violations"] == wrong

    fixed = at(LEFT, "doctor", "--fix")
    assert fixed.code == 0, (fixed, wrong)
    assert at(LEFT, "verify", "--full").code == 0
    assert at(LEFT, "doctor").code == 0
    hand = lines.hands[LEFT]
    for name in (LEFT, RIGHT):  # what nobody contradicts goes on
        assert hand.blob(artifact.path_of(f"of-{name}", 1), BRANCH)
    if merge in (octopus, backwards):
        assert hand.blob(THIRD, BRANCH)
    # What gave way is named, and is shown as the line names it.
    lost = re.findall(r"atlas git show ([0-9a-f]{12}:\S+\.md)", told.out)
    if not harm:
        assert any("status/main" in name for name in lost), told.out
        for name in lost:
            assert hand.git("show", name), name
            assert name in fixed.out, (name, fixed.out)
    assert at(LEFT, "begin", "--new", "--goal", "go on").code == 0
    lines.put(_taken(lines))
    lines.agree()


def _taken(lines: Lines) -> str:
    """The left clone's head, known to the work tree."""
    hand = lines.hands[LEFT]
    lines.git("fetch", "-q", str(hand.store), f"+{BRANCH}:refs/heads/{LEFT}")
    return hand.head()


@pytest.mark.parametrize(
    ("values", "forks", "wanted"),
    [
        ("aa", "a", {0: "a"}),  # nobody has changed it
        ("ab", "a", {1: "b"}),
        ("ba", "a", {0: "b"}),
        ("bb", "a", {0: "b"}),  # both alike
        ("bc", "a", {0: "b", 1: "c"}),
        ("abb", "aa", {1: "b"}),
        ("bac", "aa", {0: "b", 2: "c"}),
        ("cab", "ab", {0: "c"}),  # the third left after `b`, which the first has changed since
        ("aab", "aa", {2: "b"}),
        ("aaa", "bc", {0: "a"}),
        ("aba", "ac", {1: "b"}),
    ],
)
def test_what_lines_hold_that_have_changed_a_file(
    values: str, forks: str, wanted: dict[int, str]
) -> None:
    assert wishes(list(values), list(forks)) == wanted
