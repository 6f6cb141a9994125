"""Shared resources: leases of several projects in one other store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Atlas, Git, Result
from .crew import Worker

On = Callable[..., Result]
TAKE = ("lease", "take", "gpu0", "--why", "train it")


def machine(top: Path, name: str) -> dict[str, str]:
    return {
        "HOME": str(top / name),
        "XDG_STATE_HOME": str(top / name / "state"),
        "XDG_CONFIG_HOME": str(top / name),
    }


@pytest.fixture
def on(tmp_path: Path, worker: Worker, git: Git, hub: Path) -> On:
    """`on("one", "lease", …)`: two projects, each with a session, that share `gpu*` and `port:*`
    through `hub.git`; a third argument before the command, `at="laptop"`, names another machine of
    the same user."""

    def run(project: str, *args: str, at: str = "home", **more: str) -> Result:
        return worker(
            "-C", str(tmp_path / project), *args, "--json", env=machine(tmp_path, at) | more
        )

    for name in ("one", "two"):
        git("init", "-q", name, cwd=tmp_path)
        for command in (
            ("init", "--test", "--no-hooks"),
            ("begin", "--goal", f"work in {name}"),
            ("config", "set", "stores", json.dumps({"box": str(hub)})),
            ("config", "set", "shared", '{"gpu*": "box", "port:*": "box"}'),
        ):
            assert run(name, *command).code == 0
    return run


def done(found: Result, code: int = 0) -> Any:
    assert found.code == code, found
    return found.json["error"] if code else found.data


def copy(top: Path) -> Path:
    [found] = (top / "home/state/atlas/stores").iterdir()
    return found


def test_two_projects_share_one_gpu(on: On, tmp_path: Path, hub: Path, git: Git) -> None:
    me = done(on("one", "session", "show"))["id"]
    taken = on("one", *TAKE)
    assert (done(taken)["store"], taken.json["store"]["published"]) == ("box", True)
    assert taken.json["store"]["head"] == git("rev-parse", "atlas", cwd=hub)
    held = done(on("two", *TAKE), 4)
    assert {key: held["details"][key] for key in ("holder", "why", "store", "project")} == {
        "holder": me,
        "why": "train it",
        "store": "box",
        "project": str(tmp_path / "one"),
    }
    assert (
        held["message"].startswith("box: gpu0 is held by ")
        and f"(of {tmp_path / 'one'})" in held["message"]
    )
    assert done(on("two", *TAKE, at="laptop"), 4)["details"]["holder"] == me, (
        "another machine has a copy of its own"
    )
    assert done(on("two", "lease", "list", at="laptop"))["total"] == 1
    listed = on("two", "lease", "list")
    assert [(row["resource"], row["store"], row["project"]) for row in done(listed)["items"]] == [
        ("gpu0", "box", str(tmp_path / "one"))
    ]
    assert any(
        f"gpu*, port:*: shared through box ({hub}), as of " in line
        for line in listed.json["notices"]
    )
    begun = on("two", "begin")
    assert [row["resource"] for row in done(begun)["leases"]] == ["gpu0"] and begun.data["shared"][
        0
    ]["store"] == "box"
    assert done(on("one", "begin"))["you"]["held"] == ["gpu0 (box)"]
    assert done(on("one", "session", "show"))["held"] == ["gpu0 (box)"]
    assert done(on("one", "lease", "renew", "gpu0", "--for", "3h"))["version"] == 2
    assert "released" in done(on("one", "lease", "release", "gpu0"))
    assert done(on("two", *TAKE))["token"] == 2
    assert done(on("two", "lease", "take", "port:80", "gpu1", "--why", "w"))["total"] == 2
    assert sorted(done(on("two", "end", "-m", "done", "--keep", "gpu1"))["released"]) == [
        "gpu0 (box)",
        "port:80 (box)",
    ]
    assert done(on("one", "lease", "take", "gpu0", "gpu1", "--any", "--why", "w"))["token"] == 3
    assert done(on("one", "lease", "take", "gpu1", "--why", "w"), 4)["details"]["project"] == str(
        tmp_path / "two"
    )
    assert git("for-each-ref", "--format=%(refname)", cwd=tmp_path / "one") == ""
    assert on(str(copy(tmp_path)), "verify", "--full").code == 0
    assert (
        on("one", "lease", "list", "--since", "1h").data["total"] == 3
        and on("one", "doctor").code == 0
    )


def test_a_store_that_is_away_is_never_made_and_gives_nothing(
    on: On, tmp_path: Path, hub: Path, git: Git
) -> None:
    away = hub.rename(tmp_path / "away.git")
    assert "does not appear to be a git repository" in done(on("one", *TAKE), 8)["message"]
    assert "--offline was given" in done(on("one", *TAKE, "--offline"), 8)["message"]
    git("init", "-q", "--bare", "hub.git", cwd=tmp_path)
    assert done(on("one", *TAKE), 7)["code"] == "no_store" and git("for-each-ref", cwd=hub) == ""
    shutil.rmtree(hub), away.rename(hub)
    assert done(on("one", *TAKE))["token"] == 1, "asked anew by whoever takes"
    away = hub.rename(tmp_path / "away.git")
    assert (
        "gpu1 was given back"
        in done(on("one", "lease", "take", "gpu1", "--why", "w"), 8)["message"]
    )
    alone = on("one", "lease", "take", "gpu2", "--why", "w", "--offline")
    assert alone.code == 0 and alone.json["store"]["published"] is False
    assert any(line.startswith("held: this machine") for line in alone.json["notices"])
    listed = on("one", "lease", "list")
    assert sorted(row["resource"] for row in done(listed)["items"]) == ["gpu0", "gpu2"]
    assert "it gave no answer since" in str(listed.json["notices"])
    ended = on("one", "end", "-m", "done")
    assert ended.code == 0 and "box: NOT PUBLISHED, nobody else can see it" in str(
        ended.json["notices"]
    )
    away.rename(hub)
    assert on("two", *TAKE).code == 0, "it rides on the next push of this machine"
    assert done(on("two", "lease", "list"))["total"] == 1


def test_names_that_lead_nowhere_or_to_several_stores(on: On, tmp_path: Path, hub: Path) -> None:
    several = done(on("one", "lease", "take", "gpu0", "path:x", "--why", "w"), 2)
    assert (
        "gpu0 in box; path:x here" in several["message"]
        and several["hint"] == "one command for each of them"
    )
    assert done(on("one", "lease", "take", "path:x", "--why", "w")).get("store") is None
    assert on("one", "config", "set", "shared", '{"tpu": "nowhere"}').code == 0
    assert (
        "tpu is shared through nowhere, which `stores` does not name"
        in done(on("one", "lease", "take", "tpu", "--why", "w"), 7)["message"]
    )
    assert "nowhere" in str(on("one", "lease", "list").json["notices"])
    own = tmp_path / "home/atlas/atlas.yaml"
    own.parent.mkdir()
    own.write_text(f"# this machine's\nstores: {{nowhere: {hub}}}\nshared: {{fpga: nowhere}}\n")
    assert done(on("one", "lease", "take", "fpga", "--why", "w"))["store"] == "nowhere"
    own.write_text("stores: {nowhere: 'https://me:secret-word@h.example/x'}\n")
    bad = on("one", "lease", "take", "fpga", "--why", "w")
    assert str(own) in done(bad, 1)["message"] and "secret-word" not in bad.out
    assert "secret-word" not in on("one", "begin").out and on("one", "end", "-m", "done").code == 0


def test_what_is_held_in_the_projects_own_store_still_counts(on: On) -> None:
    assert on("one", "config", "set", "shared", "{}").code == 0
    assert on("one", *TAKE).code == 0
    assert on("one", "config", "set", "shared", '{"gpu*": "box"}').code == 0
    child = done(on("one", "begin", "--new", "--actor", "other"))["id"]
    assert "store" not in done(on("one", *TAKE, "--session", child), 4)["details"]
    me = next(
        row["id"] for row in done(on("one", "session", "list"))["items"] if row["id"] != child
    )
    assert "store" not in done(on("one", "lease", "release", "gpu0", "--session", me))
    assert done(on("one", *TAKE, "--session", child))["store"] == "box"


def test_a_session_that_is_over_is_adopted_there_too(on: On) -> None:
    held = done(on("one", *TAKE))
    later = {"ATLAS_CLOCK_OFFSET": str(5 * 3600)}
    assert on("one", "lease", "renew", "gpu0", "--for", "4h").code == 0
    soon = {"ATLAS_CLOCK_OFFSET": str(4 * 3600 - 400)}
    assert on("one", "config", "set", "session_idle", "1h").code == 0
    new = done(on("one", "begin", "--new", "--goal", "go on", **soon))["id"]
    adopted = on(
        "one", "session", "adopt", held["holder"], "--why", "it vanished", "--session", new, **soon
    )
    assert done(adopted)["leases"] == ["gpu0 (box)"]
    row = done(on("one", "lease", "show", "gpu0", **soon))
    assert (row["holder"], row["token"]) == (new, 2)
    assert done(on("one", "lease", "list", **later))["total"] == 0


def test_a_take_that_is_killed_holds_for_its_session_or_runs_out(
    on: On, atlas: Atlas, tmp_path: Path, hub: Path
) -> None:
    assert on("one", "lease", "list").code == 0
    for gpu, point in enumerate(("after_objects", "after_ref", "before_push", "after_push")):
        take = ("lease", "take", f"gpu{gpu}", "--why", "w")
        killed = atlas(
            *take, cwd=tmp_path / "one", ATLAS_FAULT=f"{point}:kill", **machine(tmp_path, "home")
        )
        assert killed.code == -9
        mine = on("one", *take)
        assert done(mine)["token"] == 1 and mine.json["store"]["published"] is True, (
            "it goes on with what it has"
        )
        assert done(on("two", *take, at="laptop"), 4)["code"] == "held"
    assert on(str(copy(tmp_path)), "verify", "--full").code == 0


def test_a_store_that_went_back_or_is_gone_is_said(
    on: On, tmp_path: Path, hub: Path, git: Git
) -> None:
    assert on("one", *TAKE).code == 0
    head = git("rev-parse", "atlas", cwd=hub)
    git("update-ref", "refs/heads/atlas", "atlas~1", cwd=hub)
    lost = on("one", "begin")
    assert "went back to" in str(
        lost.json["notices"]
    ) and f"atlas -C {copy(tmp_path)} doctor" in str(lost.json["notices"])
    assert (
        on(str(copy(tmp_path)), "doctor", "--fix").code == 0
        and git("rev-parse", "atlas", cwd=hub) == head
    )
    git("update-ref", "-d", "refs/heads/atlas", cwd=hub)
    assert "was deleted" in done(on("one", "lease", "take", "gpu1", "--why", "w"), 8)["message"]


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_store_of_other_object_ids_is_shared_like_any(
    form: str, on: On, worker: Worker, tmp_path: Path, git: Git
) -> None:
    other = {"sha1": "sha256", "sha256": "sha1"}[form]
    for name, ids in (("lab", form), ("three", other), ("four", form)):
        git("init", "-q", f"--object-format={ids}", name, cwd=tmp_path)
        git("commit", "-qm", "first", "--allow-empty", cwd=tmp_path / name)
    git("init", "-q", "--bare", f"--object-format={form}", "lab.git", cwd=tmp_path)
    git("remote", "add", "origin", str(tmp_path / "lab.git"), cwd=tmp_path / "lab")
    git("push", "-q", "origin", "HEAD", cwd=tmp_path / "lab")
    assert on("lab", "init", "--no-hooks").code == 0
    for name in ("three", "four"):
        assert (
            on(name, "init", "--test", "--no-hooks").code
            == on(name, "begin", "--goal", "g").code
            == 0
        )
        assert (
            on(name, "config", "set", "stores", json.dumps({"lab": str(tmp_path / "lab.git")})).code
            == 0
        )
        assert on(name, "config", "set", "shared", '{"rig": "lab"}').code == 0
    rig = ("lease", "take", "rig", "--why", "w")
    assert on("three", "lease", "list").code == 0
    taken = on("three", *rig)
    assert (done(taken)["store"], taken.json["store"]["published"]) == ("lab", True)
    assert done(on("four", *rig), 4)["details"]["project"] == str(tmp_path / "three")
    assert done(on("three", "lease", "renew", "rig", "--for", "3h"))["version"] == 2
    assert done(on("three", "end", "-m", "done"))["released"] == ["rig (lab)"]
    assert done(on("four", *rig))["token"] == 2
    assert (
        on(str(copy(tmp_path)), "verify", "--full").code
        == on(str(copy(tmp_path)), "doctor").code
        == 0
    )


def test_what_a_task_uses_elsewhere_comes_and_goes_with_its_claim(on: On) -> None:
    def gpu(project: str) -> tuple[str, str]:
        row = done(on(project, "lease", "show", "gpu0"))
        return row["state"], row.get("task", "")

    first, second = (
        done(on("one", "task", "add", title, "--uses", "gpu0", "--uses", "rig"))["id"]
        for title in ("train", "test")
    )
    third = done(on("one", "task", "add", "write", "--priority", "10"))["id"]
    done(on("one", "task", "next", "--claim", "--for", "2h"))
    assert (
        gpu("two") == ("held", first) and done(on("one", "lease", "show", "rig"))["task"] == first
    )
    done(on("one", "task", "claim", second))
    done(on("one", "task", "done", first))
    assert gpu("two") == ("held", second)
    done(on("one", "task", "release", second))
    assert gpu("two")[0] == "released"
    done(on("two", *TAKE))
    assert done(on("one", "task", "claim", second), 4)["details"]["resource"] == "gpu0"
    passed = on("one", "task", "next", "--claim")
    assert done(passed)["id"] == third and "passed over: box: gpu0" in str(passed.json["notices"])
    late = done(on("one", "task", "claim", second, "--wait", "1s"), 4)
    assert late["code"] == "timeout"
    done(on("two", "lease", "release", "gpu0"))
    done(on("one", "task", "cancel", third, "--why", "w"))
    done(on("one", "task", "claim", second))
    done(on("one", "task", "fail", second, "--why", "w"))
    assert gpu("two")[0] == "released"
