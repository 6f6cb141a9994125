"""REFs to what is not yet published: how they are kept, and what they name on another history."""

from __future__ import annotations

import pytest

from atlas_cli import records
from atlas_cli.errors import NotFound
from atlas_cli.model.text import Record
from atlas_cli.records import correction, folding, parts, status
from atlas_cli.records.over import over
from atlas_cli.records.wish import Wish

from .files import ANN, BOB, NOW, done, writer
from .test_wish import Day, onto, op


def nothing(path: str, blob: str) -> bool:
    return False


def everything(path: str, blob: str) -> bool:
    return True


def test_a_ref_is_kept_by_operation_until_the_very_document_is_published() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "a")
    ref, own = "status:main@1", f"status:main@~{op(1)}"
    assert records.stored(day.tree, ref, nothing) == own
    assert records.stored(day.tree, "status:main", nothing) == own
    assert records.stored(day.tree, ref, everything) == ref
    blob = day.tree.blob(status.path_of("main", 1))
    assert records.stored(day.tree, ref, lambda _, that: that == blob) == ref
    other = day.tree.put({status.path_of("main", 1): b"another's entry"})
    assert records.stored(day.tree, ref, lambda path, that: other.blob(path) == that) == own
    # Whose number stays, and what has none, is kept as it is.
    for plain in (f"session:{ANN}", "artifact:x@1"):
        assert records.stored(day.tree, plain, nothing) == plain


def test_what_no_program_wrote_is_kept_by_its_number() -> None:
    day = Day().begin(ANN)
    lines = [f'session: "{ANN}"', "actor: ann", 'at: "2026-11-29T14:00:00Z"']
    text = "\n".join(["---", "stream: main", "number: 1", *lines, "---", "x", ""])
    day.tree = day.tree.put({status.path_of("main", 1): text.encode()})
    assert status.get(day.tree, "main", 1)["body"] == "x\n"
    assert records.stored(day.tree, "status:main@1", nothing) == "status:main@1"
    day.tree = day.tree.put({status.path_of("main", 1): b"no entry"})
    assert records.stored(day.tree, "status:main@1", nothing) == "status:main@1"
    with pytest.raises(NotFound):
        records.stored(day.tree, "status:main@2", nothing)


def test_an_operation_names_its_entry_whatever_number_it_has() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "a")
    theirs = Day(day.tree).says(BOB, "B", f"not {op(101)}, that is the other one")
    mine = Day(day.tree)
    mine.count = 100
    change, who = mine.change(ANN, Wish("main", "A", "a2")), writer(ANN, operation=op(101))
    mine.tree = done(mine.tree, change, who)
    ref = records.ref(records.stored(mine.tree, "status:main@2", nothing))
    theirs.tree, _ = onto(theirs.tree, [(change, who)])
    assert status.numbered(records.find(mine.tree, ref)) == ("main", 2)
    assert status.numbered(records.find(theirs.tree, ref)) == ("main", 3)
    assert over(theirs.tree, str(ref), NOW) and not over(day.tree, str(ref), NOW)
    for unknown in (f"status:main@~{op(9)}", f"status:other@~{op(101)}", f"artifact:x@~{op(101)}"):
        with pytest.raises(NotFound):
            records.find(theirs.tree, records.ref(unknown))
        assert not over(theirs.tree, unknown, NOW)


def test_what_was_retracted_unpublished_takes_no_section_of_another_along() -> None:
    day = Day().begin(ANN, BOB).says(ANN, "A", "a")
    theirs = Day(day.tree).says(BOB, "B", "b is right")
    mine = Day(day.tree)
    mine.count = 100
    ours = []

    def add(wish: Wish) -> None:
        ours.append((mine.change(ANN, wish), writer(ANN, operation=op(mine.count))))
        mine.tree = done(mine.tree, *ours[-1])

    add(Wish("main", "Wrong", "w"))
    given: Record = {"target": f"status:main@~{op(101)}", "why": "w", "cause": None, "own": True}
    fix = correction.add(mine.tree, writer(ANN), retract=True, **given)
    ours.append((fix, writer(ANN)))
    mine.tree = done(mine.tree, fix, writer(ANN))
    id = correction.parse(path := next(iter(fix.files)), fix.files[path] or b"")["id"]
    add(Wish("main", "More", "m", withdrawn=((2, id),)))
    assert [part[:2] for part in mine.shown()] == [("A", "a"), ("More", "m")]
    theirs.tree = theirs.tree.put(onto(theirs.tree, ours[:1])[0].files)
    theirs.tree = theirs.tree.put(fix.files)  # a document goes over as it is
    theirs.tree, parked = onto(theirs.tree, ours[2:])
    assert parked == []
    assert [part[:2] for part in theirs.shown()] == [
        ("A", "a"),
        ("B", "b is right"),
        ("More", "m"),
    ]


def test_the_section_that_comes_back_is_that_of_the_entry_that_was_named() -> None:
    long = " ".join(["word"] * 12)
    day = Day(status_words=24).begin(ANN, BOB).says(ANN, "A", "a")
    theirs, mine = Day(day.tree), Day(day.tree)
    mine.count, ours = 100, []

    def add(wish: Wish) -> None:
        ours.append((mine.change(ANN, wish), writer(ANN, operation=op(mine.count))))
        mine.tree = done(mine.tree, *ours[-1])

    for number in range(9):
        add(Wish("main", f"S{number}", long))
    item = next(row for row in mine.head["earlier"] if row["heading"] == "S0")
    number = int(item["ref"].rpartition("@")[2])
    text = next(p.text for p in parts.parts(mine.tree, "main", number) if p.heading == "S0")
    kept = records.stored(mine.tree, item["ref"], nothing)
    assert kept != item["ref"]
    add(Wish("main", "S0", text, exact=True, back=f"{kept}#S0"))
    assert item not in mine.head["earlier"]
    theirs.says(BOB, "B", "b")
    theirs.tree, parked = onto(theirs.tree, ours)
    assert parked == [] and "S0" in theirs.parts()
    assert "S0" not in {row["heading"] for row in folding.items_of(theirs.head)}
