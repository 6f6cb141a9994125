"""A record lies where its own name says, and its name is one: else it is a violation, and no reader
acts on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from atlas_cli import records
from atlas_cli.errors import Damaged, NotFound, Usage
from atlas_cli.model import names, text
from atlas_cli.model.schema import Misplaced
from atlas_cli.records import artifact, decision, inbox, lease, session, signal, status
from atlas_cli.records.board import gate, readiness, result, task

from .board import added, ids, world
from .files import ANN, NOW, Files, broken, store, writer

WHEN = "2026-11-29T14:00:00Z"
SIGNED = {"session": ANN, "actor": "ann", "at": WHEN}
BODY = b"x\n"
# Texts that are names for no kind: out of a folder, absolute, hidden, of another case or Unicode
# form, cut by NUL, too long, ending in what a file system drops, a device of Windows.
NO_NAMES = [
    "..",
    ".",
    "",
    "../../x",
    "/etc/x",
    "a/b",
    ".git",
    "A",
    "ａgents",
    "é",
    "a\0b",
    "x" * 65,
    "a" * 5000,
    "a.",
    "a ",
    "con",
    "nul.x",
    "a\\b",
    "-a",
    "a\n",
    "a.lock",
]


def entry(stream: str, number: int = 1) -> bytes:
    return text.with_front({"stream": stream, "number": number, **SIGNED}, "x\n")


def about(name: str, number: int = 1, ext: str = "txt") -> bytes:
    digest = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac"  # of BODY
    return text.dump(
        {"name": name, "number": number, "ext": ext, "size": len(BODY), "sha256": digest, **SIGNED}
    )


def row(resource: str) -> bytes:
    return text.dump(
        {
            "resource": resource,
            "version": 1,
            "token": 1,
            "holder": ANN,
            "actor": "ann",
            "why": "w",
            "at": WHEN,
            "expires": "2026-11-29T15:00:00Z",
        }
    )


def life(id: str) -> bytes:
    return text.dump({"id": id, "version": 1, "actor": "ann", "began": WHEN, "machine": "m1"})


def job(id: str, **more: object) -> bytes:
    return text.with_front(
        {
            "id": id,
            "version": 1,
            "state": "open",
            "title": "t",
            "priority": 50,
            "generation": 1,
            "attempt": 0,
            "token": 0,
            "retries": 0,
            **SIGNED,
            "created": WHEN,
            **more,
        },
        "",
    )


def outcome(id: str, ext: str = "txt") -> bytes:
    return text.dump(
        {
            "task": id,
            "generation": 1,
            "attempt": 1,
            "token": 1,
            "store": "s",
            "ext": ext,
            "size": 2,
            "sha256": "0",
            **SIGNED,
        }
    )


def barrier(id: str, **more: object) -> bytes:
    return text.dump(
        {
            "id": id,
            "signal": "s",
            "blocker": "b",
            "clearance": "c1",
            "graph_delta_hash": "h",
            "scope": [],
            "resolution": "pending",
            "operation": "0" * 32,
            "edges": [],
            **SIGNED,
            **more,
        }
    )


Made = Callable[[str], bytes]
# kind: (its bytes for a name, where a whole one lies, where one of that name would lie if its name
# were taken for a path)
NAMED: dict[str, tuple[Made, str, Callable[[str], str]]] = {
    "status": (entry, status.path_of("a1", 1), lambda name: f"status/{name}/000/000001.md"),
    "artifact": (
        about,
        artifact.path_of("a1", 1),
        lambda name: artifact.path_of(name, 1),
    ),
    "lease": (row, lease.path_of("a1"), lambda name: f"leases/{names.bucket(name)}/{name}.yaml"),
    "session": (life, session.path_of(ANN), lambda name: f"sessions/261129/{name}.yaml"),
    "task": (job, task.path_of("a1"), lambda name: f"tasks/{names.bucket(name)}/{name}.md"),
    "result": (
        outcome,
        result.path_of("a1"),
        lambda name: f"results/{names.bucket(name)}/{name}/about.yaml",
    ),
    "gate": (barrier, gate.path_of("a1"), lambda name: f"gates/{name}.yaml"),
}


@pytest.mark.parametrize("kind", NAMED)
def test_a_name_that_is_none_is_refused_wherever_the_record_lies(kind: str) -> None:
    made, whole, literal = NAMED[kind]
    name = ANN if kind == "session" else "a1"
    assert records.BY_NAME[kind].parse(whole, made(name))
    for wrong in NO_NAMES:
        for path in (whole, literal(wrong)):
            with pytest.raises(Damaged):
                records.BY_NAME[kind].parse(path, made(wrong))
        assert broken(store(), {whole: made(wrong)}) & {"misplaced", "damaged"}, wrong


@pytest.mark.parametrize("kind", NAMED)
def test_a_record_elsewhere_than_its_name_says_is_misplaced(kind: str) -> None:
    made, whole, literal = NAMED[kind]
    data = made(ANN if kind == "session" else "a1")
    folder, _, file = whole.rpartition("/")
    for path in (
        literal("b1"),
        f"{folder}/x/{file}",
        f"{folder}/../{folder.rpartition('/')[2]}/{file}",
        f"{whole}.txt",
        whole.upper(),
        f"{folder}/{file.upper()}",
        f"x/{whole}",
    ):
        with pytest.raises(Misplaced):
            records.BY_NAME[kind].parse(path, data)
    assert "misplaced" in broken(store(), {literal("b1"): data})


@pytest.mark.parametrize("ext", ["", "../x", "md/x", "MD", "a" * 17, "é", "m.d", "md\n", "."])
def test_a_type_that_is_none_is_refused(ext: str) -> None:
    for kind, path, data in (
        (artifact, artifact.path_of("a1", 1), about("a1", ext=ext)),
        (result, result.path_of("a1"), outcome("a1", ext)),
    ):
        with pytest.raises(Damaged, match="is no file type"):
            kind.parse(path, data)


@pytest.mark.parametrize(
    "kind", [decision.KIND, records.correction.KIND, signal.KIND], ids=lambda kind: kind.name
)
@pytest.mark.parametrize(
    "path",
    [
        "2026/../11/29-x-abcdef.md",
        "2026/11/29-../x-abcdef.md",
        "../11/29-x-abcdef.md",
        "2026/11/29-X-abcdef.md",
        "٢٠٢٦/11/29-x-abcdef.md",
        "2026/11/29-x-abcdef.txt",
        "2026/11/29-x-abcdef.md/y",
        "2026/11-29-x-abcdef.md",
        "11-29-x-abcdef.md",
    ],
)
def test_a_dated_document_has_a_dated_name(kind: Any, path: str) -> None:
    fields = {
        "title": "t",
        "recommended": "a",
        "chosen": "a",
        "stance": "agreed",
        "target": "status:main@1",
        "retract": False,
        "kind": "alert",
        "operation": "0" * 32,
        **SIGNED,
    }
    data = text.with_front(fields, "why\n")
    assert kind.parse(f"{kind.folder}/2026/11/29-x-abcdef.md", data)["id"] == "2026-11-29-x-abcdef"
    with pytest.raises(Misplaced):
        kind.parse(f"{kind.folder}/{path}", data)


@pytest.mark.parametrize(
    "name",
    [
        "HEAD",
        "config",
        "objects/a.md",
        "refs/a.md",
        "../a.md",
        ".git.md",
        "a.md/b.md",
        "a\n.md",
        "é.md",
        "a.mdx",
        "a" * 90 + ".md",
        " a.md",
        "a.MD",
    ],
)
def test_the_inbox_takes_texts_by_plain_names(name: str) -> None:
    tree = store().put({f"inbox/{name}": b"x", "inbox/a b.md": b"x"})
    with pytest.raises(Misplaced):
        inbox.parse(f"inbox/{name}", b"x")
    with pytest.raises(NotFound):
        inbox.find(tree, name)
    assert broken(store(), {f"inbox/{name}": b"x"}) == {"misplaced"}
    assert inbox.find(tree, "a b.md") == "inbox/a b.md"


def test_what_a_record_names_besides_is_a_name_too() -> None:
    for more in ({"needs": ["../x"]}, {"needs": ["a1", ""]}, {"needs": ["X"]}):
        with pytest.raises(Damaged, match="is no task id"):
            task.parse(task.path_of("a1"), job("a1", **more))
    for more in ({"edges": ["../x"]}, {"clearance": "a/b"}):
        with pytest.raises(Damaged, match="is no task id"):
            gate.parse(gate.path_of("a1"), barrier("a1", **more))
    with pytest.raises(Misplaced):
        records.policy.parse("atlas.yaml/x", store().files["atlas.yaml"])


def test_no_reader_takes_what_is_no_entry_for_the_newest_one() -> None:
    more = {
        "status/main/000/000009.txt": b"x",
        "status/main/000/000008": b"x",
        "status/main/001/000007.md": entry("x"),
        "status/main/0/000006.md": b"x",
        "status/main/000/000005.md/x": b"x",
        "artifacts/f5/a1/0009/body.txt": BODY,
        "artifacts/a1/9/about.yaml": b"x",
        "artifacts/f5/a1/0008": b"x",
    }
    tree = store().put(
        {status.path_of("main", 1): entry("main"), artifact.path_of("a1", 1): about("a1"), **more}
    )
    assert (status.newest(tree, "main"), artifact.newest(tree, "a1")) == (1, 1)
    assert status.find(tree, "main") == status.path_of("main", 1)


def test_a_gate_that_lies_elsewhere_holds_nothing() -> None:
    tree = world("a")
    (wanted,) = ids(tree)
    wrong = {
        gate.path_of("b1"): barrier("c1", scope=["all"]),
        "gates/notes.txt": b"x",
        "gates/x.cleared.yaml": b"x",
    }
    assert readiness.standing(tree.put(wrong)) == []
    assert [
        one["id"]
        for one in readiness.standing(tree.put({gate.path_of("c1"): barrier("c1", scope=["all"])}))
    ] == ["c1"]
    assert readiness.holding(tree.put(wrong), task.get(tree, wanted)) == []
    assert added(tree.put(wrong), "b")  # what stands there is in nobody's way


def test_a_lease_at_anothers_place_is_neither_held_nor_listed() -> None:
    tree = store().put({lease.path_of("gpu0"): row("gpu1")})
    assert list(tree.live("leases", NOW)) == []
    with pytest.raises(Misplaced):
        lease.take(tree, writer(), ["gpu0"], "w", None)
    assert lease.take(tree, writer(), ["gpu1"], "w", None).files, (
        "the row elsewhere bars nobody from what it names"
    )


OBEYED = """AGENTS.md agents.MD Agents CLAUDE.md CLAUDE.local.md claude.txt GEMINI.md CONVENTIONS.md .cursorrules .git .gitmodules
.mcp.json mcp.json settings.json settings.local.json conftest.py sitecustomize.py x.pth HEAD head config refs objects
packed-refs copilot-instructions.md x.instructions.md x.prompt.md rules.mdc package.json Makefile makefile.am setup.py
Dockerfile.dev docker-compose.yml git~1 .GIT ａgents.md ＡＧＥＮＴＳ.md agentſ.md age\u200bnts.md ag\u0301ents.md .vscode
claude.md. SKILL.md pyproject.toml"""
PLAIN = """main.md schema.sql plan.md notes.txt config.yaml setup.md index.html path%3aserver%2fclaims.py.yaml gpu0.yaml
agenda.md claudette.md heads.md digit.md gitter.md git.md 11-29-use-claude-md-abcdef.md from-forge--CLAUDE.txt
from-forge--x.txt settings.md refs.md"""


def test_no_file_of_the_view_has_a_name_that_anybody_takes_orders_from() -> None:
    for name in OBEYED.split():
        assert names.heeded(name), name
        assert not names.heeded(names.unheeded(name)), name
        assert not records.is_shown(f"artifacts/{name}"), name
    for name in PLAIN.split():
        if name != "git.md":
            assert names.unheeded(f"status/{name}") == f"status/{name}", name


def test_distinct_names_stay_distinct_in_the_view() -> None:
    known = [*OBEYED.split(), *PLAIN.split()]
    known += [names.ASIDE + name for name in known]
    assert len({names.unheeded(f"artifacts/{name}") for name in known}) == len(known)
    texts = ["a.md", "a.txt", "a-.md", "a.txt.md", "a.md.txt", "A.md"]
    shown = [inbox.KIND.view(Files({}), f"inbox/{name}", {"name": name}, 0)[0] for name in texts]
    assert len(set(shown)) == len(texts) and shown[0] == "inbox/from-forge--a.txt"


@pytest.mark.parametrize(
    "name",
    [
        "../x.md",
        "status/../x.md",
        "/status/x.md",
        "status//x.md",
        "inbox/HEAD",
        "inbox/a.md",
        "other/x.md",
        "status/agents.md",
        "status/a/b/c.md",
        "status/.x.md",
        "artifacts/from-store--plain.md.txt",
        "artifacts/from-store--claude.md",
        "inbox/objects/a.md",
        "AS-OF",
        "atlas",
        "drafts/x.md",
        "status/x\0.md",
        "status/" + "x" * 300,
    ],
)
def test_what_no_record_is_shown_under_is_known(name: str) -> None:
    assert not records.is_shown(name)


def test_what_records_are_shown_under_is_known() -> None:
    for name in (
        "status/main.md",
        "artifacts/schema.sql",
        "artifacts/from-store--claude.md.txt",
        "atlas.yaml",
        "inbox/from-forge--My note.txt",
        "leases/path%3asrc.yaml",
        "decisions/2026/11-29-x-abcdef.md",
        "results/ce/qt3q7bvv4t.txt",
        "artifacts/from-store--from-store--x.md.txt",
    ):
        assert records.is_shown(name), name


def test_a_ref_that_is_no_name_is_no_ref() -> None:
    for ref in ("status:../x", "artifact:a/b@1", "status:A"):
        with pytest.raises(Usage):
            records.ref(ref)
