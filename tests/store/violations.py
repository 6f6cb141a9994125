"""Commits made by hand, each of which breaks a rule; each gives the rule, and the path that
`verify` must name."""

from __future__ import annotations

import os
import time

from .hand import Hand, Seen, edited, entry, row

Broken = tuple[str, str]  # the rule, and the path ("" where it is the commit itself)
ENTRY, NEXT, BODY = (
    "status/main/000/000002.md",
    "status/main/000/000003.md",
    "artifacts/64/plan/0002/body.txt",
)


def now() -> int:
    return int(time.time())


def says_that_it_migrates(hand: Hand, seen: Seen) -> Broken:
    hand.signed(
        {NEXT: entry(3, seen.sessions["bob"], now())}, seen.sessions["bob"], now(), migrates="2"
    )
    return "migrated", ""


def takes_more_than_documents_for_an_epoch(hand: Hand, seen: Seen) -> Broken:
    files = {ENTRY: None, row("gpu1"): None}
    hand.signed(files, seen.sessions["bob"], now(), epoch=hand.head())
    return "epoch", ""


def takes_documents_for_an_epoch_that_another_commit_holds(hand: Hand, seen: Seen) -> Broken:
    above = hand.git("rev-parse", "atlas~1")
    hand.signed({ENTRY: None}, seen.sessions["bob"], now(), epoch=above)
    return "epoch", ""


def edits_a_document(hand: Hand, seen: Seen) -> Broken:
    hand.commit({ENTRY: edited(hand.read(ENTRY), "second", "rewritten")})
    return "immutable", ENTRY


def edits_the_bytes_of_an_artifact(hand: Hand, seen: Seen) -> Broken:
    hand.commit({BODY: b"other\n"})
    return "immutable", BODY


def changes_the_id_of_the_store(hand: Hand, seen: Seen) -> Broken:
    text = edited(hand.read("atlas.yaml"), "version: 1", "version: 2")
    hand.commit({"atlas.yaml": edited(text, 'store: "', 'store: "0')})
    return "immutable", "atlas.yaml"


def removes_a_document(hand: Hand, seen: Seen) -> Broken:
    hand.commit({ENTRY: None})
    return "append_only", ENTRY


def removes_a_row(hand: Hand, seen: Seen) -> Broken:
    hand.commit({row("gpu1"): None})
    return "append_only", row("gpu1")


def skips_a_number(hand: Hand, seen: Seen) -> Broken:
    path = "status/main/000/000004.md"
    hand.commit({path: entry(4, seen.sessions["bob"], now())})
    return "version_jump", path


def skips_a_version_of_a_row(hand: Hand, seen: Seen) -> Broken:
    hand.commit({row("gpu0"): edited(hand.read(row("gpu0")), "version: 3", "version: 5")})
    return "version_jump", row("gpu0")


def rewinds_a_fencing_token(hand: Hand, seen: Seen) -> Broken:
    text = edited(hand.read(row("gpu0")), "version: 3", "version: 4")
    hand.commit({row("gpu0"): edited(text, "token: 2", "token: 1")})
    return "token", row("gpu0")


def takes_a_live_lease(hand: Hand, seen: Seen) -> Broken:
    text = edited(hand.read(row("gpu0")), "version: 3", "version: 4")
    text = edited(text, "token: 2", "token: 3")
    hand.commit(
        {
            row("gpu0"): edited(
                text, f'holder: "{seen.sessions["ann"]}"', f'holder: "{seen.sessions["bob"]}"'
            )
        }
    )
    return "live_lease", row("gpu0")


def gives_back_what_another_holds(hand: Hand, seen: Seen) -> Broken:
    text = edited(hand.read(row("gpu1")), "version: 2", "version: 3")
    hand.commit({row("gpu1"): edited(text, "why: ", "why:  ")})
    return "not_held", row("gpu1")


def dates_itself_back(hand: Hand, seen: Seen) -> Broken:
    at = now() - 20_000  # (the store may have been made a while ago)
    hand.signed({NEXT: entry(3, seen.sessions["ann"], at)}, seen.sessions["ann"], at)
    return "clock", ""


def lies_about_what_it_changed(hand: Hand, seen: Seen) -> Broken:
    hand.signed(
        {NEXT: entry(3, seen.sessions["ann"], now())}, seen.sessions["ann"], now(), change="0" * 64
    )
    return "change_digest", ""


def repeats_an_operation(hand: Hand, seen: Seen) -> Broken:
    used = hand.git("log", "-1", "--format=%(trailers:key=Atlas-Operation,valueonly)", seen.head)
    hand.signed(
        {NEXT: entry(3, seen.sessions["ann"], now())}, seen.sessions["ann"], now(), operation=used
    )
    return "operation", ""


