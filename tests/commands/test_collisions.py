"""What a collision came to: what met, with whom, and what was kept."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from atlas_cli.records import collision
from atlas_cli.records.collision import Stop

from ..conftest import Atlas
from .test_day import ok


@pytest.mark.parametrize(
    "stop",
    [
        Stop("write_last", 1),
        Stop("read_first", 1, ("status:main@8", "decision:2026-11-29-x-3f9c01", "…")),
        Stop("version_jump", 2, ("status:main@8",), ("bob-261129-aaaaaa", "eve-261129-bbbbbb")),
        Stop("held", 1, ("lease:path:a, file of b",), ("bob-261129-aaaaaa",)),
    ],
)
def test_a_stop_is_read_back_from_its_trailer(stop: Stop) -> None:
    assert collision.read(stop.text()) == stop


def test_the_log_says_what_met_with_whom_and_what_was_kept(
    begun: str, repo: Path, atlas: Atlas
) -> None:
    bob = str(ok(atlas, "begin", "--new", "--actor", "bob")["id"])
    eve = str(ok(atlas, "begin", "--new", "--actor", "eve")["id"])
    for id in (begun, bob, eve):
        ok(atlas, "status", "--session", id)
    ok(atlas, "status", "write", "-m", "Theirs.\nAll of it.", "--session", bob)
    mine = ("status", "write", "--replace", "-m", "Mine.")
    stop = atlas(*mine, "--session", begun, "--json").json["error"]
    assert stop["code"] == "version_jump"
    draft = Path(stop["details"]["draft"])
    draft.write_text("Theirs.\nMine.\n")
    ok(atlas, *shlex.split(stop["details"]["next"])[1:])
    assert atlas(*mine, "--session", eve).code == 3, "and never writes again"

    by_session = {row["session"]: row for row in ok(atlas, "log", "--collisions")["items"]}
    assert by_session[begun]["stops"] == [f"version_jump 1 status:main@1 of {bob}"]
    assert by_session[begun]["merged"] == ["status:main@1 kept 1 of 3 lines"]
    assert (by_session[eve]["commit"], by_session[eve]["stops"][0].split()[:3]) == (
        None,
        ["version_jump", "1", "status:main@2"],
    )
    shown = atlas("log", "--collisions").out
    assert "kept 1 of 3 lines" in shown and "(nothing written since)" in shown
    assert atlas("verify", "--full").code == 0
