"""The founding of a store: its first write, with its policy and its README."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..errors import Refused
from ..model.change import Change, Writer
from ..model.tree import Tree
from ..records import policy
from . import transaction
from .store import Store, is_bare_root


def first_write(
    store: Store, readme: bytes, test: bool, address: Callable[[], str], clock: Callable[[], int]
) -> bool:
    """Writes the first policy, which names the remote's address as the store's home. False where
    the store has one already."""
    if not is_bare_root(store.snapshot()):
        return False

    def first(tree: Tree, writer: Writer) -> Change:
        if tree.blob(policy.FOLDER):
            raise Refused("another `atlas init` was faster")
        rules = policy.first(os.urandom(8).hex(), test, address())
        return Change("policy: first", {policy.FOLDER: rules, "README.md": readme})

    writer = Writer("", "", store.machine, 0, transaction.new_operation())
    try:
        transaction.write(store, first, transaction.Intent(writer, clock))
    except Refused:
        return False
    return True
