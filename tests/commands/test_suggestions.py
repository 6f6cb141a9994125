"""A name, a command or an option that is nearly right is answered with the right one, by one
function for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_cli.model import names

from ..contract import Said, envelope, places, said

__all__ = ["places", "said"]  # fixtures
TYPED = {
    "stauts": "did you mean atlas status?",
    "lgo": "did you mean atlas log?",
    "lease tkae": "did you mean atlas lease take?",
    "artifact show aa": "did you mean artifact:a?",
    "status show mian@1": "did you mean status:main?",
    "status diff mian": "did you mean status:main?",
    "show status:mian": "did you mean status:main?",
    "show lease:gpo0": "did you mean gpu0?",
    "lease show gpo0": "did you mean gpu0?",
    "show artefact:a": "did you mean artifact?",
    "decision show DECISIO": "did you mean DECISION?",
    "session show SESSIO1": "did you mean SESSION?",
    "show session:SESSIO1": "did you mean SESSION?",
    "config get lease_mx": "did you mean lease_max?",
    "log --kind leese": "did you mean lease?",
    "lease list --al": "did you mean --all?",
    "status --jsno": "did you mean --json?",
    "--jsno status": "did you mean --json?",
    "--sesion x status": "did you mean --session?",
    "lease take --wyh x": "did you mean --why?",
}


@pytest.mark.parametrize("line", TYPED)
def test_what_was_nearly_right_is_named(line: str, said: Said, places: tuple[Path, str]) -> None:
    session = said("session", "list", "--all", "--json").data["items"][0]["id"]

    def meant(text: str) -> str:
        for word, id in (("DECISIO", places[1]), ("SESSIO", session)):
            text = text.replace(f"{word}N", id).replace(word, id[:-1])
        return text

    done = said(*meant(line).split(" "), "--json")
    error = envelope(done)["error"]
    assert meant(TYPED[line]) in f"{error['message']} {error['hint']}", done


def test_a_stream_that_is_not_there_is_told_from_an_empty_one(said: Said) -> None:
    shows = (["status", "show"], ["status", "log"], ["status", "diff"], ["status", "history", "H"])
    for argv in (*shows, ["show"]):
        name = {"show": "status:mian"}.get(argv[0], "mian")
        where = ["--stream", name] if "H" in argv else [name]
        done = said(*argv, *where)
        assert (done.code, "there is no status:mian; nobody" in done.err) == (7, True), done
        assert "did you mean status:main? its first entry makes it: atlas status write" in done.err
    assert "did you mean" not in said("status", "show", "quite-another").err
    id = said("begin", "--new", "--stream", "docs", "--json").data["id"]
    for argv in (["status", "show", "docs"], ["status", "log", "docs"], ["show", "status:docs"]):
        done = said(*argv, "--session", id)
        assert done.code == 0 and "status:docs is empty: nobody has written" in done.out, done


def test_what_stands_behind_an_unknown_option_is_not_called_an_extra_argument(said: Said) -> None:
    error = envelope(said("begin", "--gaol", "x", "--json"))["error"]
    assert error["message"] == "there is no option --gaol (did you mean --goal?)"


@pytest.mark.parametrize(
    ("text", "others", "wanted"),
    [
        ("shcema", ["schema", "notes"], "schema"),
        ("mian", ["main"], "main"),
        ("x", ["main"], None),
        ("", ["main"], None),
        (
            "codex-261129-aaaaab",
            ["codex-261129-aaaaaa", "codex-261129-zzzzzz"],
            "codex-261129-aaaaaa",
        ),
        ("codex-261129-bbbbbb", ["codex-261129-aaaaaa"], None),
        ("x" * 10_000, ["main"], None),
    ],
)
def test_which_name_was_meant(text: str, others: list[str], wanted: str | None) -> None:
    assert names.meant(text, others) == wanted
    assert (
        names.hint(text, others, "see the list", "the:")
        == (f"did you mean the:{wanted}? " if wanted else "") + "see the list"
    )
