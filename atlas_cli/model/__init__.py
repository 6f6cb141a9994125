"""Pure, and knows no kind: texts, names, times, trees, changes, and the shapes of kinds."""
