"""Clearance gates: a blocker holds back the tasks that depend on it until somebody clears it.

Documents, named by the clearance task that each gate makes: `gates/<id>.yaml` for its raising,
`gates/<id>.cleared.yaml` for its end. The state of a gate is computed from the two and a moment,
and the tasks that it holds from the tree; neither is stored."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import Damaged, NotFound
from ...model import names, schema, text, times
from ...model.change import Shown
from ...model.kind import Kind, unjudged
from ...model.text import Record
from ...model.tree import Tree

FOLDER = "gates"
SUFFIX = ".yaml"
END = ".cleared"


def path_of(wanted: str) -> str:
    """The path of a gate's document; of its end for `ID.cleared`."""
    return f"{FOLDER}/{names.name(wanted, 'gate id')}.yaml"


def parse(path: str, data: bytes) -> Record:
    """The fields of a gate's document. Raises Damaged if the bytes are none."""
    texts = (
        "id",
        "signal",
        "blocker",
        "clearance",
        "graph_delta_hash",
        "resolution",
        "session",
        "actor",
        "operation",
    )
    needed = {**dict.fromkeys(texts, str), "scope": "texts", "edges": "texts", "at": "time"}
    record = schema.fields(
        text.load(data, path),
        path,
        needed,
        {"deadline": "time", "resolver": str, "raised": str, "why": str},
    )
    for name in (record["clearance"], *record["edges"]):
        schema.is_name(path, "task id", name, names.valid(name))
    own = record["id"]
    if path.endswith(END + SUFFIX):
        own += END
    schema.placed(path, f"gate:{own}", path_of(own) if names.valid(own) else None)
    return record


def find(tree: Tree, wanted: str, number: int | None = None) -> str:
    """The path of a gate's document. Raises NotFound if there is none."""
    path = path_of(wanted)
    if tree.blob(path) is None:
        raise NotFound(
            f"there is no gate {wanted} in this store", "atlas gate list --all shows them"
        )
    return path


# what is computed


def state(tree: Tree, record: Record, now: int) -> str:
    """The state of a gate at a moment: `pending`, `expired` or `cleared`. An expired gate holds on
    until it is cleared or raised again."""
    path = path_of(record["id"] + END)
    try:
        if (end := tree.read(path)) is not None:
            return str(parse(path, end)["resolution"])
    except Damaged:
        return "damaged"
    over = "deadline" in record and times.moment(record["deadline"]) <= now
    return "expired" if over else "pending"


def ended(tree: Tree, record: Record) -> bool:
    """Whether a gate was cleared, or raised anew in place of one that had expired."""
    return tree.blob(path_of(record["id"] + END)) is not None


def raised(tree: Tree) -> int:
    """The number of gates that were ever raised."""
    own = (name for name in tree.names(FOLDER) if name.endswith(SUFFIX))
    return sum(not name.endswith(END + SUFFIX) for name in own)


def _ref(path: str, record: Record) -> str:
    return f"gate:{path.partition('/')[2].removesuffix(SUFFIX)}"


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The raising of a gate, until it is over."""
    first = path_of(record["id"])
    return first, None if ended(tree, record) else first


def _links(record: Record) -> Iterable[tuple[str, str]]:
    return [("signal", f"signal:{record['signal']}")]


KIND = Kind(
    "gate",
    FOLDER,
    SUFFIX,
    parse,
    _ref,
    find,
    _view,
    unjudged,
    links=_links,
    words=("why",),
)
