"""Names, resources and REFs: parsed once at the edge, safe as file names everywhere afterwards."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from ..errors import Refused, Usage

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_WINDOWS = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
# (compiling it costs more than a start can spare)
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._-")
RESOURCE_LIMIT = 1000  # bytes
ASIDE = "from-store--"  # before a file's name that somebody would take orders from
# What AI tools read their orders from, in whatever folder it stands, without its type.
_ORDERS = frozenset(
    [
        "agent",
        "agents",
        "aider",
        "amp",
        "claude",
        "clinerules",
        "codex",
        "conventions",
        "copilot",
        "copilot-instructions",
        "crush",
        "cursor",
        "cursorrules",
        "gemini",
        "goosehints",
        "guidelines",
        "jules",
        "junie",
        "kiro",
        "codebuddy",
        "iflow",
        "knowledge",
        "roomodes",
        "mcp",
        "opencode",
        "qwen",
        "replit",
        "roo",
        "roorules",
        "warp",
        "windsurf",
        "windsurfrules",
        "conftest",
        "sitecustomize",
        "usercustomize",
    ]
)
# And what git, a build or an interpreter does, by its whole name.
_WHOLE = (  # compiled when first asked for
    r"\.|git[^a-z]|head$|(?:fetch|merge|orig)_head$|(?:packed-refs|commondir|gitdir|config|hooks|objects|refs|index)$"
    r"|(?:settings|config|launch|tasks|devcontainer|plugin|package|composer|deno|tsconfig)(?:[.]local)?[.]jsonc?$"
    r"|(?:skill|rules|system|memory)[.]mdc?$|setup[.](?:py|cfg)$|(?:pytest|tox)[.]ini$|(?:pyproject|cargo|mise)[.]toml$"
    r"|(?:noxfile|fabfile)[.]py$|(?:gnu)?makefile|(?:docker|container|just|proc|rake|gem|vagrant|jenkins)file"
    r"|(?:docker-)?compose[.]ya?ml$|(?:lefthook|taskfile|action)[.]ya?ml$|cmakelists[.]txt$"
    r"|.*[.](?:pth|mdc|(?:instructions|prompt|agent|chatmode|local)[.]md)$"
)


def name(text: str, what: str = "name") -> str:
    """`text` if it is a name; Usage with the right form if it nearly is one."""
    if valid(text):
        return text
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    right = re.sub(r"[^a-z0-9._-]+", "-", folded).strip("-.")[:64].rstrip(".")
    shown = text if len(text) <= 80 else text[:77] + "…"
    hint = (
        f"write it like {right}"
        if valid(right)
        else "a name is a-z, 0-9, dot, _ and -, at most 64 of them, and no device of Windows"
    )
    raise Usage(f"{shown!r} is no {what}", hint)


def valid(text: str) -> bool:
    """Whether `text` is a name: portable, lower case, no reserved device of Windows, no trailing
    dot."""
    return (
        bool(_NAME.match(text))
        and text.split(".")[0] not in _WINDOWS
        and not text.endswith((".", ".lock"))
    )


def slug(text: str, limit: int = 40) -> str:
    """A file name's readable part; `x` where nothing readable is left."""
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    found = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")
    return (found[:limit].rstrip("-")) or "x"


def file_name(text: str) -> str:
    """A free text as a file name: percent-encoded, cut with a hash above 120 bytes. Distinct texts
    stay distinct."""
    data = text.encode()
    encoded = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in data)
    if encoded.startswith((".", "-")) or encoded.split(".")[0] in _WINDOWS:
        encoded = f"%{ord(encoded[0]):02x}{encoded[1:]}"
    if len(encoded) > 120:
        encoded = f"{encoded[:100]}%-{hashlib.sha256(data).hexdigest()[:16]}"
    return encoded


