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
