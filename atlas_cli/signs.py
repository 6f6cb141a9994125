"""Signs of life: the moment at which a session was last heard of in this clone, and the process of
its AI tool.

A hook notes signs too: nothing is imported that costs anything."""

import os
import time

from . import callers

FOLDER = "signs"
WEEK = 7 * 86400
_DEPTH = 64
Process = dict[str, int | str]


def steady() -> float:
    """Seconds of a clock that stands still while the machine sleeps."""
    return time.monotonic()


def note(home: str, session: str, at: float | None = None, steadily: float | None = None) -> None:
    """Notes that a session is at work: in a file of its own, which two hooks may write at once. A
    clone that cannot be written keeps no signs."""
    line = f"{callers.boot() or '-'} {steady() if steadily is None else steadily:.0f}\n"
    file = f"{home}/{FOLDER}/{session}"
    try:
        _put(file, line)
    except FileNotFoundError:
        try:
            os.makedirs(f"{home}/{FOLDER}", exist_ok=True)
            _put(file, line)
        except OSError:
            return
    except OSError:
        return
    if at is not None:
        os.utime(file, (at, at))


def _put(file: str, line: str) -> None:
    with open(file, "w", encoding="ascii") as out:
        out.write(line)


def last(home: str, session: str) -> int:
    """The moment of a session's last sign in this clone; 0 if there is none."""
    try:
        return int(os.stat(f"{home}/{FOLDER}/{session}").st_mtime)
    except OSError:
        return 0


def silence(home: str, session: str, now: float) -> float:
    """The seconds for which a session gave no sign here while the machine was awake, at least.
    `now` is the steady clock's. A sign from before the machine was started counts from then on."""
    try:
        with open(f"{home}/{FOLDER}/{session}", encoding="ascii") as file:
            boot, at = file.read().split()
        return now - float(at) if boot == (callers.boot() or "-") else now
    except (OSError, ValueError):
        return 0.0


def sweep(home: str, now: float) -> None:
    """Takes away the signs that nobody asks for any more."""
    try:
        for entry in os.scandir(f"{home}/{FOLDER}"):
            if entry.stat().st_mtime < now - WEEK:
                os.unlink(entry.path)
    except OSError:
        return


def process() -> Process | None:
    """The process of the AI tool that runs this command: who gave its id to what it started. None
    where no tool's id is carried, where no process can be seen (there is no /proc), and where it
    cannot be told from what passes commands on."""
    ids = callers.ids()
    if not ids or not os.path.exists("/proc/self/environ"):
        return None
    line = _ancestors()
    carrying = [at for at, (pid, *_) in enumerate(line) if at == 0 or _carries(pid, ids)]
    outermost = carrying[-1]
    for at in range(outermost + 1, len(line)):
        pid, name, start = line[at]
        if pid == 1 or callers.starts_jobs(name):
            break
        if not callers.passes_on(name):
            # A shell between them may have set the id: then who carries it is nearer to the work.
            nearer = _nearest(line, carrying) if at > outermost + 1 else None
            return _seen(*(nearer or (pid, start)))
    nearer = _nearest(line, carrying)
    return _seen(*nearer) if nearer else None


def _nearest(line: list[tuple[int, str, str]], carrying: list[int]) -> tuple[int, str] | None:
    """The outermost carrier of the id that is neither this command nor what passes it on."""
    for at in reversed(carrying[1:]):
        pid, name, start = line[at]
        if not callers.passes_on(name):
            return pid, start
    return None


def _ancestors() -> list[tuple[int, str, str]]:
    """(pid, name, start) of this process and those above it."""
    line, pid = [], os.getpid()
    for _ in range(_DEPTH):
        seen = callers.look(pid) if pid > 0 else None
        if seen is None:
            break
        name, parent, start = seen
        line.append((pid, name, start))
        pid = parent
    return line


def _carries(pid: int, ids: list[str]) -> bool:
    """Whether a process was started with these ids in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            given = set(file.read().split(b"\0"))
    except OSError:
        return False
    return all(os.fsencode(id) in given for id in ids)


def _seen(pid: int, start: str) -> Process:
    return {"pid": pid, "start": start, **_here()}


def _here() -> dict[str, int | str]:
    """The place that a process is seen from: this start of the machine, the namespace, the user."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return {"boot": callers.boot(), "ns": namespace, "user": os.getuid()}


def dead(noted: object) -> bool:
    """Whether a process that was noted is seen to be dead from here: there is none of its number,
    or a zombie, or one that was started at another moment. Nothing is seen of another machine, of
    another container or of another user's processes: then it is not."""
    if not isinstance(noted, dict) or not os.path.exists("/proc/self/stat"):
        return False
    here = _here()
    if not here["ns"] or not here["boot"] or any(noted.get(key) != here[key] for key in here):
        return False
    pid = noted.get("pid")
    if not isinstance(pid, int) or pid < 1:
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            rest = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return True
    except OSError:
        return False
    return rest[0] in (b"Z", b"X") or rest[19].decode() != noted.get("start")
