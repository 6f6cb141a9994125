"""The manual for `man atlas`, which `git atlas --help` opens: the pages of help as one page of
man."""

from __future__ import annotations

import re

from . import pages

_HEAD = """\
.TH ATLAS 1 "" "Atlas {version}" "Atlas"
.SH NAME
atlas, git-atlas \\- workers who cannot talk to each other share one git project
.SH SYNOPSIS
.nf
atlas begin --goal "what you will do"
atlas COMMAND [OPTIONS]
atlas COMMAND -h
atlas help TOPIC
.fi
"""


def files(version: str) -> dict[str, str]:
    """The pages by the name of their file: the manual, and the name by which git asks for it."""
    parts = [_part(pages.plain(pages.source(topic))) for topic in pages.TOPICS]
    text = _HEAD.format(version=version) + "".join(parts)
    return {"atlas.1": text, "git-atlas.1": ".so man1/atlas.1\n"}


def _part(page: str) -> str:
    """A page as a section: its title as the heading, its lines as they stand."""
    title, _, rest = page.partition("\n")
    lines = "\n".join(verbatim(line) for line in rest.strip("\n").split("\n"))
    return f'.SH "{verbatim(title)}"\n.nf\n{lines}\n.fi\n'


def verbatim(line: str) -> str:
    """A line that is shown as it stands: nothing in it steers the formatter."""
    line = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace('"', "\\(dq")
    line = line.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    line = re.sub(r"[^\x00-\x7f]", lambda char: f"\\[u{ord(char[0]):04X}]", line)
    return re.sub(r"^\.", r"\\&.", line)
