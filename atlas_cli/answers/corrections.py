"""Which corrections a record has: its own, and those of the records that say the same."""

from __future__ import annotations

from ..model.text import Record
from ..records import signal
from ..records.board import gate, task
from ..store.index import Index


def same_words(index: Index, ref: str) -> list[str]:
    """The REFs of the records that say the same as one, itself first: a gate, the signal that says
    why it was raised, and the task of clearing it."""
    kind, _, id = ref.partition(":")
    gates = [id] if kind in (gate.KIND.name, task.KIND.name) else []
    gates += (
        [record["id"] for _, record in index.pointing(ref, "signal")]
        if kind == signal.KIND.name
        else []
    )
    found = [ref]
    for one in gates:
        if said := index.targets(f"{gate.FOLDER}/{one}{gate.SUFFIX}", "signal"):
            found += [f"{gate.KIND.name}:{one}", f"{task.KIND.name}:{one}", *said]
    return list(dict.fromkeys(found))


def corrections(index: Index, ref: str) -> list[tuple[str, Record]]:
    """(path, record) of the corrections of a record, or of one that says the same, oldest first."""
    return [pair for one in same_words(index, ref) for pair in index.pointing(one, "corrects")]
