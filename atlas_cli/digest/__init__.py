"""The digest: where things stand, most important first, within a word budget; with `since` the
morning report."""
