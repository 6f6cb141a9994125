"""The ground of all answers: the index, this clone's notebook, the policy and the time. The other
files of this folder answer from it. It also says how a record may be shown at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .. import records
from ..errors import AtlasError
from ..model import words
from ..model.kind import Kind
from ..model.text import Record
from ..outcome import Frame
from ..records import artifact, correction, goals, parts, session, signal
from ..records.board import gate, result, task
from ..store.index import Index
from ..store.notebook import Notebook
from ..store.snapshot import Snapshot
from ..visible import named, theirs

WEEK = 7 * 86400
TWINS = {task.KIND.name: result.KIND.name, result.KIND.name: task.KIND.name}


def same_words(index: Index, ref: str) -> list[str]:
    """The REFs of the records that say the same as one, itself first: a gate, the signal that says
    why it was raised, and the task of clearing it. The document that ends a gate says the same as
    all these."""
    kind, _, id = ref.partition(":")
    id = id.removesuffix(gate.END)
    gates = [id] if kind in (gate.KIND.name, task.KIND.name) else []
    if kind == signal.KIND.name:
        gates += [record["id"] for _, record in index.pointing(ref, "signal")]
    refs = [ref]
    for name in gates:
        if signals := index.targets(f"{gate.FOLDER}/{name}{gate.SUFFIX}", "signal"):
            refs += [f"{gate.KIND.name}:{name}", f"{task.KIND.name}:{name}", *signals]
    return list(dict.fromkeys(refs))


def corrections(index: Index, ref: str) -> list[tuple[str, Record]]:
    """(path, record) of the corrections of a record, or of one that says the same, oldest first."""
    return [pair for same in same_words(index, ref) for pair in index.pointing(same, "corrects")]


def withdrawing(
    index: Index, ref: str, asked: frozenset[str] = frozenset()
) -> list[tuple[str, Record]]:
    """(path, record) of the retractions of a record that are in force, oldest first. One that was
    itself retracted is lifted. (`asked`: a hand may have made two that retract each other.)"""
    pairs = []
    for path, record in corrections(index, ref):
        own = correction.KIND.ref(path, record)
        if not record["retract"] or own in asked:
            continue
        if not withdrawing(index, own, asked | {own}):
            pairs.append((path, record))
    return pairs


class Questions:
    """The sources of an answer: the index, the notebook, the policy, now. Its methods say how a
    record may be shown."""

    def __init__(self, index: Index, local: Notebook, policy: Mapping[str, Any], now: int) -> None:
        self.index, self.local, self.policy, self.now = index, local, policy, now

    def corrections(self, ref: str) -> list[Record]:
        """The corrections of a record, oldest first. One that was itself retracted comes without
        its reason, and with what `lifted` it."""
        return [self._corrected(path, record) for path, record in corrections(self.index, ref)]

    def _corrected(self, path: str, record: Record) -> Record:
        row = {**record, "ref": correction.KIND.ref(path, record)}
        if lifting := withdrawing(self.index, row["ref"]):
            above, upper = lifting[-1]
            row |= dict.fromkeys(correction.KIND.words)
            row["lifted"] = {**upper, "ref": correction.KIND.ref(above, upper)}
        return row

    def twin(self, ref: str) -> str:
        """The REF of the result that a task came to, or of the task that a result is of: whoever
        corrects one often means the other. Empty for any other record, and without a result."""
        kind, _, id = ref.partition(":")
        other = TWINS.get(kind)
        return f"{other}:{id}" if other and self.index.path_of(f"{other}:{id}") else ""

    def twin_corrections(self, ref: str) -> list[Record]:
        """The corrections of a record's twin, oldest first. Of a task's, a result shows those that
        were written once it was there: what came of it knew the others."""
        twin = self.twin(ref)
        rows = self.corrections(twin) if twin else []
        if not ref.startswith(f"{result.KIND.name}:"):
            return rows
        since = self.index.seq_of(ref)
        return [row for row in rows if self.index.seq_of(row["ref"]) > since]

    def retracted(self, ref: str) -> bool:
        """Whether a record was retracted, or one that says the same, and that stands."""
        return bool(withdrawing(self.index, ref))

    def shown(self, record: Record, ref: str = "") -> Record:
        """A record as it is shown to anybody who has not asked for what was withdrawn. A document's
        corrections stand beside it. Once a record is retracted, its writers' words are None, too.
        Of a row these are the words that stood in it then: a lease that is taken anew has
        another's. A session comes without its marks: it has announced these pushes, and whether
        they arrived is told elsewhere. Its goal is what it has not ended."""
        record = self.index.with_numbers(record)
        ref = ref or record["ref"]
        kind = records.BY_NAME[ref.partition(":")[0]]
        if "marks" in record and kind is session.KIND:
            record = {key: value for key, value in record.items() if key != "marks"}
        retractions = withdrawing(self.index, ref)
        if not retractions:
            beside = [] if kind.row else self.corrections(ref)
            return _now({**record, "corrections": beside} if beside else record)
        then: list[Record] = []
        if kind.row:
            then = [self._as_retracted(kind, ref, path) for path, _ in retractions]
        result, withheld = words.without(record, kind.words, partial(_stood, then))
        if kind.row and not withheld:
            return _now(record)
        return _now({**result, "corrections": self.corrections(ref)})

    def row(self, kind: Kind, path: str, record: Record) -> Record:
        """A record of the index as it is shown: with its REF."""
        return self.shown({"ref": kind.ref(path, record), **record})

    def _as_retracted(self, kind: Kind, ref: str, correction_path: str) -> Record:
        """A row as it stood when a correction retracted it; empty where that cannot be read any
        more."""
        seq = self.index.written_in(correction_path)
        head = self.index.commits(1, after=seq - 1, upto=seq)[0][0]["oid"]
        tree = Snapshot(self.index.git, head, len(head))
        try:
            path = kind.find(tree, ref.partition(":")[2])
            return kind.parse(path, tree.read(path) or b"")
        except AtlasError:
            return {}

    def warnings(
        self, record: Record, say: Callable[[str], str] = theirs, corrected: bool = True
    ) -> list[str]:
        """A line for each thing that whoever sees a record must know: its caveat, its corrections
        (if `corrected`), and those of the records that it relies on. `say` puts the words of others
        into a line."""
        lines = [f"caveat: {say(record['caveat'])}"] if record.get("caveat") else []
        if old := artifact.outlived(record, self.now):
            lines.append(old)
        rows = self.corrections(record["ref"]) if corrected else []
        lines += [correction.shown(entry, self.now, say) for entry in rows]
        lines += self._of_twin(record["ref"], say) if corrected else []
        for target in self.index.with_numbers(record.get("relies_on", [])):
            lines += self._below(target, say)
        return lines

    def _of_twin(self, ref: str, say: Callable[[str], str]) -> list[str]:
        """The corrections of a record's twin, as warnings of the record."""
        kind = TWINS.get(ref.partition(":")[0], "")
        return [
            f"its {kind} was {correction.shown(entry, self.now, say)}"
            for entry in self.twin_corrections(ref)
        ]

    def _below(self, target: str, say: Callable[[str], str]) -> list[str]:
        """The warnings of a record for whoever sees what relies on it."""
        on = f"relies on {named(target)}"
        lines = [
            f"{on}, which was {correction.shown(entry, self.now, say)}"
            for entry in self.corrections(target)
        ]
        lines += [f"{on}: {line}" for line in self._of_twin(target, say)]
        path = self.index.path_of(target)
        below = self.index.readable(path) if path else None
        if below is None or self.retracted(target):
            return lines
        if below.get("caveat"):
            lines.append(f"{on}, whose caveat is: {say(below['caveat'])}")
        for own in (below, *parts.written(below)):
            if old := artifact.outlived(own, self.now):
                lines.append(f"{on}: {old}")
        return lines

    def warned(self, record: Record, corrected: bool = True) -> list[Frame]:
        """The warnings of a record, to stand beside it: its writers' words with the bar of a
        frame. `corrected`: its corrections, too."""
        lines = [f"! {line}" for line in self.warnings(record, str, corrected)]
        return [Frame("", "\n".join(lines))] if lines else []


def _now(shown: Record) -> Record:
    """A record, of a session with several goals with those that it has not ended, but for what is
    withheld of them."""
    if not shown.get("goals"):
        return shown
    left = [text for text in goals.open_goals(shown).values() if text is not None]
    return {**shown, "goal": "; ".join(left) if left else None}


def _stood(rows: list[Record], field: str, text: Any) -> bool:
    """Whether a field had this text in one of the rows. A row that cannot be read may have had it,
    and a document (no rows) has it for ever."""
    return not rows or any(not row or text in words.values(row, field) for row in rows)
