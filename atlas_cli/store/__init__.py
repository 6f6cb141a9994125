"""The store: a bare git repository of Atlas's own, one branch, moved by compare-and-set only."""

BRANCH = "refs/heads/atlas"
