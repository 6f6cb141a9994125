"""What a stranger stumbled over once, and must not again."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ..conftest import DECISION, Atlas
from .test_day import LATER, ok


@pytest.mark.parametrize(
    "other",
    [
        "config set status_words 111",
        "begin --new --goal n",
        "status write -m x",
        "artifact put a src/x.py",
        "end",
        "lease release gpu0",
        "correct lease:gpu0 --why w",
        shlex.join(DECISION),
        "lease take gpu0 --why other",
        "lease take gpu1 --why w",
    ],
)
def test_an_operation_is_not_done_because_another_had_its_id(
    other: str, begun: str, atlas: Atlas
) -> None:
    ok(atlas, "lease", "take", "gpu0", "--why", "w", "--operation", "op-1")
    refused = atlas(*shlex.split(other), "--operation", "op-1", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (6, "operation_reused"), refused.out
    assert (
        ok(atlas, "lease", "take", "gpu0", "--why", "w", "--operation", "op-1")["replayed"] is True
    )


def test_the_same_words_with_other_bytes_are_another_request(
    begun: str, repo: Path, atlas: Atlas
) -> None:
    for given in (("status", "write", "-"), ("status", "write", "--file", "note")):
        for text, code in (("one\n", 0), ("two\n", 6), ("one\n", 0)):
            (repo / "note").write_text(text)
            done = atlas(*given, "--replace", "--operation", f"op-{len(given)}", data=text)
            assert done.code == code, (given, done)


def test_an_operation_of_another_session_is_not_ones_own(begun: str, atlas: Atlas) -> None:
    ok(atlas, *DECISION, "--operation", "nightly-1")
    ok(atlas, "begin", "--new", "--actor", "other")
    assert atlas(*DECISION, "--operation", "nightly-1").code == 6


def test_bytes_are_written_through_links_and_pipes(begun: str, repo: Path, atlas: Atlas) -> None:
    ok(atlas, "artifact", "put", "notes", "src/x.py")
    target, link, tool = repo / "target", repo / "link", repo / "tool"
    target.write_text("old")
    link.symlink_to(target)
    tool.write_text("old")
    tool.chmod(0o755)
    for name in ("link", "tool"):
        ok(atlas, "artifact", "get", "notes", "-o", name)
    assert link.is_symlink()
    assert target.read_text() == tool.read_text() == "print('x')\n"
    assert tool.stat().st_mode & 0o777 == 0o755
    null = Path("/dev/null").stat()
    ok(atlas, "artifact", "get", "notes", "-o", "/dev/null")
    assert Path("/dev/null").stat().st_rdev == null.st_rdev


def test_a_retracted_status_is_withheld_everywhere_and_not_carried_on(
    begun: str, atlas: Atlas
) -> None:
    ok(atlas, "status", "write", "-m", "WRONG FACT")
    ok(atlas, "correct", "status:main@1", "--why", "I had misread it", "--retract")
    for args in (
        ("status",),
        ("status", "log"),
        ("status", "diff"),
        ("begin",),
        (),
        ("show", "status:main"),
    ):
        for done in (atlas(*args), atlas(*args, "--json")):
            assert "WRONG FACT" not in done.out, args
    assert "WRONG FACT" not in ok(atlas, "status", "write", "-m", "x", "--section", "S")["body"]
    assert atlas("verify", "--full").code == 0
    assert "WRONG FACT" in atlas("show", "status:main@1", "--withdrawn").out


def test_who_rests_on_what_was_withdrawn_is_told_at_once(begun: str, atlas: Atlas) -> None:
    ok(atlas, "artifact", "put", "base", "src/x.py")
    ok(atlas, "correct", "artifact:base", "--why", "wrong", "--retract")
    done = atlas("artifact", "put", "over", "src/x.py", "--relies-on", "artifact:base", "--json")
    assert any("artifact:base@1 was retracted" in notice for notice in done.json["notices"])


def test_one_path_is_one_resource_however_it_is_given(begun: str, repo: Path, atlas: Atlas) -> None:
    (repo / "linked").symlink_to("src")
    ok(atlas, "lease", "take", "path:src/x.py", "--why", "w")
    for given in (f"path:{repo}/src/x.py", "path:linked/x.py", "path:./src//x.py"):
        assert ok(atlas, "lease", "renew", given)["resource"] == "path:src/x.py"
    for given in (f"{repo}/src/x.py", "path:src/x.py"):
        assert ok(atlas, "who", given)["items"][0]["what"] == "lease path:src/x.py"
    assert atlas("lease", "take", "path:/etc/passwd", "--why", "w").code == 2
    assert "path:src/x.py" in atlas("lease", "take", "src/x.py", "--why", "w").err


def test_a_printed_ref_is_taken_by_its_noun(begun: str, atlas: Atlas) -> None:
    ok(atlas, "status", "write", "-m", "x")
    ok(atlas, "artifact", "put", "notes", "src/x.py")
    ok(atlas, "lease", "take", "gpu1", "--why", "w")
    decided = ok(atlas, *DECISION)["ref"]
    for args in (
        ("status", "show", "status:main@1"),
        ("artifact", "get", "artifact:notes@1"),
        ("lease", "lease:gpu1"),
        ("session", "show", f"session:{begun}"),
        ("decision", "show", decided),
    ):
        ok(atlas, *args)


def test_the_printed_next_command_goes_through_as_it_stands(
    begun: str, repo: Path, atlas: Atlas, tmp_path: Path
) -> None:
    ok(atlas, "status", "write", "-m", "One.")
    other = str(ok(atlas, "begin", "--new", "--actor", "other")["id"])
    ok(atlas, "status", "write", "-m", "One, two.", "--session", other)
    stop = atlas(
        "-C",
        str(repo),
        "status",
        "write",
        "-m",
        "One, three.",
        "--replace",
        "--caveat",
        "a guess",
        "--session",
        begun,
        "--json",
        cwd=tmp_path,
    )
    printed = stop.json["error"]["details"]
    assert printed["since"][0]["body"] == "One, two."
    draft = Path(printed["draft"])
    draft.write_text("One, two, three.\n")
    record = ok(atlas, *shlex.split(printed["next"])[1:], cwd=tmp_path)
    assert (record["session"], record["caveat"], record["body"]) == (
        begun,
        "a guess",
        "One, two, three.\n",
    )


def test_a_text_that_was_piped_in_outlives_the_refusal(
    begun: str, repo: Path, atlas: Atlas
) -> None:
    stop = atlas("end", "-", data="hours of insight\n", **LATER)
    assert (stop.code, "expired" in stop.err) == (5, True)
    assert [file.read_text() for file in (repo / ".git/atlas/drafts").iterdir()] == [
        "hours of insight\n"
    ]


def test_an_ended_session_is_named_and_not_denied(begun: str, atlas: Atlas) -> None:
    ok(atlas, "end")
    assert f"{begun} has ended" in atlas("end").err


def test_an_operation_is_found_by_how_it_begins(begun: str, atlas: Atlas) -> None:
    record = ok(atlas, *DECISION)
    assert ok(atlas, "log", record["id"][-6:])["items"][0]["operation"] == record["operation"]
    assert atlas("log", "no%such_").code == 7


def test_a_command_under_a_lease_knows_its_session(begun: str, repo: Path, atlas: Atlas) -> None:
    done = atlas(
        "lease",
        "run",
        "gpu7",
        "gpu8",
        "--any",
        "--why",
        "w",
        "--",
        "sh",
        "-c",
        "echo $ATLAS_SESSION $ATLAS_LEASE",
    )
    assert done.out.split("\n")[0] == f"{begun} gpu7"


def test_a_path_brings_its_stream_along(begun: str, atlas: Atlas) -> None:
    ok(atlas, "config", "set", "streams", '{"api": ["services/api/**"]}')
    ok(atlas, "status", "write", "api", "-m", "The api stands.")
    assert "The api stands." in atlas("begin", "--new", "--on", "services/api/x.py").out


def test_numbers_alone_are_entries_of_main(begun: str, atlas: Atlas) -> None:
    ok(atlas, "status", "write", "-m", "One.")
    ok(atlas, "status", "write", "-m", "Two.")
    assert ok(atlas, "status", "diff", "1", "2")["to"] == "status:main@2"
