"""Names, resources and REFs: parsed once where they come in, safe as file names everywhere
afterwards."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..errors import Refused, Usage
from .digests import sha256

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
    """The text itself, if it is a valid name. Raises Usage otherwise, with the nearest valid
    form."""
    if valid(text):
        return text
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    right = re.sub(r"[^a-z0-9._-]+", "-", folded).strip("-.")[:64].rstrip(".")
    shown = text if len(text) <= 80 else text[:77] + "…"
    hint = "a name is a-z, 0-9, dot, _ and -, at most 64 of them, and no device of Windows"
    if valid(right):
        hint = f"write it like {right}"
    raise Usage(f"{shown!r} is no {what}", hint)


def valid(text: str) -> bool:
    """Whether a text is a valid name: portable, lower case, no reserved device of Windows, no
    trailing dot."""
    return (
        bool(_NAME.match(text))
        and text.split(".")[0] not in _WINDOWS
        and not text.endswith((".", ".lock"))
    )


def slug(text: str, limit: int = 40) -> str:
    """The readable part of a file name; `x` if nothing readable is left."""
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")
    return (words[:limit].rstrip("-")) or "x"


def file_name(text: str) -> str:
    """Any text as a file name: percent-encoded, and cut with a hash above 120 bytes. Distinct texts
    stay distinct."""
    data = text.encode()
    encoded = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in data)
    if encoded.startswith((".", "-")) or encoded.split(".")[0] in _WINDOWS:
        encoded = f"%{ord(encoded[0]):02x}{encoded[1:]}"
    if len(encoded) > 120:
        encoded = f"{encoded[:100]}%-{sha256(data).hexdigest()[:16]}"
    return encoded


def resource(text: str, prefix: str = "") -> str:
    """The resource that a text names, in the form that is stored. A resource is a name (`gpu0`), or
    a word, a colon and any text (`path:src/x.py`, `glob:**/*.sql`, `repo:run`, `port:8080`). A path
    is read relative to `prefix`, the working directory below the repository's root, and returned
    relative to the root. Raises Usage for any other text, and for a path outside the repository."""
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
    """Whether a text is a resource in the form that is stored."""
    try:
        return resource(text) == text
    except (Usage, RecursionError):
        return False


def _rooted(path: str, prefix: str, shown: str) -> str:
    """The path from the repository's root, without `.`, `..`, or doubled and trailing slashes."""
    parts: list[str] = []
    from_root = path if path.startswith("/") else f"{prefix}/{path}"
    for part in from_root.split("/"):
        if part == "..":
            if not parts:
                raise Usage(
                    f"{shown[:80]!r} lies outside the repository", "a lease is on a path inside it"
                )
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."


def overlap(first: str, second: str) -> bool:
    """Whether two resources are in each other's way. Paths are compared by component. Two patterns
    overlap in case of doubt."""
    if first == second:
        return True
    kind, _, text = first.partition(":")
    other_kind, _, other = second.partition(":")
    places = ("path", "glob")
    if "repo:run" in (first, second):
        return (kind in places) or (other_kind in places)
    if kind not in places or other_kind not in places:
        return False
    if kind == other_kind == "path":
        return _within(text, other) or _within(other, text)
    if kind == other_kind == "glob":
        fixed, other_fixed = _fixed(text), _fixed(other)
        return _within(fixed, other_fixed) or _within(other_fixed, fixed)
    pattern, path = (text, other) if kind == "glob" else (other, text)
    return _matches(pattern, path) or _within(_fixed(pattern), path)


def covered(branch: str, patterns: Iterable[str]) -> bool:
    """Whether one of these is a branch's name, or a pattern of it, as `release/*`."""
    return any(_matches(pattern, branch) for pattern in patterns)


def _within(path: str, folder: str) -> bool:
    """Whether a path is a folder, or lies in it."""
    return folder == "." or path == folder or path.startswith(folder + "/")


