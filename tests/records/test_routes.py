"""Which names' leases are kept in another store, and which addresses git may be sent to."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.errors import Damaged, NotFound, Usage
from atlas_cli.records import own as own_file
from atlas_cli.records import policy, routes

from .files import store, writer

BOX = {"box": "https://forge.example/group/box.git"}


def known(shared: dict[str, str], own: str = "", stores: dict[str, str] = BOX) -> routes.Routes:
    return routes.of({"stores": stores, "shared": shared}, own_file.parse(own.encode(), "own.yaml"))


def test_the_first_pattern_that_matches_counts() -> None:
    found = known(
        {"gpu-test": "", "gpu[01]": "near", "gpu*": "box", "port:80*": "box", "*": "rest"}
    )
    wanted = {
        "gpu-test": "",
        "gpu0": "near",
        "gpu2": "box",
        "port:8080": "box",
        "port:9": "",
        "x": "rest",
        "path:gpu0": "",
        "repo:run": "",
        "glob:gpu*": "",
    }
    assert {one: found.store(one) for one in wanted} == wanted
    assert found.used() == {"near": ["gpu[01]"], "box": ["gpu*", "port:80*"], "rest": ["*"]}
    assert found.url("box") == BOX["box"]
    with pytest.raises(
        NotFound, match=r"^gpu\[01\] is shared through near, which `stores` does not name$"
    ):
        found.url("near")


def test_the_users_own_file_wins_for_the_names_it_has() -> None:
    found = known(
        {"gpu*": "box", "tpu*": "box"},
        "# mine\nshared: {gpu0: mine, tpu*: ''}\nstores: {mine: /srv/m}\n",
    )
    assert [found.store(one) for one in ("gpu0", "gpu1", "tpu1")] == ["mine", "box", ""]
    assert found.url("mine") == "/srv/m" and found.url("box") == BOX["box"]
    assert known({}, 'stores: {"box": "host:/srv/box"}\n').stores == {"box": "host:/srv/box"}
    for bad in (
        "lease_max: 2h\n",
        "stores: [x]\n",
        "shared: {'path:*': box}\n",
        "stores: {x: 'ext::sh'}\n",
        "{{\n",
    ):
        with pytest.raises(Damaged, match=r"^own\.yaml: "):
            known({}, bad)


@pytest.mark.parametrize(
    "url",
    [
        "https://forge.example/a/b.git",
        "https://forge.example:8443/a",
        "ssh://git@h.example/a",
        "ssh://h:22/~/a",
        "git@forge.example:a/b.git",
        "forge.example:/srv/a",
        "file:///srv/a b.git",
        "/srv/box.git",
        "https://[::1]/a",
    ],
)
def test_an_address_that_git_may_be_sent_to(url: str) -> None:
    routes.valid("stores", {"box": url})


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ext::sh -c x",
        "-oProxyCommand=x",
        "--upload-pack=x",
        "ssh://-oProxyCommand=x/a",
        "-h:a",
        "h.example:-x",
        "../x",
        "box.git",
        "C:/x",
        "http://h.example/a",
        "git://h.example/a",
        "ftp://h/a",
        "fd::17",
        "file::x",
        "//h/x",
        "~/x",
        "https://me:secret-word@h.example/a",
        "https://secret-word@h.example/a",
        "ssh://me:secret-word@h.example/a",
        "https://h.example/a\nb",
        "/srv/\x1b[2J",
        "ssh://h/-x",
        "https:///a",
        "file://h/a",
        "ext::ssh://h/a",
        "a::/srv/x",
    ],
)
def test_an_address_that_it_is_never_sent_to_and_never_printed(url: str) -> None:
    with pytest.raises(
        Usage, match=r"^stores: the address of box is none that git may be sent to$"
    ) as stop:
        policy.put(store(), writer(), "stores", {"box": url})
    assert "secret-word" not in stop.value.hint


@pytest.mark.parametrize(
    "pattern",
    [
        "path:*",
        "path:src/x",
        "glob:**",
        "repo:run",
        "lease:gpu0",
        "*:x",
        "[p]ath:x",
        "",
        "GPU*",
        "gpu 0",
        "port:",
        ":x",
        "x\ny",
        "g" * 101,
        "a/b",
    ],
)
def test_what_is_one_repositorys_is_never_shared(pattern: str) -> None:
    assert known({"*": "box"}).store("path:x") == "", "no pattern without a colon matches a path"
    with pytest.raises(Usage, match=r"^shared: ") as stop:
        policy.put(store(), writer(), "shared", {pattern: "box"})
    assert "\n" not in stop.value.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stores", []),
        ("stores", {"Box": "/x"}),
        ("stores", {"box": 1}),
        ("stores", "x"),
        ("shared", {"x": None}),
        ("shared", {"x": "a b"}),
        ("stores", {"a": {"b": "c"}}),
        ("stores", None),
    ],
)
def test_what_is_no_map_of_its_kind_is_refused_and_in_the_file_the_damage_names_it(
    key: str, value: Any
) -> None:
    with pytest.raises(Usage):
        policy.put(store(), writer(), key, value)
    line = f'{key}: {{"{"path:x" if key == "shared" else "-x"}": "y"}}\n'.encode()
    with pytest.raises(Damaged, match=r"^atlas\.yaml: "):
        policy.parse(policy.FOLDER, store().files[policy.FOLDER] + line)


def test_the_users_own_file_may_ask_the_hooks_to_fetch() -> None:
    assert known({}, "hook_fetch: on\n").shared == known({}, "hook_fetch: off\n").shared == {}
    for value in ("maybe", "3"):
        with pytest.raises(Damaged, match="hook_fetch is one of off, on"):
            known({}, f"hook_fetch: {value}\n")
