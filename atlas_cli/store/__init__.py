"""The store: a bare git repository of Atlas's own, one branch, moved by compare-and-set only."""

BRANCH = "refs/heads/atlas"
REMOTE = "refs/atlas/remote"  # the last published head that this clone knows
BEFORE = "refs/atlas/before"  # the local head that the last carrying over replaced
# what others, who may not push the store's branch, have pushed to branches of their own
OUTBOX = "refs/atlas/outbox/"
# a write that could not be carried over, under the name of its operation
PARKED = "refs/atlas/parked/"
