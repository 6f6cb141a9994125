"""The policy: `atlas.yaml`, a row that people edit. Limits are read from the tree that a change is
made on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from ..errors import Damaged, Refused, Usage
from ..model import names, row, text, times
from ..model.change import Change, FileEdit, Shown, Violation, Writer, given
from ..model.kind import Kind
from ..model.schema import FORMAT, Misplaced, fields
from ..model.text import Record
from ..model.tree import Tree
from . import formats
from .policy_keys import KEYS as KEYS
from .policy_keys import PRECONDITIONS
from .policy_keys import address as address
from .policy_keys import unknown as unknown
from .policy_keys import valid as valid

Policy = Mapping[str, Any]
FOLDER = "atlas.yaml"


def parse(path: str, data: bytes) -> Record:
    """The fields of the policy. Raises Damaged if a key has a value that it cannot have."""
    if path != FOLDER:
        raise Misplaced(f"{path}: the policy lies in {FOLDER}")
    record = text.load(data, path, comments=True)
    optional = {"test": bool, **formats.OPTIONAL}
    fields(record, path, {"store": str, "version": "count"}, optional)
    formats.known(path, record.get("needs", []))
    for key, value in record.items():
        if key in KEYS:
            try:
                valid(key, value)
            except Usage as error:
                raise Damaged(f"{path}: {error.message}") from None
    return record


def of(tree: Tree) -> Policy:
    """The policy in force on a tree: what is not set has its default."""
    return _in_force(tree.read(FOLDER))


def usable(tree: Tree) -> Policy:
    """The policy in force, or the defaults if a hand has spoilt it: the repair of a policy is a
    write as well. Raises Damaged if it is of a newer format."""
    try:
        return of(tree)
    except Damaged as error:
        if error.code == "newer_format":
            raise
        return _in_force(None)


def to_read(tree: Tree) -> Policy:
    """The policy to read by: of a newer format, what this program knows of it."""
    try:
        return usable(tree)
    except Damaged:
        return readable(tree.read(FOLDER) or b"")


def readable(data: bytes) -> Policy:
    """The part of a policy that this program can read, of any format: to read by, never to write
    by."""
    record = text.load(data, FOLDER, comments=True)
    whole: dict[str, Any] = {**defaults(), **record}
    for key, value in record.items():
        try:
            if key in KEYS:
                valid(key, value)
        except Usage:
            whole[key] = KEYS[key].default
    whole["preconditions"] = {**PRECONDITIONS, **whole["preconditions"]}
    return whole


def newer(data: bytes | None) -> bool:
    """Whether these bytes are a policy of a format that only a newer Atlas knows."""
    try:
        parse(FOLDER, data or b"")
    except Damaged as error:
        return error.code == "newer_format"
    return False


def defaults() -> Policy:
    """The policy of a store that sets nothing."""
    return {name: key.default for name, key in KEYS.items()}


@lru_cache(maxsize=16)
def _in_force(data: bytes | None) -> Policy:
    record = {} if data is None else parse(FOLDER, data)
    whole = {**defaults(), **record}
    whole["preconditions"] = {**PRECONDITIONS, **whole["preconditions"]}
    return whole


def level(policy: Policy, precondition: str) -> str:
    """The level of a precondition that a commit misses: stop, warn or off."""
    return str(policy["preconditions"][precondition])


def streams_of(policy: Policy, paths: Iterable[str]) -> list[str]:
    """The status streams that paths (from the root) belong to. A path that no stream claims belongs
    to `main`."""
    claims = [
        (stream, f"glob:{glob}") for stream, globs in policy["streams"].items() for glob in globs
    ]
    streams: set[str] = set()
    for path in paths if claims else ():
        claimed = {stream for stream, glob in claims if names.overlap(glob, f"path:{path}")}
        streams |= claimed or {"main"}
    return sorted(streams) or ["main"]


def seconds(policy: Policy, key: str) -> int:
    """A duration of the policy, in seconds."""
    value = policy[key]
    return 0 if value in ("0", 0) else times.duration(value)


def allowed(policy: Policy, what: str, shortest: int, asked: int | None) -> int:
    """The seconds that a lease or a claim (`what`) runs: as asked, or by default. Raises Refused if
    the policy does not allow them."""
    most = seconds(policy, f"{what}_max")
    lasts = seconds(policy, f"{what}_default") if asked is None else asked
    if not shortest <= lasts <= most:
        hint = f"ask for at most {times.span(most)} and renew it while you work"
        if lasts < shortest:
            hint = f"ask for at least {times.span(shortest)}, and give it back when you are done"
        bounds = f"one runs from {times.span(shortest)} to {times.span(most)}"
        raise Refused(f"a {what} of {times.span(lasts)}; {bounds}", hint, code="limit")
    return lasts


def first(store: str, test: bool, home: str = "") -> bytes:
    """The policy of a new store. The defaults stand in it as comments, so that they can change with
    the tool."""
    title = (
        "# The policy of this store. Change it with `atlas config set KEY VALUE` or `atlas config"
        " edit`.\n# What is not set has the value shown behind its name.\n\n"
    )
    head: Record = {"format": FORMAT, "needs": [], "store": store, "version": 1}
    head |= given(test=test, home=home)
    body = "".join(
        f"\n# {key.meaning}\n# {text.dump({name: key.default}).decode()}"
        for name, key in KEYS.items()
    )
    return title.encode() + text.dump(head) + body.encode()


def put(tree: Tree, writer: Writer, key: str, value: object) -> Change:
    """The change that sets one key. Raises Refused for a key of the store's own, NotFound for an
    unknown one, Usage for a value that it cannot have."""
    if key in formats.FIXED:
        raise Refused(
            f"{key} is the store's own and cannot be set", "atlas config shows what can be"
        )
    if key not in KEYS:
        raise unknown(key)
    valid(key, value)
    data = tree.read(FOLDER) or b""
    version = parse(FOLDER, data)["version"] + 1
    data = _readable(text.set_by_hand(text.set_by_hand(data, key, value), "version", version))
    return Change(f"policy: set {key} ({writer.session})", {FOLDER: data})


def replace(tree: Tree, writer: Writer, data: bytes) -> Change:
    """The change that takes an edited policy, one version further. Raises Refused if it touches the
    store's own keys."""
    old, new = parse(FOLDER, tree.read(FOLDER) or b""), parse(FOLDER, data)
    for key in formats.FIXED:
        if old.get(key) != new.get(key):
            raise Refused(
                f"{key} is the store's own and cannot be edited", "set it back and save again"
            )
    for key in new:
        if key not in KEYS and key not in formats.FIXED and key not in old:
            raise unknown(key)
    data = _readable(text.set_by_hand(data, "version", old["version"] + 1))
    return Change(f"policy: edit ({writer.session})", {FOLDER: data})


