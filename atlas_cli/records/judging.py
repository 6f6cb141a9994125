"""The rules: a pure function of the parent tree, the child tree and the commit message. They judge
every change wherever it appears: before it is published, when a fetch brings it, on a server, and
years later in `atlas verify`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..errors import AtlasError, Damaged
from ..model.change import FileEdit, Violation
from ..model.message import FileChange, Message, change_digest
from ..model.tree import Tree
from . import FREE, first_place, kind_of, policy

# rule: what it demands. `verify` and help/rules.md show this list.
RULES = {
    "append_only": "documents and rows are never removed",
    "immutable": "a document is never changed; nor are a store's id and a session's beginnings",
    "version_jump": "numbers and row versions rise by exactly one",
    "token": (
        "a fencing token never goes back, and rises by one when a lease or a claim changes hands"
    ),
    "live_lease": "a lease or a task that is held is not taken by another",
    "not_held": "only who holds a lease or a claim goes on with it, or gives it back",
    "gated": (
        "a task is claimed only when all that it needs is done, and nothing else holds it back"
    ),
    "gate": (
        "a gate follows from the history before it; who may clears it; what it holds is not claimed"
    ),
    "task_state": (
        "a task goes from open to claimed to done, failed or cancelled; only a retry brings it back"
    ),
    "edge": "what a task needs is there, leads in no circle, and is taken away only with a reason",
    "receipt": "a claim's receipt says what was granted, and stays as it is",
    "limit": "leases, claims, tasks, results and retries stay within the policy",
    "clock": "times are RFC 3339 UTC; `Atlas-At` never before the same session's previous commit",
    "session": "a record names the session that wrote its commit",
    "ended": "an ended session's row stays as it is",
    "misplaced": "a record lies where its name says",
    "schema": "a field has one of its values",
    "damaged": "every record parses",
    "digest": "an artifact's bytes have the size and SHA-256 that its metadata names",
    "unknown_path": "every file belongs to a kind of record",
    "mode": (
        "trees hold plain files and folders: no links, no programs, no submodules, nothing nested"
        " too deep"
    ),
    "form": (
        "commits and trees are as git writes them: headers, order, no name twice, no NUL in a"
        " message"
    ),
    "trailers": "a commit's trailers are whole, or it has none (made by hand)",
    "change_digest": "`Atlas-Change` is the SHA-256 of what the commit changed, but for a wish",
    "carried": (
        "an entry of the status is the one before it and its writer's wish (`Atlas-Wish`): no"
        " section is lost, none made up, none addressed anew"
    ),
    "operation": "an operation occurs once",
    "migrated": (
        "a migration puts the same bytes in the places of the next format, and changes nothing else"
    ),
    "epoch": "an epoch takes only documents from the tip, and names the commit that holds them",
    "linear": "history is one line: no merges",
    "repair": "a repair restores exactly what the commit it names had changed",
}


def judge(
    parent: Tree, child: Tree, changes: Sequence[FileChange], message: Message
) -> list[Violation]:
    """All violations of one commit, in the order of its paths."""
    violations = list(judge_message(parent, changes, message))
    try:
        in_force = policy.of(parent)
    except Damaged:
        in_force = policy.defaults()
    for path, _old, _new in sorted(changes, key=lambda change: change[0]):
        try:
            old, new = parent.read(path), child.read(path)
        except Damaged as error:  # a submodule's commit, or an object that is gone
            violations.append(Violation("damaged", path, error.message))
            continue
        violations += judge_file(FileEdit(path, old, new, parent, child, message, in_force))
    return violations


def judge_file(edit: FileEdit) -> list[Violation]:
    """The violations of one edit. A file that cannot be read breaks the rule `damaged`."""
    kind = kind_of(edit.path)
    if kind is None and edit.path in FREE:
        return []
    if kind is None:
        return [Violation("unknown_path", edit.path, "belongs to no kind of record")]
    try:
        return list(kind.rules(edit))
    except AtlasError as error:
        return [Violation(getattr(error, "rule", "damaged"), edit.path, error.message)]
    except (TypeError, KeyError, ValueError) as error:
        why = f"is no {kind.name} ({type(error).__name__}: {error})"
        return [Violation("damaged", edit.path, why)]


def judge_message(
    parent: Tree, changes: Iterable[FileChange], message: Message
) -> Iterator[Violation]:
    """The rules of a message by itself: its trailers are whole, and it says what the commit
    changed."""
    for fault in message.faults:
        yield Violation("trailers", "", fault)
    if message.by_hand:
        return
    wanted = {"Operation": message.operation, "At": message.at, "Change": message.change}
    missing = [f"Atlas-{key}" for key, value in wanted.items() if value is None]
    if missing:
        yield Violation("trailers", "", f"{', '.join(missing)} missing beside the others")
    elif not says(store_id(parent), message, list(changes)):
        yield Violation("change_digest", "", "Atlas-Change does not match what the commit changed")


def says(store: str, message: Message, changes: Sequence[FileChange]) -> bool:
    """Whether `Atlas-Change` is the digest of these changes, at the paths of now or of the first
    format."""
    first = [(first_place(path) or path, old, new) for path, old, new in changes]
    forms = (changes, first) if first != list(changes) else (changes,)
    return any(message.change == digest(store, message, rows) for rows in forms)


def digest(store: str, message: Message, changes: Iterable[FileChange]) -> str:
    """The `Atlas-Change` of a commit: the digest of what it changed. A file that was made of a wish
    is not in it: that has its own, which stays on whatever history it is made anew."""
    rows = [change for change in changes if not (message.wish and _of_wish(change[0]))]
    return change_digest(store, message, rows)


def _of_wish(path: str) -> bool:
    kind = kind_of(path)
    return kind is not None and kind.wish is not None


def wish(store: str, message: Message, files: Mapping[str, bytes | None]) -> str | None:
    """The `Atlas-Wish` of a write; None if it made nothing of a wish."""
    for path, data in files.items():
        kind = kind_of(path)
        if (
            kind
            and kind.wish
            and data is not None
            and (made := kind.wish(store, message, path, data))
        ):
            return made
    return None


def spoils_policy(
    parent: Tree, child: Tree, changes: Sequence[FileChange], message: Message
) -> bool:
    """Whether a commit that changes the policy leaves one that does not count, because the commit
    breaks a rule there. A policy of a newer format counts if a transaction wrote it and its
    trailers are whole: only a newer Atlas knows its rules."""
    old, new = parent.read(policy.FOLDER), child.read(policy.FOLDER)
    if policy.newer(old) or policy.newer(new):
        return message.by_hand or not (
            policy.newer(old) or not any(judge_message(parent, changes, message))
        )
    edit = FileEdit(policy.FOLDER, old, new, parent, child, message, policy.defaults())
    return bool(judge_file(edit))


def store_id(tree: Tree) -> str:
    """The id of the store that a tree belongs to; empty before the policy is there."""
    try:
        return str(policy.of(tree).get("store", ""))
    except Damaged:
        return ""