def has_half_of_the_trailers(hand: Hand, seen: Seen) -> Broken:
    hand.commit(
        {NEXT: entry(3, seen.sessions["ann"], now())},
        f"half\n\nAtlas-Operation: {os.urandom(16).hex()}\n",
    )
    return "trailers", ""


def writes_in_the_name_of_another(hand: Hand, seen: Seen) -> Broken:
    hand.signed({NEXT: entry(3, seen.sessions["ann"], now())}, seen.sessions["bob"], now())
    return "session", NEXT


def merges_two_histories(hand: Hand, seen: Seen) -> Broken:
    hand.commit({}, "merge", parents=[seen.head, f"{seen.head}~2"])
    return "linear", ""


def puts_a_file_that_does_not_parse(hand: Hand, seen: Seen) -> Broken:
    hand.commit({NEXT: b"---\nstream: [main\n---\nbody\n"})
    return "damaged", NEXT


def empties_a_row(hand: Hand, seen: Seen) -> Broken:
    hand.commit({row("gpu0"): b""})
    return "damaged", row("gpu0")


def puts_a_symlink(hand: Hand, seen: Seen) -> Broken:
    hand.commit({NEXT: b"/etc/passwd"}, modes={NEXT: "120000"})
    return "mode", NEXT


def puts_a_program(hand: Hand, seen: Seen) -> Broken:
    hand.commit({NEXT: entry(3, seen.sessions["ann"], now())}, modes={NEXT: "100755"})
    return "mode", NEXT


def makes_a_document_a_program(hand: Hand, seen: Seen) -> Broken:
    hand.commit({ENTRY: hand.read(ENTRY)}, modes={ENTRY: "100755"})
    return "mode", ENTRY


def puts_a_submodule(hand: Hand, seen: Seen) -> Broken:
    hand.commit({"status/main/sub": b"1" * 40}, modes={"status/main/sub": "160000"})
    return "mode", "status/main/sub"


def puts_a_file_where_none_belongs(hand: Hand, seen: Seen) -> Broken:
    hand.commit({"notes.txt": b"to do\n"})
    return "unknown_path", "notes.txt"


def puts_a_file_in_place_of_a_folder(hand: Hand, seen: Seen) -> Broken:
    hand.commit({"status/main/000/000001.md": None, ENTRY: None, "status/main": b"all\n"})
    return "damaged", "status/main"


def puts_a_folder_in_place_of_a_file(hand: Hand, seen: Seen) -> Broken:
    hand.commit({row("gpu1"): None, f"{row('gpu1')}/x": b"x\n"})
    return "append_only", row("gpu1")


def puts_a_record_in_another_place(hand: Hand, seen: Seen) -> Broken:
    path = "status/other/000/000001.md"
    hand.commit({path: entry(1, seen.sessions["ann"], now(), stream="main")})
    return "misplaced", path


def puts_bytes_that_its_metadata_do_not_name(hand: Hand, seen: Seen) -> Broken:
    about = edited(hand.read("artifacts/64/plan/0002/about.yaml"), "number: 2", "number: 3")
    body = "artifacts/64/plan/0003/body.txt"
    hand.commit({"artifacts/64/plan/0003/about.yaml": about, body: b"other bytes\n"})
    return "digest", body


def drops_what_was_to_be_carried(hand: Hand, seen: Seen) -> Broken:
    data = entry(3, seen.sessions["ann"], now(), "## Mine\n\nnothing else is left\n")
    wish = b'section: Mine\nwish: {"heading": "Mine"}\nsections: []\n---\n## Mine'
    hand.signed({NEXT: edited(data, "---\n## Mine", wish.decode())}, seen.sessions["ann"], now())
    return "carried", NEXT


VIOLATIONS = (
    says_that_it_migrates,
    takes_more_than_documents_for_an_epoch,
    takes_documents_for_an_epoch_that_another_commit_holds,
    drops_what_was_to_be_carried,
    edits_a_document,
    edits_the_bytes_of_an_artifact,
    changes_the_id_of_the_store,
    removes_a_document,
    removes_a_row,
    skips_a_number,
    skips_a_version_of_a_row,
    rewinds_a_fencing_token,
    takes_a_live_lease,
    gives_back_what_another_holds,
    dates_itself_back,
    lies_about_what_it_changed,
    repeats_an_operation,
    has_half_of_the_trailers,
    writes_in_the_name_of_another,
    merges_two_histories,
    puts_a_file_that_does_not_parse,
    empties_a_row,
    puts_a_symlink,
    puts_a_program,
    makes_a_document_a_program,
    puts_a_submodule,
    puts_a_file_where_none_belongs,
    puts_a_file_in_place_of_a_folder,
    puts_a_folder_in_place_of_a_file,
    puts_a_record_in_another_place,
    puts_bytes_that_its_metadata_do_not_name,
)
