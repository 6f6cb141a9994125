"""`atlas completion SHELL`: the script that makes a shell complete `atlas`, and the answers that it
asks for."""

import re
import shlex
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from ..cli import pages
from ..cli.templates import template
from ..env.env import Env
from ..errors import AtlasError, Usage
from ..model import names
from ..outcome import Outcome, Raw
from ..records import BY_NAME, artifact, policy, status
from . import COMMANDS, parsed, single, verb

app = single()
MOST = 100  # names of a kind, the newest, and numbers of a name
SHELLS = ("bash", "zsh", "fish")
EXTENSIONS = ("md", "txt", "json", "yaml", "csv", "sql")


def _shell(text: str) -> str:
    if text not in SHELLS:
        raise Usage(f"there is no completion for {text[:40]!r}", f"for one of {', '.join(SHELLS)}")
    return text


@verb(app, "completion", "atlas completion bash")
def completion(
    ctx: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", parser=parsed(_shell))],
    line: Annotated[list[str] | None, typer.Argument(metavar="-- WORD…", hidden=True)] = None,
) -> Outcome:
    """Print the script that completes commands, options and the names in the store: streams,
    artifacts, resources, sessions, REFs. Write it where your shell looks:

    \b
    bash  ~/.local/share/bash-completion/completions/atlas
    zsh   _atlas in a folder of $fpath
    fish  ~/.config/fish/completions/atlas.fish

    or run it in each new shell: eval "$(atlas completion bash)"."""
    if line is None:
        script = template(f"completion.{shell}")
        return Outcome({"shell": shell, "script": script.decode()}, (Raw(script),))
    words, quoted = _split(line[0]) if shell == "bash" else (line, False)
    try:
        values = _answers(ctx.find_root().command, words[1:])
    except Exception:  # noqa: BLE001 - a prompt is no place for an error
        values = {}
    if shell == "bash":  # it replaces only what stands behind the last : = or @
        typed = len(words[-1]) - len(_split(line[-1])[0][-1])
        ends = [value[typed:] for value in values]
        lines = ends if quoted else [_escaped(end) for end in ends]
    elif shell == "zsh":
        lines = [
            value.replace(":", "\\:") + (f":{text}" if text else "")
            for value, text in values.items()
        ]
    else:
        lines = [f"{value}\t{text}" for value, text in values.items()]
    return Outcome({"words": list(values)}, lines)


def _escaped(text: str) -> str:
    """The text as bash must be given it."""
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", text)