def resource(text: str, prefix: str = "") -> str:
    """What a lease is on: a name (`gpu0`), or a word, a colon and a free text (`path:src/x.py`,
    `glob:**/*.sql`, `repo:run`, `port:8080`). A path is relative to the working directory, `prefix`
    below the repository's root, and comes back relative to the root; one outside it is refused."""
    kind, colon, rest = text.partition(":")
    if kind == "lease" and colon:
        return resource(rest, prefix)  # a REF, as it is printed
    if not colon and "/" in text:
        raise Usage(f"{text[:200]!r} is no resource", f"a path is written like path:{text[:200]}")
    if not colon:
        return name(text, "resource")
    name(kind, "kind of resource")
    if not rest or not one_line(rest):
        raise Usage(
            f"{text[:80]!r} is no resource",
            "after the colon: text on one line, without control characters",
        )
    if len(text.encode()) > RESOURCE_LIMIT:
        raise Usage(
            f"a resource of {len(text.encode())} bytes; at most {RESOURCE_LIMIT}",
            "name a folder above it",
        )
    if kind in ("path", "glob"):
        rest = _rooted(rest, prefix, text)
    if kind == "glob" and not re.search(r"[*?\[]", rest):
        raise Usage(f"{text[:80]!r} has nothing to match", f"write path:{rest}")
    return f"{kind}:{rest}"


def is_resource(text: str) -> bool:
    """Whether a text is a resource in the form that it is stored in."""
    try:
        return resource(text) == text
    except (Usage, RecursionError):
        return False


def _rooted(path: str, prefix: str, shown: str) -> str:
    """The path from the repository's root, without `.`, `..`, doubled or trailing slashes."""
    parts: list[str] = []
    for part in f"{prefix}/{path}".split("/") if not path.startswith("/") else path.split("/"):
        if part == "..":
            if not parts:
                raise Usage(
                    f"{shown[:80]!r} lies outside the repository", "a lease is on a path inside it"
                )
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."


def overlap(one: str, other: str) -> bool:
    """Whether two resources are in each other's way. Component-wise; where two patterns meet,
    rather yes than no."""
    if one == other:
        return True
    kind, _, a = one.partition(":")
    kind2, _, b = other.partition(":")
    places = ("path", "glob")
    if "repo:run" in (one, other):
        return (kind in places) or (kind2 in places)
    if kind not in places or kind2 not in places:
        return False
    if kind == kind2 == "path":
        return _within(a, b) or _within(b, a)
    if kind == kind2 == "glob":
        fixed, fixed2 = _fixed(a), _fixed(b)
        return _within(fixed, fixed2) or _within(fixed2, fixed)
    pattern, path = (a, b) if kind == "glob" else (b, a)
    return _matches(pattern, path) or _within(_fixed(pattern), path)


