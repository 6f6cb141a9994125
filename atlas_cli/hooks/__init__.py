"""git's hooks: the quick answer, the full one, and how they are put in."""