def _split(line: str) -> tuple[list[str], bool]:
    """The words of a line, and whether a quote is open in the last of them. The last word is as far
    as it goes, and may be empty."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        while (word := lexer.get_token()) is not None:
            words.append(word)
    except ValueError:
        return [*words, lexer.token], True
    return words if words and not re.search(r"(?<!\\)\s$", line) else [*words, ""], False


def _answers(root: Any, words: list[str]) -> dict[str, str]:
    """The values that can stand in place of the last of these words, each with its meaning. If
    there is none, the shell offers files."""
    *before, part = words
    name, equals, value = part.partition("=")
    if equals and name.startswith("--"):
        values = _answers(root, [*before, name, value])
        return {f"{name}={word}": text for word, text in values.items()}
    try:
        options, given = root.split(before)
    except Usage:  # a global option that waits for its value
        wanted = {"--session": "ID", "--expect": "REF"}.get(before[-1], "")
        return _named(Env(root.split(before[:-1])[0]), wanted, "", part)
    if "--" in before or given[:1] == ["git"]:
        return {}
    if not given and not part.startswith("-"):
        return _fitting(part, COMMANDS)
    noun, *args = given or ["digest"]
    parser = root.parser(noun)
    verbs = getattr(parser, "commands", None)
    offers: dict[str, str] = {}
    if verbs is not None:
        if not args and not part.startswith("-"):
            helps = {verb: command.get_short_help_str(70) for verb, command in verbs.items()}
            offers = _fitting(part, helps)
        bare = "show" if args or not part.startswith("-") else parser.bare
        parser = verbs.get(args.pop(0) if args and args[0] in verbs else bare)
    return offers if parser is None else offers | _of(parser, Env(options), root, noun, args, part)


def _of(parser: Any, env: Env, root: Any, noun: str, args: list[str], part: str) -> dict[str, str]:
    """The values that a command takes at this place: an option, the value of the last one, or the
    next argument."""
    params = [param for param in parser.params if not param.hidden]
    options = {name: param for param in params for name in param.opts if name.startswith("-")}
    arguments = [param for param in params if param.param_type_name == "argument"]
    at, waiting = 0, None
    for word in args:
        if waiting is None and word in options:
            waiting = None if options[word].is_flag else options[word]
        else:
            if waiting is None and (word == "-" or not word.startswith("-")):
                at += 1
            waiting = None
    if waiting is None and part.startswith("-"):
        shown = {name: param.help or "" for name, param in options.items()}
        return _fitting(part, shown | dict.fromkeys([*root.globals, "--help"], ""))
    if waiting is None and arguments and (at < len(arguments) or arguments[-1].nargs == -1):
        waiting = arguments[min(at, len(arguments) - 1)]
    if waiting is None:
        return {}
    return _named(env, waiting.metavar or waiting.name.upper(), noun, part)


def _named(env: Env, wanted: str, noun: str, part: str) -> dict[str, str]:
    """The names that a place asks for by its metavar."""
    if re.fullmatch(r"[a-z]+(\|[a-z]+)+", wanted):
        return _fitting(part, wanted.split("|"))
    word = "REF" if "REF" in wanted else (re.findall("[A-Z]+", wanted) or [""])[0]
    kinds = {
        "STREAM": "status",
        "NAME": "artifact",
        "RES": "lease",
        "S": "session",
        "ID": "session",
        "TASK": "task",
    }
    try:
        if word == "KEY":
            return _fitting(part, {key: row.meaning for key, row in policy.KEYS.items()})
        if word == "TOPIC":
            return _fitting(part, {name: pages.summary(name) for name in pages.TOPICS} | COMMANDS)
        if word in ("K", "EXT"):
            return _fitting(part, list(BY_NAME) if word == "K" else EXTENSIONS)
        if word == "REF":
            every = [kind for kind in BY_NAME if kind != policy.KIND.name]
            refs = [f"{kind}:{id}" for kind in every for id in _ids(env, kind, part)]
            return _fitting(part, refs)
        kind = noun if word == "ID" and noun in BY_NAME else kinds[word]
        return _fitting(part, _ids(env, kind, part))
    except (AtlasError, KeyError):  # no store, or a place that takes any text
        return {}
    finally:
        env.close()


def _ids(env: Env, kind: str, part: str) -> Iterable[str]:
    """The names of a kind's records; behind an @, the numbers of the name before it."""
    stem, at, _ = part.removeprefix(f"{kind}:").partition("@")
    if kind in ("status", "artifact") and at:
        module = status if kind == "status" else artifact
        last = module.newest(env.snapshot, stem) if names.valid(stem) else 0
        return [f"{stem}@{number}" for number in range(last, max(0, last - MOST), -1)]
    if kind == "artifact":
        return artifact.known(env.snapshot)
    if kind == "status":
        return env.snapshot.names(BY_NAME[kind].folder)
    rows = env.index.newest(BY_NAME[kind].folder, MOST)
    return [BY_NAME[kind].ref(path, record).partition(":")[2] for path, record in rows]


def _fitting(part: str, values: Iterable[str]) -> dict[str, str]:
    """The values that begin as the word does."""
    texts = values if isinstance(values, dict) else dict.fromkeys(values, "")
    return {value: str(text) for value, text in texts.items() if value.startswith(part)}
