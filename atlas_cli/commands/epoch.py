"""`atlas epoch`: takes what was settled long ago from the tip of the store's branch."""

from collections import Counter
from typing import Annotated

import typer

from ..env import beginning, writing
from ..errors import Refused, Usage
from ..model import times
from ..model.change import Change, Writer
from ..model.tree import Tree
from ..outcome import Outcome, Table
from ..records import formats, kind_of, policy
from ..store import moves
from ..visible import many
from . import env_of, single, verb

app = single()


@verb(
    app,
    "epoch",
    "atlas epoch --before 2026-01-01",
    3,
    5,
    6,
    7,
    limits=("the history keeps all of it: a clone becomes no smaller, what it checks out does",),
)
def epoch(
    ctx: typer.Context,
    before: Annotated[
        str, typer.Option("--before", metavar="DAY", help="What was settled before it: 2026-01-01.")
    ],
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Take it; without this, say what would be taken.")
    ] = False,
) -> Outcome:
    """Take from the tip what was settled before a day: documents of the months before it, status
    entries and artifact versions that were superseded.

    Nothing is lost: the commit before holds them, the policy names it, and REFs, receipts and
    `verify` go on as before. If the policy names principals, only they may."""
    env = env_of(ctx)
    now = times.rfc3339(env.now())
    try:
        times.moment(f"{before}T00:00:00Z")
    except ValueError:
        raise Usage(f"{before[:40]!r} is no day", "write it like 2026-01-01") from None
    if before > now[:10]:
        raise Usage(f"{before} is still to come", f"a day up to {now[:10]}")
    paths = moves.settled(env.snapshot, before)
    count = Counter(kind.name for path in paths if (kind := kind_of(path)))
    table = Table(
        ("KIND", "FILES"),
        tuple((name, str(files)) for name, files in sorted(count.items())),
        f"nothing in the tip was settled before {before}",
    )
    data = {"before": before, "files": len(paths), "kinds": dict(count), "commit": None}
    if not confirm or not paths:
        hint = (f"atlas epoch --before {before} --confirm takes them",) if paths else ()
        return Outcome(data, (table, *hint))
    me, principals = beginning.writer(env), env.policy["principals"]
    if principals and me["actor"] not in principals:
        raise Refused(
            "an epoch is taken by a principal of this store",
            "atlas config get principals names them",
            code="principal",
        )

    def decide(tree: Tree, writer: Writer) -> Change:
        return Change(f"epoch: before {before} ({writer.session})", {}, epoch=before)

    writing.write(env, decide, me, "epoch: ")
    holder = formats.epoch(env.snapshot.read(policy.FOLDER) or b"")
    line = f"out of the tip: {many(len(paths), 'file')}, which {holder[:12]} holds"
    search = f"atlas git grep WORD {holder[:12]} searches them"
    return Outcome({**data, "commit": holder}, (line, search), published=False)