def _fixed(pattern: str) -> str:
    """The folder that no match of a pattern leaves."""
    parts: list[str] = []
    for part in pattern.split("/")[:-1]:
        if re.search(r"[*?\[]", part):
            break
        parts.append(part)
    return "/".join(parts) or "."


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern covers a path. `**` stands for any number of folders; `*` and `?` stay
    inside one component. A match of a folder covers everything in it.

    The path may be a folder that the pattern reaches into; behind `**` that is one without a dot in
    its name. The comparison goes by component, because a regular expression with many stars can run
    for ever."""
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
    """A REF, which names any record: `status:main@12`, `artifact:schema@3`,
    `decision:2026-11-29-use-x`, `lease:gpu0`, `session:claude-261129-7f3k2m`. `number` is None if
    the newest is meant or the kind has no numbers. A document whose number may still change is
    named by the operation that wrote it: `status:main@~3f9c01`."""

    kind: str
    id: str
    number: int | None = None
    operation: str = ""

    def __str__(self) -> str:
        if self.operation:
            return f"{self.kind}:{self.id}{BY}{self.operation}"
        return f"{self.kind}:{self.id}" + ("" if self.number is None else f"@{self.number}")


# Before the operation in a REF. (An operation's id is any name, of digits only as well; none begins
# with this sign, and inside of a word no shell reads it.)
BY = "@~"
BY_OPERATION = r"[a-z]+:[a-z0-9][a-z0-9._-]{0,63}@~[a-z0-9][a-z0-9._-]{0,63}"


def versioned(text: str, kind: str) -> Ref:
    """The REF of a numbered document, from `NAME`, `NAME@N` or `NAME@~OPERATION`. Raises Usage for
    any other text."""
    stem, at, digits = text.removeprefix(f"{kind}:").partition("@")
    if digits.startswith("~"):
        return Ref(kind, name(stem, f"{kind} name"), None, name(digits[1:], "operation id"))
    if at and not re.fullmatch(r"[0-9]{1,9}", digits):
        raise Usage(
            f"{text[:80]!r}: after @ comes a number", f"write it like {stem[:64] or 'main'}@3"
        )
    return Ref(kind, name(stem, f"{kind} name"), int(digits) if at else None)


def with_numbers(value: Any, number: Callable[[str], str]) -> Any:
    """A record, or a part of one, in which each field that is a REF by its operation is what
    `number` gives for it. A text that only speaks of one stays as it is."""
    if isinstance(value, str):
        return number(value) if BY in value and re.fullmatch(BY_OPERATION, value) else value
    if isinstance(value, dict):
        return {key: with_numbers(inner, number) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_numbers(inner, number) for inner in value]
    return value


def bucket(text: str) -> str:
    """The folder of a row, so that folders stay small: the first two hex digits of the SHA-256."""
    return sha256(text.encode()).hexdigest()[:2]


def near(text: str, others: Iterable[str]) -> str | None:
    """A name that the text nearly is: two letters apart at most, or the same words in another
    order. Names of fewer than six letters have no near miss, nor have names that differ only in
    digits."""
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
    """The name that was probably meant by a text that is none of the names; None if none is likely.
    A long text must be closer, because the ids of one day share most of their letters."""
    import difflib
    from itertools import islice

    likeness = 0.87
    if len(text) <= 12:
        likeness = 0.75 if len(text) > 3 else 0.66
    alike = difflib.get_close_matches(text[:100], islice(others, 5000), 1, likeness)
    return alike[0] if alike else None


def hint(text: str, others: Iterable[str], otherwise: str, lead: str = "") -> str:
    """The next step after an unknown name: the name that was probably meant (behind `lead`), then
    another way."""
    likely = meant(text, others)
    return f"did you mean {lead}{likely}? {otherwise}" if likely else otherwise


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text)


def _apart(text: str, other: str, most: int) -> bool:
    """Whether at most so many insertions, deletions and replacements lead from one text to the
    other (Levenshtein)."""
    if abs(len(text) - len(other)) > most:
        return False
    row = list(range(len(other) + 1))
    for at, char in enumerate(text, 1):
        last, row[0] = row[0], at
        for to, letter in enumerate(other, 1):
            last, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, last + (char != letter))
        if min(row) > most:
            return False
    return row[-1] <= most


def one_line(text: str) -> bool:
    """Whether a text is one line of plain characters."""
    return text.isprintable() or re.search(_CONTROL, text) is None


def say(text: str, what: str, limit: int = 500) -> str:
    """A free text on one line (a goal, a reason), stripped. Raises Usage if it is empty, Refused if
    it is longer than the limit."""
    line = text.strip()
    if not line:
        raise Usage(f"{what} is empty", "say it in a few words")
    if len(line) > limit:
        raise Refused(
            f"{what} is {len(line):,} characters long; at most {limit}",
            "say it shorter; the rest goes into the text, or an artifact",
        )
    return line


def heeded(name: str) -> bool:
    """Whether a program takes orders from a file of this name: git, an AI tool, or an interpreter
    that runs any code it meets. The name is folded as file systems fold it: where case does not
    count, `AGENTS.md` is read as `agents.md`."""
    folded = unicodedata.normalize("NFKD", name).casefold()
    seen = (char for char in folded if unicodedata.category(char) not in ("Cf", "Mn"))
    folded = "".join(seen).strip(" .~")
    if name.startswith("."):
        folded = f".{folded}"
    return folded.split(".")[0] in _ORDERS or re.match(_WHOLE, folded) is not None


def unheeded(path: str) -> str:
    """A path whose file no program takes orders from: the path itself, or one with ASIDE before the
    file's name, as plain text. Distinct paths stay distinct."""
    folder, slash, name = path.rpartition("/")
    if heeded(name) or name.startswith(ASIDE):
        return f"{folder}{slash}{ASIDE}{name}.txt"
    return path


def heeded_as(path: str) -> str:
    """The path that `unheeded` turns into this one; empty if there is none."""
    folder, slash, name = path.rpartition("/")
    first = path
    if name.startswith(ASIDE):
        first = folder + slash + name.removeprefix(ASIDE).removesuffix(".txt")
    return first if unheeded(first) == path else ""
