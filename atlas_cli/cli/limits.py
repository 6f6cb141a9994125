"""What each mechanism does not do. The one place: a command's answer, its JSON and its `--help`
close with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..env.env import Env
from ..errors import AtlasError
from ..records import policy as rules

_AT_WORK = "known to this store only: a worker that never called `atlas begin` is invisible here"
_HELD = (
    "an empty list does not prove that anything is idle: a session that took no lease is invisible"
    " here"
)
_ADVISORY = (
    "a lease is advisory: Atlas enforces nothing outside its own commands, and two readers can see"
    " 'free' in the same second; it expires by itself, after {lease_max} at the latest"
)
_WRITTEN = "what nobody wrote down is not in it"
_HANDED = "what was handed over without `atlas artifact put` is not in it"
_WORD = "a record is its writer's word: Atlas knows that it was written, not that it is true"
_DECIDED = "what was decided without `atlas decision add` is not in it"
_POSTED = "known to this store only: work that nobody posted is not on the board"
_CLAIMED = (
    "a claim proves order, not who; open tasks and claims are counted by the writer, as this clone"
    " knows them"
)
_GATED = (
    "a gate keeps tasks from being claimed; it stops nobody who works on one already, or without"
    " the board"
)
_SIGNALLED = "a signal is posted and listed, and tells nobody by itself"
_HOOKS = (
    "hooks are this clone's: another has none until they are installed there; --no-verify skips"
    " pre-commit and pre-push"
)
_PARKED = "parked in this clone: no other clone knows of it"
_WAITING = "as this clone last heard from its remote: atlas sync asks it"
_WAITED = (
    "there is no queue: whoever comes first has it; what other machines do is seen when the remote"
    " is asked, every 20 s at the latest"
)
_POLICY = "the policy binds Atlas's own commands and hooks only, from the next write on"
_HOSTS = (
    "whoever may write the policy chooses the hosts in `stores` that your git asks about shared"
    " resources"
)
# command: its limits; `{key}` is a value of the policy in force. Every command has a row.
LIMITS: dict[str, tuple[str, ...]] = {
    "digest": (_AT_WORK, _HELD),
    "init": (
        (
            "a store is known to this clone only until it has a remote, and to nobody who has not"
            " fetched it"
        ),
    ),
    "sync": (
        "in step as of this moment: what others record and have not pushed is invisible here",
    ),
    "parked list": (_PARKED,),
    "parked show": (_PARKED,),
    "parked take": (_PARKED,),
    "parked drop": (_PARKED,),
    "outbox list": (_WAITING,),
    "outbox export": (_WAITING,),
    "outbox import": ("who wrote what is taken in is its commits' word: Atlas judges their form",),
    "wait": (_WAITED,),
    "begin": (_AT_WORK, _HELD),
    "end": (_WORD,),
    "show": (
        _WORD,
        (
            "who read it in .atlas/, on a forge or with git is not known; other clones' readers are"
            " once they write"
        ),
    ),
    "session list": (_AT_WORK,),
    "session show": (_AT_WORK,),
    "session adopt": (
        (
            "no process is stopped: what is adopted is refused at its next write, and may still"
            " edit files"
        ),
    ),
    "status show": (_WRITTEN,),
    "status write": (
        (
            "sessions at work are not told: they see it when they next read, or when their write"
            " stops; at most {status_words} words"
        ),
    ),
    "status log": (_WRITTEN,),
    "status diff": (_WRITTEN,),
    "artifact put": (
        (
            "sessions at work are not told: they see it in their next digest, or with `atlas"
            " artifact list --new`; it is kept for ever, and has at most {artifact_limit:,} bytes"
        ),
    ),
    "artifact show": (_WORD,),
    "artifact get": (_WORD,),
    "artifact list": (_HANDED,),
    "artifact log": (_HANDED,),
    "artifact diff": (_HANDED,),
    "lease take": (_ADVISORY,),
    "lease renew": (_ADVISORY,),
    "lease release": (_ADVISORY,),
    "lease show": (_ADVISORY,),
    "lease list": (_HELD, _ADVISORY),
    "lease run": (
        _ADVISORY,
        "a command that does not heed SIGTERM goes on after its lease is lost",
    ),
    "session offer": ("what a session offers is its word; nothing is stopped or started by it",),
    "session drop": (
        (
            "no process is stopped: what is dropped is refused at its next write, and may still"
            " edit files"
        ),
    ),
    **dict.fromkeys(("task list", "task board", "task dead", "task graph"), (_POSTED,)),
    **dict.fromkeys(("task show", "task results"), (_WORD,)),
    **{
        f"task {verb}": (_CLAIMED,)
        for verb in ("add", "edit", "cancel", "freeze", "thaw", "retry", "next", "claim")
    },
    **{f"task {verb}": (_CLAIMED,) for verb in ("start", "renew", "done", "fail", "release")},
    "task assign": (
        _CLAIMED,
        "an assigned task that is not started within {start_within} is offered again",
    ),
    **dict.fromkeys(("gate raise", "gate list", "gate show", "gate clear"), (_GATED,)),
    **dict.fromkeys(("signal post", "signal list"), (_SIGNALLED,)),
    "signal show": (_WORD,),
    "decision add": ("the stance, and who chose, are stored as given: Atlas checks neither",),
    "decision list": (_DECIDED,),
    "decision show": (_DECIDED,),
    "correct": ("whoever read the record outside Atlas, or copied it, is not told",),
    "who": ("a worker without a lease, a named path or a commit in this clone is invisible here",),
    "log": ("what other clones have not published, and what was done without Atlas, is not in it",),
    "verify": (
        (
            "verify proves order and form, not who wrote: until commits are signed, any process of"
            " yours can write as any session"
        ),
    ),
    "check": (
        (
            "check proves order in the store, not who wrote: trailers can be forged, and what rests"
            " on a clock only warns, but on a merge request"
        ),
    ),
    "hooks status": (_HOOKS,),
    "hooks install": (_HOOKS,),
    "hooks remove": (_HOOKS,),
    "links": (
        "relative links in Markdown and HTML only; one that now leads to another file is not seen",
    ),
    "config show": (_POLICY, _HOSTS),
    "config get": (_POLICY,),
    "config set": (_POLICY, _HOSTS),
    "config edit": (_POLICY, _HOSTS),
    "doctor": ("health is form, not truth",),
    "view": (
        (
            "a copy as of one commit (AS-OF), with documents of 90 days; reading there leaves no"
            " receipt"
        ),
    ),
    "setup": ("a text that a tool reads is advice: only git's hooks stop anything",),
    "git": (),
    "help": (),
    "completion": (),
    "tour": (),
}


def of(command: str, policy: Mapping[str, Any]) -> tuple[str, ...]:
    """The limits of a command (`lease take`; bare `atlas` is `digest`) under a policy."""
    return tuple(text.format_map(policy) for text in LIMITS.get(command, ()))


def rules_for(env: Env) -> Mapping[str, Any]:
    """The policy in force; the defaults where there is no store."""
    try:
        return env.policy
    except AtlasError:
        return rules.defaults()