def _within(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(folder + "/")


def _fixed(pattern: str) -> str:
    """The folder that a pattern cannot leave."""
    parts: list[str] = []
    for part in pattern.split("/")[:-1]:
        if re.search(r"[*?\[]", part):
            break
        parts.append(part)
    return "/".join(parts) or "."


def _matches(pattern: str, path: str) -> bool:
    """`**` is any number of folders, `*` and `?` stay inside one; a match of a folder covers what
    is in it.

    A path may be a folder that the pattern reaches into: behind `**`, one without a dot in its
    name. Component by component, since a regular expression of many stars can take for ever."""
    parts = path.split("/")
    taken, deep = {0}, path == "."  # how many components the pattern's beginning can have taken
    for part in pattern.split("/"):
        if len(parts) in taken and not (deep and "." in parts[-1]):
            return True
        if part == "**":
            taken, deep = set(range(min(taken), len(parts) + 1)), True
        else:
            taken = {at + 1 for at in taken if at < len(parts) and fnmatchcase(parts[at], part)}
        if not taken:
            break
    return bool(taken) or path == "."


class Ref(NamedTuple):
    """A REF names any record: `status:main@12`, `artifact:schema@3`, `decision:2026-11-29-use-x`,
    `lease:gpu0`, `session:claude-261129-7f3k2m`. `number` is None where the newest is meant or the
    kind has none."""

    kind: str
    id: str
    number: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" + ("" if self.number is None else f"@{self.number}")


def versioned(text: str, kind: str) -> Ref:
    """`NAME` or `NAME@N` of a numbered document."""
    found, at, digits = text.removeprefix(f"{kind}:").partition("@")
    if at and not re.fullmatch(r"[0-9]{1,9}", digits):
        raise Usage(
            f"{text[:80]!r}: after @ comes a number", f"write it like {found[:64] or 'main'}@3"
        )
    return Ref(kind, name(found, f"{kind} name"), int(digits) if at else None)


def bucket(text: str) -> str:
    """The first two hex digits of SHA-256: the folder of a row, so that folders stay small."""
    return hashlib.sha256(text.encode()).hexdigest()[:2]


def near(text: str, others: Iterable[str]) -> str | None:
    """A name that `text` nearly is: two letters apart at most, or the same words in another order.
    Names of less than six letters, and those that differ in digits only, are nobody's near miss."""
    own, words = _letters(text), sorted(re.split(r"[._-]", text))
    if len(own) < 6:
        return None
    for other in others:
        if re.sub(r"[0-9]", "", other) == re.sub(r"[0-9]", "", text):
            continue  # the next one of a series
        if sorted(re.split(r"[._-]", other)) == words or _apart(own, _letters(other), 2):
            return other
    return None


def meant(text: str, others: Iterable[str]) -> str | None:
    """The one of these names that was probably meant by what is none of them. Long ones must be the
    more alike: ids of one day share most of their letters."""
    import difflib
    from itertools import islice

    likeness = 0.87 if len(text) > 12 else 0.75 if len(text) > 3 else 0.66
    found = difflib.get_close_matches(text[:100], islice(others, 5000), 1, likeness)
    return found[0] if found else None


def hint(text: str, others: Iterable[str], otherwise: str, lead: str = "") -> str:
    """The next step after a name that is not there: the one that was probably meant (behind
    `lead`), else another."""
    near = meant(text, others)
    return f"did you mean {lead}{near}? {otherwise}" if near else otherwise


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text)


def _apart(one: str, other: str, most: int) -> bool:
    """Whether so few insertions, deletions and replacements lead from one to the other
    (Levenshtein)."""
    if abs(len(one) - len(other)) > most:
        return False
    row = list(range(len(other) + 1))
    for at, char in enumerate(one, 1):
        last, row[0] = row[0], at
        for to, letter in enumerate(other, 1):
            last, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, last + (char != letter))
        if min(row) > most:
            return False
    return row[-1] <= most


def one_line(text: str) -> bool:
    """Whether it is one line of plain characters."""
    return text.isprintable() or re.search(_CONTROL, text) is None


def say(text: str, what: str, limit: int = 500) -> str:
    """A one-line free text (a goal, a reason): stripped, not empty, within `limit` characters;
    Refused otherwise."""
    line = text.strip()
    if not line:
        raise Usage(f"{what} is empty", "say it in a few words")
    if len(line) > limit:
        raise Refused(
            f"{what} is {len(line):,} characters long; at most {limit}",
            "put the rest into an artifact",
        )
    return line


def heeded(name: str) -> bool:
    """Whether somebody takes orders from a file for its name: git, an AI tool, what runs code that
    lies about. However the file system folds letters: `AGENTS.md` is read as `agents.md` where case
    does not count."""
    folded = unicodedata.normalize("NFKD", name).casefold()
    folded = "".join(
        char for char in folded if unicodedata.category(char) not in ("Cf", "Mn")
    ).strip(" .~")
    folded = "." * name.startswith(".") + folded
    return folded.split(".")[0] in _ORDERS or re.match(_WHOLE, folded) is not None


def unheeded(path: str) -> str:
    """A path whose file nobody takes orders from: itself, or with ASIDE before its file's name, as
    a plain text. Distinct ones stay distinct."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{ASIDE}{name}.txt" if heeded(name) or name.startswith(ASIDE) else path


def heeded_as(path: str) -> str:
    """The path that `unheeded` makes this one of; empty where it makes it of none."""
    folder, slash, name = path.rpartition("/")
    first = (
        folder + slash + name.removeprefix(ASIDE).removesuffix(".txt")
        if name.startswith(ASIDE)
        else path
    )
    return first if unheeded(first) == path else ""
