"""`atlas setup`: what people keep in those files stays as it is, byte for byte."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_cli.errors import Refused
from atlas_cli.setup import claude, marked_block
from atlas_cli.setup import jsonc as hooks

from ..conftest import ROOT, Atlas
from ..store.snap import picture

OWN = ("AGENTS.md", "CLAUDE.md", ".claude")
TEXTS = {
    "empty": b"",
    "a line": b"# Rules\n",
    "no final newline": b"# Rules\n\nBe kind.",
    "CRLF": b"# Rules\r\n\r\nBe kind.\r\n",
    "CRLF, no final newline": b"# Rules\r\nBe kind.",
    "BOM": b"\xef\xbb\xbf# R\xc3\xa4glement\n",
    "only a BOM": b"\xef\xbb\xbf",
    "newlines": b"\n\n\n",
    "Latin-1": b"# R\xe8gles\n",
}
JSONS = {
    "empty": "{}",
    "empty, open": "{\n}\n",
    "one line": '{"model": "opus", "hooks": {}}',
    "tabs": '{\n\t"model": "opus"\n}\n',
    "four spaces": '{\n    "z": 1,\n    "a": [1, 2]\n}',
    "CRLF": '{\r\n  "model": "opus"\r\n}\r\n',
    "a BOM": '\ufeff{\n  "model": "é"\n}\n',
    "hooks of others": '{\n  "hooks": {\n    "PreToolUse": [\n      {"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}\n    ],\n    "Stop": []\n  },\n  "b": 1\n}\n',
    "an empty list": '{\n  "hooks": {\n    "SessionStart": [],\n    "SessionEnd": [ ]\n  }\n}\n',
    "comments": '// ours\n{\n  // why\n  "model": "opus", /* , } */\n  "url": "http://x//y",\n  "hooks": {\n    "SessionStart": [\n      {"hooks": [{"type": "command", "command": "a,]b"}]}, // last\n    ],\n  },\n}\n// end\n',
    "remarks": '{\n  "a": 1, // one\n  "b": 2 /* two */\n  // three\n}\n',
}


def undone(data: bytes) -> bytes | None:
    """What is left after the block was put in, refreshed and taken out."""
    once = marked_block.put(data)
    assert marked_block.put(once) == once
    assert data.strip() in once
    return marked_block.take(once)


@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS)
def test_a_text_is_the_same_after_the_block_was_there(data: bytes) -> None:
    assert undone(data) == data
    assert b"\r\n" not in data or b"\n" not in marked_block.put(data).replace(b"\r\n", b"")


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"# b", b" ", b"<!-- atlas", b"\xc3\xa9"])).map(
        b"".join
    )
)
@settings(max_examples=200, deadline=None)
def test_any_text_is_the_same_after_the_block_was_there(data: bytes) -> None:
    assert undone(data) == data


def test_an_older_block_is_refreshed_in_its_place() -> None:
    old = re.sub(
        rb"begin 1 -.*?<!-- atlas:end",
        b"begin 0 - x -->\nold\n<!-- atlas:end",
        marked_block.put(b"a\n"),
        flags=re.DOTALL,
    )
    assert b"\nold\n" in old
    assert marked_block.put(old + b"\nb\n") == marked_block.put(b"a\n") + b"\nb\n"
    assert marked_block.take(old + b"\nb\n") == b"a\n\nb\n"
    assert marked_block.take(b"a\n") == b"a\n"


@pytest.mark.parametrize(
    "broken",
    [
        marked_block.put(b"a\n") * 2,
        marked_block.put(b"a\n").replace(b"atlas:end", b"atlas"),
        marked_block.put(b"a\n").replace(b"begin 1", b"begin"),
        b"<!-- atlas:end -->\n" + marked_block.put(None).replace(b"<!-- atlas:end -->", b""),
        "# é".encode("utf-16"),
    ],
    ids=["two", "no end", "half a mark", "end first", "UTF-16"],
)
def test_a_block_that_is_not_whole_is_refused(broken: bytes) -> None:
    for edit in (marked_block.put, marked_block.take):
        with pytest.raises(Refused):
            edit(broken)


def test_the_block_is_short_and_plain_and_names_every_way_to_start_atlas() -> None:
    text = (ROOT / "templates/agents.md").read_text(encoding="ascii")
    assert len(text.split()) < 250
    assert all(
        word in text
        for word in (
            "git atlas begin",
            ".atlas/atlas",
            "atlas-cli",
            "--parent",
            "--session",
            "not orders",
        )
    )
    assert marked_block.put(None).startswith(b"<!-- atlas:begin 1 new-file ")
    assert marked_block.take(marked_block.put(None)) is None
    assert marked_block.take(b"mine\n" + marked_block.put(None)) == b"mine\n"


@pytest.mark.parametrize("text", JSONS.values(), ids=JSONS)
def test_settings_are_the_same_after_our_hooks_were_there(text: str) -> None:
    data = text.encode()
    once = hooks.put(data, claude.HOOKS)
    assert hooks.put(once, claude.HOOKS) == once
    assert hooks.take(once) == data
    found = json.loads(hooks._plain(once.decode()))
    assert [found["hooks"][event][-1] for event in claude.HOOKS] == list(claude.HOOKS.values())
    lines = [line.rstrip(",") for line in once.decode().splitlines()]
    for line in text.splitlines():
        assert line.rstrip(",") in lines or set(line) & set("*[{"), line


def test_our_hook_is_refreshed_where_it_stands_and_taken_from_between_others() -> None:
    theirs = {"hooks": [{"type": "command", "command": "x"}]}
    stale = {**claude.HOOKS["SessionStart"], "matcher": "startup"}
    mixed = json.dumps(
        {"hooks": {"SessionStart": [stale, theirs], "Stop": [theirs]}}, indent=4
    ).encode()
    once = json.loads(hooks.put(mixed, claude.HOOKS))
    assert once["hooks"]["SessionStart"] == [claude.HOOKS["SessionStart"], theirs]
    left = hooks.take(mixed)
    assert left is not None
    assert json.loads(left) == {"hooks": {"SessionStart": [theirs], "Stop": [theirs]}}


def test_the_hook_of_an_earlier_version_is_found_and_replaced() -> None:
    for name in ("session-start", "session-end", "edit"):
        command = f'"${{CLAUDE_PROJECT_DIR:-.}}/.atlas/atlas" hook {name} 2>/dev/null || atlas-hook {name} 2>/dev/null || :'
        old = {"hooks": [{"type": "command", "command": command, "timeout": 30}]}
        data = json.dumps({"hooks": {"SessionStart": [old]}}, indent=2).encode()
        assert hooks.take(data) is None
        once = hooks.put(data, claude.HOOKS)
        assert (
            json.loads(once)["hooks"]["SessionStart"] == [claude.HOOKS["SessionStart"]]
            and b"/.atlas/" not in once
        )


OURS = hooks.put(None, claude.HOOKS).decode()
SHARED = json.dumps({"hooks": {"SessionEnd": [{"hooks": claude.HOOKS["SessionEnd"]["hooks"] * 2}]}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"a": 1',
        '{"a": 1}}',
        '{"hooks": []}',
        '{"hooks": {"SessionStart": {}}}',
        '{"a": 1, "a": 2}',
        SHARED,
        "{'a': 1}",
        "[" * 10**5,
    ],
)
def test_settings_that_are_not_clear_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        hooks.put(text.encode(), claude.HOOKS)


def test_what_you_put_around_our_hooks_stays() -> None:
    assert hooks.take(OURS.encode()) is None
    noted = OURS.replace('"SessionEnd": [', '"SessionEnd": [ // gives back')
    noted = noted.replace("    ],\n", "    ], // mine\n", 1).replace(
        "{\n", '{\n  "model": "opus", // mine too\n', 1
    )
    left = hooks.take(noted.encode())
    assert left is not None
    assert [
        left.count(word) for word in (b"// gives back", b"// mine\n", b"// mine too\n", b"atlas")
    ] == [1, 1, 1, 0]
    assert hooks._value(left.decode()) == {"model": "opus", "hooks": {"SessionEnd": []}}


def ok(atlas: Atlas, *args: str, **more: Any) -> Any:
    done = atlas(*args, "--json", **more)
    assert done.code == 0, done
    return done.data


def states(data: Any) -> dict[str, str]:
    return {row["file"]: row["state"] for row in data["items"]}


def test_it_sets_up_says_so_and_leaves_no_trace(repo: Path, atlas: Atlas) -> None:
    before = picture(repo)
    assert set(states(ok(atlas, "setup", "--list")).values()) == {"missing"}
    done = atlas("setup", "claude", "--check", "--json")
    assert (done.code, done.json["error"]["code"]) == (9, "not_current")
    assert "CLAUDE.md: missing" in done.json["error"]["message"]
    for tool in ("agents", "claude"):
        assert set(states(ok(atlas, "setup", tool, cwd=repo / "src")).values()) == {"written"}
        assert set(states(ok(atlas, "setup", tool)).values()) == {"unchanged"}
        assert ok(atlas, "setup", tool, "--check")
    (repo / "CLAUDE.md").write_bytes(
        (repo / "CLAUDE.md").read_bytes().replace(b"Read first", b"Read")
    )
    assert states(ok(atlas, "setup"))["CLAUDE.md"] == "outdated"
    assert "outdated" in atlas("setup", "claude", "--check").err
    for tool in ("agents", "claude"):
        assert set(states(ok(atlas, "setup", tool, "--remove")).values()) == {"removed"}
        assert set(states(ok(atlas, "setup", tool, "--remove")).values()) == {"unchanged"}
    assert picture(repo) == before


def test_what_was_there_stays_to_the_byte_and_to_the_mode(repo: Path, atlas: Atlas) -> None:
    (repo / ".claude").mkdir()
    (repo / ".claude/settings.json").write_text(JSONS["comments"])
    (repo / "AGENTS.md").write_bytes(TEXTS["CRLF, no final newline"])
    (repo / "AGENTS.md").chmod(0o640)
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    before = picture(repo)
    ok(atlas, "setup", "claude")
    assert (repo / "CLAUDE.md").is_symlink()
    assert states(ok(atlas, "setup", "agents", "--check")) == {"AGENTS.md": "current"}
    assert (repo / "AGENTS.md").read_bytes().startswith(TEXTS["CRLF, no final newline"])
    ok(atlas, "setup", "claude", "--remove")
    assert picture(repo) == before


def test_what_is_not_clear_is_refused_before_anything_is_written(
    repo: Path, atlas: Atlas, tmp_path: Path
) -> None:
    (repo / ".claude").mkdir()
    (repo / ".claude/settings.json").write_text('{"hooks": ')
    spoilt = picture(repo)
    done = atlas("setup", "claude")
    assert (done.code, done.err.count("\n")) == (6, 2)
    assert done.err.startswith("atlas: error (refused): .claude/settings.json was left as it is: ")
    assert picture(repo) == spoilt
    assert "no JSON" in states(ok(atlas, "setup", "--list"))[".claude/settings.json"]
    (repo / ".claude/settings.json").unlink()
    (repo / "AGENTS.md").write_text("mine\n")
    (repo / "AGENTS.md").chmod(0o444)
    (tmp_path / "elsewhere.md").write_text("not yours\n")
    (repo / "CLAUDE.md").symlink_to(tmp_path / "elsewhere.md")
    for tool, word in (("agents", "read-only"), ("claude", "outside this worktree")):
        done = atlas("setup", tool)
        assert (done.code, word in done.err) == (6, True), done
    assert (tmp_path / "elsewhere.md").read_text() == "not yours\n"
    assert (repo / "AGENTS.md").read_text() == "mine\n"
    assert [
        atlas("setup", *words).code
        for words in (["emacs"], ["--check"], ["agents", "--check", "--remove"])
    ] == [
        7,
        2,
        2,
    ]
