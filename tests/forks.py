"""Runs `atlas` as real processes that need not load it first: each is forked from a program that
has. A line on standard input is a JSON object (argv, cwd, env, data); one is answered, on the
descriptor that it is told, by the line [code, standard output, standard error]."""

from __future__ import annotations

import json
import os
import sys
import tempfile

from atlas_cli.call import root
from atlas_cli.commands import COMMANDS, HIDDEN
from atlas_cli.main import run


def become(wish: dict[str, object], ends: tuple[int, int, int]) -> None:
    """What a new process would be: its folder, its variables, its streams."""
    argv, env = wish["argv"], wish["env"]
    assert isinstance(argv, list) and isinstance(env, dict)
    for fd, end in enumerate(ends):
        os.dup2(end, fd)
    os.chdir(str(wish["cwd"]).encode(errors="surrogateescape"))
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["atlas", *argv]
    sys.stdin, sys.stdout, sys.stderr = (
        open(fd, mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        for fd, mode, old in ((0, "r", sys.stdin), (1, "w", sys.stdout), (2, "w", sys.stderr))
    )
    run()


def answered(wish: dict[str, object]) -> list[object]:
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(str(wish["data"]).encode("latin-1"))
        given.seek(0)
        child = os.fork()
        if child == 0:
            try:
                become(wish, (given.fileno(), out.fileno(), err.fileno()))
            finally:
                os._exit(70)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = []
        for stream in (out, err):
            stream.seek(0)
            said.append(stream.read().decode(errors="replace"))
    return [code, *said]


if __name__ == "__main__":
    for name in (*COMMANDS, *HIDDEN):
        root().parser(name)
    answers = os.fdopen(int(sys.argv[1]), "w")
    for line in sys.stdin:
        reply = json.dumps(answered(json.loads(line)))
        answers.write(reply + "\n")
        answers.flush()