def _readable(data: bytes) -> bytes:
    """The text of a policy that is to be written. Raises Refused if it could not be read back: one
    with YAML by hand in it, a comment behind a value for instance, may be less long."""
    try:
        parse(FOLDER, data)
    except Damaged as error:
        raise Refused(
            f"the policy could not be read back: {error.message.removeprefix(FOLDER + ': ')}",
            "say less, or put each comment on a line of its own, from its margin on: atlas config"
            " edit",
            code="limit",
        ) from None
    return data


def _ref(path: str, record: Record) -> str:
    return "policy"


def _find(tree: Tree, id: str, number: int | None = None) -> str:
    return FOLDER


def _view(tree: Tree, path: str, record: Record, now: int) -> Shown:
    """The name of the policy in the view: its own."""
    return path, path


def _rules(edit: FileEdit) -> Iterator[Violation]:
    new = None if edit.new is None else parse(edit.path, edit.new)
    old = None if edit.old is None else parse(edit.path, edit.old)
    yield from row.rules(edit, old, new)
    if old is None or new is None:
        return
    for key in formats.changed(edit.message, old, new):
        yield Violation("immutable", edit.path, f"{key} was changed; it is the store's own")


KIND = Kind("policy", FOLDER, "", parse, _ref, _find, _view, _rules, row=True)
