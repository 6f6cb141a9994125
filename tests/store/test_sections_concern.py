"""A section of the status stops whom it concerns, by its own files and addressees, and as a diff where
an earlier version was told."""

from __future__ import annotations

import re

from .hooked import Project
from .test_hooks_concern import said


def test_a_section_stops_whom_it_concerns(project: Project) -> None:
    ann = project.sessions["ann"]
    write = ("status", "write", "--section", "Parser", "-m")
    lines = "the parser reads lines\nthe cache is cold\nthe tests are green and quick\n"
    project.atlas("bob", *write, lines, "--on", "src/x.py")
    out = project.commit("docs/page.md")
    assert (out.code, "1 section, none on your files" in out.err) == (0, True)
    out = project.commit("src/x.py")
    assert said(out) == "stop 5 (read first)"
    assert "│ the cache is cold" in out.err
    met = project.atlas("ann", "log", "--collisions", "--json").data["items"][0]["stops"]
    number = project.atlas("bob", "status", "--json").data["number"]
    assert met == [f"read_first 1 status:main@{number} of {project.sessions['bob']}"]
    project.ok("commit", "-qm", "x")
    project.atlas("bob", *write, lines.replace("cold", "warm"), "--on", "src/x.py", "--for", ann)
    out = project.commit("src/y.py")
    assert said(out) == "stop 5 (read first)"
    assert "│ +the cache is warm" in out.err
    assert "the tests are green" not in out.err, "as a diff"
    project.ok("commit", "-qm", "x")
    project.atlas("ann", "status", "write", "-m", "mine: the docs")
    project.atlas("bob", "status", "show")
    project.atlas("bob", "status", "write", "--section", "what ann does", "-m", "bob's words in it")
    out = project.commit("docs/page.md")
    assert (said(out), "the section that you wrote" in out.err) == ("stop 5 (read first)", True)
    project.ok("commit", "-qm", "x")
    out = project.atlas(
        "bob", "status", "write", "--section", "Rig", "-m", "w", "--for", "eve", code=7
    )
    assert "there is no session 'eve' to address" in out.err
    project.atlas(
        "bob", "status", "write", "--section", "Rig", "-m", "w", "--warn", "the rig is hot"
    )
    project.atlas("bob", "signal", "post", "alert", "--for", "all", "-m", "look")
    out = project.commit("docs/page.md")
    assert "not shown: status:main@" in out.err, "another's warning is named"


def test_a_section_is_told_as_it_stands(project: Project) -> None:
    """One that was corrected says so in the stop; one that was retracted stops nobody."""
    for heading in ("Parser", "Wrong", "Docs"):
        words = ("-m", f"words of {heading}", "--on", "src/x.py")
        project.atlas("bob", "status", "write", "--section", heading, *words)
    number = project.atlas("bob", "status", "--json").data["number"]
    project.atlas("bob", "correct", f"status:main@{number - 2}", "--why", "it is slow")
    project.atlas("bob", "correct", f"status:main@{number - 1}", "--why", "w", "--retract")
    out = project.commit("src/x.py")
    assert "words of Parser" in out.err and "words of Docs" in out.err
    assert re.search(r"│ ! corrected, put right by its writer, \d+ s ago: it is slow\n", out.err)
    assert "words of Wrong" not in out.err


def test_a_session_is_on_the_files_of_the_task_that_it_has_claimed(project: Project) -> None:
    """It has staged, committed and leased nothing of them."""
    job = project.atlas("bob", "task", "add", "the form", "--on", "src/x.py", "--json").data["id"]
    write = ("status", "write", "--section")
    project.atlas("bob", *write, "Before", "-m", "of before the claim", "--on", "src/x.py")
    assert "1 section, none on your files" in project.commit("docs/page.md").err
    assert "files: src/x.py" in project.atlas("ann", "task", "claim", job).out
    assert "files: src/x.py" in project.atlas("ann", "task", "show", job).out
    assert said(project.commit("docs/page.md")) == "stop 5 (read first)"  # it concerns her now
    project.ok("commit", "-qm", "the same command")
    project.atlas("bob", *write, "Folder", "-m", "of its folder", "--on", "src")
    out = project.commit("docs/page.md")
    assert (out.code, '"Folder" by ' in out.err, " on src: git atlas status show" in out.err) == (
        0,
        True,
        True,
    )
    project.atlas("bob", *write, "File", "-m", "of the file itself", "--on", "src/x.py")
    out = project.commit("docs/page.md")  # a second one within 15 minutes is printed, and passes
    assert (out.code, "on src/x.py" in out.err, "of the file itself" in out.err) == (0, True, True)
    # what its session says is about these files, too
    row = project.atlas("ann", "signal", "post", "finding", "-m", "w", "--json").data
    assert "src/x.py" in row["files"]
    project.atlas("ann", "task", "release", job)
    project.atlas("bob", *write, "After", "-m", "of behind the claim", "--on", "src/x.py")
    assert "1 section, none on your files" in project.commit("docs/page.md").err


def test_who_holds_a_declared_resource_is_on_the_paths_that_mean_it(project: Project) -> None:
    declared = '{"rig": {"about": "the test rig", "paths": ["tools/rig"]}}'
    project.atlas("ann", "config", "set", "resources", declared)
    job = project.atlas("bob", "task", "add", "measure", "--uses", "rig", "--json").data["id"]
    project.atlas("ann", "task", "claim", job)
    write = ("status", "write", "--section", "Rig", "-m", "the rig is slow")
    project.atlas("bob", *write, "--on", "tools/rig/run.py")
    assert said(project.commit("docs/page.md")) == "stop 5 (read first)"


def test_the_log_names_all_that_a_stop_met(project: Project) -> None:
    add = ("decision", "add", "--recommended", "a", "--chosen", "a", "--stance", "agreed")
    add = (*add, "--for", project.sessions["ann"])
    for title in ("tabs", "blanks"):
        project.atlas("bob", *add, "--title", f"the {title}", "--why", "w")
    project.atlas("bob", "status", "write", "-m", "it reads lines", "--on", "src/x.py")
    assert said(project.commit("src/x.py")) == "stop 5 (read first)"
    (stop,) = project.atlas("ann", "log", "--collisions", "--json").data["items"][0]["stops"]
    assert stop.startswith("read_first 1 ") and stop.endswith(f" of {project.sessions['bob']}")
    number = project.atlas("bob", "status", "--json").data["number"]
    items = project.atlas("bob", "decision", "list", "--json").data["items"]
    met = {*(row["ref"] for row in items), f"status:main@{number}"}
    assert set(stop.split(" ", 2)[2].partition(" of ")[0].split(", ")) == met and len(met) == 3
    project.atlas("ann", "status", "write", "-m", "mine: the docs")  # which publishes it
    rows = project.atlas("ann", "log", "--collisions", "--json").data["items"]
    assert [row["stops"] for row in rows if row["commit"]] == [[stop]]
