"""The task board: tasks, gates and results, the writes on them, and their rules."""
