"""Harm at the Nth call that writes, of a command and of all that it starts: a library that is
loaded before theirs counts the calls in a file that all of them map. It needs a C compiler."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tally { long calls, at; int how, error, alive; int pids[256]; char where[32]; };
enum { CALLER = 1, ALL, ERROR, ERRORS, INTERRUPT, FIRST };
static struct tally *tally;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("HARM");
    int (*plain)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int fd = name ? plain(name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *found = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (found == MAP_FAILED) return;
    tally = found;
    int mine = __sync_fetch_and_add(&tally->alive, 1);
    if (mine < 256) tally->pids[mine] = getpid();
}

/* Whether this call fails; the process may not outlive it. */
static int harmed(const char *call) {
    if (!tally) return 0;
    long now = __sync_add_and_fetch(&tally->calls, 1);
    if (!tally->at || now < tally->at || (now > tally->at && tally->how != ERRORS)) return 0;
    if (now == tally->at) strncpy(tally->where, call, sizeof tally->where - 1);
    int known = tally->alive < 256 ? tally->alive : 256;
    switch (tally->how) {
    case ALL:
        for (int at = 0; at < known; at++) if (tally->pids[at] != getpid()) kill(tally->pids[at], SIGKILL);
        /* fall through */
    case CALLER: kill(getpid(), SIGKILL); break;
    case INTERRUPT: kill(tally->pids[0], SIGINT); break;
    case FIRST: kill(tally->pids[0], SIGKILL); break;
    case ERROR: case ERRORS: errno = tally->error; return 1;
    }
    return 0;
}

/* Only what goes to a disk can fail as a disk does. */
static int file(int fd) {
    struct stat about;
    return fd > 2 && (!tally || (tally->how != ERROR && tally->how != ERRORS)
                      || (!fstat(fd, &about) && S_ISREG(about.st_mode)));
}

#define NEXT(name) ({ static __typeof__(&name) next; if (!next) next = dlsym(RTLD_NEXT, #name); next; })
#define CALL(type, name, given, passed, when) \
    type name given { if ((when) && harmed(#name)) return -1; return NEXT(name) passed; }
CALL(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), file(fd))
CALL(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), 1)
CALL(int, rename, (const char *from, const char *to), (from, to), 1)
CALL(int, link, (const char *from, const char *to), (from, to), 1)
CALL(int, unlink, (const char *name), (name), !tally || tally->how != ERRORS)
CALL(int, mkdir, (const char *name, mode_t mode), (name, mode), 1)
CALL(int, fsync, (int fd), (fd), 1)
CALL(int, fdatasync, (int fd), (fd), 1)
CALL(int, ftruncate64, (int fd, off64_t size), (fd, size), 1)
#define OPEN(name, given, passed) \
    int name given { va_list more; va_start(more, flags); mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0; \
        va_end(more); if ((flags & O_CREAT) && harmed(#name)) return -1; return NEXT(name) passed; }
OPEN(open, (const char *name, int flags, ...), (name, flags, mode))
OPEN(open64, (const char *name, int flags, ...), (name, flags, mode))
OPEN(openat, (int at, const char *name, int flags, ...), (at, name, flags, mode))
OPEN(openat64, (int at, const char *name, int flags, ...), (at, name, flags, mode))
"""
FORM, SIZE = "@lliii256i32s", 4096
# how: (the library's number for it, the error that a call then gives)
HOWS = {
    "caller killed": (1, 0),
    "all killed": (2, 0),
    "EIO": (3, 5),
    "ENOSPC from then on": (4, 28),
    "interrupted": (5, 0),
    "atlas killed": (6, 0),
}


class Struck(NamedTuple):
    """How many calls were counted, and the one that was struck; empty where there were not so
    many."""

    calls: int
    call: str


def library(folder: Path) -> Path | str:
    """The library, built in a folder; why there is none."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return "there is no C compiler: nothing was struck at its calls"
    (folder / "harm.c").write_text(SOURCE)
    argv = [
        compiler,
        "-shared",
        "-fPIC",
        "-O1",
        "-w",
        "-o",
        str(folder / "harm.so"),
        str(folder / "harm.c"),
        "-ldl",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"the library cannot be built here: {done.stderr.strip()[:200]}"
    return folder / "harm.so"


def plan(file: Path, how: str, at: int) -> None:
    """What is to happen at which call (0: they are counted)."""
    number, error = HOWS[how]
    file.write_bytes(struct.pack(FORM, 0, at, number, error, 0, *[0] * 256, b"").ljust(SIZE, b"\0"))


def struck(file: Path) -> Struck:
    calls, *_, where = struct.unpack_from(FORM, file.read_bytes())
    return Struck(calls, where.rstrip(b"\0").decode())
