"""The program of a crew: one process for each worker, forked once the modules are there, since a
race is among commands and not among imports. Each line that a worker reads is a JSON object (argv,
data, at: the moment to start, cwd: the folder to stand in, else the worker's own); it is answered by one line [code, standard output, standard error,
began, ended]. A wish with `env` is run in a fork with these variables: it may be killed (the code
is then minus the signal), and one that stops itself goes on after `pause` seconds."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from atlas_cli.call import call, root
from atlas_cli.commands import COMMANDS
from atlas_cli.main import show


def answer(argv: list[str], data: str | None) -> tuple[int, str, str]:
    """One command, as if it were a process of its own: its own streams, in this process's
    encoding."""
    out, err, text = (
        io.TextIOWrapper(io.BytesIO(), encoding=sys.__stdout__.encoding) for _ in range(3)
    )
    text.buffer.write((data or "").encode())
    text.seek(0)
    sys.stdin = text
    with redirect_stdout(out), redirect_stderr(err):
        sys.argv = ["atlas"]  # it counts as called by its name
        code = show(call(argv))
        out.flush(), err.flush()
    return code, *(stream.buffer.getvalue().decode(errors="replace") for stream in (out, err))


def apart(
    argv: list[str], data: str | None, env: dict[str, str], pause: float
) -> tuple[int, str, str]:
    """The same in a process that may die of it."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            os.environ.update(env)
            json.dump(answer(argv, data), said)
            said.flush()
            os._exit(0)
        while os.WIFSTOPPED(status := os.waitpid(child, os.WUNTRACED)[1]):
            time.sleep(pause)
            os.kill(child, signal.SIGCONT)
        if os.WIFSIGNALED(status):
            return -os.WTERMSIG(status), "", ""
        said.seek(0)
        code, out, err = json.load(said)
    return code, out, err


def serve(source: int, sink: int) -> None:
    home = os.open(".", os.O_RDONLY)
    with open(source) as wishes, open(sink, "w") as report:
        for line in iter(wishes.readline, ""):
            wish = json.loads(line)
            while wish["at"] and time.monotonic() < wish["at"]:
                time.sleep(0.0005)
            argv, data, env = wish["argv"], wish["data"], wish["env"]
            began = time.monotonic()
            if wish["cwd"] and Path(wish["cwd"]).is_dir():  # (it may be yet to be made)
                os.chdir(wish["cwd"])
            done = answer(argv, data) if env is None else apart(argv, data, env, wish["pause"])
            os.chdir(home)
            report.write(json.dumps([*done, began, time.monotonic()]) + "\n")
            report.flush()


def start(places: list[tuple[str, int, int]]) -> None:
    """A worker for each (folder, descriptor to read from, descriptor to answer on)."""
    for name in COMMANDS:
        root().parser(name)
    for folder, source, sink in places:
        if os.fork() == 0:
            for _, *others in places:
                for fd in others:
                    if fd not in (source, sink):
                        os.close(fd)
            os.chdir(folder.encode(errors="surrogateescape"))
            serve(source, sink)
            os._exit(0)
    for _, *ends in places:
        for fd in ends:
            os.close(fd)
    for _ in places:
        os.wait()


if __name__ == "__main__":
    start(json.loads(sys.argv[1]))
