"""git's hooks: the quick answer, the full one, and how they are put in."""

# after a change that git has made already: nothing is stopped there, only said
NOTICES = ("post-merge", "post-rewrite", "post-checkout")
NAMES = (
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "pre-push",
    *NOTICES,
)
